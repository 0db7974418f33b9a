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

NEAR_TIE_LOGITS = 1.0
"""Largest difference between the logits of a one-row and a many-row evaluation seen on quantised
models (0.7 to 1.0): a difference with a smaller margin is explained by rounding."""


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

    `position` counts committed tokens from 0; an end token stands behind the last of them.
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
    that came out differently by more than rounding explains, or else the first at all.
    `n_drafts_rechecked` and `draft_mismatch`: the same of the draft model's tokens (`position`
    counts the committed tokens before the draft, and the draft tokens before this one).
    """

    fork: int | None = None
    margins: tuple[ShapeMargin, ...] = ()
    n_rechecked: int = 0
    mismatch: Mismatch | None = None
    n_drafts_rechecked: int = 0
    draft_mismatch: Mismatch | None = None


def finding(check: LosslessCheck) -> Divergence | None:
    """What a check comes to; None where nothing differs, or where nothing could be evaluated.

    Unexplained: a token or a draft token that fresh memory does not give, by more than
    `NEAR_TIE_LOGITS`. At a fork, with m the margins of the batch shapes: a near-tie if their sign
    differs, or if the smallest |m| is below the spread, max m - min m; else unexplained.
    A rule without a threshold: the spread shows what rounding does to this very decision. A
    single shape has no spread; then |m| up to `NEAR_TIE_LOGITS` is a near-tie.

    Source: teacher forcing on a fresh context, and the comparison of logits between batch shapes,
    as llama.cpp's kernels are chosen by the number of rows (ggml-cpu: `llamafile/sgemm.cpp`,
    `repack.cpp`, flash attention in `ops.cpp`).
    """
    mismatches = [each for each in (check.mismatch, check.draft_mismatch) if each is not None]
    if any(each.margin > NEAR_TIE_LOGITS for each in mismatches):
        return Divergence.UNEXPLAINED
    if check.fork is None or not check.margins:
        return Divergence.NEAR_TIE if mismatches else None
    margins = [each.margin for each in check.margins]
    lowest, highest = min(margins), max(margins)
    if lowest <= 0 <= highest:
        return Divergence.NEAR_TIE
    nearest = min(map(abs, margins))
    explained = nearest < highest - lowest if len(margins) > 1 else nearest <= NEAR_TIE_LOGITS
    return Divergence.NEAR_TIE if explained else Divergence.UNEXPLAINED
