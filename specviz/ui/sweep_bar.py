"""The bar below the sweep's page: what a sweep comes to, why it cannot run, how far it is.

It stands where the other modes have the prompt, with its button in the same place.
"""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from specviz.sweep.runner import Progress
from specviz.ui.plain_text import ElidedLabel, describe, set_role
from specviz.ui.reading_column import reading_column
from specviz.ui.sweep_words import progress_words

HEIGHT = 76
BUTTON_WIDTH = 118


class SweepBar(QWidget):
    """One line of words, a thin bar while running, and the button.

    Signals:
        run_requested(): the sweep is to begin.
        stop_requested(): it is to be stopped.
    """

    run_requested = Signal()
    stop_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sweep-bar")
        self.setFixedHeight(HEIGHT)
        self._plan = self._blocked = self._note = ""
        self._running = False
        self._progress: Progress | None = None
        self._loading = ""
        self._told_at = 0.0
        self._ticks = QTimer(self)
        self._ticks.setInterval(1000)
        self._ticks.timeout.connect(self._show_progress)
        self._words = ElidedLabel("", "")
        self._words.setObjectName("sweep-plan")
        self._more = ElidedLabel("", "small")
        self._more.setObjectName("sweep-reason")
        self._bar = QProgressBar()
        self._bar.setObjectName("sweep-progress")
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName("Progress of the sweep")
        self._run = QPushButton("Run sweep")
        self._run.setObjectName("sweep-run-button")
        self._run.setProperty("kind", "accent")
        self._stop = QPushButton("Stop")
        self._stop.setObjectName("sweep-stop-button")
        describe(self._run, "Run sweep", "Measures every setting on every prompt (Ctrl+Enter).")
        describe(self._stop, "Stop", "Stops the sweep; what was measured is kept (Esc).")
        self._run.clicked.connect(self.run_requested)
        self._stop.clicked.connect(self._ask_to_stop)
        self._build()
        self._show_state()

    def _build(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(3)
        words.addStretch(1)
        words.addWidget(self._words)
        words.addWidget(self._bar)
        words.addWidget(self._more)
        words.addStretch(1)
        self._layout = QHBoxLayout(self)
        self._layout.setSpacing(16)
        self._layout.addLayout(words, 1)
        for button in (self._run, self._stop):
            button.setFixedHeight(36)
            button.setMinimumWidth(BUTTON_WIDTH)
            self._layout.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)

    # What it is told -------------------------------------------------------------------------
    def show_plan(self, words: str, *, blocked: str, note: str = "") -> None:
        """What the sweep comes to; why it cannot run, if so; `note`: what it leaves out."""
        if (words, blocked, note) != (self._plan, self._blocked, self._note):
            self._plan, self._blocked, self._note = words, blocked, note
            self._show_state()

    def set_running(self, running: bool) -> None:
        """Offer Stop while running."""
        if running == self._running:
            return
        self._running = running
        self._progress, self._loading = None, ""
        had_focus = self._run.hasFocus() or self._stop.hasFocus()
        self._stop.setEnabled(True)
        self._stop.setText("Stop")
        self._bar.setRange(0, 0 if running else 1)
        self._show_state()
        if had_focus:
            (self._stop if running else self._run).setFocus()
        if running:
            self._ticks.start()
        else:
            self._ticks.stop()

    def show_progress(self, progress: Progress) -> None:
        """How far the sweep is, and what runs now."""
        self._progress, self._told_at = progress, time.monotonic()
        self._bar.setRange(0, progress.n_total)
        self._bar.setValue(progress.n_done)
        self._show_progress()

    def show_loading(self, words: str) -> None:
        """What is made ready before the next run; with no words it is ready."""
        if words != self._loading:
            self._loading = words
            self._show_progress()

    @property
    def reason(self) -> str:
        """Why the sweep cannot run, in a sentence; empty when it can."""
        return self._blocked

    def text(self) -> str:
        """The words that are shown."""
        return "\n".join(each for each in (self._words.text(), self._more.text()) if each)

    # Showing ---------------------------------------------------------------------------------
    def _show_progress(self) -> None:
        progress = self._progress
        if self._loading:
            self._words.setText(self._loading)
            return
        if progress is None:
            return
        remaining = progress.remaining_seconds
        if remaining is not None:
            remaining = max(remaining - (time.monotonic() - self._told_at), 0.0)
        self._words.setText(
            progress_words(
                progress.n_done, progress.n_total, remaining, progress.prompt, progress.label
            )
        )

    def _show_state(self) -> None:
        self._run.setVisible(not self._running)
        self._stop.setVisible(self._running)
        self._bar.setVisible(self._running)
        self._run.setEnabled(not self._blocked)
        hint = self._blocked or "Measures every setting on every prompt (Ctrl+Enter)."
        self._run.setToolTip(hint)
        self._run.setAccessibleDescription(hint)
        self._words.setText("Starting…" if self._running else self._plan)
        below = "" if self._running else self._blocked or self._note
        self._more.setText(below)
        self._more.setToolTip(below)
        self._more.setVisible(bool(below))
        set_role(self._more, "hint" if self._blocked else "small")

    def _ask_to_stop(self) -> None:
        self._stop.setEnabled(False)
        self._stop.setText("Stopping…")
        self.stop_requested.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        left, width = reading_column(self.width())
        self._layout.setContentsMargins(left, 0, self.width() - left - width, 0)
        super().resizeEvent(event)
