"""Python's cyclic garbage collection, kept in the thread that Qt's objects live in.

The collector runs in whichever thread allocates next. Widgets and timers in a reference cycle would
then be destroyed in a thread that reads a file or the engine's pipe, which ends the process.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, Qt, QTimer

INTERVAL_MS = 1000


class MainThreadCollector(QObject):
    """Collects once a second where the automatic collector, now switched off, would have."""

    def __init__(self, parent: QObject, interval_ms: int = INTERVAL_MS) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.CoarseTimer)
        self._timer.setInterval(interval_ms)
        self._timer.timeout.connect(self.collect_if_due)
        self._timer.start()

    def collect_if_due(self) -> int | None:
        """Collect the oldest generation that is due; which one it was, None for none."""
        for generation in (2, 1, 0):
            threshold = gc.get_threshold()[generation]
            if threshold and gc.get_count()[generation] > threshold:
                gc.collect(generation)
                return generation
        return None
