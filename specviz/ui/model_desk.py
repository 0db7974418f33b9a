"""Where model files arrive: dropped, picked, swapped, used before, or the demo pair.

Puts them into the slots and shows what the slots hold. The window's state belongs to the
controller, which says when files may change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from specviz.errors import SpecvizError
from specviz.models.demo_pair import DemoPair, find_demo_pair
from specviz.models.model_file import ModelFile
from specviz.preferences import Preferences
from specviz.trace.config import Role
from specviz.trace.storage import SUFFIX
from specviz.ui.examples import load_examples
from specviz.ui.main_menu import RecentPair
from specviz.ui.main_window import MainWindow
from specviz.ui.messages import Severity, ShownMessage
from specviz.ui.model_card import (
    empty_card,
    error_card,
    reading_card,
    ready_card,
    scripted_card,
)
from specviz.ui.prompt_bar import PromptBar
from specviz.ui.slots import ModelSlots, choose, read_dropped
from specviz.ui.states import Action, State, may
from specviz.window_options import WindowOptions
from specviz.worker.client import Message
from specviz.worker.session import EngineSession

MAX_RECENT = 10
DEMO_N_MAX, DEMO_P_MIN = 3, 0.6
"""Where the demo pair is at its best on a CPU; its README in resources/models has the figures."""


class Host(Protocol):
    """What the desk needs of the window around it."""

    @property
    def state(self) -> State:
        """Where the program stands."""

    def set_state(self, state: State) -> None:
        """The program stands elsewhere."""

    def rest(self) -> None:
        """Nothing is under way any more."""

    def on_settings(self) -> None:
        """Bring everything in line with settings and slots."""

    def on_notice(self, message: Message) -> None:
        """The engine told something while it converted a file."""

    async def open_trace(self, path: Path) -> None:
        """What was dropped is a stored run."""


class ModelDesk:
    """Reads files into the slots. `demo` is the demo pair, once it was looked for and found."""

    def __init__(
        self,
        window: MainWindow,
        prompt_bar: PromptBar,
        slots: ModelSlots,
        session: EngineSession,
        preferences: Preferences,
        host: Host,
    ) -> None:
        self.demo: DemoPair | None = None
        self._window, self._prompt_bar = window, prompt_bar
        self._slots, self._session = slots, session
        self._preferences = preferences
        self._host = host

    # At the start ------------------------------------------------------------------------------
    async def find_demo(self) -> None:
        """Look for the demo pair, and offer it."""
        self.demo = await asyncio.to_thread(find_demo_pair)
        self._window.first_launch.set_demo(
            available=self.demo is not None, prepared=bool(self.demo and self.demo.prepared)
        )

    async def open_first(self, options: WindowOptions) -> None:
        """Open what the command line asks for, else what was open the last time."""
        setup = self._window.setup
        if options.script is not None:
            for role in Role:
                setup.show_card(role, scripted_card(role, options.script))
            self._host.set_state(State.READY)
            return
        config = setup.config().load
        remembered = {
            Role.TARGET: config.target.path,
            Role.DRAFT: config.draft.path if config.draft else "",
        }
        asked = {Role.TARGET: options.target, Role.DRAFT: options.draft}
        if asked[Role.TARGET] is not None:
            remembered = dict.fromkeys(Role, "")
        for role in Role:
            path = asked[role] or (Path(remembered[role]) if remembered[role] else None)
            if path is not None:
                await self.read(role, path)

    # What was dropped or picked ----------------------------------------------------------------
    async def take(self, paths: Sequence[Path]) -> None:
        """Files or folders dropped on the window, or a trace."""
        traces = [path for path in paths if path.name.endswith(SUFFIX)]
        if traces:
            await self._host.open_trace(traces[0])
            return
        if not may(self._host.state, Action.CHANGE_MODELS):
            return
        messages = self._window.messages
        models, errors = await asyncio.to_thread(read_dropped, list(paths))
        for error in errors[:3]:
            messages.show_error(error)
        self._tell_of_odd_files(models)
        if not models:
            if not errors:
                messages.show_message(
                    ShownMessage(
                        sentence="There is no GGUF file in what was dropped.",
                        severity=Severity.WARNING,
                        key="drop",
                    )
                )
            return
        choice = choose(models, self._slots.target, self._slots.draft)
        self._slots.put(Role.TARGET, choice.target)
        self._slots.put(Role.DRAFT, choice.draft)
        await self._slots.judge()
        if choice.sentence:
            messages.show_message(ShownMessage(sentence=choice.sentence, key="drop"))
        self._show_slots()

    def _tell_of_odd_files(self, models: Sequence[ModelFile]) -> None:
        for model in models:
            if model.explanation:
                self._window.messages.show_message(
                    ShownMessage(
                        sentence=model.explanation, severity=Severity.WARNING, key=str(model.path)
                    )
                )

    async def read(self, role: Role, path: Path) -> None:
        """Read a file into a slot; what is wrong with it stands on the card."""
        setup = self._window.setup
        setup.show_card(role, reading_card(path, "Reading the file"))
        try:
            model = await self._slots.read(role, path)
        except SpecvizError as error:
            setup.set_path(role, None)
            self._show_slots()
            setup.show_card(role, error_card(path, error.message, error.hint))
            return
        if model is not None:
            self._show_slots()

    async def clear(self, role: Role) -> None:
        """Empty a slot."""
        self._slots.put(role, None)
        await self._slots.judge()
        self._show_slots()

    async def swap(self) -> None:
        """Exchange target and draft."""
        if may(self._host.state, Action.CHANGE_MODELS):
            await self._slots.swap()
            self._show_slots()

    def _show_slots(self) -> None:
        """Bring cards, verdict, memory and paths in line with the slots."""
        setup = self._window.setup
        for role in Role:
            model = self._slots.files.get(role)
            setup.set_path(role, model.path if model else None)
            setup.show_card(role, ready_card(model) if model else empty_card())
        self._note_recent()
        setup.show_pair(self._slots.verdict)
        self._host.on_settings()
        if self._host.state in (State.EMPTY, State.READY, State.FAULTED):
            self._host.rest()

    # Used before -------------------------------------------------------------------------------
    def show_recent(self) -> None:
        """Offer the pairs that were used before."""
        self._window.set_recent(self._recent())

    def _note_recent(self) -> None:
        """Remember the files in the slots as a pair, newest first."""
        target, draft = self._slots.target, self._slots.draft
        if target is None:
            return
        pair = RecentPair(target.path, draft.path if draft else None)
        pairs = [pair, *(known for known in self._recent() if known != pair)][:MAX_RECENT]
        self._preferences.set(
            "recent", [[str(p.target), str(p.draft) if p.draft else None] for p in pairs]
        )
        self._window.set_recent(pairs)

    def _recent(self) -> list[RecentPair]:
        stored = self._preferences.get("recent")
        pairs = []
        for entry in stored if isinstance(stored, list) else []:
            match entry:
                case [str(target), str(draft)]:
                    pairs.append(RecentPair(Path(target), Path(draft)))
                case [str(target), None]:
                    pairs.append(RecentPair(Path(target)))
        return pairs

    # The demo pair -----------------------------------------------------------------------------
    async def use_demo_pair(self) -> None:
        """Read the demo pair into the slots, converted first where it is new on this machine."""
        demo = self.demo
        if demo is None or not may(self._host.state, Action.CHANGE_MODELS):
            return
        setup = self._window.setup
        if not demo.prepared:
            await self._prepare(demo)
        await self.read(Role.TARGET, demo.target)
        await self.read(Role.DRAFT, demo.draft)
        config = setup.config()
        speculation = replace(config.speculation, n_max=DEMO_N_MAX, p_min=DEMO_P_MIN)
        setup.apply_config(replace(config, speculation=speculation))
        if not self._prompt_bar.prompt.strip():
            self._prompt_bar.choose(load_examples()[0])

    async def _prepare(self, demo: DemoPair) -> None:
        setup = self._window.setup
        self._host.set_state(State.LOADING)
        setup.show_card(
            Role.TARGET, reading_card(demo.target, "Converting to Q8_0, once, some seconds")
        )
        try:
            async for message in self._session.requantise(demo.source, demo.target):
                self._host.on_notice(message)
        except SpecvizError:
            setup.show_card(Role.TARGET, empty_card())
            raise
        finally:
            self._host.rest()
        self.demo = replace(demo, prepared=demo.target.is_file())
