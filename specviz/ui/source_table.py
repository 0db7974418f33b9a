"""A row for each draft source of a run: what it drafted, what was accepted, what asking it takes.

The full statistics line, as llama.cpp writes it, is in the tooltip and can be copied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QLineF, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetricsF,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget

from specviz.trace.sources import SourceStatistics, SourceTally, statistics_line
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.menus import make_action, rounded_menu
from specviz.ui.plain_text import tooltip
from specviz.ui.source_words import NAMES, full_name
from specviz.ui.theme import DARK, Palette
from specviz.ui.typefaces import figure_font, interface_font

HEAD = 18
ROW = 20
GAP = 12
HEAD_PX = 11
TEXT_PX = 12
NOTHING = "Nothing has been drafted yet."


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of each source. `room`: a text as wide as the column should be at least."""

    title: str
    text: Callable[[SourceStatistics], str]
    room: str


def per_call(statistics: SourceStatistics) -> str:
    """What asking for one draft takes; searching a text is a matter of microseconds."""
    seconds = statistics.seconds_per_call
    if seconds is not None and 0 < seconds < 0.00095:
        return f"{figures.decimal(seconds * 1e6, 0)}{figures.THIN}µs"
    return figures.short_time(seconds)


def _share(statistics: SourceStatistics) -> str:
    return figures.percent(statistics.acceptance_rate)


def _of_tested(statistics: SourceStatistics) -> str:
    """Accepted of tested, and the share that makes: `97 of 120  81 %`."""
    if statistics.acceptance_rate is None:
        return figures.DASH
    kept, tested = figures.count(statistics.n_accepted), figures.count(statistics.n_tested)
    return f"{kept} of {tested}  {_share(statistics)}"


def _dropped(statistics: SourceStatistics) -> str:
    return figures.count(statistics.n_dropped)


DRAFTS = Column("drafts", lambda s: figures.count(s.n_drafts), "000")
DROPPED = Column("dropped", _dropped, "00")
OF_TESTED = Column("accepted of tested", _of_tested, f"000 of 000  00{figures.THIN}%")
SHARE = Column("of tested", _share, f"00{figures.THIN}%")
PER_CALL = Column("per call", per_call, f"000{figures.THIN}µs")
LAYOUTS = (
    (DRAFTS, DROPPED, OF_TESTED, PER_CALL),
    (DROPPED, OF_TESTED, PER_CALL),
    (OF_TESTED, PER_CALL),
    (DROPPED, SHARE, PER_CALL),
    (SHARE, PER_CALL),
)
"""From roomy to narrow; the tooltip has every figure. What was tested and what was dropped make up
what was drafted."""


class SourceTable(QWidget):
    """Names on the left, figures in columns; narrower tables have fewer of them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("source-table")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName("Drafting sources")
        self._palette = DARK
        self._tally: SourceTally | None = None
        self._seen: tuple[int, bool] | None = None
        self._rows: tuple[SourceStatistics, ...] = ()
        self._columns: tuple[Column, ...] = LAYOUTS[0]
        self._widths: list[float] = []
        self.refresh()

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self.update()

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Show the sources of the speculative run; a baseline has none."""
        self._tally = SourceTally(speculative) if speculative is not None else None
        self._seen = None
        self.refresh()

    def refresh(self, final: bool = False) -> None:
        """Take in new steps."""
        trace = self._tally.trace if self._tally is not None else None
        state = (len(trace.steps), trace.closed) if trace is not None else (-1, False)
        if state == self._seen:
            return
        self._seen = state
        self._rows = self._tally.extend() if self._tally is not None else ()
        self.setFixedHeight(HEAD + ROW * max(len(self._rows), 1))
        self.setAccessibleDescription(self.text())
        self._arrange()

    @property
    def rows(self) -> tuple[SourceStatistics, ...]:
        """What is shown, from the top."""
        return self._rows

    @property
    def columns(self) -> tuple[Column, ...]:
        """The figures that have room, from the left."""
        return self._columns

    def text(self) -> str:
        """The table in words."""
        return "\n".join(_in_words(row) for row in self._rows) or NOTHING

    def sizeHint(self) -> QSize:
        return QSize(324, self.height())

    # Layout ----------------------------------------------------------------------------------
    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()
        super().resizeEvent(event)

    def _arrange(self) -> None:
        names = QFontMetricsF(interface_font(TEXT_PX))
        longest = max((names.horizontalAdvance(NAMES[row.source]) for row in self._rows), default=0)
        for columns in LAYOUTS:
            self._columns = columns
            self._widths = [self._width(column) for column in columns]
            if longest + sum(self._widths) + GAP * len(columns) <= self.width():
                break
        self.update()

    def _width(self, column: Column) -> float:
        head, cell = QFontMetricsF(interface_font(HEAD_PX)), QFontMetricsF(figure_font(TEXT_PX))
        texts = [column.room, *(column.text(row) for row in self._rows)]
        return max(head.horizontalAdvance(column.title), *map(cell.horizontalAdvance, texts))

    def _boxes(self, top: float, height: float) -> list[tuple[Column, QRectF]]:
        """The cells of a line, from the left; they end at the right edge."""
        boxes: list[tuple[Column, QRectF]] = []
        right = float(self.width())
        for column, width in zip(reversed(self._columns), reversed(self._widths), strict=True):
            boxes.insert(0, (column, QRectF(right - width, top, width, height)))
            right -= width + GAP
        return boxes

    # Painting --------------------------------------------------------------------------------
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.hasFocus():
            # a ring would touch the letters, which begin where the panel's other letters do
            painter.setPen(QPen(QColor(self._palette.accent), 1.5))
            painter.drawLine(QLineF(0, HEAD - 0.75, self.width(), HEAD - 0.75))
        if not self._rows:
            self._put(painter, QRectF(0, 0, self.width(), ROW), NOTHING, interface_font(TEXT_PX))
            return
        for column, box in self._boxes(0, HEAD):
            self._put(painter, box, column.title, interface_font(HEAD_PX), right=True)
        for i, row in enumerate(self._rows):
            self._paint_row(painter, row, HEAD + i * ROW)

    def _paint_row(self, painter: QPainter, row: SourceStatistics, top: float) -> None:
        boxes = self._boxes(top, ROW)
        room = max(boxes[0][1].left() - GAP, 0)
        font = interface_font(TEXT_PX)
        name = QFontMetricsF(font).elidedText(NAMES[row.source], Qt.TextElideMode.ElideRight, room)
        self._put(painter, QRectF(0, top, room, ROW), name, font, self._palette.text)
        for column, box in boxes:
            colour = self._palette.text if row.n_drafted else self._palette.quiet
            self._put(painter, box, column.text(row), figure_font(TEXT_PX), colour, right=True)

    def _put(
        self,
        painter: QPainter,
        box: QRectF,
        text: str,
        font: QFont,
        colour: str = "",
        *,
        right: bool = False,
    ) -> None:
        painter.setFont(font)
        painter.setPen(QColor(colour or self._palette.quiet))
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        # a pixel to spare, for measuring and painting round differently
        box = box.adjusted(-2, 0, 0, 0) if right else box
        painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter, text)

    # Telling more ----------------------------------------------------------------------------
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            text = self.tooltip_at(event.pos())
            if text:
                QToolTip.showText(event.globalPos(), tooltip(text), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def row_at(self, at: QPoint) -> SourceStatistics | None:
        """The source whose row is at a place in the table."""
        index = (at.y() - HEAD) // ROW
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def tooltip_at(self, at: QPoint) -> str:
        """What there is to say of the row under the mouse."""
        row = self.row_at(at)
        return "" if row is None else f"{_in_words(row)}\n\n{statistics_line(row)}"

    def make_menu(self, row: SourceStatistics | None) -> QMenu:
        """The context menu; `row` is the one that was pointed at."""
        menu = rounded_menu(self)
        if row is not None:
            line = statistics_line(row)
            text = f"Copy statistics of {row.source.value}"
            menu.addAction(make_action(menu, text, lambda: _copy(line), name="copy-source-action"))
        if len(self._rows) > 1 or row is None:
            every = make_action(menu, "Copy all statistics", self.copy, name="copy-sources-action")
            every.setEnabled(bool(self._rows))
            menu.addAction(every)
        return menu

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = self.make_menu(self.row_at(event.pos()))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def copy(self) -> None:
        """Copy the statistics lines of all sources."""
        _copy("\n".join(statistics_line(row) for row in self._rows))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy) and self._rows:
            self.copy()
        else:
            super().keyPressEvent(event)


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)


def _in_words(row: SourceStatistics) -> str:
    facts = [_asked(row.n_draft_calls), figures.counted(row.n_drafts, "draft")]
    if row.n_dropped_drafts:
        tokens = figures.counted(row.n_dropped, "token")
        facts.append(f"{figures.count(row.n_dropped_drafts)} too short ({tokens} dropped)")
    if row.n_tested:
        tested = figures.counted(row.n_tested, "tested token")
        facts.append(f"{figures.count(row.n_accepted)} of {tested} accepted ({_share(row)})")
    if row.seconds_per_call is not None:
        facts.append(f"{per_call(row)} per call")
    return f"{full_name(row.source)}: {', '.join(facts)}"


def _asked(n: int) -> str:
    return {0: "never asked", 1: "asked once"}.get(n, f"asked {figures.count(n)} times")
