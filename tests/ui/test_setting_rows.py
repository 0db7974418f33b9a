"""Editing values where they stand, by keyboard and by mouse."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QVBoxLayout, QWidget
from support.shell import Heard

from specviz.ui import setting_catalogue as catalogue
from specviz.ui.setting_fields import Choice, ChoiceField, NumberField, SwitchField
from specviz.ui.setting_rows import FoldButton, Note, SettingRow, TextRow

Key = Qt.Key


@pytest.fixture
def host(qtbot, dressed):
    widget = QWidget()
    widget.resize(280, 400)
    QVBoxLayout(widget)
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


@pytest.fixture
def row(host):
    field = NumberField(catalogue.N_MAX, 4, "Draft tokens per step", "Effect.", "draft-tokens")
    made = SettingRow("draft-tokens", "Draft tokens per step", "Effect.", [field])
    host.layout().addWidget(made)
    host.layout().addStretch(1)
    host.layout().activate()
    return made


@pytest.fixture
def field(row):
    (found,) = row.fields
    return found


def test_enter_edits_and_enter_takes_the_value(qtbot, field):
    heard = Heard()
    field.value_changed.connect(heard)
    field.setFocus()
    qtbot.keyClick(field, Key.Key_Return)
    assert field.editing and field.selectedText() == "4"
    qtbot.keyClicks(field, "12")
    qtbot.keyClick(field, Key.Key_Return)
    assert not field.editing
    assert (field.value, field.text(), heard.said) == (12, "12", [12])


def test_typing_a_digit_begins_the_edit_with_it(qtbot, field):
    field.setFocus()
    qtbot.keyClicks(field, "16")
    qtbot.keyClick(field, Key.Key_Return)
    assert field.value == 16


def test_a_click_on_the_value_edits_and_leaving_takes_it(qtbot, host, field):
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    assert field.editing
    qtbot.keyClicks(field, "7")
    other = QPushButton()
    host.layout().addWidget(other)
    other.show()
    other.setFocus()
    assert not field.editing
    assert field.value == 7


def test_a_click_on_the_label_is_meant_for_the_value(qtbot, row, field):
    qtbot.mouseClick(row, Qt.MouseButton.LeftButton, pos=row.rect().center())
    assert field.editing


def test_escape_gives_the_edit_up_and_does_not_reach_the_window(qtbot, host, field):
    stop = QShortcut(QKeySequence("Esc"), host)
    stopped = Heard()
    stop.activated.connect(lambda: stopped("stop"))
    field.setFocus()
    qtbot.keyClicks(field, "99")
    qtbot.keyClick(field, Key.Key_Escape)
    assert (field.value, field.text(), field.editing) == (4, "4", False)
    assert stopped.said == []


def test_arrow_keys_step_shown_and_edited_values(qtbot, field):
    heard = Heard()
    field.value_changed.connect(heard)
    field.setFocus()
    qtbot.keyClick(field, Key.Key_Up)
    qtbot.keyClick(field, Key.Key_Down)
    qtbot.keyClick(field, Key.Key_PageUp)
    assert heard.said == [5, 4, 14]
    qtbot.keyClick(field, Key.Key_Return)
    qtbot.keyClicks(field, "20")
    qtbot.keyClick(field, Key.Key_Up)
    assert field.editing and field.text() == "21"


def test_an_invalid_value_is_refused_in_words_and_marked(qtbot, row, field):
    heard = Heard()
    row.changed.connect(lambda: heard("changed"))
    field.setFocus()
    qtbot.keyClick(field, Key.Key_Return)
    qtbot.keyClicks(field, "many")
    qtbot.keyClick(field, Key.Key_Return)
    assert field.editing, "the user can go on typing"
    assert row.note() == "Draft tokens per step takes a whole number from 1 to 511."
    assert field.property("wrong") == "true"
    assert heard.said == []
    field.selectAll()
    qtbot.keyClicks(field, "3")
    qtbot.keyClick(field, Key.Key_Return)
    assert row.note() == "" and field.property("wrong") == "false"
    assert field.value == 3


def test_leaving_with_an_invalid_value_keeps_the_old_one(qtbot, row, field):
    field.setFocus()
    qtbot.keyClicks(field, "0")
    field.clearFocus()
    assert (field.value, field.text(), field.editing) == (4, "4", False)
    assert "from 1 to 511" in row.note()


def test_the_row_keeps_its_height_while_edited(qtbot, row, field):
    before = row.height()
    field.setFocus()
    qtbot.keyClick(field, Key.Key_Return)
    row.layout().activate()
    assert row.sizeHint().height() == before


def test_notes_give_way_to_more_important_ones(row):
    row.set_hint("hint")
    row.set_pending(True)
    assert row.note() == "applies after reload"
    row.set_problem("problem")
    assert row.note() == "problem"
    row.set_note(Note.REFUSED, "refused")
    assert row.note() == "refused"
    for kind in (Note.REFUSED, Note.PROBLEM, Note.PENDING):
        row.set_note(kind, "")
    assert row.note() == "hint"


def choice_field():
    choices = (Choice("auto", "auto"), Choice("on", "on"), Choice("off", "off"))
    return ChoiceField(choices, "auto", "Reasoning", "Effect.", "reasoning")


def test_choices_step_with_arrows_and_open_with_enter(qtbot, host):
    field = choice_field()
    heard = Heard()
    field.value_changed.connect(heard)
    host.layout().addWidget(field)
    field.setFocus()
    qtbot.keyClick(field, Key.Key_Down)
    qtbot.keyClick(field, Key.Key_Down)
    qtbot.keyClick(field, Key.Key_Down)
    qtbot.keyClick(field, Key.Key_Up)
    assert heard.said == ["on", "off", "on"]
    qtbot.keyClick(field, Key.Key_Return)
    menu = field._menu
    assert [action.text() for action in menu.actions()] == ["auto", "on", "off"]
    assert [action.isChecked() for action in menu.actions()] == [False, True, False]
    menu.actions()[2].trigger()
    menu.close()
    assert field.value == "off" and field.text() == "off"
    assert field.accessibleName() == "Reasoning: off"


def test_a_switch_switches_by_key_and_click(qtbot, host):
    field = SwitchField(False, "Raw prompt", "Effect.", "raw-prompt")
    heard = Heard()
    field.value_changed.connect(heard)
    host.layout().addWidget(field)
    field.setFocus()
    qtbot.keyClick(field, Key.Key_Space)
    qtbot.keyClick(field, Key.Key_Return)
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    assert heard.said == [True, False, True]


def test_a_text_unfolds_is_announced_and_folds_on_escape(qtbot, host):
    row = TextRow("system-prompt", "System prompt", "Effect.", empty_word="none", placeholder="Say")
    heard = Heard()
    row.changed.connect(lambda: heard(row.text))
    host.layout().addWidget(row)
    qtbot.waitUntil(row.isVisible)
    button = row.findChild(QPushButton, "system-prompt")
    assert button.text() == "none"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    editor = row.findChild(QPlainTextEdit, "system-prompt-edit")
    assert row.unfolded and editor.isVisible()
    qtbot.keyClicks(editor, "Be brief & kind, please")
    assert heard.said[-1] == "Be brief & kind, please"
    qtbot.keyClick(editor, Key.Key_Escape)
    assert not row.unfolded
    assert button.text() == "Be brief && ki…"
    assert button.accessibleName() == "System prompt: Be brief & kind, please"


def test_a_fold_says_what_it_hides(qtbot, host):
    fold = FoldButton("sampling-more", "sampling")
    heard = Heard()
    fold.toggled.connect(heard)
    host.layout().addWidget(fold)
    button = fold.findChild(QPushButton, "sampling-more")
    button.setFocus()
    qtbot.keyClick(button, Key.Key_Space)
    assert heard.said == [True]
    assert (button.text(), button.accessibleName()) == ("Less", "Less sampling settings")
