"""The list of object names in ARCHITECTURE.md, against the window itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from specviz.ui.main_window import MainWindow
from specviz.ui.views import make_views

DOCUMENT = Path(__file__).resolve().parents[2] / "ARCHITECTURE.md"
SHOWN_ON_OCCASION = {
    "check-again-button", "check-again-progress", "check-again-status", "lossless-close",
    "lossless-copy", "lossless-margins", "lossless-panel",
    "about-box", "about-close", "message", "message-close", "message-details", "message-hint",
    "message-sentence", "reasoning-toggle", "recent-pair-action", "settings-close", "settings-copy",
    "settings-sentence", "settings-table", "settings-view", "shortcut-sheet",
    "shortcut-sheet-close",
}  # fmt: skip
PARTS_OF_ROWS = ("-row", "-note", "-edit")


def documented_names() -> set[str]:
    section = DOCUMENT.read_text(encoding="utf-8").partition("## Names of widgets")[2]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return set(re.findall(r"`([a-z][a-z0-9-]+[a-z0-9])`", "\n".join(rows)))


def base(name: str) -> str:
    """The setting that a part of a row belongs to."""
    for ending in PARTS_OF_ROWS:
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name


@pytest.fixture
def names(qtbot: QtBot) -> set[str]:
    """Names of all widgets and actions in a window that has just been made."""
    window = MainWindow(make_views())
    qtbot.addWidget(window)
    found = [window, *window.findChildren(QObject)]
    return {
        thing.objectName()
        for thing in found
        if isinstance(thing, QWidget | QAction)
        and thing.objectName()
        and not thing.objectName().startswith("qt_")
    }


def test_every_name_in_the_window_is_documented(names: set[str]) -> None:
    listed = documented_names()
    two_fields = {base(name) for name in listed if name.endswith("-row")}
    assert sorted(n for n in names - listed if base(n) not in listed | two_fields) == []


def test_every_documented_name_is_in_the_window(names: set[str]) -> None:
    assert sorted(documented_names() - names - SHOWN_ON_OCCASION) == []
