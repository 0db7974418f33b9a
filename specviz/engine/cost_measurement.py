"""How passes are measured one against the other: which widths, how often, in which order.

Knows nothing of models; see measured_passes.py for what is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from specviz.engine.model import Cancellation, Cancelled
from specviz.trace.costs import CheckCost, DraftCost
from specviz.worker.protocol import CostMeasured

DENSE = 9
"""Every width up to this one is measured: common draft lengths, and the kernels' steps."""

SPARSE = (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Of the wider ones these, and the widest."""

BUDGET_SECONDS = 3.0
"""What all rounds together are meant to take."""

FEWEST_ROUNDS, MOST_ROUNDS = 2, 6
"""The first round is a warm-up where there are more than the fewest."""


class Pass(Protocol):
    """Something that takes time, again and again in the same way."""

    def seconds(self) -> float | None:
        """Do it once; what it took, None where it did not come about. Raises Cancelled."""
        ...

    def cost(self, seconds: float, n_samples: int) -> CheckCost | DraftCost:
        """What it comes to."""
        ...


def measured_sizes(longest: int) -> list[int]:
    """Widths (or lengths) from 1 to `longest` that are measured, ascending."""
    sizes = {*range(1, min(DENSE, longest) + 1), longest}
    return sorted(sizes | {size for size in SPARSE if size < longest}) if longest > 0 else []


def n_rounds(first_round_seconds: float, budget_seconds: float = BUDGET_SECONDS) -> int:
    """How often each pass is measured, from what the first round took."""
    if first_round_seconds <= 0:
        return MOST_ROUNDS
    affordable = int(min(budget_seconds / first_round_seconds, MOST_ROUNDS))
    return max(affordable, FEWEST_ROUNDS)


@dataclass(slots=True)
class _Samples:
    measured: Pass
    seconds: list[float]


def measure(
    passes: Sequence[Pass], report: Callable[[CostMeasured], None], cancelled: Cancellation
) -> None:
    """Measure all in turn, round after round, so that a drift of the machine meets all alike.

    Reports the median of each in the last round, and progress before. Raises Cancelled.
    """
    samples = [_Samples(each, []) for each in passes]
    rounds, n_done, round_ = MOST_ROUNDS, 0, 0
    while round_ < rounds:
        for each in samples:
            if cancelled.is_set():
                raise Cancelled
            taken = each.measured.seconds()
            if taken is not None:
                each.seconds.append(taken)
            if round_ == 0 and each is samples[-1]:
                rounds = n_rounds(sum(sum(one.seconds) for one in samples))
            n_done += 1
            last = round_ + 1 == rounds
            cost = _cost(each, rounds) if last else None
            report(
                CostMeasured(
                    check=cost if isinstance(cost, CheckCost) else None,
                    draft=cost if isinstance(cost, DraftCost) else None,
                    n_done=n_done,
                    n_total=rounds * len(samples),
                )
            )
        round_ += 1


def _cost(samples: _Samples, rounds: int) -> CheckCost | DraftCost | None:
    counted = samples.seconds[1:] if rounds > FEWEST_ROUNDS else samples.seconds
    if not counted:
        return None
    return samples.measured.cost(median(counted), len(counted))
