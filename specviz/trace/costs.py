"""What a check of so many rows, and a draft of so many tokens, cost on this machine, in seconds.

Taken from the steps of a run, and from measurements made for the purpose. Knows nothing of
acceptance: see break_even.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.trace.trace import Trace


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
    """Drafting `n_tokens` tokens at once; `seconds` is the median of `n_samples` whole drafts."""

    n_tokens: int
    seconds: float
    n_samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """All that a speculative run's speed depends on beside acceptance.

    `step_seconds`: one whole step of the target alone. `checks` and `drafts` are ascending, one
    entry for each width or length that was met. `extra_seconds`: what a step with a draft takes
    beside pass and draft (sampling, bookkeeping). `restore_seconds`: saving and restoring of such
    a step. `idle_seconds`: what a step without a draft spent on looking for one.
    """

    step_seconds: float
    checks: tuple[CheckCost, ...]
    drafts: tuple[DraftCost, ...] = ()
    extra_seconds: float = 0.0
    restore_seconds: float = 0.0
    idle_seconds: float = 0.0

    def check_seconds(self, n_rows: int) -> float | None:
        """A pass over `n_rows` rows, interpolated between widths that were met."""
        raise NotImplementedError

    def draft_seconds(self, n_tokens: int) -> float | None:
        """A draft of `n_tokens` tokens, interpolated between lengths that were met."""
        raise NotImplementedError


def costs_of(baseline: Trace, speculative: Trace | None) -> Costs | None:
    """The costs that the steps of these runs show; None without a baseline step."""
    raise NotImplementedError


def with_measured(
    costs: Costs, checks: Sequence[CheckCost], drafts: Sequence[DraftCost] = ()
) -> Costs:
    """The same with what was measured for the purpose, which stands for its widths and lengths."""
    raise NotImplementedError
