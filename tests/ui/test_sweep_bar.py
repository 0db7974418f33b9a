"""The bar of a sweep: plan, reason, progress, and the button."""

from __future__ import annotations

import pytest
from support.shell import Heard

from specviz.sweep.runner import Progress
from specviz.ui.sweep_bar import SweepBar

PLAN = "4 settings × 3 prompts × 1 repeat and 3 baselines: 15 runs"


@pytest.fixture
def bar(qtbot, dressed):
    bar = SweepBar()
    qtbot.addWidget(bar)
    bar.resize(800, bar.height())
    bar.show()
    return bar


def button(bar: SweepBar, which: str):
    return bar.findChild(object, f"sweep-{which}-button")


def test_the_plan_and_the_button(bar):
    heard = Heard()
    bar.run_requested.connect(lambda: heard("run"))
    bar.show_plan(PLAN, blocked="")
    assert bar.text() == PLAN
    button(bar, "run").click()
    assert heard.said == ["run"]


def test_why_it_cannot_run_stands_below_and_the_button_rests(bar):
    bar.show_plan(PLAN, blocked="Tick at least one method.", note="1 of 4 is left out.")
    assert bar.text() == f"{PLAN}\nTick at least one method."
    assert not button(bar, "run").isEnabled()
    assert button(bar, "run").accessibleDescription() == bar.reason
    bar.show_plan(PLAN, blocked="", note="1 of 4 is left out.")
    assert bar.text() == f"{PLAN}\n1 of 4 is left out."
    assert button(bar, "run").isEnabled() and bar.reason == ""


def test_progress_and_stop(bar):
    heard = Heard()
    bar.stop_requested.connect(lambda: heard("stop"))
    bar.show_plan(PLAN, blocked="")
    bar.set_running(True)
    assert bar.text() == "Starting…"
    assert button(bar, "stop").isVisible() and not button(bar, "run").isVisible()
    bar.show_progress(Progress(3, 15, "Story", "4 draft tokens", None, 20.0))
    assert bar.text() == "3 of 15 · Story · 4 draft tokens"
    progress = bar.findChild(object, "sweep-progress")
    assert (progress.value(), progress.maximum()) == (3, 15)
    # a plan that changes meanwhile waits
    bar.show_plan(PLAN, blocked="Not now.")
    bar.show_loading("Loading the target…")
    assert bar.text() == "Loading the target…"
    bar.show_loading("")
    assert bar.text() == "3 of 15 · Story · 4 draft tokens"
    button(bar, "stop").click()
    assert heard.said == ["stop"]
    assert button(bar, "stop").text() == "Stopping…" and not button(bar, "stop").isEnabled()
    bar.set_running(False)
    assert bar.text() == f"{PLAN}\nNot now."
    bar.set_running(True)
    assert button(bar, "stop").isEnabled() and button(bar, "stop").text() == "Stop"


def test_the_focus_stays_at_the_button(qtbot, bar):
    bar.show_plan(PLAN, blocked="")
    button(bar, "run").setFocus()
    bar.set_running(True)
    assert button(bar, "stop").hasFocus()
    bar.set_running(False)
    assert button(bar, "run").hasFocus()
