"""How often the draft token at each position was accepted, as bars."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from specviz.trace import metrics
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.theme import DARK, Palette, tint
from specviz.ui.typefaces import figure_font

ABOVE = 18
BELOW = 20
BARS = 80
PITCH = 38
BAR_SHARE = 0.68
LEFT = 6
LABEL_PX = 12


class PositionChart(QWidget):
    """Bars from 0 to 100 %, the value over and the position below each."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("position-chart")
        self.setFixedHeight(ABOVE + BARS + BELOW)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Accepted by draft position")
        self._palette = DARK
        self._trace: Trace | None = None
        self._seen: tuple[int, bool] | None = None
        self._rates: list[float | None] = []

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self.update()

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Show the speculative run; a baseline drafts nothing."""
        self.show_trace(speculative)

    def show_trace(self, trace: Trace | None) -> None:
        """Show one run."""
        self._trace = trace
        self._seen = None
        self.refresh()

    def refresh(self, final: bool = False) -> None:
        """Take in new steps."""
        trace = self._trace
        state = (len(trace.steps), trace.closed) if trace is not None else (-1, False)
        if state == self._seen:
            return
        self._seen = state
        self._rates = metrics.accepted_by_position(trace) if trace is not None else []
        self.setAccessibleDescription(self.text())
        self.update()

    @property
    def rates(self) -> list[float | None]:
        """What the bars show, from position 1."""
        return list(self._rates)

    def text(self) -> str:
        """The bars in words."""
        parts = [f"{i}: {figures.percent(r)}" for i, r in enumerate(self._rates, start=1)]
        return ", ".join(parts) or "No draft token has been tested yet."

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

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self._palette
        if not self._rates:
            self._paint_empty(painter)
            return
        font, every = self._labels()
        painter.setFont(font)
        colour = QColor(tint(palette.accent, palette.panel, 0.86))
        for i, rate in enumerate(self._rates):
            bar = self._bar(i, rate or 0.0)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            if rate is not None:
                radius = min(3.0, bar.width() / 3, bar.height() / 2)
                painter.drawRoundedRect(bar, radius, radius)
            if i % every:
                continue
            painter.setPen(QColor(palette.quiet))
            value = figures.DASH if rate is None else f"{round(rate * 100)}"
            self._centred(painter, bar, bar.top() - ABOVE, ABOVE - 2, value)
            self._centred(painter, bar, ABOVE + BARS + 2, BELOW - 2, str(i + 1))

    def _labels(self) -> tuple[QFont, int]:
        """A font in which the labels stand apart, and every how many bars have one.

        Goes by the widest value there can be, so that nothing changes while values do.
        """
        pitch, last = self._pitch(), str(len(self._rates))
        rooms = []
        for px in (LABEL_PX, LABEL_PX - 2, LABEL_PX - 3):
            font = figure_font(px)
            measure = QFontMetricsF(font)
            rooms.append(max(measure.horizontalAdvance("100"), measure.horizontalAdvance(last)) + 2)
            if rooms[-1] <= pitch:
                return font, 1
        return figure_font(LABEL_PX - 2), math.ceil(rooms[1] / pitch)

    def _centred(
        self, painter: QPainter, bar: QRectF, top: float, height: float, text: str
    ) -> None:
        # a thin first or last bar is narrower than its label, which stays inside
        half = QFontMetricsF(painter.font()).horizontalAdvance(text) / 2
        x = min(max(bar.center().x(), half), self.width() - half)
        painter.drawText(QRectF(x - 30, top, 60, height), Qt.AlignmentFlag.AlignCenter, text)

    def _paint_empty(self, painter: QPainter) -> None:
        painter.setPen(QColor(self._palette.line))
        y = ABOVE + BARS - 0.5
        painter.drawLine(int(LEFT), int(y), self.width() - LEFT, int(y))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            index = int((event.pos().x() - LEFT) // self._pitch())
            text = self.tooltip(index)
            if text:
                QToolTip.showText(event.globalPos(), text, self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def tooltip(self, index: int) -> str:
        """What there is to say of the bar at an index."""
        if self._trace is None or not 0 <= index < len(self._rates):
            return ""
        counts = self._trace.counts
        kept = figures.count(counts.accepted_by_position[index])
        tested = figures.count(counts.tested_by_position[index])
        return (
            f"Draft position {index + 1}: {figures.percent(self._rates[index])}\n"
            f"kept {kept} of the {tested} times it was tested"
        )
