"""What a sweep comes to: per prompt, never as one mean; the best setting; what failed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.sweeps import plan_of, run_at
from support.traces import TraceBuilder

from specviz.sweep.plan import SweepPlan
from specviz.sweep.results import SweepResults, SweepRow
from specviz.trace.comparison import Verdict
from specviz.trace.lossless import Divergence


def measured(
    plan: SweepPlan, speeds: Sequence[Sequence[float]], accepted: int | None = None
) -> SweepResults:
    """Results of one repeat: for each prompt the baseline's speed, then that of each point."""
    results = SweepResults(plan)
    for prompt, (base, *others) in enumerate(speeds):
        add(results, prompt, None, base)
        for point, speed in enumerate(others):
            add(results, prompt, point, speed, accepted=accepted)
    return results


def add(
    results: SweepResults, prompt: int, point: int | None, speed: float, **options: object
) -> None:
    config = results.plan.config(prompt, point)
    results.add(prompt, point, run_at(speed, config, **options))  # type: ignore[arg-type]


def row(results: SweepResults, index: int) -> SweepRow:
    return results.rows()[index]


# The best ----------------------------------------------------------------------------------------
def test_the_known_optimum_is_found_and_the_plain_run_is_there() -> None:
    # given the speeds of the plain run and of 1 to 8 draft tokens, best at 2
    speeds = (44.0, 46.0, 48.5, 46.0, 44.0, 42.0, 38.0, 34.0, 31.0)
    results = measured(plan_of(*range(1, 9), prompts=["Story"]), [speeds])
    best = results.best()
    assert best is not None and best.point is not None
    assert best.point.speculation.n_max == 2
    assert [row.is_best for row in results.rows()] == [False, True, *[False] * 6]
    assert best.speedup == pytest.approx(48.5 / 44)
    baseline = results.baseline_row
    assert baseline.is_baseline and baseline.label == "baseline"
    assert baseline.tokens_per_second == pytest.approx(44)
    assert results.sentence() == "Best is 2 draft tokens: it helps on the prompt, 1.10×."
    results = measured(plan_of(2, 4, prompts=["Story"]), [(44.0, 60.0, 50.0)])
    assert results.sentence() == "Best is 2 draft tokens: it helps on the prompt, 1.36×."


def test_it_helps_on_one_of_two_which_is_not_one_mean() -> None:
    results = measured(plan_of(4), [(38, 68), (38, 29)])
    (only,) = results.rows()
    assert (only.n_helps, only.n_prompts) == (1, 2)
    assert (only.lowest, only.highest) == (pytest.approx(29 / 38), pytest.approx(68 / 38))
    assert [r.verdict for r in only.measured] == [Verdict.FASTER, Verdict.SLOWER]
    assert results.sentence() == (
        "Best is 4 draft tokens: it helps on 1 of 2 prompts, 0.76× to 1.79×."
    )


def test_all_and_both_prompts() -> None:
    two = measured(plan_of(1), [(10, 12), (10, 13)])
    assert "it helps on both prompts, 1.20× to 1.30×." in two.sentence()
    three = measured(plan_of(1, prompts=["A", "B", "C"]), [(10, 12), (10, 13), (10, 12)])
    assert "it helps on all 3 prompts" in three.sentence()


def test_where_none_helps_the_plain_run_is_best() -> None:
    results = measured(plan_of(1, 4), [(50, 48, 30), (50, 51, 20)])
    assert results.best() is None
    assert not any(row.is_best for row in results.rows())
    leading = results.leading()
    assert leading is not None and leading.index == 0
    assert results.sentence() == (
        "No setting helps: none is more than 5\u202f% faster than the baseline on any of the 2 "
        "prompts. The closest is 1 draft token, 0.96× to 1.02×."
    )


def test_a_setting_that_helps_once_and_costs_more_elsewhere_says_so() -> None:
    results = measured(plan_of(8, prompts=["A", "B", "C"]), [(50, 60), (50, 20), (50, 20)])
    assert results.sentence() == (
        "On the whole the baseline is faster. The best setting, 8 draft tokens, helps on 1 of 3 "
        "prompts, 0.40× to 1.20×."
    )


def test_nothing_measured_is_no_number() -> None:
    results = SweepResults(plan_of(1))
    assert results.sentence() == "Nothing has been measured yet."
    (only,) = results.rows()
    assert (only.speedup, only.lowest, only.tokens_per_second, only.acceptance_rate) == (None,) * 4
    assert (only.n_helps, only.n_prompts, only.identical) == (0, 0, None)
    assert not only.complete and results.best() is None and results.leading() is None


def test_rows_of_a_stopped_sweep_are_ranked_by_the_prompts_they_share() -> None:
    # given a second prompt that is easy, and that only the first setting got to
    results = SweepResults(plan_of(1, 2))
    for point, speed in ((None, 10), (0, 12), (1, 13)):
        add(results, 0, point, speed)
    for point, speed in ((None, 10), (0, 30)):
        add(results, 1, point, speed)
    # then it does not win by that one
    best = results.best()
    assert best is not None and best.index == 1
    assert not results.complete
    assert [row.complete for row in results.rows()] == [True, False]


def test_two_tokens_of_one_draft_are_counted_over_prompts() -> None:
    # given 12 steps of two tokens: 11 drafts of two of which one is kept, and one of one, kept
    results = measured(plan_of(2), [(10, 11), (10, 11)], accepted=1)
    (only,) = results.rows()
    assert (only.accepted, only.tested, only.drafted) == (24, 46, 46)
    assert only.acceptance_rate == 24 / 46
    assert only.tokens_per_step == 2
    assert only.tokens_per_second == pytest.approx(11)


def test_what_noise_cannot_tell_from_the_best_is_named() -> None:
    one = measured(plan_of(1, 2, 4, prompts=["A"]), [(10, 12.2, 12.5, 11.2)])
    assert one.sentence().endswith("1.25×. Within 5\u202f% of it, which is noise: 1 draft token.")
    more = measured(plan_of(1, 2, 4, prompts=["A"]), [(10, 12.2, 12.5, 12.4)])
    assert more.sentence().endswith("which is noise: 2 other settings.")
    # one that is no faster than the baseline is none, however close
    flat = measured(plan_of(1, 2, prompts=["A"]), [(10, 10.4, 10.6)])
    assert flat.sentence().endswith("1.06×.")


def test_a_baseline_of_many_speeds_is_a_reason_for_care() -> None:
    steady = measured(plan_of(1), [(10, 12), (14, 15)])
    assert steady.caution() == ""
    busy = measured(plan_of(1), [(10, 12), (26, 27)])
    assert busy.caution().startswith("The baseline is 2.6× as fast on one prompt as on another")
    assert SweepResults(plan_of(1)).caution() == ""


# Repeats -----------------------------------------------------------------------------------------
def test_repeats_give_medians_and_a_spread() -> None:
    results = SweepResults(plan_of(2, prompts=["Story"], n_repeats=3))
    for base, speed in ((10, 11), (10, 14), (20, 12)):
        add(results, 0, None, base)
        add(results, 0, 0, speed)
    result = row(results, 0).results[0]
    assert result is not None
    assert (result.n_runs, result.complete) == (3, True)
    assert result.tokens_per_second == pytest.approx(12)
    assert result.baseline_tokens_per_second == pytest.approx(10)
    assert result.speedup == pytest.approx(1.2)
    assert result.speedup_spread == (pytest.approx(0.6), pytest.approx(1.4))


def test_a_partly_repeated_setting_is_not_complete() -> None:
    results = SweepResults(plan_of(2, prompts=["Story"], n_repeats=2))
    add(results, 0, None, 10)
    add(results, 0, 0, 12)
    result = row(results, 0).results[0]
    assert result is not None and (result.n_runs, result.complete) == (1, False)
    assert result.speedup == pytest.approx(1.2)
    assert not row(results, 0).complete


def test_no_traces_are_kept_once_a_prompt_is_done() -> None:
    import gc

    from specviz.trace.trace import Trace

    results = measured(plan_of(1, 2, n_repeats=1), [(10, 12, 13), (10, 12, 13)])
    gc.collect()
    kept = [held for held in gc.get_objects() if isinstance(held, Trace)]
    mine = [trace for trace in kept if trace.started and trace.started.config.prompt in TEXTS]
    assert results.n_added == 6
    # the last prompt's baseline is still compared with
    assert len(mine) <= 1


TEXTS = ("About Story", "About Code")


# What goes wrong ---------------------------------------------------------------------------------
def test_a_failed_run_is_a_row_with_its_reason() -> None:
    plan = plan_of(1, 2)
    results = SweepResults(plan)
    add(results, 0, None, 10)
    failed = TraceBuilder(plan.config(0, 0)).fail("The engine ran out of memory.", "Use less.")
    results.add(0, 0, failed)
    add(results, 0, 1, 12)
    first, second = results.rows()
    assert results.n_failed == 1
    assert [r.error for r in first.errors] == ["The engine ran out of memory. Use less."]
    assert (first.n_prompts, first.speedup, first.is_best) == (0, None, False)
    assert second.is_best


def test_a_failed_repeat_is_not_paired_with_another_baseline() -> None:
    results = SweepResults(plan_of(2, prompts=["Story"], n_repeats=2))
    add(results, 0, None, 10)
    results.add_error(0, 0, "It failed.")
    add(results, 0, None, 20)
    add(results, 0, 0, 22)
    result = row(results, 0).results[0]
    assert result is not None
    assert result.speedup == pytest.approx(1.1), "held against the baseline of the other repeat"
    assert (result.n_runs, result.error, result.complete) == (1, "It failed.", False)


def test_without_a_baseline_there_is_a_speed_and_no_speed_up() -> None:
    results = SweepResults(plan_of(2, prompts=["Story"]))
    results.add_error(0, None, "It failed.")
    add(results, 0, 0, 12)
    result = row(results, 0).results[0]
    assert result is not None
    assert (result.tokens_per_second, result.speedup) == (pytest.approx(12), None)
    assert result.verdict is Verdict.NOT_MEASURED
    assert results.sentence() == "No speed-up could be measured."
    assert results.baseline_row.errors[0].error == "It failed."


def test_only_failures_are_said_to_be_that() -> None:
    results = SweepResults(plan_of(2, prompts=["Story"]))
    results.add_error(0, None, "It failed.")
    results.add_error(0, 0, "It failed.")
    assert results.sentence() == "No run came to an end."
    assert results.complete and results.n_failed == 2


def test_a_setting_that_never_drafts_shows_no_speed_up_and_loses_to_one_that_helps() -> None:
    plan = plan_of(1, 2, prompts=["Story"])
    results = SweepResults(plan)
    add(results, 0, None, 10)
    results.add(0, 0, TraceBuilder(plan.config(0, 0)).plain(*"abcdefgh", seconds=0.1).finish())
    add(results, 0, 1, 12)
    never, helps = results.rows()
    assert (never.speedup, never.lowest, never.n_helps) == (None, None, 0)
    assert never.measured[0].verdict is Verdict.SPECULATION_NEVER_RAN
    assert helps.is_best


def test_where_nothing_was_drafted_anywhere_it_says_so() -> None:
    plan = plan_of(1, prompts=["Story"])
    results = SweepResults(plan)
    add(results, 0, None, 10)
    results.add(0, 0, TraceBuilder(plan.config(0, 0)).plain(*"abcdefgh", seconds=0.1).finish())
    assert results.sentence().endswith("Where nothing is drafted, the speed is the baseline's.")


def test_a_repeating_output_does_not_decide_what_is_best() -> None:
    plan = plan_of(3, 5, prompts=["Loop", "Story"])
    results = SweepResults(plan)
    loop = {"n_tokens": 60}
    add(results, 0, None, 10, **loop)
    for point in (0, 1):
        builder = TraceBuilder(plan.config(0, point))
        for _ in range(20):
            builder.step([" la"] * 3, 3, " la", seconds=0.04 if point == 0 else 0.2)
        results.add(0, point, builder.finish())
    for point, speed in ((None, 10), (0, 11), (1, 13)):
        add(results, 1, point, speed)
    assert row(results, 0).results[0].verdict is Verdict.OUTPUT_REPEATING  # type: ignore[union-attr]
    best = results.best()
    assert best is not None and best.index == 1


def test_a_fork_is_told() -> None:
    results = SweepResults(plan_of(2, prompts=["Story"]))
    add(results, 0, None, 10)
    add(results, 0, 0, 12, text="v")
    (only,) = results.rows()
    assert only.identical is False
    assert only.measured[0].divergence is Divergence.UNEXPLAINED
    same = measured(plan_of(2), [(10, 12), (10, 12)])
    assert row(same, 0).identical is True
