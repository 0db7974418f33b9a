"""What the window is set to do: one prompt with or without drafting, or a sweep of settings.

A mode of the window, not of a run: a sweep makes runs of both modes.
"""

from __future__ import annotations

from enum import StrEnum

from specviz.trace.config import RunMode


class WindowMode(StrEnum):
    """The choices of the mode control, in its order."""

    BASELINE = "baseline"
    SPECULATIVE = "speculative"
    SWEEP = "sweep"

    @property
    def run_mode(self) -> RunMode:
        """What the settings are for; a sweep is about drafting."""
        return RunMode.BASELINE if self is WindowMode.BASELINE else RunMode.SPECULATIVE


def remembered_mode(stored: object) -> WindowMode:
    """The mode that was stored; anything unknown is the mode of a first start."""
    return next((mode for mode in WindowMode if mode.value == stored), WindowMode.SPECULATIVE)
