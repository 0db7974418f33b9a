"""What the break-even section knows: costs, how far drafts went, and where the run stands.

Puts together what the runs on show tell and what was measured for the purpose. Knows no widget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specviz.trace import metrics
from specviz.trace.break_even import (
    DraftShape,
    Prediction,
    predict,
    shape_of,
    speedup_at,
)
from specviz.trace.config import LoadConfig
from specviz.trace.costs import CheckCost, Costs, DraftCost, costs_of, with_measured
from specviz.trace.sources import NGRAM_SOURCES, sources_in_use
from specviz.trace.terms import terms_of
from specviz.trace.trace import Trace

LONGEST_WHAT_IF = 16
"""Draft tokens that the what-if slider goes up to, where the run did not draft more."""

WIDEST_CURVE = 65
USUAL_LENGTH = 4
"""Draft tokens that costs are told for while there is no run."""

FURTHER = 2
"""Draft tokens beyond the setting of the run that are looked at for the best length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What "Measure costs" has found, and what it is true of.

    `load`: models and runtime settings. `safe_mode`: without repacked weights.
    """

    load: LoadConfig
    safe_mode: bool = False
    checks: tuple[CheckCost, ...] = ()
    drafts: tuple[DraftCost, ...] = ()

    def of(self, load: LoadConfig) -> Measured | None:
        """As much of it as is true of this load as well; None where nothing is."""
        if replace(load, draft=None) != replace(self.load, draft=None):
            return None
        return self if load.draft == self.load.draft else replace(self, drafts=())


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEvenFacts:
    """All that the section shows. Without a run, `shape`, `acceptance` and `speedup` are None.

    `n_draft`: tested tokens for each step with a draft. `n_max`: the longest draft the settings
    allowed. `copies`: drafts were copied from the text. `speedup`: as measured. `predictions`: for
    each draft length the what-if offers. `own`: what was measured at the run's own length, in the
    same terms. `draft_token`: target steps that a token of a draft model costs.
    """

    costs: Costs
    shape: DraftShape | None = None
    n_draft: float | None = None
    n_max: int = 0
    acceptance: float | None = None
    speedup: float | None = None
    copies: bool = False

    predictions: tuple[Prediction, ...] = ()
    own: Prediction | None = None
    draft_token: float | None = None

    @property
    def longest(self) -> int:
        """Draft tokens that the what-if slider goes up to."""
        return _longest(self.n_max)

    def best(self) -> Prediction | None:
        """The draft length that is predicted to be the best; of equals the shortest.

        Looks little further than to what ran and was measured: beyond, guesses rest on guesses.
        """
        measured = self.costs.checks[-1].n_rows - 1 if self.costs.checks else 0
        longest = max(self.n_max + FURTHER, measured)
        near = [each for each in self.predictions if each.n_draft <= longest]
        return max(near, key=lambda each: each.speedup, default=None)

    def at(self, n_draft: int) -> Prediction | None:
        """What a draft length comes to: the run itself at its own, else the prediction."""
        if self.own is not None and n_draft == self.own.n_draft:
            return self.own
        return next((each for each in self.predictions if each.n_draft == n_draft), None)

    def what_if(self, n_draft: int, acceptance: float) -> float | None:
        """Speed-up with this draft length if this share of the tested tokens were accepted.

        Drafts are as long, and cost as much, as they are predicted to; without a run each step
        has a draft of exactly this length.
        """
        prediction = self.at(n_draft)
        if prediction is None:
            return speedup_at(self.costs, n_draft, acceptance)
        # from where the prediction stands, so that moving the acceptance begins at its speed-up
        more = acceptance - (prediction.acceptance or 0.0)
        tokens = prediction.tokens_per_step + more * prediction.tested_per_step
        return metrics.ratio(max(tokens, 1.0), prediction.step_cost)


def _longest(n_max: int) -> int:
    return max(LONGEST_WHAT_IF, min(n_max + FURTHER, WIDEST_CURVE - 1))


def facts_of(
    baseline: Trace | None, speculative: Trace | None, measured: Measured | None
) -> BreakEvenFacts | None:
    """What the runs and the measurement tell; None where nothing does.

    A run that is still going on tells nothing yet.
    """
    if speculative is None or not speculative.closed or speculative.started is None:
        return _without_run(baseline, measured)
    found = costs_of(baseline, speculative) if baseline is not None and baseline.closed else None
    if found is None:
        return _without_run(None, measured)
    if measured is not None:
        fits = measured.of(speculative.started.config.load)
        found = filled_in(found, fits) if fits is not None else found
    config = speculative.started.config.speculation
    sources = sources_in_use(speculative.started.config)
    shape = shape_of(speculative)
    base_rate = metrics.tokens_per_second(baseline) if baseline is not None else None
    rate = metrics.tokens_per_second(speculative)
    speedup = metrics.ratio(rate, base_rate) if rate and base_rate else None
    n_max = max((config.longest_draft(source) for source in sources), default=0)
    lengths = range(1, _longest(n_max) + 1)
    predictions = [predict(found, shape, n) for n in lengths] if shape is not None else []
    return BreakEvenFacts(
        costs=found,
        shape=shape,
        n_draft=shape.mean_draft_length if shape is not None else None,
        n_max=n_max,
        predictions=tuple(each for each in predictions if each is not None),
        own=_own(speculative, n_max, speedup),
        draft_token=_draft_token(baseline, speculative),
        acceptance=metrics.acceptance_rate(speculative),
        speedup=speedup,
        copies=bool(sources) and NGRAM_SOURCES.issuperset(sources),
    )


def _draft_token(baseline: Trace | None, speculative: Trace) -> float | None:
    """As the verdict's reasons have it."""
    terms = terms_of(baseline, speculative) if baseline is not None else None
    if terms is None or terms.seconds_per_draft_token is None:
        return None
    return metrics.ratio(terms.seconds_per_draft_token, terms.step_seconds)


def filled_in(costs: Costs, measured: Measured) -> Costs:
    """The costs of a run with those measured at another time, brought to the pace of the run.

    A machine is not equally fast at all times, and costs are held against a step of the run. The
    widths that both know tell how much slower or faster it was.
    """
    known = {each.n_rows: each.seconds for each in costs.checks}
    common = [each for each in measured.checks if each.n_rows in known]
    then = sum(each.seconds for each in common)
    pace = metrics.ratio(sum(known[each.n_rows] for each in common), then) or 1.0
    return with_measured(
        costs,
        [replace(each, seconds=each.seconds * pace) for each in measured.checks],
        [replace(each, seconds=each.seconds * pace) for each in measured.drafts],
    )


def _own(trace: Trace, n_max: int, speedup: float | None) -> Prediction | None:
    tau = metrics.tau(trace)
    if not speedup or not tau or not trace.counts.tested:
        return None
    return Prediction(
        n_draft=n_max,
        acceptance=metrics.acceptance_rate(trace),
        tokens_per_step=tau,
        step_cost=tau / speedup,
        speedup=speedup,
        tested_per_step=trace.counts.tested / trace.counts.steps,
    )


def _without_run(baseline: Trace | None, measured: Measured | None) -> BreakEvenFacts | None:
    """Costs alone, from what was measured, and from a baseline where there is one."""
    costs = costs_of(baseline, None) if baseline is not None and baseline.closed else None
    if measured is None or not measured.checks:
        return BreakEvenFacts(costs=costs) if costs is not None else None
    if costs is None:
        first = measured.checks[0]
        if first.n_rows != 1 or first.seconds <= 0:
            return None
        costs = Costs(step_seconds=first.seconds, checks=())
    elif baseline is None or baseline.started is None:
        return BreakEvenFacts(costs=costs)
    else:
        fits = measured.of(replace(baseline.started.config.load, draft=measured.load.draft))
        if fits is None:
            return BreakEvenFacts(costs=costs)
        measured = fits
    costs = filled_in(costs, measured)
    each = costs.draft_seconds(USUAL_LENGTH)
    token = None if each is None else metrics.ratio(each / USUAL_LENGTH, costs.step_seconds)
    return BreakEvenFacts(costs=costs, draft_token=token)
