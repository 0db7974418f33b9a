"""What the window may do when: states, allowed moves and enabled actions, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where the program stands.

    Examining: costs are measured or an output is checked anew; the runs on show are over.
    """

    EMPTY = "empty"
    READY = "ready"
    LOADING = "loading"
    RUNNING = "running"
    EXAMINING = "examining"
    CANCELLING = "cancelling"
    FAULTED = "faulted"
    CLOSING = "closing"


class Action(StrEnum):
    """What a user may want to do; views enable their controls by these."""

    RUN = "run"
    STOP = "stop"
    CHANGE_MODELS = "change_models"
    CHANGE_SETTINGS = "change_settings"
    OPEN_TRACE = "open_trace"
    EXPORT = "export"
    EDIT_CHAT = "edit_chat"
    EXAMINE = "examine"
    RESTART_ENGINE = "restart_engine"


@dataclass(frozen=True, slots=True)
class Rules:
    """Of one state: where it may lead, and what is enabled in it."""

    moves: frozenset[State]
    actions: frozenset[Action]


def _rules(moves: set[State], actions: set[Action]) -> Rules:
    # the window can be closed from anywhere
    return Rules(frozenset(moves | {State.CLOSING}), frozenset(actions))


_IDLE = {
    Action.CHANGE_MODELS,
    Action.CHANGE_SETTINGS,
    Action.OPEN_TRACE,
    Action.EXPORT,
    Action.EDIT_CHAT,
}

TABLE: dict[State, Rules] = {
    State.EMPTY: _rules({State.READY, State.LOADING, State.FAULTED}, _IDLE),
    State.READY: _rules(
        {State.EMPTY, State.LOADING, State.EXAMINING, State.FAULTED},
        _IDLE | {Action.RUN, Action.EXAMINE},
    ),
    State.LOADING: _rules(
        {State.RUNNING, State.CANCELLING, State.READY, State.EMPTY, State.FAULTED}, {Action.STOP}
    ),
    State.RUNNING: _rules(
        {State.LOADING, State.EXAMINING, State.CANCELLING, State.READY, State.FAULTED},
        {Action.STOP, Action.EXPORT},
    ),
    State.EXAMINING: _rules(
        {State.CANCELLING, State.READY, State.EMPTY, State.FAULTED}, {Action.STOP, Action.EXPORT}
    ),
    State.CANCELLING: _rules({State.READY, State.EMPTY, State.FAULTED}, set()),
    State.FAULTED: _rules(
        {State.READY, State.EMPTY, State.LOADING, State.EXAMINING},
        _IDLE | {Action.RUN, Action.EXAMINE, Action.RESTART_ENGINE},
    ),
    State.CLOSING: _rules(set(), set()),
}


def may_move(before: State, after: State) -> bool:
    """Whether the table allows this move; staying is always allowed."""
    return before is after or after in TABLE[before].moves


def may(state: State, action: Action) -> bool:
    """Whether an action is enabled in a state."""
    return action in TABLE[state].actions
