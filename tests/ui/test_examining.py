"""When something may be examined, and that the state is always left again."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from specviz.trace.config import RunMode
from specviz.ui.chat import Chat
from specviz.ui.examining import Examining
from specviz.ui.run_orders import NO_TARGET
from specviz.ui.states import State


class Host:
    def __init__(self):
        self.state, self.moves, self.n_ends = State.READY, [], 0

    def begin_work(self, state, load):
        self.state = state
        self.moves.append((state, load))

    def rest(self):
        self.state = State.READY
        self.moves.append("rest")

    def show_end(self):
        self.n_ends += 1

    def stop(self):
        self.state = State.CANCELLING


class Orders:
    ready = True

    def config(self, mode, messages, raw=None):
        return SimpleNamespace(mode=mode, messages=messages, load="models")

    def why_not(self, config):
        return ""


@pytest.fixture
def made():
    """Examining, with parts that only note what is asked of them."""
    made = SimpleNamespace(host=Host(), orders=Orders(), asked=[], spawned=[], wants=True)

    async def measure(config):
        made.asked.append(config)

    async def look_at_fork(comparison):
        made.asked.append(comparison)

    examination = SimpleNamespace(
        measure=measure, look_at_fork=look_at_fork, wants_a_look=lambda comparison: made.wants
    )
    views = SimpleNamespace(
        prompt_bar=SimpleNamespace(prompt="Mine."),
        conversation=SimpleNamespace(clear_progress=lambda: None),
    )
    made.examining = Examining(
        None,
        views,
        made.orders,
        SimpleNamespace(chat=Chat()),
        examination,
        SimpleNamespace(compare=lambda: "compared"),
        SimpleNamespace(spawn=made.spawned.append),
        made.host,
    )
    return made


def test_costs_are_measured_with_drafts_and_the_text_at_hand(made):
    made.examining.measure_costs()
    assert made.host.moves == [(State.EXAMINING, "models")]
    assert made.examining.why_not_measure() == "Something is being examined already."
    asyncio.run(made.spawned[0])
    assert made.host.moves[1:] == ["rest"] and made.host.n_ends == 1
    (config,) = made.asked
    assert config.mode is RunMode.SPECULATIVE
    assert [message.text for message in config.messages] == ["Mine."]


def test_a_measurement_stopped_before_it_began_asks_for_nothing(made):
    made.examining.measure_costs()
    made.host.stop()
    asyncio.run(made.spawned[0])
    assert not made.asked and made.host.state is State.READY


def test_without_a_target_or_during_a_run_nothing_is_measured(made):
    made.host.state = State.RUNNING
    made.examining.measure_costs()
    made.orders.ready = False
    assert made.examining.why_not_measure() == NO_TARGET
    made.host.state = State.EMPTY
    made.examining.measure_costs()
    assert not made.spawned


def test_a_fork_is_looked_at_only_where_a_run_was_left_to_end(made):
    made.host.state = State.CANCELLING
    asyncio.run(made.examining.look_at_fork("models"))
    made.host.state, made.wants = State.RUNNING, False
    asyncio.run(made.examining.look_at_fork("models"))
    assert not made.host.moves
    made.wants = True
    asyncio.run(made.examining.look_at_fork("models"))
    assert made.host.moves == [(State.EXAMINING, "models")] and made.asked == ["compared"]
