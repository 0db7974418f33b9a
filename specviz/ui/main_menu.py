"""The menus and actions of the window, all reachable by keyboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from specviz.models.readable import file_label
from specviz.ui.dialogs import EXPORT_KINDS
from specviz.ui.menus import make_action, plain_menu_text, rounded_menu
from specviz.ui.plain_text import tooltip
from specviz.ui.shortcuts import RUN_KEYS, keys_of

THEMES = (("dark", "Dark"), ("light", "Light"), ("system", "Like the desktop"))


@dataclass(frozen=True, slots=True)
class RecentPair:
    """Files used together before; `draft` is None where the target ran alone."""

    target: Path
    draft: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuSlots:
    """What the menus do; one callable for each entry."""

    open_target: Callable[[], object]
    open_draft: Callable[[], object]
    swap: Callable[[], object]
    demo: Callable[[], object]
    open_recent: Callable[[RecentPair], object]
    open_trace: Callable[[], object]
    open_export: Callable[[], object]
    export: Callable[[str], object]
    restart_engine: Callable[[], object]
    quit: Callable[[], object]
    run: Callable[[], object]
    run_again: Callable[[], object]
    edit_last: Callable[[], object]
    new_chat: Callable[[], object]
    stop: Callable[[], object]
    measure: Callable[[], object]
    check: Callable[[], object]
    go_to_prompt: Callable[[], object]
    go_to_settings: Callable[[], object]
    set_theme: Callable[[str], object]
    toggle_theme: Callable[[], object]
    set_colour_blind: Callable[[bool], object]
    toggle_panel: Callable[[str], object]
    show_settings: Callable[[], object]
    open_menu: Callable[[], object]
    show_shortcuts: Callable[[], object]
    show_about: Callable[[], object]


class MainMenu:
    """Builds the menus once and keeps the actions that change with the program's state."""

    def __init__(self, window: QWidget, slots: MenuSlots) -> None:
        self._window = window
        self._slots = slots
        self.export_menu = self._export_menu()
        self.menu = rounded_menu(window)
        self.menu.setObjectName("main-menu")
        self.recent_menu = rounded_menu(window, "Recent models")
        self.recent_menu.setObjectName("recent-menu")
        self.theme_actions: dict[str, QAction] = {}
        self.panel_actions: dict[str, QAction] = {}
        self.menus = [self._file_menu(), self._run_menu(), self._view_menu(), self._help_menu()]
        for menu in self.menus:
            self.menu.addMenu(menu)
        self._unlisted_actions()
        self.set_recent(())

    def set_recent(self, pairs: Sequence[RecentPair]) -> None:
        """Pairs the menu offers again, newest first."""
        self.recent_menu.clear()
        self.recent_menu.menuAction().setEnabled(bool(pairs))
        for pair in pairs:
            files = [path for path in (pair.target, pair.draft) if path is not None]
            self.recent_menu.addAction(
                make_action(
                    self.recent_menu,
                    plain_menu_text(" + ".join(file_label(path) for path in files)),
                    partial(self._slots.open_recent, pair),
                    name="recent-pair-action",
                    effect=tooltip("\n".join(str(path) for path in files)),
                )
            )

    def _action(self, text: str, slot: Callable[[], object], name: str, effect: str) -> QAction:
        """An action of the window, with the shortcut from the list in shortcuts.py, if any."""
        try:
            keys = keys_of(name)
        except StopIteration:
            keys = ""
        action = make_action(self._window, text, slot, name=name, shortcut=keys, effect=effect)
        self._window.addAction(action)  # shortcuts work while no menu is open
        return action

    def _submenu(self, title: str, name: str) -> QMenu:
        menu = rounded_menu(self._window, title)
        menu.setObjectName(name)
        return menu

    def _export_menu(self) -> QMenu:
        menu = self._submenu("Export", "export-menu")
        for export in EXPORT_KINDS:
            menu.addAction(
                make_action(
                    menu,
                    export.words,
                    partial(self._slots.export, export.kind),
                    name=f"export-{export.kind}-action",
                    effect=export.effect,
                )
            )
        return menu

    def _file_menu(self) -> QMenu:
        slots = self._slots
        menu = self._submenu("File", "file-menu")
        for text, slot, name, effect in (
            ("Choose target…", slots.open_target, "open-target-action", "Picks the target file."),
            ("Choose draft…", slots.open_draft, "open-draft-action", "Picks the draft file."),
            ("Swap target and draft", slots.swap, "swap-action", "Exchanges the two models."),
        ):
            menu.addAction(self._action(text, slot, name, effect))
        menu.addMenu(self.recent_menu)
        menu.addAction(
            self._action(
                "Try the demo pair", slots.demo, "demo-action", "Loads the models that come along."
            )
        )
        menu.addSeparator()
        menu.addAction(
            self._action(
                "Open trace…", slots.open_trace, "open-trace-action", "Opens a stored run."
            )
        )
        menu.addMenu(self.export_menu)
        menu.addSeparator()
        menu.addAction(self._action("Quit", slots.quit, "quit-action", "Closes the program."))
        return menu

    def _run_menu(self) -> QMenu:
        slots = self._slots
        menu = self._submenu("Run", "run-menu")
        run = self._action("Run", slots.run, "run-action", "Runs the prompt.")
        run.setShortcuts([QKeySequence(keys) for keys in RUN_KEYS])
        menu.addAction(run)
        for text, slot, name, effect in (
            (
                "Run the last turn again",
                slots.run_again,
                "run-again-action",
                "Measures the last turn again, with the settings as they are now.",
            ),
            ("Stop", slots.stop, "stop-action", "Stops the run."),
        ):
            menu.addAction(self._action(text, slot, name, effect))
        menu.addSeparator()
        for text, slot, name, effect in (
            (
                "Check output…",
                slots.check,
                "check-output-action",
                "Tells whether the output is the baseline's, and can evaluate every step anew.",
            ),
            (
                "Measure costs",
                slots.measure,
                "measure-costs-action",
                "Measures what checks of each width cost, in a few seconds.",
            ),
        ):
            menu.addAction(self._action(text, slot, name, effect))
        menu.addSeparator()
        for text, slot, name, effect in (
            (
                "New chat",
                slots.new_chat,
                "new-chat-action",
                "Begins a conversation without earlier turns; the models stay loaded.",
            ),
            (
                "Edit the last turn",
                slots.edit_last,
                "edit-last-action",
                "Puts the last prompt into the field, to be sent again.",
            ),
        ):
            menu.addAction(self._action(text, slot, name, effect))
        menu.addSeparator()
        menu.addAction(
            self._action(
                "Restart engine",
                slots.restart_engine,
                "restart-engine-action",
                "Starts the engine process anew.",
            )
        )
        return menu

    def _view_menu(self) -> QMenu:
        slots = self._slots
        menu = self._submenu("View", "view-menu")
        themes = self._submenu("Theme", "theme-menu")
        themes.setProperty("checkable", "true")
        group = QActionGroup(self._window)
        for theme, words in THEMES:
            action = self._action(
                words,
                partial(slots.set_theme, theme),
                f"theme-{theme}-action",
                "Changes the colours of the window.",
            )
            action.setCheckable(True)
            group.addAction(action)
            themes.addAction(action)
            self.theme_actions[theme] = action
        menu.setProperty("checkable", "true")
        menu.addMenu(themes)
        self.colour_blind_action = self._action(
            "Colours for colour-blind readers",
            lambda: slots.set_colour_blind(self.colour_blind_action.isChecked()),
            "colour-blind-action",
            "Uses colours that stay distinct for most colour-blind readers.",
        )
        self.colour_blind_action.setCheckable(True)
        menu.addAction(self.colour_blind_action)
        menu.addSeparator()
        for panel, words, name in (
            ("left", "Setup", "left-panel-action"),
            ("right", "Charts", "right-panel-action"),
            ("strip", "Steps", "strip-action"),
        ):
            action = self._action(
                words,
                partial(slots.toggle_panel, panel),
                name,
                "Shows or hides this part of the window.",
            )
            action.setCheckable(True)
            menu.addAction(action)
            self.panel_actions[panel] = action
        menu.addSeparator()
        menu.addAction(
            self._action(
                "Settings in effect…",
                slots.show_settings,
                "settings-in-effect-action",
                "Lists every setting as it was asked for and as it is in effect.",
            )
        )
        return menu

    def _help_menu(self) -> QMenu:
        menu = self._submenu("Help", "help-menu")
        for text, slot, name, effect in (
            (
                "Keyboard shortcuts",
                self._slots.show_shortcuts,
                "shortcuts-action",
                "Shows all shortcuts.",
            ),
            ("About SpecViz", self._slots.show_about, "about-action", "Says what this is."),
        ):
            menu.addAction(self._action(text, slot, name, effect))
        return menu

    def _unlisted_actions(self) -> None:
        """Actions that have keys and no place in a menu."""
        slots = self._slots
        for text, slot, name in (
            ("Go to the prompt", slots.go_to_prompt, "go-to-prompt-action"),
            ("Go to the settings", slots.go_to_settings, "go-to-settings-action"),
            ("Export", slots.open_export, "export-action"),
            ("Switch theme", slots.toggle_theme, "toggle-theme-action"),
            ("Menu", slots.open_menu, "menu-action"),
        ):
            self._action(text, slot, name, f"{text}.")
