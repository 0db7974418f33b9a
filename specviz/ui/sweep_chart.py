"""Speed-up by setting, a mark for each prompt: in columns along a number, else in rows.

A dashed line is the baseline. Colour and shape of a mark both say whether it is faster, within
noise or slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from specviz.sweep.axes import SETTINGS
from specviz.sweep.plan import numeric_setting
from specviz.sweep.results import SweepResults, SweepRow
from specviz.trace.comparison import NOISE
from specviz.ui import figures
from specviz.ui.plain_text import tooltip
from specviz.ui.sweep_scale import scale_for
from specviz.ui.sweep_words import Effect, effect_of, outcome_words
from specviz.ui.theme import DARK, Palette, tint
from specviz.ui.typefaces import Weight, figure_font, interface_font

COLUMNS_HEIGHT = 236
TOP, BOTTOM, LEFT, RIGHT = 24, 40, 44, 12
ROW, LOW_ROW, MANY_ROWS = 26, 15, 30
AXIS = 24
"""Below the rows: the named values."""
MARK = 4.5
LABEL_PX, AXIS_PX = 12, 11
NOTHING = "Nothing has been measured yet."


@dataclass(frozen=True, slots=True)
class Mark:
    """One setting on one prompt; both are indices."""

    row: int
    prompt: int
    speedup: float
    at: QPointF

    @property
    def effect(self) -> Effect | None:
        return effect_of(self.speedup)


def effect_colour(effect: Effect | None, palette: Palette) -> str:
    """Green only where it is faster."""
    return {
        Effect.FASTER: palette.accepted,
        Effect.FLAT: palette.recovered,
        Effect.SLOWER: palette.slower,
        None: palette.text,
    }[effect]


class SweepChart(QWidget):
    """Shows the results it is given; a click chooses a setting.

    Signals:
        row_chosen(int): the setting at this place of the plan was chosen.
    """

    row_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sweep-chart")
        self.setAccessibleName("Speed-up by setting")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._palette = DARK
        self._names: tuple[str, ...] = ()
        self._rows: tuple[SweepRow, ...] = ()
        self._numeric: str | None = None
        self._order: list[int] = []
        self._row: int | None = None
        self._prompt: int | None = None
        self._scale = scale_for(())
        self.show_results(None)

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self.update()

    def show_results(self, results: SweepResults | None) -> None:
        """Show these results, as they are now."""
        self._rows = results.rows() if results is not None else ()
        points = results.plan.points if results is not None else ()
        self._names = tuple(p.name for p in results.plan.prompts) if results is not None else ()
        self._numeric = numeric_setting(points)
        self._order = list(range(len(points)))
        if self._numeric is not None:
            self._order.sort(key=lambda i: _number(points[i].value_of(self._numeric or "")))
        self._scale = scale_for(
            result.speedup
            for row in self._rows
            for result in row.measured
            if result.speedup is not None
        )
        self.setFixedHeight(self._wanted_height())
        self.setAccessibleDescription(self.text())
        self.update()

    def mark_row(self, row: int | None) -> None:
        """Mark the setting at this place of the plan."""
        self._row = row
        self.update()

    def mark_prompt(self, prompt: int | None) -> None:
        """Bring the marks of one prompt forward."""
        self._prompt = prompt
        self.update()

    @property
    def in_columns(self) -> bool:
        """Whether the settings stand side by side, along a number."""
        return self._numeric is not None

    @property
    def order(self) -> list[int]:
        """The settings by their place in the plan, from the left or from the top."""
        return list(self._order)

    def text(self) -> str:
        """The chart in words."""
        lines = []
        for index in self._order:
            row = self._rows[index]
            if row.lowest is not None:
                best = ", the best" if row.is_best else ""
                low, high = figures.speedup(row.lowest), figures.speedup(row.highest)
                lines.append(f"{row.label}: {low} to {high}{best}")
        return "\n".join(lines) or NOTHING

    def sizeHint(self) -> QSize:
        return QSize(640, self._wanted_height())

    # Geometry --------------------------------------------------------------------------------
    def _wanted_height(self) -> int:
        if self.in_columns or not self._rows:
            return COLUMNS_HEIGHT
        return round(TOP + self._pitch_down() * len(self._rows) + AXIS)

    def _pitch_down(self) -> int:
        return ROW if len(self._rows) <= MANY_ROWS else LOW_ROW

    def _plot(self) -> QRectF:
        if self.in_columns or not self._rows:
            size = self.size()
            return QRectF(LEFT, TOP, size.width() - LEFT - RIGHT, size.height() - TOP - BOTTOM)
        font = QFontMetricsF(interface_font(LABEL_PX, Weight.DemiBold))
        longest = max(font.horizontalAdvance(_marked(row)) for row in self._rows)
        left = min(longest + 18, self.width() * 0.4)
        return QRectF(left, TOP, self.width() - left - RIGHT, self.height() - TOP - AXIS)

    def _band(self, place: int) -> QRectF:
        """The column or row at a place of the order."""
        plot = self._plot()
        if self.in_columns:
            pitch = plot.width() / max(len(self._order), 1)
            return QRectF(plot.left() + place * pitch, plot.top(), pitch, plot.height())
        pitch = self._pitch_down()
        return QRectF(0, plot.top() + place * pitch, self.width(), pitch)

    def _at(self, band: QRectF, speedup: float) -> QPointF:
        plot, share = self._plot(), self._scale.share(speedup)
        if self.in_columns:
            return QPointF(band.center().x(), plot.bottom() - share * plot.height())
        return QPointF(plot.left() + share * plot.width(), band.center().y())

    def marks(self) -> Iterator[Mark]:
        """Every mark, in the order of the chart."""
        for place, index in enumerate(self._order):
            band = self._band(place)
            for prompt, result in enumerate(self._rows[index].results):
                if result is not None and result.speedup is not None:
                    yield Mark(index, prompt, result.speedup, self._at(band, result.speedup))

    def row_at(self, at: QPointF) -> int | None:
        """The setting under the mouse."""
        for place, index in enumerate(self._order):
            band = self._band(place)
            if band.left() <= at.x() < band.right() and band.top() <= at.y() < band.bottom():
                return index
        return None

    # Painting --------------------------------------------------------------------------------
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self._rows:
            painter.setFont(interface_font())
            painter.setPen(QColor(self._palette.quiet))
            painter.drawText(QRectF(self.rect()), Qt.AlignmentFlag.AlignCenter, NOTHING)
            return
        self._paint_chosen(painter)
        self._paint_scale(painter)
        for place, index in enumerate(self._order):
            self._paint_label(painter, place, self._rows[index])
        self._paint_ranges(painter)
        self._paint_marks(painter)

    def _paint_chosen(self, painter: QPainter) -> None:
        if self._row in self._order:
            band = self._band(self._order.index(self._row))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tint(self._palette.text, self._palette.ground, 0.07)))
            painter.drawRoundedRect(band.adjusted(1, 0, -1, 0), 5, 5)

    def _paint_scale(self, painter: QPainter) -> None:
        palette, plot = self._palette, self._plot()
        self._paint_noise(painter, plot)
        painter.setFont(figure_font(AXIS_PX))
        for tick in self._scale.ticks:
            is_baseline = tick == 1.0
            pen = QPen(QColor(palette.quiet if is_baseline else palette.line), 1)
            if is_baseline:
                pen.setDashPattern([4, 3])
            painter.setPen(pen)
            at = self._at(plot, tick)
            if self.in_columns:
                painter.drawLine(QLineF(plot.left(), at.y(), plot.right(), at.y()))
                box = QRectF(0, at.y() - 8, plot.left() - 8, 16)
                side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            else:
                painter.drawLine(QLineF(at.x(), plot.top(), at.x(), plot.bottom()))
                box = QRectF(at.x() - 30, plot.bottom() + 5, 60, 16)
                side = Qt.AlignmentFlag.AlignCenter
            painter.setPen(QColor(palette.quiet))
            painter.drawText(box, side, figures.speedup(tick))
        self._paint_baseline_word(painter, plot)

    def _paint_noise(self, painter: QPainter, plot: QRectF) -> None:
        """The range in which a difference is no gain."""
        a = self._at(plot, max(1 - NOISE, self._scale.low))
        b = self._at(plot, min(1 + NOISE, self._scale.high))
        if self.in_columns:
            box = QRectF(plot.left(), b.y(), plot.width(), a.y() - b.y())
        else:
            box = QRectF(a.x(), plot.top(), b.x() - a.x(), plot.height())
        colour = QColor(self._palette.quiet)
        colour.setAlphaF(0.10)
        painter.fillRect(box, colour)

    def _paint_baseline_word(self, painter: QPainter, plot: QRectF) -> None:
        at = self._at(plot, 1.0)
        painter.setFont(interface_font(AXIS_PX))
        if self.in_columns:
            box = QRectF(plot.right() - 80, at.y() - 17, 78, 15)
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        else:
            box = QRectF(at.x() - 40, 4, 80, 16)
            side = Qt.AlignmentFlag.AlignCenter
        painter.drawText(box, side, "baseline")

    def _paint_label(self, painter: QPainter, place: int, row: SweepRow) -> None:
        band, palette = self._band(place), self._palette
        weight = Weight.DemiBold if row.is_best else Weight.Normal
        painter.setPen(QColor(palette.text if row.is_best else palette.quiet))
        if not self.in_columns:
            size = LABEL_PX if self._pitch_down() == ROW else AXIS_PX
            painter.setFont(interface_font(size, weight))
            room = self._plot().left() - 14
            text = QFontMetricsF(painter.font()).elidedText(
                _marked(row), Qt.TextElideMode.ElideMiddle, room
            )
            box = QRectF(6, band.top(), room, band.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
            return
        painter.setFont(figure_font(LABEL_PX, weight))
        text = f"{_number(row.point.value_of(self._numeric or '')) if row.point else 0:g}"
        every = max(round(34 / max(band.width(), 1)), 1)
        if place % every == 0 or row.is_best:
            box = QRectF(band.center().x() - 30, band.bottom() + 4, 60, 16)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
        if row.is_best:
            painter.setFont(interface_font(AXIS_PX, Weight.DemiBold))
            box = QRectF(band.center().x() - 40, 4, 80, 16)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "★ best")
        if place == 0:
            words = SETTINGS[self._numeric or ""].words
            painter.setPen(QColor(palette.quiet))
            painter.setFont(interface_font(AXIS_PX))
            box = QRectF(LEFT, self.height() - 17, self.width() - LEFT - RIGHT, 16)
            title = words.replace("{}", "").strip()
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, title)

    def _paint_ranges(self, painter: QPainter) -> None:
        """Columns: a quiet line for each prompt. Rows: from the lowest to the highest."""
        colour = QColor(self._palette.quiet)
        colour.setAlphaF(0.55)
        if not self.in_columns:
            painter.setPen(QPen(colour, 2))
            for place, index in enumerate(self._order):
                row, band = self._rows[index], self._band(place)
                if row.lowest is not None and row.highest is not None:
                    ends = self._at(band, row.lowest), self._at(band, row.highest)
                    painter.drawLine(QLineF(*ends))
            return
        for prompt in range(len(self._names)):
            chosen = prompt == self._prompt
            pen = QPen(QColor(self._palette.text) if chosen else colour, 1.6 if chosen else 1)
            painter.setPen(pen)
            line = [mark.at for mark in self.marks() if mark.prompt == prompt]
            painter.drawPolyline(QPolygonF(line))

    def _paint_marks(self, painter: QPainter) -> None:
        marks = sorted(self.marks(), key=lambda mark: mark.prompt == self._prompt)
        for mark in marks:
            faded = self._prompt is not None and mark.prompt != self._prompt
            colour = QColor(effect_colour(mark.effect, self._palette))
            if faded:
                colour.setAlphaF(0.45)
            # a rim of the ground keeps marks apart that lie over each other
            painter.setPen(QPen(QColor(self._palette.ground), 1.2))
            painter.setBrush(colour)
            paint_mark(painter, mark.at, mark.effect)

    # Telling more ----------------------------------------------------------------------------
    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self.row_at(event.position())
        if row is not None and event.button() == Qt.MouseButton.LeftButton:
            self.row_chosen.emit(row)
        else:
            super().mousePressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            text = self.tooltip_at(QPointF(event.pos()))
            if text:
                QToolTip.showText(event.globalPos(), tooltip(text), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def tooltip_at(self, at: QPointF) -> str:
        """What there is to say of the nearest mark of the setting under the mouse."""
        index = self.row_at(at)
        if index is None:
            return ""
        near = [mark for mark in self.marks() if mark.row == index]
        if not near:
            return f"{self._rows[index].label}: not measured"
        mark = min(near, key=partial(_distance, at))
        result = self._rows[index].results[mark.prompt]
        assert result is not None
        return (
            f"{self._names[mark.prompt]}, {self._rows[index].label}: "
            f"{figures.speedup(mark.speedup)}, {outcome_words(result)}\n"
            f"{figures.speed(result.tokens_per_second)} against "
            f"{figures.speed(result.baseline_tokens_per_second)}"
        )


def paint_mark(painter: QPainter, at: QPointF, effect: Effect | None) -> None:
    """A triangle up where it is faster, down where it is slower, else a disc."""
    if effect not in (Effect.FASTER, Effect.SLOWER):
        painter.drawEllipse(at, MARK, MARK)
        return
    up = -1 if effect is Effect.FASTER else 1
    half, tall = MARK * 1.2, MARK * 1.15
    painter.drawPolygon(
        QPolygonF(
            [
                QPointF(at.x(), at.y() + up * tall),
                QPointF(at.x() - half, at.y() - up * tall * 0.85),
                QPointF(at.x() + half, at.y() - up * tall * 0.85),
            ]
        )
    )


def _distance(at: QPointF, mark: Mark) -> float:
    return QLineF(at, mark.at).length()


def _marked(row: SweepRow) -> str:
    return f"★ {row.label}" if row.is_best else row.label


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
