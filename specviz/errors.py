"""Errors a user can understand. Each is one sentence, with a hint on what to do next.

Everything that reaches a user (window or terminal) derives from `SpecvizError`. The exit code is
the one the command line leaves with; see README.md for the list.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line. Scripts rely on them; add, do not renumber."""

    DONE = 0
    USAGE = 2
    PAIR_REFUSED = 3
    UNREADABLE = 4
    ENGINE_DIED = 5
    RUN_FAILED = 6
    INTERRUPTED = 130


class SpecvizError(Exception):
    """Base of all our errors: one sentence (`message`) and what to do about it (`hint`)."""

    exit_code = ExitCode.USAGE
    role: str | None = None
    """Which model the error is about, `target` or `draft`, where it is about one."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class SettingError(SpecvizError):
    """A setting, or a combination of settings, that cannot work."""


class PairError(SpecvizError):
    """The draft cannot serve this target."""

    exit_code = ExitCode.PAIR_REFUSED


class FileError(SpecvizError):
    """A file that cannot be read, loaded or written."""

    exit_code = ExitCode.UNREADABLE


class TraceError(FileError):
    """A trace file, or an event in it, that breaks the rules of the format."""


class ScriptError(FileError):
    """A script for the scripted engine that contradicts itself; names the place."""


class EngineError(SpecvizError):
    """The engine could not do what it was asked, and lives."""

    exit_code = ExitCode.UNREADABLE


class EngineDied(SpecvizError):
    """The engine process ended by itself. `log_tail` holds its last words."""

    exit_code = ExitCode.ENGINE_DIED

    def __init__(
        self, message: str, hint: str = "", *, exit_code: int | None = None, log_tail: str = ""
    ) -> None:
        super().__init__(message, hint)
        self.process_exit_code = exit_code
        self.log_tail = log_tail
