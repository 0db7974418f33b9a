"""The window: menus, keys, panels, theme, leaving, and what it remembers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QSplitter, QWidget
from support.shell import READY_TARGET, Heard, plain_views

from specviz.errors import FileError
from specviz.trace.config import Role, RunMode
from specviz.ui.dialogs import EXPORT_KINDS
from specviz.ui.main_menu import RecentPair
from specviz.ui.main_window import MainWindow
from specviz.ui.panels import PanelWishes
from specviz.ui.shortcuts import SHORTCUTS
from specviz.ui.theme import DARK, LIGHT, MINIMUM_SIZE, palette_for

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def action(window: MainWindow, name: str) -> QAction:
    found = window.findChild(QAction, name)
    assert found is not None, name
    return found


# ---- what the user asks for --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("key", "modifiers", "signal"),
    [
        (Qt.Key.Key_Return, CTRL, "run_requested"),
        (Qt.Key.Key_Enter, CTRL, "run_requested"),
        (Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier, "cancel_requested"),
        (Qt.Key.Key_X, CTRL | SHIFT, "swap_requested"),
        (Qt.Key.Key_L, CTRL | SHIFT, "theme_toggled"),
        (Qt.Key.Key_Q, CTRL, "close_requested"),
    ],
)
def test_shortcuts_ask_for_things(qtbot, window, key, modifiers, signal):
    with qtbot.waitSignal(getattr(window, signal)):
        qtbot.keyClick(window, key, modifiers)


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("demo-action", "demo_pair_requested"),
        ("restart-engine-action", "restart_engine_requested"),
        ("swap-action", "swap_requested"),
    ],
)
def test_menu_entries_ask_for_things(qtbot, window, name, signal):
    with qtbot.waitSignal(getattr(window, signal)):
        action(window, name).trigger()


def test_the_first_launch_asks_for_the_demo_pair(qtbot, window):
    window.show_first_launch(True)
    assert window.first_launch.isVisible() and not window.views.conversation.isVisible()
    with qtbot.waitSignal(window.demo_pair_requested):
        window.findChild(QPushButton, "demo-button").click()
    window.show_first_launch(False)
    assert window.views.conversation.isVisible()


def test_modes_are_chosen_and_shown(window):
    heard = Heard()
    window.mode_changed.connect(heard)
    assert window.mode is RunMode.SPECULATIVE
    window.findChild(QPushButton, "mode-baseline").click()
    assert heard.said == [RunMode.BASELINE]
    assert window.setup.config().mode is RunMode.BASELINE
    window.set_mode(RunMode.SPECULATIVE)
    assert window.mode is RunMode.SPECULATIVE and len(heard.said) == 1


def test_arrow_keys_move_the_mode(qtbot, window):
    button = window.findChild(QPushButton, "mode-speculative")
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Left)
    assert window.mode is RunMode.BASELINE
    assert window.findChild(QPushButton, "mode-baseline").hasFocus()


def test_every_export_is_asked_for_by_its_name(window):
    heard = Heard()
    window.export_requested.connect(heard)
    for export in EXPORT_KINDS:
        action(window, f"export-{export.kind}-action").trigger()
    assert heard.said == [
        "window-png", "conversation-png", "csv", "json", "trace", "sweep-csv", "sweep-json",
        "copy-text",
    ]  # fmt: skip


def test_settings_are_passed_on(qtbot, window):
    field = window.findChild(QWidget, "draft-tokens")
    with qtbot.waitSignal(window.settings_changed):
        qtbot.keyClick(field, Qt.Key.Key_Up)


def test_errors_and_messages_appear_above_the_prompt(qtbot, window):
    window.show_error(FileError("No.", "Try another."))
    assert window.messages.isVisible()
    assert [message.sentence for message in window.messages.messages] == ["No."]


def test_the_controller_says_what_is_possible(window):
    window.set_enabled(run=False, stop=True, models=False, trace=False, export=False)
    for name, enabled in (
        ("run-action", False),
        ("stop-action", True),
        ("open-target-action", False),
        ("demo-action", False),
        ("open-trace-action", False),
        ("restart-engine-action", True),
    ):
        assert action(window, name).isEnabled() is enabled, name
    assert not window.findChild(QWidget, "export-button").isEnabled()
    assert not window.findChild(QWidget, "mode-baseline").isEnabled()
    window.set_enabled()
    window.set_export_enabled("csv", False)
    assert not action(window, "export-csv-action").isEnabled()
    assert action(window, "export-json-action").isEnabled()


# ---- files -------------------------------------------------------------------------------------
def open_dialog(window: MainWindow) -> QFileDialog:
    dialog = window.dialogs.current
    assert dialog is not None and dialog.isVisible()
    return dialog


def test_choosing_files_never_blocks_and_remembers_the_folder(qtbot, window, tmp_path):
    model = tmp_path / "модель é.gguf"
    model.touch()
    heard = Heard()
    window.target_chosen.connect(heard)
    window.choose(Role.TARGET)
    dialog = open_dialog(window)
    dialog.fileSelected.emit(str(model))
    dialog.close()
    assert heard.said == [model]
    assert window.dialogs.folders() == {"models": str(tmp_path)}
    window.choose(Role.DRAFT)
    again = open_dialog(window)
    assert Path(again.directory().absolutePath()) == tmp_path
    again.close()


def test_exports_suggest_a_name_and_tables_a_folder(window, tmp_path):
    heard = Heard()
    window.dialogs.save("trace", "run", heard)
    dialog = open_dialog(window)
    assert dialog.acceptMode() is QFileDialog.AcceptMode.AcceptSave
    assert Path(dialog.selectedFiles()[0]).name == "run.specviz.jsonl"
    dialog.close()
    window.dialogs.save("csv", "run", heard)
    dialog = open_dialog(window)
    assert dialog.fileMode() is QFileDialog.FileMode.Directory
    dialog.fileSelected.emit(str(tmp_path))
    dialog.close()
    assert heard.said == [tmp_path]


def test_recent_pairs_come_back_whole(window):
    heard = Heard()
    window.target_chosen.connect(lambda path: heard("target", path))
    window.draft_chosen.connect(lambda path: heard("draft", path))
    window.slot_cleared.connect(lambda role: heard("cleared", role))
    alone, both = (
        RecentPair(Path("/m/a.gguf")),
        RecentPair(Path("/m/b & c.gguf"), Path("/m/d.gguf")),
    )
    window.set_recent([both, alone])
    menu = window.findChild(QWidget, "recent-menu")
    assert [each.text() for each in menu.actions()] == ["b && c.gguf + d.gguf", "a.gguf"]
    for each in menu.actions():
        each.trigger()
    assert heard.said == [
        ("target", both.target),
        ("draft", both.draft),
        ("target", alone.target),
        ("cleared", Role.DRAFT),
    ]


def test_the_cards_choose_through_the_window(qtbot, window):
    window.setup.show_card(Role.TARGET, READY_TARGET)
    with qtbot.waitSignal(window.slot_cleared) as cleared:
        window.setup.cards[Role.TARGET].clear_requested.emit()
    assert cleared.args == [Role.TARGET]
    window.findChild(QPushButton, "draft-choose").click()
    open_dialog(window).close()


# ---- panels ------------------------------------------------------------------------------------
def shown(window: MainWindow) -> tuple[bool, bool, bool]:
    return (
        window.setup.isVisible(),
        window.findChild(QWidget, "charts-panel").isVisible(),
        window.findChild(QWidget, "steps-panel").isVisible(),
    )


def test_the_layout_is_that_of_the_design(qtbot, window):
    charts = window.findChild(QWidget, "charts-panel")
    steps = window.findChild(QWidget, "steps-panel")
    qtbot.waitUntil(lambda: charts.width() == 355)
    assert window.setup.width() == 295
    assert window.findChild(QWidget, "top-bar").height() == 51
    assert steps.height() == 156
    assert window.views.inspector.width() == charts.width()
    assert window.minimumSize().toTuple() == MINIMUM_SIZE


def test_in_a_narrow_window_the_charts_make_room_and_come_back(window):
    assert shown(window) == (True, True, True)
    window.resize(1179, 800)
    assert shown(window) == (True, False, True)
    window.resize(1180, 800)
    assert shown(window) == (True, True, True)


def test_in_a_narrow_window_one_side_replaces_the_other(qtbot, window):
    window.resize(1024, 640)
    assert window.width() == 1024
    qtbot.keyClick(window, Qt.Key.Key_2, CTRL)
    assert shown(window) == (False, True, True)
    qtbot.keyClick(window, Qt.Key.Key_2, CTRL)
    assert shown(window) == (False, False, True)
    qtbot.keyClick(window, Qt.Key.Key_1, CTRL)
    assert shown(window) == (True, False, True)


def test_what_the_user_closed_stays_closed(window):
    window.findChild(QWidget, "right-panel-button").click()
    window.findChild(QWidget, "strip-button").click()
    assert shown(window) == (True, False, False)
    window.resize(1100, 800)
    window.resize(1440, 900)
    assert shown(window) == (True, False, False)
    assert not action(window, "right-panel-action").isChecked()
    action(window, "right-panel-action").trigger()
    assert shown(window) == (True, True, False)


def test_wishes_survive_odd_memories():
    wishes = PanelWishes()
    for odd in (None, [], {"left": "no", "right": 0}, {"strip": None}):
        wishes.restore(odd)
    assert wishes.state() == {"left": True, "right": True, "strip": True}
    wishes.restore({"left": False})
    wishes.set_narrow(True)
    assert not wishes.shown("left") and not wishes.shown("right")


def test_nothing_is_too_wide_for_the_smallest_window(window):
    window.resize(*MINIMUM_SIZE)
    assert window.centralWidget().minimumSizeHint().width() <= MINIMUM_SIZE[0]


# ---- theme -------------------------------------------------------------------------------------
class Painted(QWidget):
    def __init__(self):
        super().__init__()
        self.palettes = []

    def apply_palette(self, palette):
        self.palettes.append(palette)


def test_theme_reaches_everything_and_is_announced(make_window):
    view = Painted()
    views = plain_views()
    object.__setattr__(views, "verdict", view)
    window = make_window(views)
    window.set_theme("dark", False)
    heard, changed = Heard(), Heard()
    window.theme_toggled.connect(lambda: heard("toggled"))
    window.palette_changed.connect(changed)
    window.findChild(QWidget, "theme-button").click()
    assert window.look == LIGHT and view.palettes[-1] == LIGHT
    assert LIGHT.panel in QApplication.instance().styleSheet()
    assert heard.said == ["toggled"] and changed.said == [LIGHT]
    action(window, "colour-blind-action").trigger()
    assert window.look == palette_for("light", True) == view.palettes[-1]
    assert action(window, "theme-light-action").isChecked()
    action(window, "theme-dark-action").trigger()
    assert window.look == palette_for("dark", True)


# ---- remembering -------------------------------------------------------------------------------
def test_the_state_is_plain_json_and_comes_back(make_window, window):
    window.set_theme("light", True)
    window.toggle_panel("strip")
    window.setup.folds["sampling-more"].set_unfolded(True)
    window.dialogs.restore_folders({"models": "/m"})
    stored = json.loads(json.dumps(window.state()))
    other = make_window(plain_views())
    other.restore_state(stored)
    assert (other.theme, other.colour_blind) == ("light", True)
    assert not other.panel_shown("strip") and other.panel_shown("right")
    assert other.setup.folds["sampling-more"].unfolded
    assert other.dialogs.folders() == {"models": "/m"}
    assert other.state()["theme"] == "light"


def test_the_width_of_a_panel_is_remembered(qtbot, make_window, window):
    splitter = window.findChild(QSplitter, "body")
    splitter.setSizes([340, 700, 355])
    width = window.setup.width()
    assert width != 295
    stored = {"sizes": window.state()["sizes"]}
    other = make_window(plain_views())
    other.resize(1440, 900)
    other.show()
    other.restore_state(stored)
    qtbot.waitUntil(lambda: other.setup.width() == width)


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        {},
        {"geometry": "!!", "sizes": "wide", "theme": 7, "panels": 3, "folders": [1], "setup": "x"},
        {"geometry": 5, "sizes": [1, 2], "theme": "pink"},
        {"geometry": "AAAA", "sizes": [-5, 10, 10**9]},
    ],
)
def test_odd_memories_are_ignored(window, odd):
    window.set_theme("dark", False)
    window.restore_state(odd)
    assert window.look == DARK
    assert shown(window) == (True, True, True)


# ---- leaving -----------------------------------------------------------------------------------
def test_the_window_closes_only_when_it_may(window):
    heard = Heard()
    window.close_requested.connect(lambda: heard("close"))
    assert not window.close()
    assert window.isVisible() and heard.said == ["close"]
    window.allow_close()
    assert window.close()
    assert not window.isVisible() and heard.said == ["close"]


# ---- keyboard and words ------------------------------------------------------------------------
def test_the_prompt_has_the_cursor_at_the_start(window):
    assert window.focusWidget() is window.findChild(QWidget, "prompt-edit")


def test_keys_lead_to_the_settings_and_to_the_prompt(qtbot, window):
    window.toggle_panel("left")
    qtbot.keyClick(window, Qt.Key.Key_Comma, CTRL)
    assert window.setup.isVisible()
    assert window.focusWidget() is window.findChild(QWidget, "draft-tokens")
    qtbot.keyClick(window, Qt.Key.Key_L, CTRL)
    assert window.focusWidget() is window.findChild(QWidget, "prompt-edit")


def test_menus_and_sheets_open_by_key(qtbot, window):
    qtbot.keyClick(window, Qt.Key.Key_E, CTRL)
    export = window.findChild(QWidget, "export-menu")
    assert export.isVisible()
    export.close()
    qtbot.keyClick(window, Qt.Key.Key_F10)
    menu = window.findChild(QWidget, "main-menu")
    assert [each.text() for each in menu.actions()] == ["File", "Run", "View", "Help"]
    assert menu.isVisible()
    menu.close()
    qtbot.keyClick(window, Qt.Key.Key_F1)
    sheet = window.findChild(QWidget, "shortcut-sheet")
    assert sheet.isVisible()
    sheet.close()
    action(window, "about-action").trigger()
    about = window.findChild(QWidget, "about-box")
    assert about.isVisible()
    about.close()


def test_every_shortcut_on_the_sheet_is_one(window):
    for group in SHORTCUTS.values():
        for shortcut in group:
            if shortcut.action:
                keys = QKeySequence(shortcut.keys)
                assert keys in action(window, shortcut.action).shortcuts(), shortcut


def test_no_two_actions_share_a_shortcut(window):
    keys = [key.toString() for each in window.findChildren(QAction) for key in each.shortcuts()]
    assert len(keys) == len(set(keys))


def test_every_control_is_named_and_described(window):
    window.show_first_launch(True)
    for widget in window.findChildren(QWidget):
        if not widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            continue
        name = widget.objectName()
        if name.startswith("qt_") or name == "prompt-edit" or isinstance(widget, QFileDialog):
            continue
        assert name, widget
        assert widget.accessibleName(), name
        assert widget.accessibleDescription().endswith("."), name


def test_actions_have_stable_names(window):
    for each in window.actions():
        assert each.objectName().endswith("-action"), each.text()
