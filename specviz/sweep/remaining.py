"""How long the rest of a sweep will take, judged by the runs there were.

Prompts differ in length and settings in speed: a setting is expected to take what it took on other
prompts, times what this prompt takes compared with them where the same settings were run.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from specviz.trace.metrics import ratio

Run = tuple[int, int | None]
"""Prompt and point; the point is None for a baseline."""

Times = dict[int | None, float]
"""Seconds by point."""


class RunTimes:
    """Wall-clock seconds of whole runs."""

    def __init__(self) -> None:
        self._seconds: dict[Run, list[float]] = {}

    def add(self, prompt: int, point: int | None, seconds: float) -> None:
        """Take in what a run took."""
        self._seconds.setdefault((prompt, point), []).append(seconds)

    def remaining(self, runs: Iterable[Run]) -> float | None:
        """Seconds that these runs are expected to take; None before anything was measured."""
        if not self._seconds:
            return None
        known: dict[int, Times] = {}
        for (prompt, point), seconds in self._seconds.items():
            known.setdefault(prompt, {})[point] = fmean(seconds)
        expected: dict[int, Times] = {}
        usual = fmean(seconds for times in known.values() for seconds in times.values())
        total = 0.0
        for prompt, point in runs:
            if prompt not in expected:
                expected[prompt] = _expected(known.get(prompt, {}), known)
            own = known.get(prompt)
            fallback = fmean(own.values()) if own else usual
            total += expected[prompt].get(point, fallback)
        return total


def _expected(own: Times, known: dict[int, Times]) -> Times:
    """What each point is expected to take on a prompt that took `own` so far."""
    scaled: dict[int | None, list[float]] = {}
    for times in known.values():
        shared = own.keys() & times.keys()
        scale = ratio(sum(own[p] for p in shared), sum(times[p] for p in shared)) or 1.0
        for point, seconds in times.items():
            scaled.setdefault(point, []).append(seconds * scale)
    return {point: fmean(seconds) for point, seconds in scaled.items()} | own
