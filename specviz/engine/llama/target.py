"""A context in the role of the target, whatever way it has to forget rejected tokens.

Models that keep a recurrent state cannot drop the end of it. Their state is saved before a check
and restored when part of the draft was rejected; the tokens that stand are then a backlog, known
but not in memory, and go in front of the next batch. Nothing is decided twice, and the sampler is
never put back. llama.cpp's server evaluates them in a pass of their own instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specviz.engine.llama.context import Context, SavedState, check
from specviz.engine.llama.sampler import Sampler
from specviz.engine.model import Cancellation, Observation, Progress
from specviz.engine.rollback import MOST_BACKLOG, Rollback
from specviz.engine.sampling import runner_up, token_probability


class Follower(Protocol):
    """Somebody who reads the hidden rows of every evaluated token, in order: a next-token head."""

    def resume(self, token_ids: Sequence[int], n_shared: int) -> int:
        """Go back to where it can follow this text again, at most `n_shared` tokens into it."""
        ...

    def follow(self, token_ids: Sequence[int], first_row: int) -> None:
        """These tokens of the target's last batch stand; `first_row` is the first one's row."""
        ...

    def end_prompt(self) -> None:
        """What was followed so far is the prompt."""
        ...


class LlamaTarget:
    """See model.TargetModel."""

    def __init__(
        self, context: Context, sampler: Sampler, follower: Follower | None = None
    ) -> None:
        self._context = context
        self._sampler = sampler
        self._follower = follower
        self._rows: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._scratch = np.empty(context.weights.n_vocab, dtype=np.float32)
        self._batch: list[int] = []
        self._n_known = 0
        self._backlog: list[int] = []
        self._saved = SavedState(on_device=True)
        self._restore_seconds = 0.0

    @property
    def n_ctx(self) -> int:
        return self._context.n_ctx

    @property
    def n_past(self) -> int:
        return self._context.n_past + len(self._backlog)

    def begin(self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        context, follower = self._context, self._follower
        self._backlog = []
        self._saved.n_past = -1
        reached = context.rewind(context.shared_with(token_ids))
        if follower is not None:
            reached = context.rewind(follower.resume(token_ids, reached))
            if follower.resume(token_ids, reached) != reached:
                context.clear()
                reached = follower.resume(token_ids, 0)
        context.prefill(
            token_ids,
            cancelled,
            progress,
            None if follower is None else lambda batch: follower.follow(batch, 0),
        )
        if follower is not None:
            follower.end_prompt()
        return reached

    def verify(self, pending: int, draft: Sequence[int]) -> None:
        self._make_undoable(len(draft))
        self._n_known = len(self._backlog)
        self._batch = [*self._backlog, pending, *draft]
        code = self._context.decode(self._batch, n_outputs=1 + len(draft))
        check(code, "The target could not evaluate a step")
        self._rows = self._context.rows(1 + len(draft))

    def _make_undoable(self, n_draft: int) -> None:
        """Save the state where what is rejected could not be forgotten otherwise."""
        context = self._context
        started = perf_counter()
        # a batch that would not fit, or a backlog that grows and grows: evaluate it by itself
        if len(self._backlog) > MOST_BACKLOG or (
            len(self._backlog) + 1 + n_draft > context.n_batch
        ):
            check(context.decode(self._backlog, n_outputs=0), "The target could not catch up")
            self._backlog = []
        if context.rollback is not Rollback.TRIM and n_draft > context.n_snapshots:
            if self._saved.n_past != context.n_past:
                context.save(self._saved)
        self._restore_seconds += perf_counter() - started

    def sample(self, row: int) -> int:
        return self._sampler.sample(self._context, self._rows, row, self._n_known)

    def keep(self, n_rows: int) -> None:
        context = self._context
        n_kept = self._n_known + n_rows
        before = context.n_past - len(self._batch)
        if self._follower is not None:
            self._follower.follow(self._batch[self._n_known : n_kept], self._n_known)
        started = perf_counter()
        if context.forget(before + n_kept):
            self._backlog = []
        else:
            context.restore(self._saved)
            self._backlog = self._batch[:n_kept]
        self._restore_seconds += perf_counter() - started

    def observe(self, asked: Sequence[tuple[int, int]], sampled: Sequence[int]) -> Observation:
        rows, n_vocab = self._rows, self._context.weights.n_vocab
        probs: list[float | None] = []
        done_row, done_total, best = -1, 0.0, 0.0
        for row, token_id in asked:
            if not 0 <= token_id < n_vocab:
                probs.append(None)
            elif row == done_row:
                probs.append(min(float(np.exp(rows[row][token_id] - best)) / done_total, 1.0))
            else:
                prob, best, done_total = token_probability(rows[row], token_id, self._scratch)
                done_row = row
                probs.append(prob)
        runners = [runner_up(rows[row], token_id) for row, token_id in enumerate(sampled)]
        # a model that overflows gives scores that are no numbers
        return Observation(
            tuple(prob if prob is not None and math.isfinite(prob) else None for prob in probs),
            tuple(each if math.isfinite(each[1]) else None for each in runners),
        )

    def take_restore_seconds(self) -> float:
        taken, self._restore_seconds = self._restore_seconds, 0.0
        return taken

    def piece(self, token_id: int) -> bytes:
        return self._context.weights.piece(token_id)

    def ends_generation(self, token_id: int) -> bool:
        return self._context.weights.ends_generation(token_id)

    def exhausted(self) -> bool:
        return False
