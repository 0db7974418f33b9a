"""Break-even and the speed-up of other draft lengths: on paper, and against runs of all lengths."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_runs import folded, runs
from support.traces import TraceBuilder, run_config

from specviz.trace import metrics
from specviz.trace.break_even import (
    PREDICTION_NOTE,
    best_draft_length,
    break_even,
    predict,
    shape_of,
    speedup_at,
    step_cost,
)
from specviz.trace.config import DraftSource, RunMode
from specviz.trace.costs import CheckCost, Costs, DraftCost, costs_of, with_measured
from specviz.trace.events import StopReason
from specviz.trace.trace import Trace

COSTS = Costs(
    step_seconds=1.0,
    checks=tuple(CheckCost(n_rows=n, seconds=0.9 + 0.1 * n, n_samples=9) for n in range(1, 10)),
    drafts=tuple(DraftCost(n_tokens=n, seconds=0.1 * n, n_samples=9) for n in range(1, 10)),
    idle_seconds=0.05,
)
"""A check of k + 1 rows costs 1 + 0.1 k steps and k draft tokens 0.1 k: C(k) = 1 + 0.2 k."""


# A made-up text ----------------------------------------------------------------------------------
LONGEST = 8


def baseline(n_tokens: int) -> Trace:
    builder = TraceBuilder(run_config(RunMode.BASELINE))
    return builder.plain(*[" w"] * n_tokens).finish()


def drafted(right: list[bool], n_max: int, max_tokens: int = -1) -> Trace:
    """The run of a text whose tokens a draft is right about or not, with drafts up to `n_max`.

    A step with k draft tokens takes 0.1 + 0.02 k seconds, of which 15 % are the draft.
    """
    builder = TraceBuilder(run_config(n_max=n_max, max_tokens=max_tokens))
    at = 0
    while at < len(right):
        most = n_max if max_tokens < 0 else min(n_max, len(right) - at - 1)
        accepted = 0
        while accepted < most and at + accepted < len(right) and right[at + accepted]:
            accepted += 1
        own = at + accepted < len(right)
        builder.step(
            [" w"] * most,
            accepted,
            " w" if own else None,
            seconds=0.1 + 0.02 * most,
        )
        at += accepted + own
    return builder.finish(StopReason.MAX_TOKENS if max_tokens > 0 else StopReason.STOP_TEXT)


def exact_costs(costs: Costs | None) -> Costs:
    """The costs of such runs, for every width and length."""
    assert costs is not None
    seconds = {k: 0.1 + 0.02 * k for k in range(1, LONGEST + 1)}
    return with_measured(
        costs,
        [CheckCost(n_rows=k + 1, seconds=0.74 * s, n_samples=9) for k, s in seconds.items()],
        [DraftCost(n_tokens=k, seconds=0.15 * s, n_samples=9) for k, s in seconds.items()],
    )


def speedup(one: Trace, other: Trace) -> float:
    rates = metrics.tokens_per_second(one), metrics.tokens_per_second(other)
    assert rates[0] and rates[1]
    return rates[1] / rates[0]


# On paper ----------------------------------------------------------------------------------------
def test_the_formulas_worked_out_on_paper() -> None:
    assert step_cost(COSTS, 4) == pytest.approx(1.8)
    assert break_even(COSTS, 4) == pytest.approx(0.2)
    assert speedup_at(COSTS, 4, 0.2) == pytest.approx(1.0)
    assert speedup_at(COSTS, 4, 1.0) == pytest.approx(5 / 1.8)
    assert speedup_at(COSTS, 4, 0.0) == pytest.approx(1 / 1.8)
    # a length between two, as the mean of copied drafts is
    assert step_cost(COSTS, 2.5) == pytest.approx(1.5)


def test_a_check_that_costs_as_many_steps_as_rows_never_pays() -> None:
    checks = tuple(CheckCost(n_rows=n, seconds=float(n), n_samples=9) for n in range(1, 6))
    dear = Costs(step_seconds=1.0, checks=checks, drafts=COSTS.drafts)
    needed = break_even(dear, 4)
    assert needed is not None
    assert needed > 1


def test_undefined_where_the_costs_do_not_tell() -> None:
    nothing = Costs(step_seconds=0.0, checks=COSTS.checks, drafts=COSTS.drafts)
    without_draft = Costs(step_seconds=1.0, checks=COSTS.checks)
    for costs in (nothing, without_draft):
        assert step_cost(costs, 4) is None
        assert break_even(costs, 4) is None
        assert speedup_at(costs, 4, 0.5) is None
    assert break_even(COSTS, 0) is None
    shape = shape_of(drafted([True, False, True], 2))
    assert shape is not None
    assert predict(without_draft, shape, 2) is None
    assert predict(COSTS, shape, 0) is None


def test_a_run_that_drafted_nothing_predicts_nothing() -> None:
    shape = shape_of(TraceBuilder().plain(" a", " b").finish())
    assert shape is not None
    assert shape.mean_draft_length is None
    assert shape.acceptance is None
    assert predict(COSTS, shape, 3) is None
    assert best_draft_length(COSTS, shape, 8) is None
    assert shape_of(TraceBuilder().finish()) is None


def test_a_shorter_draft_worked_out_on_paper() -> None:
    # given drafts of 4 over a text of which they have right, right, right, wrong, right, wrong
    shape = shape_of(drafted([True, True, True, False, True, False], 4))
    assert shape is not None
    assert shape.proposed == (1, 1, 1, 1)
    assert shape.accepted == (1, 0.5, 0.5, 0)
    assert shape.acceptance == pytest.approx(4 / 8)
    # when drafts have 1 token: R+own, R+own, R+own -> three steps of 2 tokens
    one = predict(COSTS, shape, 1)
    assert one is not None
    assert one.tokens_per_step == pytest.approx(2.0)
    assert one.acceptance == pytest.approx(1.0)
    assert one.step_cost == pytest.approx(1.2)
    assert one.speedup == pytest.approx(2 / 1.2)
    # with 2: RR+own (the third R), W, R W -> 3 + 1 + 2 tokens in three steps, 3 of 6 accepted
    two = predict(COSTS, shape, 2)
    assert two is not None
    assert two.tokens_per_step == pytest.approx(2.0)
    assert two.acceptance == pytest.approx(3 / 6)
    assert two.speedup == pytest.approx(2 / 1.4)
    assert not two.extrapolated
    # with 3 as with 4: RRR+W, R+W, three tokens a step; so the best is 3, with 3 / 1.6
    best = best_draft_length(COSTS, shape, 4)
    assert best is not None
    assert best.n_draft == 3
    assert best.speedup == pytest.approx(3 / 1.6)


def test_a_draft_that_ends_by_itself_keeps_its_end() -> None:
    # n_max is 4: both drafts ended behind 2 tokens, so longer limits change nothing
    builder = TraceBuilder(run_config(n_max=4))
    trace = builder.step([" a", " b"], 2, " c").step([" d", " e"], 1, " f").finish()
    shape = shape_of(trace)
    assert shape is not None
    four, eight = predict(COSTS, shape, 4), predict(COSTS, shape, 8)
    assert four is not None and eight is not None
    # 3 tokens of drafting are paid for by drafts of 2: 0.3 + 1.2 steps
    assert four.step_cost == pytest.approx(1.5)
    assert four.speedup == pytest.approx(2.5 / 1.5)
    assert (eight.speedup, eight.tokens_per_step) == (four.speedup, four.tokens_per_step)
    assert (four.extrapolated, eight.extrapolated) == (False, True)


def test_steps_without_a_draft_cost_a_step_and_the_search() -> None:
    builder = TraceBuilder(run_config(sources=[DraftSource.NGRAM_MOD]))
    builder.plain(" a", " b", " c")
    trace = builder.step([" d", " e", " f"], 3, " g", copied_from=0).finish()
    shape = shape_of(trace)
    assert shape is not None
    assert shape.mean_draft_length == pytest.approx(3.0)
    found = predict(COSTS, shape, 12)
    assert found is not None
    # three steps of 1.05 and one of 0.4 (ended by itself, one token more) + 1.3
    assert found.tokens_per_step == pytest.approx(7 / 4)
    assert found.step_cost == pytest.approx((3 * 1.05 + 1.7) / 4)
    assert found.tested_per_step == pytest.approx(3 / 4)


def test_checks_of_widths_never_met_are_told() -> None:
    trace = drafted([True, False] * 10, 4)
    costs, shape = costs_of(baseline(20), trace), shape_of(trace)
    assert costs is not None and shape is not None
    shares = {n: found.guessed_checks for n in (2, 4, 6) if (found := predict(costs, shape, n))}
    assert shares == {2: 1.0, 4: 0.0, 6: 1.0}


# Against runs of all lengths ---------------------------------------------------------------------
TEXTS = st.lists(st.integers(0, LONGEST - 1), min_size=1, max_size=30).map(
    lambda runs: [right for n in runs for right in [True] * n + [False]]
)
"""Texts on which a draft is never right for `LONGEST` tokens in a row."""


@given(TEXTS, st.integers(1, LONGEST), st.booleans())
def test_from_the_longest_drafts_every_shorter_length_is_exact(
    right: list[bool], n_draft: int, budgeted: bool
) -> None:
    # given the run with the longest drafts, and the one with drafts of `n_draft`
    max_tokens = len(right) if budgeted else -1
    longest, real = drafted(right, LONGEST, max_tokens), drafted(right, n_draft, max_tokens)
    alone = baseline(len(right))
    shape = shape_of(longest)
    assert shape is not None
    # when the latter is predicted from the former
    found = predict(exact_costs(costs_of(alone, longest)), shape, n_draft)
    # then its counts and its speed are those of the real run
    if not longest.counts.tested:
        assert found is None
        return
    assert found is not None
    assert found.tokens_per_step == pytest.approx(len(right) / len(real.steps))
    assert found.tested_per_step == pytest.approx(real.counts.tested / len(real.steps))
    assert found.acceptance == pytest.approx(metrics.acceptance_rate(real))
    assert found.speedup == pytest.approx(speedup(alone, real))


@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(1, LONGEST))
def test_a_run_predicts_itself(right: list[bool], n_draft: int) -> None:
    run, alone = drafted(right, n_draft), baseline(len(right))
    costs, shape = costs_of(alone, run), shape_of(run)
    assert costs is not None and shape is not None
    found = predict(costs, shape, n_draft)
    assert found is not None
    assert found.speedup == pytest.approx(speedup(alone, run))
    assert found.acceptance == pytest.approx(shape.acceptance)
    assert (found.extrapolated, found.guessed_checks) == (False, 0)


def test_longer_drafts_go_on_at_the_rate_they_had() -> None:
    # right three times of four, always: drafts of 2 tell it of longer ones within a tenth
    right = [(17 * i * i + i) % 8 > 1 for i in range(800)]
    short, long_ = drafted(right, 2), drafted(right, 6)
    shape = shape_of(short)
    assert shape is not None
    found = predict(exact_costs(costs_of(baseline(800), short)), shape, 6)
    assert found is not None
    assert found.extrapolated
    assert found.tokens_per_step == pytest.approx(800 / len(long_.steps), rel=0.1)


@given(runs(closed=True), runs(), st.integers(0, 40))
def test_no_trace_yields_a_prediction_that_is_no_number(
    one: list, other: list, n_draft: int
) -> None:
    costs, shape = costs_of(folded(one), folded(other)), shape_of(folded(other))
    if costs is None or shape is None:
        return
    found = predict(costs, shape, n_draft)
    if found is None:
        return
    assert found.acceptance is None or -1e-9 <= found.acceptance <= 1 + 1e-9
    values = (found.tokens_per_step, found.step_cost, found.speedup, found.tested_per_step)
    assert all(math.isfinite(value) and value >= 0 for value in values)
    assert 0 <= found.guessed_checks <= 1 + 1e-9
    assert found.tokens_per_step <= n_draft + 1 + 1e-9
    assert found.tested_per_step <= n_draft + 1e-9


def test_the_note_is_one_paragraph_in_plain_words() -> None:
    assert PREDICTION_NOTE.endswith(".")
    assert "\n" not in PREDICTION_NOTE
