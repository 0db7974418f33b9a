"""Where an answer ends: token budget, context, stop texts. Pure functions and one small scanner."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


def draft_limit(n_ctx: int, n_past: int, n_committed: int, max_tokens: int) -> int:
    """Most draft tokens that may be verified in the next step.

    As in llama.cpp's server: one position is left for the pending token and one spare, and the
    target's own token counts against the budget. `max_tokens` below zero is no budget.
    """
    limit = n_ctx - n_past - 2
    if max_tokens >= 0:
        limit = min(limit, max_tokens - n_committed - 1)
    return max(limit, 0)


def context_is_full(n_ctx: int, n_past: int) -> bool:
    """Whether prompt and answer, pending token included, fill the context."""
    return n_past + 1 >= n_ctx


@dataclass(frozen=True, slots=True)
class StopMatch:
    """A stop text was completed. The first `n_tokens` tokens stay; `last_piece` replaces the
    bytes of the last of them where the stop text begins inside it."""

    n_tokens: int
    last_piece: bytes | None


class StopScanner:
    """Looks for stop texts in the bytes of successive tokens, also across token borders."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [stop.encode() for stop in stops if stop]
        self._longest = max((len(stop) for stop in self._stops), default=0)
        self._data = bytearray()
        self._ends: list[int] = []

    def feed(self, piece: bytes) -> StopMatch | None:
        """Take in the next token's bytes; the earliest match that they complete, if any."""
        if not self._stops:
            return None
        known = len(self._data)
        self._data += piece
        self._ends.append(len(self._data))
        since = max(known - self._longest + 1, 0)
        found = [at for stop in self._stops if (at := self._data.find(stop, since)) >= 0]
        if not found:
            return None
        return self._cut(min(found))

    def _cut(self, at: int) -> StopMatch:
        # tokens that begin before `at` stay, the last of them shortened to the bytes before it
        n_tokens = bisect_left(self._ends, at) + 1 if at > 0 else 0
        if not n_tokens:
            return StopMatch(0, None)
        begin = self._ends[n_tokens - 2] if n_tokens > 1 else 0
        whole = self._ends[n_tokens - 1] == at
        return StopMatch(n_tokens, None if whole else bytes(self._data[begin:at]))

    @property
    def n_held(self) -> int:
        """How many of the newest tokens hold bytes that may be the beginning of a stop text."""
        held = max((_overlap(self._data, stop) for stop in self._stops), default=0)
        if not held:
            return 0
        safe = len(self._data) - held
        return len(self._ends) - bisect_right(self._ends, safe)


def _overlap(data: bytearray, stop: bytes) -> int:
    """Length of the longest end of `data` that is a beginning of `stop`, shorter than all of it."""
    for length in range(min(len(stop) - 1, len(data)), 0, -1):
        if data.endswith(stop[:length]):
            return length
    return 0
