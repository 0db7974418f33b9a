"""The draw clock: when views take in what is new. Knows nothing of what they draw.

Data arrives on one path and is drawn on another: curves and tokens at most 30 times a second,
figures, which cannot be read faster, 4 times. Idle, the clock stands still.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QTimer, Signal

FRAME_MS = 34
FIGURES_MS = 250


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
        self._frames = QTimer(self)
        self._frames.setTimerType(Qt.TimerType.PreciseTimer)
        self._frames.setInterval(FRAME_MS)
        self._frames.timeout.connect(self.frame)
        self._slow = QTimer(self)
        self._slow.setInterval(FIGURES_MS)
        self._slow.timeout.connect(self.figures)
        self._last = QTimer(self)
        self._last.setSingleShot(True)
        self._last.setInterval(0)
        self._last.timeout.connect(self.frame)
        self._last.timeout.connect(self.figures)

    @property
    def running(self) -> bool:
        return self._frames.isActive()

    def start(self) -> None:
        """Tick from now on; nothing changes when already ticking."""
        self._last.stop()
        if not self.running:
            self._frames.start()
            self._slow.start()

    def stop(self) -> None:
        """Tick once more, when control is back in the event loop, then stand still."""
        if self.running:
            self._frames.stop()
            self._slow.stop()
            self._last.start()
