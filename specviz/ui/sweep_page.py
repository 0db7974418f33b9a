"""The page of a sweep: its verdict, what is varied, then chart and tables of what was measured.

Shows what it is told, at most four times a second while a sweep runs, since drawing takes its time
from the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from specviz.sweep.plan import SweepPrompt
from specviz.sweep.results import SweepResults, SweepRow
from specviz.ui import sweep_words as words
from specviz.ui.cell_table import CellTable, TableRow
from specviz.ui.clock import FIGURES_MS
from specviz.ui.flow_layout import FlowLayout
from specviz.ui.plain_text import ElidedLabel, describe, label
from specviz.ui.reading_column import reading_column
from specviz.ui.sweep_chart import SweepChart
from specviz.ui.sweep_form import SweepForm
from specviz.ui.theme import Palette
from specviz.ui.verdict_bar import VerdictBar

BASELINE_KEY = -1
"""The baseline's row in the table; settings have their place in the plan."""

_ACTIONS = (
    (
        "use",
        "Use this setting",
        "Takes the chosen setting into the setup, and goes to the mode that runs a prompt with it.",
    ),
    (
        "command",
        "Copy llama-server command",
        "Puts the command that starts llama.cpp's server with the chosen setting on the clipboard.",
    ),
    ("csv", "Export CSV…", "Writes a table with a row for each setting and prompt."),
    ("json", "Export JSON…", "Writes plan, machine, models and all figures into one file."),
)


class SweepPage(QWidget):
    """Everything of a sweep but the bar with its button.

    Signals:
        action_requested(str): one of use, command, csv, json; the first two are for `chosen`.
    """

    action_requested = Signal(str)

    def __init__(self, prompts: Sequence[SweepPrompt], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sweep-page")
        self.setAccessibleName("Sweep")
        self._results: SweepResults | None = None
        self._running = False
        self._stale = self._told = ""
        self.verdict = VerdictBar()
        self.verdict.setObjectName("sweep-verdict")
        headline = self.verdict.findChild(QLabel, "verdict-headline")
        if headline is not None:
            headline.setObjectName("sweep-verdict-headline")
        self.form = SweepForm([(prompt.name, prompt.shows) for prompt in prompts])
        self.chart = SweepChart()
        self.table = CellTable(
            words.SETTING_COLUMNS, "Settings", "sweep-table", spare=(5, 6), sortable=True
        )
        self.prompts = CellTable(
            words.PROMPT_COLUMNS,
            "Results by prompt",
            "sweep-prompt-table",
            most_rows=12,
            wide=(0, 2),
            left=(0, 2),
            spare=(6, 4, 7),
        )
        self.buttons: dict[str, QPushButton] = {}
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.setInterval(FIGURES_MS)
        self._late.timeout.connect(self.refresh)
        self._build()
        self._connect()
        self.setFocusProxy(self.form)
        self.show_results(None)

    # Building --------------------------------------------------------------------------------
    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.verdict)
        line = QFrame()
        line.setProperty("kind", "line")
        line.setFixedHeight(1)
        layout.addWidget(line)
        content = QWidget()
        content.setProperty("kind", "ground")
        content.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._column = QVBoxLayout(content)
        self._column.setSpacing(8)
        self._column.addWidget(self._form_head())
        self._column.addWidget(self.form)
        self._measured = QWidget()
        results = QVBoxLayout(self._measured)
        results.setContentsMargins(0, 10, 0, 0)
        results.setSpacing(8)
        head = QHBoxLayout()
        head.addWidget(_heading("Speed-up by setting"))
        head.addStretch(1)
        head.addWidget(label(words.LEGEND, "small"))
        results.addLayout(head)
        results.addWidget(self.chart)
        results.addSpacing(6)
        results.addWidget(_heading("Settings"))
        results.addWidget(self.table)
        results.addWidget(self._action_buttons())
        results.addSpacing(6)
        self._prompts_title = _heading("Prompt by prompt")
        results.addWidget(self._prompts_title)
        results.addWidget(self.prompts)
        self._column.addWidget(self._measured)
        self._column.addStretch(1)
        self.area = QScrollArea()
        self.area.setObjectName("sweep-scroll")
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setWidget(content)
        self.area.viewport().installEventFilter(self)
        layout.addWidget(self.area, 1)

    def _form_head(self) -> QWidget:
        holder = QWidget()
        line = QHBoxLayout(holder)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(10)
        line.addWidget(_heading("What is varied"))
        self.fold = QPushButton("Hide")
        self.fold.setObjectName("sweep-fold")
        self.fold.setProperty("kind", "link")
        self.fold.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._summary = ElidedLabel("", "small")
        self._summary.setObjectName("sweep-summary")
        line.addWidget(self.fold)
        line.addWidget(self._summary, 1)
        return holder

    def _action_buttons(self) -> QWidget:
        holder = QWidget()
        flow = FlowLayout(10, 8, holder)
        for action, text, effect in _ACTIONS:
            button = QPushButton(text)
            button.setObjectName(f"sweep-{action}-button")
            describe(button, text.rstrip("…"), effect)
            button.clicked.connect(partial(self.action_requested.emit, action))
            self.buttons[action] = button
            flow.addWidget(button)
        return holder

    def _connect(self) -> None:
        self.fold.clicked.connect(lambda: self.set_folded(not self.folded))
        self.table.row_chosen.connect(self._on_row)
        self.chart.row_chosen.connect(self.table.choose)
        self.prompts.row_chosen.connect(self.chart.mark_prompt)

    # What it is told -------------------------------------------------------------------------
    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        for view in (self.verdict, self.chart, self.table, self.prompts):
            view.apply_palette(palette)

    def show_results(self, results: SweepResults | None, *, running: bool = False) -> None:
        """Show these results from now on; None: there are none."""
        self._results, self._running = results, running
        self.table.choose(None)
        self.refresh()

    def note_change(self) -> None:
        """The results have changed; they are drawn soon, and not too often."""
        if not self._late.isActive():
            self._late.start()

    def set_running(self, running: bool) -> None:
        """Whether the results still grow; when they no longer do, the best one is chosen."""
        self._running = running
        self.refresh()

    def set_stale(self, sentence: str) -> None:
        """Say that the setup has changed since, or with an empty sentence no longer."""
        if sentence != self._stale:
            self._stale = sentence
            self._show_verdict()

    def set_locked(self, locked: bool) -> None:
        """While locked nothing can be changed here, and no setting taken over."""
        self.form.set_locked(locked)
        self.buttons["use"].setEnabled(not locked and self.chosen is not None)

    @property
    def folded(self) -> bool:
        """Whether the form is folded away."""
        return self.form.isHidden()

    def set_folded(self, folded: bool) -> None:
        """Fold the form away, so that there is room for what was measured; or bring it back."""
        self.form.setVisible(not folded)
        self._summary.setText(self._told if folded else "")
        self.fold.setText("Change" if folded else "Hide")
        verb = "Shows" if folded else "Hides"
        describe(self.fold, f"{self.fold.text()} what is varied", f"{verb} what is varied.")

    def set_summary(self, text: str) -> None:
        """What the form says, in one line for when it is folded away."""
        self._told = text
        self._summary.setText(text if self.folded else "")

    @property
    def chosen(self) -> int | None:
        """The chosen setting by its place in the plan; None for none, and for the baseline."""
        key = self.table.chosen
        return None if key is None or key == BASELINE_KEY else key

    # Showing ---------------------------------------------------------------------------------
    def refresh(self) -> None:
        """Draw the results as they are now."""
        self._late.stop()
        results = self._results
        self._measured.setVisible(results is not None)
        self.fold.setVisible(results is not None)
        if results is None:
            self.set_folded(False)
        else:
            rows = results.rows()
            self.chart.show_results(results)
            self.table.set_rows(_table_rows(results, rows))
            if not self._running and self.table.chosen is None:
                self.table.choose(_first_to_look_at(rows))
            for action in ("csv", "json"):
                self.buttons[action].setEnabled(results.n_added > 0)
            self._show_prompts()
        self._show_verdict()

    def _show_verdict(self) -> None:
        results = self._results
        if results is None:
            self.verdict.show_words(words.idle())
        else:
            self.verdict.show_words(
                words.verdict(results, running=self._running, stale=self._stale)
            )

    def _on_row(self, key: int | None) -> None:
        self.chart.mark_row(self.chosen)
        for action in ("use", "command"):
            self.buttons[action].setEnabled(
                self.chosen is not None and (action == "command" or not self._running)
            )
        self._show_prompts()

    def _show_prompts(self) -> None:
        results, key = self._results, self.table.chosen
        shown = results is not None and key is not None
        self._prompts_title.setVisible(shown)
        self.prompts.setVisible(shown)
        if results is None or key is None:
            self.prompts.set_rows([])
            return
        point = None if key == BASELINE_KEY else key
        row = results.baseline_row if point is None else results.rows()[point]
        title = f"{row.label}, prompt by prompt"
        self._prompts_title.setText(title.upper())
        self._prompts_title.setAccessibleName(title)
        self.prompts.set_rows(
            [
                TableRow(i, words.prompt_cells(results.plan.prompts[i].name, result))
                for i, result in enumerate(row.results)
            ]
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The scroll bar comes and goes with what is shown."""
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        left, width = reading_column(self.width())
        # the scroll bar takes its place in the margin, so that nothing moves sideways
        bar = self.area.width() - self.area.viewport().width()
        right = max(self.width() - left - width - bar, 0)
        self._column.setContentsMargins(left, 16, right, 24)


def _table_rows(results: SweepResults, rows: Sequence[SweepRow]) -> list[TableRow]:
    baseline = TableRow(BASELINE_KEY, words.setting_cells(results.baseline_row), quiet=True)
    return [
        baseline,
        *(
            TableRow(row.index, words.setting_cells(row), strong=row.is_best)
            for row in rows
            if row.index is not None
        ),
    ]


def _first_to_look_at(rows: Sequence[SweepRow]) -> int | None:
    """The best setting, or the one that comes closest to helping."""
    measured = [row for row in rows if row.measured]
    closest = max(measured, key=lambda row: (row.is_best, row.speedup or 0.0), default=None)
    return closest.index if closest is not None else None


def _heading(title: str) -> QLabel:
    heading = label(title.upper(), "section")
    heading.setAccessibleName(title)
    heading.setFixedHeight(22)
    return heading
