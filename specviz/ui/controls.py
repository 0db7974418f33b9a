"""What can be done just now: every control brought in line with state, mode, setup and runs.

States and their actions are a table (states.py); reasons come from the parts that know them.
"""

from __future__ import annotations

from specviz.ui.dialogs import EXPORT_KINDS
from specviz.ui.dialogue import Dialogue
from specviz.ui.examination import Examination
from specviz.ui.examining import Examining
from specviz.ui.exports import Exports
from specviz.ui.main_window import MainWindow
from specviz.ui.run_orders import RunOrders
from specviz.ui.showing import Showing
from specviz.ui.states import Action, State, may
from specviz.ui.sweeping import Sweeping
from specviz.ui.views import RunViews


class Controls:
    """Enables and disables. Knows no work; asks the parts what is possible."""

    def __init__(
        self,
        window: MainWindow,
        views: RunViews,
        orders: RunOrders,
        dialogue: Dialogue,
        showing: Showing,
        exports: Exports,
        sweeping: Sweeping,
        examining: Examining,
        examination: Examination,
    ) -> None:
        self._window, self._views, self._orders = window, views, orders
        self._dialogue, self._showing, self._exports = dialogue, showing, exports
        self._sweeping = sweeping
        self._examining, self._examination = examining, examination

    def show(self, state: State) -> None:
        """Bring everything in line."""
        views, window, sweeping = self._views, self._window, self._sweeping
        busy = may(state, Action.STOP) or state is State.CANCELLING
        views.prompt_bar.set_running(busy)
        views.prompt_bar.set_blocked("" if busy else self._orders.why_not_run(window.mode))
        window.setup.set_locked(not may(state, Action.CHANGE_SETTINGS))
        idle = may(state, Action.CHANGE_MODELS)
        chat, talks = self._dialogue.chat, may(state, Action.EDIT_CHAT)
        self._show_hint()
        why_not_measure, speculative = self._examining.why_not_measure(), self._showing.shown()[1]
        self._examination.set_blocked(why_not_measure, busy=busy)
        views.conversation.set_editing(chat.editing, allowed=talks)
        sweeps = sweeping.on_show
        if sweeps:
            sweeping.show_plan()
        reason = sweeping.control.reason if sweeps else views.prompt_bar.reason
        window.set_enabled(
            run=may(state, Action.RUN) and not reason,
            stop=may(state, Action.STOP),
            run_again=self.may_run_again(state),
            chat=talks and bool(chat.turns) and not sweeps,
            models=idle,
            trace=may(state, Action.OPEN_TRACE),
            export=may(state, Action.EXPORT),
            restart=idle,
            measure=not why_not_measure and not sweeps,
            check=speculative is not None and not sweeps,
        )
        something = sweeping.control.has_figures if sweeps else bool(self._exports.traces())
        self._show_exports(something, sweeps)
        window.show_first_launch(state is State.EMPTY and not something)

    def _show_exports(self, something: bool, sweeps: bool) -> None:
        """Offer the exports of what is on show; the window itself can always be kept."""
        for kind in EXPORT_KINDS:
            of_window = kind.kind == "window-png"
            self._window.set_export_enabled(
                kind.kind,
                something or of_window,
                offered=of_window or kind.kind.startswith("sweep-") == sweeps,
            )

    def _show_hint(self) -> None:
        """What the next prompt will do to the conversation, where that is not plain."""
        self._dialogue.raw = self._orders.raw
        self._dialogue.lacks_template = self._orders.lacks_template
        editing = self._dialogue.chat.editing is not None
        self._views.prompt_bar.set_hint(self._dialogue.hint(), closable=editing)

    def may_run_again(self, state: State) -> bool:
        """Whether the newest turn can be measured again."""
        chat = self._dialogue.chat
        if not may(state, Action.RUN) or chat.newest is None or chat.editing is not None:
            return False
        if self._sweeping.on_show:
            return False
        return bool(chat.newest.prompt) and not self._orders.why_not_run(self._window.mode)
