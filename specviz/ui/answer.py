"""An answer as spans in lines: takes in what a trace has grown by, and knows what each span is.

Spans are committed tokens and, on demand, rejected drafts before the token that replaced them. A
reasoning block is the head of the layout. Knows nothing of painting, widgets or selections.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

from specviz.trace.config import DraftSource, Message, RunMode
from specviz.trace.events import DraftToken, TokenSource
from specviz.trace.metrics import ratio
from specviz.trace.reasoning import BlockFinder
from specviz.trace.trace import Token, Trace
from specviz.ui import figures
from specviz.ui.pieces import displayed, on_one_line
from specviz.ui.token_layout import EVERYTHING, Style, TokenLayout

SOURCE_WORDS = {
    Style.PLAIN: "The target alone",
    Style.ACCEPTED: "Accepted from the draft",
    Style.COPIED: "Accepted copy of earlier text",
    Style.RECOVERED: "The target’s correction",
    Style.BONUS: "Bonus token of the target",
    Style.REJECTED: "Rejected draft token",
}

_TARGET_STYLES = {
    TokenSource.RECOVERED: Style.RECOVERED,
    TokenSource.BONUS: Style.BONUS,
    TokenSource.SAMPLED: Style.PLAIN,
}


def style_of(token: Token) -> Style:
    """How a committed token is drawn."""
    if token.source is TokenSource.ACCEPTED:
        return Style.ACCEPTED if token.copied_from is None else Style.COPIED
    return _TARGET_STYLES[token.source]


def _rejected_ref(step: int, draft_position: int) -> int:
    return -(step << 16 | draft_position) - 1


Span = tuple[int, int]
"""From the first to before the last."""


@dataclass(frozen=True, slots=True)
class CopySource:
    """What a draft was copied from: tokens of the prompt, and characters of the layout."""

    in_prompt: tuple[Span, ...]
    in_answer: tuple[Span, ...]


class Answer:
    """The answer of one trace in a `TokenLayout` (at most one trace at a time), or a plain text.

    `reply`: an answer that is known as text alone. `limit`: show no more than so many tokens
    (replay), None for all.
    """

    def __init__(self, layout: TokenLayout) -> None:
        self.layout = layout
        self.trace: Trace | None = None
        self.reply: Message | None = None
        self.show_rejected = False
        self.limit: int | None = None
        self._items = array("Q")
        self._block = BlockFinder()
        self._closed = False

    @property
    def n_taken(self) -> int:
        """Tokens taken in so far."""
        return len(self._items)

    def show(self, trace: Trace | None, reply: Message | None = None) -> None:
        """Start anew with this trace, or with a text where there is none."""
        self.trace = trace
        self.reply = reply if trace is None else None
        self.limit = None
        self._start_over()

    def set_show_rejected(self, show: bool) -> None:
        """Lay the answer out anew, with or without rejected drafts."""
        self.show_rejected = show
        self._start_over()

    def _start_over(self) -> None:
        self.layout.clear()
        self._items = array("Q")
        self._begin_block()
        self._closed = False
        if self.reply is not None:
            self._take_reply(self.reply)
        self.take_new()

    def _take_reply(self, reply: Message) -> None:
        self.layout.append(displayed(self.text), Style.PLAIN, 0)
        if reply.reasoning:
            head = self.layout.length - len(reply.text)
            self.layout.set_head(head, folded=self.layout.folded)
        self.layout.settle()

    def take_new(self) -> bool:
        """Take in what the trace has grown by; True when anything changed."""
        trace = self.trace
        if trace is None:
            return False
        n = trace.n_shown if self.limit is None else min(trace.n_shown, self.limit)
        before = self.layout.n_items, self.n_taken
        cut = False
        if n < self.n_taken or (trace.closed and not self._closed):
            cut = self._cut_back(min(self._first_change(trace), n))
        for position in range(self.n_taken, n):
            self._take(trace, trace.tokens[position])
        if trace.closed and n == len(trace.tokens) and (n > 0 or trace.steps):
            if not self._closed or cut:
                self._take_rejected_at_the_end(trace)
        self._closed = trace.closed
        changed = cut or (self.layout.n_items, self.n_taken) != before
        if changed:
            self.layout.set_head(self._head(), folded=self.layout.folded)
            self.layout.settle()
        return changed

    def _first_change(self, trace: Trace) -> int:
        """The first taken token that the end of the run has cut away or changed."""
        texts = self.layout.texts
        for position, item in enumerate(self._items):
            if position >= len(trace.tokens):
                return position
            if texts[item] != displayed(trace.tokens[position].text):
                return position
        return self.n_taken

    def _cut_back(self, n_tokens: int) -> bool:
        if n_tokens >= self.n_taken:
            return False
        item = self._items[n_tokens]
        while item and self.layout.refs[item - 1] < 0:
            item -= 1
        self.layout.truncate(item)
        del self._items[n_tokens:]
        self._begin_block()
        if self.trace is not None:
            for token in self.trace.tokens[:n_tokens]:
                self._block.feed(token.text)
        return True

    def _begin_block(self) -> None:
        started = self.trace.started if self.trace is not None else None
        self._block = BlockFinder(started is not None and started.reasoning_open)

    def _head(self) -> int:
        """How many characters of the layout are the reasoning block, with the blanks behind it."""
        block = self._block
        if not block.n_tokens:
            return 0
        if block.answer_at is None:
            return EVERYTHING
        position, within = block.answer_at
        if within:
            return self.layout.start_of(self._items[position]) + within
        # rejected drafts before the first token of the answer belong to it
        return self.layout.start_of(self._items[position - 1] + 1)

    def _take(self, trace: Trace, token: Token) -> None:
        if self.show_rejected and token.draft_position is None:
            self._take_rejected(trace, token.step)
        self._items.append(self.layout.n_items)
        plain = trace.mode is RunMode.BASELINE
        style = Style.PLAIN if plain else style_of(token)
        self.layout.append(displayed(token.text), style, token.position)
        self._block.feed(token.text)

    def _take_rejected(self, trace: Trace, step: int) -> None:
        event = trace.steps[step]
        for i in range(event.n_accepted, len(event.draft)):
            text = on_one_line(event.draft[i].piece)
            if i == event.n_accepted:
                text = ("\u2005" if text.startswith(" ") else " ") + text
            self.layout.append(text, Style.REJECTED, _rejected_ref(step, i))

    def _take_rejected_at_the_end(self, trace: Trace) -> None:
        if self.show_rejected and trace.steps and trace.steps[-1].target is None:
            self._take_rejected(trace, len(trace.steps) - 1)

    # What a span is --------------------------------------------------------------------------
    def token_of(self, item: int) -> Token | None:
        """The committed token of a span; None for a rejected draft."""
        ref = self.layout.refs[item]
        if ref < 0 or self.trace is None or ref >= len(self.trace.tokens):
            return None
        return self.trace.tokens[ref]

    def step_of(self, item: int) -> int | None:
        """The verify step of a span."""
        ref = self.layout.refs[item]
        if ref < 0:
            return (-ref - 1) >> 16
        token = self.token_of(item)
        return None if token is None else token.step

    def rejected_of(self, item: int) -> DraftToken | None:
        """The rejected draft token of a span; None for a committed token."""
        ref = self.layout.refs[item]
        if ref >= 0 or self.trace is None:
            return None
        return self.trace.steps[(-ref - 1) >> 16].draft[(-ref - 1) & 0xFFFF]

    def draft_position_of(self, item: int) -> int | None:
        """The place of a span in its draft, from 0; None for a token of the target's own."""
        ref = self.layout.refs[item]
        if ref < 0:
            return (-ref - 1) & 0xFFFF
        token = self.token_of(item)
        return None if token is None else token.draft_position

    def drafter_of(self, item: int) -> DraftSource | None:
        """Who drafted a span; None for a token of the target's own."""
        step = self.step_of(item)
        if self.trace is None or step is None or self.draft_position_of(item) is None:
            return None
        return self.trace.steps[step].drafter

    def item_of(self, position: int) -> int | None:
        """The span of the committed token at a position, if it is shown."""
        return self._items[position] if 0 <= position < self.n_taken else None

    def offsets_of_step(self, step: int) -> tuple[int, int] | None:
        """The characters of a step's spans, rejected drafts included."""
        trace = self.trace
        if trace is None or not 0 <= step < len(trace.steps):
            return None
        first = trace.first_token_of_step[step]
        after = first + trace.kept_of_step(step)
        if after > self.n_taken or after == first:
            return None
        items = self._items
        a, b = items[first], items[after] if after < self.n_taken else self.layout.n_items
        while b > a and self.layout.refs[b - 1] < 0 and self.step_of(b - 1) != step:
            b -= 1
        while a and self.layout.refs[a - 1] < 0 and self.step_of(a - 1) == step:
            a -= 1
        return self.layout.start_of(a), self.layout.start_of(b)

    def copy_source_of(self, item: int) -> CopySource | None:
        """What the draft of a copied span was copied from, its other tokens included."""
        positions = self.copied_positions(item)
        if positions is None:
            return None
        n_prompt = self.n_prompt
        spans = []
        for first, after in _runs(
            position - n_prompt for position in positions if position >= n_prompt
        ):
            a, b = self.item_of(first), self.item_of(after - 1)
            if a is not None and b is not None:
                spans.append((self.layout.start_of(a), self.layout.start_of(b + 1)))
        in_prompt = _runs(position for position in positions if position < n_prompt)
        return CopySource(tuple(in_prompt), tuple(spans))

    def copied_positions(self, item: int) -> list[int] | None:
        """Positions in prompt and output, in the order of the draft; None where none is copied."""
        token, rejected, step = self.token_of(item), self.rejected_of(item), self.step_of(item)
        copied = token.copied_from if token else rejected.copied_from if rejected else None
        if copied is None or step is None or self.trace is None:
            return None
        drafts = self.trace.steps[step].draft
        return [draft.copied_from for draft in drafts if draft.copied_from is not None]

    @property
    def n_prompt(self) -> int:
        """Tokens of the prompt; what lies behind is the output."""
        return self.trace.started.n_prompt if self.trace and self.trace.started else 0

    def offset_of_character(self, character: int) -> int:
        """Where a character of the exact text is in the layout, rejected drafts counted."""
        if self.trace is None:
            return min(character, self.layout.length)
        for position, item in enumerate(self._items):
            length = len(self.trace.tokens[position].text)
            if character < length:
                return self.layout.start_of(item) + character
            character -= length
        return self.layout.length

    def sources_of_mixed(self, item: int) -> tuple[Style, Style] | None:
        """For a span whose first character was begun by another source: both styles."""
        token = self.token_of(item)
        if token is None or not token.mixed or self.trace is None:
            return None
        ends = style_of(token)
        for position in range(token.position - 1, max(token.position - 5, -1), -1):
            earlier = self.trace.tokens[position]
            if style_of(earlier) is not ends:
                return style_of(earlier), ends
            if earlier.text:
                break
        return Style.PLAIN, ends

    def exact_text(self, start: int, end: int) -> str:
        """The exact text of the committed tokens between two offsets; rejected drafts are not
        part of it."""
        if self.reply is not None:
            return self.text[start:end]
        if self.trace is None or start >= end:
            return ""
        layout = self.layout
        parts = []
        for item in range(layout.item_at_offset(start), layout.item_at_offset(end - 1) + 1):
            token = self.token_of(item)
            if token is not None:
                first = layout.start_of(item)
                parts.append(token.text[max(start - first, 0) : end - first])
        return "".join(parts)

    @property
    def text(self) -> str:
        """The exact text that is shown, reasoning included."""
        if self.reply is not None:
            parts = (self.reply.reasoning, self.reply.text)
            return "\n\n".join(parts) if self.reply.reasoning else self.reply.text
        if self.trace is None:
            return ""
        return "".join(token.text for token in self.trace.tokens[: self.n_taken])

    # The reasoning block ----------------------------------------------------------------------
    @property
    def has_reasoning(self) -> bool:
        return self.layout.head > 0

    @property
    def folded(self) -> bool:
        """Whether a reasoning block is folded away."""
        return self.layout.folded

    def set_folded(self, folded: bool) -> None:
        """Fold a reasoning block away, or show it; whichever comes, too."""
        self.layout.set_head(self.layout.head, folded=folded)
        self.layout.settle()

    def reasoning_words(self) -> str:
        """What stands above the block: its tokens, and their share once it has ended."""
        if self.reply is not None:
            return "Reasoning"
        block = self._block
        words = f"Reasoning · {figures.counted(block.n_tokens, 'token')}"
        if block.open:
            return words
        return f"{words} ({figures.percent(ratio(block.n_tokens, self.n_taken))})"


def _runs(positions: Iterable[int]) -> list[Span]:
    """Stretches of positions that follow each other."""
    runs: list[Span] = []
    for position in sorted(set(positions)):
        if runs and runs[-1][1] == position:
            runs[-1] = runs[-1][0], position + 1
        else:
            runs.append((position, position + 1))
    return runs
