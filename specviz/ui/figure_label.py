"""A sentence on a panel in which the figures stand out. It is painted, never taken for markup."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QSizePolicy, QWidget

from specviz.ui.theme import DARK, Palette
from specviz.ui.typefaces import Weight, interface_font
from specviz.ui.verdict_words import Parts, plain

LINE = 20


class FigureLabel(QWidget):
    """Wraps its words. Has room for `n_lines` from the start, so that what follows stands still."""

    def __init__(self, n_lines: int, px: float = 13, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._n_lines, self._px = n_lines, px
        self._palette = DARK
        self._parts: Parts = ()
        self._layout: QTextLayout | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._arrange()

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self._arrange()

    def set_parts(self, parts: Parts) -> None:
        """Say something else."""
        if parts != self._parts:
            self._parts = parts
            self.setAccessibleName(plain(parts))
            self._arrange()

    def text(self) -> str:
        """The words as plain text."""
        return plain(self._parts)

    def sizeHint(self) -> QSize:
        return QSize(324, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        layout = QTextLayout(plain(self._parts), interface_font(self._px))
        ranges, at = [], 0
        for part in self._parts:
            span = QTextLayout.FormatRange()
            span.start, span.length = at, len(part.text.encode("utf-16-le")) // 2
            style = QTextCharFormat()
            colour = self._palette.text if part.is_figure else self._palette.quiet
            style.setForeground(QColor(colour))
            if part.is_figure:
                style.setFontWeight(Weight.DemiBold)
            span.format = style
            ranges.append(span)
            at += span.length
        layout.setFormats(ranges)
        layout.beginLayout()
        n = 0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(self.width(), 40))
            line.setPosition(QPointF(0, n * LINE + (LINE - line.height()) / 2))
            n += 1
        layout.endLayout()
        self._layout = layout
        self.setFixedHeight(LINE * max(n, self._n_lines))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(Qt.GlobalColor.transparent)
        if self._layout is not None:
            self._layout.draw(painter, QPointF(0, 0))
