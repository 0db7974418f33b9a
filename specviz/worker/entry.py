"""The function that the engine process starts in.

The window's process must be able to name it without loading the engine, so the engine is imported
when it is called, in the child.
"""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.connection import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How to start the engine process. `script`: play this file instead of loading models."""

    script: str | None
    safe_mode: bool
    log_path: str


def main(connection: Connection, options: WorkerOptions) -> None:
    """Serve commands until told to leave, or until the window's process is gone."""
    from specviz.worker.host import serve

    serve(connection, options)
