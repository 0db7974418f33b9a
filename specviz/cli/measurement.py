"""Runs what a request asks for on an engine, in order, and keeps the traces.

Stores each trace while it grows. Ctrl+C stops the run under way within a step and keeps what there
is; a second one ends the engine at once. Prints nothing: a `Watcher` is told what happens.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Protocol, cast

from specviz.cli.request import Request, check_files
from specviz.errors import EngineError, SpecvizError
from specviz.models.demo_pair import DemoPair
from specviz.trace.comparison import Comparison, compare_repeated, pair_with_fork
from specviz.trace.config import RunConfig, RunMode
from specviz.trace.events import RunEvent, RunFailed, RunStarted, StepVerified
from specviz.trace.fork import fork_position, is_drawn
from specviz.trace.lossless import LosslessCheck
from specviz.trace.storage import TraceWriter
from specviz.trace.trace import Trace
from specviz.worker.client import ERRORS, Message
from specviz.worker.protocol import Checking, Loading, LosslessChecked, Prefilling, SafeMode
from specviz.worker.recorded import recorded_steps, token_at
from specviz.worker.session import EngineSession

CONVERTED_ONCE = "The demo model is converted to Q8_0 once; that takes some seconds."


class Watcher(Protocol):
    """What a measurement tells while it goes on."""

    def note(self, sentence: str) -> None:
        """Something that the user should know."""

    def status(self, text: str) -> None:
        """What is going on right now."""

    def run_begins(self, mode: RunMode, number: int) -> None:
        """The run of this mode starts, for the `number`-th time, from 1."""

    def run_grows(self, trace: Trace) -> None:
        """A step has been added."""

    def run_ends(self, trace: Trace) -> None:
        """The run is over, in good order or not."""


class Measurement:
    """One request being carried out. `traces` are in the order of the runs."""

    def __init__(self, request: Request, watcher: Watcher) -> None:
        self.traces: list[Trace] = []
        self.interrupted = False
        self._request = request
        self._watcher = watcher
        self._session = EngineSession(script=request.script)
        self._check: LosslessCheck | None = None

    async def measure(self) -> None:
        """Carry the request out. Raises SpecvizError; the traces so far stay."""
        with interruptible(self._session, self._interrupt):
            try:
                self._watcher.status("Starting the engine")
                await self._session.start()
                if self._request.demo is not None:
                    await self._prepare(self._request.demo)
                await self._runs()
                await self._check_output()
            except asyncio.CancelledError:
                if not self.interrupted:
                    raise
            finally:
                await self._session.close()

    def _interrupt(self) -> None:
        self.interrupted = True
        self._session.cancel()

    def comparison(self) -> Comparison | None:
        """The runs that belong together, compared; None without a pair."""
        baselines, speculatives = (
            self._runs_of(RunMode.BASELINE),
            self._runs_of(RunMode.SPECULATIVE),
        )
        if not baselines or not speculatives:
            return None
        return compare_repeated(baselines, speculatives, self._check)

    def _runs_of(self, mode: RunMode) -> list[Trace]:
        return [trace for trace in self.traces if trace.started is not None and trace.mode is mode]

    async def _check_output(self) -> None:
        """Have a fork looked at on fresh memory, or the whole run where that is asked for.

        What nobody asked for may fail: the margins that the runs recorded have to do then.
        """
        baselines, speculatives = (
            self._runs_of(RunMode.BASELINE),
            self._runs_of(RunMode.SPECULATIVE),
        )
        if self.interrupted or not baselines or not speculatives:
            return
        baseline, speculative = pair_with_fork(baselines, speculatives)
        fork = fork_position(baseline, speculative)
        whole = self._request.check
        if (fork is None and not whole) or is_drawn(speculative) or speculative.started is None:
            return
        self._watcher.status("Checking the output")
        answers = self._session.check_lossless(
            speculative.started.config,
            recorded_steps(speculative),
            fork=fork,
            baseline_id=None if fork is None else token_at(baseline, fork),
            whole=whole,
        )
        try:
            async with closing(answers) as messages:
                async for message in messages:
                    if isinstance(message, LosslessChecked):
                        self._check = message.check
                    self._notice(message)
        except SpecvizError as error:
            if whole:
                raise
            self._watcher.note(f"The fork could not be evaluated anew: {error.message}")

    async def _runs(self) -> None:
        # baseline and speculative take turns, so that a machine growing warm slows both
        for number in range(1, self._request.repeat + 1):
            for config in self._request.configs:
                if self.interrupted:
                    return
                await self._run(config, number)

    async def _run(self, config: RunConfig, number: int) -> None:
        trace = Trace()
        self.traces.append(trace)
        path = self._request.trace_path(config.mode, number)
        writer = None
        try:
            async with closing(self._session.run(config)) as messages:
                async for message in messages:
                    if not isinstance(message, RunEvent):
                        self._notice(message)
                        continue
                    if isinstance(message, RunStarted):
                        writer = TraceWriter(path) if path is not None else None
                        self._watcher.run_begins(config.mode, number)
                    if writer is not None:
                        writer.write(message)
                    trace.append(message)
                    if isinstance(message, StepVerified):
                        self._watcher.run_grows(trace)
        finally:
            if writer is not None:
                writer.close()
            if trace.started is not None:
                self._watcher.run_ends(trace)
        if trace.failed is not None:
            raise _error_of(trace.failed)

    async def _prepare(self, demo: DemoPair) -> None:
        if not demo.prepared:
            self._watcher.note(CONVERTED_ONCE)
            await convert(demo, self._session, self._notice)
        if not self.interrupted:
            config = self._request.configs[-1]
            draft = demo.draft if config.load.draft is not None else None
            check_files(demo.target, draft, config.speculation.sources)

    def _notice(self, message: Message) -> None:
        if isinstance(message, SafeMode):
            self._watcher.note(message.message)
        elif words := activity(message):
            self._watcher.status(words)


async def convert(
    demo: DemoPair, session: EngineSession, on_message: Callable[[Message], None]
) -> None:
    """Make the demo pair's target from the file it comes in."""
    async with closing(session.requantise(demo.source, demo.target)) as messages:
        async for message in messages:
            on_message(message)


def activity(message: Message) -> str:
    """What a notice says is going on, in words; empty where it is no activity."""
    match message:
        case Loading():
            return f"Loading {Path(message.path).name}: {message.fraction:.0%}"
        case Prefilling():
            return (
                f"Reading the prompt ({message.role.value}): "
                f"{message.n_done} of {message.n_total} tokens"
            )
        case Checking():
            return f"Checking the output: {message.n_done} of {message.n_total} tokens"
    return ""


@contextmanager
def interruptible(session: EngineSession, on_interrupt: Callable[[], None]) -> Iterator[None]:
    """Ctrl+C calls `on_interrupt`; the second one ends the engine and with it everything."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            on_interrupt()
            return
        if session.pid is not None:
            with suppress(OSError):
                os.kill(session.pid, signal.SIGTERM)
        task.cancel()

    def on_signal(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(interrupt)

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def closing(
    messages: AsyncIterator[Message],
) -> aclosing[AsyncGenerator[Message, None]]:
    """Ends a command in good order when its messages are not all taken."""
    return aclosing(cast(AsyncGenerator[Message, None], messages))


def _error_of(event: RunFailed) -> SpecvizError:
    return ERRORS.get(event.kind, EngineError)(event.message, event.hint)
