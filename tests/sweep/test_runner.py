"""Runs in turns on one engine; cancel, failures and deaths keep what was measured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from support.sweeps import FakeSession, Play, Recorder, plan_of, run_at
from support.traces import TraceBuilder

from specviz.errors import EngineDied, EngineError, FileError, SettingError, SpecvizError
from specviz.sweep.plan import SweepPlan
from specviz.sweep.remaining import RunTimes
from specviz.sweep.runner import MOST_DEATHS, Sweep
from specviz.trace.config import RunConfig, RunMode
from specviz.trace.trace import Trace
from specviz.worker.protocol import SafeMode


def by_draft_length(config: RunConfig) -> Trace:
    """Twice as fast with 2 draft tokens, and slower otherwise."""
    if config.mode is RunMode.BASELINE:
        return run_at(10, config)
    return run_at(20 if config.speculation.n_max == 2 else 8, config)


def swept(
    plan: SweepPlan,
    play: Play = by_draft_length,
    before: Callable[[Sweep, FakeSession, Recorder], None] = lambda *_: None,
) -> tuple[Sweep, FakeSession, Recorder, bool]:
    session, recorder = FakeSession(play), Recorder()
    sweep = Sweep(session, plan, recorder, clock=session.clock)
    before(sweep, session, recorder)
    return sweep, session, recorder, asyncio.run(sweep.run())


def test_all_is_run_and_the_best_is_found() -> None:
    plan = plan_of(1, 2, 4)
    sweep, session, recorder, finished = swept(plan)
    assert finished and sweep.results.complete
    assert len(session.configs) == plan.n_runs == 8
    assert recorder.results == list(plan.runs())
    best = sweep.results.best()
    assert best is not None and best.label == "2 draft tokens"
    assert "it helps on both prompts, 2.00×." in sweep.results.sentence()


def test_progress_says_what_runs_and_how_long_the_rest_takes() -> None:
    _, _, recorder, _ = swept(plan_of(1, 2))
    lines = [(p.n_done, p.n_total, p.prompt, p.label) for p in recorder.progress]
    assert lines[0] == (0, 6, "Story", "baseline")
    assert lines[5] == (5, 6, "Code", "2 draft tokens")
    assert recorder.progress[0].remaining_seconds is None
    # 24 tokens at 10, 8 and 20 per second behind 0.3 s of prefill
    baseline, slow, fast = 2.7, 3.3, 1.5
    assert recorder.progress[3].remaining_seconds == pytest.approx(baseline + slow + fast)
    assert recorder.progress[5].remaining_seconds == pytest.approx(fast)
    assert recorder.progress[5].elapsed_seconds == pytest.approx(2 * (baseline + slow) + fast)


def test_the_rest_is_judged_by_prompt_and_setting() -> None:
    times = RunTimes()
    assert times.remaining([(0, None)]) is None
    times.add(0, None, 10)
    times.add(0, 0, 20)
    assert times.remaining([(0, None), (0, 0)]) == 30
    # a prompt that takes half the time does so with every setting
    times.add(1, None, 5)
    assert times.remaining([(1, 0)]) == pytest.approx(10)
    # of a prompt that was not run yet nothing is known but the settings
    assert times.remaining([(2, None), (2, 0)]) == pytest.approx(7.5 + 20)
    # nor of a setting that was not run yet anything but the prompt
    assert times.remaining([(0, 5)]) == pytest.approx(15)
    assert times.remaining([]) == 0


def test_cancel_keeps_what_was_measured_and_nothing_that_was_cut_off() -> None:
    def before(sweep: Sweep, session: FakeSession, recorder: Recorder) -> None:
        def cancel_after_four() -> None:
            if len(recorder.results) == 4:
                sweep.cancel()

        recorder.on_result = cancel_after_four

    sweep, session, _, finished = swept(plan_of(1, 2), before=before)
    assert not finished and sweep.cancelled
    assert session.n_cancels == 1
    assert len(session.configs) == 4, "nothing begins after Cancel"
    assert sweep.results.n_added == 4
    assert [row.n_prompts for row in sweep.results.rows()] == [1, 1]
    assert not sweep.results.complete


def test_a_run_that_was_cut_off_counts_for_nothing() -> None:
    def play(config: RunConfig) -> Trace:
        if config.prompt == "About Code" and config.mode is RunMode.SPECULATIVE:
            session.cancel()
        return by_draft_length(config)

    session, recorder = FakeSession(play), Recorder()
    sweep = Sweep(session, plan_of(1, 2), recorder, clock=session.clock)
    assert not asyncio.run(sweep.run())
    assert sweep.cancelled
    assert recorder.results == [(0, None), (0, 0), (0, 1), (1, None)]


def failing_at(n: int, error: SpecvizError, times: int = 1) -> Play:
    calls = iter(range(1000))

    def play(config: RunConfig) -> Trace | Exception:
        return error if n <= next(calls) < n + times else by_draft_length(config)

    return play


@pytest.mark.parametrize("error", [EngineError("It failed.", "Do that."), SettingError("No.")])
def test_a_failed_run_is_noted_and_the_sweep_goes_on(error: SpecvizError) -> None:
    sweep, _, recorder, finished = swept(plan_of(1, 2), failing_at(1, error))
    assert finished
    assert recorder.results == list(sweep.plan.runs())
    first, second = sweep.results.rows()
    assert [result.error for result in first.errors] == [str(error)]
    assert first.n_prompts == 1 and second.n_prompts == 2
    assert sweep.results.n_failed == 1


def test_a_run_that_fails_by_itself_is_noted_too() -> None:
    def play(config: RunConfig) -> Trace:
        if config.speculation.n_max == 1 and config.mode is RunMode.SPECULATIVE:
            return TraceBuilder(config).plain("a").fail("The context is full of cats.")
        return by_draft_length(config)

    sweep, _, _, finished = swept(plan_of(1, 2), play)
    assert finished and sweep.results.n_failed == 2
    assert "cats" in sweep.results.rows()[0].errors[0].error


def test_the_engine_may_die_and_the_sweep_goes_on_with_a_new_one() -> None:
    death = EngineDied("The engine stopped: a segmentation fault.")
    sweep, _, recorder, finished = swept(plan_of(1, 2), failing_at(1, death))
    assert finished and sweep.results.n_failed == 1
    assert "segmentation fault" in sweep.results.rows()[0].errors[0].error
    assert len(recorder.results) == 6


def test_an_engine_that_keeps_dying_ends_the_sweep() -> None:
    death = EngineDied("The engine stopped: a segmentation fault.")
    session, recorder = FakeSession(failing_at(2, death, 99)), Recorder()
    sweep = Sweep(session, plan_of(1, 2, 3, 4), recorder, clock=session.clock)
    with pytest.raises(EngineDied):
        asyncio.run(sweep.run())
    assert sweep.results.n_failed == MOST_DEATHS == 3
    assert sweep.results.rows()[0].n_prompts == 1, "what was measured before stays"


def test_a_file_that_cannot_be_loaded_ends_the_sweep_at_once() -> None:
    session, recorder = FakeSession(failing_at(0, FileError("t.gguf is damaged."), 99)), Recorder()
    sweep = Sweep(session, plan_of(1, 2), recorder, clock=session.clock)
    with pytest.raises(FileError):
        asyncio.run(sweep.run())
    assert len(session.configs) == 1


def test_notices_are_passed_on() -> None:
    notice = SafeMode(message="It crashed.")
    session, recorder = FakeSession(by_draft_length, [notice]), Recorder()
    asyncio.run(Sweep(session, plan_of(1), recorder, clock=session.clock).run())
    assert recorder.notices == [notice] * 4
