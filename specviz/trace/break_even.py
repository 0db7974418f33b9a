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

from dataclasses import dataclass

from specviz.trace.costs import Costs
from specviz.trace.draft_path import DraftPath, longest_of, path_of, walk
from specviz.trace.metrics import ratio
from specviz.trace.trace import Trace

PREDICTION_NOTE = (
    "With measured costs, a prediction usually lies within 10\u202f% of what another draft length "
    "really reaches; with a minimum probability of 0 it was off by up to 13\u202f% in tests. "
    "Without measured costs it can be off by half and more where checks of that length have a "
    "width that this run never met. Beyond the longest draft of this run it goes by how the drafts "
    "went so far."
)
"""How good `predict` is, as the window says it; tests/benchmarks/draft_length_prediction.py."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftShape:
    """How far drafts go and how far they are right, as shares of all steps.

    `proposed[i]`: steps whose draft had more than i tokens. `accepted[i]`: steps that accepted
    more than i. `longest`: the longest draft that the settings allowed.
    """

    n_steps: int
    proposed: tuple[float, ...]
    accepted: tuple[float, ...]
    longest: int
    path: DraftPath

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

    `acceptance` is accepted ÷ tested, `tested_per_step` takes in steps without a draft.
    `step_cost` is in target steps. `extrapolated`: it goes beyond the positions or widths that
    were measured. `guessed_checks`: share of its steps whose check has a width that was never met,
    so that its cost is read off its neighbours'.
    """

    n_draft: int
    acceptance: float | None
    tokens_per_step: float
    step_cost: float
    speedup: float
    extrapolated: bool = False
    tested_per_step: float = 0.0
    guessed_checks: float = 0.0


def shape_of(speculative: Trace) -> DraftShape | None:
    """How far the drafts of a run went; None without a step."""
    counts, n_steps = speculative.counts, len(speculative.steps)
    if not n_steps:
        return None
    return DraftShape(
        n_steps=n_steps,
        proposed=tuple(n / n_steps for n in counts.tested_by_position),
        accepted=tuple(n / n_steps for n in counts.accepted_by_position),
        longest=longest_of(speculative),
        path=path_of(speculative),
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

    Its text is gone through again with drafts of that length (see draft_path.py). The speed-up is
    the tokens ÷ the sum of C(k) over the steps that this takes; a step without a draft costs one
    target step and the search for a draft.

    Cutting the recorded drafts would not do: where a draft is right for long, shorter drafts make
    more steps of the same text, so that right drafts weigh more. None where nothing was drafted,
    or the costs do not tell.
    """
    if n_draft < 1 or not shape.proposed or not shape.proposed[0]:
        return None
    found = walk(shape.path, n_draft)
    n_steps, met = found.n_steps, {each.n_rows for each in costs.checks}
    total = guessed = 0.0
    for (n, ended), steps in found.steps.items():
        cost = _cost(costs, n, n + ended) if n else _cost_without_draft(costs)
        if cost is None:
            return None
        total += steps * cost
        guessed += steps * (n + 1 not in met)
    speedup, mean_cost = ratio(found.n_tokens, total), ratio(total, n_steps)
    if speedup is None or mean_cost is None:
        return None
    widest = max(n + 1 for n, _ in found.steps)
    return Prediction(
        n_draft=n_draft,
        acceptance=ratio(found.n_accepted, found.n_tested),
        tokens_per_step=found.n_tokens / n_steps,
        step_cost=mean_cost,
        speedup=speedup,
        extrapolated=n_draft > shape.longest or widest > max(met, default=0),
        tested_per_step=found.n_tested / n_steps,
        guessed_checks=guessed / n_steps,
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
    extra = costs.extra_seconds + n_draft * costs.extra_seconds_per_token
    seconds = draft + check + extra + costs.restore_seconds
    return ratio(seconds, costs.step_seconds)


def _cost_without_draft(costs: Costs) -> float | None:
    return ratio(costs.step_seconds + costs.idle_seconds, costs.step_seconds)
