"""Dropping files: what is planned, what the overlay says, what the window announces."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget
from support.shell import READY_TARGET, Heard, mime_of

from specviz.trace.config import Role
from specviz.ui.drop import DropKind, local_paths, plan_drop

ONE = Path("/models/one.gguf")
TWO = Path("/models/two.GGUF")
TRACE = Path("/runs/a.specviz.jsonl")
COPY = Qt.DropAction.CopyAction
LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def plan(*paths, over=None, has_target=False):
    return plan_drop(list(paths), over=over, has_target=has_target)


def test_only_local_paths_count():
    data = mime_of(ONE, "https://example.org/two.gguf", TWO)
    assert local_paths(data) == [ONE, TWO]
    assert local_paths(QMimeData()) == [] and local_paths(None) == []


def test_the_first_model_becomes_the_target():
    assert plan(ONE).role is Role.TARGET
    assert plan(ONE).headline == "Use as the target"


def test_beside_the_cards_size_decides_once_there_is_a_target():
    later = plan(ONE, has_target=True)
    assert later.role is None and "smaller than the target" in later.sentence


def test_over_a_card_the_card_decides():
    held = plan(ONE, over=Role.DRAFT, has_target=True)
    assert (held.role, held.over_card, held.headline) == (Role.DRAFT, True, "Use as the draft")


def test_two_models_become_target_and_draft():
    both = plan(ONE, TWO, over=Role.DRAFT)
    assert both.paths == (ONE, TWO) and both.role is None
    assert "larger file becomes the target" in both.sentence


def test_a_folder_and_a_trace_are_told_apart(tmp_path):
    assert plan(tmp_path).kind is DropKind.FOLDER
    assert plan(TRACE).kind is DropKind.TRACE
    assert "no models are needed" in plan(TRACE).sentence


@pytest.mark.parametrize("paths", [(Path("/a/b.txt"),), (ONE, Path("/a/b.txt")), (ONE, TRACE)])
def test_anything_else_is_refused_in_words(paths):
    refused = plan(*paths)
    assert refused.kind is DropKind.NOTHING and "Drop one or two GGUF" in refused.sentence


def test_names_of_files_stay_on_one_line():
    assert "\n" not in plan(Path("/models/a\nb.gguf")).sentence


# ---- in the window -----------------------------------------------------------------------------
def enter(widget: QWidget, data: QMimeData, at: QPoint | None = None) -> QDragEnterEvent:
    event = QDragEnterEvent(at or QPoint(700, 400), COPY, data, LEFT, NONE)
    QApplication.sendEvent(widget, event)
    return event


def drop(window, data: QMimeData, at: QPoint) -> None:
    """The whole way: into the window, over the overlay, let go."""
    assert enter(window, data).isAccepted()
    enter(window.overlay, data, at)
    QApplication.sendEvent(window.overlay, QDragMoveEvent(at, COPY, data, LEFT, NONE))
    QApplication.sendEvent(window.overlay, QDropEvent(QPointF(at), COPY, data, LEFT, NONE))


def hear(window) -> dict[str, Heard]:
    names = ("files_dropped", "target_chosen", "draft_chosen", "open_trace_requested")
    heard = {name: Heard() for name in names}
    for name, each in heard.items():
        getattr(window, name).connect(each)
    return heard


def test_the_overlay_covers_the_window_and_says_what_will_happen(window):
    data = mime_of(ONE)
    enter(window, data)
    overlay = window.overlay
    assert overlay.isVisible() and overlay.geometry() == window.rect()
    assert overlay.accessibleDescription().startswith("Use as the target.")
    assert not overlay.grab().isNull()


def test_files_dropped_in_the_middle_are_announced(window):
    heard = hear(window)
    drop(window, mime_of(ONE, TWO), QPoint(700, 400))
    assert heard["files_dropped"].said == [[ONE, TWO]]
    assert not window.overlay.isVisible()
    assert heard["target_chosen"].said == heard["draft_chosen"].said == []


def test_a_file_dropped_on_a_card_goes_into_its_slot(window):
    heard = hear(window)
    card = window.setup.cards[Role.DRAFT]
    place = card.mapTo(window, card.rect().center())
    drop(window, mime_of(ONE), place)
    assert heard["draft_chosen"].said == [ONE] and heard["files_dropped"].said == []


def test_a_dropped_trace_is_opened(window):
    heard = hear(window)
    drop(window, mime_of(TRACE), QPoint(700, 400))
    assert heard["open_trace_requested"].said == [TRACE]


def test_what_cannot_be_opened_is_said_and_does_nothing(window):
    heard = hear(window)
    drop(window, mime_of(Path("/a/b.txt")), QPoint(700, 400))
    assert all(each.said == [] for each in heard.values())
    assert window.overlay.plan.headline == "This cannot be opened"


def test_text_and_addresses_are_not_for_the_window(window):
    data = QMimeData()
    data.setText("hello")
    assert not enter(window, data).isAccepted()
    far = QMimeData()
    far.setUrls([QUrl("https://example.org/model.gguf")])
    assert not enter(window, far).isAccepted()
    assert not window.overlay.isVisible()


def test_files_held_over_the_prompt_belong_to_the_window(window):
    edit = window.findChild(QWidget, "prompt-edit")
    assert enter(edit.viewport(), mime_of(ONE)).isAccepted()
    assert window.overlay.isVisible()


def test_leaving_hides_the_overlay(qtbot, window):
    enter(window, mime_of(ONE))
    QApplication.sendEvent(window, QDragLeaveEvent())
    qtbot.waitUntil(lambda: not window.overlay.isVisible())
    enter(window, mime_of(ONE))
    enter(window.overlay, mime_of(ONE))
    QApplication.sendEvent(window.overlay, QDragLeaveEvent())
    assert not window.overlay.isVisible()


def test_nothing_can_be_dropped_while_models_are_locked(window):
    window.setup.set_locked(True)
    assert not enter(window, mime_of(ONE)).isAccepted()
    assert not window.overlay.isVisible()


def test_the_plan_follows_the_place(window):
    window.setup.show_card(Role.TARGET, READY_TARGET)
    data = mime_of(ONE)
    enter(window, data)
    card = window.setup.cards[Role.DRAFT]
    over = card.mapTo(window, card.rect().center())
    enter(window.overlay, data, QPoint(700, 400))
    assert window.overlay.plan.headline == "Use this model"
    QApplication.sendEvent(window.overlay, QDragMoveEvent(over, COPY, data, LEFT, NONE))
    assert window.overlay.plan.headline == "Use as the draft"
