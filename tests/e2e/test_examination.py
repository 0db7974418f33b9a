"""Costs measured and outputs checked from the window, with a real engine process."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from support import tiny_gguf
from support.scripts import simple_script, write_script
from support.windows import drive, resting, until

from specviz.trace.break_even import break_even
from specviz.trace.config import DraftSource, SpeculationConfig
from specviz.trace.lossless import BatchShape, Divergence
from specviz.ui import figures
from specviz.ui.cost_panel import OFFER
from specviz.ui.examination import BUSY, FORGOTTEN, NOTHING_ANEW, STOPPED_CHECK
from specviz.ui.lossless_words import DRAWN
from specviz.ui.states import State

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


async def run(controller, prompt="Say something"):
    controller.run(prompt)
    await until(lambda: controller.state is not State.READY)
    await resting(controller)


async def measure(controller):
    QTest.mouseClick(controller.views.costs.measure_button, Qt.MouseButton.LeftButton)
    assert controller.state is State.EXAMINING
    await resting(controller)


def test_break_even_and_costs_come_from_the_run_and_from_measuring(qtbot, tmp_path):
    async def body(controller):
        views = controller.views
        assert views.costs.measure_button.isEnabled()
        await run(controller)
        facts = views.break_even.facts
        needed = figures.percent(break_even(facts.costs, facts.n_draft))
        assert f"pays off above {needed} acceptance" in views.break_even.sentence.text()
        assert f"You are at {figures.percent(facts.acceptance)}." in views.break_even.text()
        # the script has rounds of 3 and of 1 draft tokens, and the baseline's of none
        assert {p.n_rows for p in views.costs.chart.points if p.is_measured} == {1, 4}
        await measure(controller)
        assert views.costs.status.text() == "Measured for checks of 1 to 4 rows."
        measured = {p.n_rows: p.steps for p in views.costs.chart.points if p.is_measured}
        assert sorted(measured) == [1, 2, 4]
        assert measured[2] == pytest.approx(0.02 / 0.015)
        # the verdict and the runs are what they were
        assert "faster" in views.verdict.text()
        views.break_even.length.setValue(1)
        assert views.costs.chart.marked == 2
        # other settings have other costs
        config = controller.window.setup.config()
        controller.window.setup.apply_config(replace(config, load=replace(config.load, n_ctx=2048)))
        controller.on_settings()
        assert views.costs.status.text() == FORGOTTEN
        assert {p.n_rows for p in views.costs.chart.points if p.is_measured} == {1, 4}
        controller.examining.show_check()
        panel = controller.examination.panel
        panel.check_button.click()
        assert controller.state is State.EXAMINING
        await resting(controller)
        assert panel.status.text() == NOTHING_ANEW
        controller.run("Once more")
        assert panel.status.text() == BUSY and not panel.check_button.isEnabled()
        controller.stop()
        await resting(controller)
        assert panel.check_button.isEnabled() or panel.status.text() != BUSY
        panel.close()

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_costs_can_be_measured_before_any_run(qtbot, tmp_path):
    async def body(controller):
        await until(lambda: controller.views.costs.status.text() == OFFER)
        await measure(controller)
        assert controller.runner.baseline is None
        assert "On these costs" in controller.views.break_even.text()
        assert controller.views.verdict.text().startswith("No run yet")

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def slow_script(folder, **changes):
    """A script of which measuring takes long enough to be stopped."""
    script = simple_script(pace="real", **changes)
    script["baseline"]["step_seconds"] = 0.002
    for played in script["rounds"][:-1]:
        played["verify_seconds"] = 3.0
    return write_script(folder / "script.json", script)


def test_measuring_can_be_stopped_and_keeps_what_it_has(qtbot, tmp_path):
    async def body(controller):
        costs = controller.views.costs
        controller.examining.measure_costs()
        await until(lambda: costs.progress.value() >= 1, "a first width")
        assert costs.measure_button.text() == "Cancel"
        assert controller.window.findChild(object, "stop-button").isVisible()
        QTest.mouseClick(costs.measure_button, Qt.MouseButton.LeftButton)
        assert controller.state is State.CANCELLING
        await resting(controller)
        assert controller.state is State.READY
        assert costs.status.text().startswith("Stopped; checks of up to ")
        assert controller.examination.measuring.measured.checks

    drive(tmp_path, body, script=slow_script(tmp_path))


def test_the_window_can_be_closed_while_costs_are_measured(qtbot, tmp_path):
    async def body(controller):
        controller.examining.measure_costs()
        await until(lambda: controller.views.costs.progress.value() >= 1, "a first width")

    drive(tmp_path, body, script=slow_script(tmp_path))


def test_a_wish_to_stop_is_heard_before_the_work_has_begun(qtbot, tmp_path):
    async def body(controller):
        controller.examining.measure_costs()
        controller.stop()
        await resting(controller)
        assert controller.state is State.READY
        assert controller.examination.measuring.measured is None
        controller.views.prompt_bar.set_prompt("Say something")
        controller.run("Say something")
        controller.stop()
        await resting(controller)
        assert controller.state is State.READY
        assert controller.runner.baseline is None and controller.runner.speculative is None

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_an_engine_that_dies_while_measuring_is_told_and_starts_again(qtbot, tmp_path):
    fault = {"run": "measure", "after_round": 1, "kind": "abort"}

    async def body(controller):
        await run(controller)
        tokens = len(controller.runner.speculative.tokens)
        controller.examining.measure_costs()
        await until(lambda: controller.state is State.FAULTED, "a fault")
        (message,) = controller.window.messages.messages
        assert message.key == "engine"
        assert not controller.views.costs.busy
        assert len(controller.runner.speculative.tokens) == tokens
        assert "faster" in controller.views.verdict.text()
        controller.window.restart_engine_requested.emit()
        await until(lambda: controller.state is State.READY)

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", fault=fault))


# The lossless check ------------------------------------------------------------------------------
def forking(folder, margin):
    """The run with drafts says another token at position 5 than the baseline, its second choice."""
    script = simple_script()
    ids = list(script["baseline"]["token_ids"])
    other = ids[5]
    ids[5] = 10
    script["baseline"]["token_ids"] = ids
    script["baseline"]["runner_up"] = [[11, 3.0]] * 5 + [[other, margin]] + [[11, 3.0]] * 14
    return write_script(folder / "script.json", script)


@pytest.mark.parametrize(
    ("margin", "found", "words"),
    [(0.03, Divergence.NEAR_TIE, "near-tie"), (4.0, Divergence.UNEXPLAINED, "not explained")],
)
def test_a_fork_is_looked_at_unasked_and_explained(qtbot, tmp_path, margin, found, words):
    async def body(controller):
        asked = []
        check = controller.session.check_lossless

        def noted(*args, **more):
            asked.append(more)
            return check(*args, **more)

        controller.session.check_lossless = noted
        await run(controller)
        assert [more["whole"] for more in asked] == [False]
        assert asked[0]["fork"] == 5
        assert controller.showing.comparison.divergence is found
        assert words in controller.views.verdict.text()
        button = controller.window.findChild(object, "check-output-button")
        assert button.isVisible() and button.text() == "Check output…"
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        panel = controller.examination.panel
        assert panel.isVisible()
        assert f"+{margin:.2f}" in [row.margin for row in panel.report.margins]
        assert words in panel.report.finding.text
        panel.close()

    drive(tmp_path, body, script=forking(tmp_path, margin))


def test_drawn_output_is_not_compared(qtbot, tmp_path):
    async def body(controller):
        config = controller.window.setup.config()
        sampling = replace(config.sampling, temperature=0.8)
        controller.window.setup.apply_config(replace(config, sampling=sampling))
        await run(controller)
        controller.window._action("check-output-action").trigger()
        panel = controller.examination.panel
        assert panel.report.headline.text == DRAWN
        assert not panel.check_button.isEnabled() and panel.status.text() == DRAWN
        panel.close()

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_a_stored_run_without_its_models_tells_what_was_recorded(qtbot, tmp_path):
    async def first(controller):
        await run(controller)
        controller.exports.suggested_name()
        await controller.exports.write("trace", tmp_path / "run.specviz.jsonl")

    drive(tmp_path / "one", first, script=forking(tmp_path, 0.03))

    async def second(controller):
        await until(lambda: controller.runner.speculative is not None, "the trace")
        controller.examining.show_check()
        panel = controller.examination.panel
        assert "is not in the setup" in panel.status.text()
        assert not panel.check_button.isEnabled()
        panel.close()
        assert not controller.views.costs.measure_button.isEnabled()
        assert controller.views.costs.status.text() == "Choose a target first."

    stored = sorted(tmp_path.glob("run*.specviz.jsonl"))
    drive(tmp_path / "two", second, trace=stored[-1])


# With weights ------------------------------------------------------------------------------------
@pytest.mark.model
def test_a_tiny_pair_is_measured_and_checked_anew(qtbot, tmp_path):
    target = tiny_gguf.write_llama(tmp_path / "target.gguf", mix=0.03, n_layers=4)
    draft = tiny_gguf.write_llama(tmp_path / "draft.gguf", mix=0.03, n_layers=1)

    async def body(controller):
        await until(lambda: controller.slots.verdict is not None)
        setup = controller.window.setup
        config = setup.config()
        load = config.load
        load = replace(
            load,
            target=replace(load.target, n_threads=1),
            draft=replace(load.draft, n_threads=1),
            n_ctx=512,
        )
        speculation = SpeculationConfig(sources=(DraftSource.DRAFT_SIMPLE,), n_max=3)
        setup.apply_config(
            replace(config, load=load, max_tokens=40, raw=True, speculation=speculation)
        )
        await run(controller, "the thin inn in the end")
        views = controller.views
        await measure(controller)
        assert views.costs.status.text() == "Measured for checks of 1 to 17 rows."
        measured = controller.examination.measuring.measured
        assert measured.checks[0].n_rows == 1 and measured.checks[-1].n_rows == 17
        assert all(each.seconds > 0 for each in (*measured.checks, *measured.drafts))
        assert measured.drafts
        # the runs are not touched by it
        before = controller.runner.speculative.text
        controller.examining.show_check()
        panel = controller.examination.panel
        # a check has in memory what its run was asked to have, whatever is set by then
        setup.apply_config(replace(setup.config(), load=replace(load, n_ctx=256)))
        controller.on_settings()
        QTest.mouseClick(panel.check_button, Qt.MouseButton.LeftButton)
        assert controller.state is State.EXAMINING
        await resting(controller)
        assert controller.notices.loaded.n_ctx == 512
        check = controller.examination.known_check
        assert check.n_rechecked == 40 and check.mismatch is None
        assert panel.report.fresh[0].text.startswith("All 40 tokens")
        assert panel.report.fresh[0].text.endswith("were confirmed on fresh memory.")
        if controller.showing.comparison.first_divergence is not None:
            assert {each.shape for each in check.margins} == set(BatchShape)
        # a check can be stopped, and the next run is what it would have been
        controller.examining.check_again()
        await until(lambda: panel.busy, "a check under way")
        controller.stop()
        await resting(controller)
        assert controller.state is State.READY
        assert panel.status.text() == STOPPED_CHECK
        panel.close()
        await run(controller, "the thin inn in the end")
        assert controller.runner.speculative.text == before

    drive(tmp_path, body, target=target, draft=draft)
