"""How long the rest of a sweep will take, judged by the runs there were.

Prompts differ in length and settings in speed, so each run is expected to take what its prompt
takes, times what its setting takes compared with others on the same prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

Run = tuple[int, int | None]
"""Prompt and point; the point is None for a baseline."""


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
        known = {run: fmean(seconds) for run, seconds in self._seconds.items()}
        by_prompt: dict[int, list[float]] = {}
        for (prompt, _), seconds in known.items():
            by_prompt.setdefault(prompt, []).append(seconds)
        prompts = {prompt: fmean(seconds) for prompt, seconds in by_prompt.items()}
        factors: dict[int | None, list[float]] = {}
        for (prompt, point), seconds in known.items():
            if prompts[prompt] > 0:
                factors.setdefault(point, []).append(seconds / prompts[prompt])
        any_prompt = fmean(prompts.values())
        return sum(
            known[prompt, point]
            if (prompt, point) in known
            else prompts.get(prompt, any_prompt) * fmean(factors.get(point, [1.0]))
            for prompt, point in runs
        )
