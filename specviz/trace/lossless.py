"""Whether a speculative run said what the target alone would have said, and what a fork means.

A pass over several rows adds up in another order than a pass over one, so a decision between two
nearly equal candidates can tip. A check evaluates the text up to the fork anew, in several batch
shapes, with memory that no drafting has touched: where the shapes disagree, or where the margin is
smaller than their spread, rounding explains the fork; where all of them prefer the same token by a
clear margin, something else went wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Divergence(StrEnum):
    """What explains the first differing token."""

    NEAR_TIE = "near_tie"
    UNEXPLAINED = "unexplained"


class BatchShape(StrEnum):
    """How the position of a fork was evaluated."""

    ONE_ROW = "one_row"
    VERIFY_BATCH = "verify_batch"
    PREFILL = "prefill"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeMargin:
    """Logit of the baseline's token minus logit of the speculative run's, in one batch shape."""

    shape: BatchShape
    n_rows: int
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A token that the evaluation anew does not give. `margin`: logit of `found` minus `recorded`.

    `position` counts committed tokens from 0.
    """

    position: int
    recorded: int
    found: int
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LosslessCheck:
    """What evaluating the text anew has shown.

    `fork`: position of the first token that differs from the baseline's, None where there is none;
    `margins` are those at the fork. `n_rechecked`: committed tokens that were decided anew in the
    same partition on fresh memory, 0 when only the fork was looked at; `mismatch` is the first
    that came out differently. `n_drafts_rechecked` and `draft_mismatch`: the same of the draft
    tokens (`position` counts the committed tokens before the draft).
    """

    fork: int | None = None
    margins: tuple[ShapeMargin, ...] = ()
    n_rechecked: int = 0
    mismatch: Mismatch | None = None
    n_drafts_rechecked: int = 0
    draft_mismatch: Mismatch | None = None
