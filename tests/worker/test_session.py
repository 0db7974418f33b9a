"""A real spawned child with a scripted engine: streaming, cancel, death, deafness, safe mode."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import asynccontextmanager

import psutil
import pytest
from support.scripts import run_config, simple_script, write_script

from specviz.errors import EngineDied, EngineError, FileError, SettingError
from specviz.preferences import Preferences
from specviz.trace.config import LoadConfig, ModelSpec, RunMode
from specviz.trace.events import (
    DrafterBegun,
    Prefilled,
    RunFinished,
    RunStarted,
    StepVerified,
    StopReason,
)
from specviz.trace.trace import Trace
from specviz.worker.client import describe_exit, died_in_native_code
from specviz.worker.protocol import Prefilling, SafeMode
from specviz.worker.session import EngineSession


@asynccontextmanager
async def session_for(tmp_path, script=None, *, grace=4.0, preferences=None, **changes):
    path = write_script(tmp_path / "script.json", script, **changes)
    session = EngineSession(path, preferences or Preferences(tmp_path / "settings.json"), grace)
    try:
        yield session
    finally:
        await session.close()


async def trace_of(session, config=None, on_event=None):
    trace = Trace()
    async for message in session.run(config or run_config()):
        if hasattr(message, "t"):
            trace.append(message)
        if on_event:
            on_event(message, trace)
    return trace


def endless(**changes):
    return simple_script(pace="real", repeat_rounds=100_000, **changes)


def test_events_arrive_whole_and_in_order(tmp_path):
    async def body():
        async with session_for(tmp_path) as session:
            kinds = []
            trace = await trace_of(session, on_event=lambda m, _: kinds.append(type(m)))
            steps = [k for k in kinds if k is StepVerified]
            assert kinds == [
                RunStarted,
                Prefilling,
                Prefilling,
                Prefilled,
                Prefilled,
                DrafterBegun,
                *steps,
                RunFinished,
            ]
            assert trace.text == "Hello world, this is a script. And more" * 2
            assert trace.finished.reason is StopReason.END_OF_GENERATION
            baseline = await trace_of(session, run_config(RunMode.BASELINE))
            assert baseline.text == trace.text

    asyncio.run(body())


def test_cancel_ends_a_run_within_a_step_and_the_next_run_works(tmp_path):
    async def body():
        async with session_for(tmp_path, endless()) as session:

            def cancel_at_five(message, trace):
                if len(trace.steps) == 5:
                    session.cancel()

            trace = await trace_of(session, run_config(max_tokens=-1), cancel_at_five)
            assert trace.finished.reason is StopReason.CANCELLED
            # the steps that were on the pipe already when the word arrived
            assert 5 <= len(trace.steps) <= 9
            pid = session.pid
            trace = await trace_of(session, run_config(max_tokens=4))
            assert len(trace.tokens) == 4
            assert session.pid == pid

    asyncio.run(body())


def test_cancel_during_prefill(tmp_path):
    async def body():
        async with session_for(tmp_path, endless(prefill_seconds=60.0)) as session:
            trace = await trace_of(
                session, on_event=lambda m, _: isinstance(m, Prefilling) and session.cancel()
            )
            assert trace.finished.reason is StopReason.CANCELLED
            assert trace.steps == []

    asyncio.run(body())


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("exit", "exit code 3"),
        ("abort", "an abort (signal 6, SIGABRT)"),
        ("segv", "a memory fault (signal 11, SIGSEGV)"),
        ("sigill", "an illegal instruction (signal 4, SIGILL)"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_death_is_an_error_with_its_cause_and_the_log(tmp_path, kind, words):
    fault = {"run": "speculative", "after_round": 3, "kind": kind, "message": "last words"}

    async def body():
        async with session_for(tmp_path, fault=fault) as session:
            trace = Trace()
            with pytest.raises(EngineDied) as caught:
                async for message in session.run(run_config()):
                    if hasattr(message, "t"):
                        trace.append(message)
            assert words in caught.value.message
            assert "last words" in caught.value.log_tail
            assert len(trace.steps) == 3
            assert trace.incomplete
            # a fresh process serves the next command; only speculative runs have the fault
            baseline = await trace_of(session, run_config(RunMode.BASELINE))
            assert len(baseline.tokens) == 20

    asyncio.run(body())


def test_killed_from_outside(tmp_path):
    async def body():
        async with session_for(tmp_path, endless()) as session:
            with pytest.raises(EngineDied, match="killed from outside"):
                await trace_of(
                    session,
                    run_config(max_tokens=-1),
                    lambda m, t: len(t.steps) == 3 and psutil.Process(session.pid).kill(),
                )

    asyncio.run(body())


def test_a_deaf_child_is_ended(tmp_path):
    fault = {"run": "speculative", "after_round": 2, "kind": "hang"}

    async def body():
        async with session_for(tmp_path, fault=fault, grace=0.3) as session:
            pid = None

            def cancel(message, trace):
                nonlocal pid
                if len(trace.steps) == 2:
                    pid = session.pid
                    # not before it hangs: a child that still listens would simply obey
                    asyncio.get_running_loop().call_later(1.0, session.cancel)

            with pytest.raises(EngineDied, match="did not stop when asked"):
                await trace_of(session, on_event=cancel)
            assert not psutil.pid_exists(pid)

    asyncio.run(body())


def test_garbage_on_the_pipe_is_refused_unread(tmp_path):
    fault = {"run": "speculative", "after_round": 2, "kind": "garbage"}

    async def body():
        async with session_for(tmp_path, fault=fault) as session:
            with pytest.raises(EngineDied, match="makes no sense"):
                await trace_of(session)

    asyncio.run(body())


def test_a_crash_that_safe_mode_cures_is_survived_and_remembered(tmp_path):
    fault = {"run": "speculative", "after_round": 0, "kind": "segv", "unless_safe_mode": True}
    preferences = Preferences(tmp_path / "settings.json")

    async def body():
        async with session_for(tmp_path, fault=fault, preferences=preferences) as session:
            # the scripted crash comes with the first step, where a warm-up would have met it
            with pytest.raises(EngineDied):
                await trace_of(session)
        assert not preferences.get("safe_mode")

    asyncio.run(body())


def test_a_load_crash_restarts_in_safe_mode(tmp_path, monkeypatch):
    fault = {"run": "load", "after_round": 0, "kind": "segv", "unless_safe_mode": True}
    preferences = Preferences(tmp_path / "settings.json")

    async def body():
        async with session_for(tmp_path, fault=fault, preferences=preferences) as session:
            seen = [m async for m in session.load(LoadConfig(target=ModelSpec(path="x")))]
            (notice,) = [m for m in seen if isinstance(m, SafeMode)]
            assert "memory fault" in notice.message
            assert session.ready.environment.safe_mode
            trace = await trace_of(session)
            assert trace.started.environment.safe_mode
        # remembered: the next session starts that way and meets no crash
        again = Preferences(tmp_path / "settings.json")
        async with session_for(tmp_path, fault=fault, preferences=again) as session:
            seen = [m async for m in session.load(LoadConfig(target=ModelSpec(path="x")))]
            assert not [m for m in seen if isinstance(m, SafeMode)]
            session.forget_safe_mode()
            assert not session.safe_mode

    asyncio.run(body())


def test_a_load_crash_that_safe_mode_does_not_cure_is_an_error_and_not_remembered(tmp_path):
    fault = {"run": "load", "after_round": 0, "kind": "abort"}
    preferences = Preferences(tmp_path / "settings.json")

    async def body():
        async with session_for(tmp_path, fault=fault, preferences=preferences) as session:
            with pytest.raises(EngineError, match="with and without repacked weights"):
                async for _ in session.load(LoadConfig(target=ModelSpec(path="x"))):
                    pass
            assert not session.safe_mode
        assert not preferences.get("safe_mode")

    asyncio.run(body())


def test_a_prompt_longer_than_the_context_is_a_setting_error(tmp_path):
    async def body():
        async with session_for(tmp_path, prompt_tokens=500) as session:
            config = run_config(load=LoadConfig(target=ModelSpec(path="x"), n_ctx=256))
            with pytest.raises(SettingError, match="500 tokens and the context holds 256"):
                await trace_of(session, config)

    asyncio.run(body())


def test_a_bad_script_is_refused_at_the_start(tmp_path):
    async def body():
        async with session_for(tmp_path, rounds=[{"draft": [], "accepted": 1}]) as session:
            with pytest.raises(FileError, match=r"rounds\[0\].accepted"):
                await session.start()

    asyncio.run(body())


def test_nothing_is_left_of_a_closed_session(tmp_path):
    async def body():
        async with session_for(tmp_path, endless()) as session:
            task = asyncio.create_task(trace_of(session, run_config(max_tokens=-1)))
            while not session.pid or not session.ready:
                await asyncio.sleep(0.01)
            pid = session.pid
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert not psutil.pid_exists(pid)

    asyncio.run(body())


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.01, 0.03, 0.1])
def test_a_start_that_is_cancelled_leaves_nothing(tmp_path, delay):
    async def body():
        async with session_for(tmp_path) as session:
            task = asyncio.create_task(session.start())
            await asyncio.sleep(delay)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert not [
            child
            for child in psutil.Process().children(recursive=True)
            if "spawn_main" in " ".join(child.cmdline())
        ]

    asyncio.run(body())


def test_a_start_cancelled_while_the_process_is_made_can_be_closed(tmp_path, monkeypatch):
    from specviz.worker.client import EngineClient

    original = EngineClient._spawn
    begun = threading.Event()

    def slowly(client):
        begun.set()
        threading.Event().wait(0.3)
        original(client)

    monkeypatch.setattr(EngineClient, "_spawn", slowly)

    async def body():
        async with session_for(tmp_path) as session:
            task = asyncio.create_task(session.start())
            await asyncio.to_thread(begun.wait)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert session.pid is None

    asyncio.run(body())
    assert not [
        child
        for child in psutil.Process().children(recursive=True)
        if "spawn_main" in " ".join(child.cmdline())
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX signals")
def test_the_child_leaves_when_its_parent_is_killed(tmp_path):
    import subprocess

    script = write_script(tmp_path / "script.json", endless())
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from specviz.worker.session import EngineSession\n"
        "from specviz.preferences import Preferences\n"
        "async def main():\n"
        f"    session = EngineSession(Path({str(script)!r}), Preferences(Path('none.json')))\n"
        "    await session.start()\n"
        "    print(session.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    asyncio.run(main())\n"
    )
    program = tmp_path / "parent.py"
    program.write_text(code)
    parent = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    child = psutil.Process(int(parent.stdout.readline()))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    child.wait(timeout=10)


@pytest.mark.parametrize(
    ("code", "native", "words"),
    [
        (-11, True, "memory fault"),
        (-4, True, "illegal"),
        (-6, True, "abort"),
        (-9, False, "killed"),
        (0, False, "exit code 0"),
        (3, False, "exit code 3"),
        (0xC0000005, True, "access violation"),
        (0xC000001D - 2**32, True, "illegal"),
        (None, False, "not be observed"),
    ],
)
def test_exit_codes_in_words(code, native, words):
    assert died_in_native_code(code) is native
    assert words in describe_exit(code)
