"""Writing a prompt, picking an example, running and stopping."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from specviz.ui.examples import load_examples
from specviz.ui.prompt_bar import ROW, PromptBar
from specviz.ui.theme import DARK


@pytest.fixture
def bar(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    bar = PromptBar(window)
    bar.resize(788, 60)
    bar.apply_palette(DARK)
    window.resize(1600, 300)
    window.show()
    yield bar


def button(bar: PromptBar, name: str) -> QPushButton:
    found = bar.findChild(QPushButton, name)
    assert found is not None
    return found


def test_enter_runs_and_shift_enter_begins_a_line(qtbot, bar):
    qtbot.keyClicks(bar.edit, "one")
    qtbot.keyClick(bar.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(bar.edit, "two")
    with qtbot.waitSignal(bar.run_requested) as run:
        qtbot.keyClick(bar.edit, Qt.Key.Key_Return)
    assert run.args == ["one\ntwo"]


def test_the_button_runs(qtbot, bar):
    bar.set_prompt("Hello")
    with qtbot.waitSignal(bar.run_requested) as run:
        qtbot.mouseClick(button(bar, "run-button"), Qt.MouseButton.LeftButton)
    assert run.args == ["Hello"]


def test_without_a_prompt_nothing_runs_and_the_reason_is_told(qtbot, bar):
    runs = []
    bar.run_requested.connect(runs.append)
    bar.set_prompt("  \n ")
    run = button(bar, "run-button")
    assert not run.isEnabled()
    assert run.toolTip() == "Write a prompt first, or pick an example."
    qtbot.keyClick(bar.edit, Qt.Key.Key_Return)
    assert runs == []


def test_what_blocks_is_said_in_plain_sight(bar):
    bar.set_prompt("Hello")
    bar.set_blocked("Choose a target first.")
    run = button(bar, "run-button")
    assert not run.isEnabled()
    assert run.toolTip() == "Choose a target first."
    assert bar._reason.isVisible() and bar._reason.text() == "Choose a target first."
    bar.set_blocked("")
    assert run.isEnabled() and not bar._reason.isVisible()


def test_run_turns_into_stop_and_back(qtbot, bar):
    bar.set_prompt("Hello")
    bar.set_running(True)
    run, stop = button(bar, "run-button"), button(bar, "stop-button")
    assert stop.isVisible() and not run.isVisible()
    with qtbot.waitSignal(bar.stop_requested):
        qtbot.mouseClick(stop, Qt.MouseButton.LeftButton)
    assert not stop.isEnabled()
    bar.set_running(False)
    assert run.isVisible() and not stop.isVisible()


def test_enter_does_not_run_twice(qtbot, bar):
    runs = []
    bar.run_requested.connect(runs.append)
    bar.set_prompt("Hello")
    bar.set_running(True)
    qtbot.keyClick(bar.edit, Qt.Key.Key_Return)
    assert runs == []


def test_the_words_of_the_button(bar):
    bar.set_prompt("Hello")
    bar.set_run_words("Run baseline")
    assert button(bar, "run-button").text() == "Run baseline"
    assert button(bar, "run-button").toolTip() == "Run baseline (Enter)"


def test_the_field_grows_to_six_lines_and_shrinks_again(qtbot, bar):
    heights = []
    for n in (1, 2, 6, 20, 1):
        bar.set_prompt("\n".join("line" for _ in range(n)))
        qtbot.waitUntil(lambda: bar.edit.height() == bar.edit.wanted_height)
        heights.append(bar.edit.height())
    assert heights[0] == heights[-1] == ROW
    assert heights[0] < heights[1] < heights[2] == heights[3]
    assert bar.edit.geometry().bottom() < bar.height()


@pytest.mark.parametrize("width", [400, 788, 1600])
def test_everything_stays_inside(bar, width):
    bar.resize(width, bar.height())
    bar.set_prompt("Hello")
    for child in (bar.edit, button(bar, "run-button"), button(bar, "examples-button")):
        assert bar.rect().contains(child.geometry())


def test_an_example_fills_the_field(qtbot, bar):
    example = load_examples()[0]
    with qtbot.waitSignal(bar.example_chosen) as chosen:
        bar.choose(example)
    assert chosen.args == [example]
    assert bar.prompt == example.prompt


def test_the_menu_offers_every_example_with_its_lesson(bar):
    bar._fill_menu()
    actions = bar._menu.actions()
    assert [action.text() for action in actions] == [example.name for example in load_examples()]
    assert all(action.toolTip() for action in actions)


def test_replacing_a_prompt_can_be_undone(qtbot, bar):
    qtbot.keyClicks(bar.edit, "mine")
    bar.set_prompt("theirs")
    bar.edit.undo()
    assert bar.prompt == "mine"


def test_the_examples_are_what_they_should_be():
    examples = load_examples()
    assert len({example.name for example in examples}) == len(examples) >= 8
    for example in examples:
        assert example.prompt.strip() and example.lesson.endswith(".")
        assert example.n_max is None or 1 <= example.n_max <= 16
        assert example.p_min is None or 0 <= example.p_min <= 1
    assert any("three times" in example.prompt for example in examples)


def test_controls_have_names(bar):
    for name in ("run-button", "stop-button", "examples-button"):
        assert button(bar, name).accessibleDescription()
    assert bar.edit.accessibleName() == "Prompt"


def test_the_arrow_up_asks_for_an_earlier_prompt_where_there_is_nothing_to_go_up_in(qtbot, bar):
    asked = []
    bar.earlier_wanted.connect(lambda: asked.append(bar.prompt))
    qtbot.keyClick(bar.edit, Qt.Key.Key_Up)
    bar.recall("An earlier prompt\nof two lines")
    qtbot.keyClick(bar.edit, Qt.Key.Key_Up)  # from the second line to the first
    assert asked == [""]
    qtbot.keyClick(bar.edit, Qt.Key.Key_Up)
    assert len(asked) == 2
    qtbot.keyClicks(bar.edit, "changed ")
    qtbot.keyClick(bar.edit, Qt.Key.Key_Up)
    assert len(asked) == 2


def test_escape_and_the_button_of_the_hint_give_up(qtbot, bar):
    bar.set_hint("Editing turn 2", closable=True)
    closer = bar.findChild(QWidget, "prompt-hint-close")
    assert closer.isVisible() and bar.rect().contains(closer.geometry())
    for act in (
        lambda: qtbot.keyClick(bar.edit, Qt.Key.Key_Escape),
        lambda: qtbot.mouseClick(closer, Qt.MouseButton.LeftButton),
    ):
        with qtbot.waitSignal(bar.given_up):
            act()


@pytest.mark.parametrize("blocked", ["", "Choose a target first."])
def test_a_hint_has_a_line_of_its_own(bar, blocked):
    bar.set_blocked(blocked)
    before = bar.height()
    bar.set_hint("A raw prompt has no turns.", closable=False)
    hint = bar.findChild(QWidget, "prompt-hint")
    assert hint.isVisible() and not bar.findChild(QWidget, "prompt-hint-close").isVisible()
    assert not hint.geometry().intersects(bar.edit.geometry())
    assert not (blocked and hint.geometry().intersects(bar._reason.geometry()))
    assert bar.height() > before
    bar.set_hint("", closable=False)
    assert bar.height() == before and not hint.isVisible()
