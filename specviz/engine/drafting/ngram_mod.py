"""ngram-mod: token by token from a hash table of n-grams that stores no keys.

Proposes what llama.cpp's common/ngram-mod.cpp and its drafter propose. The table has 2^22 entries
of 4 bytes, 16 MiB. A second one of the same size holds the position each entry was read from. It
says where a draft token was copied from, and never decides what is proposed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.ngram_hashes import NgramHashes
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource, NgramModConfig

N_ENTRIES = 4_194_304
MASK = N_ENTRIES - 1
MULTIPLIER = 6_364_136_223_846_793_005
EMPTY = -1

CHUNK = 32
"""New text is taken in when it ends more than so many tokens behind the last n-gram's begin."""

LOW_ACCEPTANCE = 0.25
MOST_LOW = 5
FULL_SHARE = 0.25


class NgramModDrafter:
    """`n_match` tokens have to match; a draft has `n_min` to `n_max` tokens."""

    source = DraftSource.NGRAM_MOD

    def __init__(self, config: NgramModConfig) -> None:
        self._n = config.n_match
        self._n_min = config.n_min
        self._n_max = config.n_max
        self._hashes = NgramHashes(config.n_match, MULTIPLIER)
        self._multiplier = MULTIPLIER & MASK
        self._outgrown = pow(MULTIPLIER, config.n_match, N_ENTRIES)
        self._n_indexed = 0
        self._n_drafted = 0
        self._n_low = 0
        self._n_used = 0
        # filled, not empty: touching memory for the first time is slow, and later would be timed
        self._tokens: NDArray[np.int32] = np.full(N_ENTRIES, EMPTY, dtype=np.int32)
        self._positions: NDArray[np.int32] = np.full(N_ENTRIES, EMPTY, dtype=np.int32)
        # single entries are read several times faster through a view of the interpreter's own
        self._token_view = memoryview(self._tokens)  # type: ignore[arg-type]
        self._position_view = memoryview(self._positions)  # type: ignore[arg-type]
        self._written: list[NDArray[np.intp]] = []

    def _clear(self) -> None:
        # quicker than filling all of the table
        for entries in self._written:
            self._tokens[entries] = EMPTY
        self._written.clear()
        self._n_used = 0

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """The table is kept and the whole text taken in, unless it leaves too few entries free."""
        self._n_indexed = self._n_drafted = 0
        self._hashes.begin(history)
        if len(history) < self._n:
            return 0
        self._take_in(history)
        if self._n_used > FULL_SHARE * N_ENTRIES:
            self._clear()
        return 0

    def _take_in(self, history: Sequence[int]) -> None:
        """Write what followed each n-gram that is new; the last one of equal ones stands."""
        n, first, end = self._n, self._n_indexed, len(history) - self._n
        self._n_indexed = end
        if first >= end:
            return
        entries = (self._hashes.between(first, end) & np.uint32(MASK)).astype(np.intp)
        positions = np.arange(first + n, end + n, dtype=np.int32)
        self._written.append(entries)
        unused = self._tokens[entries] == EMPTY
        self._positions[entries] = EMPTY
        np.maximum.at(self._positions, entries, positions)
        last = self._positions[entries]
        self._n_used += int(np.count_nonzero(unused & (last == positions)))
        text = np.array(history[first + n :], dtype=np.int32)
        self._tokens[entries] = text[last - (first + n)]

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        self._n_drafted = 0
        n, length = self._n, len(history)
        if length < n:
            return NOTHING
        self._hashes.follow(history)
        if self._n_indexed + CHUNK < length:
            self._take_in(history)
        window = [*history[length - n + 1 :], pending]
        entries = self._look_up(window, self._hashes.at_end(history, pending) & MASK)
        drafted = len(entries)
        if drafted < min(self._n_min, self._n_max):
            return Proposal(n_dropped=drafted)
        # a limit of the call leaves the draft as long as it is for what acceptance is measured by
        self._n_drafted = drafted
        drafted = min(drafted, limit)
        if not drafted:
            return NOTHING
        return Proposal(
            tuple(window[n : n + drafted]),
            (None,) * drafted,
            self._origins(history, window, entries[:drafted]),
            source=self.source,
        )

    def _look_up(self, window: list[int], entry: int) -> list[int]:
        """Append what follows to the window, token by token; the entries that were read."""
        tokens, multiplier, outgrown = self._token_view, self._multiplier, self._outgrown
        entries = []
        for leaving in range(self._n_max):
            following = tokens[entry]
            if following == EMPTY:
                break
            entries.append(entry)
            window.append(following)
            entry = (entry * multiplier + following - window[leaving] * outgrown) & MASK
        return entries

    def _origins(
        self, history: Sequence[int], window: list[int], entries: list[int]
    ) -> tuple[int | None, ...]:
        """Where the draft tokens stand in the text, each behind the n-gram that it follows here.

        None where that is not so: hashes have collided, or an earlier text was another one.
        """
        n, view = self._n, self._position_view
        positions = [view[entry] for entry in entries]
        first, end = positions[0], positions[0] + len(positions)
        # mostly it is one piece, which is compared as one
        piece = window[: n + len(positions)]
        if positions == list(range(first, end)) and list(history[first - n : end]) == piece:
            return tuple(positions)
        origins: list[int | None] = []
        for i, position in enumerate(positions):
            same = list(history[position - n : position + 1]) == window[i : i + n + 1]
            origins.append(position if same else None)
        return tuple(origins)

    def accept(self, n_accepted: int) -> None:
        """Five drafts in a row of which less than a quarter was accepted clear the table."""
        if not self._n_drafted:
            return
        if n_accepted / self._n_drafted >= LOW_ACCEPTANCE:
            self._n_low = 0
            return
        self._n_low += 1
        if self._n_low >= MOST_LOW:
            # the text is taken in anew at the next draft
            self._clear()
            self._n_low = self._n_indexed = 0
