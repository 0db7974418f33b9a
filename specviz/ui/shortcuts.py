"""Keyboard shortcuts: which there are, and the sheet that shows them."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from specviz.ui.plain_text import describe, label


@dataclass(frozen=True, slots=True)
class Shortcut:
    """Keys in Qt's portable spelling, and what they do. `action`: the action that has them."""

    keys: str
    words: str
    action: str = ""


RUN_KEYS = ("Ctrl+Return", "Ctrl+Enter")

SHORTCUTS: dict[str, tuple[Shortcut, ...]] = {
    "Run": (
        Shortcut("Ctrl+Return", "Run the prompt or the sweep", "run-action"),
        Shortcut("Esc", "Stop", "stop-action"),
        Shortcut("Ctrl+K", "Check the output", "check-output-action"),
        Shortcut("Ctrl+L", "Go to the prompt", "go-to-prompt-action"),
        Shortcut("Ctrl+,", "Go to the settings", "go-to-settings-action"),
    ),
    "Conversation": (
        Shortcut("Ctrl+N", "New chat", "new-chat-action"),
        Shortcut("Ctrl+R", "Run the last turn again", "run-again-action"),
        Shortcut("Up", "Empty prompt: edit the last turn"),
        Shortcut("Esc", "While editing: keep the turn"),
        Shortcut("Space", "On reasoning: show or hide it"),
    ),
    "Files": (
        Shortcut("Ctrl+O", "Choose the target", "open-target-action"),
        Shortcut("Ctrl+Shift+O", "Choose the draft", "open-draft-action"),
        Shortcut("Ctrl+Shift+X", "Swap target and draft", "swap-action"),
        Shortcut("Ctrl+T", "Open a trace", "open-trace-action"),
        Shortcut("Ctrl+E", "Export", "export-action"),
        Shortcut("Ctrl+Q", "Quit", "quit-action"),
    ),
    "Window": (
        Shortcut("Ctrl+1", "Show or hide the setup", "left-panel-action"),
        Shortcut("Ctrl+2", "Show or hide the charts", "right-panel-action"),
        Shortcut("Ctrl+3", "Show or hide the steps", "strip-action"),
        Shortcut("Ctrl+Shift+L", "Switch between dark and light", "toggle-theme-action"),
        Shortcut("F10", "Open the menu", "menu-action"),
        Shortcut("F1", "This sheet", "shortcuts-action"),
    ),
    "In a setting": (
        Shortcut("Return", "Edit the value, and take it"),
        Shortcut("Up", "One step up or down, by the arrows"),
        Shortcut("Esc", "Give the edit up"),
    ),
}


def keys_of(action: str) -> str:
    """The keys of an action, in Qt's portable spelling."""
    return next(
        each.keys for group in SHORTCUTS.values() for each in group if each.action == action
    )


class ShortcutSheet(QDialog):
    """All shortcuts on one sheet."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("shortcut-sheet")
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 20, 24, 20)
        layout.setSpacing(16)
        columns = QHBoxLayout()
        columns.setSpacing(40)
        for titles in (("Run", "In a setting"), ("Files",), ("Conversation", "Window")):
            columns.addLayout(self._column(titles))
        layout.addLayout(columns)
        closer = QPushButton("Close")
        closer.setObjectName("shortcut-sheet-close")
        closer.clicked.connect(self.accept)
        describe(closer, "Close", "Closes this sheet.")
        layout.addWidget(closer, 0, Qt.AlignmentFlag.AlignRight)

    def _column(self, titles: tuple[str, ...]) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(8)
        row = 0
        for title in titles:
            heading = label(title.upper(), "section")
            heading.setContentsMargins(0, 12 if row else 0, 0, 2)
            grid.addWidget(heading, row, 0, 1, 2)
            for shortcut in SHORTCUTS[title]:
                row += 1
                shown = QKeySequence(shortcut.keys).toString(QKeySequence.SequenceFormat.NativeText)
                grid.addWidget(label(shown, "mono"), row, 0)
                grid.addWidget(label(shortcut.words, "quiet"), row, 1)
            row += 1
        grid.setRowStretch(row, 1)
        return grid
