"""What the engine tells beside its runs: said once, and held against what was asked for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.traces import TARGET

from specviz.trace.config import Role, RunMode
from specviz.trace.events import Prefilled
from specviz.ui.notices import KEEPS_STATE, Notices
from specviz.ui.run_orders import RunOrders
from specviz.ui.slots import ModelSlots
from specviz.ui.states import State
from specviz.worker.protocol import Loaded, Loading, Prefilling, SafeMode


class Host:
    def __init__(self):
        self.state = State.LOADING

    def set_state(self, state):
        self.state = state


class Page:
    """A conversation that only has a line of progress."""

    def __init__(self):
        self.lines = []

    def show_progress(self, text, share=None):
        self.lines.append((text, share))


@pytest.fixture
def told(window):
    """Notices, with all that they talk to."""
    made = SimpleNamespace(window=window, host=Host(), page=Page(), n_cancelled=0)

    def cancel():
        made.n_cancelled += 1

    session = SimpleNamespace(cancel=cancel)
    orders = RunOrders(window.setup, ModelSlots(), None)
    made.orders = orders
    made.notices = Notices(window, made.page, session, orders, made.host)
    return made


def loaded(rollback="trim", reasons=()):
    return Loaded(target=TARGET, draft=None, effective={}, reasons=reasons, rollback=rollback)


def sentences(told):
    return [message.sentence for message in told.window.messages.messages]


def waiting(told):
    rows = told.window.setup.rows
    return {key for key, row in rows.items() if "reload" in row.note()}


def test_a_check_loads_what_its_run_had_and_the_settings_wait(told):
    now = told.orders.load()
    told.notices.asked = replace(now, n_ctx=now.n_ctx + 512)
    told.notices.on_loaded(loaded())
    assert told.notices.loaded == told.notices.asked
    assert waiting(told) == {"context"}
    told.notices.asked = None
    told.notices.on_loaded(loaded(reasons=("context",)))
    assert told.notices.loaded == now and waiting(told) == set()
    assert sentences(told) == ["Loaded again, because of: context."]


def test_a_price_of_drafting_is_said_once_for_each_load_when_there_is_drafting(told):
    told.window.set_mode(RunMode.BASELINE)
    told.notices.on_notice(loaded("checkpoint"))
    assert not sentences(told)
    told.window.set_mode(RunMode.SPECULATIVE)
    told.notices.tell_of_state()
    assert sentences(told) == [KEEPS_STATE]
    told.window.messages.clear()
    told.notices.tell_of_state()
    assert not sentences(told)


def test_a_wish_to_stop_reaches_an_engine_that_was_still_starting(told):
    told.notices.on_notice(Loading(role=Role.TARGET, path="/m/t.gguf", fraction=0.5))
    assert told.n_cancelled == 0 and told.page.lines == [("Loading the target, t.gguf…", 0.5)]
    told.host.state = State.CANCELLING
    told.notices.on_notice(Loading(role=Role.TARGET, path="/m/t.gguf", fraction=0.6))
    assert told.n_cancelled == 1


def test_reading_the_prompt_is_the_beginning_of_a_run(told):
    told.notices.on_notice(Prefilling(run_id="r", role=Role.DRAFT, n_done=3, n_total=4))
    assert told.host.state is State.RUNNING
    assert told.page.lines == [("Reading the prompt with the draft… 3 of 4 tokens", 0.75)]
    told.host.state = State.CANCELLING
    told.notices.on_notice(Prefilling(run_id="r", role=Role.TARGET, n_done=0, n_total=0))
    assert told.host.state is State.CANCELLING and told.page.lines[-1][1] is None


def test_a_prompt_that_was_there_already_is_said_and_a_new_one_not(told):
    event = Prefilled(run_id="r", t=0.0, role=Role.TARGET, n_tokens=4, n_reused=0, seconds=0.1)
    told.notices.on_prefilled(event)
    assert not told.page.lines
    told.notices.on_prefilled(replace(event, n_reused=8))
    assert told.page.lines == [("Read the prompt: 4 of 12 tokens were new", None)]


def test_safe_mode_is_said_with_its_reason(told):
    told.notices.on_notice(SafeMode(message="Repacking is off."))
    assert sentences(told) == ["Repacking is off."]
