"""The draw clock: when views take in what is new. Knows nothing of what they draw.

Data arrives on one path and is drawn on another: curves and tokens at most 30 times a second,
figures, which cannot be read faster, 4 times. Where the engine computes on every core, drawing
takes its time from the engine, so the clock slows down until the window keeps to its share.
Idle, the clock stands still.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from specviz.trace.events import Scalar

FRAME_MS = 34
FIGURES_MS = 250
SLOWEST_MS = 400
FREE_SHARE = 0.5
"""Of a processor, for a window that takes nothing from the engine."""

SHARED_SHARE = 0.02
"""Of a processor, where the engine uses them all: a step waits for its slowest thread, so every
share that the window takes of one core is one that the whole engine loses."""


class DrawClock(QObject):
    """Ticks while running, and once more after `stop`, so that the last events are drawn.

    Signals:
        frame: time to draw text and curves.
        figures: time to draw digits.
    """

    frame = Signal()
    figures = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._share = FREE_SHARE
        self._used = 0.0
        self._figures_at = 0.0
        self._ticks = QTimer(self)
        self._ticks.setTimerType(Qt.TimerType.PreciseTimer)
        self._ticks.setSingleShot(True)
        self._ticks.timeout.connect(self._tick)
        self._last = QTimer(self)
        self._last.setSingleShot(True)
        self._last.setInterval(0)
        self._last.timeout.connect(self.frame)
        self._last.timeout.connect(self.figures)

    @property
    def running(self) -> bool:
        return self._ticks.isActive()

    def set_shared(self, shared: bool) -> None:
        """Whether the engine computes on the very cores that the window draws with."""
        self._share = SHARED_SHARE if shared else FREE_SHARE

    def start(self) -> None:
        """Tick from now on; nothing changes when already ticking."""
        self._last.stop()
        if not self.running:
            self._used = time.thread_time()
            self._figures_at = time.monotonic()
            self._ticks.start(FRAME_MS)

    def stop(self) -> None:
        """Tick once more, when control is back in the event loop, then stand still."""
        if self.running:
            self._ticks.stop()
            self._last.start()

    def _tick(self) -> None:
        # the next tick first: what is connected may stop the clock
        self._ticks.start(self._pause_ms())
        now = time.monotonic()
        figures = (now - self._figures_at) * 1000 >= FIGURES_MS
        self.frame.emit()
        if figures:
            self._figures_at = now
            self.figures.emit()

    def _pause_ms(self) -> int:
        """Long enough for all that this thread did since the tick before to be its share."""
        used = time.thread_time()
        cost_ms = (used - self._used) * 1000
        self._used = used
        return pause_ms(cost_ms, self._share)


def pause_ms(cost_ms: float, share: float) -> int:
    """Milliseconds from one tick to the next, when what happened since the last took `cost_ms`."""
    return round(min(max(cost_ms / share, FRAME_MS), SLOWEST_MS))


def computes_on_all_cores(effective: Mapping[str, Scalar], n_cores: int) -> bool:
    """Whether a run with these settings in effect leaves no core to the window."""
    threads = effective.get("target_n_threads")
    return (
        isinstance(threads, int) and threads >= n_cores and not effective.get("target_n_gpu_layers")
    )
