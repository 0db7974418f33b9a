"""`CheckLossless` on loaded weights: makes the fresh memory and sums up what it has shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from specviz.engine.engine import Report
from specviz.engine.llama.fresh import FreshMemory
from specviz.engine.lossless import Oracle, Recording
from specviz.engine.lossless_request import Fork
from specviz.engine.model import Cancellation
from specviz.engine.slot import Slot, context_of
from specviz.trace.config import DraftSource, LoadConfig
from specviz.trace.lossless import LosslessCheck, ShapeMargin
from specviz.worker.protocol import Checking, CheckLossless, RecordedStep

OnMemory = Callable[[FreshMemory | None], None]
"""Told of the memory that is computed on, so that it can be aborted; None when it is gone."""


def check_anew(
    command: CheckLossless,
    fork: Fork | None,
    prompt: Sequence[int],
    target: Slot,
    draft: Slot | None,
    report: Report,
    cancelled: Cancellation,
    on_memory: OnMemory,
) -> LosslessCheck:
    """Evaluate a recorded run anew. The memory is returned at the end. Raises Cancelled."""
    load, steps = command.config.load, command.steps
    recording = Recording(prompt, steps)
    progress = _Progress(_n_tokens(command, fork, draft), report)
    margins: tuple[ShapeMargin, ...] = ()
    n_rechecked, mismatch = 0, None
    if fork is not None or command.whole:
        with _fresh_memory(target, load, on_memory) as memory:
            oracle = Oracle(recording, memory, cancelled, progress.advance)
            if command.whole:
                replay = oracle.replay(fork)
                n_rechecked, mismatch = replay.n_rechecked, replay.mismatch
                # an end token is decided, and is no part of the output
                n_rechecked -= _ends(steps, target)
                margins = () if fork is None else oracle.follow_both(fork, replay.margin)
            elif fork is not None:
                margins = oracle.look_at_fork(fork)
    n_drafts, draft_mismatch = 0, None
    if command.whole and draft is not None:
        with _fresh_memory(draft, load, on_memory) as memory:
            redrafted = Oracle(recording, memory, cancelled, progress.advance).redraft()
            n_drafts, draft_mismatch = redrafted.n_rechecked, redrafted.mismatch
    progress.finish()
    return LosslessCheck(
        fork=None if fork is None else fork.position,
        margins=margins,
        n_rechecked=n_rechecked,
        mismatch=mismatch,
        n_drafts_rechecked=n_drafts,
        draft_mismatch=draft_mismatch,
    )


@contextmanager
def _fresh_memory(slot: Slot, load: LoadConfig, on_memory: OnMemory) -> Iterator[FreshMemory]:
    memory = FreshMemory(slot.weights, slot.spec, load, like=context_of(slot))
    on_memory(memory)
    try:
        yield memory
    finally:
        on_memory(None)
        memory.close()


def _ends(steps: Sequence[RecordedStep], target: Slot) -> bool:
    last = steps[-1].emitted if steps else ()
    return bool(last) and target.weights.ends_generation(last[-1])


def _n_tokens(command: CheckLossless, fork: Fork | None, draft: Slot | None) -> int:
    """What there is to go through: the run, the baseline up to the fork, the model's drafts."""
    to_fork = 0 if fork is None else fork.position + 1
    if not command.whole:
        return 2 * to_fork
    drafts = [s.draft for s in command.steps if draft and s.drafter is DraftSource.DRAFT_SIMPLE]
    return to_fork + sum(len(s.emitted) for s in command.steps) + sum(map(len, drafts))


class _Progress:
    """Adds up tokens and reports them."""

    def __init__(self, n_total: int, report: Report) -> None:
        self._n_total = max(n_total, 1)
        self._n_done = 0
        self._report = report
        self.advance(0)

    def advance(self, n_tokens: int) -> None:
        self._n_done = min(self._n_done + n_tokens, self._n_total)
        self._report(Checking(n_done=self._n_done, n_total=self._n_total))

    def finish(self) -> None:
        self.advance(self._n_total)
