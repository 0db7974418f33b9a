"""What a sweep comes to with form, setup and slots, and why it cannot run."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication
from support.made_sweeps import PROMPTS, filled, length_plan, sweep_base
from support.shell import verdict

from specviz.errors import SettingError
from specviz.sweep.runner import Sweep
from specviz.trace.config import DraftSource
from specviz.ui.slots import ModelSlots
from specviz.ui.sweep_bar import SweepBar
from specviz.ui.sweep_control import SweepControl
from specviz.ui.sweep_page import SweepPage


class Host:
    """A window that has settings, slots and an ear."""

    def __init__(self):
        self.slots = ModelSlots()
        self.base = sweep_base()
        self.steps, self.notices = [], []
        self.on_sweep_notice = self.notices.append
        self.on_sweep_step = self.steps.append

    def sweep_base(self):
        return self.base


@pytest.fixture
def host():
    return Host()


@pytest.fixture
def control(qtbot, dressed, host):
    page, bar = SweepPage(PROMPTS), SweepBar()
    for widget in (page, bar):
        qtbot.addWidget(widget)
    control = SweepControl(page, bar, None, host, PROMPTS)
    page.form.lists["draft-tokens"].setText("1, 2, 4, 8")
    control.show_plan(ready=True)
    return control


def reason(control: SweepControl) -> str:
    control.show_plan(ready=True)
    assert control.bar.reason == control.reason
    return control.reason


def with_results(control: SweepControl, **base) -> None:
    """As if a sweep had been run."""
    plan = replace(length_plan(), base=replace(sweep_base(), **base))
    control.sweep = Sweep(None, plan, control)
    control.sweep.results = filled(plan)
    control.page.show_results(control.results)


def test_what_it_would_run(control):
    assert control.reason == ""
    assert control.bar.text() == "4 settings × 3 prompts × 1 repeat and 3 baselines: 15 runs"
    assert control.next_load.draft is not None


def test_without_a_target_that_comes_first(control):
    control.show_plan(ready=False)
    assert control.reason == "Choose a target first."


def test_each_part_of_the_form_can_stand_in_the_way(control):
    form = control.page.form
    form.methods[DraftSource.DRAFT_SIMPLE].setChecked(False)
    assert reason(control) == "Tick at least one method."
    form.methods[DraftSource.NGRAM_MOD].setChecked(True)
    assert reason(control) == "" and control.next_load.draft is None
    form.lists["ngram-mod-match"].setText("none")
    assert reason(control).startswith("Matching tokens takes whole numbers")
    form.lists["ngram-mod-match"].setText("")
    for tick in form.ticks.values():
        tick.setChecked(False)
    assert reason(control) == "Tick at least one prompt."
    form.source.set_value("field")
    assert reason(control) == "Write a prompt in one of the other modes first."
    control.set_field_prompt("Say it.")
    assert reason(control) == ""
    form.source.set_value("file")
    assert reason(control) == "Choose a file of prompts."


def test_a_draft_is_needed_and_must_fit(control, host):
    host.base = replace(host.base, load=replace(host.base.load, draft=None))
    assert reason(control) == "Drafting with a draft model needs a draft model."
    host.base = sweep_base()
    host.slots.files["target"] = None
    assert reason(control) == ""


def test_a_pair_that_does_not_fit_cannot_draft(control, host, monkeypatch):
    monkeypatch.setattr(ModelSlots, "target", property(lambda self: object()))
    host.slots.verdict = verdict(False, "Token 3 differs.")
    assert reason(control).startswith("This draft does not fit the target.")


def test_what_is_left_out_is_said_and_the_rest_can_run(control, host):
    host.base = replace(host.base, speculation=replace(host.base.speculation, n_min=3))
    assert reason(control) == ""
    assert control.bar.text().splitlines()[1].startswith("2 of 4 settings are left out. ")


def test_prompts_from_a_file(control, tmp_path):
    path = tmp_path / "prompts.txt"
    path.write_text("One\nTwo\n", encoding="utf-8")
    control.page.form.source.set_value("file")
    asyncio.run(control.take_file(str(path)))
    assert reason(control) == "" and "× 2 prompts ×" in control.bar.text()
    asyncio.run(control.take_file(str(tmp_path / "gone.txt")))
    assert "gone.txt cannot be read" in reason(control)
    asyncio.run(control.take_file(None))
    assert reason(control) == "Choose a file of prompts."


def test_a_setup_that_changed_since_the_sweep_is_told(control, host):
    with_results(control)
    control.show_plan(ready=True)
    assert "changed" not in control.page.verdict.text()
    # what is varied anyway, and a seed that was drawn, change nothing
    host.base = replace(host.base, speculation=replace(host.base.speculation, n_max=9))
    host.base = replace(host.base, sampling=replace(host.base.sampling, seed=None))
    control.show_plan(ready=True)
    assert "changed" not in control.page.verdict.text()
    host.base = replace(host.base, max_tokens=7)
    control.show_plan(ready=True)
    text = control.page.verdict.text()
    assert f"Measured with {control.results.target.name}" in text
    assert "the setup has changed since." in text


def test_the_command_of_the_chosen_setting(control):
    assert control.copy_command() is None
    with_results(control)
    control.page.table.choose(2)
    message = control.copy_command()
    command = QGuiApplication.clipboard().text()
    assert command.startswith("llama-server") and "--spec-draft-n-max 4" in command
    assert message.details == command
    assert "Its options are those of llama.cpp" in message.sentence


def test_exports(control, tmp_path):
    with pytest.raises(SettingError, match="no sweep to export"):
        asyncio.run(control.export("sweep-csv", tmp_path / "x.csv"))
    assert not control.has_figures and control.suggested_name() == "sweep"
    with_results(control)
    assert control.has_figures
    for kind in ("sweep-csv", "sweep-json"):
        (path,) = asyncio.run(control.export(kind, tmp_path / kind))
        assert path.stat().st_size > 100
    assert "/" not in control.suggested_name() and control.suggested_name().endswith("sweep")


def test_a_run_that_failed_is_told_with_prompt_setting_and_reason(control, host):
    with_results(control)
    control.results.add_error(1, 2, "Out of memory.")
    control.on_sweep_result(1, 2)
    control.on_sweep_result(0, 0)
    assert [step.hint for step in host.steps] == ["Story, 4 draft tokens: Out of memory."]
