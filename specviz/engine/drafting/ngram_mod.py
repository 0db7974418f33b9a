"""ngram-mod: token by token from a hash table of n-grams that stores no keys.

Proposes what llama.cpp's common/ngram-mod.cpp and its drafter propose. The table has 2^22 entries
of 4 bytes, 16 MiB. A second table of the same size holds the position that each entry was read
from; it says where a token was copied from and never decides what is proposed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource, NgramModConfig

N_ENTRIES = 4_194_304
FACTOR = 6_364_136_223_846_793_005 % N_ENTRIES
"""Only the low bits of llama.cpp's 64-bit hash reach the index."""

MASK = N_ENTRIES - 1
EMPTY = -1
CHUNK = 32
"""New text is indexed when more than so many tokens of it have gathered."""

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
        self._tokens: NDArray[np.int32] = np.full(N_ENTRIES, EMPTY, dtype=np.int32)
        self._places: NDArray[np.int32] = np.zeros(N_ENTRIES, dtype=np.int32)
        # single entries are read several times faster through a view of the interpreter's own
        self._entries = memoryview(self._tokens)  # type: ignore[arg-type]
        self._places_view = memoryview(self._places)  # type: ignore[arg-type]
        self._oldest = pow(FACTOR, self._n, N_ENTRIES)
        self._n_indexed = 0
        self._n_drafted = 0
        self._n_low = 0
        self._n_written = 0

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        self._n_indexed = self._n_drafted = 0
        if len(history) < self._n:
            return len(history)
        self._index(history, 0)
        if self._n_written > FULL_SHARE * N_ENTRIES:
            # an upper bound was passed; now count
            if np.count_nonzero(self._tokens != EMPTY) > FULL_SHARE * N_ENTRIES:
                self._clear()
        return len(history)

    def _clear(self) -> None:
        self._tokens.fill(EMPTY)
        self._n_written = 0

    def _index(self, history: Sequence[int], first: int) -> None:
        """Write down what followed every n-gram from position `first` on; the last one stands."""
        n = self._n
        count = len(history) - n - first
        if count > 0:
            text = np.asarray(history[first:], dtype=np.int64)
            codes = np.zeros(count, dtype=np.int64)
            for i in range(n):
                codes *= FACTOR
                codes += text[i : i + count]
                codes &= MASK
            self._tokens[codes] = text[n:]
            self._places[codes] = np.arange(first + n, first + n + count)
            self._n_written += count
        self._n_indexed = len(history) - n

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        self._n_drafted = 0
        n, length = self._n, len(history)
        if length < n:
            return NOTHING
        if self._n_indexed + CHUNK < length:
            self._index(history, self._n_indexed)
        window = [*history[length - n + 1 :], pending]
        code = 0
        for token_id in window:
            code = (code * FACTOR + token_id) & MASK
        entries, oldest = self._entries, self._oldest
        codes = []
        for i in range(self._n_max):
            token_id = entries[code]
            if token_id == EMPTY:
                break
            codes.append(code)
            window.append(token_id)
            code = (code * FACTOR + token_id - window[i] * oldest) & MASK
        drafted = len(codes)
        # a draft that ends without a miss is as long as it may be, and long enough
        if drafted < min(self._n_min, self._n_max):
            return Proposal(n_dropped=drafted) if drafted else NOTHING
        self._n_drafted = drafted
        if not drafted:
            return NOTHING
        drafted = min(drafted, limit)
        return Proposal(
            tuple(window[n : n + drafted]),
            (None,) * drafted,
            tuple(self._place(history, window, i, codes[i]) for i in range(drafted)),
            source=self.source,
        )

    def _place(self, history: Sequence[int], window: list[int], i: int, code: int) -> int | None:
        """Where draft token `i` stands behind the same n-gram; None when hashes have collided."""
        n, place = self._n, self._places_view[code]
        same = history[place - n : place + 1] == window[i : i + n + 1]
        return place if same else None

    def accept(self, n_accepted: int) -> None:
        if not self._n_drafted:
            return
        if n_accepted / self._n_drafted >= LOW_ACCEPTANCE:
            self._n_low = 0
            return
        self._n_low += 1
        if self._n_low >= MOST_LOW:
            # the text is indexed anew at the next draft
            self._clear()
            self._n_low = self._n_indexed = 0
