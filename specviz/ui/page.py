"""The page of a conversation: its turns one below the other, and where everything stands.

A turn is a bubble, an answer and a quiet line. Knows geometry and texts; neither paints nor
scrolls, and knows nothing of runs that are under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from PySide6.QtCore import QRectF

from specviz.trace.trace import Trace
from specviz.ui.answer import Answer, Span
from specviz.ui.chat import Turn, homes_of
from specviz.ui.prompt_places import Place, PromptPlaces
from specviz.ui.text_block import TextBlock
from specviz.ui.token_layout import TokenLayout
from specviz.ui.typefaces import answer_font, interface_font

TOP_SPACE = 20
BOTTOM_SPACE = 24
BUBBLE_SPACE = 18
TURN_SPACE = 34
BUBBLE_PADDING = 15
BUBBLE_PADDING_Y = 11
BUBBLE_SHARE = 0.88
NOTE_SPACE = 12
HEADER_HEIGHT = 24
HEADER_SPACE = 6
REJECTED_PX = 12


class Part(StrEnum):
    """Where on a turn something is."""

    BUBBLE = "bubble"
    HEADER = "header"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Spot:
    """Characters of a bubble or of an answer's layout, or a header as a whole."""

    block: int
    part: Part
    span: Span


class Block:
    """One turn on the page. Heights are counted from its top."""

    def __init__(self, turn: Turn, width: int, *, folded: bool, show_rejected: bool) -> None:
        self.turn = replace(turn, baseline=None, speculative=None, reply=None)
        self.top = 0.0
        self.note: TextBlock | None = None
        self.answer = Answer(TokenLayout(answer_font(), interface_font(REJECTED_PX), width))
        self.answer.show_rejected = show_rejected
        self.answer.set_folded(folded)
        self._width = width
        self._places: PromptPlaces | None = None
        self.bubble = (
            TextBlock(turn.prompt, interface_font(), self._bubble_text_width())
            if turn.prompt
            else None
        )
        self.show(turn)

    def show(self, turn: Turn) -> bool:
        """Show the turn, whose prompt is the same, as it is now; True when its answer is new."""
        trace, reply = turn.trace, turn.reply
        self.turn = turn
        new = trace is not self.answer.trace or (trace is None and reply != self.answer.reply)
        if new:
            self.answer.show(trace, reply)
            self._places = None
        return new

    def show_run(self, trace: Trace | None) -> None:
        """Show the answer of one run from its beginning."""
        self.turn = replace(self.turn, baseline=None, speculative=trace, reply=None)
        self._places = None
        self.answer.show(trace)

    def set_note(self, text: str) -> bool:
        """The quiet line behind the answer, nothing when empty; True when it is new."""
        if text == (self.note.text if self.note else ""):
            return False
        self.note = TextBlock(text, interface_font(), self._width) if text else None
        return True

    def set_width(self, width: int) -> None:
        """Wrap everything anew."""
        self._width = width
        if self.bubble is not None:
            self.bubble.set_width(self._bubble_text_width())
        if self.note is not None:
            self.note.set_width(width)
        self.answer.layout.set_width(width)

    def _bubble_text_width(self) -> float:
        return int(self._width * BUBBLE_SHARE) - 2 * BUBBLE_PADDING

    # Geometry --------------------------------------------------------------------------------
    def bubble_rect(self, left: float) -> QRectF:
        """The bubble on the page, at the right edge of a column that begins at `left`."""
        if self.bubble is None:
            return QRectF()
        width = round(self.bubble.width) + 2 * BUBBLE_PADDING
        return QRectF(left + self._width - width, self.top, width, self._bubble_height)

    @property
    def _bubble_height(self) -> float:
        return self.bubble.height + 2 * BUBBLE_PADDING_Y if self.bubble is not None else 0.0

    @property
    def header_top(self) -> float:
        """Where the answer, or the header of its reasoning, begins on the page."""
        return self.top + (self._bubble_height + BUBBLE_SPACE if self.bubble is not None else 0.0)

    @property
    def answer_top(self) -> float:
        """Where the first line of the answer is on the page."""
        header = HEADER_HEIGHT + HEADER_SPACE if self.answer.has_reasoning else 0
        return self.header_top + header

    @property
    def answer_bottom(self) -> float:
        return self.answer_top + self.answer.layout.height

    @property
    def note_top(self) -> float:
        """Where the quiet line, or what takes its place, begins on the page."""
        return self.answer_bottom + (NOTE_SPACE if self.answer_bottom > self.header_top else 0)

    @property
    def bottom(self) -> float:
        """Where the turn ends on the page, without the space to the next one."""
        if self.note is not None:
            return self.note_top + self.note.height
        if self.answer_bottom > self.header_top:
            return self.answer_bottom
        return self.top + self._bubble_height

    # Copies ----------------------------------------------------------------------------------
    def places_of(self, span: Span) -> list[Place]:
        """What tokens of the prompt of this turn's run stand for."""
        started = self.answer.trace.started if self.answer.trace is not None else None
        if started is None:
            return []
        if self._places is None:
            self._places = PromptPlaces(started.config.messages, started.prompt_pieces)
        return self._places.places_of(*span)


class Page:
    """The turns of a conversation; there is always a newest one, if an empty one.

    Attributes:
        blocks: the turns, oldest first.
        folded: whether the reasoning of answers to come is folded away.
        show_rejected: whether rejected drafts are shown.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self.folded = False
        self.show_rejected = False
        self.blocks: list[Block] = []
        self.show(())

    @property
    def newest(self) -> Block:
        return self.blocks[-1]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to see."""
        return len(self.blocks) == 1 and self.newest.bottom <= self.newest.top

    def show(self, turns: Sequence[Turn]) -> int | None:
        """Show these turns; the first of which anything is new, None where nothing is."""
        turns = turns or (Turn(prompt=""),)
        n_same, first_new = self._n_with_same_prompts(turns), None
        for i in range(n_same):
            if self.blocks[i].show(turns[i]) and first_new is None:
                first_new = i
        if n_same < max(len(turns), len(self.blocks)) and first_new is None:
            first_new = n_same
        del self.blocks[n_same:]
        for turn in turns[n_same:]:
            self.blocks.append(
                Block(turn, self._width, folded=self.folded, show_rejected=self.show_rejected)
            )
        self.place()
        return first_new

    def _n_with_same_prompts(self, turns: Sequence[Turn]) -> int:
        n = 0
        for block, turn in zip(self.blocks, turns, strict=False):
            if block.turn.prompt != turn.prompt:
                break
            n += 1
        return n

    def set_width(self, width: int) -> None:
        """Wrap everything anew."""
        self._width = width
        for block in self.blocks:
            block.set_width(width)
        self.place()

    def set_show_rejected(self, show: bool) -> None:
        """Show rejected drafts in every answer, or in none."""
        self.show_rejected = show
        for block in self.blocks:
            block.answer.set_show_rejected(show)
        self.place()

    def place(self) -> None:
        """Put the turns one below the other again, after one has grown."""
        top = float(TOP_SPACE)
        for block in self.blocks:
            block.top = top
            top = block.bottom + TURN_SPACE

    def block_at(self, y: float) -> int:
        """The turn at a height of the page; the space behind a turn belongs to it."""
        for i, block in enumerate(self.blocks[1:]):
            if y < block.top:
                return i
        return len(self.blocks) - 1

    # Texts -----------------------------------------------------------------------------------
    @property
    def text(self) -> str:
        """All that was asked and answered, a blank line between."""
        return "\n\n".join(part for block in self.blocks for part in _texts(block) if part)

    def text_start_of_answer(self, index: int) -> int:
        """Where in `text` the answer of a turn begins."""
        parts = [part for block in self.blocks[:index] for part in _texts(block)]
        parts.append(self.blocks[index].turn.prompt)
        return sum(len(part) + 2 for part in parts if part)

    # Copies ----------------------------------------------------------------------------------
    def copy_sources(self, index: int, item: int) -> list[Spot]:
        """Where on the page the draft of a copied span comes from."""
        source = self.blocks[index].answer.copy_source_of(item)
        if source is None:
            return []
        spots = [self._visible_spot(index, span) for span in source.in_answer]
        for span in source.in_prompt:
            for place in self.blocks[index].places_of(span):
                spot = self._spot_of(index, place)
                if spot is not None:
                    spots.append(spot)
        return spots

    def _spot_of(self, index: int, place: Place) -> Spot | None:
        """A place in the messages of a turn's run, on the page; None where it is not shown."""
        trace = self.blocks[index].answer.trace
        assert trace is not None and trace.started is not None
        messages = trace.started.config.messages
        homes, message = homes_of(messages), messages[place.message]
        home, newest = homes[place.message], max(home for home in homes if home is not None)
        if home is None or index - newest + home < 0:
            return None
        at = index - newest + home
        block = self.blocks[at]
        if message.role == "user":
            same = block.turn.prompt == message.text
            return Spot(at, Part.BUBBLE, (place.start, place.end)) if same else None
        text = message.reasoning if place.in_reasoning else message.text
        shown = block.answer.text
        begin = shown.find(text) if place.in_reasoning else shown.rfind(text)
        if begin < 0:
            return None
        first = block.answer.offset_of_character(begin + place.start)
        after = block.answer.offset_of_character(begin + place.end - 1) + 1
        return self._visible_spot(at, (first, after))

    def _visible_spot(self, index: int, span: Span) -> Spot:
        """The place itself, or the header of the block that it is folded away in."""
        hidden = span[1] <= self.blocks[index].answer.layout.hidden
        return Spot(index, Part.HEADER if hidden else Part.ANSWER, span)


def _texts(block: Block) -> tuple[str, str]:
    return block.turn.prompt, block.answer.text
