"""The form of a sweep: what is ticked and typed, what is wrong about it, what is remembered."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt
from support.shell import Heard

from specviz.trace.config import DraftSource
from specviz.ui.sweep_choice import PromptsFrom
from specviz.ui.sweep_form import NO_PROMPT, SweepForm

SIMPLE, MOD = DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_MOD
PROMPTS = [("Code", "Copies."), ("Story", "Surprises.")]


@pytest.fixture
def form(qtbot, dressed):
    form = SweepForm(PROMPTS)
    qtbot.addWidget(form)
    form.resize(900, 400)
    form.show()
    return form


def test_what_it_begins_with(form):
    choice = form.choice()
    assert choice.sources == (SIMPLE,)
    assert choice.values == {"draft-tokens": tuple(range(1, 9))}
    assert choice.prompts_from is PromptsFrom.BUILTIN
    assert choice.builtin == ("Code", "Story")
    assert choice.n_repeats == 1
    assert form.problem() == ""


def test_only_the_fields_of_ticked_methods_are_shown_and_count(qtbot, form):
    heard = Heard()
    form.changed.connect(lambda: heard(1))
    match = form.lists["ngram-mod-match"]
    match.setText("4, 8")
    assert not match.isVisible()
    assert "ngram-mod-match" not in form.choice().values
    form.methods[MOD].setChecked(True)
    assert match.isVisible()
    assert form.choice().values["ngram-mod-match"] == (4, 8)
    form.methods[SIMPLE].setChecked(False)
    assert not form.lists["draft-tokens"].isVisible()
    assert form.choice().sources == (MOD,)
    assert heard.said == [1, 1, 1]


def test_a_field_that_cannot_be_read_is_marked_and_said(qtbot, form):
    field = form.lists["draft-tokens"]
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "1, x")
    assert form.problem().startswith("Draft tokens takes whole numbers")
    assert field.property("wrong") == "true"
    assert field.accessibleDescription() == form.problem()
    said = form.findChild(object, "sweep-list-problem")
    assert said.isVisible() and said.text() == form.problem()
    qtbot.keyClick(field, Qt.Key.Key_Backspace)
    assert form.problem() == "" and not said.isVisible()
    assert field.property("wrong") == "false"
    assert form.choice().values["draft-tokens"] == (1,)


def test_what_is_wrong_in_a_field_that_does_not_count_stops_nothing(form):
    form.lists["ngram-mod-match"].setText("x")
    assert form.problem() == ""


def test_prompts_come_from_one_of_three_places(form):
    tick, shown = form.ticks["Code"], form.findChild(object, "sweep-field-prompt")
    assert tick.isVisible()
    form.source._choose("field")
    assert not tick.isVisible() and shown.isVisible()
    assert form.choice().prompts_from is PromptsFrom.FIELD
    form.show_field_prompt("")
    assert shown.text() == NO_PROMPT
    form.show_field_prompt("  <b>Say</b>\n it ")
    assert shown.text() == "<b>Say</b> it"
    assert shown.textFormat() is Qt.TextFormat.PlainText
    form.source._choose("file")
    form.show_file("/p/prompts.txt", "2 prompts")
    assert form.findChild(object, "sweep-file-found").text() == "2 prompts"
    assert form.file.isVisible()


def test_repeats_have_limits(qtbot, form):
    qtbot.keyClick(form.repeats, Qt.Key.Key_Down)
    assert form.choice().n_repeats == 1
    for _ in range(12):
        qtbot.keyClick(form.repeats, Qt.Key.Key_Up)
    assert form.choice().n_repeats == 9


def test_locked_nothing_can_be_changed(form):
    form.set_locked(True)
    fields = (*form.methods.values(), *form.lists.values(), *form.ticks.values())
    assert not any(field.isEnabled() for field in (*fields, form.source, form.file, form.repeats))
    form.set_locked(False)
    assert all(field.isEnabled() for field in (*fields, form.source, form.file, form.repeats))


def test_it_is_remembered_as_plain_values(qtbot, form):
    form.methods[MOD].setChecked(True)
    form.lists["p-min"].setText("0, 0.5")
    form.ticks["Story"].setChecked(False)
    form.source._choose("file")
    form.file.set_value("/p/prompts.txt")
    form.repeats.set_value(3)
    state = json.loads(json.dumps(form.state()))
    other = SweepForm(PROMPTS)
    qtbot.addWidget(other)
    heard = Heard()
    other.file_chosen.connect(heard)
    other.restore_state(state)
    assert other.choice() == form.choice()
    assert heard.said == ["/p/prompts.txt"]


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {"methods": 3, "lists": [], "prompts": "moon", "without": "x", "file": 7, "repeats": 99},
        {"lists": {"draft-tokens": 4, "unknown": "1"}, "repeats": True, "methods": None},
    ],
)
def test_odd_memories_are_ignored(form, state):
    before = form.choice()
    form.restore_state(state)
    assert form.choice() == before


def test_in_one_line(form):
    form.methods[MOD].setChecked(True)
    assert form.summary() == "Draft model (draft tokens 1:8) · ngram-mod"
    form.lists["ngram-mod-match"].setText("4, 8")
    assert form.summary().endswith(" · ngram-mod (matching tokens 4, 8)")


def test_every_control_has_a_name_and_a_sentence(form):
    for field in (*form.methods.values(), *form.lists.values(), *form.ticks.values(), form.repeats):
        assert field.accessibleName() and field.accessibleDescription().endswith("."), field
        assert field.toolTip()
