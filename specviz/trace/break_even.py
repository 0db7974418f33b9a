"""From which acceptance on a pair pays, and what another draft length would give.

A step with a draft of k tokens costs C(k) target steps (draft, check of k + 1 rows, and the rest)
and yields 1 + r k tokens, where r is the share of its tested tokens that is accepted. The speed-up
is the quotient, (1 + r k) / C(k), and is 1 at r = (C(k) - 1) / k.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.trace.costs import Costs
from specviz.trace.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftShape:
    """How far drafts go and how far they are right, as shares of all steps.

    `proposed[i]`: steps whose draft had more than i tokens. `accepted[i]`: steps that accepted
    more than i.
    """

    n_steps: int
    proposed: tuple[float, ...]
    accepted: tuple[float, ...]


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
    raise NotImplementedError


def step_cost(costs: Costs, n_draft: int) -> float | None:
    """Target steps that a step with a draft of exactly `n_draft` tokens costs: C(k)."""
    raise NotImplementedError


def break_even(costs: Costs, n_draft: int) -> float | None:
    """Accepted ÷ tested at which drafts of `n_draft` tokens neither gain nor lose.

    Above 1: no acceptance is enough. 0 or below: it never loses.
    """
    raise NotImplementedError


def speedup_at(costs: Costs, n_draft: int, acceptance: float) -> float | None:
    """Speed-up of drafts of `n_draft` tokens of which this share is accepted."""
    raise NotImplementedError


def predict(costs: Costs, shape: DraftShape, n_draft: int) -> Prediction | None:
    """What the run of this shape would have come to with `n_draft` draft tokens at most."""
    raise NotImplementedError


def best_draft_length(costs: Costs, shape: DraftShape, longest: int) -> Prediction | None:
    """The best of `predict` for 1 to `longest` draft tokens."""
    raise NotImplementedError
