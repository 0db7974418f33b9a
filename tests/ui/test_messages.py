"""Messages, the first launch, and the boxes of the help menu."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QWidget
from support.shell import Heard

from specviz.errors import EngineDied, FileError
from specviz.ui.first_launch import FirstLaunch
from specviz.ui.messages import (
    MOST_MESSAGES,
    MessageAction,
    MessageArea,
    Severity,
    ShownMessage,
)
from specviz.ui.shortcuts import SHORTCUTS, ShortcutSheet

DIED = EngineDied(
    "The engine stopped (signal 6).", "The tokens so far are kept.", log_tail="GGML_ASSERT(x)\n"
)


@pytest.fixture
def area(qtbot, dressed):
    made = MessageArea()
    qtbot.addWidget(made)
    made.resize(700, 300)
    return made


def press(area: QWidget, name: str) -> None:
    button = area.findChild(QWidget, name)
    assert button is not None, name
    button.click()


def test_without_messages_the_area_takes_no_room(area):
    assert area.isHidden()
    area.show_message(ShownMessage(sentence="Saved."))
    assert not area.isHidden()
    press(area, "message-close")
    assert area.isHidden() and area.messages == ()


def test_an_error_shows_its_sentence_and_its_hint(area):
    area.show_error(FileError("The file cannot be read.", "Check its rights."))
    assert area.findChild(QLabel, "message-sentence").text() == "The file cannot be read."
    assert area.findChild(QLabel, "message-hint").text() == "Check its rights."
    assert area.findChild(QPushButton, "restart-engine") is None
    card = area.findChild(QWidget, "message")
    assert card.property("kind") == "message-error"
    assert card.accessibleName() == "Error: The file cannot be read."


def test_a_dead_engine_can_be_restarted_and_its_last_words_read(area):
    heard = Heard()
    area.restart_requested.connect(lambda: heard("restart"))
    area.show_error(DIED)
    details = area.findChild(QPlainTextEdit, "message-details")
    assert details.isHidden()
    press(area, "message-details-button")
    assert not details.isHidden() and details.toPlainText() == "GGML_ASSERT(x)"
    press(area, "restart-engine")
    assert heard.said == ["restart"]


def test_details_can_be_copied(area):
    area.show_error(DIED)
    press(area, "message-copy")
    assert QGuiApplication.clipboard().text() == (
        "The engine stopped (signal 6).\nThe tokens so far are kept.\nGGML_ASSERT(x)"
    )


def test_one_engine_dies_once(area):
    area.show_error(DIED)
    area.show_error(EngineDied("The engine stopped (signal 11).", "Again."))
    assert [message.sentence for message in area.messages] == ["The engine stopped (signal 11)."]
    area.dismiss("engine")
    assert area.messages == ()


def test_the_oldest_gives_way(area):
    for number in range(MOST_MESSAGES + 2):
        area.show_message(ShownMessage(sentence=f"Number {number}."))
    shown = [message.sentence for message in area.messages]
    assert shown == ["Number 2.", "Number 3.", "Number 4."]
    area.clear()
    assert area.messages == () and area.isHidden()


def test_other_actions_are_announced_by_name(area):
    heard = Heard()
    area.action_requested.connect(heard)
    area.show_message(
        ShownMessage(
            sentence="Already there.",
            severity=Severity.WARNING,
            actions=(MessageAction("overwrite", "Overwrite", "Writes over it."),),
        )
    )
    press(area, "overwrite")
    assert heard.said == ["overwrite"]


def test_texts_are_never_markup(area):
    evil = "<h1>Hello</h1><a href='x'>y</a>"
    area.show_error(EngineDied(evil, evil, log_tail=evil))
    for label in area.findChildren(QLabel):
        if label.text():
            assert label.textFormat() is Qt.TextFormat.PlainText
    assert area.findChild(QPlainTextEdit, "message-details").toPlainText() == evil


def test_every_button_of_a_message_is_described(area):
    area.show_error(DIED)
    for button in area.findChildren(QPushButton):
        assert button.objectName() and button.accessibleName() and button.toolTip()
        assert button.accessibleDescription().endswith(".")


# ---- first launch ------------------------------------------------------------------------------
@pytest.fixture
def first(qtbot, dressed):
    made = FirstLaunch()
    qtbot.addWidget(made)
    made.resize(788, 500)
    made.show()
    return made


def test_the_demo_pair_is_one_click_away(qtbot, first):
    with qtbot.waitSignal(first.demo_requested):
        qtbot.mouseClick(first.findChild(QPushButton, "demo-button"), Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(first.choose_requested):
        qtbot.mouseClick(first.findChild(QPushButton, "first-choose"), Qt.MouseButton.LeftButton)


def test_it_says_what_will_happen(first):
    def words() -> str:
        return " ".join(label.text() for label in first.findChildren(QLabel))

    assert "nothing is downloaded" in words() and "first time" not in words()
    first.set_demo(available=True, prepared=False)
    assert "first time it is made ready" in words()
    first.set_demo(available=False, prepared=False)
    assert not first.findChild(QPushButton, "demo-button").isVisible()
    assert "not installed" in words()
    assert first.findChild(QPushButton, "first-choose").property("kind") == "accent"


def test_nothing_in_it_is_cut_off(qtbot, first):
    qtbot.waitExposed(first)
    for label in first.findChildren(QLabel):
        if label.text() and not label.wordWrap():
            assert label.width() >= label.sizeHint().width(), label.text()
        if label.text():
            wanted = label.heightForWidth(label.width())
            assert label.height() >= max(wanted, label.minimumSizeHint().height()), label.text()


# ---- help --------------------------------------------------------------------------------------
def test_the_sheet_lists_every_shortcut(qtbot, dressed):
    sheet = ShortcutSheet()
    qtbot.addWidget(sheet)
    shown = {label.text() for label in sheet.findChildren(QLabel)}
    for group in SHORTCUTS.values():
        assert {shortcut.words for shortcut in group} <= shown
