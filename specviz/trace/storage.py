"""The trace file: JSON lines, a header and then one event a line, written as they arrive.

A crash leaves a readable file. Readers accept older versions, refuse newer ones in a sentence,
skip unknown fields and unknown kinds of event, and read a file cut off at any byte up to its last
whole line. Trace files are untrusted input: types, counts and lengths are checked while reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, get_args

from specviz import __version__
from specviz.errors import FileError, TraceError
from specviz.trace import codec
from specviz.trace.events import RunEvent
from specviz.trace.trace import Trace

SUFFIX = ".specviz.jsonl"
SCHEMA = "specviz.trace"
VERSION = 1
MAX_LINE_BYTES = 16 * 1024 * 1024

EVENT_KINDS: dict[str, type] = {kind.__name__: kind for kind in get_args(RunEvent)}


class TraceWriter:
    """Writes events as they arrive. Use as a context manager, or close it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: TextIO = path.open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise cannot_write(path, error) from None
        header = {
            "schema": f"{SCHEMA}/{VERSION}",
            "version": VERSION,
            "specviz_version": __version__,
        }
        try:
            self._line(header)
        except FileError:
            with suppress(OSError):
                self._file.close()
            raise

    def write(self, event: RunEvent) -> None:
        self._line(codec.tagged(event))

    def _line(self, value: Any) -> None:
        try:
            self._file.write(codec.dumps(value) + "\n")
            self._file.flush()
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_trace(trace: Trace, path: Path) -> None:
    """Store a whole trace."""
    with TraceWriter(path) as writer:
        for event in events_of(trace):
            writer.write(event)


def events_of(trace: Trace) -> Iterator[RunEvent]:
    """The events that a trace was folded from, in order."""
    if trace.started:
        yield trace.started
    yield from trace.preparations
    yield from trace.steps
    closing = trace.finished or trace.failed
    if closing:
        yield closing


def read_trace(path: Path) -> Trace:
    """A stored trace. `incomplete` is set when it has no closing event.

    Raises FileError when the file cannot be read and TraceError when it is no trace of ours.
    """
    trace = Trace()
    try:
        with open(path, "rb") as file:
            _check_header(_read_line(file, path, 1), path)
            number = 1
            while True:
                number += 1
                line = _read_line(file, path, number)
                if line is None:
                    break
                if not line.endswith(b"\n"):
                    trace.unreadable_tail = True
                    break
                try:
                    event = codec.untag(codec.loads(line), EVENT_KINDS)
                    if event is not None:
                        trace.append(event)
                except TraceError as error:
                    raise TraceError(
                        f"{path.name} is damaged at line {number}: {error.message}"
                    ) from None
    except OSError as error:
        raise FileError(f"{path.name} cannot be read: {reason_of(error)}.") from None
    if trace.started is None:
        raise TraceError(f"{path.name} holds no run.")
    return trace


def _read_line(file: Any, path: Path, number: int) -> bytes | None:
    line: bytes = file.readline(MAX_LINE_BYTES + 1)
    if len(line) > MAX_LINE_BYTES:
        raise TraceError(f"Line {number} of {path.name} is too long for a trace.")
    return line or None


def _check_header(line: bytes | None, path: Path) -> None:
    not_ours = TraceError(
        f"{path.name} is not a SpecViz trace.",
        f"Traces end in {SUFFIX} and are written by SpecViz.",
    )
    if line is None:
        raise not_ours
    try:
        header = codec.loads(line)
    except TraceError:
        raise not_ours from None
    schema = header.get("schema") if isinstance(header, dict) else None
    if not isinstance(schema, str) or not schema.startswith(SCHEMA + "/"):
        raise not_ours
    version = schema.partition("/")[2]
    if not version.isdecimal() or len(version) > 6:
        raise not_ours
    if int(version) > VERSION:
        raise TraceError(
            f"{path.name} was written by a newer SpecViz (trace version {version}; "
            f"this one reads up to {VERSION}).",
            "Update SpecViz to open it.",
        )


def reason_of(error: OSError) -> str:
    """The system's own words for a failed file operation, without number and path."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def cannot_write(path: Path, error: OSError) -> FileError:
    """The error for a file that cannot be written, with the system's reason."""
    return FileError(
        f"{path} cannot be written: {reason_of(error)}.", "Choose another folder, or make room."
    )
