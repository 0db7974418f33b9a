"""What the margins at a fork, and tokens that came out differently, amount to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.trace.lossless import (
    BatchShape,
    Divergence,
    LosslessCheck,
    Mismatch,
    ShapeMargin,
    finding,
)

WIDTHS = {BatchShape.ONE_ROW: 1, BatchShape.VERIFY_BATCH: 5, BatchShape.PREFILL: 40}


def forked(*margins):
    shapes = zip(WIDTHS.items(), margins, strict=False)
    return LosslessCheck(
        fork=7,
        margins=tuple(
            ShapeMargin(shape=shape, n_rows=n_rows, margin=margin)
            for (shape, n_rows), margin in shapes
        ),
    )


def differing(margin):
    return Mismatch(position=3, recorded=1, found=2, margin=margin)


@pytest.mark.parametrize(
    ("margins", "wanted"),
    [
        ((0.3, -0.2, 0.1), Divergence.NEAR_TIE),
        ((0.3, 0.25, 0.9), Divergence.NEAR_TIE),
        ((-0.3, -0.25, -0.9), Divergence.NEAR_TIE),
        ((0.0, 0.0, 0.0), Divergence.NEAR_TIE),
        ((4.0, -3.0, 4.0), Divergence.NEAR_TIE),
        ((3.1, 3.0, 2.9), Divergence.UNEXPLAINED),
        ((-3.1, -3.0, -2.9), Divergence.UNEXPLAINED),
        ((0.13, 0.13, 0.13), Divergence.UNEXPLAINED),
        ((0.4,), Divergence.NEAR_TIE),
        ((1.6,), Divergence.UNEXPLAINED),
    ],
)
def test_a_fork_is_a_near_tie_where_rounding_moves_the_margin_as_far(margins, wanted):
    assert finding(forked(*margins)) is wanted


def test_nothing_differs_and_nothing_is_known():
    assert finding(LosslessCheck(n_rechecked=90, n_drafts_rechecked=200)) is None
    assert finding(LosslessCheck(fork=7)) is None


@pytest.mark.parametrize("field", ["mismatch", "draft_mismatch"])
def test_a_token_that_fresh_memory_does_not_give(field):
    assert finding(LosslessCheck(**{field: differing(1.2)})) is Divergence.UNEXPLAINED
    assert finding(LosslessCheck(**{field: differing(0.2)})) is Divergence.NEAR_TIE


def test_a_clear_mismatch_outweighs_a_near_tie_at_the_fork():
    margins = forked(0.3, -0.2, 0.1).margins
    check = LosslessCheck(fork=7, margins=margins, mismatch=differing(5.0))
    assert finding(check) is Divergence.UNEXPLAINED


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=3))
def test_exchanging_the_runs_changes_nothing(margins):
    assert finding(forked(*margins)) is finding(forked(*(-margin for margin in margins)))
