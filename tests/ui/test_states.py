"""The table of states: every cell, and that no state is a trap."""

from __future__ import annotations

import itertools

import pytest

from specviz.ui.states import TABLE, Action, State, may, may_move


@pytest.mark.parametrize(("before", "after"), list(itertools.product(State, State)))
def test_every_move_is_as_the_table_says(before, after):
    allowed = before is after or after in TABLE[before].moves
    assert may_move(before, after) is allowed


def test_the_window_can_be_closed_from_anywhere_and_stays_closed():
    for state in State:
        assert may_move(state, State.CLOSING)
    assert not [
        state for state in State if state is not State.CLOSING and may_move(State.CLOSING, state)
    ]


def test_every_state_leads_back_to_ready():
    for state in set(State) - {State.CLOSING}:
        reached, frontier = set(), {state}
        while frontier:
            reached |= frontier
            frontier = {after for s in frontier for after in TABLE[s].moves} - reached
        assert State.READY in reached


def test_what_may_be_done_when():
    assert not may(State.EMPTY, Action.RUN)
    assert may(State.READY, Action.RUN) and may(State.FAULTED, Action.RUN)
    for state in (State.LOADING, State.RUNNING, State.EXAMINING):
        assert may(state, Action.STOP)
        assert not may(state, Action.RUN)
        assert not may(state, Action.CHANGE_MODELS)
        assert not may(state, Action.EDIT_CHAT)
    assert may(State.EMPTY, Action.EDIT_CHAT), "a stored conversation can be left behind"
    assert may(State.READY, Action.EXAMINE) and not may(State.RUNNING, Action.EXAMINE)
    assert may(State.EXAMINING, Action.EXPORT), "what is on show is over"
    assert may(State.FAULTED, Action.RESTART_ENGINE)
    assert may(State.FAULTED, Action.EXPORT), "tokens kept after a crash can be exported"
    assert not TABLE[State.CLOSING].actions
