"""A context in the role of the draft model."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.engine.llama.context import Context, SavedState
from specviz.engine.model import Cancellation, Cancelled, Progress
from specviz.engine.rollback import Rollback
from specviz.engine.sampling import draft_candidate


class LlamaDraft:
    """See drafting.draft_model.DraftModel."""

    def __init__(self, context: Context, n_vocab_target: int) -> None:
        self._context = context
        self._n_vocab_target = n_vocab_target
        self._saved = SavedState(on_device=True)

    @property
    def n_past(self) -> int:
        return self._context.n_past

    @property
    def n_ctx(self) -> int:
        return self._context.n_ctx

    def begin(self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        known = self._known(token_ids)
        self._saved.n_past = -1
        reached = self._context.rewind(self._context.shared_with(known))
        self._context.prefill(known, cancelled, progress)
        return reached

    def mark(self) -> None:
        if self._context.rollback is not Rollback.TRIM:
            self._context.save(self._saved)

    def truncate(self, n_past: int) -> int:
        context = self._context
        # drafted one by one, there are no snapshots to go back to
        if not context.forget(n_past):
            if 0 <= self._saved.n_past <= n_past:
                context.restore(self._saved)
            else:
                context.rewind(n_past)
        return context.n_past

    def propose(self, token_ids: Sequence[int]) -> tuple[int, float] | None:
        known, size = self._known(token_ids), self._context.n_batch
        for begin in range(0, len(known), size):
            batch = known[begin : begin + size]
            last = begin + size >= len(known)
            code = self._context.decode(batch, n_outputs=1 if last else 0)
            if code == 2:
                raise Cancelled
            if code != 0:
                return None
        token_id, prob = draft_candidate(self._context.rows(1)[0])
        return (token_id, prob) if token_id < self._n_vocab_target else None

    def _known(self, token_ids: Sequence[int]) -> Sequence[int]:
        """Padding ids of the target that the draft lacks stand in as token 0: llama.cpp would
        refuse the batch, and nothing but the quality of the next drafts depends on it."""
        limit = self._context.weights.n_vocab
        if max(token_ids, default=0) < limit:
            return token_ids
        return [token_id if token_id < limit else 0 for token_id in token_ids]
