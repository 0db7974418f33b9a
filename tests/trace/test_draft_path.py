"""What drafts knew of a text, and the steps that another draft length makes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_runs import folded, runs
from support.traces import TraceBuilder, run_config

from specviz.trace.config import DraftSource
from specviz.trace.draft_path import (
    DraftPath,
    Guess,
    Place,
    ended_by_themselves,
    longest_of,
    path_of,
    walk,
)
from specviz.trace.events import StopReason

RIGHT, UNKNOWN, NOTHING = Place(Guess.RIGHT), Place(Guess.UNKNOWN), Place(Guess.NOTHING)


def wrong(n_off: int, ended: bool = False) -> Place:
    return Place(Guess.WRONG, n_off, ended)


def test_each_token_is_what_the_draft_said_of_it() -> None:
    # given, at 3 draft tokens at most: two right and one wrong; a whole draft and the bonus;
    # a draft that ended by itself behind one; no draft; one cut short by the end of the answer
    builder = TraceBuilder(run_config(n_max=3))
    builder.step([" a", " b", " x"], 2, " c")
    builder.step([" d", " e", " f"], 3, " g")
    builder.step([" h"], 1, " i")
    builder.step([" x"], 0, " j")
    builder.step(target=" k")
    trace = builder.step([" l", " m", " n"], 1, None, end=" end").finish()
    # when its path is read, then every token, the end token too, has its place
    assert path_of(trace).places == (
        *(RIGHT, RIGHT, wrong(1)),
        *(RIGHT, RIGHT, RIGHT, UNKNOWN),
        *(RIGHT, NOTHING),
        wrong(1, ended=True),
        NOTHING,
        *(RIGHT, wrong(2)),
    )


def test_a_draft_behind_the_end_of_the_answer_is_kept_in_mind() -> None:
    trace = TraceBuilder(run_config(n_max=3)).step([" a", " b", " c"], 1).finish()
    path = path_of(trace)
    assert path.places == (RIGHT,)
    assert path.n_off_end == 2
    found = walk(path, 2)
    assert (found.n_tokens, found.n_accepted, found.n_tested) == (1, 1, 2)


def test_a_limit_is_no_end_of_its_own() -> None:
    # 6 tokens in all: the second draft has room for two, the third for none
    builder = TraceBuilder(run_config(n_max=3, max_tokens=6))
    builder.step([" a", " b", " x"], 2, " c").step([" d", " x"], 1, " e").step(target=" f")
    trace = builder.finish(StopReason.MAX_TOKENS)
    assert ended_by_themselves(trace) == [False, False, False]
    assert path_of(trace).is_budgeted


def test_each_source_has_a_limit_of_its_own() -> None:
    # ngram-mod copies up to 12 tokens by default, the model drafts 3
    sources = (DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE)
    builder = TraceBuilder(run_config(n_max=3, sources=sources))
    builder.step([" a", " b", " c"], 3, " d", drafter=DraftSource.DRAFT_SIMPLE)
    builder.step([" a", " b", " c"], 3, " d", drafter=DraftSource.NGRAM_MOD)
    trace = builder.finish()
    assert ended_by_themselves(trace) == [False, True]
    assert longest_of(trace) == 12


def test_drafts_longer_than_the_settings_allow_set_the_limit_themselves() -> None:
    builder = TraceBuilder(run_config(n_max=2))
    trace = builder.step([" a"] * 4, 4, " b").step([" a"] * 3, 3, " b").finish()
    assert ended_by_themselves(trace) == [False, True]
    assert longest_of(trace) == 4


def test_an_unknown_place_is_as_likely_right_as_places_behind_an_accepted_token() -> None:
    # behind an accepted token: right, right, unknown; right, wrong -> right three times of four
    places = (RIGHT, RIGHT, RIGHT, UNKNOWN, RIGHT, RIGHT, wrong(1))
    found = walk(DraftPath(places=places), 6)
    # the first draft goes on behind the unknown place with 3/4, and is cut at its 6 tokens
    assert found.steps[(6, False)] == pytest.approx(0.75 + 0.25 + 0.25)
    assert found.n_steps == pytest.approx(1 + 0.25)
    assert found.n_tokens == 7


def test_a_wrong_draft_goes_on_until_it_ends_or_is_cut() -> None:
    # drafts go on with one half: of the wrong draft of 1 token, cut, half stay at 1
    path = DraftPath(places=(wrong(1),), going_on=0.5)
    assert walk(path, 3).steps == {(1, True): 0.5, (2, True): 0.25, (3, False): 0.25}
    assert walk(path, 1).steps == {(1, False): 1.0}
    ended = DraftPath(places=(wrong(1, ended=True),), going_on=0.5)
    assert walk(ended, 3).steps == {(1, True): 1.0}


def test_how_often_drafts_go_on_is_counted_behind_the_first_token() -> None:
    # lengths 3 (the limit), 1 and 2: three further tokens, ended twice -> 3 of 5
    builder = TraceBuilder(run_config(n_max=3))
    builder.step([" a", " b", " c"], 3, " d").step([" a"], 1, " b").step([" a", " b"], 2, " c")
    assert path_of(builder.finish()).going_on == pytest.approx(3 / 5)
    # at one token at most nothing tells of a second: a draft in two of three steps
    builder = TraceBuilder(run_config(n_max=1))
    builder.step([" a"], 1, " b").step([" a"], 0, " b").step(target=" c")
    assert path_of(builder.finish()).going_on == pytest.approx(2 / 3)


@given(runs(closed=True), st.integers(1, 30))
def test_all_tokens_are_walked_and_none_twice(events: list, n_draft: int) -> None:
    trace = folded(events)
    path = path_of(trace)
    found = walk(path, n_draft)
    ends = sum(step.end_token is not None for step in trace.steps)
    assert len(trace.tokens) <= found.n_tokens <= len(trace.tokens) + ends
    assert all(0 <= n <= n_draft for n, _ in found.steps)
    assert -1e-9 <= found.n_accepted <= found.n_tested + 1e-9
    assert found.n_steps <= found.n_tokens + 1e-9
    # nothing is lost on the way: each token was accepted, or is the own one of a step
    assert found.n_accepted + found.n_steps >= found.n_tokens - 1e-9
