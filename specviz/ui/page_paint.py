"""Paints the page of a conversation: bubbles, answers with their frames, quiet lines.

Only what is in sight is painted. Knows what stands where (page.py), and no widget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from specviz.ui.answer import Span
from specviz.ui.page import (
    BUBBLE_PADDING,
    BUBBLE_PADDING_Y,
    HEADER_HEIGHT,
    Block,
    Page,
    Part,
    Spot,
)
from specviz.ui.reasoning_header import paint_header
from specviz.ui.theme import CARD_RADIUS, tint
from specviz.ui.token_paint import Inks, outline, paint_lines, text_frame
from specviz.ui.typefaces import interface_font

BAR_WIDTH = 240
BAR_HEIGHT = 4
PROGRESS_HEIGHT = 34
_RULE_AT = 7.0
_FAINT = 0.4


@dataclass(frozen=True, slots=True)
class Progress:
    """Something that is not done yet; `fraction` from 0 to 1, None where unknown."""

    text: str
    fraction: float | None


@dataclass(frozen=True, slots=True)
class Marks:
    """What is marked on the page: nothing, by default.

    `selected`: turn and characters of its answer. `step`: characters of the newest answer.
    `sources`: what the span under the mouse was copied from. `edited`: the turn that is being
    written anew; the turns behind it will go.
    """

    selected: tuple[int, Span] | None = None
    step: Span | None = None
    sources: tuple[Spot, ...] = ()
    edited: int | None = None


class PagePainter:
    """Paints a page from one height to another, in a column that begins at `left`.

    `headers`: the lines above reasoning are painted too; on the screen they are buttons.
    """

    def __init__(
        self, painter: QPainter, page: Page, inks: Inks, left: int, marks: Marks, *, headers: bool
    ) -> None:
        self._painter = painter
        self._page = page
        self._inks = inks
        self._left = left
        self._marks = marks
        self._headers = headers

    def paint(self, top: float, bottom: float, progress: Progress | None) -> None:
        """Paint what lies between two heights; `progress` takes the place of the newest note."""
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for index in range(self._page.block_at(top), len(self._page.blocks)):
            block = self._page.blocks[index]
            if block.top > bottom:
                break
            edited = self._marks.edited
            self._painter.setOpacity(1.0 if edited is None or index <= edited else _FAINT)
            self._paint_bubble(block, index, top, bottom)
            if edited == index:
                self._painter.setOpacity(_FAINT)
            self._paint_answer(block, index, top, bottom)
            newest = block is self._page.newest
            if newest and progress is not None:
                self._paint_progress(progress, block.note_top)
            elif block.note is not None:
                quiet = QColor(self._inks.palette.quiet)
                block.note.paint(self._painter, self._left, block.note_top, quiet, top, bottom)
        self._painter.setOpacity(1.0)

    def _paint_bubble(self, block: Block, index: int, top: float, bottom: float) -> None:
        rect = block.bubble_rect(self._left)
        if block.bubble is None or rect.bottom() < top or rect.top() > bottom:
            return
        palette = self._inks.palette
        edited = self._marks.edited == index
        self._painter.setPen(QPen(QColor(palette.accent), 1) if edited else Qt.PenStyle.NoPen)
        self._painter.setBrush(QColor(palette.card))
        inside = rect.adjusted(0.5, 0.5, -0.5, -0.5) if edited else rect
        self._painter.drawRoundedRect(inside, CARD_RADIUS, CARD_RADIUS)
        x, y = rect.left() + BUBBLE_PADDING, rect.top() + BUBBLE_PADDING_Y
        for spot in self._marks.sources:
            if spot.block == index and spot.part is Part.BUBBLE:
                rects = block.bubble.rects_between(*spot.span, top - y, bottom - y)
                frames = [rect.translated(x, y) for rect in rects]
                self._tint_source(frames, palette.card)
                self._frame_source(frames)
        block.bubble.paint(self._painter, x, y, QColor(palette.text), top, bottom)

    def _tint_source(self, frames: list[QRectF], over: str) -> None:
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(QColor(tint(self._inks.palette.accent, over, 0.2)))
        for frame in frames:
            self._painter.drawRoundedRect(frame, 4, 4)

    def _frame_source(self, frames: list[QRectF]) -> None:
        outline(self._painter, frames, QColor(self._inks.palette.accent), Qt.PenStyle.DashLine)

    def _paint_answer(self, block: Block, index: int, top: float, bottom: float) -> None:
        layout, page_top = block.answer.layout, block.answer_top
        if self._headers and block.answer.has_reasoning:
            place = QRectF(self._left, block.header_top, layout.width, HEADER_HEIGHT)
            words, folded = block.answer.reasoning_words(), block.answer.folded
            paint_header(
                self._painter, place, words, self._inks.palette, folded=folded, strong=False
            )
        if not layout.n_lines or bottom < page_top or top > page_top + layout.height:
            return
        painter = self._painter
        painter.save()
        painter.translate(self._left, page_top)
        first = layout.line_at(top - page_top)
        after = layout.line_at(bottom - page_top) + 1
        in_sight = layout.bounds_of(first)[0], layout.bounds_of(after - 1)[1]
        self._paint_rule(block)
        sources = [
            _frames(block, spot.span, in_sight)
            for spot in self._marks.sources
            if spot.block == index and spot.part is Part.ANSWER
        ]
        for frames in sources:
            self._tint_source(frames, self._inks.palette.ground)
        marked = self._marks.selected
        selected = marked[1] if marked is not None and marked[0] == index else None
        paint_lines(painter, layout, self._inks, first, after, selected, self._mixed_inks(block))
        for frames in sources:
            self._frame_source(frames)
        if self._marks.step is not None and block is self._page.newest:
            frames = _frames(block, self._marks.step, in_sight)
            outline(painter, frames, QColor(self._inks.palette.text))
        painter.restore()

    def _mixed_inks(self, block: Block) -> Callable[[int], tuple[QColor, QColor] | None]:
        def inks(item: int) -> tuple[QColor, QColor] | None:
            styles = block.answer.sources_of_mixed(item)
            if styles is None:
                return None
            return self._inks.text[styles[0]], self._inks.text[styles[1]]

        return inks

    def _paint_rule(self, block: Block) -> None:
        """A line down the side of the reasoning, as far as it has text."""
        layout = block.answer.layout
        if not block.answer.has_reasoning or block.answer.folded:
            return
        last = layout.line_of(min(layout.head, layout.length) - 1)
        while last and layout.height_of(last) == layout.spacing.blank:
            last -= 1
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(QColor(self._inks.palette.line))
        height = layout.top_of(last) + layout.height_of(last) - 4
        self._painter.drawRoundedRect(QRectF(_RULE_AT - 1, 2, 2, height), 1, 1)

    def _paint_progress(self, progress: Progress, y: float) -> None:
        painter, palette, x = self._painter, self._inks.palette, self._left
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


def _frames(block: Block, span: Span, in_sight: Span) -> list[QRectF]:
    """Frames around the characters of an answer that are in sight, one for each line."""
    start, end = max(span[0], in_sight[0]), min(span[1], in_sight[1])
    rects = block.answer.layout.rects_between(start, end)
    return [text_frame(rect) for rect in rects if rect.width() > 0]
