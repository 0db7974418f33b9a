"""draft-simple: a small model proposes its most likely tokens one after the other.

Proposes what llama.cpp's `draft-simple` proposes. Unlike it, the draft's memory of its own
accepted tokens is kept between steps, so that the checked batch is not evaluated a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource


class DraftModel(Protocol):
    """What drafting needs from the small model."""

    @property
    def n_past(self) -> int: ...

    @property
    def n_ctx(self) -> int: ...

    def begin(self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """Evaluate these tokens from an empty memory. Raises Cancelled."""
        ...

    def truncate(self, n_past: int) -> None:
        """Forget all positions from `n_past` on."""
        ...

    def propose(self, token_ids: Sequence[int]) -> tuple[int, float] | None:
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

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        reused = self._model.begin(history, cancelled, progress)
        self._held = list(history)
        return reused

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        model = self._model
        todo = self._catch_up(history, pending)
        token_ids: list[int] = []
        probs: list[float | None] = []
        most = min(self._n_max, limit, model.n_ctx - len(history) - 1)
        while len(token_ids) < most:
            proposed = model.propose(todo)
            if proposed is None:
                break
            self._held += todo
            token_id, prob = proposed
            if prob < self._p_min:
                break
            token_ids.append(token_id)
            probs.append(prob)
            todo = [token_id]
        if len(token_ids) < self._n_min:
            return Proposal(n_dropped=len(token_ids)) if token_ids else NOTHING
        return Proposal(tuple(token_ids), tuple(probs), (None,) * len(token_ids), 0, self.source)

    def accept(self, n_accepted: int) -> None:
        """Nothing to learn: the next draft compares the memory with the text."""

    def _catch_up(self, history: Sequence[int], pending: int) -> list[int]:
        """Forget what the text did not become; the tokens still to be evaluated, pending last.

        Everything before the last step's draft is known to agree, so only the tail is compared.
        """
        keep = min(len(self._held), len(history))
        start = max(keep - self._n_max - 1, 0)
        for i in range(start, keep):
            if self._held[i] != history[i]:
                keep = i
                break
        if keep < len(self._held):
            self._model.truncate(keep)
            del self._held[keep:]
        return [*history[keep:], pending]
