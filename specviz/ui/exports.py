"""Everything the window hands on: pictures, tables, summary, trace, text.

Figures come from the traces, never from widgets. Writing happens in a thread where it may take
longer than a frame; pictures are painted here, because only this side has Qt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QWidget

from specviz.errors import SettingError
from specviz.export.csv_tables import write_csv
from specviz.export.summary_json import write_summary
from specviz.trace.config import RunMode
from specviz.trace.storage import SUFFIX, write_trace
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.conversation import Conversation
from specviz.ui.screenshot import save_conversation_png, save_window_png

Shown = tuple[Trace | None, Trace | None]
"""Baseline and speculative run on show."""


class Exports:
    """Writes what is on show."""

    def __init__(
        self, window: QWidget, conversation: Conversation, shown: Callable[[], Shown]
    ) -> None:
        self._window = window
        self._conversation = conversation
        self._shown = shown

    async def write(self, kind: str, path: Path) -> list[Path]:
        """Write one kind of export (dialogs.EXPORT_KINDS); the paths that came of it.

        Raises FileError, with nothing half-written, or SettingError where there is nothing yet.
        """
        if kind == "window-png":
            return [*as_list(save_window_png(self._window, path))]
        traces = self.traces()
        if not traces:
            raise SettingError("There is no run to export yet.", "Run something first.")
        if kind == "conversation-png":
            return [*as_list(save_conversation_png(self._conversation, path))]
        if kind == "csv":
            return await asyncio.to_thread(write_csv, traces, path)
        if kind == "json":
            await asyncio.to_thread(write_summary, traces, path)
            return [path]
        if kind == "trace":
            return await asyncio.to_thread(_write_traces, traces, path)
        raise ValueError(f"no export called {kind}")

    def traces(self) -> list[Trace]:
        """The runs on show that have begun, baseline first."""
        return [trace for trace in self._shown() if trace is not None and trace.started]

    def text(self) -> str:
        """The answer on show, exactly."""
        traces = self.traces()
        return traces[-1].text if traces else ""

    def suggested_name(self) -> str:
        """A file name without ending, from the target's name."""
        traces = self.traces()
        started = traces[-1].started if traces else None
        name = started.target.name if started else "specviz"
        safe = "".join(c if c.isalnum() or c in " -_." else "-" for c in name).strip(" .")
        return (safe or "specviz")[:60]


def as_list(paths: Path | list[Path] | tuple[Path, ...]) -> list[Path]:
    """One path or several, as a list."""
    return [paths] if isinstance(paths, Path) else list(paths)


def _write_traces(traces: list[Trace], path: Path) -> list[Path]:
    """One file for each run; with two, the mode goes in front of the ending."""
    if len(traces) == 1:
        write_trace(traces[0], path)
        return [path]
    written = []
    for trace in traces:
        one = with_mode(path, trace.mode)
        write_trace(trace, one)
        written.append(one)
    return written


def with_mode(path: Path, mode: RunMode) -> Path:
    """`run.specviz.jsonl` becomes `run.baseline.specviz.jsonl`."""
    stem = path.name.removesuffix(SUFFIX)
    for known in RunMode:
        stem = stem.removesuffix(f".{known.value}")
    return path.with_name(f"{stem}.{mode.value}{SUFFIX}")


def partner_of(path: Path, mode: RunMode) -> Path | None:
    """The trace of the other mode that lies beside this one, if there is one."""
    if not path.name.endswith(f".{mode.value}{SUFFIX}"):
        return None
    other = RunMode.BASELINE if mode is RunMode.SPECULATIVE else RunMode.SPECULATIVE
    partner = with_mode(path, other)
    return partner if partner.is_file() else None


def written_words(paths: list[Path]) -> str:
    """What is said after an export."""
    if len(paths) == 1:
        return f"Written: {paths[0]}"
    names = ", ".join(path.name for path in paths[:4])
    more = "" if len(paths) <= 4 else f" and {figures.count(len(paths) - 4)} more"
    return f"Written to {paths[0].parent}: {names}{more}"
