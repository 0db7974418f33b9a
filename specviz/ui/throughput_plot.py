"""Tokens per second over the seconds of decode: the speculative run against the baseline.

Draws the series it is given (metrics.ThroughputSeries) and computes nothing. Grid and labels are
painted here, the curves by pyqtgraph, which is only imported when there is a first curve.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from specviz.trace.metrics import ThroughputSeries
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.theme import DARK, Palette, tint
from specviz.ui.typefaces import figure_font

if TYPE_CHECKING:
    import pyqtgraph as pg

HEIGHT = 190
LEFT = 4
RIGHT = 3
TOP = 3
LEGEND = 28
LABEL_PX = 11
_X_LADDER = (1, 2, 3, 5, 7.5)
_Y_LADDER = (1, 1.5, 2, 3, 4, 5, 6, 8)


class Curve:
    """A series in arrays that grow by doubling.

    Attributes:
        x: seconds since the start of decode.
        y: tokens per second.
        highest: the largest rate.
    """

    def __init__(self, trace: Trace | None) -> None:
        self.trace = trace
        self.series = ThroughputSeries(trace) if trace is not None else None
        self.x = array("d")
        self.y = array("d")
        self.highest = 0.0
        self._closed = False

    @property
    def n(self) -> int:
        """Points there are."""
        return len(self.x)

    @property
    def end(self) -> float:
        """The last instant, in seconds."""
        return self.x[-1] if self.x else 0.0

    def extend(self) -> bool:
        """Take in what is new in the trace; True when anything was."""
        trace, series = self.trace, self.series
        if trace is None or series is None:
            return False
        if trace.closed and not self._closed:
            self._closed = True
            if _was_cut(trace):
                # the points drawn so far counted tokens that a stop text has taken back
                self.series = series = ThroughputSeries(trace)
                self.x, self.y = array("d"), array("d")
                self.highest = 0.0
        before = self.n
        if series.extend() == before:
            return False
        self.x.extend(series.seconds[before:])
        self.y.extend(series.rates[before:])
        self.highest = max(self.highest, *series.rates[before:])
        return True

    def at(self, seconds: float) -> float | None:
        """The rate at an instant; None outside the curve."""
        if not self.n or not 0 <= seconds <= self.end:
            return None
        return self.y[bisect_left(self.x, seconds)]


def import_plotting() -> None:
    """The slow part of the first curve: half a second of imports that the start need not wait for.

    Makes no Qt object, so any thread may do it.
    """
    import pyqtgraph  # noqa: F401


def _was_cut(trace: Trace) -> bool:
    if not trace.steps:
        return False
    last = trace.steps[-1]
    return trace.kept_of_step(len(trace.steps) - 1) < last.n_accepted + (last.target is not None)


def ceiling(value: float, ladder: tuple[float, ...]) -> float:
    """The next rung at or above `value` on a ladder that repeats with each power of ten."""
    if value <= 0:
        return ladder[0]
    power = 10.0 ** math.floor(math.log10(value))
    for rung in ladder:
        if value <= rung * power * (1 + 1e-9):
            return rung * power
    return ladder[0] * power * 10


def grid_step(top: float) -> float:
    """Distance of grid lines: a round number, three to five lines up to `top`."""
    power = 10.0 ** math.floor(math.log10(top))
    for factor in (0.2, 0.25, 0.5, 1.0, 2.0):
        if top / (factor * power) <= 5:
            return factor * power
    return power * 5


class ThroughputPlot(QWidget):
    """Two curves on one axis of decode time, from zero up."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("throughput-plot")
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Tokens per second")
        self._palette = DARK
        self.baseline = Curve(None)
        self.speculative = Curve(None)
        self._canvas: pg.PlotWidget | None = None
        self._lines: dict[str, pg.PlotDataItem] = {}
        self._x_end, self._y_top = 10.0, 40.0
        self.n_updates = 0

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self._apply_pens()
        self.update()

    def prepare(self) -> None:
        """Make what the first curve needs; see `import_plotting` for the slow part of it."""
        if self._canvas is None:
            self._make_canvas()

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Lay these two runs over each other."""
        if baseline is not self.baseline.trace:
            self.baseline = Curve(baseline)
        if speculative is not self.speculative.trace:
            self.speculative = Curve(speculative)
        self._x_end, self._y_top = 0.0, 0.0
        self.baseline.extend()
        self.speculative.extend()
        self._draw()

    def refresh(self, final: bool = False) -> None:
        """Draw what is new. The axes grow in steps while a run is on, and fit when it is over."""
        grown = [curve.extend() for curve in (self.baseline, self.speculative)]
        fitted = self._x_end == self._wanted_x_end()
        if any(grown) or not fitted:
            self._draw()

    # Axes ------------------------------------------------------------------------------------
    @property
    def x_range(self) -> tuple[float, float]:
        """Seconds of decode that are in view."""
        return 0.0, self._x_end

    @property
    def y_range(self) -> tuple[float, float]:
        """Tokens per second that are in view."""
        return 0.0, self._y_top

    def _wanted_x_end(self) -> float:
        curves = [curve for curve in (self.baseline, self.speculative) if curve.trace is not None]
        end = max((curve.end for curve in curves), default=0.0)
        if end <= 0:
            return 10.0
        if all(curve.trace is not None and curve.trace.closed for curve in curves):
            return end
        return max(ceiling(end, _X_LADDER), 2.0)

    def _fit_axes(self) -> None:
        highest = max(self.baseline.highest, self.speculative.highest)
        top = ceiling(highest * 1.04, _Y_LADDER) if highest > 0 else 40.0
        self._y_top = max(self._y_top, top)
        self._x_end = self._wanted_x_end()

    def plot_rect(self) -> QRectF:
        """Where the curves are, inside the widget."""
        return QRectF(LEFT, TOP, self.width() - LEFT - RIGHT, self.height() - TOP - LEGEND)

    def grid_values(self) -> list[float]:
        """Tokens per second with a grid line, from zero up."""
        step = grid_step(self._y_top) if self._y_top > 0 else 10.0
        return [i * step for i in range(int(self._y_top / step + 1e-9) + 1)]

    def labels(self) -> list[tuple[QRectF, str]]:
        """The axis labels and where they stand, all inside the widget."""
        rect, measure = self.plot_rect(), QFontMetricsF(figure_font(LABEL_PX))
        found = []
        for value in self.grid_values():
            y = self._y_of(value)
            # a label stands under its line, the one of zero over it
            top = y - measure.height() - 1 if value == 0 else y + 2
            text = figures.decimal(value, 0 if self._y_top >= 4 else 1)
            found.append(
                (
                    QRectF(rect.left(), top, measure.horizontalAdvance(text) + 1, measure.height()),
                    text,
                )
            )
        return found

    def _y_of(self, value: float) -> float:
        rect = self.plot_rect()
        return rect.bottom() - rect.height() * value / (self._y_top or 1.0)

    # Drawing ---------------------------------------------------------------------------------
    def _draw(self) -> None:
        self._fit_axes()
        if self._canvas is None and (self.baseline.n or self.speculative.n):
            self._make_canvas()
        if self._canvas is not None:
            self._set_curves()
            self._canvas.setRange(
                xRange=self.x_range, yRange=self.y_range, padding=0, disableAutoRange=True
            )
        self.n_updates += 1
        self.setAccessibleDescription(self.text())
        self.update()

    def _set_curves(self) -> None:
        # comes with pyqtgraph: not before there is a curve
        import numpy as np

        from specviz.ui.curve_shapes import envelope, means

        columns, x_end = max(int(self.plot_rect().width()), 6), self._x_end
        x, y = means(np.array(self.baseline.x), np.array(self.baseline.y), x_end, columns // 3)
        self._lines["baseline"].setData(x, y, skipFiniteCheck=True)
        x, y = envelope(
            np.array(self.speculative.x), np.array(self.speculative.y), x_end, columns // 2
        )
        self._lines["speculative"].setData(x, y, skipFiniteCheck=True)

    def _make_canvas(self) -> None:
        # half a second of start-up that an empty window need not spend
        import pyqtgraph as pg

        canvas = self._canvas = pg.PlotWidget(self, background=None, enableMenu=False)
        canvas.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        canvas.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        canvas.setFrameShape(canvas.Shape.NoFrame)
        canvas.setStyleSheet("background: transparent; border: none;")
        item = canvas.getPlotItem()
        item.hideButtons()
        item.setMouseEnabled(False, False)
        item.layout.setContentsMargins(0, 0, 0, 0)
        for axis in ("left", "bottom"):
            item.hideAxis(axis)
        item.getViewBox().setDefaultPadding(0)
        for name in ("baseline", "speculative"):
            line = self._lines[name] = pg.PlotDataItem(antialias=True)
            item.addItem(line)
        # stroking a path slows with its zigzags; single segments do not, but cannot be dashed
        self._lines["speculative"].curve.setSegmentedLineMode("on")
        self._apply_pens()
        canvas.setGeometry(self.plot_rect().toRect())
        canvas.show()

    def _apply_pens(self) -> None:
        if not self._lines:
            return
        baseline = QPen(QColor(self._palette.quiet), 1.5)
        baseline.setDashPattern([3.5, 2.5])
        baseline.setCosmetic(True)
        speculative = QPen(QColor(self._palette.accent), 2)
        speculative.setCapStyle(Qt.PenCapStyle.RoundCap)
        speculative.setCosmetic(True)
        self._lines["baseline"].setPen(baseline)
        self._lines["speculative"].setPen(speculative)

    def resizeEvent(self, event: QResizeEvent) -> None:
        if self._canvas is not None:
            self._canvas.setGeometry(self.plot_rect().toRect())
        super().resizeEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(324, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette = self._palette
        rect = self.plot_rect()
        grid = QColor(tint(palette.line, palette.panel, 0.55))
        for value in self.grid_values():
            y = round(self._y_of(value))
            painter.fillRect(QRectF(rect.left(), y - 1, rect.width(), 1.5), grid)
        painter.setFont(figure_font(LABEL_PX))
        painter.setPen(QColor(palette.quiet))
        for box, text in self.labels():
            painter.drawText(box, Qt.AlignmentFlag.AlignLeft, text)
        self._paint_legend(painter)

    def _paint_legend(self, painter: QPainter) -> None:
        palette = self._palette
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        baseline = self.height() - 8
        measure = QFontMetricsF(painter.font())
        x = float(LEFT + 4)
        dashed = QPen(QColor(palette.quiet), 1.5)
        dashed.setDashPattern([3, 2])
        for words, pen in (("speculative", QPen(QColor(palette.accent), 2)), ("baseline", dashed)):
            painter.setPen(pen)
            painter.drawLine(QLineF(x, baseline - 4, x + 13, baseline - 4))
            painter.setPen(pen.color())
            painter.drawText(QPointF(x + 18, baseline), words)
            x += 18 + measure.horizontalAdvance(words) + 20
        painter.setPen(QColor(palette.quiet))
        painter.drawText(
            QRectF(x, baseline - 14, self.width() - x - 12, 18),
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
            self._time_words(),
        )

    def _time_words(self) -> str:
        if not (self.baseline.n or self.speculative.n):
            return "seconds"
        digits = 1 if self._x_end < 10 and self._x_end != int(self._x_end) else 0
        return f"0 to {figures.decimal(self._x_end, digits)} seconds"

    def text(self) -> str:
        """The curves in words."""
        parts = [
            f"{name} now {figures.speed(float(curve.y[-1]))} after {figures.seconds(curve.end)}"
            for name, curve in (("speculative", self.speculative), ("baseline", self.baseline))
            if curve.n
        ]
        return ", ".join(parts) or "Nothing has been measured yet."

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
        """Both rates at a place of the time axis."""
        rect = self.plot_rect()
        seconds = (x - rect.left()) / max(rect.width(), 1) * self._x_end
        lines = [
            f"{name} {figures.speed(rate)}"
            for name, curve in (("speculative", self.speculative), ("baseline", self.baseline))
            if (rate := curve.at(seconds)) is not None
        ]
        return "\n".join([f"after {figures.seconds(seconds)}", *lines]) if lines else ""
