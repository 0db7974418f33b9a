"""What the window remembers from one start to the next: settings, mode, places and choices."""

from __future__ import annotations

import asyncio
import logging

from specviz.errors import TraceError
from specviz.preferences import Preferences
from specviz.trace import codec
from specviz.trace.config import RunConfig
from specviz.ui.main_window import MainWindow
from specviz.ui.views import RunViews
from specviz.ui.window_mode import remembered_mode

log = logging.getLogger(__name__)

SAVE_DELAY_SECONDS = 1.0


class Remembering:
    """Takes up what was remembered, and writes it at once or a little later."""

    def __init__(self, preferences: Preferences, window: MainWindow, views: RunViews) -> None:
        self._preferences, self._window, self._views = preferences, window, views
        self._timer: asyncio.TimerHandle | None = None

    def restore(self) -> None:
        """Take up what was remembered; anything odd in it is left aside."""
        stored = self._preferences.get("run")
        if stored is not None:
            try:
                self._window.setup.apply_config(codec.from_json(RunConfig, stored))
            except TraceError as error:
                log.warning("remembered settings are left aside: %s", error)
        self._window.restore_state(self._preferences.get("window") or {})
        self._views.drafts.set_chart(self._preferences.get("draft_chart"))
        self._views.sweep.form.restore_state(self._preferences.get("sweep"))
        self._window.set_mode(remembered_mode(self._preferences.get("mode")))

    def remember(self) -> None:
        """Write everything now."""
        self._preferences.set("run", codec.to_json(self._window.setup.config()))
        self._preferences.set("window", self._window.state())
        self._preferences.set("mode", self._window.window_mode.value)
        self._preferences.set("sweep", self._views.sweep.form.state())
        self._preferences.set("draft_chart", self._views.drafts.chart)
        self._preferences.save()

    def remember_soon(self) -> None:
        """Write when nothing has changed any more for a moment."""
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(SAVE_DELAY_SECONDS, self.remember)
