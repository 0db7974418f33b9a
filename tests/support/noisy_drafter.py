"""A drafter that knows the answer and spoils some of it, to force every kind of rejection."""

from __future__ import annotations

import random
from collections.abc import Sequence

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource


class NoisyDrafter:
    """Proposes what a baseline said next, with each token replaced with probability `noise`.

    Lengths are uniform in 0..`longest`. `answer`: the baseline's token ids behind a prompt of
    `n_prompt` tokens; replacements are ids below `n_words`.
    """

    source = DraftSource.NGRAM_SIMPLE

    def __init__(
        self,
        answer: Sequence[int],
        n_prompt: int,
        *,
        longest: int,
        noise: float = 0.4,
        seed: int = 1,
        n_words: int = 256,
    ) -> None:
        self._answer = answer
        self._n_prompt = n_prompt
        self._longest = longest
        self._noise = noise
        self._n_words = n_words
        self._random = random.Random(seed)

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        return 0

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        begin = len(history) + 1 - self._n_prompt
        length = min(self._random.randint(0, self._longest), limit)
        token_ids = tuple(
            self._spoiled(token_id) for token_id in self._answer[begin : begin + length]
        )
        if not token_ids:
            return NOTHING
        unknown = (None,) * len(token_ids)
        return Proposal(token_ids, unknown, unknown, source=self.source)

    def _spoiled(self, token_id: int) -> int:
        if self._random.random() >= self._noise:
            return token_id
        return (token_id + self._random.randrange(1, self._n_words)) % self._n_words

    def accept(self, n_accepted: int) -> None:
        """Has nothing to learn."""
