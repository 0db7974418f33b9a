"""Measuring costs and lossless checks through a real child with a scripted engine."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager

import pytest
from support import tiny_gguf
from support.scripts import IDS, run_config, simple_script, write_script

from specviz.errors import EngineDied, SettingError
from specviz.preferences import Preferences
from specviz.trace.config import RunMode, SamplingConfig
from specviz.trace.costs import CheckCost, DraftCost
from specviz.trace.lossless import BatchShape, Divergence, LosslessCheck, finding
from specviz.trace.trace import Trace
from specviz.worker.protocol import (
    Checking,
    CostMeasured,
    Done,
    LosslessChecked,
    RecordedStep,
    SafeMode,
)
from specviz.worker.recorded import recorded_steps
from specviz.worker.session import EngineSession

STEPS = (
    RecordedStep(draft=(IDS[0], IDS[1], IDS[3]), emitted=(IDS[0], IDS[1], IDS[2])),
    RecordedStep(draft=(IDS[3],), emitted=(IDS[5],)),
)
SLOW = {"draft": [[IDS[0]]], "accepted": 1, "target": [IDS[1]], "verify_seconds": 60.0}


@asynccontextmanager
async def session_for(tmp_path, **changes):
    path = write_script(tmp_path / "script.json", simple_script(**changes))
    session = EngineSession(path, Preferences(tmp_path / "settings.json"))
    try:
        yield session
    finally:
        await session.close()


async def all_of(stream, on_message=None):
    found = []
    async for message in stream:
        found.append(message)
        if on_message:
            on_message(message)
    return found


async def trace_of(session, config):
    trace = Trace()
    async for message in session.run(config):
        if hasattr(message, "t"):
            trace.append(message)
    return trace


def test_a_script_has_the_costs_of_its_rounds(tmp_path):
    async def body():
        async with session_for(tmp_path) as session:
            found = await all_of(session.measure_costs(run_config(), 8))
            assert [message.check for message in found if message.check] == [
                CheckCost(n_rows=1, seconds=0.015, n_samples=1),
                CheckCost(n_rows=2, seconds=0.02, n_samples=1),
                CheckCost(n_rows=4, seconds=0.02, n_samples=6),
            ]
            assert [message.draft for message in found if message.draft] == [
                DraftCost(n_tokens=1, seconds=0.003, n_samples=1),
                DraftCost(n_tokens=3, seconds=0.003, n_samples=6),
            ]
            assert [(m.n_done, m.n_total) for m in found] == [(i, 5) for i in range(1, 6)]
            narrow = await all_of(session.measure_costs(run_config(), 2))
            assert [m.check.n_rows for m in narrow if m.check] == [1, 2]

    asyncio.run(body())


def test_rounds_of_n_grams_have_no_draft_cost(tmp_path):
    rounds = [{**SLOW, "verify_seconds": 0.03, "drafter": "ngram-mod"}]

    async def body():
        async with session_for(tmp_path, rounds=rounds) as session:
            found = await all_of(session.measure_costs(run_config(), 8))
            assert [m.check.n_rows for m in found] == [1, 2]

    asyncio.run(body())


def test_measuring_can_be_stopped_and_the_next_run_works(tmp_path):
    async def body():
        async with session_for(tmp_path, pace="real", rounds=[SLOW]) as session:
            stream = session.measure_costs(run_config(), 4)
            found = await all_of(stream, lambda message: session.cancel())
            assert isinstance(found[0], CostMeasured)
            assert found[1:] == [Done(cancelled=True)]
            trace = await trace_of(session, run_config(RunMode.BASELINE, max_tokens=2))
            assert len(trace.tokens) == 2

    asyncio.run(body())


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("place", ["measure", "check"])
def test_death_on_the_way_is_told_and_a_new_engine_serves_the_next_command(tmp_path, place):
    fault = {"run": place, "after_round": 1, "kind": "segv", "message": "last words"}

    async def body():
        async with session_for(tmp_path, fault=fault) as session:
            stream = (
                session.measure_costs(run_config(), 8)
                if place == "measure"
                else session.check_lossless(run_config(), STEPS, whole=True)
            )
            found = []
            with pytest.raises(EngineDied, match="a memory fault") as caught:
                await all_of(stream, found.append)
            assert len(found) == 1
            assert "last words" in caught.value.log_tail
            assert not session.safe_mode
            trace = await trace_of(session, run_config(max_tokens=4))
            assert len(trace.tokens) == 4

    asyncio.run(body())


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_a_crash_before_anything_was_measured_is_cured_by_safe_mode(tmp_path):
    fault = {"run": "measure", "after_round": 0, "kind": "sigill", "unless_safe_mode": True}

    async def body():
        async with session_for(tmp_path, fault=fault) as session:
            found = await all_of(session.measure_costs(run_config(), 8))
            assert isinstance(found[0], SafeMode)
            assert found[-1].n_done == found[-1].n_total

    asyncio.run(body())


def test_a_script_answers_with_the_baselines_own_margin(tmp_path):
    runner_up = [None, None, None, [IDS[5], 0.03], [IDS[5], 4.0]]
    baseline = {"token_ids": IDS, "runner_up": runner_up}

    async def body():
        async with session_for(tmp_path, baseline=baseline) as session:
            stream = session.check_lossless(run_config(), STEPS, fork=3, baseline_id=IDS[3])
            *progress, last = await all_of(stream)
            assert progress == [Checking(n_done=0, n_total=4), Checking(n_done=4, n_total=4)]
            assert isinstance(last, LosslessChecked)
            (margin,) = last.check.margins
            assert (margin.shape, margin.n_rows, margin.margin) == (BatchShape.ONE_ROW, 1, 0.03)
            assert finding(last.check) is Divergence.NEAR_TIE
            # of another candidate the script knows nothing
            steps = (*STEPS[:1], RecordedStep(draft=(), emitted=(IDS[7],)))
            *_, last = await all_of(
                session.check_lossless(run_config(), steps, fork=3, baseline_id=IDS[3])
            )
            assert last.check == LosslessCheck(fork=3)
            assert finding(last.check) is None

    asyncio.run(body())


def test_a_script_can_confirm_nothing(tmp_path):
    async def body():
        async with session_for(tmp_path) as session:
            trace = await trace_of(session, run_config())
            stream = session.check_lossless(run_config(), recorded_steps(trace), whole=True)
            assert (await all_of(stream))[-1].check == LosslessCheck()

    asyncio.run(body())


def test_what_makes_no_sense_is_refused_and_the_engine_lives(tmp_path):
    async def body():
        async with session_for(tmp_path) as session:
            with pytest.raises(SettingError, match="do not part at token 40"):
                await all_of(
                    session.check_lossless(run_config(), STEPS, fork=40, baseline_id=IDS[0])
                )
            pid = session.pid
            warm = run_config(sampling=SamplingConfig(temperature=0.7))
            with pytest.raises(SettingError, match="Only greedy output"):
                await all_of(session.check_lossless(warm, STEPS))
            assert session.pid == pid

    asyncio.run(body())


@pytest.mark.model
def test_the_real_engine_answers_through_the_pipe(tmp_path):
    from support.equality import exact_load, raw_run

    target = tiny_gguf.write_llama(tmp_path / "target.gguf", mix=0.03)
    draft = tiny_gguf.write_llama(tmp_path / "draft.gguf", mix=0.03, n_layers=1)
    load = exact_load(target, draft)
    config = raw_run(RunMode.SPECULATIVE, load, max_tokens=40)

    async def body():
        session = EngineSession(None, Preferences(tmp_path / "settings.json"))
        try:
            trace = await trace_of(session, config)
            measured = await all_of(session.measure_costs(trace.started.config, 4))
            assert [m.check.n_rows for m in measured if getattr(m, "check", None)] == [1, 2, 3, 4]
            answers = await all_of(
                session.check_lossless(trace.started.config, recorded_steps(trace), whole=True)
            )
            assert answers[-1].check == LosslessCheck(
                n_rechecked=40, n_drafts_rechecked=trace.counts.tested
            )
            # a check that is stopped leaves the engine as it was
            stopped = await all_of(
                session.check_lossless(trace.started.config, recorded_steps(trace), whole=True),
                lambda message: session.cancel(),
            )
            assert stopped[-1] in (Done(cancelled=True), answers[-1])
            again = await trace_of(session, config)
            assert [t.token_id for t in again.tokens] == [t.token_id for t in trace.tokens]
        finally:
            await session.close()

    asyncio.run(body())
