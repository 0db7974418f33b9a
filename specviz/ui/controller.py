"""Joins the window's parts: reacts to what the user wants and to what the engine tells.

Owns the state (states.py), the model slots, the conversation, the runner and the traces on show.
Views are told what to show and never reach back; the rules that can be tested without a window live
elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from PySide6.QtGui import QGuiApplication

from specviz.errors import EngineDied, SpecvizError
from specviz.preferences import Preferences
from specviz.trace.config import (
    LoadConfig,
    Message,
    Role,
    RunConfig,
    RunMode,
)
from specviz.trace.events import Prefilled
from specviz.trace.trace import Trace
from specviz.ui.background import Background
from specviz.ui.chat import Chat, turns_of_runs
from specviz.ui.clock import FIGURES_MS, FRAME_MS, DrawClock, computes_on_all_cores
from specviz.ui.dialogs import EXPORT_KINDS
from specviz.ui.dialogue import Dialogue
from specviz.ui.examination import Examination
from specviz.ui.examples import Example, load_examples
from specviz.ui.exports import Exports, written_words
from specviz.ui.main_window import MainWindow
from specviz.ui.messages import MessageAction, Severity, ShownMessage
from specviz.ui.model_desk import ModelDesk
from specviz.ui.notices import Notices
from specviz.ui.remembering import Remembering
from specviz.ui.run_orders import NO_TARGET, RunOrders
from specviz.ui.runner import Runner
from specviz.ui.showing import WHAT_WILL_HAPPEN, Showing
from specviz.ui.slots import ModelSlots
from specviz.ui.states import Action, State, may, may_move
from specviz.ui.stored_runs import read_runs
from specviz.ui.sweep_control import SweepControl
from specviz.ui.throughput_plot import import_plotting
from specviz.ui.views import make_views, offered_prompts
from specviz.ui.window_mode import WindowMode
from specviz.window_options import WindowOptions
from specviz.worker.client import Message as EngineMessage
from specviz.worker.protocol import Loaded, SafeMode
from specviz.worker.session import EngineSession

log = logging.getLogger(__name__)

UNDO = MessageAction("undo-new-chat", "Undo", "Brings the conversation before it back.")
UNDO_USE = MessageAction(
    "undo-use-setting", "Undo", "Brings the setup before it back, and the sweep."
)


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
        self.background = Background(self.window.messages, self._fault)
        self.remembering = Remembering(preferences, self.window, self.views)
        self.orders = RunOrders(self.window.setup, self.slots, options.script)
        self.examination = Examination(
            self.session,
            self.views.break_even,
            self.views.costs,
            self.views.verdict,
            self.slots,
            options.script,
            self.on_notice,
        )
        self.models = ModelDesk(
            self.window, self.views.prompt_bar, self.slots, self.session, preferences, self
        )
        self.notices = Notices(
            self.window, self.views.conversation, self.session, self.orders, self
        )
        self.clock = DrawClock(self.window)
        self.dialogue = Dialogue(self.views.conversation, self.views.prompt_bar)
        self.showing = Showing(
            self.window, self.views, self.runner, self.dialogue, self.examination, self
        )
        self.exports = Exports(self.window, self.views.conversation, self.showing.shown)
        self.sweep = SweepControl(
            self.views.sweep, self.views.sweep_bar, self.session, self, offered_prompts()
        )
        self._left_behind: Chat | None = None
        self._before_use: RunConfig | None = None
        self._repack = True
        self._connect()
        self._restore()

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
        window.mode_changed.connect(self._on_mode)
        window.open_trace_requested.connect(lambda path: spawn(self.open_trace(path)))
        window.export_requested.connect(self._on_export)
        window.close_requested.connect(lambda: spawn(self.close()))
        window.restart_engine_requested.connect(lambda: spawn(self._restart()))
        window.cancel_requested.connect(self.stop)
        window.setup.validity_changed.connect(self.enable)
        window.run_requested.connect(self._on_run_requested)
        window.run_again_requested.connect(self.run_again)
        window.edit_last_requested.connect(lambda: self.edit(len(self.dialogue.chat.turns) - 1))
        window.new_chat_requested.connect(self.new_chat)
        window.messages.action_requested.connect(self._on_message_action)
        window.theme_toggled.connect(self.remembering.remember_soon)
        window.settings_view_requested.connect(views.settings.open_view)
        window.measure_requested.connect(self.measure_costs)
        window.check_requested.connect(self.show_check)
        views.costs.measure_requested.connect(self.measure_costs)
        views.costs.cancel_requested.connect(self.stop)
        views.verdict.check_requested.connect(self.show_check)
        views.drafts.chart_chosen.connect(self.remembering.remember_soon)
        views.prompt_bar.edit.textChanged.connect(self._on_prompt)
        views.sweep.form.changed.connect(self._on_sweep_form)
        views.sweep.form.file_chosen.connect(lambda path: spawn(self._take_prompts(path)))
        views.sweep.action_requested.connect(self._on_sweep_action)
        views.sweep_bar.run_requested.connect(self.run_sweep)
        views.sweep_bar.stop_requested.connect(self.stop)
        views.prompt_bar.run_requested.connect(self.run)
        views.prompt_bar.stop_requested.connect(self.stop)
        views.prompt_bar.example_chosen.connect(self._on_example)
        views.prompt_bar.earlier_wanted.connect(self._edit_earlier)
        views.prompt_bar.given_up.connect(self._give_edit_up)
        views.conversation.edit_requested.connect(self.edit)
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
        self._on_mode(self.window.window_mode)

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
        busy = may(self.state, Action.STOP) or self.state is State.CANCELLING
        self.views.prompt_bar.set_running(busy)
        self.views.prompt_bar.set_blocked("" if busy else self.orders.why_not_run(self.window.mode))
        self.window.setup.set_locked(not may(self.state, Action.CHANGE_SETTINGS))
        idle = may(self.state, Action.CHANGE_MODELS)
        chat, talks = self.dialogue.chat, may(self.state, Action.EDIT_CHAT)
        self._show_hint()
        why_not_measure, speculative = self._why_not_measure(), self.showing.shown()[1]
        self.examination.set_blocked(why_not_measure, busy=busy)
        self.views.conversation.set_editing(chat.editing, allowed=talks)
        sweeps = self._sweeps
        if sweeps:
            self._show_sweep_plan()
        reason = self.sweep.reason if sweeps else self.views.prompt_bar.reason
        self.window.set_enabled(
            run=may(self.state, Action.RUN) and not reason,
            stop=may(self.state, Action.STOP),
            run_again=self._may_run_again(),
            chat=talks and bool(chat.turns) and not sweeps,
            models=idle,
            trace=may(self.state, Action.OPEN_TRACE),
            export=may(self.state, Action.EXPORT),
            restart=idle,
            measure=not why_not_measure and not sweeps,
            check=speculative is not None and not sweeps,
        )
        something = self.sweep.has_figures if sweeps else bool(self.exports.traces())
        for kind in EXPORT_KINDS:
            of_window = kind.kind == "window-png"
            self.window.set_export_enabled(
                kind.kind,
                something or of_window,
                offered=of_window or kind.kind.startswith("sweep-") == sweeps,
            )
        nothing = self.state is State.EMPTY and not something
        self.window.show_first_launch(nothing)

    def _show_hint(self) -> None:
        """What the next prompt will do to the conversation, where that is not plain."""
        self.dialogue.raw = self.orders.raw
        self.dialogue.lacks_template = self.orders.lacks_template
        editing = self.dialogue.chat.editing is not None
        self.views.prompt_bar.set_hint(self.dialogue.hint(), closable=editing)

    def _why_not_measure(self) -> str:
        """Why costs cannot be measured, in a sentence; empty when they can."""
        if self.state is State.EXAMINING:
            return "Something is being examined already."
        if not self.orders.ready:
            return NO_TARGET
        if not may(self.state, Action.EXAMINE):
            return "Costs can be measured when the run has ended."
        return self.orders.why_not(self._measured_config())

    def _may_run_again(self) -> bool:
        chat = self.dialogue.chat
        if not may(self.state, Action.RUN) or chat.newest is None or chat.editing is not None:
            return False
        if self._sweeps:
            return False
        return bool(chat.newest.prompt) and not self.orders.why_not_run(self.window.mode)

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

    def _on_mode(self, mode: WindowMode | RunMode) -> None:
        run_mode = WindowMode(mode.value).run_mode
        self.window.setup.set_mode(run_mode)
        both = run_mode is RunMode.SPECULATIVE
        self.views.prompt_bar.set_run_words("Run both" if both else "Run baseline")
        # a sweep shows no conversation, and leaves it as it is
        if not self._sweeps:
            self.dialogue.set_mode(run_mode)
            self.showing.show_traces()
        self.enable()

    def _on_example(self, example: Example) -> None:
        """An example brings the drafting settings that suit it."""
        self.window.setup.apply_example(example)
        self.on_settings()

    # Sweeping --------------------------------------------------------------------------------
    @property
    def _sweeps(self) -> bool:
        """Whether the window shows the sweep's page."""
        return self.window.window_mode is WindowMode.SWEEP

    def sweep_base(self) -> RunConfig:
        """See sweep_control.Host."""
        return self.orders.sweep_base()

    def _show_sweep_plan(self) -> None:
        self.sweep.show_plan(ready=self.orders.ready)
        self.views.sweep_bar.set_running(self.sweep.running)
        self.views.sweep.set_locked(not may(self.state, Action.CHANGE_SETTINGS))

    def _on_prompt(self) -> None:
        self.sweep.set_field_prompt(self.views.prompt_bar.prompt)
        self.enable()

    def _on_sweep_form(self) -> None:
        self.enable()
        self.remembering.remember_soon()

    async def _take_prompts(self, path: str | None) -> None:
        await self.sweep.take_file(path)
        self._on_sweep_form()

    def run_sweep(self) -> None:
        """Measure every setting of the form on every prompt."""
        if not self._sweeps or not may(self.state, Action.RUN):
            return
        self._show_sweep_plan()
        if self.sweep.reason:
            return
        self.window.messages.clear()
        self.begin_work(State.LOADING, self.sweep.next_load)
        # nobody watches single tokens here, and taking them in costs the engine its time
        self.session.gather(FIGURES_MS / 1000)
        self.background.spawn(self._sweep())

    async def _sweep(self) -> None:
        try:
            await self.sweep.run()
        finally:
            self.enable()
        self.rest()
        self.remembering.remember_soon()

    def on_sweep_notice(self, message: EngineMessage) -> None:
        """See sweep_control.Host."""
        match message:
            case Loaded():
                self.notices.on_loaded(message)
            case SafeMode():
                self.on_notice(message)

    def on_sweep_step(self, failure: ShownMessage | None) -> None:
        """See sweep_control.Host."""
        if self.state is State.LOADING:
            self.set_state(State.RUNNING)
        elif self.state is State.RUNNING:
            self.enable()
        if failure is not None:
            self.window.messages.show_message(failure)

    def _on_sweep_action(self, action: str) -> None:
        match action:
            case "use":
                self._use_swept_setting()
            case "command":
                message = self.sweep.copy_command()
                if message is not None:
                    self.window.messages.show_message(message)
            case _:
                self._on_export(f"sweep-{action}")

    def _use_swept_setting(self) -> None:
        results, index = self.sweep.results, self.views.sweep.chosen
        if results is None or index is None or not may(self.state, Action.CHANGE_SETTINGS):
            return
        point, setup = results.plan.points[index], self.window.setup
        self._before_use = setup.config()
        self._take_setup(point.applied_to(self._before_use), WindowMode.SPECULATIVE)
        self.window.messages.show_message(
            ShownMessage(
                sentence=f"The setup has this setting now: {point.label}.",
                actions=(UNDO_USE,),
                key=UNDO_USE.name,
            )
        )

    def _take_setup(self, config: RunConfig, mode: WindowMode) -> None:
        self.window.setup.apply_config(config)
        self.window.set_mode(mode)
        self._on_mode(mode)
        self.on_settings()

    # Running ---------------------------------------------------------------------------------
    def _on_run_requested(self) -> None:
        """By key or menu: what the page on show would run."""
        if self._sweeps:
            self.run_sweep()
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
        if self._may_run_again() and newest is not None:
            self.dialogue.ask_again(self.window.mode)
            self._begin_turn(newest.raw)

    def _begin_turn(self, raw: bool | None = None) -> None:
        config = self.orders.config(self.window.mode, self.dialogue.chat.messages(), raw)
        self.window.messages.clear()
        self.showing.comparison = self._left_behind = None
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
            self._end_turn()
        await self._look_at_fork()
        self.rest()
        self.show_end()

    def _end_turn(self) -> None:
        """Take up the conversation as the runs leave it."""
        self.showing.show_traces()
        left_behind = self.dialogue.end_turn()
        self._show_newest()
        if left_behind is not None:
            self._offer_undo("This run began a new conversation.", left_behind)

    def _show_newest(self) -> None:
        """Bring charts and verdict in line with the newest turn of the conversation."""
        self.dialogue.set_mode(self.window.mode)
        newest = self.dialogue.chat.newest
        baseline, speculative = (newest.baseline, newest.speculative) if newest else (None, None)
        if (baseline, speculative) != (self.runner.baseline, self.runner.speculative):
            self.runner.show(baseline, speculative)
            self.showing.show_traces()

    def stop(self) -> None:
        """Stop what is under way, within a step."""
        if may(self.state, Action.STOP):
            self.set_state(State.CANCELLING)
            if self.sweep.running:
                self.sweep.cancel()
            else:
                self.runner.cancel()

    # Examining -------------------------------------------------------------------------------
    def measure_costs(self) -> None:
        """Measure what checks and drafts cost with the models and settings as they are."""
        if not self._why_not_measure():
            config = self._measured_config()
            self._examine(self.examination.measure(config), config)

    def _measured_config(self) -> RunConfig:
        """What costs are measured for: the text at hand, and always with drafts."""
        chat = self.dialogue.chat
        messages = chat.messages() if chat.newest is not None and chat.newest.prompt else ()
        if not messages:
            typed = self.views.prompt_bar.prompt
            text = typed if typed.strip() else load_examples()[0].prompt
            messages = (Message(role="user", text=text),)
        return self.orders.config(RunMode.SPECULATIVE, messages)

    def show_check(self) -> None:
        """Show what is known of the output; from there it can be checked again."""
        first = self.examination.panel is None
        panel = self.examination.open_panel(self.window)
        if first:
            panel.check_requested.connect(self.check_again)
            panel.cancel_requested.connect(self.stop)

    def check_again(self) -> None:
        """Evaluate every step of the run on show anew, on fresh memory."""
        config = self.examination.check_config()
        if config is None or self.examination.why_not_check:
            return
        if may(self.state, Action.EXAMINE):
            self._examine(self.examination.check_again(self.showing.comparison), config)

    def _examine(self, work: Coroutine[Any, Any, None], config: RunConfig) -> None:
        self.begin_work(State.EXAMINING, config.load)
        self.background.spawn(self._examined(work))

    async def _examined(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            if self.state is State.EXAMINING:
                await work
        finally:
            work.close()
            self.views.conversation.clear_progress()
        self.rest()
        self.show_end()

    async def _look_at_fork(self) -> None:
        """Have the engine look at a fork between greedy runs before anybody asks."""
        if self.state is not State.RUNNING:
            return
        comparison = self.showing.compare()
        if self.examination.wants_a_look(comparison):
            self.begin_work(State.EXAMINING, self.notices.asked)
            self.show_end()
            await self.examination.look_at_fork(comparison)

    # The conversation ------------------------------------------------------------------------
    def edit(self, index: int) -> None:
        """Put the text of a turn into the prompt, to be sent again."""
        if may(self.state, Action.EDIT_CHAT):
            self.dialogue.edit(index)
            self.enable()

    def _edit_earlier(self) -> None:
        if may(self.state, Action.EDIT_CHAT):
            self.dialogue.edit_earlier()
            self.enable()

    def _give_edit_up(self) -> None:
        self.dialogue.give_up()
        self.enable()

    def new_chat(self) -> None:
        """Begin a conversation without turns. The models stay loaded, and it can be undone."""
        if may(self.state, Action.EDIT_CHAT) and self.dialogue.chat.turns:
            before = self.dialogue.replace(())
            self._show_newest()
            self._offer_undo("This is a new chat.", before)
            self.show_end()
            self.window.focus_prompt()

    def _offer_undo(self, sentence: str, before: Chat | None) -> None:
        self._left_behind = before
        if before is not None:
            self.window.messages.show_message(
                ShownMessage(sentence=sentence, actions=(UNDO,), key=UNDO.name)
            )

    def _on_message_action(self, name: str) -> None:
        if name == UNDO_USE.name and self._before_use is not None:
            if may(self.state, Action.CHANGE_SETTINGS):
                self._take_setup(self._before_use, WindowMode.SWEEP)
                self._before_use = None
                self.window.messages.dismiss(UNDO_USE.name)
            return
        if name == UNDO.name and self._left_behind is not None:
            self.dialogue.replace(self._left_behind.turns)
            self._left_behind = None
            self.window.messages.dismiss(UNDO.name)
            self._show_newest()
            self.show_end()

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
            shared = self._computes_on_all_cores(trace)
            self.clock.set_shared(shared)
            self.session.gather(0.1 if shared else FRAME_MS / 1000)
        self.showing.show_traces()

    def _computes_on_all_cores(self, trace: Trace) -> bool:
        ready, started = self.session.ready, trace.started
        return (
            ready is not None
            and started is not None
            and computes_on_all_cores(started.effective, ready.n_physical_cores)
        )

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
        self._on_mode(runs.mode)
        self.show_end()
        self._offer_undo("The trace took the place of the conversation.", before)
        if runs.cut_short:
            self.window.messages.show_message(
                ShownMessage(
                    sentence=f"{path.name} ends before its run does; what is there is shown.",
                    severity=Severity.WARNING,
                    key="trace",
                )
            )

    def _on_export(self, kind: str) -> None:
        if kind == "copy-text":
            QGuiApplication.clipboard().setText(self.exports.text())
            return
        of_sweep = kind.startswith("sweep-")
        self.window.dialogs.save(
            kind,
            self.sweep.suggested_name() if of_sweep else self.exports.suggested_name(),
            lambda path: self.background.spawn(self._export(kind, path)),
        )

    async def _export(self, kind: str, path: Path) -> None:
        exports = self.sweep.export if kind.startswith("sweep-") else self.exports.write
        paths = await exports(kind, path)
        self.window.messages.show_message(ShownMessage(sentence=written_words(paths), key="export"))
