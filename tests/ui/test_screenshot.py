"""Pictures of the window and of whole conversations."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from support.traces import TraceBuilder, explanation

from specviz.errors import FileError
from specviz.ui import screenshot
from specviz.ui.conversation import Conversation
from specviz.ui.theme import DARK


@pytest.fixture
def conversation(qtbot):
    view = Conversation()
    qtbot.addWidget(view)
    view.resize(500, 240)
    view.apply_palette(DARK)
    view.show()
    return view


def tall(conversation: Conversation, n_lines: int) -> None:
    """An answer of so many lines, each a green bar that can be counted."""
    builder = TraceBuilder()
    for _ in range(n_lines):
        builder.step(["mmmmmmmm", "\n"], 1, "\n")
    conversation.show_traces(None, builder.finish())


def green_bars(image: QImage) -> int:
    """Stretches of accepted underline down the left side of a picture."""
    scale = image.devicePixelRatio()
    bars, inside = 0, False
    for y in range(image.height()):
        green = image.pixelColor(int(30 * scale), y).name().upper() == DARK.accepted
        bars += green and not inside
        inside = green
    return bars


def test_the_window_as_it_is(conversation, tmp_path):
    conversation.show_traces(None, explanation().trace)
    path = tmp_path / "window.png"
    assert screenshot.save_window_png(conversation, path) == [path]
    image = QImage(str(path))
    scale = conversation.devicePixelRatioF()
    assert (image.width(), image.height()) == (round(500 * scale), round(240 * scale))


def test_a_whole_conversation_taller_than_the_screen(conversation, tmp_path):
    tall(conversation, 60)
    conversation.verticalScrollBar().setValue(100)
    path = tmp_path / "answer.png"
    assert screenshot.save_conversation_png(conversation, path) == [path]
    image = QImage(str(path))
    assert image.height() == round(conversation.content_height * conversation.devicePixelRatioF())
    assert green_bars(image) == 60
    assert conversation.verticalScrollBar().value() == 100


def test_a_very_long_conversation_is_cut_between_lines(conversation, tmp_path, monkeypatch):
    monkeypatch.setattr(screenshot, "TALLEST", 500)
    tall(conversation, 60)
    paths = screenshot.save_conversation_png(conversation, tmp_path / "answer.png")
    assert len(paths) > 3
    assert paths[0].name == "answer-1.png"
    images = [QImage(str(path)) for path in paths]
    assert all(image.height() <= 500 for image in images)
    assert sum(image.height() for image in images) == conversation.content_height
    assert sum(green_bars(image) for image in images) == 60


def test_selection_and_frames_are_left_out(conversation, tmp_path):
    conversation.show_traces(None, explanation().trace)
    screenshot.save_conversation_png(conversation, tmp_path / "a.png")
    conversation.select_all()
    conversation.mark_step(2)
    screenshot.save_conversation_png(conversation, tmp_path / "b.png")
    assert QImage(str(tmp_path / "a.png")) == QImage(str(tmp_path / "b.png"))
    assert conversation.selection is not None and conversation.marked_step == 2


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "The disk is full"),
        (errno.EROFS, "may not be written to"),
        (errno.EACCES, "may not be written to"),
        (errno.EIO, "could not be written"),
    ],
)
def test_trouble_is_told_in_a_sentence_and_leaves_nothing(
    conversation, tmp_path, monkeypatch, number, words
):
    path = tmp_path / "answer.png"
    path.write_bytes(b"what was there before")

    def fail(self, target):
        raise OSError(number, "no")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(FileError) as error:
        screenshot.save_conversation_png(conversation, path)
    assert words in error.value.message and error.value.hint
    assert path.read_bytes() == b"what was there before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_told(conversation, tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        screenshot.save_window_png(conversation, tmp_path / "no" / "x.png")
