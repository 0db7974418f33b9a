"""A sweep through the window, with a scripted engine in a real child process."""

from __future__ import annotations

import csv
import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from support.scripts import simple_script, write_script
from support.windows import drive, resting, until

from specviz.preferences import Preferences
from specviz.trace.config import DraftSource, RunMode
from specviz.ui.states import State
from specviz.ui.sweep_page import BASELINE_KEY
from specviz.ui.window_mode import WindowMode


def go_to_sweep(controller) -> None:
    click(controller, "mode-sweep")


def click(controller, name: str) -> None:
    button = controller.window.findChild(QPushButton, name)
    assert button.isVisible() and button.isEnabled(), name
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def choose(controller, lengths: str, *prompts: str) -> None:
    """Draft lengths, and the built-in prompts of these names."""
    form = controller.views.sweep.form
    form.lists["draft-tokens"].setText(lengths)
    for name, tick in form.ticks.items():
        tick.setChecked(name in prompts)


async def swept(controller) -> None:
    await until(lambda: controller.state is not State.READY)
    await resting(controller)


def messages(controller) -> list[str]:
    return [message.sentence for message in controller.window.messages.messages]


def test_a_sweep_from_form_to_exports(qtbot, tmp_path):
    async def body(controller):
        page, bar = controller.views.sweep, controller.views.sweep_bar
        go_to_sweep(controller)
        assert page.isVisible() and not controller.views.prompt_bar.isVisible()
        choose(controller, "1, 2", "Story", "Reasoning")
        assert bar.text() == "2 settings × 2 prompts × 1 repeat and 2 baselines: 6 runs"
        click(controller, "sweep-run-button")
        assert controller.state is State.LOADING
        await swept(controller)
        results = controller.sweep.results
        assert results.complete and not results.n_failed
        assert page.table.keys == [BASELINE_KEY, 0, 1]
        # the script drafts what it drafts, whatever it is asked for
        assert page.table.texts(0)[0] in ("1 draft token", "★ 1 draft token · best")
        assert page.verdict.words.headline == "Helps on 2 of 2"
        assert page.chosen == results.best().index
        assert [page.prompts.texts(i)[0] for i in range(2)] == ["Story", "Reasoning"]
        table, report = tmp_path / "sweep.csv", tmp_path / "sweep.json"
        await controller.export("sweep-csv", table)
        await controller.export("sweep-json", report)
        with table.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 6
        best = next(row for row in rows if row["best"] == "true" and row["prompt"] == "Story")
        assert f"{float(best['speedup']):.2f}×" in page.prompts.texts(0)[1]
        assert json.loads(report.read_text(encoding="utf-8"))["schema"] == "specviz.sweep/1"

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_a_setting_is_used_and_that_can_be_undone(qtbot, tmp_path):
    async def body(controller):
        page, window = controller.views.sweep, controller.window
        go_to_sweep(controller)
        choose(controller, "1, 7", "Story")
        before = window.setup.config()
        controller.sweeping.run()
        await swept(controller)
        page.table.choose(1)
        click(controller, "sweep-command-button")
        assert "--spec-draft-n-max 7" in QGuiApplication.clipboard().text()
        assert "llama.cpp" in messages(controller)[-1]
        click(controller, "sweep-use-button")
        assert window.window_mode is WindowMode.SPECULATIVE
        assert window.setup.config().speculation.n_max == 7
        assert controller.views.prompt_bar.isVisible()
        assert messages(controller)[-1] == "The setup has this setting now: 7 draft tokens."
        window.messages.action_requested.emit("undo-use-setting")
        assert window.window_mode is WindowMode.SWEEP
        assert window.setup.config().speculation == before.speculation
        # the results are still there
        assert page.table.keys == [BASELINE_KEY, 0, 1]

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_stopping_keeps_what_was_measured(qtbot, tmp_path):
    script = simple_script(pace="real")
    script["baseline"]["step_seconds"] = 0.002

    async def body(controller):
        page, bar = controller.views.sweep, controller.views.sweep_bar
        go_to_sweep(controller)
        choose(controller, "1:6", "Story", "Reasoning")
        controller.sweeping.run()
        await until(lambda: controller.sweep.results and controller.sweep.results.n_added >= 3)
        assert controller.state is State.RUNNING
        assert not controller.window.top_bar.modes.isEnabled(), "no way out while it runs"
        assert not page.form.lists["draft-tokens"].isEnabled()
        assert " of 14 · " in bar.text()
        click(controller, "sweep-stop-button")
        await resting(controller)
        assert controller.state is State.READY
        results = controller.sweep.results
        assert 3 <= results.n_added < results.plan.n_runs
        assert "what was measured is kept" in page.verdict.text()
        assert page.form.lists["draft-tokens"].isEnabled()
        assert "14 runs" in bar.text()

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", script))


def test_an_engine_that_dies_is_a_row_with_its_reason_and_in_the_end_told(qtbot, tmp_path):
    fault = {"run": "speculative", "after_round": 1, "kind": "abort"}

    async def body(controller):
        page = controller.views.sweep
        go_to_sweep(controller)
        choose(controller, "1, 2", "Story", "Reasoning")
        controller.sweeping.run()
        await swept(controller)
        assert controller.state is State.FAULTED
        results = controller.sweep.results
        assert results.n_failed == 3
        assert page.table.texts(0)[0] == "1 draft token · failed"
        page.table.choose(0)
        assert results.result(0, 0).error in page.prompts.texts(0)[2]
        assert "3 runs failed" in page.verdict.text()
        assert any("failed" in sentence for sentence in messages(controller))
        # it stays usable
        assert page.form.lists["draft-tokens"].isEnabled()
        assert controller.views.sweep_bar.reason == ""

    script = write_script(tmp_path / "script.json", fault=fault)
    drive(tmp_path, body, script=script)


def test_modes_come_and_go_and_lose_nothing(qtbot, tmp_path):
    async def body(controller):
        window, views = controller.window, controller.views
        QTest.keyClicks(views.prompt_bar.edit, "Say something")
        controller.run(views.prompt_bar.prompt)
        await swept(controller)
        text = views.conversation.whole_text
        QTest.keyClicks(views.prompt_bar.edit, "And more")
        go_to_sweep(controller)
        assert not window.findChild(object, "charts-panel").isVisible()
        assert not window.findChild(object, "steps-panel").isVisible()
        views.sweep.form.source.set_value("field")
        views.sweep.form._on_changed()
        choose(controller, "2")
        assert "1 prompt " in views.sweep_bar.text()
        # Ctrl+Enter means the page on show
        window.run_requested.emit()
        await swept(controller)
        assert controller.sweep.results.plan.prompts[0].text == "And more"
        click(controller, "mode-speculative")
        assert views.conversation.whole_text == text
        assert views.prompt_bar.prompt == "And more"
        assert window.findChild(object, "charts-panel").isVisible()
        click(controller, "mode-baseline")
        assert window.mode is RunMode.BASELINE
        go_to_sweep(controller)
        assert len(views.sweep.table.keys) == 2

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_the_form_is_remembered(qtbot, tmp_path):
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("One\n\nTwo\n", encoding="utf-8")
    script = write_script(tmp_path / "script.json")

    async def fill(controller):
        go_to_sweep(controller)
        form = controller.views.sweep.form
        choose(controller, "2, 4")
        form.methods[DraftSource.NGRAM_MOD].setChecked(True)
        form.source.set_value("file")
        form.file.set_value(str(prompts))
        form.file_chosen.emit(str(prompts))
        await until(lambda: "2 prompts" in controller.views.sweep_bar.text())

    async def look(controller):
        assert controller.window.window_mode is WindowMode.SWEEP
        form = controller.views.sweep.form
        await until(lambda: "2 prompts" in controller.views.sweep_bar.text())
        assert form.lists["draft-tokens"].text() == "2, 4"
        assert form.choice().sources == (DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE)
        assert controller.views.sweep_bar.text().startswith("3 settings × 2 prompts")

    drive(tmp_path, fill, script=script)
    drive(tmp_path, look, script=script)


@pytest.mark.parametrize("mode", ["race", 7, None, "sweep"])
def test_an_unknown_mode_is_the_usual_one(qtbot, tmp_path, mode):
    preferences = Preferences(tmp_path / "settings.json")
    preferences.set("mode", mode)
    preferences.set("sweep", ["odd"])
    preferences.save()

    async def body(controller):
        wanted = WindowMode.SWEEP if mode == "sweep" else WindowMode.SPECULATIVE
        assert controller.window.window_mode is wanted

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_closing_during_a_sweep_leaves_nothing(qtbot, tmp_path):
    script = simple_script(pace="real", repeat_rounds=10_000)

    async def body(controller):
        go_to_sweep(controller)
        choose(controller, "1:8", "Story")
        controller.sweeping.run()
        await until(lambda: controller.state is State.RUNNING)

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", script))
