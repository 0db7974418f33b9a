"""What a speculative run is measured in beside its baseline: target steps.

A target step is what one step of the baseline takes, all of it. A run of n steps that took as long
as c target steps for each, and committed t tokens for each, is t ÷ c times as fast.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from specviz.trace import metrics
from specviz.trace.config import DraftSource
from specviz.trace.sources import MODEL_SOURCES, NGRAM_SOURCES, source_statistics
from specviz.trace.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The steps that checked drafts of some sources. `n_rows`: the pending token is one of them.

    `n_committed`: tokens of these steps. `all_seconds`: the whole steps, drafting included.
    """

    n: int
    n_rows: int
    n_committed: int
    verify_seconds: float
    all_seconds: float

    @property
    def width(self) -> float:
        """Rows of a check on average."""
        return self.n_rows / self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The measured terms of a run.

    `step_seconds`: a target step. `models`, `copies`: the checks of drafts by models and of copies
    by n-grams. `seconds_per_draft_token`: of draft models; None where none drafted.
    """

    step_seconds: float
    n_steps: int
    shares: metrics.TimeShares
    baseline_shares: metrics.TimeShares
    n_baseline_steps: int
    models: Checks | None
    copies: Checks | None
    seconds_per_draft_token: float | None

    def in_steps(self, seconds: float) -> float:
        """Seconds of the whole run as target steps for each of its steps."""
        return seconds / self.n_steps / self.step_seconds

    def beyond_baseline(self, seconds: float, baseline_seconds: float) -> float:
        """By how many target steps a step of the run spends more on a part than a target step."""
        usual = baseline_seconds / self.n_baseline_steps / self.step_seconds
        return max(self.in_steps(seconds) - usual, 0.0)

    @property
    def step_cost(self) -> float:
        """Target steps that a step of the run takes."""
        return self.in_steps(self.shares.total)

    def check_cost(self, checks: Checks) -> float:
        """Target steps of one pass over all rows of a draft."""
        return checks.verify_seconds / checks.n / self.step_seconds


def terms_of(baseline: Trace, speculative: Trace) -> Terms | None:
    """The terms of a run; None where there is no target step to measure in."""
    shares, usual = metrics.time_shares(speculative), metrics.time_shares(baseline)
    step_seconds = metrics.ratio(usual.total, baseline.counts.steps)
    n_steps = speculative.counts.steps
    if not step_seconds or not n_steps or shares.total <= 0:
        return None
    if metrics.ratio(shares.total, step_seconds) is None:
        return None
    return Terms(
        step_seconds=step_seconds,
        n_steps=n_steps,
        shares=shares,
        baseline_shares=usual,
        n_baseline_steps=baseline.counts.steps,
        models=checks_of(speculative, MODEL_SOURCES),
        copies=checks_of(speculative, NGRAM_SOURCES),
        seconds_per_draft_token=_seconds_per_draft_token(speculative),
    )


def checks_of(trace: Trace, sources: Collection[DraftSource]) -> Checks | None:
    """The steps that checked drafts of these sources, added up; None when there are none."""
    found = [
        (index, step)
        for index, step in enumerate(trace.steps)
        if step.draft and (step.drafter or DraftSource.DRAFT_SIMPLE) in sources
    ]
    if not found:
        return None
    return Checks(
        n=len(found),
        n_rows=sum(len(step.draft) + 1 for _, step in found),
        n_committed=sum(trace.kept_of_step(index) for index, _ in found),
        verify_seconds=sum(step.verify_seconds for _, step in found),
        all_seconds=sum(
            step.draft_seconds
            + step.verify_seconds
            + step.sample_seconds
            + step.restore_seconds
            + step.other_seconds
            for _, step in found
        ),
    )


def _seconds_per_draft_token(trace: Trace) -> float | None:
    models = [source for source in source_statistics(trace) if source.source in MODEL_SOURCES]
    spent = sum(source.draft_seconds for source in models)
    return metrics.ratio(spent, sum(source.n_drafted for source in models)) or None
