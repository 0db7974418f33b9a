"""A sweep on the real engine: nothing is loaded twice, and every setting gives the same text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.sweeps import Recorder
from support.tiny_gguf import write_llama

from specviz.preferences import Preferences
from specviz.sweep.axes import METHOD, Axis
from specviz.sweep.plan import SweepPlan, SweepPrompt, grid
from specviz.sweep.runner import Sweep
from specviz.trace.config import DraftSource, LoadConfig, Message, ModelSpec, RunConfig, RunMode
from specviz.worker.protocol import Loaded
from specviz.worker.session import EngineSession

pytestmark = pytest.mark.model


def test_two_by_two_settings_over_two_prompts(tmp_path: Path) -> None:
    target = write_llama(tmp_path / "t.gguf", mix=0.2)
    draft = write_llama(tmp_path / "d.gguf", n_layers=1, mix=0.2)
    base = RunConfig(
        mode=RunMode.SPECULATIVE,
        load=LoadConfig(
            target=ModelSpec(path=str(target), n_threads=1),
            draft=ModelSpec(path=str(draft), n_threads=1),
            n_ctx=256,
            repack=False,
        ),
        messages=(Message(role="user", text="?"),),
        raw=True,
        max_tokens=16,
    )
    methods = ((DraftSource.DRAFT_SIMPLE,), (DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE))
    axes = [Axis(METHOD, methods), Axis("n_max", (1, 3))]
    prompts = (SweepPrompt("the", "the the the"), SweepPrompt("cat", "the cat the"))
    plan = SweepPlan(base, prompts, grid(base, axes).points)
    session, recorder = EngineSession(None, Preferences(tmp_path / "settings.json")), Recorder()
    sweep = Sweep(session, plan, recorder)

    async def run() -> bool:
        try:
            return await sweep.run()
        finally:
            await session.close()

    assert asyncio.run(run())
    assert len(plan.points) == 4
    assert sweep.results.n_added == plan.n_runs == 10
    assert sweep.results.n_failed == 0
    rows = sweep.results.rows()
    for row in rows:
        assert row.identical is True
        assert row.tested > 0
        assert all(result.committed == 16 for result in row.measured)
    # drafts of one token end at one, those of three may go on
    assert rows[0].tested <= rows[0].measured[0].steps + rows[0].measured[1].steps
    assert rows[1].tested > rows[0].tested
    assert sum(isinstance(notice, Loaded) for notice in recorder.notices) == 1, "loaded again"
