"""What the setup as it stands asks of the engine, with models, a script or neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import tiny_gguf
from support.turns import user

from specviz.models.model_file import inspect_model
from specviz.trace.config import Role, RunMode
from specviz.ui.run_orders import NO_TARGET, RunOrders
from specviz.ui.slots import ModelSlots


@pytest.fixture
def slots():
    return ModelSlots()


def test_a_target_is_asked_for_before_anything_else(panel, slots):
    orders = RunOrders(panel, slots, None)
    assert not orders.ready
    assert orders.why_not_run(RunMode.BASELINE) == NO_TARGET
    assert orders.why_not(orders.config(RunMode.SPECULATIVE, ())) == NO_TARGET


def test_a_script_takes_the_place_of_target_and_draft(panel, slots):
    orders = RunOrders(panel, slots, Path("script.json"))
    assert orders.ready and orders.why_not_run(RunMode.SPECULATIVE) == ""
    load = orders.config(RunMode.SPECULATIVE, (user("Say it."),)).load
    assert (load.target.path, load.draft.path) == ("script.json", "script.json")
    assert orders.load() == load == orders.sweep_base().load


def test_without_a_template_no_turn_can_ask_for_one(panel, slots, tmp_path):
    orders = RunOrders(panel, slots, None)
    assert orders.config(RunMode.BASELINE, ()).raw is orders.raw is False
    assert orders.config(RunMode.BASELINE, (), raw=True).raw is True
    slots.put(Role.TARGET, inspect_model(tiny_gguf.write_llama(tmp_path / "target.gguf")))
    assert orders.lacks_template
    assert orders.config(RunMode.BASELINE, (), raw=True).raw is False
