"""Where the decode time went, as one stacked bar whose percentages add up to 100."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QWidget

from specviz.trace import metrics
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.chart_parts import FOOT, ChartOfParts
from specviz.ui.typefaces import figure_font

BAR = 20
RADIUS = 6
LEGEND_TOP = 28
ROW = 18
SWATCH = 9
NOTHING = "No step has been timed yet."


@dataclass(frozen=True, slots=True)
class Slice:
    """One kind of work: its seconds, its share in whole percent, its colour role."""

    name: str
    role: str
    seconds: float
    percent: int | None


_WORK = (
    ("draft", "recovered"),
    ("verify", "accepted"),
    ("sampling", "bonus"),
    ("save and restore", "rejected"),
    ("other", "quiet"),
)


class TimeChart(ChartOfParts):
    """A stacked bar over a legend in two columns; the line below has the seconds."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("time-chart", "Where the time goes", parent)
        self._slices: list[Slice] = []
        self.refresh(final=True)

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Show the speculative run, or the baseline where there is none yet."""
        self.show_trace(speculative if speculative is not None else baseline)

    def _take_in(self, trace: Trace | None) -> None:
        self._slices = _slices(trace)
        rows = (len(self._slices) + 1) // 2
        self.setFixedHeight(LEGEND_TOP + rows * ROW + FOOT)

    @property
    def slices(self) -> list[Slice]:
        """What is shown, in order."""
        return list(self._slices)

    def n_parts(self) -> int:
        return len(self._slices)

    def part_at(self, at: QPoint) -> int | None:
        if at.y() <= BAR:
            x = 0.0
            for part, width in self._widths():
                if x <= at.x() < x + width:
                    return self._slices.index(part)
                x += width
            return None
        row, column = (at.y() - LEGEND_TOP) // ROW, int(at.x() >= self._second_column())
        index = 2 * row + column
        return index if row >= 0 and index < len(self._slices) else None

    def part_words(self, index: int) -> str:
        part = self._slices[index]
        if part.percent is None:
            return f"{part.name}: {NOTHING.lower()}"
        return f"{_label(part)}: {_seconds(part.seconds)} of {self._whole()}"

    def foot(self) -> str:
        if self._slices[0].percent is None:
            return NOTHING
        return f"Decoding took {_seconds(sum(part.seconds for part in self._slices))} in all"

    def _whole(self) -> str:
        return f"{_seconds(sum(part.seconds for part in self._slices))} of decoding"

    def text(self) -> str:
        """The bar in words."""
        if self._slices[0].percent is None:
            return ", ".join(_label(part) for part in self._slices)
        parts = [f"{_label(part)} ({_seconds(part.seconds)})" for part in self._slices]
        return f"{', '.join(parts)} of {self._whole()}"

    def sizeHint(self) -> QSize:
        return QSize(324, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_bar(painter)
        self.paint_foot(painter)
        painter.setFont(figure_font())
        for i, part in enumerate(self._slices):
            x = 0.0 if i % 2 == 0 else self._second_column()
            y = LEGEND_TOP + (i // 2) * ROW
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(self._palette, part.role)))
            painter.drawRoundedRect(QRectF(x, y + (ROW - SWATCH) / 2, SWATCH, SWATCH), 2, 2)
            is_chosen = self.part == i
            painter.setPen(QColor(self._palette.text if is_chosen else self._palette.quiet))
            painter.drawText(QPointF(x + SWATCH + 6, y + ROW / 2 + 4.5), _label(part))

    def _second_column(self) -> float:
        return round(self.width() * 0.522)

    def _paint_bar(self, painter: QPainter) -> None:
        whole = QRectF(0, 0, self.width(), BAR)
        shape = QPainterPath()
        shape.addRoundedRect(whole, RADIUS, RADIUS)
        painter.fillPath(shape, QColor(self._palette.line))
        x = 0.0
        for part, width in self._widths():
            # each piece cut out of the rounded bar, so that its outer corners stay smooth
            piece = QPainterPath()
            piece.addRect(QRectF(x, 0, width, BAR))
            painter.fillPath(shape.intersected(piece), QColor(getattr(self._palette, part.role)))
            x += width

    def _widths(self) -> list[tuple[Slice, float]]:
        total = sum(part.seconds for part in self._slices)
        if total <= 0:
            return []
        edges, so_far = [0], 0.0
        for part in self._slices:
            so_far += part.seconds
            edges.append(round(self.width() * so_far / total))
        return [
            (part, edges[i + 1] - edges[i])
            for i, part in enumerate(self._slices)
            if edges[i + 1] > edges[i]
        ]


def _slices(trace: Trace | None) -> list[Slice]:
    shares = metrics.time_shares(trace) if trace is not None else None
    parts = (
        [0.0] * 5
        if shares is None
        else [shares.draft, shares.verify, shares.sample, shares.restore, shares.other]
    )
    total = sum(parts)
    percents = figures.shares_in_percent(parts)
    return [
        Slice(name, role, seconds, percent if total > 0 else None)
        for (name, role), seconds, percent in zip(_WORK, parts, percents, strict=True)
        if name != "save and restore" or (seconds > 0 and _saves(trace, percent))
    ]


def _saves(trace: Trace | None, percent: int) -> bool:
    """Whether saving and restoring is a kind of work here.

    A model that can forget single tokens does so in no time that could be seen.
    """
    effective = trace.started.effective if trace is not None and trace.started else {}
    return percent > 0 or effective.get("rollback") != "trim"


def _seconds(value: float) -> str:
    """Of a part as of the whole, so that they can be added up by eye."""
    return figures.short_time(value)


def _label(part: Slice) -> str:
    share = figures.DASH if part.percent is None else f"{part.percent}{figures.THIN}%"
    return f"{part.name} {share}"
