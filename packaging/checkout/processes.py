"""Runs a command with its output in a log file and a live line on the terminal.

Ctrl+C ends the command before it ends us. Knows nothing of what the command is.
"""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from checkout.terminal import LiveLine

TICK_SECONDS = 0.2
GRACE_SECONDS = 5.0

Watch = Callable[[str, LiveLine], None]
"""Is shown every line of output, and may change the live line."""


def pip_environment(**settings: str) -> dict[str, str]:
    """Our environment for pip, which keeps its own configuration but for what breaks a venv."""
    ours = {**os.environ, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**ours, **{name: value for name, value in settings.items() if value}}


def run_logged(
    command: Sequence[str | Path],
    log: Path,
    line: LiveLine,
    watch: Watch | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> int:
    """Run to the end and return the exit code; all output is added to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [os.fspath(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=dict(environment) if environment is not None else None,
        cwd=folder,
    )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(process, lines), daemon=True).start()
    try:
        with open(log, "a", encoding="utf-8") as file:
            file.write("$ " + " ".join(os.fspath(part) for part in command) + "\n")
            _follow(lines, file.write, line, watch)
        return process.wait()
    except BaseException:
        _end(process)
        raise


def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout as output:
        for text in output:
            lines.put(text)
    lines.put(None)


def _follow(
    lines: queue.SimpleQueue[str | None],
    write: Callable[[str], object],
    line: LiveLine,
    watch: Watch | None,
) -> None:
    while True:
        try:
            text = lines.get(timeout=TICK_SECONDS)
        except queue.Empty:
            line.tick()
            continue
        if text is None:
            return
        write(text)
        if watch:
            watch(text.rstrip(), line)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
