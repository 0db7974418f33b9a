"""Numbers worked out by hand, and what is undefined."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.random_runs import folded, runs
from support.traces import TraceBuilder, run_config

from specviz.trace import metrics
from specviz.trace.config import Role, RunMode
from specviz.trace.events import Prefilled, RunEvent, StopReason
from specviz.trace.metrics import WINDOW_SECONDS, WINDOW_STEPS, ThroughputSeries
from specviz.trace.trace import Trace


def worked_example() -> Trace:
    """Prefill 0.3 s. Three steps of 0.1 s: nothing drafted; 2 of 2 and bonus; 1 of 4 and
    recovered, two dropped. Committed 1 + 3 + 2 = 6 in 0.3 s; tested 6, accepted 3."""
    return (
        TraceBuilder()
        .step(target="a")
        .step(["b", "c"], 2, "d")
        .step(["e", "x", "y", "z"], 1, "f", n_dropped=2)
        .finish()
    )


def test_a_run_worked_out_on_paper() -> None:
    trace = worked_example()
    assert trace.counts.committed == 6
    assert (trace.counts.tested, trace.counts.accepted, trace.counts.rejected) == (6, 3, 3)
    assert (trace.counts.dropped, trace.counts.drafted) == (2, 8)
    assert metrics.acceptance_rate(trace) == pytest.approx(3 / 6)
    assert metrics.mean_accepted_length(trace) == pytest.approx(3 / 3)
    assert metrics.tau(trace) == pytest.approx(6 / 3)
    assert metrics.decode_seconds(trace) == pytest.approx(0.3)
    assert metrics.tokens_per_second(trace) == pytest.approx(20.0)
    assert metrics.accepted_by_position(trace) == [1.0, 0.5, 0.0, 0.0]
    assert metrics.prefill_seconds(trace) == pytest.approx(0.3)
    assert metrics.time_to_first_token(trace) == pytest.approx(0.4)


def test_steps_are_counted_by_the_length_of_their_drafts() -> None:
    trace = worked_example()
    assert metrics.drafted_lengths(trace) == [1, 0, 1, 0, 1]
    assert metrics.accepted_lengths(trace) == [1, 1, 1]
    assert metrics.dropped_drafts(trace) == 1
    assert metrics.drafted_lengths(Trace()) == metrics.accepted_lengths(Trace()) == []


def test_accepted_tokens_that_a_stop_text_took_back_are_not_in_a_length() -> None:
    builder = TraceBuilder().step(["a", "b"], 2, "c").step(["d", "e"], 2, "f")
    trace = builder.finish(StopReason.STOP_TEXT, n_committed=4)
    assert metrics.accepted_lengths(trace) == [0, 1, 1]
    assert metrics.drafted_lengths(trace) == [0, 0, 2]


def test_dropped_drafts_do_not_count_in_the_rate() -> None:
    # drafted 2, 2 and 8; the two short drafts fall below the minimum and are dropped
    trace = (
        TraceBuilder()
        .step(target="a", n_dropped=2)
        .step(target="b", n_dropped=2)
        .step(list("cdefghij"), 6, "k")
        .finish()
    )
    counts = trace.counts
    assert (counts.drafted, counts.tested, counts.accepted) == (12, 8, 6)
    assert (counts.rejected, counts.dropped) == (2, 4)
    assert metrics.acceptance_rate(trace) == pytest.approx(0.75)


def test_a_high_rate_of_almost_nothing_shows_in_tau() -> None:
    builder = TraceBuilder()
    for index in range(100):
        if index < 19:
            builder.step(["x"], int(index < 18), "y")
        else:
            builder.step(target="y")
    trace = builder.finish()
    assert metrics.acceptance_rate(trace) == pytest.approx(18 / 19)
    assert metrics.tau(trace) == pytest.approx(1.18)


def test_what_cannot_be_known_is_none_not_zero() -> None:
    fresh, empty = Trace(), TraceBuilder().finish()
    for trace in (fresh, empty):
        assert metrics.tokens_per_second(trace) is None
        assert metrics.acceptance_rate(trace) is None
        assert metrics.mean_accepted_length(trace) is None
        assert metrics.tau(trace) is None
        assert metrics.time_to_first_token(trace) is None
        assert metrics.accepted_by_position(trace) == []
        assert metrics.decode_seconds(trace) == 0.0
    assert metrics.prefill_seconds(fresh) is None


def test_zero_seconds_give_no_rate() -> None:
    assert metrics.tokens_per_second(TraceBuilder().step(target="a", seconds=0.0).finish()) is None


def test_a_baseline_has_no_acceptance_rate() -> None:
    trace = TraceBuilder(run_config(RunMode.BASELINE)).plain("a", "b").finish()
    assert metrics.acceptance_rate(trace) is None
    assert metrics.mean_accepted_length(trace) == 0.0
    assert metrics.tau(trace) == 1.0


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(1, 0, None), (0, 0, None), (1, -1, None), (0, 2, 0.0), (3, 4, 0.75), (5, 5e-324, None)],
)
def test_a_ratio_is_finite_or_undefined(part: float, whole: float, expected: float | None) -> None:
    assert metrics.ratio(part, whole) == expected


def test_prefill_of_both_models_is_counted() -> None:
    builder = TraceBuilder(prefill_seconds=0.3)
    builder.trace.append(
        Prefilled(run_id="run-1", t=0.5, role=Role.DRAFT, n_tokens=11, n_reused=0, seconds=0.2)
    )
    assert metrics.prefill_seconds(builder.trace) == pytest.approx(0.5)


def test_tokens_inside_reasoning_count_like_all_others() -> None:
    builder = TraceBuilder().step(target="<think>")
    builder.plain(*["hm"] * 299).step(target="</think>").plain(*["so"] * 49)
    trace = builder.finish()
    assert trace.counts.committed == 350
    assert metrics.time_to_first_token(trace) == pytest.approx(0.4)
    assert metrics.tokens_per_second(trace) == pytest.approx(10.0)


def test_a_stop_text_takes_tokens_out_of_the_rate_but_not_time() -> None:
    builder = TraceBuilder().plain("a", "b", "c", "END")
    trace = builder.finish(StopReason.STOP_TEXT, n_committed=3)
    assert metrics.tokens_per_second(trace) == pytest.approx(3 / 0.4)


@given(runs())
def test_the_five_times_are_the_decode_time(events: list[RunEvent]) -> None:
    trace = folded(events)
    assert metrics.time_shares(trace).total == pytest.approx(
        metrics.decode_seconds(trace), rel=0.01, abs=1e-9
    )


# Throughput over time ----------------------------------------------------------------------------
@given(runs(max_steps=24))
def test_a_series_grown_step_by_step_is_the_series_of_the_whole(events: list[RunEvent]) -> None:
    trace, grown = Trace(), None
    for event in events:
        trace.append(event)
        grown = grown or ThroughputSeries(trace)
        grown.extend()
    assert grown is not None
    whole = ThroughputSeries(trace)
    assert whole.extend() == len(trace.steps)
    assert (grown.seconds, grown.rates) == (whole.seconds, whole.rates)


def test_a_steady_run_has_a_flat_series() -> None:
    builder = TraceBuilder(run_config(RunMode.BASELINE)).plain(*["a"] * 60, seconds=0.05)
    series = ThroughputSeries(builder.trace)
    assert series.extend() == 60
    assert series.rates == pytest.approx([20.0] * 60)
    assert series.seconds == pytest.approx([0.05 * (i + 1) for i in range(60)])


def test_the_window_forgets_a_slow_beginning() -> None:
    builder = TraceBuilder(run_config(RunMode.BASELINE)).plain(*["a"] * 5, seconds=1.0)
    builder.plain(*["b"] * 100, seconds=0.02)
    series = ThroughputSeries(builder.trace)
    series.extend()
    assert series.rates[4] == pytest.approx(1.0)
    assert series.rates[-1] == pytest.approx(50.0)
    assert WINDOW_SECONDS / 0.02 > WINDOW_STEPS


def test_a_window_covers_enough_steps_of_a_slow_run() -> None:
    builder = TraceBuilder(run_config(RunMode.BASELINE))
    for index in range(40):
        builder.step(target="a", seconds=1.0 if index % 2 else 3.0)
    series = ThroughputSeries(builder.trace)
    series.extend()
    # eight steps of 1 s and 3 s in turn: the comb is gone
    assert series.rates[20:] == pytest.approx([0.5] * 20, rel=0.13)


def test_a_cut_by_a_stop_text_leaves_no_trace_in_the_series() -> None:
    builder = TraceBuilder().plain("a", "b", "c", seconds=0.5)
    series = ThroughputSeries(builder.trace)
    series.extend()
    assert series.rates[-1] == pytest.approx(2.0)
    builder.finish(StopReason.STOP_TEXT, n_committed=1)
    series.extend()
    assert series.rates == pytest.approx([2.0, 1.0, 2 / 3])
