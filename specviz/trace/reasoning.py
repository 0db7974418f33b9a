"""The reasoning block at the beginning of an answer: where it ends, how many tokens it has.

Goes by the marks in the text alone; knows no model and no template. Reasoning tokens are tokens
like all others: no rate leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from specviz.trace.trace import Trace

MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
)
"""What opens a block, and what closes it."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """An answer in its two parts.

    `n_tokens` counts the block with its marks, so `n_tokens` + `n_answer_tokens` is the whole
    answer; a token that holds the end mark and more counts as reasoning. `open`: the block has no
    end yet. `text` and `answer` are the two texts without marks, and without the blanks around
    the marks; without a block, `answer` is the exact text of the whole.
    """

    n_tokens: int
    n_answer_tokens: int
    open: bool
    text: str
    answer: str


class BlockFinder:
    """Finds the block while tokens arrive; each costs no more than its own length and a mark's.

    `opened`: the prompt ends inside a block, so that the answer begins there.

    Attributes:
        found: there is a block.
        open: it has no end yet.
        n_tokens: tokens of the block, its marks included.
        text_at, text_ends_at: its text begins and ends at these characters of the answer, both
            without marks.
        answer_at: token, and character in it, of the first thing to read behind the block: of its
            first character that is no blank. None until there is one.
    """

    def __init__(self, opened: bool = False) -> None:
        self.found = self.open = opened
        self.n_tokens = 0
        self.text_at = 0
        self.text_ends_at: int | None = None
        self.answer_at: tuple[int, int] | None = None
        self._undecided = not opened
        self._ends = tuple(end for _, end in MARKS) if opened else ()
        self._unread = ""
        self._n = 0
        self._length = 0

    @property
    def n_answer_tokens(self) -> int:
        return self._n - self.n_tokens

    def feed(self, text: str) -> None:
        """Take in the text of the next token."""
        self._n += 1
        self._length += len(text)
        if self._undecided:
            self._unread = (self._unread + text).lstrip()
            self._look_for_the_beginning()
        elif self.open:
            self._unread += text
            self.n_tokens = self._n
        elif self.found and self.answer_at is None:
            self._look_for_the_answer(text)
        if self.open:
            self._look_for_the_end(text)

    def _look_for_the_beginning(self) -> None:
        start = self._unread
        for mark, end in MARKS:
            if start.startswith(mark):
                self.found = self.open = True
                self._ends = (end,)
                self._unread = start[len(mark) :]
                self.text_at = self._length - len(self._unread)
                self.n_tokens = self._n
        self._undecided = not self.found and any(mark.startswith(start) for mark, _ in MARKS)

    def _look_for_the_end(self, last: str) -> None:
        places = [(self._unread.find(end), end) for end in self._ends if end in self._unread]
        if not places:
            longest = max(map(len, self._ends))
            self._unread = self._unread[-longest + 1 :]
            return
        place, end = min(places)
        behind = self._unread[place + len(end) :]
        self.open = False
        self.text_ends_at = self._length - len(self._unread) + place
        self._unread = ""
        self._look_for_the_answer(behind, len(last) - len(behind))

    def _look_for_the_answer(self, text: str, already: int = 0) -> None:
        """`text`: what is left of the newest token behind `already` characters of it."""
        blanks = len(text) - len(text.lstrip())
        if blanks < len(text):
            self.answer_at = self._n - 1, already + blanks


def reasoning_of(trace: Trace) -> Reasoning:
    """The answer of a run in its two parts, as far as it has come."""
    opened = trace.started is not None and trace.started.reasoning_open
    return parted((token.text for token in trace.tokens), opened)


def parted(texts: Iterable[str], opened: bool = False) -> Reasoning:
    """The texts of successive tokens in their two parts; `opened` as for `BlockFinder`."""
    finder = BlockFinder(opened)
    parts = []
    for text in texts:
        parts.append(text)
        finder.feed(text)
    whole = "".join(parts)
    if not finder.found:
        return Reasoning(0, len(parts), False, "", whole)
    answer = ""
    if finder.answer_at is not None:
        token, character = finder.answer_at
        answer = "".join(parts[token:])[character:]
    return Reasoning(
        n_tokens=finder.n_tokens,
        n_answer_tokens=finder.n_answer_tokens,
        open=finder.open,
        text=whole[finder.text_at : finder.text_ends_at].strip(),
        answer=answer,
    )
