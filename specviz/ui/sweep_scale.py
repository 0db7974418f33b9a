"""The scale of speed-ups in a sweep's chart: from where to where, and which values are named.

Knows no widget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_STEPS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0)
LEAST_SPAN = (0.9, 1.1)
"""Always in sight, so that noise does not look like an effect."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Speed-ups from `low` to `high`; `ticks` are the values that are named, 1.0 among them."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Where a value stands: 0 at the low end, 1 at the high end."""
        return (value - self.low) / (self.high - self.low)


def scale_for(speedups: Iterable[float], n_ticks: int = 5) -> Scale:
    """A scale that holds all of these, 1.0 and some room; about `n_ticks` named values."""
    values = [value for value in speedups if math.isfinite(value)]
    low, high = min(LEAST_SPAN[0], *values, 1.0), max(LEAST_SPAN[1], *values, 1.0)
    step = next((s for s in _STEPS if (high - low) / s <= n_ticks), _STEPS[-1])
    # whole steps from 1.0, so that the baseline is always one of the named values
    first = math.floor((low - 1.0) / step + 1e-9)
    last = math.ceil((high - 1.0) / step - 1e-9)
    every = max(math.ceil((last - first) / (2 * n_ticks)), 1)
    ticks = tuple(round(1.0 + i * step, 4) for i in range(first, last + 1) if i % every == 0)
    margin = 0.06 * (high - low)
    return Scale(low - margin, high + margin, tuple(t for t in ticks if low <= t <= high))
