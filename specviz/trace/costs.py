"""What a check of so many rows, and a draft of so many tokens, cost on this machine, in seconds.

Taken from the steps of a run, and from measurements made for the purpose. Knows nothing of
acceptance: see break_even.py.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from specviz.trace.draft_path import ended_by_themselves
from specviz.trace.events import StepVerified
from specviz.trace.metrics import ratio
from specviz.trace.trace import Trace

FEWEST_SAMPLES = 3
"""Widths and lengths met less often are left out where two others at least were met so often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCost:
    """One target pass over `n_rows` rows: the pending token and `n_rows` - 1 draft tokens.

    `seconds` is the median of `n_samples` passes.
    """

    n_rows: int
    seconds: float
    n_samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftCost:
    """Drafting `n_tokens` tokens at once; `seconds` is the median of `n_samples` drafts.

    A draft that ended by itself, at a token too improbable, did the work of one token more and
    counts as such.
    """

    n_tokens: int
    seconds: float
    n_samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """All that a speculative run's speed depends on beside acceptance.

    `step_seconds`: one whole step of the target alone. `checks` and `drafts` are ascending, one
    entry for each width or length that was met. `extra_seconds`: what a step with a draft takes
    beside pass and draft (sampling, bookkeeping), and `extra_seconds_per_token` more for each of
    its draft tokens. `restore_seconds`: saving and restoring of such a step. `idle_seconds`: what
    a step without a draft spent on looking for one.
    """

    step_seconds: float
    checks: tuple[CheckCost, ...]
    drafts: tuple[DraftCost, ...] = ()
    extra_seconds: float = 0.0
    extra_seconds_per_token: float = 0.0
    restore_seconds: float = 0.0
    idle_seconds: float = 0.0

    def check_seconds(self, n_rows: float) -> float | None:
        """A pass over `n_rows` rows, interpolated between widths that were met.

        Outside them it goes on along a line. None below one row, and for another width than the
        only one that was met.
        """
        points = [(each.n_rows, each.seconds, each.n_samples) for each in self.checks]
        if len(points) < 2 and not any(n_rows == x for x, _, _ in points):
            return None
        return _at(points, n_rows)

    def draft_seconds(self, n_tokens: float) -> float | None:
        """A draft of `n_tokens` tokens, interpolated between lengths that were met.

        Where only one was met, each token is taken to cost the same. None below one token, and
        where nothing was drafted.
        """
        return _at(
            [(each.n_tokens, each.seconds, each.n_samples) for each in self.drafts], n_tokens
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """A check of `n_rows` rows costs `steps` target steps.

    `is_measured`: this width was met. `is_extrapolated`: it lies outside all that were.
    """

    n_rows: int
    steps: float
    is_measured: bool
    is_extrapolated: bool = False


def costs_of(baseline: Trace, speculative: Trace | None) -> Costs | None:
    """The costs that the steps of these runs show; None without a baseline step."""
    if not baseline.steps:
        return None
    checks = _by(1, (step.verify_seconds for step in baseline.steps))
    drafts: dict[int, list[float]] = defaultdict(list)
    steps = speculative.steps if speculative else []
    with_draft = [step for step in steps if step.draft]
    without = [step for step in steps if not step.draft]
    endings = ended_by_themselves(speculative) if speculative else []
    for step, ended in zip(steps, endings, strict=True):
        checks[len(step.draft) + 1].append(step.verify_seconds)
        if step.draft:
            drafts[len(step.draft) + ended].append(step.draft_seconds)
    extra, per_token = _extra(baseline.steps, with_draft)
    return Costs(
        step_seconds=_median(_whole(step) for step in baseline.steps),
        checks=tuple(
            CheckCost(n_rows=width, seconds=_median(seconds), n_samples=len(seconds))
            for width, seconds in _well_sampled(checks)
        ),
        drafts=tuple(
            DraftCost(n_tokens=length, seconds=_median(seconds), n_samples=len(seconds))
            for length, seconds in _well_sampled(drafts)
        ),
        extra_seconds=extra,
        extra_seconds_per_token=per_token,
        restore_seconds=_mean(step.restore_seconds for step in with_draft),
        idle_seconds=_mean(step.draft_seconds + step.restore_seconds for step in without),
    )


def with_measured(
    costs: Costs, checks: Sequence[CheckCost], drafts: Sequence[DraftCost] = ()
) -> Costs:
    """The same with what was measured for the purpose, where a run has not met it more often.

    A machine is not equally fast at all times, so the measured seconds are brought to the run's
    by the widths that both know. Of such a width the one with more samples stands; of equals the
    measured.
    """
    pace = _pace(costs.checks, checks)
    by_width = {each.n_rows: each for each in costs.checks}
    for check in checks:
        known = by_width.get(check.n_rows)
        if known is None or known.n_samples <= check.n_samples:
            by_width[check.n_rows] = replace(check, seconds=check.seconds * pace)
    by_length = {each.n_tokens: each for each in costs.drafts}
    for draft in drafts:
        of_run = by_length.get(draft.n_tokens)
        if of_run is None or of_run.n_samples <= draft.n_samples:
            by_length[draft.n_tokens] = replace(draft, seconds=draft.seconds * pace)
    return replace(
        costs,
        checks=tuple(by_width[width] for width in sorted(by_width)),
        drafts=tuple(by_length[length] for length in sorted(by_length)),
    )


def _pace(of_run: Sequence[CheckCost], measured: Sequence[CheckCost]) -> float:
    """Seconds in the run for one that was measured; 1 where no width tells."""
    by_width = {each.n_rows: each.seconds for each in of_run}
    both = [each for each in measured if each.n_rows in by_width]
    seconds = sum(by_width[each.n_rows] for each in both)
    return ratio(seconds, sum(each.seconds for each in both)) or 1.0


def curve(costs: Costs, n_rows_max: int) -> tuple[CurvePoint, ...]:
    """The cost of a check for each width from 1 to `n_rows_max`, where it can be told."""
    met = [each.n_rows for each in costs.checks]
    points = []
    for n_rows in range(1, n_rows_max + 1):
        seconds = costs.check_seconds(n_rows)
        steps = None if seconds is None else ratio(seconds, costs.step_seconds)
        if steps is not None:
            points.append(
                CurvePoint(
                    n_rows=n_rows,
                    steps=steps,
                    is_measured=n_rows in met,
                    is_extrapolated=not met[0] <= n_rows <= met[-1],
                )
            )
    return tuple(points)


# Arithmetic --------------------------------------------------------------------------------------
def _whole(step: StepVerified) -> float:
    return (
        step.draft_seconds
        + step.verify_seconds
        + step.sample_seconds
        + step.restore_seconds
        + step.other_seconds
    )


def _extra(
    alone: Sequence[StepVerified], with_draft: Sequence[StepVerified]
) -> tuple[float, float]:
    """Sampling and bookkeeping of a step with a draft: without its tokens, and for each of them.

    The line through the target's own steps and the mean of those with a draft.
    """
    own = _mean(step.sample_seconds + step.other_seconds for step in alone)
    mean = _mean(step.sample_seconds + step.other_seconds for step in with_draft)
    if not with_draft:
        return own, 0.0
    n_draft = fmean(len(step.draft) for step in with_draft)
    per_token = max(ratio(mean - own, n_draft) or 0.0, 0.0)
    return max(mean - per_token * n_draft, 0.0), per_token


def _by(key: int, values: Iterable[float]) -> dict[int, list[float]]:
    return defaultdict(list, {key: list(values)})


def _well_sampled(groups: Mapping[int, list[float]]) -> list[tuple[int, list[float]]]:
    """Ascending, without the rare ones, which are noise, where the others will do."""
    often = {key: values for key, values in groups.items() if len(values) >= FEWEST_SAMPLES}
    return sorted((often if len(often) > 1 else groups).items())


def _median(values: Iterable[float]) -> float:
    """0 of nothing.

    Decode seconds are a sum, so a mean would be closer to them on a machine that does nothing
    else. But a pass that was held up once can take as long as a hundred others, and what the next
    run will take is told by the usual pass.
    """
    finite = _durations(values)
    return median(finite) if finite else 0.0


def _mean(values: Iterable[float]) -> float:
    """For what happens in some steps only, where a median says nothing; 0 of nothing.

    Leaves out the few that took far longer than nearly all others.
    """
    finite = _durations(values)
    if not finite:
        return 0.0
    nearly_all = finite[math.ceil(0.95 * len(finite)) - 1]
    return fmean(value for value in finite if value <= 3 * nearly_all)


def _durations(values: Iterable[float]) -> list[float]:
    return sorted(value for value in values if math.isfinite(value) and value >= 0)


def _at(points: Sequence[tuple[int, float, int]], x: float) -> float | None:
    """The value at `x` of the line through points (x, value, weight), ascending in x.

    Beyond the last point it rises as a least-squares line does, or stays; below the first it falls
    likewise, at most in proportion to x. A single point: in proportion.
    """
    if not points or x < 1:
        return None
    first_x, first, _ = points[0]
    last_x, last, _ = points[-1]
    if len(points) == 1:
        return _finite(first * (x / first_x))
    if x < first_x:
        fallen = first - _slope(points) * (first_x - x)
        return _finite(max(fallen, first * (x / first_x)))
    if x > last_x:
        return _finite(last + _slope(points) * (x - last_x))
    for (left, low, _), (right, high, _) in pairwise(points):
        if x == left:
            return _finite(low)
        if left < x < right:
            share = (x - left) / (right - left)
            return _finite(low * (1 - share) + high * share)
    return _finite(last)


def _slope(points: Sequence[tuple[int, float, int]]) -> float:
    """Of the weighted least-squares line; 0 where it would fall."""
    weights = [max(weight, 1) for _, _, weight in points]
    total = sum(weights)
    centre = sum(w * x for w, (x, _, _) in zip(weights, points, strict=True)) / total
    height = sum(w * y for w, (_, y, _) in zip(weights, points, strict=True)) / total
    above = sum(
        w * (x - centre) * (y - height) for w, (x, y, _) in zip(weights, points, strict=True)
    )
    below = sum(w * (x - centre) ** 2 for w, (x, _, _) in zip(weights, points, strict=True))
    return max(ratio(above, below) or 0.0, 0.0)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
