"""ngram-simple: what followed the newest earlier occurrence of the last tokens.

Proposes what llama.cpp's `common_ngram_simple_draft` proposes. That searches the text from its end
at every call; here the newest position of every n-gram is kept in a dictionary.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.ngram_text import TOKEN_BYTES, key_of
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource, NgramSizes


class NgramSimpleDrafter:
    """`size_n` tokens have to match, `size_m` are copied at most."""

    source = DraftSource.NGRAM_SIMPLE

    def __init__(self, sizes: NgramSizes) -> None:
        self._n = sizes.size_n
        self._m = sizes.size_m
        self._forget()

    def _forget(self) -> None:
        self._newest: dict[bytes, int] = {}
        # position 0 is never a match
        self._n_indexed = 1

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        self._forget()
        self._index(history)
        return len(history)

    def _index(self, history: Sequence[int]) -> None:
        """Note the n-grams that lie before the newest token, so that a token follows each."""
        n, first = self._n, self._n_indexed
        end = len(history) - n
        if end <= first:
            return
        data = array("i", history[first : end + n]).tobytes()
        width = n * TOKEN_BYTES
        self._newest.update(
            (data[at : at + width], first + i)
            for i, at in enumerate(range(0, (end - first) * TOKEN_BYTES, TOKEN_BYTES))
        )
        self._n_indexed = end

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        n, m, length = self._n, self._m, len(history)
        if length <= n + m + 1:
            return NOTHING
        self._index(history)
        at = self._newest.get(key_of([*history[length - n + 1 :], pending]))
        if at is None:
            return NOTHING
        first = at + n
        count = min(m, length - first)
        # too close to the end: llama.cpp gives up, and looks at no older match
        if count < n:
            return NOTHING
        count = min(count, limit)
        return Proposal(
            tuple(history[first : first + count]),
            (None,) * count,
            tuple(range(first, first + count)),
            source=self.source,
        )

    def accept(self, n_accepted: int) -> None:
        """Nothing to learn."""
