"""When costs are measured and outputs are checked: on a wish, or unasked at the end of a run.

examination.py knows what to ask of the engine; this knows when it may be asked.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from specviz.trace.config import LoadConfig, Message, RunConfig, RunMode
from specviz.ui.background import Background
from specviz.ui.dialogue import Dialogue
from specviz.ui.examination import Examination
from specviz.ui.examples import load_examples
from specviz.ui.main_window import MainWindow
from specviz.ui.run_orders import NO_TARGET, RunOrders
from specviz.ui.showing import Showing
from specviz.ui.states import Action, State, may
from specviz.ui.views import RunViews


class Host(Protocol):
    """What examining needs of the window around it."""

    @property
    def state(self) -> State:
        """Where the program stands."""

    def begin_work(self, state: State, load: LoadConfig | None) -> None:
        """The engine is at work from now on, with this in memory."""

    def rest(self) -> None:
        """Nothing is under way any more."""

    def show_end(self) -> None:
        """Nothing more comes of the runs on show."""

    def stop(self) -> None:
        """Stop what is under way."""


class Examining:
    """Starts examinations of the runs on show, one at a time."""

    def __init__(
        self,
        window: MainWindow,
        views: RunViews,
        orders: RunOrders,
        dialogue: Dialogue,
        examination: Examination,
        showing: Showing,
        background: Background,
        host: Host,
    ) -> None:
        self._window, self._orders, self._dialogue = window, orders, dialogue
        self._prompt_bar, self._conversation = views.prompt_bar, views.conversation
        self._examination, self._showing = examination, showing
        self._background = background
        self._host = host

    # Costs -------------------------------------------------------------------------------------
    def why_not_measure(self) -> str:
        """Why costs cannot be measured, in a sentence; empty when they can."""
        if self._host.state is State.EXAMINING:
            return "Something is being examined already."
        if not self._orders.ready:
            return NO_TARGET
        if not may(self._host.state, Action.EXAMINE):
            return "Costs can be measured when the run has ended."
        return self._orders.why_not(self._measured_config())

    def measure_costs(self) -> None:
        """Measure what checks and drafts cost with the models and settings as they are."""
        if not self.why_not_measure():
            config = self._measured_config()
            self._examine(self._examination.measure(config), config)

    def _measured_config(self) -> RunConfig:
        """What costs are measured for: the text at hand, and always with drafts."""
        chat = self._dialogue.chat
        messages = chat.messages() if chat.newest is not None and chat.newest.prompt else ()
        if not messages:
            typed = self._prompt_bar.prompt
            text = typed if typed.strip() else load_examples()[0].prompt
            messages = (Message(role="user", text=text),)
        return self._orders.config(RunMode.SPECULATIVE, messages)

    # Outputs -----------------------------------------------------------------------------------
    def show_check(self) -> None:
        """Show what is known of the output; from there it can be checked again."""
        first = self._examination.panel is None
        panel = self._examination.open_panel(self._window)
        if first:
            panel.check_requested.connect(self.check_again)
            panel.cancel_requested.connect(self._host.stop)

    def check_again(self) -> None:
        """Evaluate every step of the run on show anew, on fresh memory."""
        config = self._examination.check_config()
        if config is None or self._examination.why_not_check:
            return
        if may(self._host.state, Action.EXAMINE):
            self._examine(self._examination.check_again(self._showing.comparison), config)

    async def look_at_fork(self, load: LoadConfig) -> None:
        """Have the engine look at a fork between greedy runs before anybody asks.

        `load`: what these runs have left in memory.
        """
        if self._host.state is not State.RUNNING:
            return
        comparison = self._showing.compare()
        if self._examination.wants_a_look(comparison):
            self._host.begin_work(State.EXAMINING, load)
            self._host.show_end()
            await self._examination.look_at_fork(comparison)

    # Either ------------------------------------------------------------------------------------
    def _examine(self, work: Coroutine[Any, Any, None], config: RunConfig) -> None:
        self._host.begin_work(State.EXAMINING, config.load)
        self._background.spawn(self._examined(work))

    async def _examined(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            if self._host.state is State.EXAMINING:
                await work
        finally:
            work.close()
            self._conversation.clear_progress()
        self._host.rest()
        self._host.show_end()
