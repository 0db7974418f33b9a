"""What checks and drafts cost, from the steps of runs: by hand, and for any durations."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_runs import folded, runs
from support.traces import TraceBuilder, run_config

from specviz.trace.config import DraftSource, RunMode
from specviz.trace.costs import (
    CheckCost,
    Costs,
    DraftCost,
    costs_of,
    curve,
    with_measured,
)
from specviz.trace.trace import Trace


def baseline(*seconds: float) -> Trace:
    """Steps of these lengths; 89 % of each is the pass, 11 % sampling and the rest."""
    builder = TraceBuilder(run_config(RunMode.BASELINE))
    for i, each in enumerate(seconds or (0.1,) * 5):
        builder.step(target=f" w{i}", seconds=each)
    return builder.finish()


def checks(*points: tuple[int, float], n_samples: int = 9) -> tuple[CheckCost, ...]:
    return tuple(CheckCost(n_rows=n, seconds=s, n_samples=n_samples) for n, s in points)


def drafts(*points: tuple[int, float]) -> tuple[DraftCost, ...]:
    return tuple(DraftCost(n_tokens=n, seconds=s, n_samples=9) for n, s in points)


# From steps --------------------------------------------------------------------------------------
def test_costs_worked_out_on_paper() -> None:
    # given a baseline of 0.1 s steps: 0.089 s of pass, 0.011 s of sampling and the rest
    # and drafts of 3 in steps of 0.2 s: draft 0.03, pass 0.2 - 0.03 - 0.022 = 0.148, rest 0.022
    builder = TraceBuilder(run_config(n_max=3))
    for _ in range(4):
        builder.step([" a", " b", " c"], 1, " d", seconds=0.2)
    speculative = builder.step(target=" e", seconds=0.1).finish()
    # when the costs are taken
    costs = costs_of(baseline(), speculative)
    # then they are these
    assert costs is not None
    assert costs.step_seconds == pytest.approx(0.1)
    assert [(each.n_rows, each.n_samples) for each in costs.checks] == [(1, 6), (4, 4)]
    assert [each.seconds for each in costs.checks] == pytest.approx([0.089, 0.148])
    assert [(each.n_tokens, each.n_samples) for each in costs.drafts] == [(3, 4)]
    assert costs.drafts[0].seconds == pytest.approx(0.03)
    # 0.011 s without a draft token, 0.022 s with three
    assert costs.extra_seconds == pytest.approx(0.011)
    assert costs.extra_seconds_per_token == pytest.approx(0.011 / 3)
    assert costs.restore_seconds == 0
    assert costs.idle_seconds == 0


def test_saving_and_restoring_count_where_they_are_rare_too() -> None:
    # nine steps of ten restore nothing; the tenth takes 0.1 s for it
    builder = TraceBuilder(run_config(n_max=2))
    for i in range(20):
        builder.step([" a", " b"], 1, " c", restore_share=0.5 if i % 10 == 0 else 0.0, seconds=0.2)
    costs = costs_of(baseline(), builder.finish())
    assert costs is not None
    assert costs.restore_seconds == pytest.approx(0.01)


def test_one_pass_that_was_held_up_changes_little() -> None:
    builder = TraceBuilder(run_config(n_max=2))
    for i in range(40):
        builder.step([" a", " b"], 1, " c", seconds=60.0 if i == 7 else 0.2)
    speculative = builder.finish()
    costs = costs_of(baseline(0.1, 0.1, 30.0, 0.1, 0.1), speculative)
    assert costs is not None
    assert costs.step_seconds == pytest.approx(0.1)
    assert costs.check_seconds(3) == pytest.approx(0.2 * (1 - 0.15 - 0.04 - 0.07))
    assert costs.extra_seconds + 2 * costs.extra_seconds_per_token == pytest.approx(0.022)


def test_a_draft_that_ended_by_itself_counts_as_one_token_more() -> None:
    # n_max is 3: of the drafts of 2, a third token was looked at and found too improbable
    builder = TraceBuilder(run_config(n_max=3))
    for _ in range(3):
        builder.step([" a", " b"], 2, " c").step([" a", " b", " c"], 3, " d")
    costs = costs_of(baseline(), builder.finish())
    assert costs is not None
    assert [each.n_tokens for each in costs.drafts] == [3]
    assert [each.n_rows for each in costs.checks] == [1, 3, 4]


def test_a_draft_cut_by_the_token_limit_did_not_end_by_itself() -> None:
    # 12 tokens in all: the last draft has room for 2
    builder = TraceBuilder(run_config(n_max=3, max_tokens=11))
    builder.step([" a", " b", " c"], 3, " d").step([" a", " b", " c"], 3, " d")
    costs = costs_of(baseline(), builder.step([" a", " b"], 2, " c").finish())
    assert costs is not None
    assert [each.n_tokens for each in costs.drafts] == [2, 3]


def test_widths_met_once_are_left_out_where_others_were_met_often() -> None:
    builder = TraceBuilder(run_config(n_max=3))
    builder.step([" a"], 0, " b", seconds=5.0)
    often = builder.trace
    costs = costs_of(baseline(), often)
    assert costs is not None
    assert [each.n_rows for each in costs.checks] == [1, 2]
    for _ in range(3):
        builder.step([" a", " b", " c"], 1, " d")
    costs = costs_of(baseline(), builder.finish())
    assert costs is not None
    assert [each.n_rows for each in costs.checks] == [1, 4]


def test_looking_in_vain_is_the_cost_of_a_step_without_a_draft() -> None:
    # the builder books no drafting for a step without a draft, so a restore stands for it
    builder = TraceBuilder(run_config(sources=[DraftSource.NGRAM_MOD]))
    for _ in range(4):
        builder.step(target=" a", seconds=0.2, restore_share=0.25)
    costs = costs_of(baseline(), builder.finish())
    assert costs is not None
    assert costs.idle_seconds == pytest.approx(0.05)
    assert costs.drafts == ()


def test_without_a_baseline_step_there_are_no_costs() -> None:
    assert costs_of(TraceBuilder(run_config(RunMode.BASELINE)).finish(), None) is None
    alone = costs_of(baseline(), None)
    assert alone is not None
    assert [each.n_rows for each in alone.checks] == [1]
    assert alone.check_seconds(2) is None
    assert alone.draft_seconds(1) is None


# Between and beyond ------------------------------------------------------------------------------
def test_between_two_widths_a_check_lies_on_their_line() -> None:
    costs = Costs(step_seconds=1.0, checks=checks((1, 1.0), (2, 2.0), (6, 3.0)))
    assert costs.check_seconds(4) == pytest.approx(2.5)
    assert costs.check_seconds(1.5) == pytest.approx(1.5)
    assert costs.check_seconds(0) is None


def test_beyond_the_widest_a_check_goes_on_along_a_line_but_never_falls() -> None:
    rising = Costs(step_seconds=1.0, checks=checks((1, 1.0), (2, 1.5), (3, 2.0)))
    assert rising.check_seconds(5) == pytest.approx(3.0)
    falling = Costs(step_seconds=1.0, checks=checks((1, 2.0), (3, 1.0)))
    assert falling.check_seconds(9) == pytest.approx(1.0)


def test_of_a_single_length_each_token_costs_the_same() -> None:
    costs = Costs(step_seconds=1.0, checks=(), drafts=drafts((4, 0.8)))
    assert costs.draft_seconds(2) == pytest.approx(0.4)
    assert costs.draft_seconds(8) == pytest.approx(1.6)


def test_below_the_shortest_a_draft_costs_no_less_than_its_share() -> None:
    # the line falls to 0.1 at one token, a quarter of 1.0 is more
    costs = Costs(step_seconds=1.0, checks=(), drafts=drafts((4, 1.0), (5, 1.3)))
    assert costs.draft_seconds(1) == pytest.approx(0.25)
    assert costs.draft_seconds(3) == pytest.approx(0.75)


def test_what_was_measured_fills_in_what_a_run_has_not_met_more_often() -> None:
    # given a run with 9 samples of each, and 5 of some widths, 20 of another
    costs = Costs(step_seconds=1.0, checks=checks((1, 1.0), (4, 2.0)), drafts=drafts((3, 0.3)))
    measured = checks((1, 0.8), (2, 1.9), n_samples=5) + checks((4, 2.2), n_samples=20)
    # when they are put together
    filled = with_measured(costs, measured, drafts((1, 0.1), (3, 0.4)))
    # then more samples stand for a width, and of equals what was measured
    assert [each.n_rows for each in filled.checks] == [1, 2, 4]
    assert [each.seconds for each in filled.checks] == pytest.approx([1.0, 1.9, 2.2])
    assert [each.n_tokens for each in filled.drafts] == [1, 3]
    assert [each.seconds for each in filled.drafts] == pytest.approx([0.1, 0.4])


def test_measured_while_the_machine_was_slow_changes_nothing() -> None:
    # 1 and 4 rows took 3 s in the run and 6 s when measured, so half of the seconds are meant
    costs = Costs(step_seconds=1.0, checks=checks((1, 1.0), (4, 2.0)))
    slow = checks((1, 2.0), (2, 3.0), (4, 4.0), n_samples=5)
    filled = with_measured(costs, slow, drafts((3, 0.6)))
    assert [each.seconds for each in filled.checks] == pytest.approx([1.0, 1.5, 2.0])
    assert filled.drafts[0].seconds == pytest.approx(0.3)
    # without a width in common, and without any time, the seconds are taken as they are
    alone = Costs(step_seconds=1.0, checks=())
    assert with_measured(alone, slow).checks == slow
    timeless = checks((1, 0.0), (2, 0.0))
    assert with_measured(Costs(step_seconds=1.0, checks=timeless), slow[:2]).checks[0].seconds == 0


def test_the_curve_tells_measured_from_read_off() -> None:
    costs = Costs(step_seconds=0.5, checks=checks((1, 0.5), (3, 1.0)))
    points = curve(costs, 4)
    assert [(point.n_rows, point.is_measured, point.is_extrapolated) for point in points] == [
        (1, True, False),
        (2, False, False),
        (3, True, False),
        (4, False, True),
    ]
    assert [point.steps for point in points] == pytest.approx([1.0, 1.5, 2.0, 2.5])
    assert curve(Costs(step_seconds=0.0, checks=costs.checks), 4) == ()
    assert [
        point.n_rows for point in curve(Costs(step_seconds=1.0, checks=checks((1, 1.0))), 4)
    ] == [1]


# For any durations -------------------------------------------------------------------------------
SECONDS = st.floats(0, 1e9)
POINTS = st.dictionaries(st.integers(1, 600), st.tuples(SECONDS, st.integers(0, 10**6)), min_size=1)


@given(POINTS, st.floats(0, 10_000))
def test_a_check_costs_a_finite_time_within_the_bounds_of_its_neighbours(
    points: dict[int, tuple[float, int]], n_rows: float
) -> None:
    met = tuple(
        CheckCost(n_rows=n, seconds=seconds, n_samples=weight)
        for n, (seconds, weight) in sorted(points.items())
    )
    costs = Costs(step_seconds=1.0, checks=met)
    for each in met:
        assert costs.check_seconds(each.n_rows) == each.seconds
    found = costs.check_seconds(n_rows)
    if n_rows < 1:
        assert found is None
        return
    if found is None:
        assert len(met) == 1
        return
    assert math.isfinite(found) and found >= 0
    below = [each.seconds for each in met if each.n_rows <= n_rows]
    above = [each.seconds for each in met if each.n_rows >= n_rows]
    if below and above:
        low, high = sorted((below[-1], above[0]))
        assert low <= found <= high or found == pytest.approx(low) or found == pytest.approx(high)
    elif below:
        assert found >= below[-1]
    else:
        assert found <= above[0]


@given(runs(closed=True), runs())
def test_no_trace_yields_a_cost_that_is_no_number(one: list, other: list) -> None:
    costs = costs_of(folded(one), folded(other))
    if costs is None:
        return
    single = (
        costs.step_seconds,
        costs.extra_seconds,
        costs.extra_seconds_per_token,
        costs.restore_seconds,
        costs.idle_seconds,
        *(each.seconds for each in (*costs.checks, *costs.drafts)),
        *(point.steps for point in curve(costs, 20)),
    )
    assert all(math.isfinite(value) and value >= 0 for value in single)
    assert list(costs.checks) == sorted(costs.checks, key=lambda each: each.n_rows)
    assert list(costs.drafts) == sorted(costs.drafts, key=lambda each: each.n_tokens)
