"""draft-mtp: the head reads the right hidden row for every token, whatever was rejected before.

The proof needs no trained head: one that repeats what its hidden row predicts has to propose the
pending token first, in every step. A row taken one too early or too late breaks it at once.
"""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import pytest
from support import tiny_gguf

from specviz.engine import slot
from specviz.engine.drafting.base import Proposal
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.llama import next_token
from specviz.engine.llama_engine import LlamaEngine
from specviz.errors import SettingError
from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    Role,
    RunConfig,
    RunMode,
    SpeculationConfig,
    Switch,
)
from specviz.trace.trace import Trace
from specviz.worker.protocol import Run

pytestmark = pytest.mark.model

PROMPT = "the thin inn than the other thing in the end " * 3
ARCHITECTURES = ("qwen35", "qwen35moe", "qwen3next")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    made = {}
    for name in ARCHITECTURES:
        write = getattr(tiny_gguf, f"write_{name}")
        made[name, "hidden"] = write(folder / f"{name}-hidden.gguf", mtp=1, head="hidden")
        made[name, "token"] = write(folder / f"{name}-token.gguf", mtp=1, head="token", mix=0.04)
    made["none"] = tiny_gguf.write_qwen35(folder / "none.gguf")
    return made


@pytest.fixture
def engine():
    engine = LlamaEngine(safe_mode=True)
    yield engine
    engine.unload()


@pytest.fixture(params=["snapshots", "checkpoint"])
def rollback(request, monkeypatch):
    if request.param == "checkpoint":
        monkeypatch.setattr(slot, "older_states", lambda *_: 0)
    return request.param


def config_for(path, mode=RunMode.SPECULATIVE, **changes):
    settings = {
        "max_tokens": 100,
        "speculation": SpeculationConfig(sources=(DraftSource.DRAFT_MTP,), n_max=3),
        **changes,
    }
    load = LoadConfig(
        target=ModelSpec(path=str(path), n_threads=1),
        n_ctx=1024,
        n_batch=63,
        flash_attention=Switch.ON,
    )
    prompt = (Message(role="user", text=PROMPT),)
    return RunConfig(mode=mode, load=load, messages=prompt, raw=True, **settings)


def run(engine, config):
    trace = Trace()
    for event in engine.run(Run(run_id="x", config=config), lambda _: None, threading.Event()):
        trace.append(event)
    return trace


def ids(trace):
    return [token.token_id for token in trace.tokens]


def drafts_of_the_head(trace):
    """(pending token, first draft token) of every step that the head drafted for."""
    return [
        (trace.tokens[first - 1].token_id, step.draft[0].token_id)
        for first, step in zip(trace.first_token_of_step, trace.steps, strict=True)
        if first > 0 and step.drafter is DraftSource.DRAFT_MTP
    ]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_draft_begins_from_the_right_hidden_row(engine, files, rollback, name):
    path = files[name, "hidden"]
    alone = run(engine, config_for(path, RunMode.BASELINE))
    first, again = run(engine, config_for(path)), run(engine, config_for(path))
    for trace in (first, again):
        assert ids(trace) == ids(alone)
        pairs = drafts_of_the_head(trace)
        assert len(pairs) > 50
        assert all(pending == drafted for pending, drafted in pairs)
    # the head had not read along with the baseline, but with the run before
    assert first.prefilled[Role.TARGET].n_reused == 0
    assert again.prefilled[Role.TARGET].n_tokens == 0


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_drafts_that_are_partly_right_change_nothing_but_speed(engine, files, rollback, name):
    path = files[name, "token"]
    for n_max in (3, 12):
        speculation = SpeculationConfig(sources=(DraftSource.DRAFT_MTP,), n_max=n_max)
        alone, drafted = (
            run(engine, config_for(path, mode, speculation=speculation)) for mode in RunMode
        )
        assert ids(drafted) == ids(alone)
        assert min(drafted.counts.accepted, drafted.counts.rejected) > 10


class Sometimes:
    """Another source, which now and then drafts what the baseline said, or something else."""

    source = DraftSource.NGRAM_SIMPLE

    def __init__(self, token_ids):
        self._ids = token_ids
        self._random = random.Random(5)

    def begin(self, history, cancelled, progress):
        self._begin = len(history) + 1
        return 0

    def draft(self, history, pending, limit):
        at = len(history) + 1 - self._begin
        n = min(self._random.choice((0, 0, 2, 5)), limit)
        draft = [i if self._random.random() < 0.7 else 40 for i in self._ids[at : at + n]]
        return Proposal(tuple(draft), (None,) * len(draft), (None,) * len(draft))

    def accept(self, n_accepted):
        pass


def test_the_head_follows_steps_that_others_draft_for(engine, files, rollback, monkeypatch):
    path = files["qwen35", "hidden"]
    alone = run(engine, config_for(path, RunMode.BASELINE))
    ordinary = LlamaEngine._drafters

    def with_another(self, config, target, draft):
        chain = ordinary(self, config, target, draft)
        return DrafterChain([*chain.drafters, Sometimes(ids(alone))])

    monkeypatch.setattr(LlamaEngine, "_drafters", with_another)
    trace = run(engine, config_for(path))
    assert ids(trace) == ids(alone)
    pairs = drafts_of_the_head(trace)
    assert 10 < len(pairs) < len(trace.steps) - 10
    assert all(pending == drafted for pending, drafted in pairs)


def test_another_prompt_is_read_anew(engine, files):
    path = files["qwen35", "hidden"]
    run(engine, config_for(path))
    text = PROMPT[:60] + "an inn"
    other = replace(config_for(path), messages=(Message(role="user", text=text),))
    for config in (other, config_for(path)):
        trace = run(engine, config)
        assert all(pending == drafted for pending, drafted in drafts_of_the_head(trace))


def test_a_file_without_the_block_is_refused_in_a_sentence(engine, files):
    with pytest.raises(SettingError, match="no next-token"):
        run(engine, config_for(files["none"]))


def test_a_build_without_the_functions_says_so(engine, files, monkeypatch):
    monkeypatch.setattr(next_token, "extension", None)
    path = files["qwen35", "hidden"]
    with pytest.raises(SettingError, match="This build"):
        run(engine, config_for(path))
    assert len(ids(run(engine, replace(config_for(path), mode=RunMode.BASELINE)))) == 100
