"""The engine process: obeys commands one at a time, sends notices and events.

A reader thread takes commands off the pipe, so that Cancel works while the engine computes, and
ends the process when the other side is gone. Standard output and error go to the log file, native
last words included.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import io
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from specviz.engine.engine import Engine
from specviz.engine.hardware import physical_cores
from specviz.engine.model import Cancelled
from specviz.engine.script import Fault, read_script
from specviz.engine.scripted import ScriptedEngine
from specviz.errors import FileError, PairError, SettingError, SpecvizError
from specviz.trace import codec
from specviz.trace.config import Role
from specviz.trace.events import RunEvent, RunFailed
from specviz.worker.entry import WorkerOptions
from specviz.worker.protocol import (
    COMMAND_KINDS,
    Cancel,
    CheckLossless,
    Command,
    Devices,
    Done,
    EngineReady,
    Failed,
    ListDevices,
    Load,
    MeasureCosts,
    Notice,
    Requantise,
    Run,
    Shutdown,
    Unload,
)

log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 64 * 1024 * 1024


def serve(connection: Connection, options: WorkerOptions) -> None:
    """Run the engine process to its end."""
    _redirect_output(options.log_path)
    # Ctrl+C in a terminal reaches the whole group; the other side decides what it means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    host = Host(connection)
    try:
        engine = _make_engine(options, host)
    except SpecvizError as error:
        host.send(_failed(error))
        return
    host.serve(engine)


def _redirect_output(log_path: str) -> None:
    """Send everything this process prints, down to the file descriptors, to the log file."""
    descriptor = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)
    # a windowed program on Windows has no standard streams at all
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            io.FileIO(stream, "w", closefd=False), "utf-8", "replace", line_buffering=True
        )
        for stream in (1, 2)
    )
    faulthandler.enable(sys.stderr)
    # llama.cpp would otherwise start a debugger for its stack dump, which takes seconds
    os.environ["GGML_NO_BACKTRACE"] = "1"
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        force=True,
        format="%(levelname)s %(name)s: %(message)s",
    )


def _make_engine(options: WorkerOptions, host: Host) -> Engine:
    if options.script is not None:
        path = Path(options.script)
        return ScriptedEngine(
            read_script(path),
            path=path,
            safe_mode=options.safe_mode,
            on_fault=lambda fault: make_fault(fault, host.send_raw),
        )
    from specviz.engine.llama_engine import LlamaEngine

    return LlamaEngine(safe_mode=options.safe_mode)


class Host:
    """The child's side of the pipe."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        self._engine: Engine | None = None

    def send_raw(self, data: bytes) -> None:
        self._connection.send_bytes(data)

    def send(self, message: Notice | RunEvent) -> None:
        self.send_raw(codec.dumps(codec.tagged(message)).encode("utf-8", "surrogatepass"))

    def serve(self, engine: Engine) -> None:
        """Say that the engine is there, then obey until told to leave."""
        self._engine = engine
        threading.Thread(target=self._read_commands, name="commands", daemon=True).start()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send(
                EngineReady(
                    environment=engine.environment,
                    n_physical_cores=physical_cores(),
                    gpu_offload=engine.gpu_offload,
                )
            )
            while not isinstance(command := self._commands.get(), Shutdown):
                self._obey(engine, command)
        engine.unload()

    def _read_commands(self) -> None:
        try:
            while True:
                data = self._connection.recv_bytes(MAX_MESSAGE_BYTES)
                command = codec.untag(codec.loads(data), COMMAND_KINDS)
                if isinstance(command, Cancel):
                    self._cancelled.set()
                    if self._engine:
                        self._engine.abort()
                elif command is not None:
                    # cleared here, not by the engine, so that a Cancel close behind is not lost
                    self._cancelled.clear()
                    self._commands.put(command)
        except (EOFError, OSError):
            # the window's process is gone, perhaps killed: nobody is left to compute for
            os._exit(0)

    def _obey(self, engine: Engine, command: Command) -> None:
        try:
            self._dispatch(engine, command)
        except Cancelled:
            self.send(Done(cancelled=True))
        except SpecvizError as error:
            self.send(_failed(error))
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:  # the edge of the process: anything becomes an answer
            log.exception("command failed")
            self.send(
                Failed(
                    kind="engine",
                    message=f"The engine met a fault of its own: {_line(error)}.",
                    hint="The engine's log has the details.",
                )
            )

    def _dispatch(self, engine: Engine, command: Command) -> None:
        match command:
            case Load():
                engine.load(command.config, self.send, self._cancelled)
            case Run():
                self._run(engine, command)
            case MeasureCosts():
                engine.measure_costs(command, self.send, self._cancelled)
            case CheckLossless():
                engine.check_lossless(command, self.send, self._cancelled)
            case Unload():
                engine.unload()
            case ListDevices():
                self.send(Devices(devices=engine.devices()))
            case Requantise():
                from specviz.engine.llama.build import requantise

                requantise(Path(command.source), Path(command.destination))
            case _:
                return
        self.send(Done())

    def _run(self, engine: Engine, command: Run) -> None:
        last_t = -1.0
        events = engine.run(command, self.send, self._cancelled)
        try:
            for event in events:
                last_t = event.t
                self.send(event)
        except SpecvizError as error:
            # before its first event a run has not begun: then the command failed
            if last_t < 0:
                raise
            self.send(
                RunFailed(
                    run_id=command.run_id,
                    t=last_t,
                    kind=_kind(error),
                    message=error.message,
                    hint=error.hint,
                )
            )
        finally:
            _close(events)


def _close(events: Iterator[RunEvent]) -> None:
    close: Callable[[], None] | None = getattr(events, "close", None)
    if close:
        close()


def _kind(error: SpecvizError) -> str:
    if isinstance(error, SettingError):
        return "setting"
    if isinstance(error, PairError):
        return "pair"
    return "file" if isinstance(error, FileError) else "engine"


def _failed(error: SpecvizError) -> Failed:
    return Failed(
        kind=_kind(error),
        message=error.message,
        hint=error.hint,
        role=Role(error.role) if error.role else None,
    )


def _line(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200].rstrip(".")


def make_fault(fault: Fault, send_raw: Callable[[bytes], Any]) -> None:
    """Fail as the script wants it."""
    if fault.message:
        print(fault.message, file=sys.stderr, flush=True)
    match fault.kind:
        case "exit":
            os._exit(3)
        case "abort":
            os.abort()
        case "segv":
            ctypes.string_at(0)
        case "sigill":
            os.kill(os.getpid(), getattr(signal, "SIGILL", signal.SIGTERM))
        case "hang":
            while True:
                time.sleep(60)
        case "garbage":
            send_raw(b"\x00\xffgarbage\xfe")
