"""What the set-up says: plain sentences, and one live line while something takes its time.

On a terminal the live line is redrawn in place; elsewhere (a log, CI) a line every 30 seconds
shows that work goes on. Knows nothing of what is being done.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

SECONDS_BETWEEN_LINES = 30.0
BAR_WIDTH = 24
SPINNER = "|/-\\"


class SetupError(Exception):
    """Something the person at the keyboard has to put right; one or more plain sentences."""


def say(text: str = "") -> None:
    """One line, at once."""
    print(text, flush=True)


def duration(seconds: float) -> str:
    """`7 s`, `3 min 05 s`."""
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def bar(done: int, total: int) -> str:
    """A bar of `BAR_WIDTH` characters."""
    filled = BAR_WIDTH * done // total if total else 0
    return "[" + "#" * filled + "." * (BAR_WIDTH - filled) + "]"


class LiveLine:
    """The line that shows a step going on. `detail` and `fraction` may change at any time."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.detail = ""
        self.fraction: tuple[int, int] | None = None
        self._started = self._last_line = time.monotonic()
        self._in_place = sys.stdout.isatty()
        self._turn = 0
        if not self._in_place:
            say(f"{title} ...")

    @property
    def seconds(self) -> float:
        """How long the step has taken so far."""
        return time.monotonic() - self._started

    def tick(self) -> None:
        """Draw; call a few times a second."""
        if self._in_place:
            self._draw()
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            say(f"  {self._progress()}{duration(self.seconds)} so far. {self.detail}".rstrip())

    def finish(self, outcome: str) -> None:
        """Leave a final line in place of the live one."""
        self._clear()
        say(f"{self.title}: {outcome} ({duration(self.seconds)}).")

    def pause(self) -> None:
        """Take the live line away, so that something else can be said."""
        self._clear()

    def _progress(self) -> str:
        return f"{self.fraction[0]} of {self.fraction[1]} done, " if self.fraction else ""

    def _draw(self) -> None:
        self._turn += 1
        parts = [SPINNER[self._turn % len(SPINNER)], self.title]
        if self.fraction:
            parts += [bar(*self.fraction), f"{self.fraction[0]}/{self.fraction[1]}"]
        parts += [duration(self.seconds), self.detail]
        line = "  ".join(part for part in parts if part)
        width = shutil.get_terminal_size().columns - 1
        print("\r" + line[:width].ljust(width), end="", flush=True)

    def _clear(self) -> None:
        if self._in_place:
            width = shutil.get_terminal_size().columns - 1
            print("\r" + " " * width + "\r", end="", flush=True)


def last_lines(log: Path, count: int = 12) -> list[str]:
    """The end of a log file."""
    try:
        return log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
    except OSError:
        return []
