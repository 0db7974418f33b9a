"""The step strip: one column for each verify step, what was accepted and what was not.

Paints only the columns in sight, so that its cost does not grow with the run.
"""

from __future__ import annotations

from math import floor

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QSizePolicy, QToolTip, QWidget

from specviz.trace.config import RunMode
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.theme import DARK, STRIP_HEIGHT, Palette, tint
from specviz.ui.token_layout import Style
from specviz.ui.token_paint import ink
from specviz.ui.typefaces import interface_font

PITCH = 12
CELL = 9
CELL_HEIGHT = 15
CELL_GAP = 2
MARGIN = 6
TOP = 16
BOTTOM = 12
FADED = 0.3


class StepStrip(QAbstractScrollArea):
    """Columns of cells from the bottom up: accepted, the target's own token, rejected.

    Mouse and arrow keys choose a step. Steps behind the current one are faded.

    Signals:
        step_chosen: the index of a verify step.
        step_cleared: no step is chosen any more.
    """

    step_chosen = Signal(int)
    step_cleared = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("step-strip")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMinimumHeight(72)
        self.setAccessibleName("Verify steps")
        self.viewport().setMouseTracking(True)
        self._palette = DARK
        self._trace: Trace | None = None
        self._n_seen = 0
        self._closed = False
        self._current: int | None = None
        self._rows = 5
        self._rows_painted = 0
        self.n_painted = 0
        bar = self.horizontalScrollBar()
        bar.setSingleStep(PITCH)
        self._describe()

    # What is shown ---------------------------------------------------------------------------
    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self.viewport().update()

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Show the steps of the speculative run, or of the baseline where there is none yet."""
        self.show_trace(speculative if speculative is not None else baseline)

    def show_trace(self, trace: Trace | None) -> None:
        """Show the steps of one run."""
        if trace is not self._trace or trace is None:
            self._trace = trace
            self._n_seen, self._closed = 0, False
            self._current = None
            self._rows = 5
            self.horizontalScrollBar().setValue(0)
        self.refresh()

    def refresh(self, final: bool = False) -> None:
        """Take in new steps; follows the end only while it is in sight."""
        trace = self._trace
        n = len(trace.steps) if trace is not None else 0
        closed = trace is not None and trace.closed
        if n == self._n_seen and closed == self._closed and n:
            return
        # a run that was over before it came is looked at from its beginning
        follow = self._at_end() and not (closed and not self._n_seen)
        if trace is not None:
            if trace.started is not None and trace.mode is RunMode.SPECULATIVE:
                self._rows = max(self._rows, min(trace.started.config.speculation.n_max, 64) + 1)
            for step in trace.steps[self._n_seen : n]:
                self._rows = max(self._rows, len(step.draft) + 1)
        before, rows = self._n_seen, self._rows_painted
        self._n_seen, self._closed = n, closed
        self._fit_scroll_bar(follow=follow)
        self._describe()
        if self._rows != rows or not before or n < before:
            self.viewport().update()
        else:
            # the columns before these look as they did
            left = floor(self.column_rect(before - 1).left()) - 1
            self.viewport().update(self.viewport().rect().adjusted(left, 0, 0, 0))
        self._rows_painted = self._rows

    @property
    def n_steps(self) -> int:
        """Columns there are."""
        return self._n_seen

    @property
    def current(self) -> int | None:
        """The chosen step."""
        return self._current

    def mark_step(self, step: int | None) -> None:
        """Outline a step and bring it into sight; None: no step is chosen. Sends no signal."""
        if step is not None and not 0 <= step < self._n_seen:
            step = None
        if step == self._current:
            return
        self._current = step
        if step is not None:
            self._reveal(step)
        self._describe()
        self.viewport().update()

    def _choose(self, step: int) -> None:
        if self._n_seen:
            step = min(max(step, 0), self._n_seen - 1)
            self.mark_step(step)
            self.step_chosen.emit(step)

    def _clear(self) -> None:
        if self._current is not None:
            self.mark_step(None)
            self.step_cleared.emit()

    def _describe(self) -> None:
        if not self._n_seen:
            text = "No verify step yet."
        else:
            text = figures.counted(self._n_seen, "verify step") + "."
            if self._current is not None:
                text += " " + self.tooltip(self._current).replace("\n", ", ") + "."
        self.setAccessibleDescription(text)

    # Geometry --------------------------------------------------------------------------------
    def sizeHint(self) -> QSize:
        return QSize(640, STRIP_HEIGHT)

    def _at_end(self) -> bool:
        bar = self.horizontalScrollBar()
        return bar.value() >= bar.maximum() - 2

    def _fit_scroll_bar(self, *, follow: bool) -> None:
        bar, width = self.horizontalScrollBar(), self.viewport().width()
        bar.setPageStep(width)
        bar.setRange(0, max(2 * MARGIN + self._n_seen * PITCH - width, 0))
        if follow:
            bar.setValue(bar.maximum())

    def _reveal(self, step: int) -> None:
        bar, width = self.horizontalScrollBar(), self.viewport().width()
        left = MARGIN + step * PITCH
        if left - 2 * PITCH < bar.value():
            bar.setValue(left - 2 * PITCH)
        elif left + 3 * PITCH > bar.value() + width:
            bar.setValue(left + 3 * PITCH - width)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        # moves what is painted, and paints only what comes into sight
        self.viewport().scroll(dx, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit_scroll_bar(follow=self._at_end())
        super().resizeEvent(event)

    def step_at(self, point: QPoint) -> int | None:
        """The step whose column is at a point of the viewport."""
        x = point.x() + self.horizontalScrollBar().value() - MARGIN
        index = x // PITCH
        return index if 0 <= index < self._n_seen else None

    def column_rect(self, step: int) -> QRectF:
        """Where the column of a step is in the viewport, with room for the tallest draft."""
        pitch, _ = self._cell_size()
        bottom = self.height() - BOTTOM
        height = self._rows * pitch
        x = MARGIN + step * PITCH - self.horizontalScrollBar().value()
        return QRectF(x, bottom - height, CELL, height)

    def _cell_size(self) -> tuple[float, float]:
        """Distance and height of cells, so that the tallest draft fits."""
        room = max(self.height() - BOTTOM - TOP, 20)
        pitch = min(CELL_HEIGHT + CELL_GAP, room / self._rows)
        gap = CELL_GAP if pitch >= 7 else 1 if pitch >= 3 else 0
        return pitch, pitch - gap

    # Painting --------------------------------------------------------------------------------
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), QColor(self._palette.panel))
        trace = self._trace
        if trace is None or not self._n_seen:
            self._paint_nothing(painter)
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scroll = self.horizontalScrollBar().value() - MARGIN
        first = max((event.rect().left() + scroll) // PITCH, 0)
        after = min((event.rect().right() + scroll) // PITCH + 1, self._n_seen)
        for step in range(first, after):
            self._paint_column(painter, trace, step)
        if self._current is not None and first - 1 <= self._current <= after:
            self._paint_outline(painter, self._current)
        if self.hasFocus() and self._current is None:
            painter.setPen(QPen(QColor(self._palette.accent), 1))
            painter.drawLine(0, 0, self.viewport().width(), 0)

    def _paint_nothing(self, painter: QPainter) -> None:
        painter.setPen(QColor(self._palette.quiet))
        painter.setFont(interface_font(12))
        text = "Each verify step will stand here as a column: accepted, corrected, rejected."
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(self.viewport().rect().adjusted(MARGIN, 0, -MARGIN, 0), flags, text)

    def _paint_column(self, painter: QPainter, trace: Trace, step: int) -> None:
        self.n_painted += 1
        faded = self._current is not None and step > self._current
        pitch, height = self._cell_size()
        column = self.column_rect(step)
        radius = min(1.8, height / 3)
        y = column.bottom() - height
        for style in cells_of(trace, step):
            colour = QColor(self._colour(style, faded))
            box = QRectF(column.left(), y, CELL, height)
            if style is Style.REJECTED and height >= 4:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(colour, 1))
                painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
            else:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(colour)
                if style is Style.REJECTED:
                    box.setHeight(min(1.0, height))
                painter.drawRoundedRect(box, radius, radius)
                if style is Style.COPIED and height >= 6:
                    painter.setBrush(QColor(self._palette.panel))
                    painter.drawRect(QRectF(box.left(), round(box.center().y()) - 1, CELL, 2))
            y -= pitch

    def _colour(self, style: Style, faded: bool) -> str:
        palette = self._palette
        colour = palette.quiet if style is Style.PLAIN else ink(style, palette)
        share = 0.8 if style is Style.REJECTED else 1.0
        if faded:
            share *= FADED
        return tint(colour, palette.panel, share)

    def _paint_outline(self, painter: QPainter, step: int) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(self._palette.text), 2))
        box = self.column_rect(step).adjusted(-3.5, -4, 3.5, 4)
        painter.drawRoundedRect(box, 5, 5)

    # Qt's events -----------------------------------------------------------------------------
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            step = self.step_at(event.position().toPoint())
            if step is None or step == self._current:
                self._clear()
            else:
                self._choose(step)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            step = self.step_at(event.position().toPoint())
            if step is not None and step != self._current:
                self._choose(step)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        bar = self.horizontalScrollBar()
        bar.setValue(bar.value() - (delta.x() or delta.y()))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        at = self._current
        last = self._n_seen - 1
        page = max(self.viewport().width() // PITCH, 1)
        moves = {
            Qt.Key.Key_Left: last if at is None else at - 1,
            Qt.Key.Key_Right: last if at is None else at + 1,
            Qt.Key.Key_PageUp: last if at is None else at - page,
            Qt.Key.Key_PageDown: last if at is None else at + page,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if event.key() in moves and self._n_seen:
            self._choose(moves[Qt.Key(event.key())])
        elif event.key() == Qt.Key.Key_Escape and self._current is not None:
            self._clear()
        else:
            super().keyPressEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            step = self.step_at(event.pos())
            if step is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), self.tooltip(step), self.viewport())
            return True
        return super().viewportEvent(event)

    def tooltip(self, step: int) -> str:
        """What there is to say of a step; figures and our own words only."""
        return step_words(self._trace, step) if self._trace is not None else ""


def cells_of(trace: Trace, index: int) -> list[Style]:
    """The cells of a step from the bottom up. What a stop text cut away is left out."""
    step = trace.steps[index]
    cells = [
        Style.ACCEPTED if token.copied_from is None else Style.COPIED
        for token in step.draft[: trace.accepted_of_step(index)]
    ]
    target = trace.target_of_step(index)
    if target is not None:
        cells.append(
            {"recovered": Style.RECOVERED, "bonus": Style.BONUS}.get(
                target.source.value, Style.PLAIN
            )
        )
    return cells + [Style.REJECTED] * (len(step.draft) - step.n_accepted)


def step_seconds(trace: Trace, index: int) -> float:
    """How long a step took, in seconds."""
    step = trace.steps[index]
    return (
        step.draft_seconds
        + step.verify_seconds
        + step.sample_seconds
        + step.restore_seconds
        + step.other_seconds
    )


def step_words(trace: Trace, index: int) -> str:
    """A step in two lines."""
    step = trace.steps[index]
    time = figures.short_time(step_seconds(trace, index))
    if not step.draft:
        return f"Step {figures.count(index + 1)}\nthe target alone, {time}"
    return (
        f"Step {figures.count(index + 1)}\n{len(step.draft)} drafted, "
        f"{trace.accepted_of_step(index)} accepted, {time}"
    )
