"""From which acceptance on a pair pays, and what another draft length would give.

A step with a draft of k tokens costs C(k) target steps (draft, check of k + 1 rows, and the rest)
and yields 1 + r k tokens, where r is the share of its tested tokens that is accepted. The speed-up
is the quotient, (1 + r k) / C(k), and is 1 at r = (C(k) - 1) / k.

The reasoning is that of Leviathan, Kalman and Matias, "Fast Inference from Transformers via
Speculative Decoding" (2023). Their theorem 3.8 has the speed-up as
(1 - a^(k+1)) / ((1 - a)(k c + 1)): the numerator over 1 - a are the tokens of a step when every
draft token is accepted with the same probability a, and k c + 1 is what it costs when a check of
any width costs one step and a draft token c steps. Here neither is assumed. What a check costs
depends on its width and is measured, and acceptance is counted for each position in the draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.trace.costs import Costs, ended_itself
from specviz.trace.metrics import ratio
from specviz.trace.trace import Trace

PREDICTION_NOTE = (
    "A prediction cuts the drafts of this run to the other length and takes the measured costs; "
    "lengths beyond those that ran are an estimate."
)
"""How good `predict` is, as the window says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftShape:
    """How far drafts go and how far they are right, as shares of all steps.

    `proposed[i]`: steps whose draft had more than i tokens. `accepted[i]`: steps that accepted
    more than i. `ended[i]`: steps whose draft model ended the draft itself behind i tokens, having
    found the next one too improbable.
    """

    n_steps: int
    proposed: tuple[float, ...]
    accepted: tuple[float, ...]
    ended: tuple[float, ...] = ()

    @property
    def mean_draft_length(self) -> float | None:
        """Tested tokens for each step with a draft; None where nothing was drafted."""
        return ratio(sum(self.proposed), self.proposed[0]) if self.proposed else None

    @property
    def acceptance(self) -> float | None:
        """Accepted ÷ tested."""
        return ratio(sum(self.accepted), sum(self.proposed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a draft length of `n_draft` at most comes to.

    `acceptance` is accepted ÷ tested. `step_cost` is in target steps. `extrapolated`: it goes
    beyond the positions or widths that were measured.
    """

    n_draft: int
    acceptance: float | None
    tokens_per_step: float
    step_cost: float
    speedup: float
    extrapolated: bool = False


def shape_of(speculative: Trace) -> DraftShape | None:
    """How far the drafts of a run went; None without a step."""
    counts, n_steps = speculative.counts, len(speculative.steps)
    if not n_steps:
        return None
    ended = [0] * (len(counts.tested_by_position) + 1)
    for index, step in enumerate(speculative.steps):
        ended[len(step.draft)] += ended_itself(speculative, index)
    return DraftShape(
        n_steps=n_steps,
        proposed=tuple(n / n_steps for n in counts.tested_by_position),
        accepted=tuple(n / n_steps for n in counts.accepted_by_position),
        ended=tuple(n / n_steps for n in ended),
    )


def step_cost(costs: Costs, n_draft: float) -> float | None:
    """Target steps that a step with a draft of exactly `n_draft` tokens costs: C(k).

    C(k) = (draft of k + check of k + 1 rows + sampling and the rest + saving and restoring)
    ÷ step of the target alone. None where the costs do not tell.
    """
    return _cost(costs, n_draft, n_draft)


def break_even(costs: Costs, n_draft: float) -> float | None:
    """Accepted ÷ tested at which drafts of `n_draft` tokens neither gain nor lose.

    (C(k) - 1) / k. Above 1: no acceptance is enough. 0 or below: it never loses.
    """
    cost = step_cost(costs, n_draft)
    return None if cost is None else ratio(cost - 1, n_draft)


def speedup_at(costs: Costs, n_draft: float, acceptance: float) -> float | None:
    """Speed-up of drafts of `n_draft` tokens of which this share is accepted: (1 + r k) / C(k)."""
    cost = step_cost(costs, n_draft)
    return None if cost is None else ratio(1 + acceptance * n_draft, cost)


def predict(costs: Costs, shape: DraftShape, n_draft: int) -> Prediction | None:
    """What the run of this shape would have come to with `n_draft` draft tokens at most.

    The recorded drafts are cut to `n_draft` tokens. Of each step, the target's own token and the
    accepted ones that are left make the tokens, and draft, check and the rest the cost; a step
    without a draft costs one target step and the search for a draft. The speed-up is the mean of
    the former ÷ the mean of the latter.

    Beyond the recorded length drafts go on, and are right, at the rate at which they did from one
    position to the next. None where nothing was drafted, or the costs do not tell.
    """
    if n_draft < 1 or not shape.proposed or not shape.proposed[0]:
        return None
    n_known = len(shape.proposed)
    proposed = _continued(shape.proposed, n_draft)
    accepted = [
        min(pair) for pair in zip(_continued(shape.accepted, n_draft), proposed, strict=True)
    ]
    cost = _mean_cost(costs, shape, proposed)
    if cost is None:
        return None
    tokens = 1 + sum(accepted)
    speedup = ratio(tokens, cost)
    if speedup is None:
        return None
    widest = costs.checks[-1].n_rows if costs.checks else 0
    return Prediction(
        n_draft=n_draft,
        acceptance=ratio(sum(accepted), sum(proposed)),
        tokens_per_step=tokens,
        step_cost=cost,
        speedup=speedup,
        extrapolated=n_draft > n_known or n_draft + 1 > widest,
    )


def best_draft_length(costs: Costs, shape: DraftShape, longest: int) -> Prediction | None:
    """The best of `predict` for 1 to `longest` draft tokens; of equals the shortest."""
    found = [
        prediction
        for n_draft in range(1, longest + 1)
        if (prediction := predict(costs, shape, n_draft)) is not None
    ]
    return max(found, key=lambda prediction: prediction.speedup, default=None)


# Arithmetic --------------------------------------------------------------------------------------
def _cost(costs: Costs, n_draft: float, n_evaluated: float) -> float | None:
    """C(k) of a draft that took the work of `n_evaluated` tokens."""
    draft, check = costs.draft_seconds(n_evaluated), costs.check_seconds(n_draft + 1)
    if draft is None or check is None:
        return None
    seconds = draft + check + costs.extra_seconds + costs.restore_seconds
    return ratio(seconds, costs.step_seconds)


def _mean_cost(costs: Costs, shape: DraftShape, proposed: Sequence[float]) -> float | None:
    """Target steps of a step on average, steps without a draft included."""
    idle = ratio(costs.step_seconds + costs.idle_seconds, costs.step_seconds)
    if idle is None:
        return None
    mean = (1 - proposed[0]) * idle
    for n, (share, longer) in enumerate(zip(proposed, [*proposed[1:], 0.0], strict=True), start=1):
        exactly = share - longer
        stops = shape.ended[n] if n < len(shape.ended) else 0.0
        stops = min(stops, exactly) if n < len(proposed) else 0.0
        for part, n_evaluated in ((exactly - stops, n), (stops, n + 1)):
            if part > 0:
                cost = _cost(costs, n, n_evaluated)
                if cost is None:
                    return None
                mean += part * cost
    return mean


def _continued(shares: Sequence[float], n: int) -> list[float]:
    """The first `n`, going on beyond the known ones at their pooled rate of continuing."""
    rate = ratio(sum(shares[1:]), sum(shares[:-1]))
    if rate is None:
        rate = shares[0]
    found = list(shares[:n])
    while len(found) < n:
        found.append(found[-1] * min(rate, 1.0))
    return found
