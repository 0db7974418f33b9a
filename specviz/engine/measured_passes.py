"""`MeasureCosts` on loaded weights: target passes and drafts behind a text, each forgotten again.

The rows that are evaluated are real text that follows what is in memory: where a model has
experts, which of them a token wakes depends on the token, and that is what a wide pass costs.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from time import perf_counter

from specviz.engine.cost_measurement import Pass, measured_sizes
from specviz.engine.drafting.base import Drafter
from specviz.engine.llama import next_token
from specviz.engine.llama.context import Context, SavedState, check
from specviz.engine.llama.sampler import Sampler
from specviz.engine.llama.target import LlamaTarget
from specviz.engine.model import Cancellation, Progress
from specviz.engine.new_drafter import new_drafter
from specviz.engine.rollback import Rollback
from specviz.engine.slot import Slot, context_of, next_token_head
from specviz.errors import SettingError
from specviz.trace.config import DraftSource, Role, RunConfig, SamplingConfig, SpeculationConfig
from specviz.trace.costs import CheckCost, DraftCost


@dataclass(frozen=True, slots=True)
class Passage:
    """A text in two: what is in memory, and the rows that are evaluated behind it."""

    held: list[int]
    rows: list[int]


def passage(text: Sequence[int], n_rows: int, n_ctx: int) -> Passage:
    """The last `n_rows` tokens behind the others; a text that is too short is gone through again.

    One token at least is held. Raises SettingError where the rows do not fit into the context.
    """
    if not 1 <= n_rows < n_ctx:
        raise SettingError(
            f"A check of {n_rows} rows cannot be measured in a context of {n_ctx} tokens.",
            "Choose fewer rows or a larger context.",
        )
    fitting = list(text[:n_ctx])
    n_held = min(max(len(fitting) - n_rows, 1), n_ctx - n_rows)
    held = fitting[:n_held]
    return Passage(held, list(islice(cycle([*fitting[n_held:], *fitting]), n_rows)))


def check_text(token_ids: Sequence[int], n_vocab: int) -> None:
    """Raise SettingError for a text that the target cannot read."""
    if not token_ids:
        raise SettingError("There is no text to measure behind.", "Write a prompt first.")
    if min(token_ids) < 0 or max(token_ids) >= n_vocab:
        raise SettingError("The text has tokens that this model does not have.")


SHORT_SECONDS = 0.05
"""In shorter passes the layout of a graph tells; they are timed at their second time."""

_NEVER = threading.Event()


def _no_progress(done: int, total: int) -> None:
    """Nothing is evaluated here that anybody would wait for."""


class CheckPass:
    """A target pass over the first `n_rows` of the rows."""

    def __init__(self, context: Context, passage: Passage, n_rows: int, saved: SavedState) -> None:
        self._context = context
        self._n_held = len(passage.held)
        self._rows = passage.rows[:n_rows]
        self._saved = saved
        self._shortest = math.inf

    def seconds(self) -> float:
        # llama.cpp lays out its graph anew when the number of rows changes, which a run seldom does
        if self._shortest < SHORT_SECONDS:
            self._evaluate()
        taken = self._evaluate()
        self._shortest = min(taken, self._shortest)
        return taken

    def _evaluate(self) -> float:
        context, count = self._context, len(self._rows)
        started = perf_counter()
        code = context.decode(self._rows, n_outputs=count)
        taken = perf_counter() - started
        check(code, "A check could not be measured")
        # snapshots reach back by a row less than there are, so the saved state serves them too
        if context.rollback is Rollback.TRIM:
            context.forget(self._n_held)
        else:
            context.restore(self._saved)
        return taken

    def cost(self, seconds: float, n_samples: int) -> CheckCost:
        return CheckCost(n_rows=len(self._rows), seconds=seconds, n_samples=n_samples)


class DraftPass:
    """A draft of `n_tokens` tokens behind the text and the first row, which is pending."""

    def __init__(self, drafter: Drafter, passage: Passage, n_tokens: int) -> None:
        self._drafter = drafter
        self._passage = passage
        self._n_tokens = n_tokens

    def seconds(self) -> float | None:
        # forgets the draft before, outside of what is timed
        self._drafter.begin(self._passage.held, _NEVER, _no_progress)
        started = perf_counter()
        proposal = self._drafter.draft(self._passage.held, self._passage.rows[0], self._n_tokens)
        taken = perf_counter() - started
        return taken if len(proposal.token_ids) == self._n_tokens else None

    def cost(self, seconds: float, n_samples: int) -> DraftCost:
        return DraftCost(n_tokens=self._n_tokens, seconds=seconds, n_samples=n_samples)


def passes(
    target: Slot,
    draft: Slot | None,
    config: RunConfig,
    passage: Passage,
    progress: Callable[[Role], Progress],
    cancelled: Cancellation,
) -> list[Pass]:
    """All that is measured, with the text in memory. Raises Cancelled."""
    context, held = context_of(target), passage.held
    source = _drafting_model(config.speculation, draft)
    with_head = source is DraftSource.DRAFT_MTP
    head = next_token_head(target, config.load) if with_head else None
    next_token.give_hidden_rows(context, with_head)
    LlamaTarget(context, Sampler(SamplingConfig()), head).begin(
        held, cancelled, progress(Role.TARGET)
    )
    saved = SavedState(on_device=True)
    if context.rollback is not Rollback.TRIM:
        context.save(saved)
    n_rows = len(passage.rows)
    checks = [CheckPass(context, passage, size, saved) for size in measured_sizes(n_rows)]
    if source is None:
        return [*checks]
    drafter = _measured_drafter(source, config, target, draft, n_rows - 1)
    drafter.begin(held, cancelled, progress(Role.DRAFT))
    drafts = [DraftPass(drafter, passage, size) for size in measured_sizes(n_rows - 1)]
    return [*checks, *drafts]


def _drafting_model(speculation: SpeculationConfig, draft: Slot | None) -> DraftSource | None:
    """The source whose drafts take passes of a model; n-grams take next to nothing."""
    if DraftSource.DRAFT_SIMPLE in speculation.sources and draft is not None:
        return DraftSource.DRAFT_SIMPLE
    return DraftSource.DRAFT_MTP if DraftSource.DRAFT_MTP in speculation.sources else None


def _measured_drafter(
    source: DraftSource, config: RunConfig, target: Slot, draft: Slot | None, n_max: int
) -> Drafter:
    """One that drafts as many tokens as it is asked for."""
    speculation = replace(config.speculation, n_max=n_max, n_min=0, p_min=0.0)
    return new_drafter(source, replace(config, speculation=speculation), target, draft)
