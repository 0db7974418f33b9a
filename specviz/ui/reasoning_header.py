"""The lines above reasoning blocks that say how long each is, and fold it away or show it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QAbstractButton, QWidget

from specviz.ui.page import HEADER_HEIGHT, Page
from specviz.ui.theme import DARK, Palette, tint
from specviz.ui.typefaces import figure_font

_TEXT_AT = 19
_PADDING = 8


def paint_header(
    painter: QPainter, rect: QRectF, words: str, palette: Palette, *, folded: bool, strong: bool
) -> None:
    """A triangle that tells whether the block is folded, and the words."""
    colour = QColor(palette.text if strong else palette.quiet)
    x, y = rect.left() + 7.0, rect.center().y()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    if folded:
        corners = [QPointF(x - 2, y - 4), QPointF(x + 3, y), QPointF(x - 2, y + 4)]
    else:
        corners = [QPointF(x - 4, y - 2), QPointF(x + 4, y - 2), QPointF(x, y + 3)]
    painter.drawPolygon(QPolygonF(corners))
    painter.setPen(colour)
    painter.setFont(figure_font())
    flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    painter.drawText(rect.adjusted(_TEXT_AT, 0, 0, 0), flags, words)


class ReasoningHeader(QAbstractButton):
    """Folds the reasoning of one answer away, and shows it again; checked while it is shown.

    Attributes:
        block: the number of the turn that it belongs to.

    Signals:
        focused(): the keyboard has come here.
    """

    focused = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("reasoning-toggle")
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleDescription(
            "Shows or hides what the model thought before its answer; no figure changes."
        )
        self.block = -1
        self._state = ("", False, False, DARK)

    def show_state(self, words: str, folded: bool, framed: bool, palette: Palette) -> None:
        """Show other words, another state or colours. `framed`: something inside is pointed at."""
        state = (words, folded, framed, palette)
        if state == self._state:
            return
        self._state = state
        self.setChecked(not folded)
        self.setText(words)
        self.setAccessibleName(f"{words}, {'hidden' if folded else 'shown'}")
        self.resize(self.sizeHint())
        self.update()

    def sizeHint(self) -> QSize:
        width = QFontMetricsF(figure_font()).horizontalAdvance(self.text())
        return QSize(int(width) + _TEXT_AT + _PADDING, HEADER_HEIGHT)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _, folded, framed, palette = self._state
        rect = QRectF(self.rect())
        frame = rect.adjusted(0.5, 0.5, -0.5, -0.5)
        if self.underMouse() and self.isEnabled():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tint(palette.text, palette.ground, 0.06)))
            painter.drawRoundedRect(frame, 6, 6)
        if self.hasFocus() or framed:
            style = Qt.PenStyle.SolidLine if self.hasFocus() else Qt.PenStyle.DashLine
            painter.setPen(QPen(QColor(palette.accent), 1, style))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(frame, 6, 6)
        paint_header(
            painter,
            rect,
            self.text(),
            palette,
            folded=folded,
            strong=self.underMouse(),
        )


class ReasoningHeaders:
    """The headers on a page, one for each block of reasoning.

    `on_toggled` is told the turn and whether its reasoning is to be shown, `on_focused` the turn
    whose header the keyboard has come to.
    """

    def __init__(
        self,
        viewport: QWidget,
        on_toggled: Callable[[int, bool], None],
        on_focused: Callable[[int], None],
    ) -> None:
        self._viewport = viewport
        self._on_toggled = on_toggled
        self._on_focused = on_focused
        self._headers: list[ReasoningHeader] = []

    def place(
        self, page: Page, corner: QPoint, palette: Palette, framed: set[int], *, digits: bool
    ) -> None:
        """Put every header where it belongs on a page whose corner is at `corner`.

        `framed`: turns in whose folded reasoning something is pointed at. Digits that change in
        every frame cannot be read, so those of an answer that still grows wait for `digits`.
        """
        turns = [i for i, block in enumerate(page.blocks) if block.answer.has_reasoning]
        self._make(len(turns))
        for header, turn in zip(self._headers, turns, strict=True):
            block = page.blocks[turn]
            trace = block.answer.trace
            waits = trace is not None and not trace.closed and not digits
            known = header.text() if waits and header.block == turn else ""
            header.block = turn
            words = known or block.answer.reasoning_words()
            header.show_state(words, block.answer.folded, turn in framed, palette)
            header.move(corner.x(), round(block.header_top) + corner.y())
            header.show()

    def _make(self, n: int) -> None:
        while len(self._headers) > n:
            header = self._headers.pop()
            header.hide()
            header.deleteLater()
        while len(self._headers) < n:
            header = ReasoningHeader(self._viewport)
            header.clicked.connect(lambda shown, it=header: self._on_toggled(it.block, shown))
            header.focused.connect(lambda it=header: self._on_focused(it.block))
            self._headers.append(header)
