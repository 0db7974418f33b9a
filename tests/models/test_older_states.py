"""How many older states are worth keeping."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specviz.models.memory import MOST_OLDER_STATES, STATE_BUDGET, snapshots_for


def test_models_without_a_recurrent_state_need_none():
    assert snapshots_for(16, 0, 512) == 0


def test_as_many_as_the_draft_is_long():
    assert snapshots_for(3, 1000, 512) == 3


def test_a_large_state_is_kept_less_often():
    assert snapshots_for(16, STATE_BUDGET // 3, 512) == 3
    assert snapshots_for(16, STATE_BUDGET + 1, 512) == 0


@given(st.integers(0, 2000), st.integers(0, 2**40), st.integers(1, 4096))
def test_never_more_than_memory_batch_and_draft_allow(longest, state, n_batch):
    kept = snapshots_for(longest, state, n_batch)
    assert 0 <= kept <= min(longest, MOST_OLDER_STATES)
    assert kept * state <= STATE_BUDGET
    assert kept == 0 or n_batch > kept + 1
