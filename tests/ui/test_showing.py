"""Which runs the views show, and what the verdict says while work is under way."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from PySide6.QtWidgets import QWidget
from support.traces import baseline_of, explanation

from specviz.trace.config import RunMode
from specviz.ui.break_even_words import NOT_YET, RUNNING
from specviz.ui.dialogue import Dialogue
from specviz.ui.examination import Examination
from specviz.ui.runner import Runner
from specviz.ui.showing import Showing
from specviz.ui.slots import ModelSlots
from specviz.ui.states import State
from specviz.ui.verdict_words import plain
from specviz.ui.views import make_views


@pytest.fixture
def views(qtbot, dressed):
    made = make_views()
    for view in vars(type(made)).get("__slots__", ()):
        widget = getattr(made, view)
        if isinstance(widget, QWidget):
            qtbot.addWidget(widget)
    return made


@pytest.fixture
def host():
    return SimpleNamespace(state=State.READY)


@pytest.fixture
def window():
    return SimpleNamespace(mode=RunMode.SPECULATIVE)


@pytest.fixture
def runner():
    return Runner(None, None)


@pytest.fixture
def examination(views):
    return Examination(
        None, views.break_even, views.costs, views.verdict, ModelSlots(), None, lambda message: None
    )


@pytest.fixture
def showing(views, window, host, runner, examination):
    dialogue = Dialogue(views.conversation, views.prompt_bar)
    return Showing(window, views, runner, dialogue, examination, host)


def show_pair(showing, runner, **kind):
    speculative = explanation(**kind).trace
    runner.show(baseline_of(speculative), speculative)
    showing.show_traces()


def headline(views) -> str:
    return views.verdict.text().split("\n")[0]


def test_the_baseline_mode_shows_that_run_alone(showing, runner, window):
    show_pair(showing, runner)
    assert showing.shown() == (runner.baseline, runner.speculative)
    showing.show_end()
    assert showing.comparison is not None
    window.mode = RunMode.BASELINE
    assert showing.shown() == (runner.baseline, None)
    showing.show_end()
    assert showing.comparison is None


def test_the_verdict_waits_for_the_end_of_a_run_but_not_of_an_examination(
    showing, runner, host, views
):
    showing.show_traces()
    idle = headline(views)
    host.state = State.LOADING
    showing.show_traces()
    assert headline(views) == "Loading" != idle
    host.state = State.RUNNING
    show_pair(showing, runner)
    running = headline(views)
    host.state = State.READY
    showing.show_end()
    result = headline(views)
    assert result not in (running, idle)
    for state in (State.EXAMINING, State.CANCELLING):
        host.state, showing.examines = state, True
        showing.draw_figures()
        assert headline(views) == result
    host.state, showing.examines = State.RUNNING, False
    showing.draw_figures()
    assert headline(views) == running


def test_a_run_that_broke_off_is_not_waited_for(showing, runner, views, examination):
    examination.set_blocked("", busy=True)
    runner.show(None, explanation(close=False).trace)
    showing.show_traces()
    assert views.break_even.text() == plain(RUNNING)
    examination.set_blocked("", busy=False)
    showing.show_end()
    assert views.break_even.text() == plain(NOT_YET)


def test_a_step_that_is_not_there_changes_nothing(showing, runner, views):
    showing.choose_step(0)
    show_pair(showing, runner)
    showing.choose_step(1)
    chosen = views.inspector.text()
    assert chosen.startswith("Step 2")
    showing.choose_step(len(runner.speculative.steps))
    showing.choose_step(-1)
    assert views.inspector.text() == chosen
    showing.clear_step()
    assert views.inspector.text() != chosen
