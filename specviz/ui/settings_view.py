"""The settings of a run as they were asked for, beside those in effect; what differs is marked.

Rows come from the trace; nothing is asked of the engine here.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from specviz.trace.settings_in_effect import SettingRow, settings_in_effect
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.pieces import on_one_line
from specviz.ui.plain_text import describe, label, set_role, tooltip
from specviz.ui.theme import DARK, Palette

COLUMNS = ("Setting", "Asked for", "In effect", "")
DIFFERS = "≠ differs"
LONGEST_VALUE = 80
SIZE = (720, 600)


def difference_words(rows: Sequence[SettingRow]) -> str:
    """How many settings differ, in a sentence without its full stop."""
    n = sum(row.differs for row in rows)
    if not rows:
        return "Settings in effect"
    if not n:
        return "All settings are in effect as asked"
    return (
        f"{figures.counted(n, 'setting')} {'differs' if n == 1 else 'differ'} from what was asked"
    )


def shown_value(value: str | None) -> str:
    """A value in one line; what is not there to be told is a dash."""
    if value is None:
        return figures.DASH
    text = on_one_line(value.encode("utf-8", "replace"))
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def table_text(rows: Sequence[SettingRow]) -> str:
    """The rows for pasting: a heading, then one line each, columns apart by tabs."""
    lines = ["\t".join(COLUMNS[:3])]
    for row in rows:
        cells = [row.words, shown_value(row.requested), shown_value(row.effective)]
        lines.append("\t".join([*cells, *([DIFFERS] if row.differs else [])]))
    return "\n".join(lines)


class SettingsView(QDialog):
    """A table of all settings of one run. Ctrl+C and the button copy it as text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("settings-view")
        self.setWindowTitle("Settings in effect")
        self.resize(*SIZE)
        self._rows: tuple[SettingRow, ...] = ()
        self._palette = DARK
        self._sentence = label("", "lead", wrap=True)
        self._sentence.setObjectName("settings-sentence")
        self._table = _table()
        self._copy = _button("Copy", "settings-copy", "Copies the table as text.")
        self._copy.clicked.connect(self.copy)
        closer = _button("Close", "settings-close", "Closes this view.")
        closer.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self._copy)
        buttons.addWidget(closer)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 20, 24, 20)
        layout.setSpacing(14)
        layout.addWidget(self._sentence)
        layout.addWidget(self._table, 1)
        layout.addLayout(buttons)
        self.show_rows(())

    def apply_palette(self, palette: Palette) -> None:
        """Mark differences in this palette's colour from now on."""
        self._palette = palette
        self.show_rows(self._rows)

    @property
    def rows(self) -> tuple[SettingRow, ...]:
        """What is shown, from the top."""
        return self._rows

    def show_rows(self, rows: tuple[SettingRow, ...], run: str = "run") -> None:
        """Show the settings of a run; `run` says which, in words."""
        self._rows = rows
        table = self._table
        table.setRowCount(len(rows))
        for i, row in enumerate(rows):
            for column, text in enumerate(self._cells(row)):
                item = QTableWidgetItem(text)
                item.setToolTip(tooltip(text))
                if row.differs and column:
                    item.setForeground(QColor(self._palette.recovered))
                table.setItem(i, column, item)
        table.resizeColumnToContents(3)
        table.setVisible(bool(rows))
        self._copy.setEnabled(bool(rows))
        self._sentence.setText(_sentence(rows, run))
        self.setAccessibleDescription(self._sentence.text())

    def _cells(self, row: SettingRow) -> tuple[str, str, str, str]:
        mark = DIFFERS if row.differs else ""
        return row.words, shown_value(row.requested), shown_value(row.effective), mark

    def copy(self) -> None:
        """Copy the table as text."""
        QGuiApplication.clipboard().setText(table_text(self._rows))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy) and self._rows:
            self.copy()
        else:
            super().keyPressEvent(event)


class SettingsLine(QPushButton):
    """A quiet line that says whether any setting differs, and opens the view.

    Signals:
        opened(): the view was opened.
    """

    opened = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("settings-line")
        self.setProperty("kind", "link")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._rows: tuple[SettingRow, ...] = ()
        self._run = "run"
        self._palette = DARK
        self.view: SettingsView | None = None
        self.clicked.connect(self.open_view)
        self.show_traces(None, None)

    def apply_palette(self, palette: Palette) -> None:
        """Use these colours from now on."""
        self._palette = palette
        if self.view is not None:
            self.view.apply_palette(palette)

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Tell of the speculative run, or of the baseline where there is none."""
        trace = speculative if speculative is not None else baseline
        self._run = "speculative run" if speculative is not None else "baseline"
        self._rows = settings_in_effect(trace) if trace is not None else ()
        words = difference_words(self._rows)
        differs = any(row.differs for row in self._rows)
        self.setText(f"≠ {words}…" if differs else f"{words}…")
        describe(self, words, "Opens a list of every setting as asked for and as in effect.")
        set_role(self, "hint" if differs else "", "role")
        if self.view is not None:
            self.view.show_rows(self._rows, self._run)

    def open_view(self) -> None:
        """Open the view over the window; an open one comes to the front."""
        if self.view is None:
            self.view = SettingsView(self.window())
        self.view.apply_palette(self._palette)
        self.view.show_rows(self._rows, self._run)
        if self.view.isVisible():
            self.view.raise_()
            self.view.activateWindow()
        self.view.show()
        self.opened.emit()


def _sentence(rows: Sequence[SettingRow], run: str) -> str:
    if not rows:
        return "There is no run yet. Each run tells which settings it really had."
    n = sum(row.differs for row in rows)
    if not n:
        return f"The {run} had all its settings as they were asked for."
    who = "One setting was" if n == 1 else f"{figures.count(n)} settings were"
    return f"{who} in effect in another way than asked for in the {run}."


def _table() -> QTableWidget:
    table = QTableWidget(0, len(COLUMNS))
    table.setObjectName("settings-table")
    table.setAccessibleName("Settings asked for and in effect")
    table.setHorizontalHeaderLabels(COLUMNS)
    table.verticalHeader().setVisible(False)
    table.verticalHeader().setDefaultSectionSize(28)
    table.setShowGrid(False)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setTabKeyNavigation(False)
    table.setWordWrap(False)
    header = table.horizontalHeader()
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    header.setHighlightSections(False)
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
    for column in (1, 2):
        header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
    header.setSectionResizeMode(3, QHeaderView.ResizeMode.Fixed)
    return table


def _button(words: str, name: str, effect: str) -> QPushButton:
    button = QPushButton(words)
    button.setObjectName(name)
    button.setAutoDefault(False)
    describe(button, words, effect)
    return button
