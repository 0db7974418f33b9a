"""ngram-simple: what followed the newest earlier occurrence of the last tokens.

Proposes what llama.cpp's `common_ngram_simple_draft` proposes, which walks back through the text at
every call.
"""

from __future__ import annotations

from collections.abc import Sequence

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.ngram_hashes import NgramHashes
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource, NgramSizes

MULTIPLIER = 2_654_435_761
"""Any odd number of this size spreads well; ngram-map's."""


class NgramSimpleDrafter:
    """`size_n` tokens have to match, `size_m` are copied at most."""

    source = DraftSource.NGRAM_SIMPLE

    def __init__(self, sizes: NgramSizes) -> None:
        self._n = sizes.size_n
        self._m = sizes.size_m
        self._hashes = NgramHashes(sizes.size_n, MULTIPLIER)

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """Nothing is kept: the text may be another one."""
        self._hashes.begin(history)
        return 0

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        n, m, length = self._n, self._m, len(history)
        if length <= n + m + 1:
            return NOTHING
        self._hashes.follow(history)
        first = self._newest(history, pending) + n
        count = min(m, length - first)
        # too close to the end: llama.cpp gives up, and looks at no older match
        if first == n or count < n:
            return NOTHING
        return copied(self.source, history, first, min(count, limit))

    def _newest(self, history: Sequence[int], pending: int) -> int:
        """Where the last tokens stood before; 0, which never matches, for nowhere."""
        n, length = self._n, len(history)
        wanted = [*history[length - n + 1 :], pending]
        value = self._hashes.at_end(history, pending)
        for at in map(int, self._hashes.find(value, 1, length - n)[::-1]):
            if list(history[at : at + n]) == wanted:
                return at
        return 0

    def accept(self, n_accepted: int) -> None:
        """Nothing to learn."""


def copied(source: DraftSource, history: Sequence[int], first: int, count: int) -> Proposal:
    """`count` tokens of the text from position `first` on."""
    return Proposal(
        tuple(history[first : first + count]),
        (None,) * count,
        tuple(range(first, first + count)),
        source=source,
    )
