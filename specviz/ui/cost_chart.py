"""What a check costs by its width, in single target steps: dots for what was measured.

The dotted diagonal is where a check of so many rows is as dear as so many single steps; what lies
below it is what drafting can win. Draws what it is given and computes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from specviz.trace.costs import CurvePoint
from specviz.ui import figures
from specviz.ui.theme import DARK, Palette, tint
from specviz.ui.typefaces import figure_font

HEIGHT = 168
LEFT = 26
RIGHT = 8
TOP = 8
BOTTOM = 42
LABEL_PX = 11
DOT = 3.0
EMPTY_ROWS = 5
"""Width of the empty chart's axis."""

_LADDER = (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100)
NOTHING = "No check has been measured yet."


class CostChart(QWidget):
    """The curve over its axes; values on hover, and in words for screen readers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("cost-chart")
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Cost of a check by its width")
        self._palette = DARK
        self._points: tuple[CurvePoint, ...] = ()
        self._marked: int | None = None
        self.show_points(())

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self.update()

    def show_points(self, points: Sequence[CurvePoint]) -> None:
        """Show this curve, ascending by width; empty for none."""
        self._points = tuple(p for p in points if math.isfinite(p.steps))
        self.setAccessibleDescription(self.text())
        self.update()

    def mark(self, n_rows: int | None) -> None:
        """Point out one width."""
        if n_rows != self._marked:
            self._marked = n_rows
            self.update()

    @property
    def points(self) -> tuple[CurvePoint, ...]:
        """What is shown."""
        return self._points

    @property
    def marked(self) -> int | None:
        """The width that is pointed out."""
        return self._marked

    def text(self) -> str:
        """The curve in words."""
        return "\n".join(_in_words(point) for point in self._points) or NOTHING

    def sizeHint(self) -> QSize:
        return QSize(324, HEIGHT)

    # Places ----------------------------------------------------------------------------------
    def plot_rect(self) -> QRectF:
        """Where the curve is drawn."""
        return QRectF(LEFT, TOP, self.width() - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)

    def place(self, n_rows: float, steps: float) -> QPointF:
        """Where a width and a cost stand."""
        rect = self.plot_rect()
        x = rect.left() + (n_rows - 1) / (self._last_row() - 1) * rect.width()
        return QPointF(x, rect.bottom() - steps / self._top() * rect.height())

    def _last_row(self) -> int:
        return max(self._points[-1].n_rows if self._points else EMPTY_ROWS, 2)

    def _top(self) -> float:
        """The highest cost that the axis has room for: at least two steps, a grid line on top."""
        highest = max((point.steps for point in self._points), default=2.0)
        grid = self._grid_step(max(highest, 2.0))
        return max(math.ceil(highest / grid - 1e-9) * grid, 2.0)

    @staticmethod
    def _grid_step(highest: float) -> float:
        return next((rung for rung in _LADDER if highest / rung <= 4.5), highest / 4)

    def grid_values(self) -> list[float]:
        """Costs that have a line of the grid."""
        top = self._top()
        step = self._grid_step(top)
        return [i * step for i in range(round(top / step) + 1)]

    def row_labels(self) -> list[int]:
        """Widths that are written below the axis."""
        last = self._last_row()
        every = math.ceil(last / 9)
        labels = list(range(1, last + 1, every))
        return labels if labels[-1] == last or every > 1 else [*labels, last]

    # Painting --------------------------------------------------------------------------------
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._paint_grid(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = self.plot_rect()
        painter.save()
        painter.setClipRect(rect.adjusted(-6, -6, 6, 1))
        self._paint_diagonal(painter)
        self._paint_mark(painter)
        self._paint_curve(painter)
        painter.restore()
        self._paint_legend(painter)

    def _paint_grid(self, painter: QPainter) -> None:
        palette, rect = self._palette, self.plot_rect()
        painter.setFont(figure_font(LABEL_PX))
        grid = QColor(tint(palette.line, palette.panel, 0.55))
        quiet = QColor(palette.quiet)
        for value in self.grid_values():
            y = round(self.place(1, value).y())
            painter.fillRect(QRectF(rect.left(), y - 1, rect.width(), 1.5), grid)
            painter.setPen(quiet)
            box = QRectF(0, y - 9, LEFT - 8, 18)
            painter.drawText(
                box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{value:g}"
            )
        for n_rows in self.row_labels():
            x = self.place(n_rows, 0).x()
            box = QRectF(x - 20, rect.bottom() + 3, 40, 16)
            painter.setPen(quiet)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(n_rows))

    def _paint_diagonal(self, painter: QPainter) -> None:
        last = self._last_row()
        painter.setPen(self._diagonal_pen())
        painter.drawLine(QLineF(self.place(1, 1), self.place(last, last)))

    def _diagonal_pen(self) -> QPen:
        pen = QPen(QColor(self._palette.quiet), 1.2)
        pen.setDashPattern([1, 3])
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        return pen

    def _paint_mark(self, painter: QPainter) -> None:
        if self._marked is None or not self._points or self._marked > self._last_row():
            return
        colour = QColor(tint(self._palette.text, self._palette.panel, 0.35))
        top, bottom = self.place(self._marked, self._top()), self.place(self._marked, 0)
        painter.setPen(QPen(colour, 1))
        painter.drawLine(QLineF(round(top.x()) + 0.5, top.y(), round(top.x()) + 0.5, bottom.y()))

    def _paint_curve(self, painter: QPainter) -> None:
        colour = QColor(self._palette.accent)
        solid, dashed = QPen(colour, 2), QPen(colour, 1.6)
        dashed.setDashPattern([3, 2.5])
        solid.setCapStyle(Qt.PenCapStyle.RoundCap)
        for a, b in zip(self._points, self._points[1:], strict=False):
            beyond = a.is_extrapolated or b.is_extrapolated
            painter.setPen(dashed if beyond else solid)
            painter.drawLine(QLineF(self.place(a.n_rows, a.steps), self.place(b.n_rows, b.steps)))
        painter.setPen(QPen(QColor(self._palette.panel), 1.5))
        painter.setBrush(colour)
        for point in self._points:
            if point.is_measured:
                painter.drawEllipse(self.place(point.n_rows, point.steps), DOT + 0.7, DOT + 0.7)

    def _paint_legend(self, painter: QPainter) -> None:
        palette = self._palette
        painter.setFont(figure_font(LABEL_PX))
        measure = QFontMetricsF(painter.font())
        baseline, x = self.height() - 6.0, float(LEFT)
        for words, pen in (
            ("check", QPen(QColor(palette.accent), 2)),
            ("single steps", self._diagonal_pen()),
        ):
            painter.setPen(pen)
            painter.drawLine(QLineF(x, baseline - 4, x + 13, baseline - 4))
            painter.setPen(pen.color())
            painter.drawText(QPointF(x + 18, baseline), words)
            x += 18 + measure.horizontalAdvance(words) + 16
        painter.setPen(QColor(palette.quiet))
        painter.drawText(
            QRectF(x, baseline - 14, self.width() - x - RIGHT, 18),
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
            "rows",
        )

    # Telling more ----------------------------------------------------------------------------
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            text = self.tooltip(event.pos().x())
            if text:
                QToolTip.showText(event.globalPos(), text, self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def tooltip(self, x: float) -> str:
        """The cost of the width nearest to a place on the axis."""
        if not self._points:
            return ""
        nearest = min(self._points, key=lambda p: abs(self.place(p.n_rows, 0).x() - x))
        how = (
            "measured"
            if nearest.is_measured
            else "extended beyond what was measured"
            if nearest.is_extrapolated
            else "read between the widths that were measured"
        )
        drafted = figures.counted(nearest.n_rows - 1, "draft token")
        what = f"the pending token and {drafted}" if nearest.n_rows > 1 else "the pending token"
        return f"{_in_words(nearest)}\n{what}; {how}"


def _in_words(point: CurvePoint) -> str:
    rows = figures.counted(point.n_rows, "row")
    return f"{rows}: {figures.decimal(point.steps, 2)} target steps"
