"""Which dropped file goes where, and that the newest choice wins."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support import tiny_gguf

from specviz.errors import FileError
from specviz.models.model_file import inspect_model
from specviz.trace.config import LoadConfig, ModelSpec, Role
from specviz.ui.slots import ModelSlots, choose, gguf_files, read_dropped


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        n: inspect_model(tiny_gguf.write_llama(folder / f"m{n}.gguf", n_layers=n))
        for n in (1, 2, 6)
    }


def test_of_two_the_larger_is_the_target(models):
    choice = choose([models[1], models[6]], None, None)
    assert (choice.target, choice.draft) == (models[6], models[1])


def test_a_smaller_one_becomes_the_draft_and_a_larger_one_the_target(models):
    assert choose([models[1]], models[2], None).draft == models[1]
    larger = choose([models[6]], models[2], models[1])
    assert (larger.target, larger.draft) == (models[6], models[1])
    assert choose([models[1]], None, None).target == models[1]


def test_of_many_the_largest_with_a_draft_that_fits(models):
    choice = choose(list(models.values()), None, None)
    assert choice.target == models[6]
    assert choice.draft in (models[1], models[2], None)
    assert "Of 3 models" in choice.sentence


def test_folders_are_searched_and_broken_files_reported(tmp_path):
    nested = tmp_path / "publisher" / "model"
    nested.mkdir(parents=True)
    tiny_gguf.write_llama(nested / "split.gguf", split=3)
    (tmp_path / "bad.gguf").write_bytes(b"GGUF")
    (tmp_path / "readme.txt").write_text("no")
    models, errors = read_dropped([tmp_path])
    assert len(gguf_files([tmp_path])) == 4
    assert len(models) == 1, "three parts are one model"
    assert len(errors) == 1


def test_the_newest_choice_wins_and_the_pair_is_judged(models):
    async def body():
        slots = ModelSlots()
        first = asyncio.create_task(slots.read(Role.TARGET, models[1].path))
        await asyncio.sleep(0)
        second = asyncio.create_task(slots.read(Role.TARGET, models[6].path))
        assert await first is None
        assert (await second).info == models[6].info
        assert slots.verdict is None
        await slots.read(Role.DRAFT, models[1].path)
        assert slots.verdict.fits
        load = LoadConfig(target=ModelSpec(path="x"), draft=ModelSpec(path="y"))
        assert slots.memory(load).draft_weights > 0
        assert slots.memory(replace(load, draft=None)).draft_weights == 0
        await slots.swap()
        assert slots.target.info == models[1].info
        assert any("larger" in note for note in slots.verdict.notes)

    asyncio.run(body())


def test_what_cannot_be_read_or_used_empties_the_slot(models, tmp_path):
    assistant = tiny_gguf.write_llama(
        tmp_path / "assistant.gguf", metadata={"general.architecture": "gemma4-assistant"}
    )
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(models[1].path.read_bytes()[:4096])

    async def body():
        slots = ModelSlots()
        for path in (assistant, broken):
            await slots.read(Role.DRAFT, models[1].path)
            with pytest.raises(FileError):
                await slots.read(Role.DRAFT, path)
            assert slots.draft is None

    asyncio.run(body())
