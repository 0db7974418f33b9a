"""Plain wrapped text of one colour, for prompts and notes inside a painted view."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QPainter

from specviz.ui.pieces import displayed
from specviz.ui.token_layout import Spacing, Style, TokenLayout

BLOCK_SPACING = Spacing(line=20, blank=20, baseline=14)


class TextBlock:
    """Text in lines of at most a given width. Knows how high it is and paints itself."""

    def __init__(
        self, text: str, font: QFont, width: float, spacing: Spacing = BLOCK_SPACING
    ) -> None:
        self.text = text
        self._layout = TokenLayout(font, font, width, spacing)
        self._layout.append(displayed(text), Style.PLAIN, 0)
        self._layout.settle()

    def set_width(self, width: float) -> None:
        """Wrap anew."""
        self._layout.set_width(width)

    @property
    def height(self) -> float:
        return self._layout.height

    @property
    def width(self) -> float:
        """Width in use: that of the text when it fits on one line, else all there is."""
        if self._layout.n_lines == 1:
            return self._layout.shaped(0).width
        return self._layout.width

    def paint(
        self, painter: QPainter, x: float, y: float, colour: QColor, top: float, bottom: float
    ) -> None:
        """Paint with the corner at (x, y), only the lines between `top` and `bottom`."""
        layout = self._layout
        if not layout.n_lines or y > bottom or y + layout.height < top:
            return
        painter.setPen(colour)
        for number in range(layout.line_at(top - y), layout.line_at(bottom - y) + 1):
            line = layout.shaped(number)
            origin = QPointF(x + line.shift, y + layout.top_of(number))
            for run in line.runs:
                for glyphs in run.glyphs:
                    painter.drawGlyphRun(origin, glyphs)

    def rects_between(self, start: int, end: int, top: float, bottom: float) -> list[QRectF]:
        """Frames around the characters from `start` to `end`, one for each line, from the corner
        of the text; only of lines between `top` and `bottom`."""
        layout = self._layout
        first, _ = layout.bounds_of(layout.line_at(top))
        _, after = layout.bounds_of(layout.line_at(bottom))
        rects = layout.rects_between(max(start, first), min(end, after))
        return [rect.adjusted(-2, 0.5, 2, -0.5) for rect in rects if rect.width() > 0]
