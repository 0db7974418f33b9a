"""The window's side of the pipe: starts the engine process, streams, cancels, notices its death.

Plain asyncio, no Qt. One command is under way at a time. A reader thread takes messages off the
pipe; consumers see an asynchronous iterator.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import AsyncIterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from specviz.errors import (
    EngineDied,
    EngineError,
    FileError,
    PairError,
    SettingError,
    SpecvizError,
    TraceError,
)
from specviz.trace import codec
from specviz.trace.events import RunEvent, StepVerified
from specviz.worker import entry
from specviz.worker.protocol import (
    NOTICE_KINDS,
    Cancel,
    Command,
    Done,
    EngineReady,
    Failed,
    Notice,
    Shutdown,
)

log = logging.getLogger(__name__)

Message = Notice | RunEvent

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
START_SECONDS = 120.0
LEAVE_SECONDS = 2.0
LOG_TAIL_BYTES = 4096
GATHER_SECONDS = 0.03

BREATH_SECONDS = 0.004
_END = None

ERRORS: dict[str, type[SpecvizError]] = {
    "setting": SettingError,
    "pair": PairError,
    "file": FileError,
    "engine": EngineError,
}

WINDOWS_CODES = {
    0xC0000005: "an access violation",
    0xC000001D: "an illegal instruction",
    0xC0000409: "an abort",
    0xC00000FD: "a stack overflow",
    0x40000015: "an abort",
}


class EngineClient:
    """One engine process. After its death make a new one.

    `cancel_grace`: seconds a cancelled command may still take before the process is ended.
    `gather_seconds`: verify steps are left on the pipe for so long, to be taken off together.
    """

    def __init__(
        self,
        *,
        script: Path | None = None,
        safe_mode: bool = False,
        cancel_grace: float = 4.0,
    ) -> None:
        self.ready: EngineReady | None = None
        self.gather_seconds = GATHER_SECONDS
        self._script = script
        self._safe_mode = safe_mode
        self._grace = cancel_grace
        self._process: BaseProcess | None = None
        self._spawning: asyncio.Future[None] | None = None
        self._connection: Connection | None = None
        self._reader: threading.Thread | None = None
        self._inbox: deque[Message | SpecvizError | None] = deque()
        self._arrived = asyncio.Event()
        self._wake_pending = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._deaf_timer: asyncio.TimerHandle | None = None
        self._ended_as_deaf = False
        self._busy = False
        self._leaving = False
        self._log_path: Path | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.is_alive()

    async def start(self) -> EngineReady:
        """Start the process and wait until its libraries are loaded."""
        self._loop = asyncio.get_running_loop()
        # shielded: a start that is cancelled half-way must leave a process that can be ended
        self._spawning = asyncio.ensure_future(asyncio.to_thread(self._spawn))
        await asyncio.shield(self._spawning)
        self._reader = threading.Thread(target=self._read, name="engine-reader", daemon=True)
        self._reader.start()
        try:
            async with asyncio.timeout(START_SECONDS):
                message = await self._next()
        except TimeoutError:
            await self.close()
            raise EngineDied(
                "The engine did not start within two minutes.", log_tail=self.log_tail()
            ) from None
        if isinstance(message, Failed):
            await self.close()
            raise _error_of(message)
        if not isinstance(message, EngineReady):
            await self.close()
            raise EngineDied("The engine did not introduce itself.", log_tail=self.log_tail())
        self.ready = message
        return message

    def _spawn(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=True)
        descriptor, name = tempfile.mkstemp(prefix="specviz-engine-", suffix=".log")
        os.close(descriptor)
        self._log_path = Path(name)
        options = entry.WorkerOptions(
            script=str(self._script) if self._script else None,
            safe_mode=self._safe_mode,
            log_path=name,
        )
        self._process = context.Process(
            target=entry.main, args=(theirs, options), name="specviz-engine", daemon=True
        )
        self._process.start()
        theirs.close()
        self._connection = ours

    async def request(self, command: Command) -> AsyncIterator[Message]:
        """Send a command; its notices and events up to, and with, the closing `Done`.

        Raises the SpecvizError that the engine answered with, or EngineDied.
        """
        if self._busy:
            raise RuntimeError("a command is under way already")
        self._busy = True
        try:
            self._send(command)
            breath = time.monotonic()
            while True:
                message = await self._next()
                if isinstance(message, Failed):
                    raise _error_of(message)
                yield message
                if isinstance(message, Done):
                    return
                # messages that lie ready are taken without waiting: let the loop do its other work
                if time.monotonic() - breath > BREATH_SECONDS:
                    await asyncio.sleep(0)
                    breath = time.monotonic()
        finally:
            self._busy = False
            self._disarm()

    def cancel(self) -> None:
        """Ask the command under way to stop; end the process if it is deaf."""
        if not self._busy or self._loop is None or self._deaf_timer is not None:
            return
        with contextlib.suppress(EngineDied):
            self._send(Cancel())
        self._deaf_timer = self._loop.call_later(self._grace, self._end_deaf)

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None and self._process.is_alive():
            self._process.kill()

    async def close(self) -> None:
        """Leave in good order, or by force; returns when the process is gone."""
        self._leaving = True
        self._disarm()
        if self._spawning is not None:
            await asyncio.wait([self._spawning])
        with contextlib.suppress(EngineDied):
            self._send(Cancel())
            self._send(Shutdown())
        await asyncio.to_thread(self._reap)
        if self._log_path:
            with contextlib.suppress(OSError):
                self._log_path.unlink(missing_ok=True)

    def log_tail(self) -> str:
        """The last lines of the engine's log."""
        if self._log_path is None:
            return ""
        try:
            with open(self._log_path, "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(file.tell() - LOG_TAIL_BYTES, 0))
                return file.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""

    # Inside --------------------------------------------------------------------------------------
    def _send(self, command: Command) -> None:
        if self._connection is None:
            raise EngineDied("The engine is not running.")
        try:
            self._connection.send_bytes(
                codec.dumps(codec.tagged(command)).encode("utf-8", "surrogatepass")
            )
        except (OSError, ValueError):
            if not self._leaving:
                log.info("the engine is gone while a command is sent")

    def _read(self) -> None:
        """The reader thread: messages from the pipe to the inbox, until the pipe ends."""
        connection, loop = self._connection, self._loop
        assert connection is not None and loop is not None
        try:
            while True:
                data = connection.recv_bytes(MAX_MESSAGE_BYTES)
                message = codec.untag(codec.loads(data), NOTICE_KINDS)
                if message is not None:
                    self._deliver(message)
                # being woken for every step takes time from an engine that uses all cores
                if isinstance(message, StepVerified) and not connection.poll():
                    time.sleep(self.gather_seconds)
        except (EOFError, OSError):
            self._deliver(_END)
        except TraceError:
            self.kill()
            self._deliver(
                EngineDied(
                    "The engine sent something that makes no sense and was ended.",
                    "Start it again to go on.",
                    log_tail=self.log_tail(),
                )
            )

    def _deliver(self, message: Message | SpecvizError | None) -> None:
        """Put into the inbox; wakes the loop once for many messages."""
        assert self._loop is not None
        self._inbox.append(message)
        if not self._wake_pending:
            self._wake_pending = True
            with contextlib.suppress(RuntimeError):  # the loop was closed before us
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._wake_pending = False
        self._arrived.set()

    async def _next(self) -> Message:
        while not self._inbox:
            self._arrived.clear()
            if not self._inbox:
                await self._arrived.wait()
        message = self._inbox.popleft()
        if message is _END:
            self._inbox.append(_END)
            raise await asyncio.to_thread(self._cause_of_death)
        if isinstance(message, SpecvizError):
            self._inbox.append(_END)
            raise message
        return message

    def _cause_of_death(self) -> EngineDied:
        code = None
        if self._process is not None:
            self._process.join(5)
            code = self._process.exitcode
        tail = self.log_tail()
        if self._ended_as_deaf:
            return EngineDied(
                "The engine did not stop when asked and was ended.",
                "The models have to be loaded again.",
                exit_code=code,
                log_tail=tail,
            )
        return EngineDied(
            f"The engine stopped: {describe_exit(code)}.",
            "The tokens so far are kept. Start the engine again to go on.",
            exit_code=code,
            log_tail=tail,
        )

    def _end_deaf(self) -> None:
        self._deaf_timer = None
        if self._busy:
            self._ended_as_deaf = True
            self.kill()

    def _disarm(self) -> None:
        if self._deaf_timer is not None:
            self._deaf_timer.cancel()
            self._deaf_timer = None

    def _reap(self) -> None:
        process = self._process
        if process is not None:
            process.join(LEAVE_SECONDS)
            if process.is_alive():
                process.terminate()
                process.join(0.5)
            if process.is_alive():
                process.kill()
                process.join()
        if self._reader is not None:
            self._reader.join(2)
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if process is not None:
            process.close()
            self._process = None


def _error_of(failed: Failed) -> SpecvizError:
    error = ERRORS.get(failed.kind, EngineError)(failed.message, failed.hint)
    error.role = failed.role.value if failed.role else None
    return error


def describe_exit(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "its end could not be observed"
    words = WINDOWS_CODES.get(code & 0xFFFFFFFF)
    if words:
        return f"{words} (code 0x{code & 0xFFFFFFFF:08X})"
    if code < 0:
        names = {
            "SIGSEGV": "a memory fault",
            "SIGILL": "an illegal instruction",
            "SIGABRT": "an abort",
            "SIGKILL": "killed from outside",
            "SIGBUS": "a memory fault",
            "SIGFPE": "an arithmetic fault",
        }
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "unknown"
        return f"{names.get(name, 'ended by a signal')} (signal {-code}, {name})"
    return f"exit code {code}"


def died_in_native_code(code: int | None) -> bool:
    """Whether an exit code is that of a crash, not of a decision or of a kill from outside."""
    if code is None:
        return False
    if code & 0xFFFFFFFF in WINDOWS_CODES:
        return True
    if code < 0:
        crashes = ("SIGSEGV", "SIGILL", "SIGABRT", "SIGBUS", "SIGFPE")
        return any(-code == getattr(signal, name, None) for name in crashes)
    return False
