"""Files that lie, and an engine killed at the worst moments: a sentence each, and life goes on."""

from __future__ import annotations

import asyncio
import random

import psutil
import pytest
from support import tiny_gguf

from specviz.errors import EngineDied, FileError, SpecvizError
from specviz.models.model_file import inspect_model
from specviz.preferences import Preferences
from specviz.trace.config import LoadConfig, Message, ModelSpec, RunConfig, RunMode
from specviz.trace.trace import Trace
from specviz.worker.protocol import Loaded, Loading, Prefilling
from specviz.worker.session import EngineSession

pytestmark = pytest.mark.model

N_MUTATIONS = 300


@pytest.fixture
def preferences(tmp_path):
    """Settings of a machine that is known to need safe mode, so that no test depends on it."""
    from specviz.worker.session import SAFE_MODE_KEY, engine_build

    preferences = Preferences(tmp_path / "settings.json")
    preferences.set(SAFE_MODE_KEY, {engine_build(): True})
    return preferences


def load_of(path, **changes):
    return LoadConfig(target=ModelSpec(path=str(path), n_threads=1), n_ctx=256, **changes)


async def load(session, path):
    """The last message of a load."""
    return [message async for message in session.load(load_of(path))][-1]


def mutated(data: bytes, generator: random.Random) -> bytes:
    """A file with a few bytes changed, mostly in its header, or a part cut out or doubled."""
    header = 12_000
    copy = bytearray(data)
    kind = generator.random()
    if kind < 0.7:
        for _ in range(generator.choice((1, 1, 2, 5, 30))):
            at = generator.randrange(header if generator.random() < 0.8 else len(copy))
            copy[at] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
    elif kind < 0.85:
        del copy[generator.randrange(len(copy)) :]
    else:
        at = generator.randrange(header)
        copy[at:at] = copy[at : at + generator.randrange(1, 64)]
    return bytes(copy)


def test_corrupted_files_become_a_sentence_and_good_ones_still_load(tmp_path, preferences):
    good = tiny_gguf.write_llama(tmp_path / "good.gguf", n_layers=1)
    data = good.read_bytes()
    bad = tmp_path / "bad.gguf"

    async def body():
        session = EngineSession(preferences=preferences)
        outcomes = {"loaded": 0, "refused": 0, "died": 0}
        try:
            for seed in range(N_MUTATIONS):
                bad.write_bytes(mutated(data, random.Random(seed)))
                try:
                    inspect_model(bad)
                except SpecvizError as error:
                    assert error.message.endswith(".") and "\n" not in error.message
                try:
                    assert isinstance(await load(session, bad), Loaded)
                    outcomes["loaded"] += 1
                except EngineDied as error:
                    assert error.message.startswith("The engine stopped")
                    outcomes["died"] += 1
                except SpecvizError as error:
                    assert error.message.endswith(".")
                    outcomes["refused"] += 1
            assert isinstance(await load(session, good), Loaded)
        finally:
            await session.close()
        return outcomes

    outcomes = asyncio.run(body())
    # most are caught by reading the header; the native loader must not be what finds them
    assert outcomes["refused"] > N_MUTATIONS / 4
    assert outcomes["died"] < N_MUTATIONS / 10


def test_files_that_are_no_models(tmp_path, preferences):
    (tmp_path / "empty.gguf").write_bytes(b"")
    (tmp_path / "zeros.gguf").write_bytes(bytes(100_000))
    (tmp_path / "page.gguf").write_text("<!DOCTYPE html><html>not found</html>")
    (tmp_path / "folder.gguf").mkdir()
    gone = tmp_path / "gone.gguf"
    parts = tiny_gguf.write_llama(tmp_path / "split.gguf", split=3)
    tiny_gguf.part_paths(tmp_path / "split.gguf", 3)[1].unlink()

    async def body():
        session = EngineSession(preferences=preferences)
        try:
            names = ["empty.gguf", "zeros.gguf", "page.gguf", "folder.gguf"]
            for path in [*(tmp_path / name for name in names), gone, parts]:
                with pytest.raises(FileError) as caught:
                    await load(session, path)
                assert caught.value.role == "target"
        finally:
            await session.close()

    asyncio.run(body())


@pytest.mark.parametrize("moment", [Loading, Prefilling, "step"])
def test_an_engine_killed_in_load_prefill_or_decode_is_replaced(tmp_path, preferences, moment):
    path = tiny_gguf.write_llama(tmp_path / "target.gguf", n_vocab=20_000)
    config = RunConfig(
        mode=RunMode.BASELINE,
        load=LoadConfig(target=ModelSpec(path=str(path), n_threads=1), n_ctx=2048, n_batch=32),
        messages=(Message(role="user", text="the inn " * 200),),
        raw=True,
        max_tokens=-1,
    )

    async def run(session, killing):
        trace = Trace()
        async for message in session.run(config if killing else config_of_two):
            if hasattr(message, "t"):
                trace.append(message)
            hit = len(trace.steps) == 3 if moment == "step" else isinstance(message, moment)
            if killing and hit:
                psutil.Process(session.pid).kill()
        return trace

    from dataclasses import replace

    config_of_two = replace(config, max_tokens=2)

    async def body():
        session = EngineSession(preferences=preferences)
        try:
            with pytest.raises(EngineDied, match="killed from outside"):
                await run(session, killing=True)
            trace = await run(session, killing=False)
            assert len(trace.tokens) == 2
        finally:
            await session.close()

    asyncio.run(body())


def test_a_file_deleted_after_it_was_picked(tmp_path, preferences):
    path = tiny_gguf.write_llama(tmp_path / "target.gguf")
    assert inspect_model(path).info.n_vocab == 320
    path.unlink()

    async def body():
        session = EngineSession(preferences=preferences)
        try:
            with pytest.raises(FileError, match=r"target\.gguf"):
                await load(session, path)
        finally:
            await session.close()

    asyncio.run(body())
