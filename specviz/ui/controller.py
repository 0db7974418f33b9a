"""Joins the window's parts: reacts to what the user wants and to what the engine tells.

Makes the parts, wires them, owns the state (states.py) and takes the turns of a run. What the parts
do is theirs; where one needs the window's state, its `Host` says what of it. Views are told what to
show and never reach back.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from PySide6.QtGui import QGuiApplication

from specviz.errors import EngineDied, SpecvizError
from specviz.preferences import Preferences
from specviz.trace.config import (
    LoadConfig,
    Role,
    RunConfig,
    RunMode,
)
from specviz.trace.events import Prefilled
from specviz.trace.trace import Trace
from specviz.ui.background import Background
from specviz.ui.chat import turns_of_runs
from specviz.ui.chatting import UNDO, Chatting
from specviz.ui.clock import FRAME_MS, DrawClock, computes_on_all_cores
from specviz.ui.controls import Controls
from specviz.ui.dialogue import Dialogue
from specviz.ui.examination import Examination
from specviz.ui.examining import Examining
from specviz.ui.examples import Example
from specviz.ui.exports import Exports, written_words
from specviz.ui.main_window import MainWindow
from specviz.ui.messages import Severity, ShownMessage
from specviz.ui.model_desk import ModelDesk
from specviz.ui.notices import Notices
from specviz.ui.remembering import Remembering
from specviz.ui.run_orders import RunOrders
from specviz.ui.runner import Runner
from specviz.ui.showing import WHAT_WILL_HAPPEN, Showing
from specviz.ui.slots import ModelSlots
from specviz.ui.states import Action, State, may, may_move
from specviz.ui.stored_runs import read_runs
from specviz.ui.sweeping import UNDO_USE, Sweeping
from specviz.ui.throughput_plot import import_plotting
from specviz.ui.views import make_views
from specviz.ui.window_mode import WindowMode
from specviz.window_options import WindowOptions
from specviz.worker.client import Message as EngineMessage
from specviz.worker.session import EngineSession

log = logging.getLogger(__name__)


class Controller:
    """The window's behaviour. `finished` gets the exit code when the window has closed."""

    def __init__(self, options: WindowOptions, preferences: Preferences) -> None:
        self.state = State.EMPTY
        self.finished: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._options = options
        self.session = EngineSession(options.script, preferences)
        self.runner = Runner(self.session, self)
        self.slots = ModelSlots()
        self.views = make_views()
        self.window = MainWindow(self.views)
        self.clock = DrawClock(self.window)
        self._make_parts(preferences)
        self._repack = True
        self._connect()
        self._restore()

    def _make_parts(self, preferences: Preferences) -> None:
        """Each gets what it works with; none looks into another, or in here."""
        window, views, slots = self.window, self.views, self.slots
        session, script = self.session, self._options.script
        self.background = background = Background(window.messages, self._fault)
        self.remembering = remembering = Remembering(preferences, window, views)
        self.orders = orders = RunOrders(window.setup, slots, script)
        self.dialogue = dialogue = Dialogue(views.conversation, views.prompt_bar)
        self.notices = notices = Notices(window, views.conversation, session, orders, self)
        self.models = ModelDesk(window, views.prompt_bar, slots, session, preferences, self)
        self.examination = examination = Examination(
            session, views.break_even, views.costs, views.verdict, slots, script, self.on_notice
        )
        self.showing = showing = Showing(window, views, self.runner, dialogue, examination, self)
        self.exports = exports = Exports(window, views.conversation, showing.shown)
        self.chatting = Chatting(window, dialogue, self.runner, showing, self)
        self.sweeping = sweeping = Sweeping(
            window, views, slots, session, orders, notices, background, remembering, self
        )
        self.sweep = sweeping.control
        self.examining = examining = Examining(
            window, views, orders, dialogue, examination, showing, background, self
        )
        self.controls = Controls(
            window, views, orders, dialogue, showing, exports, sweeping, examining, examination
        )

    # Start and end ---------------------------------------------------------------------------
    def show(self) -> None:
        """Show the window, then open what was asked for and start the engine behind it."""
        self.window.show()
        self.background.spawn(self._begin())

    async def _begin(self) -> None:
        """What may wait until the window is painted."""
        await asyncio.sleep(0)
        # what the first curve needs takes a fifth of a second: not in the middle of a run
        await asyncio.to_thread(import_plotting)
        self.views.throughput.prepare()
        await self.models.find_demo()
        # one that fails must not hold the others up
        if self._options.trace is not None:
            await self.background.guarded(self.open_trace(self._options.trace))
        await self.background.guarded(self.models.open_first(self._options))
        self.enable()
        await self.session.start()

    async def close(self) -> None:
        """Stop what runs, end the engine, remember everything, let the window go."""
        if self.state is State.CLOSING:
            return
        self.set_state(State.CLOSING)
        self.clock.stop()
        self.remembering.remember()
        self.background.cancel()
        try:
            await self.session.close()
        finally:
            # whatever went wrong with the engine, nobody is kept from leaving
            self.window.allow_close()
            self.window.close()
            if not self.finished.done():
                self.finished.set_result(0)

    # Wiring ----------------------------------------------------------------------------------
    def _connect(self) -> None:
        window, views, spawn = self.window, self.views, self.background.spawn
        window.files_dropped.connect(lambda paths: spawn(self.models.take(paths)))
        window.target_chosen.connect(lambda path: spawn(self.models.read(Role.TARGET, path)))
        window.draft_chosen.connect(lambda path: spawn(self.models.read(Role.DRAFT, path)))
        window.slot_cleared.connect(lambda role: spawn(self.models.clear(role)))
        window.swap_requested.connect(lambda: spawn(self.models.swap()))
        window.demo_pair_requested.connect(lambda: spawn(self.models.use_demo_pair()))
        window.settings_changed.connect(self.on_settings)
        window.mode_changed.connect(self.on_mode)
        window.open_trace_requested.connect(lambda path: spawn(self.open_trace(path)))
        window.export_requested.connect(self.ask_export)
        window.close_requested.connect(lambda: spawn(self.close()))
        window.restart_engine_requested.connect(lambda: spawn(self._restart()))
        window.cancel_requested.connect(self.stop)
        window.setup.validity_changed.connect(self.enable)
        window.run_requested.connect(self._on_run_requested)
        window.run_again_requested.connect(self.run_again)
        window.edit_last_requested.connect(self.chatting.edit_last)
        window.new_chat_requested.connect(self.chatting.new_chat)
        window.messages.action_requested.connect(self._on_message_action)
        window.theme_toggled.connect(self.remembering.remember_soon)
        window.settings_view_requested.connect(views.settings.open_view)
        window.measure_requested.connect(self.examining.measure_costs)
        window.check_requested.connect(self.examining.show_check)
        views.costs.measure_requested.connect(self.examining.measure_costs)
        views.costs.cancel_requested.connect(self.stop)
        views.verdict.check_requested.connect(self.examining.show_check)
        views.drafts.chart_chosen.connect(self.remembering.remember_soon)
        views.prompt_bar.edit.textChanged.connect(self._on_prompt)
        views.sweep.form.changed.connect(self.sweeping.on_form)
        views.sweep.form.file_chosen.connect(lambda path: spawn(self.sweeping.take_prompts(path)))
        views.sweep.action_requested.connect(self.sweeping.on_action)
        views.sweep_bar.run_requested.connect(self.sweeping.run)
        views.sweep_bar.stop_requested.connect(self.stop)
        views.prompt_bar.run_requested.connect(self.run)
        views.prompt_bar.stop_requested.connect(self.stop)
        views.prompt_bar.example_chosen.connect(self._on_example)
        views.prompt_bar.earlier_wanted.connect(self.chatting.edit_earlier)
        views.prompt_bar.given_up.connect(self.chatting.give_up)
        views.conversation.edit_requested.connect(self.chatting.edit)
        views.conversation.step_chosen.connect(self.showing.choose_step)
        views.strip.step_chosen.connect(self.showing.choose_step)
        views.strip.step_cleared.connect(self.showing.clear_step)
        views.legend.show_rejected_changed.connect(views.conversation.set_show_rejected)
        views.conversation.show_rejected_changed.connect(views.legend.set_show_rejected)
        self.clock.frame.connect(self.showing.draw)
        self.clock.figures.connect(self.showing.draw_figures)

    def _restore(self) -> None:
        self.remembering.restore()
        self.models.show_recent()
        self.views.verdict.show_idle(WHAT_WILL_HAPPEN)
        self.on_mode(self.window.window_mode)

    # State -----------------------------------------------------------------------------------
    def set_state(self, state: State) -> None:
        """Go to another state, if the table allows it."""
        if not may_move(self.state, state):
            log.error("no move from %s to %s", self.state, state)
            return
        self.state = state
        self.enable()

    def begin_work(self, state: State, load: LoadConfig | None) -> None:
        """Go to a state in which the engine is at work with this in memory."""
        self.notices.asked = load
        self.showing.examines = state is State.EXAMINING
        self.set_state(state)

    def rest(self) -> None:
        """Back to where a run can be started, or to the empty window."""
        self.notices.asked = None
        if self.state is not State.CLOSING:
            self.set_state(State.READY if self.orders.ready else State.EMPTY)

    def enable(self) -> None:
        """Bring every control in line with the state."""
        self.controls.show(self.state)

    def _fault(self, error: SpecvizError) -> None:
        """Show an error where it belongs, and find a state to go on from."""
        if self.state is State.CLOSING:
            return
        self.clock.stop()
        self.views.conversation.clear_progress()
        self.window.messages.show_error(error)
        if isinstance(error, EngineDied):
            self.notices.loaded = None
            self.set_state(State.FAULTED)
            self.show_end()
            return
        if self.state in (State.LOADING, State.RUNNING, State.EXAMINING, State.CANCELLING):
            self.rest()
            self.show_end()

    async def _restart(self) -> None:
        await self.session.start()
        self.window.messages.dismiss("engine")
        self.rest()

    # Settings --------------------------------------------------------------------------------
    def on_settings(self) -> None:
        """Bring everything in line with settings and slots."""
        config = self.window.setup.config()
        if config.load.repack and not self._repack and self.session.safe_mode:
            self.background.spawn(self._leave_safe_mode())
        self._repack = config.load.repack
        self.window.setup.set_safe_mode(self.session.safe_mode and config.load.repack)
        load = self.orders.load()
        self.examination.settings_changed(load)
        self.window.setup.show_memory(self.slots.memory(load, config.speculation))
        self.notices.show_pending(load)
        self.enable()
        self.remembering.remember_soon()

    async def _leave_safe_mode(self) -> None:
        """The user wants repacked weights tried again: with a fresh engine, at the next run."""
        self.session.forget_safe_mode()
        self.notices.loaded = None
        self.window.setup.set_safe_mode(False)
        await self.session.close()

    def on_mode(self, mode: WindowMode | RunMode) -> None:
        """Bring everything in line with the window's mode."""
        run_mode = WindowMode(mode.value).run_mode
        self.window.setup.set_mode(run_mode)
        both = run_mode is RunMode.SPECULATIVE
        self.views.prompt_bar.set_run_words("Run both" if both else "Run baseline")
        # a sweep shows no conversation, and leaves it as it is
        if not self.sweeping.on_show:
            self.dialogue.set_mode(run_mode)
            self.showing.show_traces()
        self.enable()

    def _on_example(self, example: Example) -> None:
        """An example brings the drafting settings that suit it."""
        self.window.setup.apply_example(example)
        self.on_settings()

    def take_setup(self, config: RunConfig, mode: WindowMode) -> None:
        """Set everything to this, and show this mode."""
        self.window.setup.apply_config(config)
        self.window.set_mode(mode)
        self.on_mode(mode)
        self.on_settings()

    def _on_prompt(self) -> None:
        self.sweep.set_field_prompt(self.views.prompt_bar.prompt)
        self.enable()

    # Running ---------------------------------------------------------------------------------
    def _on_run_requested(self) -> None:
        """By key or menu: what the page on show would run."""
        if self.sweeping.on_show:
            self.sweeping.run()
        else:
            self.run(self.views.prompt_bar.prompt)

    def run(self, prompt: str) -> None:
        """Run the prompt as the next turn of the conversation, in the mode that is set."""
        if (
            not may(self.state, Action.RUN)
            or self.orders.why_not_run(self.window.mode)
            or not prompt.strip()
        ):
            return
        self.dialogue.ask(prompt, self.window.mode)
        self._begin_turn()

    def run_again(self) -> None:
        """Measure the newest turn again."""
        newest = self.dialogue.chat.newest
        if self.controls.may_run_again(self.state) and newest is not None:
            self.dialogue.ask_again(self.window.mode)
            self._begin_turn(newest.raw)

    def _begin_turn(self, raw: bool | None = None) -> None:
        config = self.orders.config(self.window.mode, self.dialogue.chat.messages(), raw)
        self.window.messages.clear()
        self.showing.comparison = None
        self.chatting.forget_undo()
        self.runner.show(None, None)
        self.begin_work(State.LOADING, config.load)
        self.showing.show_traces()
        self.notices.tell_of_state()
        self.clock.start()
        self.background.spawn(self._measure(config))

    async def _measure(self, config: RunConfig) -> None:
        try:
            if self.state is not State.CANCELLING:
                await self.runner.measure(config)
        finally:
            self.clock.stop()
            # a load that was stopped brings no run that would take the line away
            self.views.conversation.clear_progress()
            self.chatting.end_turn()
        await self.examining.look_at_fork(config.load)
        self.rest()
        self.show_end()

    def stop(self) -> None:
        """Stop what is under way, within a step."""
        if may(self.state, Action.STOP):
            self.set_state(State.CANCELLING)
            if self.sweep.running:
                self.sweep.cancel()
            else:
                self.runner.cancel()

    def _on_message_action(self, name: str) -> None:
        if name == UNDO_USE.name:
            self.sweeping.undo_use()
        elif name == UNDO.name:
            self.chatting.undo()

    # What the engine tells -------------------------------------------------------------------
    def on_notice(self, message: EngineMessage) -> None:
        """See runner.Listener."""
        self.notices.on_notice(message)

    def on_prefilled(self, event: Prefilled) -> None:
        """See runner.Listener."""
        self.notices.on_prefilled(event)

    def on_run_started(self, trace: Trace) -> None:
        """See runner.Listener."""
        if self.state is State.LOADING:
            self.set_state(State.RUNNING)
        if trace.started is not None:
            self.window.setup.set_last_seed(trace.started.config.sampling.seed)
            ready, effective = self.session.ready, trace.started.effective
            shared = ready is not None and computes_on_all_cores(effective, ready.n_physical_cores)
            self.clock.set_shared(shared)
            self.session.gather(0.1 if shared else FRAME_MS / 1000)
        self.showing.show_traces()

    def on_run_ended(self, trace: Trace) -> None:
        """See runner.Listener."""
        self.showing.draw(final=True)
        self.showing.draw_figures(final=True)

    # Showing ---------------------------------------------------------------------------------
    def show_end(self) -> None:
        """Nothing more comes: everything is drawn and compared, and can be gone on from."""
        self.showing.show_end()
        self.enable()
        self.remembering.remember_soon()

    # Traces and exports ----------------------------------------------------------------------
    async def open_trace(self, path: Path) -> None:
        """Show a stored run, with its partner when that lies beside it."""
        if not may(self.state, Action.OPEN_TRACE):
            return
        runs = await read_runs(path)
        self.runner.show(runs.baseline, runs.speculative)
        before = self.dialogue.replace(turns_of_runs(runs.baseline, runs.speculative))
        self.window.set_mode(runs.mode)
        self.on_mode(runs.mode)
        self.show_end()
        self.chatting.offer_undo("The trace took the place of the conversation.", before)
        if runs.cut_short:
            self.window.messages.show_message(
                ShownMessage(
                    sentence=f"{path.name} ends before its run does; what is there is shown.",
                    severity=Severity.WARNING,
                    key="trace",
                )
            )

    def ask_export(self, kind: str) -> None:
        """Ask where to write an export, and write it."""
        if kind == "copy-text":
            QGuiApplication.clipboard().setText(self.exports.text())
            return
        of_sweep = kind.startswith("sweep-")
        self.window.dialogs.save(
            kind,
            self.sweep.suggested_name() if of_sweep else self.exports.suggested_name(),
            lambda path: self.background.spawn(self.export(kind, path)),
        )

    async def export(self, kind: str, path: Path) -> None:
        """Write an export, and say what was written."""
        exports = self.sweep.export if kind.startswith("sweep-") else self.exports.write
        paths = await exports(kind, path)
        self.window.messages.show_message(ShownMessage(sentence=written_words(paths), key="export"))
