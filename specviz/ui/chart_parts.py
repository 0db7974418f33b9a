"""What the painted charts have in common: parts that mouse, keys and screen readers can ask about.

A chart shows one run, is taken through its parts by the arrow keys, and tells the chosen one in the
line below; without a choice that line sums the chart up. Knows nothing of what is drawn.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPen,
    QShowEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from specviz.trace.trace import Trace
from specviz.ui.plain_text import tooltip
from specviz.ui.theme import DARK, Palette
from specviz.ui.typefaces import figure_font

FOOT = 18
FOOT_PX = 11
_STEPS = {
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Down: 1,
}


class ChartOfParts(QWidget):
    """Subclasses take figures in with `_take_in`, and say how many parts there are and what each
    is. `part` is the index of the chosen part, None without one."""

    def __init__(self, object_name: str, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(object_name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(title)
        self.part: int | None = None
        self._palette = DARK
        self._trace: Trace | None = None
        self._seen: tuple[int, bool] | None = None

    # What subclasses say ---------------------------------------------------------------------
    def _take_in(self, trace: Trace | None) -> None:
        """Take the figures of the run as it is now."""
        raise NotImplementedError

    def n_parts(self) -> int:
        """How many parts can be chosen."""
        raise NotImplementedError

    def part_at(self, at: QPoint) -> int | None:
        """The part under the mouse."""
        raise NotImplementedError

    def part_words(self, index: int) -> str:
        """One part on one line, with what its figures are divided by."""
        raise NotImplementedError

    def foot(self) -> str:
        """The whole on one line, while no part is chosen."""
        raise NotImplementedError

    def short_foot(self) -> str:
        """The same where there is little room."""
        return self.foot()

    def text(self) -> str:
        """All of it in words, for reading aloud and copying."""
        raise NotImplementedError

    def tooltip(self, index: int) -> str:
        """What there is to say of a part under the mouse."""
        return self.part_words(index) if 0 <= index < self.n_parts() else ""

    # Runs ------------------------------------------------------------------------------------
    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self.update()

    def show_trace(self, trace: Trace | None) -> None:
        """Show one run."""
        self._trace = trace
        self._seen = None
        self.part = None
        self.refresh(final=True)

    def refresh(self, final: bool = False) -> None:
        """Take in new steps; a chart that nobody sees waits until it is seen, or for the last."""
        trace = self._trace
        state = (len(trace.steps), trace.closed) if trace is not None else (-1, False)
        if state == self._seen or (self.isHidden() and not final):
            return
        self._seen = state
        self._take_in(trace)
        self._tell()

    def showEvent(self, event: QShowEvent) -> None:
        self.refresh()
        super().showEvent(event)

    def _tell(self) -> None:
        """Bring what is read aloud and painted in line with figures and choice."""
        if self.part is not None and self.part >= self.n_parts():
            self.part = None
        words = self.text() if self.part is None else self.part_words(self.part)
        self.setAccessibleDescription(words)
        self.update()

    # Choosing --------------------------------------------------------------------------------
    def choose(self, index: int | None) -> None:
        """Choose a part, or none."""
        self.part = index
        self._tell()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, last = Qt.Key(event.key()), self.n_parts() - 1
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.text())
        elif key == Qt.Key.Key_Escape and self.part is not None:
            self.choose(None)
        elif last < 0:
            super().keyPressEvent(event)
        elif key in _STEPS:
            start = -1 if _STEPS[key] > 0 else last + 1
            at = start if self.part is None else self.part
            self.choose(min(max(at + _STEPS[key], 0), last))
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self.choose(0 if key == Qt.Key.Key_Home else last)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.choose(None)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            index = self.part_at(event.pos())
            text = "" if index is None else self.tooltip(index)
            if text:
                QToolTip.showText(event.globalPos(), tooltip(text), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    # Painting --------------------------------------------------------------------------------
    def paint_foot(self, painter: QPainter) -> None:
        """The line below, and the mark of the focus under it."""
        painter.setFont(figure_font(FOOT_PX))
        chosen = self.part is not None
        words = self.foot() if self.part is None else self.part_words(self.part)
        painter.setPen(QColor(self._palette.text if chosen else self._palette.quiet))
        box = QRectF(0, self.height() - FOOT, self.width(), FOOT)
        measure = QFontMetricsF(painter.font())
        if not chosen and measure.horizontalAdvance(words) > box.width():
            words = self.short_foot()
        fitting = measure.elidedText(words, Qt.TextElideMode.ElideRight, box.width())
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(box, flags, fitting)
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._palette.accent), 1.5))
            y = self.height() - 0.75
            painter.drawLine(0, int(y), self.width(), int(y))
