"""The form of a sweep: methods, values, prompts and repeats, ticked and typed.

Says what is chosen and what is wrong about it; what it comes to is worked out elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from specviz.trace.config import DraftSource
from specviz.ui import setting_catalogue as catalogue
from specviz.ui.file_field import FileField
from specviz.ui.flow_layout import FlowLayout
from specviz.ui.list_field import ListField
from specviz.ui.numbers import NumberFormat
from specviz.ui.plain_text import ElidedLabel, describe, label
from specviz.ui.segments import Segment, SegmentedControl
from specviz.ui.setting_fields import NumberField
from specviz.ui.sweep_choice import MOST_REPEATS, VARIED, PromptsFrom, SweepChoice

LABEL_WIDTH = 108
LINE_HEIGHT = 34

_METHODS = {
    DraftSource.DRAFT_SIMPLE: ("Draft model", "Sweeps over drafts of the draft file."),
    DraftSource.DRAFT_MTP: ("MTP blocks", "Sweeps over drafts of blocks that the target brings."),
    **{
        DraftSource(choice.value): (choice.word, choice.explained)
        for choice in catalogue.NGRAM_METHODS
    },
}
_PROMPTS = (
    Segment(
        PromptsFrom.BUILTIN.value,
        "Built-in set",
        "Six prompts of different kinds: where drafting helps on one, it may hurt on another.",
        "sweep-prompts-builtin",
    ),
    Segment(
        PromptsFrom.FIELD.value,
        "Prompt field",
        "The prompt that is written in the field of the other modes.",
        "sweep-prompts-field",
    ),
    Segment(
        PromptsFrom.FILE.value,
        "File",
        "A text file with a prompt a line, or JSON lines with a name and a prompt each.",
        "sweep-prompts-file",
    ),
)
_REPEATS = NumberFormat(label="Repeats", minimum=1, maximum=MOST_REPEATS)
_REPEATS_EFFECT = (
    "Each run is made so many times: more take longer, and show how far the speed varies by itself."
)
_FILE_EFFECT = "Prompts to sweep over: a prompt a line, or JSON lines."
NO_PROMPT = "The prompt field of the other modes is empty."


class SweepForm(QWidget):
    """Everything that a sweep varies; the setup on the left says the rest.

    Signals:
        changed(): something else is ticked or typed.
        file_chosen(str | None): another file of prompts, or none.
    """

    changed = Signal()
    file_chosen = Signal(object)

    def __init__(self, prompts: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        """`prompts`: name and explanation of each built-in prompt."""
        super().__init__(parent)
        self.setObjectName("sweep-form")
        self.methods: dict[DraftSource, QCheckBox] = {}
        self.lists: dict[str, ListField] = {}
        self.ticks: dict[str, QCheckBox] = {}
        self._lines: list[tuple[tuple[DraftSource, ...], QWidget, QWidget]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnMinimumWidth(0, LABEL_WIDTH)
        self._grid.setColumnStretch(1, 1)
        self._build_methods()
        self._build_lists()
        self._build_prompts(prompts)
        self._build_repeats()
        self._connect()
        self.setFocusProxy(self.methods[DraftSource.DRAFT_SIMPLE])
        self._show_lines()

    # ---- building -------------------------------------------------------------------------------
    def _line(self, words: str, content: QWidget) -> QLabel:
        row = self._grid.rowCount()
        title = label(words, "quiet")
        title.setMinimumHeight(28)
        title.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        self._grid.addWidget(title, row, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(content, row, 1)
        return title

    def _tick(self, words: str, effect: str, name: str) -> QCheckBox:
        tick = QCheckBox(words.replace("&", "&&"))
        tick.setObjectName(name)
        tick.setMinimumHeight(28)
        describe(tick, words, effect)
        return tick

    def _build_methods(self) -> None:
        holder = QWidget()
        flow = FlowLayout(18, 2, holder)
        for source, (words, effect) in _METHODS.items():
            tick = self._tick(words, effect, f"sweep-{source.value}")
            self.methods[source] = tick
            flow.addWidget(tick)
        self.methods[DraftSource.DRAFT_SIMPLE].setChecked(True)
        self._line("Methods", holder)

    def _build_lists(self) -> None:
        groups: dict[tuple[DraftSource, ...], list[ListField]] = {}
        for value in VARIED:
            field = ListField(value.wanted, value.effect, f"sweep-{value.key}")
            field.setPlaceholderText("as in the setup")
            field.setText(value.start)
            self.lists[value.key] = field
            groups.setdefault(value.sources, []).append(field)
        for sources, fields in groups.items():
            holder = QWidget()
            flow = FlowLayout(18, 2, holder)
            for field in fields:
                flow.addWidget(_captioned(field))
            words = _METHODS[sources[0]][0] if len(sources) == 1 else "Model drafts"
            self._lines.append((sources, self._line(words, holder), holder))
        self._problem = label(role="error", wrap=True)
        self._problem.setObjectName("sweep-list-problem")
        self._grid.addWidget(self._problem, self._grid.rowCount(), 1)

    def _build_prompts(self, prompts: Sequence[tuple[str, str]]) -> None:
        self.source = SegmentedControl(_PROMPTS)
        self.source.setObjectName("sweep-prompts")
        self.source.setAccessibleName("Prompts")
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.source, 0, Qt.AlignmentFlag.AlignLeft)
        self._builtin = QWidget()
        flow = FlowLayout(18, 2, self._builtin)
        for index, (name, explained) in enumerate(prompts, start=1):
            tick = self._tick(name, explained, f"sweep-prompt-{index}")
            tick.setChecked(True)
            self.ticks[name] = tick
            flow.addWidget(tick)
        self._field = ElidedLabel(NO_PROMPT, "quiet")
        self._field.setObjectName("sweep-field-prompt")
        self._field.setMinimumHeight(28)
        self._file_line = QWidget()
        line = QHBoxLayout(self._file_line)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(4)
        self.file = FileField("Prompt file", _FILE_EFFECT, "sweep-file")
        self.file.value_changed.connect(self.file_chosen)
        self._found = label(role="quiet")
        self._found.setObjectName("sweep-file-found")
        line.addWidget(self.file)
        line.addWidget(self.file.clear)
        line.addWidget(self._found)
        line.addStretch(1)
        self._file_line.setMinimumHeight(28)
        for widget in (self._builtin, self._field, self._file_line):
            column.addWidget(widget)
        self._line("Prompts", holder)

    def _build_repeats(self) -> None:
        self.repeats = NumberField(_REPEATS, 1, "Repeats", _REPEATS_EFFECT, "sweep-repeats")
        holder = QWidget()
        line = QHBoxLayout(holder)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.repeats)
        line.addWidget(label("of every run", "small"))
        line.addStretch(1)
        self._line("Repeats", holder)

    def _connect(self) -> None:
        for tick in (*self.methods.values(), *self.ticks.values()):
            tick.toggled.connect(self._on_changed)
        for field in self.lists.values():
            field.changed.connect(self._on_changed)
        self.source.chosen.connect(self._on_changed)
        self.repeats.value_changed.connect(self._on_changed)

    # ---- what is chosen -------------------------------------------------------------------------
    def choice(self) -> SweepChoice:
        """What is ticked and typed; fields of methods that are not ticked count for nothing."""
        sources = tuple(source for source in DraftSource if self.methods[source].isChecked())
        return SweepChoice(
            sources=sources,
            values={
                value.key: self.lists[value.key].values
                for value in VARIED
                if set(value.sources) & set(sources) and self.lists[value.key].values
            },
            prompts_from=PromptsFrom(self.source.value),
            builtin=tuple(name for name, tick in self.ticks.items() if tick.isChecked()),
            n_repeats=int(self.repeats.value or 1),
        )

    def summary(self) -> str:
        """What is ticked and typed, in one line."""
        facts = []
        for source, tick in self.methods.items():
            if tick.isChecked():
                typed = [
                    f"{value.wanted.label.lower()} {self.lists[value.key].text().strip()}"
                    for value in VARIED
                    if source in value.sources and self.lists[value.key].values
                ]
                words = _METHODS[source][0]
                facts.append(f"{words} ({', '.join(typed)})" if typed else words)
        return " · ".join(facts)

    def problem(self) -> str:
        """What cannot be read in a field that counts, in a sentence; empty when all can."""
        sources = {source for source, tick in self.methods.items() if tick.isChecked()}
        return next(
            (
                self.lists[value.key].problem
                for value in VARIED
                if self.lists[value.key].problem and sources & set(value.sources)
            ),
            "",
        )

    # ---- what it is told ------------------------------------------------------------------------
    def show_field_prompt(self, text: str) -> None:
        """The prompt that is written in the other modes."""
        self._field.setText(" ".join(text.split()) or NO_PROMPT)

    def show_file(self, path: str | None, found: str) -> None:
        """The file of prompts, and what is in it or wrong about it, in words."""
        self.file.set_value(path)
        self._found.setText(found)

    def set_locked(self, locked: bool) -> None:
        """Nothing can be changed while locked; everything can still be read."""
        for widget in (*self.methods.values(), *self.lists.values(), *self.ticks.values()):
            widget.setEnabled(not locked)
        for other in (self.source, self.file, self.file.clear, self.repeats):
            other.setEnabled(not locked)

    # ---- remembering ----------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """What is remembered between starts, as plain JSON values."""
        return {
            "methods": [source.value for source, tick in self.methods.items() if tick.isChecked()],
            "lists": {key: field.text() for key, field in self.lists.items()},
            "prompts": self.source.value,
            "without": [name for name, tick in self.ticks.items() if not tick.isChecked()],
            "file": self.file.value,
            "repeats": self.repeats.value,
        }

    def restore_state(self, state: object) -> None:
        """Take up a remembered state; anything odd in it is ignored."""
        if not isinstance(state, dict):
            return
        methods, lists, without = (state.get(key) for key in ("methods", "lists", "without"))
        if isinstance(methods, list):
            for source, tick in self.methods.items():
                tick.setChecked(source.value in methods)
        if isinstance(lists, dict):
            for key, field in self.lists.items():
                if isinstance(lists.get(key), str):
                    field.setText(lists[key])
        if isinstance(without, list):
            for name, tick in self.ticks.items():
                tick.setChecked(name not in without)
        if isinstance(state.get("prompts"), str):
            self.source.set_value(state["prompts"])
        repeats = state.get("repeats")
        if isinstance(repeats, int) and 1 <= repeats <= MOST_REPEATS:
            self.repeats.set_value(repeats)
        path = state.get("file")
        if isinstance(path, str) and path:
            self.file.set_value(path)
            self.file_chosen.emit(path)
        self._on_changed()

    def _on_changed(self, *_: object) -> None:
        self._show_lines()
        self.changed.emit()

    def _show_lines(self) -> None:
        """Show the fields of ticked methods, and the prompts of the chosen kind."""
        ticked = {source for source, tick in self.methods.items() if tick.isChecked()}
        for sources, title, holder in self._lines:
            shown = bool(ticked & set(sources))
            title.setVisible(shown)
            holder.setVisible(shown)
        problem = self.problem()
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        kind = PromptsFrom(self.source.value)
        self._builtin.setVisible(kind is PromptsFrom.BUILTIN)
        self._field.setVisible(kind is PromptsFrom.FIELD)
        self._file_line.setVisible(kind is PromptsFrom.FILE)


def _captioned(field: ListField) -> QWidget:
    """A field behind its name."""
    holder = QWidget()
    line = QHBoxLayout(holder)
    line.setContentsMargins(0, 0, 0, 0)
    line.setSpacing(8)
    caption = label(field.wanted.label, "small")
    caption.setMinimumWidth(100)
    caption.setBuddy(field)
    line.addWidget(caption)
    line.addWidget(field)
    return holder
