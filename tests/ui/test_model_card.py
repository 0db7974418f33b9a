"""The cards of target and draft in all their states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QProgressBar, QWidget
from support.shell import READY_DRAFT, READY_TARGET, Heard, verdict
from support.tiny_gguf import write_llama

from specviz.models.model_file import FileKind, inspect_model
from specviz.trace.config import Role
from specviz.ui.model_card import ModelCard, error_card, reading_card, ready_card
from specviz.ui.plain_text import ElidedLabel


@pytest.fixture
def card(qtbot, dressed):
    made = ModelCard(Role.DRAFT)
    made.setFixedWidth(263)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


def part(card: ModelCard, name: str) -> QWidget:
    found = card.findChild(QWidget, f"draft-{name}")
    assert found is not None
    return found


def test_an_empty_card_offers_to_choose(qtbot, card):
    assert part(card, "choose").isVisible()
    for trigger in (
        lambda: qtbot.mouseClick(part(card, "choose"), Qt.MouseButton.LeftButton),
        lambda: qtbot.mouseClick(card, Qt.MouseButton.LeftButton),
        lambda: qtbot.keyClick(card, Qt.Key.Key_Return),
    ):
        with qtbot.waitSignal(card.choose_requested):
            trigger()


def test_reading_shows_how_far_it_is(card):
    card.show_state(reading_card("/models/a.gguf", "Loading", 0.25))
    bar = part(card, "progress")
    assert isinstance(bar, QProgressBar)
    assert bar.isVisible() and bar.value() / bar.maximum() == 0.25
    card.show_state(reading_card("/models/a.gguf", "Reading the file"))
    assert bar.maximum() == 0, "an end that is not known is not pretended"
    card.show_state(READY_DRAFT)
    assert not bar.isVisible()


def test_a_ready_card_names_the_model(card):
    card.show_state(READY_DRAFT)
    assert part(card, "name").text() == "Qwen3 0.6B"
    assert part(card, "details").text() == READY_DRAFT.details
    assert not part(card, "choose").isVisible()
    assert card.accessibleName() == f"Draft: Qwen3 0.6B, {READY_DRAFT.details}"
    assert READY_DRAFT.path in card.toolTip()


def test_a_real_file_is_described(tmp_path):
    path = write_llama(tmp_path / "tiny.gguf")
    state = ready_card(inspect_model(path))
    assert state.path == str(path)
    assert state.name and state.details.count(" · ") >= 3
    assert state.n_layers and state.n_layers > 0


def test_a_pair_that_fits_is_green_and_one_that_does_not_says_why(card):
    card.show_state(READY_DRAFT)
    card.show_pair(verdict(True, "same vocabulary, 151 936 tokens", ("A note.",)))
    chip, notes = part(card, "chip"), part(card, "notes")
    assert chip.text() == "✓ same vocabulary, 151 936 tokens"
    assert chip.property("role") == "chip"
    assert notes.text() == "A note."
    card.show_pair(verdict(False, "Token 139 differs.", ("A note.",)))
    assert chip.property("role") == "chip-refused"
    assert notes.text() == "Token 139 differs.\nA note."
    assert notes.isVisible() and notes.wordWrap()
    card.show_pair(None)
    assert not chip.isVisible() and not notes.isVisible()


def test_another_file_loses_the_old_verdict(card):
    card.show_state(READY_DRAFT)
    card.show_pair(verdict(True, "same vocabulary"))
    card.show_state(READY_DRAFT)
    assert part(card, "chip").isVisible()
    card.show_state(replace(READY_DRAFT, path="/models/other.gguf"))
    assert not part(card, "chip").isVisible()


def test_an_error_says_what_happened_and_what_to_do(card):
    card.show_state(error_card("/models/bad.gguf", "The file is cut off.", "Download it again."))
    message = part(card, "message")
    assert message.isVisible()
    assert message.text() == "The file is cut off. Download it again."
    assert message.property("role") == "error"


@pytest.mark.parametrize("architecture", ["gemma4-assistant", "eagle3", "dflash", "dspark"])
def test_a_draft_head_is_named_and_what_to_do_instead(card, tmp_path, architecture):
    path = write_llama(tmp_path / "head.gguf", metadata={"general.architecture": architecture})
    head = inspect_model(path)
    assert head.kind is not FileKind.MODEL
    card.show_state(error_card(path, head.explanation))
    said = part(card, "message").text()
    assert "hidden states" in said and "ordinary small model" in said
    assert part(card, "message").isVisible() and said in card.accessibleName()


def test_a_target_that_cannot_simply_forget_says_what_that_means(qtbot, dressed):
    target = ModelCard(Role.TARGET)
    qtbot.addWidget(target)
    target.show()
    notes = target.findChild(QLabel, "target-notes")
    target.show_state(replace(READY_TARGET, can_trim=False))
    assert notes.isVisible() and notes.property("role") == "small"
    assert "costs time" in notes.text() and notes.text().endswith("Drafting works.")
    assert notes.text() in target.accessibleDescription()
    target.show_state(replace(READY_TARGET, path="/models/other.gguf"))
    assert not notes.isVisible() and "Drafting works" not in target.accessibleDescription()


def test_a_file_tells_its_card_what_it_can_do(tmp_path):
    state = ready_card(inspect_model(write_llama(tmp_path / "tiny.gguf")))
    assert state.can_trim and state.nextn_layers == 0
    hybrid = write_llama(tmp_path / "hybrid.gguf", metadata={"general.architecture": "qwen35"})
    assert not ready_card(inspect_model(hybrid)).can_trim


def test_long_names_lose_their_middle_and_keep_their_ends(card):
    name = "Qwen3-Coder-30B-A3B-Instruct-1M-UD-Q4_K_XL-fine-tuned"
    card.show_state(replace(READY_DRAFT, name=name))
    shown = part(card, "name")
    assert isinstance(shown, ElidedLabel)
    assert "…" in shown.shown_text()
    assert shown.shown_text().startswith("Qwen3") and shown.shown_text().endswith("tuned")
    assert shown.fontMetrics().horizontalAdvance(shown.shown_text()) <= shown.width()
    assert card.width() == 263


def test_names_and_paths_from_files_are_never_markup(card):
    evil = "<b>x</b><img src='file:///etc/passwd'>"
    card.show_state(replace(READY_DRAFT, name=evil, path=f"/models/{evil}.gguf"))
    card.show_pair(verdict(False, evil))
    for label in card.findChildren(QLabel):
        assert label.textFormat() is Qt.TextFormat.PlainText or label.pixmap() is not None
    assert "<b>x" not in card.toolTip() and "&lt;b&gt;x" in card.toolTip()
    card.show_state(error_card("/x", evil))
    assert part(card, "message").textFormat() is Qt.TextFormat.PlainText


def test_the_menu_chooses_swaps_clears_and_copies(qtbot, card):
    card.show_state(READY_DRAFT)
    card.set_recent([Path("/models/old & new.gguf")])
    menu = card.make_menu()
    actions = {action.objectName(): action for action in menu.actions()}
    for name, signal in (
        ("draft-choose-action", card.choose_requested),
        ("draft-swap-action", card.swap_requested),
        ("draft-clear-action", card.clear_requested),
    ):
        with qtbot.waitSignal(signal):
            actions[name].trigger()
    actions["draft-copy-path-action"].trigger()
    assert QGuiApplication.clipboard().text() == READY_DRAFT.path
    assert any(action.text() == READY_DRAFT.path for action in menu.actions())
    recent = next(action.menu() for action in menu.actions() if action.menu() is not None)
    assert recent.actions()[0].text() == "old && new.gguf"
    heard = Heard()
    card.recent_chosen.connect(heard)
    recent.actions()[0].trigger()
    assert heard.said == [Path("/models/old & new.gguf")]


def test_a_ready_card_opens_its_menu_by_key_and_click(qtbot, card):
    card.show_state(READY_TARGET)
    for trigger in (
        lambda: qtbot.keyClick(card, Qt.Key.Key_Space),
        lambda: qtbot.mouseClick(card, Qt.MouseButton.LeftButton),
        lambda: qtbot.mouseClick(part(card, "menu"), Qt.MouseButton.LeftButton),
    ):
        trigger()
        assert card._menu.isVisible()
        card._menu.close()


def test_delete_empties_the_slot(qtbot, card):
    card.show_state(READY_DRAFT)
    with qtbot.waitSignal(card.clear_requested):
        qtbot.keyClick(card, Qt.Key.Key_Delete)


def test_what_waits_for_a_reload_is_marked(card):
    card.show_state(READY_DRAFT)
    texts = {label.text(): label for label in card.findChildren(QLabel)}
    mark = texts["applies after reload"]
    assert not mark.isVisible()
    card.set_pending(True)
    assert mark.isVisible()


def test_a_locked_card_can_be_read_and_copied_but_not_changed(qtbot, card):
    heard = Heard()
    for signal in (card.choose_requested, card.clear_requested, card.swap_requested):
        signal.connect(lambda: heard("changed"))
    card.set_locked(True)
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
    part(card, "choose").click()
    card.show_state(READY_DRAFT)
    qtbot.keyClick(card, Qt.Key.Key_Delete)
    enabled = {
        action.objectName(): action.isEnabled()
        for action in card.make_menu().actions()
        if action.objectName()
    }
    assert enabled == {
        "draft-choose-action": False,
        "draft-swap-action": False,
        "draft-clear-action": False,
        "draft-copy-path-action": True,
    }
    assert heard.said == []
    card.set_locked(False)
    qtbot.keyClick(card, Qt.Key.Key_Delete)
    assert heard.said == ["changed"]
