"""Which words of the messages a token of the prompt stands for.

A chat template puts the messages into one text, with marks between them and blanks cut away; the
messages are found again in that text. What cannot be found has no place. Knows nothing of Qt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from specviz.trace.config import Message

SURE = 12
"""Bytes from which on a text is taken for the message, even where the prompt has it twice."""


@dataclass(frozen=True, slots=True)
class Place:
    """Characters `start` to `end` of a message's text, or of its reasoning."""

    message: int
    in_reasoning: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Found:
    """A part of a message, its blanks left out, at a byte of the prompt."""

    at: int
    data: bytes
    message: int
    in_reasoning: bool
    n_blanks: int


class PromptPlaces:
    """Where each message of a run is in its prompt. `pieces` are the bytes of its tokens."""

    def __init__(self, messages: Sequence[Message], pieces: Sequence[bytes]) -> None:
        self._starts = [0, *accumulate(map(len, pieces))]
        self._found = _locate(_parts(messages), b"".join(pieces))

    def places_of(self, first: int, after: int) -> list[Place]:
        """What the prompt tokens from `first` to before `after` stand for."""
        last = len(self._starts) - 1
        begin, end = self._starts[min(first, last)], self._starts[min(after, last)]
        places = []
        for found in self._found:
            a, b = max(begin - found.at, 0), min(end - found.at, len(found.data))
            if a < b:
                start = found.n_blanks + _characters_before(found.data, a)
                places.append(
                    Place(
                        found.message,
                        found.in_reasoning,
                        start,
                        found.n_blanks + _characters_begun(found.data[:b]),
                    )
                )
        return places


def _parts(messages: Sequence[Message]) -> list[_Found]:
    """What to look for, in the order in which templates write it."""
    parts = []
    for number, message in enumerate(messages):
        for text, in_reasoning in ((message.reasoning, True), (message.text, False)):
            bare = text.strip()
            if bare:
                n_blanks = len(text) - len(text.lstrip())
                parts.append(
                    _Found(-1, bare.encode("utf-8", "replace"), number, in_reasoning, n_blanks)
                )
    return parts


def _locate(parts: Sequence[_Found], prompt: bytes) -> list[_Found]:
    """The parts that are in the prompt, each behind the one before it.

    Long ones first: between them there is little room to take a short one for something else.
    """
    found: dict[int, _Found] = {}
    for i in sorted(range(len(parts)), key=lambda i: -len(parts[i].data)):
        data = parts[i].data
        low = max((f.at + len(f.data) for j, f in found.items() if j < i), default=0)
        high = min((f.at for j, f in found.items() if j > i), default=len(prompt))
        at = prompt.find(data, low, high)
        ambiguous = len(data) < SURE and prompt.find(data, at + 1, high) >= 0
        if at >= 0 and not ambiguous:
            part = parts[i]
            found[i] = _Found(at, data, part.message, part.in_reasoning, part.n_blanks)
    return [found[i] for i in sorted(found)]


def _characters_begun(data: bytes) -> int:
    return sum(byte & 0xC0 != 0x80 for byte in data)


def _characters_before(data: bytes, at: int) -> int:
    """How many characters end before byte `at`; one that it cuts does not."""
    cut = data[at] & 0xC0 == 0x80
    return _characters_begun(data[:at]) - cut
