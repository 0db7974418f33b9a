"""The page that shows a conversation: prompts as bubbles, the answer with its sources, a last line.

Paints only what is in sight. Selecting, copying, hovering and scrolling are here; what to show and
in which words is told from outside (conversation.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QColor,
    QContextMenuEvent,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QMenu, QToolTip, QWidget

from specviz.trace.config import Message
from specviz.trace.trace import Trace
from specviz.ui.answer import Answer
from specviz.ui.reading_column import reading_column
from specviz.ui.text_block import TextBlock
from specviz.ui.theme import CARD_RADIUS, DARK, Palette
from specviz.ui.token_layout import TokenLayout
from specviz.ui.token_paint import Inks, outline, paint_lines
from specviz.ui.typefaces import Weight, answer_font, display_font, interface_font

TOP_SPACE = 20
BOTTOM_SPACE = 24
TURN_SPACE = 18
BUBBLE_PADDING = 15
BUBBLE_PADDING_Y = 11
BUBBLE_SHARE = 0.88
NOTE_SPACE = 12
BAR_WIDTH = 240
BAR_HEIGHT = 4
REJECTED_PX = 12


@dataclass(frozen=True, slots=True)
class Progress:
    """Something that is not done yet; `fraction` from 0 to 1, None where unknown."""

    text: str
    fraction: float | None


class TokenView(QAbstractScrollArea):
    """Prompts, an answer, and a quiet line behind it.

    Signals:
        step_chosen: a token was clicked; the index of its verify step.
        show_rejected_changed: rejected drafts were switched on or off from the context menu.
    """

    step_chosen = Signal(int)
    show_rejected_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("token-view")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._column = reading_column(self.viewport().width())
        self.answer = Answer(
            TokenLayout(answer_font(), interface_font(REJECTED_PX), self._column[1])
        )
        self._turns: list[tuple[Message, TextBlock]] = []
        self._note: TextBlock | None = None
        self._progress: Progress | None = None
        self._placeholder = ("", "")
        self._inks = Inks(DARK)
        self._anchor = self._cursor = 0
        self._pressed_at: QPoint | None = None
        self._marked_step: int | None = None
        self._hovered: int | None = None
        self.verticalScrollBar().setSingleStep(self.answer.layout.spacing.line)

    # What is shown ---------------------------------------------------------------------------
    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._inks = Inks(palette)
        self.viewport().update()

    def set_messages(self, messages: Sequence[Message]) -> None:
        """The turns before the answer. System prompts are not drawn."""
        shown = [message for message in messages if message.role != "system" and message.text]
        if shown == [message for message, _ in self._turns]:
            return
        follow = self.at_end
        self._turns = [(message, self._turn_block(message)) for message in shown]
        self._content_changed(follow=follow)

    def _turn_block(self, message: Message) -> TextBlock:
        if message.role == "user":
            return TextBlock(message.text, interface_font(), self._bubble_text_width())
        spacing = self.answer.layout.spacing
        return TextBlock(message.text, answer_font(), self._column[1], spacing)

    def _bubble_text_width(self) -> float:
        return int(self._column[1] * BUBBLE_SHARE) - 2 * BUBBLE_PADDING

    def set_placeholder(self, title: str, sentence: str) -> None:
        """What stands in the middle while there is nothing else to show."""
        self._placeholder = (title, sentence)
        self.viewport().update()

    def set_note(self, text: str) -> None:
        """The quiet line behind the answer; nothing when empty."""
        if text == (self._note.text if self._note else ""):
            return
        follow = self.at_end
        self._note = TextBlock(text, interface_font(), self._column[1]) if text else None
        self._content_changed(follow=follow)

    def set_progress(self, progress: Progress | None) -> None:
        """A line with a bar behind what is shown; it takes the place of the note."""
        if progress != self._progress:
            follow = self.at_end
            resized = (progress is None) != (self._progress is None)
            self._progress = progress
            self._content_changed(follow=follow and resized)

    def set_trace(self, trace: Trace | None) -> None:
        """Show the answer of another trace from its beginning."""
        self._anchor = self._cursor = 0
        self._marked_step = self._hovered = None
        self.answer.show(trace)
        self._content_changed(follow=trace is not None and not trace.closed)
        if trace is None or trace.closed:
            self.verticalScrollBar().setValue(0)

    def take_new(self) -> bool:
        """Draw what the trace has grown by; True when anything did."""
        follow = self.at_end
        if not self.answer.take_new():
            return False
        length = self.answer.layout.length
        self._anchor, self._cursor = min(self._anchor, length), min(self._cursor, length)
        self._content_changed(follow=follow)
        return True

    def set_show_rejected(self, show: bool) -> None:
        """Show rejected drafts before the token that replaced them. What is being read stays."""
        if show == self.answer.show_rejected:
            return
        self._anchor = self._cursor = 0
        self._relayout(partial(self.answer.set_show_rejected, show))
        self.show_rejected_changed.emit(show)

    def mark_step(self, step: int | None, *, reveal: bool = False) -> None:
        """Frame the tokens of a verify step, and scroll to them if asked to."""
        self._marked_step = step
        offsets = None if step is None else self.answer.offsets_of_step(step)
        if reveal and offsets is not None:
            self.reveal(offsets[0])
        self.viewport().update()

    @property
    def marked_step(self) -> int | None:
        return self._marked_step

    # Geometry --------------------------------------------------------------------------------
    def _turn_height(self, message: Message, block: TextBlock) -> float:
        return block.height + (2 * BUBBLE_PADDING_Y if message.role == "user" else 0)

    @property
    def answer_top(self) -> float:
        """Where the answer begins on the page."""
        return TOP_SPACE + sum(
            self._turn_height(message, block) + TURN_SPACE for message, block in self._turns
        )

    @property
    def content_height(self) -> int:
        """Height of the whole page."""
        height = self.answer_top + self.answer.layout.height
        if self._progress is not None:
            height += NOTE_SPACE + 34
        elif self._note is not None:
            height += NOTE_SPACE + self._note.height
        return int(height + BOTTOM_SPACE)

    def break_before(self, y: float) -> int:
        """The nearest height at or above `y` where the page can be cut without cutting a line."""
        layout = self.answer.layout
        inside = y - self.answer_top
        if not layout.n_lines or inside <= 0 or inside >= layout.height:
            return int(y)
        return int(self.answer_top + layout.top_of(layout.line_at(inside)))

    @property
    def at_end(self) -> bool:
        """Whether the reader stands at the end of the page."""
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 2

    def _content_changed(self, *, follow: bool = False) -> None:
        bar = self.verticalScrollBar()
        height = self.viewport().height()
        bar.setPageStep(height)
        bar.setRange(0, max(self.content_height - height, 0))
        if follow:
            bar.setValue(bar.maximum())
        self.viewport().update()

    def _relayout(self, change: partial[None]) -> None:
        """Make a change that moves lines, and keep the line at the top where it was."""
        bar = self.verticalScrollBar()
        follow = self.at_end and bar.maximum() > 0
        place = self._reading_place()
        change()
        self._content_changed(follow=follow)
        if place is not None and not follow:
            position, above = place
            item = self.answer.item_of(position)
            if item is not None:
                layout = self.answer.layout
                top = layout.top_of(layout.line_of(layout.start_of(item)))
                bar.setValue(round(self.answer_top + top - above))

    def _reading_place(self) -> tuple[int, float] | None:
        """The first token in sight and how far below the upper edge its line is."""
        layout = self.answer.layout
        y = self.verticalScrollBar().value() - self.answer_top
        if y <= 0 or not layout.n_lines:
            return None
        line = layout.line_at(y)
        item = layout.item_at_offset(layout.bounds_of(line)[0])
        while item < layout.n_items and layout.refs[item] < 0:
            item += 1
        token = self.answer.token_of(item) if item < layout.n_items else None
        return None if token is None else (token.position, layout.top_of(line) - y)

    def answer_corner(self) -> tuple[int, int]:
        """Where the answer's corner is in the viewport now."""
        return self._column[0], round(self.answer_top) - self.verticalScrollBar().value()

    def reveal(self, offset: int) -> None:
        """Scroll so that a character of the answer is in sight; nothing moves when it is."""
        layout = self.answer.layout
        line = layout.line_of(offset)
        top = self.answer_top + layout.top_of(line)
        bar, height = self.verticalScrollBar(), self.viewport().height()
        if top < bar.value() or top + layout.height_of(line) > bar.value() + height:
            bar.setValue(round(top - height / 3))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._column = reading_column(self.viewport().width())
        self._relayout(partial(self._set_widths))
        super().resizeEvent(event)

    def _set_widths(self) -> None:
        width = self._column[1]
        for message, block in self._turns:
            block.set_width(self._bubble_text_width() if message.role == "user" else width)
        if self._note is not None:
            self._note.set_width(width)
        self.answer.layout.set_width(width)

    # Painting --------------------------------------------------------------------------------
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        clip = event.rect()
        painter.fillRect(clip, QColor(self._inks.palette.ground))
        scroll = self.verticalScrollBar().value()
        if not self._turns and not self.answer.n_taken and self._progress is None:
            self._paint_placeholder(painter)
            return
        painter.translate(0, -scroll)
        self._paint_page(painter, clip.top() + scroll, clip.bottom() + 1 + scroll)

    def paint_page(self, painter: QPainter, top: float, bottom: float) -> None:
        """Paint the page from `top` to `bottom` on a canvas whose corner is at `top`; no
        selection, frames or hovering."""
        hidden = (self._anchor, self._cursor, self._marked_step, self._hovered)
        self._anchor = self._cursor = 0
        self._marked_step = self._hovered = None
        try:
            painter.fillRect(
                QRectF(0, 0, self.viewport().width(), bottom - top),
                QColor(self._inks.palette.ground),
            )
            painter.translate(0, -top)
            self._paint_page(painter, top, bottom)
        finally:
            self._anchor, self._cursor, self._marked_step, self._hovered = hidden

    def _paint_page(self, painter: QPainter, top: float, bottom: float) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_turns(painter, top, bottom)
        self._paint_answer(painter, top, bottom)
        self._paint_end(painter, top, bottom)

    def _paint_turns(self, painter: QPainter, top: float, bottom: float) -> None:
        left, width = self._column
        palette = self._inks.palette
        y = float(TOP_SPACE)
        for message, block in self._turns:
            height = self._turn_height(message, block)
            x = float(left)
            if message.role == "user":
                bubble_width = round(block.width) + 2 * BUBBLE_PADDING
                x = left + width - bubble_width
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(palette.card))
                painter.drawRoundedRect(
                    QRectF(x, y, bubble_width, height), CARD_RADIUS, CARD_RADIUS
                )
                block.paint(
                    painter,
                    x + BUBBLE_PADDING,
                    y + BUBBLE_PADDING_Y,
                    QColor(palette.text),
                    top,
                    bottom,
                )
            else:
                block.paint(painter, x, y, QColor(palette.text), top, bottom)
            y += height + TURN_SPACE

    def _paint_answer(self, painter: QPainter, top: float, bottom: float) -> None:
        layout = self.answer.layout
        page_top = self.answer_top
        if not layout.n_lines or bottom < page_top or top > page_top + layout.height:
            return
        painter.save()
        painter.translate(self._column[0], page_top)
        first = layout.line_at(top - page_top)
        after = layout.line_at(bottom - page_top) + 1
        paint_lines(painter, layout, self._inks, first, after, self.selection, self._mixed_inks)
        in_sight = layout.bounds_of(first)[0], layout.bounds_of(after - 1)[1]
        self._paint_frames(painter, in_sight)
        painter.restore()

    def _mixed_inks(self, item: int) -> tuple[QColor, QColor] | None:
        styles = self.answer.sources_of_mixed(item)
        if styles is None:
            return None
        return self._inks.text[styles[0]], self._inks.text[styles[1]]

    def _paint_frames(self, painter: QPainter, in_sight: tuple[int, int]) -> None:
        layout = self.answer.layout
        frames = []
        if self._marked_step is not None:
            frames.append(
                (
                    self.answer.offsets_of_step(self._marked_step),
                    self._inks.palette.text,
                    Qt.PenStyle.SolidLine,
                )
            )
        if self._hovered is not None:
            frames.append(
                (
                    self.answer.offsets_of_copy_source(self._hovered),
                    self._inks.palette.accent,
                    Qt.PenStyle.DashLine,
                )
            )
        for offsets, colour, pen_style in frames:
            if offsets is not None:
                start, end = max(offsets[0], in_sight[0]), min(offsets[1], in_sight[1])
                outline(painter, layout.rects_between(start, end), QColor(colour), pen_style)

    def _paint_end(self, painter: QPainter, top: float, bottom: float) -> None:
        palette = self._inks.palette
        left, _ = self._column
        y = self.answer_top + self.answer.layout.height
        if self.answer.layout.n_lines:
            y += NOTE_SPACE
        if self._progress is not None:
            self._paint_progress(painter, self._progress, left, y)
        elif self._note is not None:
            self._note.paint(painter, left, y, QColor(palette.quiet), top, bottom)

    def _paint_progress(self, painter: QPainter, progress: Progress, x: float, y: float) -> None:
        palette = self._inks.palette
        painter.setFont(interface_font())
        painter.setPen(QColor(palette.quiet))
        painter.drawText(QPointF(x, y + 14), progress.text)
        painter.setPen(Qt.PenStyle.NoPen)
        if progress.fraction is None:
            return
        track = QRectF(x, y + 27, BAR_WIDTH, BAR_HEIGHT)
        painter.setBrush(QColor(palette.line))
        painter.drawRoundedRect(track, BAR_HEIGHT / 2, BAR_HEIGHT / 2)
        share = min(max(progress.fraction, 0.0), 1.0)
        if share > 0:
            track.setWidth(max(BAR_WIDTH * share, BAR_HEIGHT))
            painter.setBrush(QColor(palette.accent))
            painter.drawRoundedRect(track, BAR_HEIGHT / 2, BAR_HEIGHT / 2)

    def _paint_placeholder(self, painter: QPainter) -> None:
        title, sentence = self._placeholder
        if not title and not sentence:
            return
        palette = self._inks.palette
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left, width = self._column
        width = min(width, 460)
        left = (self.viewport().width() - width) // 2
        middle = self.viewport().height() // 2
        painter.setPen(QColor(palette.text))
        painter.setFont(display_font(20, Weight.DemiBold))
        flags = Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(QRect(left, middle - 52, width, 34), flags, title)
        painter.setPen(QColor(palette.quiet))
        painter.setFont(interface_font())
        painter.drawText(QRect(left, middle - 12, width, 120), flags, sentence)

    # Selecting and copying -------------------------------------------------------------------
    @property
    def selection(self) -> tuple[int, int] | None:
        """Offsets of the selected characters of the answer."""
        if self._anchor == self._cursor:
            return None
        return min(self._anchor, self._cursor), max(self._anchor, self._cursor)

    @property
    def selected_text(self) -> str:
        """The exact text of the selection, rejected drafts left out."""
        selected = self.selection
        return self.answer.exact_text(*selected) if selected else ""

    def select(self, start: int, end: int) -> None:
        """Select the characters of the answer between two offsets."""
        self._anchor, self._cursor = start, end
        self.viewport().update()

    def select_all(self) -> None:
        """Select the whole answer."""
        self.select(0, self.answer.layout.length)

    def copy(self) -> None:
        """Copy the selection; the whole answer when nothing is selected."""
        _copy(self.selected_text or self.answer.text)

    def copy_answer(self) -> None:
        """Copy the exact text of the answer."""
        _copy(self.answer.text)

    def copy_all(self) -> None:
        """Copy the prompts and the answer."""
        _copy(self.whole_text)

    @property
    def whole_text(self) -> str:
        """Prompts and answer as plain text, a blank line between them."""
        parts = [message.text for message, _ in self._turns]
        return "\n\n".join([*parts, self.answer.text] if self.answer.n_taken else parts)

    def toPlainText(self) -> str:
        """The exact text of the answer, under the name it has in Qt's own text views."""
        return self.answer.text

    def context_menu(self) -> QMenu:
        """The actions on the text; the caller shows the menu."""
        menu = QMenu(self)
        self._add(menu, "Copy", self.copy, enabled=self.selection is not None)
        self._add(menu, "Copy answer", self.copy_answer, enabled=self.answer.n_taken > 0)
        self._add(menu, "Copy all", self.copy_all, enabled=bool(self._turns))
        self._add(menu, "Select all", self.select_all, enabled=self.answer.n_taken > 0)
        menu.addSeparator()
        shown = self.answer.show_rejected
        action = self._add(menu, "Show rejected drafts", partial(self.set_show_rejected, not shown))
        action.setCheckable(True)
        action.setChecked(shown)
        return menu

    def _add(
        self, menu: QMenu, words: str, act: Callable[[], None], *, enabled: bool = True
    ) -> QAction:
        action = menu.addAction(words)
        action.triggered.connect(lambda *_: act())
        action.setEnabled(enabled)
        return action

    # Qt's events -----------------------------------------------------------------------------
    def _in_answer(self, point: QPoint) -> tuple[float, float]:
        y = point.y() + self.verticalScrollBar().value() - self.answer_top
        return point.x() - self._column[0], y

    def item_at(self, point: QPoint) -> int | None:
        """The span at a point of the viewport."""
        return self.answer.layout.item_at(*self._in_answer(point))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        self._pressed_at = event.position().toPoint()
        offset = self.answer.layout.offset_at(*self._in_answer(self._pressed_at))
        if not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._anchor = offset
        self._cursor = offset
        self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._pressed_at is None:
            self._hover(self.item_at(point))
            return
        bar = self.verticalScrollBar()
        beyond = max(point.y() - self.viewport().height(), 0) + min(point.y(), 0)
        if beyond:
            bar.setValue(bar.value() + beyond)
        self._cursor = self.answer.layout.offset_at(*self._in_answer(point))
        self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed_at, self._pressed_at = self._pressed_at, None
        if pressed_at is None or event.button() is not Qt.MouseButton.LeftButton:
            return
        moved = (event.position().toPoint() - pressed_at).manhattanLength()
        item = self.item_at(pressed_at)
        if moved < 4 and self.selection is None and item is not None:
            step = self.answer.step_of(item)
            if step is not None:
                self.step_chosen.emit(step)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        layout = self.answer.layout
        offset = layout.offset_at(*self._in_answer(event.position().toPoint()))
        line = layout.line_of(offset)
        start, end = layout.bounds_of(line) if layout.n_lines else (0, 0)
        text = layout.text_between(start, end)
        a = b = min(offset - start, len(text))
        while a > 0 and text[a - 1].isalnum():
            a -= 1
        while b < len(text) and text[b].isalnum():
            b += 1
        self.select(start + a, start + b)

    def _hover(self, item: int | None) -> None:
        if item != self._hovered:
            self._hovered = item
            self.viewport().update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)
        super().leaveEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            item = self.item_at(event.pos())
            if item is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), self.answer.tooltip(item), self.viewport())
            return True
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif event.key() == Qt.Key.Key_Home:
            bar.setValue(0)
        elif event.key() == Qt.Key.Key_End:
            bar.setValue(bar.maximum())
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = self.context_menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
