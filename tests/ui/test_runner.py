"""Baseline first, then the speculative run; the baseline again only when it must be."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.scripts import run_config, simple_script, write_script

from specviz.errors import EngineDied
from specviz.preferences import Preferences
from specviz.trace.config import RunMode, SamplingConfig, SpeculationConfig
from specviz.ui.runner import Runner
from specviz.worker.session import EngineSession


class Recorder:
    def __init__(self):
        self.runs, self.ended, self.prefilled = [], [], []
        self.on_notice = lambda message: None

    def on_run_started(self, trace):
        self.runs.append(trace.mode.value)

    def on_prefilled(self, event):
        self.prefilled.append((event.role.value, event.n_reused))

    def on_run_ended(self, trace):
        self.ended.append((trace.mode.value, trace.incomplete))


def measured(tmp_path, body, **changes):
    async def run():
        path = write_script(tmp_path / "script.json", **changes)
        session = EngineSession(path, Preferences(tmp_path / "settings.json"))
        recorder = Recorder()
        try:
            await body(Runner(session, recorder), recorder)
        finally:
            await session.close()

    asyncio.run(run())


def test_baseline_first_and_reused_while_nothing_that_matters_changed(tmp_path):
    async def body(runner, recorder):
        config = run_config(RunMode.SPECULATIVE)
        assert await runner.measure(config)
        assert recorder.runs == ["baseline", "speculative"]
        assert recorder.prefilled[0] == ("target", 0)
        assert not runner.reused_baseline
        longer = replace(config, speculation=SpeculationConfig(n_max=7))
        assert await runner.measure(longer)
        assert recorder.runs == ["baseline", "speculative", "speculative"]
        assert runner.reused_baseline and runner.baseline is not None
        # a shorter answer is another task
        assert await runner.measure(replace(config, max_tokens=9))
        assert recorder.runs[3:] == ["baseline", "speculative"]
        # who asks for the baseline gets a new one
        assert await runner.measure(replace(config, mode=RunMode.BASELINE))
        assert recorder.runs[5:] == ["baseline"]
        assert runner.speculative is None

    measured(tmp_path, body)


def test_a_drawn_seed_is_shared_by_both_runs_and_makes_a_new_task(tmp_path):
    async def body(runner, recorder):
        config = run_config(RunMode.SPECULATIVE, sampling=SamplingConfig(temperature=0.8))
        await runner.measure(config)
        seeds = {t.started.config.sampling.seed for t in (runner.baseline, runner.speculative)}
        assert len(seeds) == 1 and None not in seeds
        await runner.measure(config)
        assert recorder.runs == ["baseline", "speculative"] * 2

    measured(tmp_path, body)


def test_stopping_the_baseline_stops_the_measurement_and_is_not_reused(tmp_path):
    script = simple_script(pace="real")
    script["baseline"] = {"token_ids": [10] * 5000, "step_seconds": 0.01}

    async def body(runner, recorder):
        asyncio.get_running_loop().call_later(0.5, runner.cancel)
        while not await runner.measure(run_config(RunMode.SPECULATIVE, max_tokens=-1)):
            assert recorder.ended == [("baseline", False)]
            break
        assert recorder.runs == ["baseline"]
        assert runner.speculative is None
        await runner.measure(run_config(RunMode.SPECULATIVE, max_tokens=3))
        assert recorder.runs == ["baseline", "baseline", "speculative"]

    measured(tmp_path, body, script=script)


def test_a_crash_keeps_what_had_arrived(tmp_path):
    fault = {"run": "speculative", "after_round": 3, "kind": "abort"}

    async def body(runner, recorder):
        with pytest.raises(EngineDied):
            await runner.measure(run_config(RunMode.SPECULATIVE))
        assert recorder.ended == [("baseline", False), ("speculative", True)]
        assert len(runner.speculative.steps) == 3
        assert len(runner.baseline.tokens) == 20

    measured(tmp_path, body, fault=fault)
