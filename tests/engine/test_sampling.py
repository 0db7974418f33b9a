"""Arithmetic on rows of scores, against plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from specviz.engine.sampling import draft_candidate, most_likely, runner_up, token_probability

ROWS = arrays(np.float32, st.integers(2, 60), elements=st.floats(-50, 50, width=32))


def softmax(row):
    shifted = np.exp(row.astype(np.float64) - row.max())
    return shifted / shifted.sum()


@given(ROWS)
def test_token_probability_is_a_softmax_over_all(row):
    expected = softmax(row)
    for token_id in (0, len(row) - 1, int(row.argmax())):
        found, best, total = token_probability(row, token_id, np.empty_like(row))
        assert found == pytest.approx(expected[token_id], rel=1e-4, abs=1e-12)
        assert best == row.max()
        assert np.exp(float(row[token_id]) - best) / total == pytest.approx(found, rel=1e-4)


@given(ROWS)
def test_draft_candidate_is_a_softmax_over_the_ten_best(row):
    best_ten = np.sort(row)[-10:]
    token_id, prob = draft_candidate(row)
    assert token_id == int(row.argmax())
    assert prob == pytest.approx(softmax(best_ten).max(), rel=1e-5)


@given(st.integers(600, 3000), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 20.0]))
def test_the_ten_best_are_found_in_long_rows_too(size, seed, width):
    # whole numbers, so that ties are frequent
    row = np.round(np.random.default_rng(seed).normal(0, width, size)).astype(np.float32)
    token_id, prob = draft_candidate(row)
    assert token_id == int(row.argmax())
    assert prob == pytest.approx(softmax(np.sort(row)[-10:]).max(), rel=1e-5)


@given(ROWS, st.data())
def test_runner_up_is_the_best_other_token_and_leaves_the_row_alone(row, data):
    token_id = data.draw(st.integers(0, len(row) - 1))
    before = row.copy()
    other, margin = runner_up(row, token_id)
    assert other != token_id
    assert row[other] == np.delete(before, token_id).max()
    assert margin == pytest.approx(float(before[token_id]) - float(before[other]))
    assert np.array_equal(row, before)


def test_ties_go_to_the_lowest_id():
    assert most_likely(np.array([1, 3, 3, 2], dtype=np.float32)) == 1


def test_scores_that_are_no_numbers_have_no_probability():
    row = np.full(500, np.nan, dtype=np.float32)
    token_id, prob = draft_candidate(row)
    assert 0 <= token_id < 500
    assert prob == 0.0
