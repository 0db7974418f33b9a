"""Stored runs, read to be shown: one, or a pair that lies side by side."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from specviz.trace.comparison import same_task
from specviz.trace.config import RunMode
from specviz.trace.storage import read_trace
from specviz.trace.trace import Trace
from specviz.ui.exports import partner_of


@dataclass(frozen=True, slots=True)
class StoredRuns:
    """What a file and its partner hold. `cut_short`: the file ends before its run does."""

    baseline: Trace | None
    speculative: Trace | None
    cut_short: bool

    @property
    def mode(self) -> RunMode:
        """The mode in which all of it can be seen."""
        return RunMode.SPECULATIVE if self.speculative else RunMode.BASELINE


async def read_runs(path: Path) -> StoredRuns:
    """Read a stored run, with its partner when that lies beside it and did the same task.

    Raises FileError or TraceError.
    """
    trace = await asyncio.to_thread(read_trace, path)
    pair: dict[RunMode, Trace] = {trace.mode: trace}
    partner = partner_of(path, trace.mode)
    if partner is not None:
        other = await asyncio.to_thread(read_trace, partner)
        if same_task(trace, other):
            pair.setdefault(other.mode, other)
    return StoredRuns(
        pair.get(RunMode.BASELINE),
        pair.get(RunMode.SPECULATIVE),
        bool(trace.unreadable_tail or trace.incomplete),
    )
