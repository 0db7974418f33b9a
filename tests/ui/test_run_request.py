"""What a run is asked to do, what it loads for it, and why it cannot be."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from support import tiny_gguf
from support.turns import user

from specviz.models.model_file import inspect_model
from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    Role,
    RunConfig,
    RunMode,
)
from specviz.ui.run_request import lacks_template, load_of, request, sweep_base, why_not
from specviz.ui.slots import ModelSlots

SETTINGS = RunConfig(
    mode=RunMode.SPECULATIVE,
    load=LoadConfig(target=ModelSpec(path="target.gguf"), draft=ModelSpec(path="draft.gguf")),
    messages=(Message(role="system", text="Be brief."),),
)
SIMPLE, NGRAM, MTP = DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_MOD, DraftSource.DRAFT_MTP


def settings(*sources: DraftSource) -> RunConfig:
    return replace(SETTINGS, speculation=replace(SETTINGS.speculation, sources=sources))


@pytest.fixture(scope="module")
def slots(tmp_path_factory):
    """A target without template and MTP blocks, and a draft that does not fit it."""
    folder = tmp_path_factory.mktemp("models")
    found = ModelSlots()
    found.put(Role.TARGET, inspect_model(tiny_gguf.write_llama(folder / "target.gguf")))
    other = tiny_gguf.write_llama(folder / "other.gguf", n_layers=1, tokens={139: "[@x]"})
    found.put(Role.DRAFT, inspect_model(other))
    asyncio.run(found.judge())
    assert not found.verdict.fits
    return found


def test_a_sweep_begins_from_both_files_and_from_the_script_alone():
    base = sweep_base(replace(settings(NGRAM), mode=RunMode.BASELINE))
    assert base.mode is RunMode.SPECULATIVE and base.load.draft is not None
    scripted = sweep_base(settings(NGRAM), Path("script.json")).load
    assert (scripted.target.path, scripted.draft.path) == ("script.json", "script.json")


@pytest.mark.parametrize(
    ("sources", "loads_draft"),
    [((SIMPLE,), True), ((NGRAM, SIMPLE), True), ((NGRAM,), False), ((MTP,), False)],
)
def test_a_draft_is_loaded_only_for_who_drafts_with_it(sources, loads_draft):
    assert (load_of(settings(*sources)).draft is not None) is loads_draft
    scripted = load_of(settings(*sources), Path("script.json"))
    assert scripted.target.path == "script.json"
    assert (scripted.draft is not None) is loads_draft


def test_messages_go_behind_the_system_prompt_except_raw_ones():
    turns = (user("One?"), Message(role="assistant", text="1"), user("Two?"))
    asked = request(settings(SIMPLE), turns, raw=False)
    assert [message.role for message in asked.messages] == ["system", "user", "assistant", "user"]
    raw = request(settings(SIMPLE), turns[-1:], raw=True)
    assert raw.raw and raw.messages == turns[-1:]


@pytest.mark.parametrize(
    ("sources", "mode", "words"),
    [
        ((SIMPLE,), RunMode.SPECULATIVE, "does not fit"),
        ((NGRAM, SIMPLE), RunMode.SPECULATIVE, "does not fit"),
        ((SIMPLE,), RunMode.BASELINE, ""),
        ((NGRAM,), RunMode.SPECULATIVE, ""),
        ((MTP,), RunMode.SPECULATIVE, "no MTP blocks"),
        ((), RunMode.SPECULATIVE, "No drafting method"),
    ],
)
def test_only_what_is_used_stands_in_the_way(slots, sources, mode, words):
    config = replace(request(settings(*sources), (user("?"),), raw=False), mode=mode)
    reason = why_not(config, slots)
    assert words in reason and bool(reason) is bool(words)


def test_a_missing_draft_stands_in_the_way_of_who_needs_it():
    bare = replace(SETTINGS, load=replace(SETTINGS.load, draft=None))
    assert "needs a draft" in why_not(request(bare, (user("?"),), raw=False), ModelSlots())


def test_whether_a_model_has_a_template_is_known_from_its_file(slots, tmp_path):
    assert lacks_template(slots) and not lacks_template(ModelSlots())
    chat = ModelSlots()
    path = tiny_gguf.write_llama(tmp_path / "chat.gguf", n_layers=1, chat_template="{{ messages }}")
    chat.put(Role.TARGET, inspect_model(path))
    assert not lacks_template(chat)
