"""draft-simple: a small model proposes its most likely tokens one after the other.

Proposes what llama.cpp's `draft-simple` proposes. Unlike it, the draft's memory of its own
accepted tokens is kept between steps, so that the checked batch is not evaluated a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource

Candidate = tuple[int, float]
"""A proposed token id and its probability."""


class DraftModel(Protocol):
    """What drafting needs from the small model."""

    @property
    def n_past(self) -> int: ...

    @property
    def n_ctx(self) -> int: ...

    def begin(self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """Have these tokens, and no others, in memory; how many were there before.

        Raises Cancelled.
        """
        ...

    def mark(self) -> None:
        """Remember this moment, for models that can only go back to a moment they remember."""
        ...

    def truncate(self, n_past: int) -> int:
        """Forget all positions from `n_past` on, and more where need be; how many are left."""
        ...

    def propose(self, token_ids: Sequence[int]) -> Candidate | None:
        """Evaluate these tokens; the most likely next one with its probability.

        None when they could not be evaluated, or when the proposal is outside the target's
        vocabulary.
        """
        ...


class DraftModelDrafter:
    """Keeps one draft model in step with the text and drafts with it."""

    source = DraftSource.DRAFT_SIMPLE

    def __init__(self, model: DraftModel, n_max: int, n_min: int, p_min: float) -> None:
        self._model = model
        self._n_max = n_max
        self._n_min = n_min
        self._p_min = p_min
        self._held: list[int] = []
        self._n_agreed = 0

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        reused = self._model.begin(history, cancelled, progress)
        self._held = list(history)
        self._n_agreed = len(history)
        return reused

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        most = min(self._n_max, limit, self._model.n_ctx - len(history) - 1)
        if most <= 0:
            return NOTHING
        first = self._evaluate(self._catch_up(history, pending))
        if most > 1:
            self._model.mark()
        self._n_agreed = len(self._held)
        return chain_of_tokens(
            self.source,
            first,
            lambda token_id: self._evaluate([token_id]),
            most,
            self._n_min,
            self._p_min,
        )

    def accept(self, n_accepted: int) -> None:
        """Nothing to learn: the next draft compares the memory with the text."""

    def _evaluate(self, token_ids: list[int]) -> Candidate | None:
        proposed = self._model.propose(token_ids)
        # whether or not there is a proposal, what was evaluated is in memory
        self._held += token_ids[: self._model.n_past - len(self._held)]
        return proposed

    def _catch_up(self, history: Sequence[int], pending: int) -> list[int]:
        """Forget what the text did not become; the tokens still to be evaluated, pending last.

        Everything up to the last step's pending token is known to agree, so only what was drafted
        behind it is compared.
        """
        keep = min(len(self._held), len(history))
        for i in range(min(self._n_agreed, keep), keep):
            if self._held[i] != history[i]:
                keep = i
                break
        if keep < len(self._held):
            keep = self._model.truncate(keep)
            del self._held[keep:]
        return [*history[keep:], pending]


def chain_of_tokens(
    source: DraftSource,
    first: Candidate | None,
    go_on: Callable[[int], Candidate | None],
    most: int,
    n_min: int,
    p_min: float,
) -> Proposal:
    """Token after token, each from the one before, by llama.cpp's rules for drafting models.

    Drafting ends at `most` tokens, or at one with a probability below `p_min`, which is left out.
    Fewer than `n_min` are thrown away.
    """
    token_ids: list[int] = []
    probs: list[float | None] = []
    candidate = first
    while candidate is not None:
        token_id, prob = candidate
        if prob < p_min:
            break
        token_ids.append(token_id)
        probs.append(prob)
        if len(token_ids) >= most:
            break
        candidate = go_on(token_id)
    if not token_ids:
        return NOTHING
    if len(token_ids) < n_min:
        return Proposal(n_dropped=len(token_ids))
    return Proposal(tuple(token_ids), tuple(probs), (None,) * len(token_ids), 0, source)
