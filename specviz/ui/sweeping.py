"""A sweep in the window: when it may run, what its buttons do, and taking a setting over.

Stands between sweep_control.py, which knows nothing of states, and the controller, which knows
nothing of sweeps.
"""

from __future__ import annotations

from typing import Protocol

from specviz.trace.config import LoadConfig, RunConfig
from specviz.ui.background import Background
from specviz.ui.clock import FIGURES_MS
from specviz.ui.main_window import MainWindow
from specviz.ui.messages import MessageAction, ShownMessage
from specviz.ui.notices import Notices
from specviz.ui.remembering import Remembering
from specviz.ui.run_orders import RunOrders
from specviz.ui.slots import ModelSlots
from specviz.ui.states import Action, State, may
from specviz.ui.sweep_control import SweepControl
from specviz.ui.views import RunViews, offered_prompts
from specviz.ui.window_mode import WindowMode
from specviz.worker.client import Message
from specviz.worker.protocol import Loaded, SafeMode
from specviz.worker.session import EngineSession

UNDO_USE = MessageAction(
    "undo-use-setting", "Undo", "Brings the setup before it back, and the sweep."
)


class Host(Protocol):
    """What sweeping needs of the window around it."""

    @property
    def state(self) -> State:
        """Where the program stands."""

    def set_state(self, state: State) -> None:
        """The program stands elsewhere."""

    def begin_work(self, state: State, load: LoadConfig | None) -> None:
        """The engine is at work from now on, with this in memory."""

    def rest(self) -> None:
        """Nothing is under way any more."""

    def enable(self) -> None:
        """Bring every control in line with the state."""

    def take_setup(self, config: RunConfig, mode: WindowMode) -> None:
        """Set everything to this, and show this mode."""

    def ask_export(self, kind: str) -> None:
        """Ask where to write an export, and write it."""


class Sweeping:
    """Runs sweeps and uses what they found. `control` has the plan and the results."""

    def __init__(
        self,
        window: MainWindow,
        views: RunViews,
        slots: ModelSlots,
        session: EngineSession,
        orders: RunOrders,
        notices: Notices,
        background: Background,
        remembering: Remembering,
        host: Host,
    ) -> None:
        self.slots = slots
        self._window, self._page, self._bar = window, views.sweep, views.sweep_bar
        self._session, self._orders, self._notices = session, orders, notices
        self._background, self._remembering = background, remembering
        self._host = host
        self._before_use: RunConfig | None = None
        self.control = SweepControl(self._page, self._bar, session, self, offered_prompts())

    @property
    def on_show(self) -> bool:
        """Whether the window shows the sweep's page."""
        return self._window.window_mode is WindowMode.SWEEP

    # The plan ----------------------------------------------------------------------------------
    def sweep_base(self) -> RunConfig:
        """See sweep_control.Host."""
        return self._orders.sweep_base()

    def show_plan(self) -> None:
        """Bring page and bar in line with form, setup and state."""
        self.control.show_plan(ready=self._orders.ready)
        self._bar.set_running(self.control.running)
        self._page.set_locked(not may(self._host.state, Action.CHANGE_SETTINGS))

    def on_form(self) -> None:
        """Something else is to be swept."""
        self._host.enable()
        self._remembering.remember_soon()

    async def take_prompts(self, path: str | None) -> None:
        """Read a file of prompts, or none any more."""
        await self.control.take_file(path)
        self.on_form()

    # Running -----------------------------------------------------------------------------------
    def run(self) -> None:
        """Measure every setting of the form on every prompt."""
        if not self.on_show or not may(self._host.state, Action.RUN):
            return
        self.show_plan()
        if self.control.reason:
            return
        self._window.messages.clear()
        self._host.begin_work(State.LOADING, self.control.next_load)
        # nobody watches single tokens here, and taking them in costs the engine its time
        self._session.gather(FIGURES_MS / 1000)
        self._background.spawn(self._run())

    async def _run(self) -> None:
        try:
            await self.control.run()
        finally:
            self._host.enable()
        self._host.rest()
        self._remembering.remember_soon()

    def on_sweep_notice(self, message: Message) -> None:
        """See sweep_control.Host."""
        match message:
            case Loaded():
                self._notices.on_loaded(message)
            case SafeMode():
                self._notices.on_notice(message)

    def on_sweep_step(self, failure: ShownMessage | None) -> None:
        """See sweep_control.Host."""
        if self._host.state is State.LOADING:
            self._host.set_state(State.RUNNING)
        elif self._host.state is State.RUNNING:
            self._host.enable()
        if failure is not None:
            self._window.messages.show_message(failure)

    # Results -----------------------------------------------------------------------------------
    def on_action(self, action: str) -> None:
        """One of the buttons below the results."""
        match action:
            case "use":
                self._use_setting()
            case "command":
                message = self.control.copy_command()
                if message is not None:
                    self._window.messages.show_message(message)
            case _:
                self._host.ask_export(f"sweep-{action}")

    def _use_setting(self) -> None:
        results, index = self.control.results, self._page.chosen
        may_change = may(self._host.state, Action.CHANGE_SETTINGS)
        if results is None or index is None or not may_change:
            return
        point = results.plan.points[index]
        self._before_use = self._window.setup.config()
        self._host.take_setup(point.applied_to(self._before_use), WindowMode.SPECULATIVE)
        self._window.messages.show_message(
            ShownMessage(
                sentence=f"The setup has this setting now: {point.label}.",
                actions=(UNDO_USE,),
                key=UNDO_USE.name,
            )
        )

    def undo_use(self) -> None:
        """Bring the setup before the chosen setting back, and the sweep."""
        if self._before_use is not None and may(self._host.state, Action.CHANGE_SETTINGS):
            self._host.take_setup(self._before_use, WindowMode.SWEEP)
            self._before_use = None
            self._window.messages.dismiss(UNDO_USE.name)
