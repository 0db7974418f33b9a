"""Files on their way into the slots, and what of it is shown, told and remembered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import tiny_gguf

from specviz.errors import EngineError
from specviz.models.demo_pair import DemoPair
from specviz.preferences import Preferences
from specviz.trace.config import Role
from specviz.ui.model_card import CardPhase
from specviz.ui.model_desk import DEMO_N_MAX, DEMO_P_MIN, MAX_RECENT, ModelDesk
from specviz.ui.prompt_bar import PromptBar
from specviz.ui.slots import ModelSlots
from specviz.ui.states import State
from specviz.window_options import WindowOptions
from specviz.worker.protocol import Loading


class Host:
    """A window that notes what becomes of it."""

    def __init__(self):
        self.state = State.EMPTY
        self.states, self.notices, self.opened = [], [], []
        self.on_notice = self.notices.append
        self.n_settings = 0

    def set_state(self, state):
        self.state = state
        self.states.append(state)

    def rest(self):
        self.set_state(State.READY)

    def on_settings(self):
        self.n_settings += 1

    async def open_trace(self, path):
        self.opened.append(path)


class Engine:
    """Converts a file, or fails to."""

    def __init__(self):
        self.error = None

    async def requantise(self, source, target):
        yield Loading(role=Role.TARGET, path=str(target), fraction=0.5)
        if self.error is not None:
            raise self.error
        target.write_bytes(source.read_bytes())


@pytest.fixture
def desk(qtbot, window, tmp_path):
    """A desk with all that it talks to."""
    bar = PromptBar()
    qtbot.addWidget(bar)
    made = SimpleNamespace(
        window=window,
        setup=window.setup,
        bar=bar,
        slots=ModelSlots(),
        engine=Engine(),
        preferences=Preferences(tmp_path / "settings.json"),
        host=Host(),
    )
    made.desk = ModelDesk(window, bar, made.slots, made.engine, made.preferences, made.host)
    return made


@pytest.fixture
def files(tmp_path):
    return {
        "target": tiny_gguf.write_llama(tmp_path / "target.gguf", n_layers=2),
        "draft": tiny_gguf.write_llama(tmp_path / "draft.gguf", n_layers=1),
    }


def pair(files, made, *, prepared):
    return DemoPair(source=files["target"], target=made, draft=files["draft"], prepared=prepared)


def phases(desk):
    return [desk.setup.cards[role].state.phase for role in Role]


def told(desk):
    return [message.sentence for message in desk.window.messages.messages]


def test_two_dropped_models_fill_both_slots(desk, files):
    asyncio.run(desk.desk.take([files["draft"], files["target"]]))
    assert desk.slots.target.path == files["target"] and desk.slots.verdict.fits
    assert phases(desk) == [CardPhase.READY] * 2
    assert desk.setup.config().load.draft.path == str(files["draft"])
    assert (desk.host.state, desk.host.n_settings) == (State.READY, 1)


def test_a_trace_goes_its_own_way(desk, files, tmp_path):
    trace = tmp_path / "run.specviz.jsonl"
    asyncio.run(desk.desk.take([files["target"], trace]))
    assert desk.host.opened == [trace] and desk.slots.target is None


def test_what_holds_no_model_is_said(desk, tmp_path):
    (tmp_path / "empty").mkdir()
    asyncio.run(desk.desk.take([tmp_path / "empty"]))
    assert told(desk) == ["There is no GGUF file in what was dropped."]
    assert desk.host.n_settings == 0


def test_models_stay_while_the_engine_is_at_work(desk, files):
    asyncio.run(desk.desk.read(Role.TARGET, files["target"]))
    desk.host.state = State.RUNNING
    asyncio.run(desk.desk.take([files["draft"]]))
    asyncio.run(desk.desk.swap())
    desk.desk.demo = pair(files, files["target"], prepared=True)
    asyncio.run(desk.desk.use_demo_pair())
    assert (desk.slots.target.path, desk.slots.draft) == (files["target"], None)


def test_a_file_that_cannot_be_read_says_so_on_its_card(desk, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    asyncio.run(desk.desk.read(Role.TARGET, broken))
    assert phases(desk)[0] is CardPhase.ERROR
    assert desk.setup.config().load.target.path == "" and not told(desk)


def test_pairs_are_remembered_newest_first_and_odd_entries_left_aside(desk, files):
    stored = [["/m/old.gguf", None], "odd", ["/m/a.gguf", 3], ["/m/b.gguf", "/m/c.gguf"]]
    stored += [[f"/m/{n}.gguf", None] for n in range(MAX_RECENT)]
    desk.preferences.set("recent", stored)
    asyncio.run(desk.desk.read(Role.TARGET, files["target"]))
    asyncio.run(desk.desk.read(Role.DRAFT, files["draft"]))
    asyncio.run(desk.desk.clear(Role.DRAFT))
    recent = desk.preferences.get("recent")
    target, draft = str(files["target"]), str(files["draft"])
    assert recent[:3] == [[target, None], [target, draft], ["/m/old.gguf", None]]
    assert recent[3] == ["/m/b.gguf", "/m/c.gguf"] and len(recent) == MAX_RECENT


def test_a_target_on_the_command_line_stands_alone(desk, files):
    desk.setup.set_path(Role.DRAFT, files["draft"])
    asyncio.run(desk.desk.open_first(WindowOptions(target=files["target"])))
    assert (desk.slots.target.path, desk.slots.draft) == (files["target"], None)
    asyncio.run(desk.desk.open_first(WindowOptions(script=Path("script.json"))))
    assert desk.host.states[-1] is State.READY
    names = [desk.setup.cards[role].state.name for role in Role]
    assert names == ["Scripted target", "Scripted draft"]


# The demo pair -----------------------------------------------------------------------------------
def test_the_demo_pair_is_converted_once(desk, files, tmp_path):
    made = tmp_path / "cache.gguf"
    desk.desk.demo = pair(files, made, prepared=False)
    asyncio.run(desk.desk.use_demo_pair())
    assert desk.host.states[:2] == [State.LOADING, State.READY]
    assert len(desk.host.notices) == 1 and desk.desk.demo.prepared
    assert (desk.slots.target.path, desk.slots.draft.path) == (made, files["draft"])
    speculation = desk.setup.config().speculation
    assert (speculation.n_max, speculation.p_min) == (DEMO_N_MAX, DEMO_P_MIN)
    assert desk.bar.prompt
    desk.bar.set_prompt("My own.")
    asyncio.run(desk.desk.use_demo_pair())
    assert len(desk.host.notices) == 1 and desk.bar.prompt == "My own."


def test_a_conversion_that_fails_leaves_an_empty_card(desk, files, tmp_path):
    made = tmp_path / "cache.gguf"
    desk.desk.demo = pair(files, made, prepared=False)
    desk.engine.error = EngineError("No space is left.")
    with pytest.raises(EngineError):
        asyncio.run(desk.desk.use_demo_pair())
    assert desk.host.states == [State.LOADING, State.READY]
    assert phases(desk)[0] is CardPhase.EMPTY and not desk.desk.demo.prepared
