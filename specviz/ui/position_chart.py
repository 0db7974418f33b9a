"""How often the draft token at each position was accepted, of the times it was tested, as bars."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from specviz.trace import metrics
from specviz.trace.trace import Trace
from specviz.ui import bars, figures
from specviz.ui.chart_parts import FOOT, ChartOfParts
from specviz.ui.theme import tint

ABOVE = 18
BELOW = 20
BARS = 80
PITCH = 38
BAR_SHARE = 0.68
LEFT = 6
HEIGHT = ABOVE + BARS + BELOW + FOOT
NOTHING = "No draft token has been tested yet."


class PositionChart(ChartOfParts):
    """Bars from 0 to 100 %, the value over and the position below each."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("position-chart", "Accepted by draft position, of tested", parent)
        self._rates: list[float | None] = []
        self.setFixedHeight(HEIGHT)

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Show the speculative run; a baseline drafts nothing."""
        self.show_trace(speculative)

    def _take_in(self, trace: Trace | None) -> None:
        self._rates = metrics.accepted_by_position(trace) if trace is not None else []

    @property
    def rates(self) -> list[float | None]:
        """What the bars show, from position 1."""
        return list(self._rates)

    def n_parts(self) -> int:
        return len(self._rates)

    def part_at(self, at: QPoint) -> int | None:
        index = int((at.x() - LEFT) // self._pitch())
        return index if 0 <= index < len(self._rates) and at.y() < self.height() - FOOT else None

    def part_words(self, index: int) -> str:
        return f"Draft position {index + 1}: {self._of_tested(index)}"

    def _of_tested(self, index: int) -> str:
        """The share of a position and what it is a share of: `81 %, 97 of 120 tested`."""
        if self._trace is None:
            return figures.DASH
        counts = self._trace.counts
        kept = figures.count(counts.accepted_by_position[index])
        tested = figures.count(counts.tested_by_position[index])
        return f"{figures.percent(self._rates[index])}, {kept} of {tested} tested"

    def foot(self) -> str:
        trace = self._trace
        if trace is None or not trace.counts.tested:
            return NOTHING
        share = figures.percent(metrics.acceptance_rate(trace))
        kept, tested = trace.counts.accepted, trace.counts.tested
        return f"In all {share} accepted, {figures.count(kept)} of {figures.count(tested)} tested"

    def text(self) -> str:
        parts = [f"{i + 1}: {self._of_tested(i)}" for i in range(len(self._rates))]
        return "; ".join(parts) or NOTHING

    def sizeHint(self) -> QSize:
        return QSize(324, self.height())

    def _pitch(self) -> float:
        n = max(len(self._rates), 1)
        return min(PITCH, (self.width() - 2 * LEFT) / n)

    def _bar(self, index: int, rate: float) -> QRectF:
        pitch = self._pitch()
        width = max(pitch * BAR_SHARE, 2.0)
        height = max(BARS * rate, 1.0)
        x = LEFT + index * pitch
        return QRectF(round(x), ABOVE + BARS - round(height), round(width), round(height))

    def _labels(self) -> tuple[QFont, int]:
        return bars.labels(self._pitch(), "100", str(len(self._rates)))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self._palette
        self.paint_foot(painter)
        if not self._rates:
            painter.setPen(QColor(palette.line))
            y = ABOVE + BARS - 1
            painter.drawLine(LEFT, y, self.width() - LEFT, y)
            return
        font, every = self._labels()
        painter.setFont(font)
        usual = QColor(tint(palette.accent, palette.panel, 0.86))
        faint = QColor(tint(palette.accent, palette.panel, 0.45))
        for i, rate in enumerate(self._rates):
            bar, is_chosen = self._bar(i, rate or 0.0), self.part in (None, i)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(usual if is_chosen else faint)
            if rate is not None:
                bars.draw_bar(painter, bar)
            if i % every:
                continue
            painter.setPen(QColor(palette.text if self.part == i else palette.quiet))
            value = figures.DASH if rate is None else f"{round(rate * 100)}"
            centre, width = bar.center().x(), self.width()
            bars.draw_centred(painter, centre, bar.top() - ABOVE, ABOVE - 2, value, width)
            bars.draw_centred(painter, centre, ABOVE + BARS + 2, BELOW - 2, str(i + 1), width)
