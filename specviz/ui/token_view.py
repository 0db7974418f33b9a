"""The page that shows a conversation: prompts as bubbles, answers with their sources, a last line.

Paints only what is in sight. Selecting, copying, hovering, folding and scrolling are here; what to
show and in which words is told from outside (conversation.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt, Signal
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

from specviz.trace.trace import Trace
from specviz.ui.answer import Answer, Span
from specviz.ui.chat import Turn
from specviz.ui.page import BOTTOM_SPACE, TOP_SPACE, Block, Page, Part, Spot
from specviz.ui.page_paint import PROGRESS_HEIGHT, Marks, PagePainter, Progress
from specviz.ui.pencil import REACH, Pencil
from specviz.ui.reading_column import reading_column
from specviz.ui.reasoning_header import ReasoningHeaders
from specviz.ui.theme import DARK, Palette
from specviz.ui.token_paint import Inks
from specviz.ui.token_words import tooltip
from specviz.ui.typefaces import Weight, display_font, interface_font


class TokenView(QAbstractScrollArea):
    """Prompts, answers, and a quiet line behind each.

    Signals:
        step_chosen: a token of the newest answer was clicked; the index of its verify step.
        show_rejected_changed: rejected drafts were switched on or off from the context menu.
        edit_requested: the prompt of a turn is to be written anew; the number of the turn, from 0.
    """

    step_chosen = Signal(int)
    show_rejected_changed = Signal(bool)
    edit_requested = Signal(int)

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
        self.page = Page(self._column[1])
        self._progress: Progress | None = None
        self._placeholder = ("", "")
        self._inks = Inks(DARK)
        self._selected_in = 0
        self._anchor = self._cursor = 0
        self._pressed_at: QPoint | None = None
        self._marked_step: int | None = None
        self._hovered: tuple[int, int] | None = None
        self._sources: tuple[Spot, ...] = ()
        self._edited: int | None = None
        self._editable = False
        self._headers = ReasoningHeaders(
            self.viewport(),
            on_toggled=lambda index, shown: self.set_folded(index, not shown),
            on_focused=self._reveal_header,
        )
        self._pencil = Pencil(self.viewport())
        self._pencil.clicked.connect(self._ask_to_edit)
        self.verticalScrollBar().setSingleStep(self.answer.layout.spacing.line)

    @property
    def answer(self) -> Answer:
        """The newest answer."""
        return self.page.newest.answer

    # What is shown ---------------------------------------------------------------------------
    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._inks = Inks(palette)
        self._place_widgets()
        self.viewport().update()

    def show_turns(self, turns: Sequence[Turn]) -> None:
        """Show a conversation; what is shown already stays as it is.

        A turn more is scrolled to. A run that begins or is another only goes on at the end.
        """
        follow, before = self.at_end, len(self.page.blocks)
        newest = self.page.newest
        first_new = self.page.show(turns)
        if first_new is None:
            return
        if self._selected_in >= first_new:
            self._selected_in = self._anchor = self._cursor = 0
        self._hover(None)
        self._show_pencil(None)
        if newest is not self.page.newest or first_new == len(self.page.blocks) - 1:
            self._marked_step = None
        others = newest is not self.page.newest
        grown = others and len(self.page.blocks) >= before
        self._content_changed(follow=follow or grown)
        if others and not self._runs():
            self.verticalScrollBar().setValue(round(self.page.newest.top - TOP_SPACE))

    def _runs(self) -> bool:
        """Whether the newest answer is still to come, or coming."""
        return not self.page.newest.turn.over

    def set_trace(self, trace: Trace | None) -> None:
        """Show the answer of another trace in the newest turn, from its beginning."""
        if self._selected_in == len(self.page.blocks) - 1:
            self._anchor = self._cursor = 0
        self._marked_step = None
        self._hover(None)
        self.page.newest.show_run(trace)
        self._content_changed(follow=trace is not None and not trace.closed)
        if trace is None or trace.closed:
            self.verticalScrollBar().setValue(round(self.page.newest.top - TOP_SPACE))

    def take_new(self) -> bool:
        """Draw what the newest trace has grown by; True when anything did."""
        follow = self.at_end
        if not self.answer.take_new():
            return False
        if self._selected_in == len(self.page.blocks) - 1:
            length = self.answer.layout.length
            self._anchor, self._cursor = min(self._anchor, length), min(self._cursor, length)
        self._content_changed(follow=follow)
        return True

    def set_placeholder(self, title: str, sentence: str) -> None:
        """What stands in the middle while there is nothing else to show."""
        self._placeholder = (title, sentence)
        self.viewport().update()

    def set_note(self, text: str, index: int = -1) -> None:
        """The quiet line behind an answer, the newest by default; nothing when empty."""
        follow = self.at_end
        if self.page.blocks[index].set_note(text):
            self._content_changed(follow=follow)

    @property
    def progress(self) -> Progress | None:
        """What the progress line says, None when there is none."""
        return self._progress

    def set_progress(self, progress: Progress | None) -> None:
        """A line with a bar behind what is shown; it takes the place of the note."""
        if progress != self._progress:
            follow = self.at_end
            resized = (progress is None) != (self._progress is None)
            self._progress = progress
            self._content_changed(follow=follow and resized)

    def set_show_rejected(self, show: bool) -> None:
        """Show rejected drafts before the token that replaced them. What is being read stays."""
        if show == self.page.show_rejected:
            return
        self._anchor = self._cursor = 0
        self._hover(None)
        self._relayout(partial(self.page.set_show_rejected, show))
        self.show_rejected_changed.emit(show)

    def set_folded(self, index: int, folded: bool) -> None:
        """Fold the reasoning of a turn away or show it; answers to come follow suit.

        The line above it stays where it is, or comes into sight.
        """
        self.page.folded = folded
        self._hover(None)
        block, bar = self.page.blocks[index], self.verticalScrollBar()
        below = max(block.header_top - bar.value(), 0.0)
        block.answer.set_folded(folded)
        self._content_changed()
        bar.setValue(round(block.header_top - below))

    def set_editing(self, index: int | None, *, allowed: bool) -> None:
        """Mark the turn that is being written anew; whether one may be asked for."""
        self._edited, self._editable = index, allowed
        self._show_pencil(None)
        self.viewport().update()

    def mark_step(self, step: int | None, *, reveal: bool = False) -> None:
        """Frame the tokens of a verify step, and scroll to them if asked to."""
        self._marked_step = step
        offsets = None if step is None else self.answer.offsets_of_step(step)
        if reveal and offsets is not None:
            self.reveal(offsets[0])
        self._place_widgets()
        self.viewport().update()

    @property
    def marked_step(self) -> int | None:
        return self._marked_step

    # Geometry --------------------------------------------------------------------------------
    @property
    def answer_top(self) -> float:
        """Where the newest answer begins on the page."""
        return self.page.newest.answer_top

    @property
    def content_height(self) -> int:
        """Height of the whole page."""
        newest = self.page.newest
        end = newest.bottom
        if self._progress is not None:
            end = newest.note_top + PROGRESS_HEIGHT
        return int(max(end, newest.header_top) + BOTTOM_SPACE)

    def break_before(self, y: float) -> int:
        """The nearest height at or above `y` where the page can be cut without cutting a line."""
        block = self.page.blocks[self.page.block_at(y)]
        layout = block.answer.layout
        inside = y - block.answer_top
        if not layout.n_lines or inside <= 0 or inside >= layout.height:
            return int(y)
        return int(block.answer_top + layout.top_of(layout.line_at(inside)))

    @property
    def at_end(self) -> bool:
        """Whether the reader stands at the end of the page."""
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 2

    def _content_changed(self, *, follow: bool = False) -> None:
        self.page.place()
        bar = self.verticalScrollBar()
        height = self.viewport().height()
        bar.setPageStep(height)
        bar.setRange(0, max(self.content_height - height, 0))
        if follow:
            bar.setValue(bar.maximum())
        self._place_widgets()
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._place_widgets()
        self._show_pencil(None)
        self.viewport().update()

    def refresh_figures(self) -> None:
        """Bring the digits in the headers up to date."""
        self._place_widgets(digits=True)

    def _place_widgets(self, *, digits: bool = False) -> None:
        corner = QPoint(self._column[0], -self.verticalScrollBar().value())
        framed, palette = self._headers_pointed_at(), self._inks.palette
        self._headers.place(self.page, corner, palette, framed, digits=digits)

    def _headers_pointed_at(self) -> set[int]:
        """Turns whose folded reasoning holds the chosen step, or what the mouse asks for."""
        found = {spot.block for spot in self._sources if spot.part is Part.HEADER}
        step = self._marks().step
        if step is not None and step[1] <= self.answer.layout.hidden:
            found.add(len(self.page.blocks) - 1)
        return found

    def _reveal_header(self, index: int) -> None:
        block = self.page.blocks[index]
        self._reveal_between(block.header_top, block.answer_top)

    def _relayout(self, change: Callable[[], None]) -> None:
        """Make a change that moves lines, and keep the line at the top where it was."""
        bar = self.verticalScrollBar()
        follow = self.at_end and bar.maximum() > 0
        index, position, above = self._reading_place()
        change()
        self._content_changed(follow=follow)
        if not follow:
            block = self.page.blocks[index]
            bar.setValue(round(_place_of(block, position) - above))

    def _reading_place(self) -> tuple[int, int | None, float]:
        """The turn at the upper edge, its first token in sight, and how far below the edge its line
        is; None and the top of the turn above its answer."""
        scroll = self.verticalScrollBar().value()
        index = self.page.block_at(scroll)
        block = self.page.blocks[index]
        layout, y = block.answer.layout, scroll - block.answer_top
        if y <= 0 or not layout.n_lines:
            return index, None, block.top - scroll
        line = layout.line_at(y)
        return index, _token_in(block, line), layout.top_of(line) - y

    def answer_corner(self, index: int = -1) -> tuple[int, int]:
        """Where the corner of an answer, the newest by default, is in the viewport now."""
        top = round(self.page.blocks[index].answer_top)
        return self._column[0], top - self.verticalScrollBar().value()

    def reveal(self, offset: int, index: int = -1) -> None:
        """Scroll so that a character of an answer is in sight, or the line above reasoning that it
        is folded away with; nothing moves when it is."""
        block = self.page.blocks[index]
        layout = block.answer.layout
        if offset < layout.hidden:
            self._reveal_between(block.header_top, block.answer_top)
            return
        line = layout.line_of(offset)
        top = block.answer_top + layout.top_of(line)
        self._reveal_between(top, top + layout.height_of(line))

    def _reveal_between(self, top: float, bottom: float) -> None:
        bar, height = self.verticalScrollBar(), self.viewport().height()
        if top < bar.value() or bottom > bar.value() + height:
            bar.setValue(round(top - height / 3))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._column = reading_column(self.viewport().width())
        self._relayout(partial(self.page.set_width, self._column[1]))
        super().resizeEvent(event)

    # Painting --------------------------------------------------------------------------------
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        clip = event.rect()
        painter.fillRect(clip, QColor(self._inks.palette.ground))
        scroll = self.verticalScrollBar().value()
        if self.page.empty and self._progress is None:
            self._paint_placeholder(painter)
            return
        painter.translate(0, -scroll)
        page = self._painter_on(painter, self._marks(), headers=False)
        page.paint(clip.top() + scroll, clip.bottom() + 1 + scroll, self._progress)

    def paint_page(self, painter: QPainter, top: float, bottom: float) -> None:
        """Paint the page from `top` to `bottom` on a canvas whose corner is at `top`; no
        selection, frames or hovering."""
        painter.fillRect(
            QRectF(0, 0, self.viewport().width(), bottom - top), QColor(self._inks.palette.ground)
        )
        painter.translate(0, -top)
        page = self._painter_on(painter, Marks(), headers=True)
        page.paint(top, bottom, self._progress)

    def _painter_on(self, painter: QPainter, marks: Marks, *, headers: bool) -> PagePainter:
        return PagePainter(painter, self.page, self._inks, self._column[0], marks, headers=headers)

    def _marks(self) -> Marks:
        selection, step = self.selection, self._marked_step
        return Marks(
            selected=None if selection is None else (self._selected_in, selection),
            step=None if step is None else self.answer.offsets_of_step(step),
            sources=self._sources,
            edited=self._edited,
        )

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
    def selection(self) -> Span | None:
        """Offsets of the selected characters, which are all of one answer."""
        if self._anchor == self._cursor:
            return None
        return min(self._anchor, self._cursor), max(self._anchor, self._cursor)

    @property
    def selected_in(self) -> int:
        """The turn whose answer the selection is in."""
        return self._selected_in

    @property
    def selected_text(self) -> str:
        """The exact text of the selection, rejected drafts left out."""
        selected = self.selection
        answer = self.page.blocks[self._selected_in].answer
        return answer.exact_text(*selected) if selected else ""

    def select(self, start: int, end: int, index: int = -1) -> None:
        """Select the characters of an answer, the newest by default, between two offsets."""
        self._selected_in = index % len(self.page.blocks)
        self._anchor, self._cursor = start, end
        self.viewport().update()

    def select_all(self) -> None:
        """Select the whole answer that something is selected in, else the newest."""
        index = self._selected_in if self.selection else -1
        self.select(0, self.page.blocks[index].answer.layout.length, index)

    def copy(self) -> None:
        """Copy the selection; the whole newest answer when nothing is selected."""
        _copy(self.selected_text or self.answer.text)

    def copy_all(self) -> None:
        """Copy the prompts and the answers."""
        _copy(self.whole_text)

    @property
    def whole_text(self) -> str:
        """Prompts and answers as plain text, a blank line between them."""
        return self.page.text

    def toPlainText(self) -> str:
        """The exact text of the newest answer, under the name it has in Qt's own text views."""
        return self.answer.text

    def context_menu(self, point: QPoint | None = None) -> QMenu:
        """The actions on the text at a point of the viewport; the caller shows the menu."""
        menu = QMenu(self)
        index = len(self.page.blocks) - 1
        if point is not None:
            index = self.page.block_at(point.y() + self.verticalScrollBar().value())
            if self._bubble_at(point) is not None:
                self._add_bubble_actions(menu, index)
        answer = self.page.blocks[index].answer
        self._add(menu, "Copy", self.copy, enabled=self.selection is not None)
        self._add(
            menu, "Copy answer", partial(_copy, answer.text), enabled=answer.layout.length > 0
        )
        self._add(menu, "Copy conversation", self.copy_all, enabled=not self.page.empty)
        self._add(menu, "Select all", self.select_all, enabled=answer.layout.length > 0)
        menu.addSeparator()
        shown = self.page.show_rejected
        action = self._add(menu, "Show rejected drafts", partial(self.set_show_rejected, not shown))
        action.setCheckable(True)
        action.setChecked(shown)
        return menu

    def _add_bubble_actions(self, menu: QMenu, index: int) -> None:
        turn = self.page.blocks[index].turn
        self._add(
            menu,
            "Edit and send again",
            partial(self.edit_requested.emit, index),
            enabled=self._editable,
        )
        self._add(menu, "Copy prompt", partial(_copy, turn.prompt))
        menu.addSeparator()

    def _add(
        self, menu: QMenu, words: str, act: Callable[[], object], *, enabled: bool = True
    ) -> QAction:
        action = menu.addAction(words)
        action.triggered.connect(lambda *_: act())
        action.setEnabled(enabled)
        return action

    # Places ----------------------------------------------------------------------------------
    def _block_under(self, point: QPoint) -> int:
        return self.page.block_at(point.y() + self.verticalScrollBar().value())

    def _in_answer(self, point: QPoint, index: int) -> tuple[float, float]:
        x, y = self.answer_corner(index)
        return point.x() - x, point.y() - y

    def span_at(self, point: QPoint) -> tuple[int, int] | None:
        """Turn and span at a point of the viewport."""
        index = self._block_under(point)
        item = self.page.blocks[index].answer.layout.item_at(*self._in_answer(point, index))
        return None if item is None else (index, item)

    def place_at(self, point: QPoint) -> tuple[int, int]:
        """Turn, and offset in its answer, nearest to a point of the viewport."""
        index = self._block_under(point)
        return index, self._offset_at(point, index)

    def _bubble_at(self, point: QPoint) -> int | None:
        """The turn whose bubble, or the place of its pencil, is at a point of the viewport."""
        index = self._block_under(point)
        rect = self._bubble_rect(index).adjusted(-REACH, 0, 0, 0)
        return index if self.page.blocks[index].bubble and rect.contains(point) else None

    def _bubble_rect(self, index: int) -> QRect:
        rect = self.page.blocks[index].bubble_rect(self._column[0])
        return rect.translated(0, -self.verticalScrollBar().value()).toRect()

    def _show_pencil(self, index: int | None) -> None:
        """Show the pencil beside a bubble, if it may be edited; nowhere for None."""
        if index is None or not self._editable or index == self._edited:
            self._pencil.leave()
        else:
            self._pencil.show_beside(self._bubble_rect(index), index)

    def _ask_to_edit(self) -> None:
        if self._pencil.turn is not None:
            self.edit_requested.emit(self._pencil.turn)

    # Qt's events -----------------------------------------------------------------------------
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        self._pressed_at = event.position().toPoint()
        extends = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        index = self._selected_in if extends else self._block_under(self._pressed_at)
        offset = self._offset_at(self._pressed_at, index)
        if not extends:
            self._selected_in, self._anchor = index, offset
        self._cursor = offset
        self.viewport().update()

    def _offset_at(self, point: QPoint, index: int) -> int:
        return self.page.blocks[index].answer.layout.offset_at(*self._in_answer(point, index))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._pressed_at is None:
            self._hover(self.span_at(point))
            self._show_pencil(self._bubble_at(point))
            return
        bar = self.verticalScrollBar()
        beyond = max(point.y() - self.viewport().height(), 0) + min(point.y(), 0)
        if beyond:
            bar.setValue(bar.value() + beyond)
        self._cursor = self._offset_at(point, self._selected_in)
        self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed_at, self._pressed_at = self._pressed_at, None
        if pressed_at is None or event.button() is not Qt.MouseButton.LeftButton:
            return
        moved = (event.position().toPoint() - pressed_at).manhattanLength()
        span = self.span_at(pressed_at)
        if moved >= 4 or self.selection is not None or span is None:
            return
        index, item = span
        step = self.answer.step_of(item) if index == len(self.page.blocks) - 1 else None
        if step is not None:
            self.step_chosen.emit(step)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        index, offset = self.place_at(point)
        layout = self.page.blocks[index].answer.layout
        line = layout.line_of(offset)
        start, end = layout.bounds_of(line) if layout.n_lines else (0, 0)
        text = layout.text_between(start, end)
        a = b = max(min(offset - start, len(text)), 0)
        while a > 0 and text[a - 1].isalnum():
            a -= 1
        while b < len(text) and text[b].isalnum():
            b += 1
        self.select(start + a, start + b, index)

    def _hover(self, span: tuple[int, int] | None) -> None:
        if span != self._hovered:
            self._hovered = span
            self._sources = () if span is None else tuple(self.page.copy_sources(*span))
            self._place_widgets()
            self.viewport().update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)
        self._show_pencil(None)
        super().leaveEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            span = self.span_at(event.pos())
            if span is None:
                QToolTip.hideText()
            else:
                words = tooltip(self.page.blocks[span[0]].answer, span[1])
                QToolTip.showText(event.globalPos(), words, self.viewport())
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
        point = self.viewport().mapFromGlobal(event.globalPos())
        menu = self.context_menu(point)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())


def _token_in(block: Block, line: int) -> int | None:
    """The first token of a line of the answer; None where the answer is only text."""
    layout = block.answer.layout
    item = layout.item_at_offset(layout.bounds_of(line)[0])
    while item < layout.n_items and layout.refs[item] < 0:
        item += 1
    token = block.answer.token_of(item) if item < layout.n_items else None
    return None if token is None else token.position


def _place_of(block: Block, position: int | None) -> float:
    """The height of the line of a token on the page; the top of the turn for None."""
    item = None if position is None else block.answer.item_of(position)
    if item is None:
        return block.top
    layout = block.answer.layout
    return block.answer_top + layout.top_of(layout.line_of(layout.start_of(item)))


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
