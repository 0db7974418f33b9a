"""Windows and panels for the tests of the shell; views are plain widgets here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from support.shell import plain_views

from specviz.ui.appearance import apply_palette
from specviz.ui.main_window import MainWindow, Views
from specviz.ui.setup_panel import SetupPanel
from specviz.ui.theme import DARK


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The offscreen platform warns of things that only a real one can do."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.qt_log_ignore("This plugin does not support", extend=True))


@pytest.fixture
def dressed(qapp: QApplication) -> None:
    """Fonts and style sheet as in the program, whatever the test before left behind."""
    apply_palette(qapp, DARK)


@pytest.fixture
def make_window(dressed: None) -> Iterator[Callable[[Views], MainWindow]]:
    """Makes windows; they are deleted behind the test, since every restyling reaches them all."""
    made: list[MainWindow] = []

    def make(views: Views) -> MainWindow:
        made.append(MainWindow(views))
        return made[-1]

    yield make
    for window in made:
        window.allow_close()
        window.close()
        shiboken6.delete(window)


@pytest.fixture
def window(make_window: Callable[[Views], MainWindow], qtbot: QtBot) -> MainWindow:
    """A window of 1440 x 900 on the offscreen platform."""
    made = make_window(plain_views())
    made.resize(1440, 900)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def panel(qtbot: QtBot, dressed: None) -> Iterator[SetupPanel]:
    """A setup panel with all rows unfolded."""
    made = SetupPanel()
    made.resize(296, 1400)
    for fold in made.folds.values():
        fold.set_unfolded(True)
    made.show()
    qtbot.waitExposed(made)
    yield made
    shiboken6.delete(made)
