"""How long drafts were and how much of them was accepted: steps by length, in pairs of bars."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from specviz.trace import metrics
from specviz.trace.trace import Trace
from specviz.ui import bars, figures
from specviz.ui.chart_parts import FOOT, ChartOfParts
from specviz.ui.position_chart import BELOW, HEIGHT, LEFT
from specviz.ui.theme import tint
from specviz.ui.typefaces import figure_font

KEY = 20
ABOVE = KEY + 16
BARS = HEIGHT - ABOVE - BELOW - FOOT
PITCH = 62
SHARE = 0.78
SWATCH = 9
COUNTS_FROM = 42
"""Pixels for a pair of bars from which on each of them has its count above it."""
NOTHING = "No step has been checked yet."


class LengthChart(ChartOfParts):
    """For each length from 0: in how many steps so many draft tokens were tested (outlined), and in
    how many so many were accepted (filled)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("length-chart", "Draft lengths, in steps", parent)
        self._tested: list[int] = []
        self._accepted: list[int] = []
        self.setFixedHeight(HEIGHT)

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Show the speculative run; a baseline drafts nothing."""
        self.show_trace(speculative)

    def _take_in(self, trace: Trace | None) -> None:
        tested = metrics.drafted_lengths(trace) if trace is not None else []
        accepted = metrics.accepted_lengths(trace) if trace is not None else []
        n = max(len(tested), len(accepted))
        self._tested = tested + [0] * (n - len(tested))
        self._accepted = accepted + [0] * (n - len(accepted))

    @property
    def tested(self) -> list[int]:
        """Steps by the number of draft tokens tested, from 0."""
        return list(self._tested)

    @property
    def accepted(self) -> list[int]:
        """Steps by the number of draft tokens accepted, from 0."""
        return list(self._accepted)

    def n_parts(self) -> int:
        return len(self._tested)

    def part_at(self, at: QPoint) -> int | None:
        index = int((at.x() - LEFT) // self._pitch())
        inside = KEY <= at.y() < self.height() - FOOT
        return index if 0 <= index < len(self._tested) and inside else None

    def part_words(self, index: int) -> str:
        n = sum(self._tested)
        return (
            f"{figures.counted(index, 'token')}: tested in {figures.count(self._tested[index])}, "
            f"accepted in {figures.count(self._accepted[index])} of {figures.counted(n, 'step')}"
        )

    def foot(self) -> str:
        trace = self._trace
        if trace is None or not self._tested:
            return NOTHING
        mean = figures.decimal(metrics.mean_accepted_length(trace), 2)
        tau = figures.decimal(metrics.tau(trace), 2)
        return f"Mean accepted length {mean}, tokens per step (τ) {tau}"

    def short_foot(self) -> str:
        trace = self._trace
        if trace is None or not self._tested:
            return NOTHING
        mean = figures.decimal(metrics.mean_accepted_length(trace), 2)
        return f"Mean accepted length {mean}, τ {figures.decimal(metrics.tau(trace), 2)}"

    def text(self) -> str:
        trace = self._trace
        if trace is None or not self._tested:
            return NOTHING
        counts = trace.counts
        steps = figures.counted(counts.steps, "step")
        parts = [self.part_words(i) for i in range(len(self._tested))]
        parts.append(
            f"{self.foot()}: {figures.count(counts.accepted)} accepted and "
            f"{figures.count(counts.committed)} committed in {steps}"
        )
        if counts.dropped:
            parts.append(f"Thrown away untested: {figures.counted(counts.dropped, 'draft token')}")
        return "; ".join(parts)

    def tooltip(self, index: int) -> str:
        words = super().tooltip(index)
        counts = self._trace.counts if self._trace is not None else None
        if not words or counts is None:
            return words
        steps = figures.counted(counts.steps, "step")
        lines = [
            words,
            f"{self.foot()}: {figures.count(counts.accepted)} accepted, "
            f"{figures.count(counts.committed)} committed, each divided by {steps}.",
        ]
        if counts.dropped:
            lines.append(
                f"{figures.counted(counts.dropped, 'draft token')} thrown away untested, because "
                "the draft was too short, are not among the tested."
            )
        return "\n".join(lines)

    def sizeHint(self) -> QSize:
        return QSize(324, self.height())

    # Painting --------------------------------------------------------------------------------
    def _pitch(self) -> float:
        n = max(len(self._tested), 1)
        return min(PITCH, (self.width() - 2 * LEFT) / n)

    def _pair(self, index: int) -> tuple[QRectF, QRectF]:
        """The two bars of a length; a count that is not 0 can be seen."""
        pitch, highest = self._pitch(), max(*self._tested, *self._accepted, 1)
        width = max(pitch * SHARE / 2, 0.6)
        x = LEFT + index * pitch

        def bar(left: float, n: int) -> QRectF:
            height = max(BARS * n / highest, 2.0 if n else 0.0)
            wide = max(width - 1, 0.6)
            return QRectF(left, ABOVE + BARS - round(height), wide, round(height))

        return bar(x, self._tested[index]), bar(x + width, self._accepted[index])

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.paint_foot(painter)
        base = ABOVE + BARS
        painter.setPen(QColor(self._palette.line))
        painter.drawLine(LEFT, base, self.width() - LEFT, base)
        self._paint_key(painter)
        if not self._tested:
            return
        font, every = bars.labels(self._pitch(), "0", str(len(self._tested) - 1))
        for i in range(len(self._tested)):
            drafted, kept = self._pair(i)
            self._paint_pair(painter, drafted, kept, self.part in (None, i))
            painter.setPen(QColor(self._palette.text if self.part == i else self._palette.quiet))
            if self._pitch() >= COUNTS_FROM:
                painter.setFont(figure_font(FOOT - 7))
                for bar, n in ((drafted, self._tested[i]), (kept, self._accepted[i])):
                    if n:
                        self._label(painter, bar.center().x(), bar.top() - 16, figures.count(n))
            if i % every == 0:
                painter.setFont(font)
                middle = (drafted.left() + kept.right()) / 2
                self._label(painter, middle, base + 2, str(i), BELOW - 2)

    def _label(
        self, painter: QPainter, centre: float, top: float, text: str, height: float = 15
    ) -> None:
        bars.draw_centred(painter, centre, top, height, text, self.width())

    def _paint_pair(self, painter: QPainter, drafted: QRectF, kept: QRectF, is_clear: bool) -> None:
        palette = self._palette
        share = 1.0 if is_clear else 0.5
        if drafted.height() > 0:
            if drafted.width() >= 3:
                painter.setPen(QPen(QColor(tint(palette.quiet, palette.panel, share)), 1))
                painter.setBrush(QColor(tint(palette.quiet, palette.panel, 0.15)))
                bars.draw_bar(painter, drafted.adjusted(0.5, 0.5, -0.5, 0))
            else:
                painter.fillRect(drafted, QColor(tint(palette.quiet, palette.panel, share)))
        if kept.height() > 0:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tint(palette.accent, palette.panel, 0.86 * share)))
            bars.draw_bar(painter, kept)

    def _paint_key(self, painter: QPainter) -> None:
        """What the two kinds of bar are, above them."""
        palette = self._palette
        painter.setFont(figure_font(FOOT - 7))
        x = 0.0
        for words, is_kept in (("steps with so many tested", False), ("accepted", True)):
            swatch = QRectF(x, (KEY - SWATCH) / 2 - 2, SWATCH, SWATCH)
            self._paint_pair(
                painter, QRectF() if is_kept else swatch, swatch if is_kept else QRectF(), True
            )
            painter.setPen(QColor(palette.quiet))
            x += SWATCH + 6
            width = painter.fontMetrics().horizontalAdvance(words)
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(x, -2, width + 4, KEY), flags, words)
            x += width + 16
