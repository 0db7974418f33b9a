"""Lets assistive technology read the painted conversation as a text.

Qt's own text views bring this along; a painted view has to answer for itself.
"""

from __future__ import annotations

from bisect import bisect_right

from PySide6.QtCore import QObject, QPoint, QRect
from PySide6.QtGui import QAccessible, QAccessibleInterface, QAccessibleTextInterface
from PySide6.QtWidgets import QAccessibleWidget

from specviz.ui.token_view import TokenView


class _PageText(QAccessibleTextInterface):
    """The whole page, prompts and answers, as one read-only text."""

    def __init__(self, view: TokenView) -> None:
        super().__init__()
        self._view = view

    def characterCount(self) -> int:
        return len(self._view.whole_text)

    def text(self, start: int, end: int) -> str:
        return self._view.whole_text[start:end]

    def _answer_start(self, index: int) -> int:
        return self._view.page.text_start_of_answer(index)

    def _answer_at(self, offset: int) -> int:
        """The turn whose answer holds a place in the text, or is the last one before it."""
        blocks = self._view.page.blocks
        starts = [self._answer_start(i) for i in range(len(blocks))]
        return max(bisect_right(starts, offset) - 1, 0)

    def selectionCount(self) -> int:
        return 1 if self._view.selection else 0

    def selection(self, index: int) -> tuple[int, int]:
        selected = self._view.selection
        if index or selected is None:
            return 0, 0
        start = self._answer_start(self._view.selected_in)
        return start + selected[0], start + selected[1]

    def addSelection(self, start: int, end: int) -> None:
        self.setSelection(0, start, end)

    def setSelection(self, index: int, start: int, end: int) -> None:
        turn = self._answer_at(start)
        first = self._answer_start(turn)
        length = self._view.page.blocks[turn].answer.layout.length
        a, b = (min(max(offset - first, 0), length) for offset in (start, end))
        self._view.select(a, b, turn)

    def removeSelection(self, index: int) -> None:
        self._view.select(0, 0)

    def cursorPosition(self) -> int:
        selected = self._view.selection
        return self._answer_start(self._view.selected_in) + selected[1] if selected else 0

    def setCursorPosition(self, position: int) -> None:
        self.scrollToSubstring(position, position)

    def characterRect(self, offset: int) -> QRect:
        view = self._view
        turn = self._answer_at(offset)
        inside = offset - self._answer_start(turn)
        layout = view.page.blocks[turn].answer.layout
        rects = layout.rects_between(inside, inside + 1) if inside >= 0 else []
        if not rects:
            return QRect()
        left = view.viewport().mapToGlobal(QPoint(0, 0))
        x, y = view.answer_corner(turn)
        return rects[0].translated(left.x() + x, left.y() + y).toRect()

    def offsetAtPoint(self, point: QPoint) -> int:
        view = self._view
        turn, offset = view.place_at(view.viewport().mapFromGlobal(point))
        return self._answer_start(turn) + offset

    def scrollToSubstring(self, start: int, end: int) -> None:
        turn = self._answer_at(start)
        self._view.reveal(max(start - self._answer_start(turn), 0), turn)

    def attributes(self, offset: int) -> tuple[str, int, int]:
        return "", offset, offset + 1


class _ReadablePage(QAccessibleWidget):
    def __init__(self, view: TokenView) -> None:
        super().__init__(view, QAccessible.Role.Document, view.accessibleName())
        self._text = _PageText(view)

    def interface_cast(  # type: ignore[override]  # declared as an address, takes the object
        self, kind: QAccessible.InterfaceType
    ) -> object:
        if kind is QAccessible.InterfaceType.TextInterface:
            return self._text
        return super().interface_cast(kind)


_installed = False


def _make(class_name: str, target: QObject) -> QAccessibleInterface | None:
    return _ReadablePage(target) if isinstance(target, TokenView) else None


def make_readable(view: TokenView) -> None:
    """Have Qt ask us for the accessible side of token views."""
    global _installed
    # older releases of the binding have no way to do this; name and description remain
    if not _installed and hasattr(QAccessible, "installFactory"):
        QAccessible.installFactory(_make)
        _installed = True
