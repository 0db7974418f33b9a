"""The rows under “Drafting”: which way of drafting, and the settings of that way alone.

Turns them into a `SpeculationConfig` and back. Which way is chosen, and by whom, is kept by
drafting_choice.py; which values cannot work is judged by drafting_checks.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from specviz.trace.config import (
    DraftSource,
    NgramCacheConfig,
    NgramModConfig,
    NgramSizes,
    SpeculationConfig,
)
from specviz.trace.presets import NGRAM_PRESETS, preset_of
from specviz.trace.validation import NGRAM_SIZES
from specviz.ui import drafting_checks as checks
from specviz.ui import setting_catalogue as catalogue
from specviz.ui.drafting_choice import DraftingChoice, Method, Slots
from specviz.ui.examples import Example
from specviz.ui.file_field import FileField
from specviz.ui.many_field import ManyField
from specviz.ui.numbers import NumberFormat, Value
from specviz.ui.plain_text import label, set_role, tooltip
from specviz.ui.segments import SegmentedControl
from specviz.ui.setting_fields import Choice, ChoiceField, NumberField
from specviz.ui.setting_rows import ROW_PADDING, SettingRow

MODEL_ROWS = ("drafted-by", "draft-tokens", "p-min", "n-min")
NGRAM_ROWS = ("ngram-preset", "ngram-methods")


class DraftingSection(QWidget):
    """Segments for the method, then the rows that matter to it; all others are hidden.

    Signals:
        changed(): the user changed a value, the method included.
        validity_changed(): a typed value was refused, or is fine again.
    """

    changed = Signal()
    validity_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("drafting")
        self.rows: dict[str, SettingRow] = {}
        self._choice = DraftingChoice()
        self._base = SpeculationConfig()
        self._n_batch = 0
        self._resting = False
        self._groups: dict[DraftSource, QLabel] = {}
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self._build_methods()
        self._build_model()
        self._build_ngrams()

    # ---- building -------------------------------------------------------------------------------
    def _build_methods(self) -> None:
        self.methods = SegmentedControl(catalogue.METHODS)
        self.methods.setObjectName("drafting-methods")
        self.methods.setAccessibleName("Drafting method")
        self.methods.chosen.connect(self._on_method)
        self._hint = label(role="small", wrap=True)
        self._hint.setObjectName("drafting-hint")
        self._hint.setContentsMargins(0, 6, 0, 2)
        for widget in (self.methods, self._hint):
            line = QHBoxLayout()
            line.setContentsMargins(ROW_PADDING, 0, ROW_PADDING, 0)
            line.addWidget(widget)
            self._layout.addLayout(line)
        self._layout.addSpacing(6)

    def _build_model(self) -> None:
        self._model_title = self._title("Draft model", "drafting-model-title")
        self._drafted_by = self._choice_row(
            "drafted-by", "Drafted by", catalogue.DRAFTED_BY, self._on_drafted_by
        )
        self._n_max = self._number("draft-tokens", catalogue.N_MAX)
        self._p_min = self._number("p-min", catalogue.P_MIN)
        self._n_min = self._number("n-min", catalogue.N_MIN)

    def _build_ngrams(self) -> None:
        self._ngram_title = self._title("N-grams", "drafting-ngram-title")
        self._preset = self._choice_row(
            "ngram-preset", "Preset", catalogue.PRESETS, self._on_preset
        )
        effect = catalogue.EFFECTS["ngram-methods"]
        self._methods = ManyField(
            catalogue.NGRAM_METHODS,
            (DraftSource.NGRAM_MOD.value,),
            "Method",
            "methods",
            effect,
            "ngram-methods",
        )
        self._row(SettingRow("ngram-methods", "Method", effect, [self._methods]), self._on_ngrams)
        self._numbers: dict[DraftSource, dict[str, NumberField]] = {}
        self._files: dict[str, FileField] = {}
        for choice in catalogue.NGRAM_METHODS:
            self._build_group(DraftSource(choice.value), choice)

    def _build_group(self, source: DraftSource, choice: Choice) -> None:
        """The rows of one n-gram source under a quiet title."""
        title = self._title(choice.word, f"{source.value}-title")
        title.setToolTip(tooltip(f"{choice.word}, {choice.beside}.\n\n{choice.effect}"))
        self._groups[source] = title
        if source is DraftSource.NGRAM_CACHE:
            self._files = {
                "static_path": self._file("ngram-cache-static", "Static counts"),
                "dynamic_path": self._file("ngram-cache-dynamic", "Dynamic counts"),
            }
            return
        numbers = {"match": catalogue.MATCH}
        if source is DraftSource.NGRAM_MOD:
            numbers |= {"shortest": catalogue.SHORTEST, "longest": catalogue.LONGEST}
        else:
            numbers["copied"] = catalogue.COPIED
        if source is DraftSource.NGRAM_MAP_K4V:
            numbers["hits"] = catalogue.HITS
        self._numbers[source] = {
            part: self._number(
                f"{source.value}-{part}", number, f"ngram-{part}", f"{number.label}, {choice.word}"
            )
            for part, number in numbers.items()
        }

    def _title(self, text: str, name: str) -> QLabel:
        title = label(text, "subsection")
        title.setObjectName(name)
        title.setContentsMargins(ROW_PADDING, 9, ROW_PADDING, 2)
        self._layout.addWidget(title)
        return title

    def _row(self, row: SettingRow, react: Callable[[], None] | None = None) -> None:
        """Add a row; `react` follows a change of its value before anybody is told of it."""
        self.rows[row.key] = row
        self._layout.addWidget(row)
        if react is not None:
            row.changed.connect(react)
        row.changed.connect(self.changed)
        row.validity_changed.connect(self.validity_changed)

    def _number(
        self, key: str, number: NumberFormat, effect_key: str = "", name: str = ""
    ) -> NumberField:
        """A row with one number; returns its field."""
        effect = catalogue.effect_of(effect_key or key, key)
        field = NumberField(number, number.maximum, name or number.label, effect, key)
        self._row(SettingRow(key, number.label, effect, [field]))
        return field

    def _choice_row(
        self, key: str, text: str, choices: Sequence[Choice], react: Callable[[], None]
    ) -> ChoiceField:
        effect = catalogue.EFFECTS[key]
        field = ChoiceField(choices, choices[0].value, text, effect, key)
        self._row(SettingRow(key, text, effect, [field]), react)
        return field

    def _file(self, key: str, text: str) -> FileField:
        effect = catalogue.effect_of(key, key)
        field = FileField(text, effect, key)
        row = SettingRow(key, text, effect, [field])
        row.line.insertWidget(row.line.count() - 1, field.clear)
        self._row(row)
        return field

    # ---- what it is told ------------------------------------------------------------------------
    def set_slots(self, slots: Slots) -> None:
        """What the slots hold now; the method follows unless the user picked one."""
        self._choice.see(slots)
        self.show_choice()

    def set_resting(self, resting: bool) -> None:
        """Nothing is drafted in the next run, so nothing that is missing is a warning."""
        self._resting = resting
        self._show_hint()

    def set_locked(self, locked: bool) -> None:
        """Nothing can be changed while locked. Rows are locked by the panel, as all rows are."""
        self.methods.setEnabled(not locked)
        for field in self._files.values():
            field.clear.setEnabled(not locked)

    def apply(self, speculation: SpeculationConfig, n_batch: int) -> None:
        """Show other values without announcing it; the check has `n_batch` rows at most."""
        self._n_batch = n_batch
        self._n_max.set_number(replace(catalogue.N_MAX, maximum=max(n_batch - 1, 1)))
        self._choice.take(speculation.sources)
        self._show_values(speculation)
        self.show_choice()

    def apply_example(self, example: Example) -> None:
        """Show the settings that an example brings; its sources are in use for it alone."""
        self._choice.lend(example.sources)
        self._show_values(example.applied_to(self.speculation()))
        self.show_choice()

    def _show_values(self, speculation: SpeculationConfig) -> None:
        self._base = speculation
        for field, value in (
            (self._n_max, speculation.n_max),
            (self._n_min, speculation.n_min),
            (self._p_min, speculation.p_min),
        ):
            field.set_value(value)
        self._show_sizes(speculation)
        self._files["static_path"].set_value(speculation.ngram_cache.static_path)
        self._files["dynamic_path"].set_value(speculation.ngram_cache.dynamic_path)

    def _show_sizes(self, speculation: SpeculationConfig) -> None:
        for source in NGRAM_SIZES:
            fields, sizes = self._numbers[source], checks.sizes_of(speculation, source)
            fields["match"].set_value(sizes.size_n)
            fields["copied"].set_value(sizes.size_m)
            if "hits" in fields:
                fields["hits"].set_value(sizes.min_hits)
        fields, mod = self._numbers[DraftSource.NGRAM_MOD], speculation.ngram_mod
        fields["match"].set_value(mod.n_match)
        fields["shortest"].set_value(mod.n_min)
        fields["longest"].set_value(mod.n_max)

    # ---- configuration --------------------------------------------------------------------------
    def speculation(self) -> SpeculationConfig:
        """What the rows say; what has no row is as it was applied."""
        sizes = {field: self._sizes(source) for source, field in NGRAM_SIZES.items()}
        mod = self._numbers[DraftSource.NGRAM_MOD]
        return replace(
            self._base,
            sources=self._choice.sources,
            n_max=_whole(self._n_max.value),
            n_min=_whole(self._n_min.value),
            p_min=float(self._p_min.value or 0),
            ngram_mod=NgramModConfig(
                n_match=_whole(mod["match"].value),
                n_min=_whole(mod["shortest"].value),
                n_max=_whole(mod["longest"].value),
            ),
            ngram_cache=NgramCacheConfig(
                **{part: field.value for part, field in self._files.items()}
            ),
            **sizes,
        )

    def _sizes(self, source: DraftSource) -> NgramSizes:
        fields, applied = self._numbers[source], checks.sizes_of(self._base, source)
        return NgramSizes(
            size_n=_whole(fields["match"].value),
            size_m=_whole(fields["copied"].value),
            min_hits=_whole(fields["hits"].value) if "hits" in fields else applied.min_hits,
        )

    def check(self) -> None:
        """Mark rows whose values do not go together, advise, and name the preset."""
        speculation = self.speculation()
        problems = checks.row_problems(speculation, self._n_batch)
        advice = checks.row_advice(speculation)
        for key, row in self.rows.items():
            row.set_problem(problems.get(key, ""))
            row.set_aside(advice.get(key, ""))
        preset = preset_of(speculation)
        self._preset.set_value(preset.key if preset else catalogue.CUSTOM)

    # ---- showing --------------------------------------------------------------------------------
    def show_choice(self) -> None:
        """Bring segments, hint and rows in line with the choice."""
        choice = self._choice
        self.methods.set_value(choice.method.value)
        self._drafted_by.set_value(choice.drafted_by.value)
        self._methods.set_values([source.value for source in choice.ngrams])
        self._show_hint()
        both = choice.method is Method.BOTH
        self._model_title.setVisible(both)
        self._ngram_title.setVisible(both)
        for key in MODEL_ROWS:
            offered = key != "drafted-by" or choice.offers_mtp
            self.rows[key].setVisible(choice.uses_model and offered)
        for key in NGRAM_ROWS:
            self.rows[key].setVisible(choice.uses_ngrams)
        for source, title in self._groups.items():
            shown = choice.uses_ngrams and source in choice.ngrams
            title.setVisible(shown and len(choice.ngrams) > 1)
            for key in self._keys_of(source):
                self.rows[key].setVisible(shown)

    def _keys_of(self, source: DraftSource) -> list[str]:
        if source is DraftSource.NGRAM_CACHE:
            return [field.objectName() for field in self._files.values()]
        return [field.objectName() for field in self._numbers[source].values()]

    def _show_hint(self) -> None:
        choice = self._choice
        text = ""
        if choice.lacks_draft and choice.offers_mtp:
            text = catalogue.NEEDS_DRAFT_OR_MTP
        elif choice.lacks_draft:
            alone = choice.method is Method.MODEL
            text = catalogue.NEEDS_DRAFT if alone else catalogue.NEEDS_DRAFT_BESIDE
        elif choice.method is Method.BOTH:
            by_mtp = choice.drafted_by is DraftSource.DRAFT_MTP
            text = catalogue.MTP_FIRST if by_mtp else catalogue.NGRAMS_FIRST
        # a warning only where it stands in the way of a run
        blocks = choice.lacks_draft and choice.slots.has_target and not self._resting
        set_role(self._hint, "hint" if blocks else "small")
        self._hint.setText(text)
        self._hint.setVisible(bool(text))

    def first_field(self) -> QWidget:
        """Where somebody who goes to the settings begins."""
        shown = next(row for row in self.rows.values() if not row.isHidden())
        return shown.fields[0]

    # ---- what the user does ---------------------------------------------------------------------
    def _on_method(self, value: str) -> None:
        self._choice.pick_method(Method(value))
        self.show_choice()
        self.changed.emit()

    def _on_drafted_by(self) -> None:
        self._choice.pick_drafted_by(DraftSource(self._drafted_by.value))
        self.show_choice()

    def _on_ngrams(self) -> None:
        self._choice.pick_ngrams(DraftSource(value) for value in self._methods.values)
        self.show_choice()

    def _on_preset(self) -> None:
        preset = next(each for each in NGRAM_PRESETS if each.key == self._preset.value)
        self._base = preset.applied_to(self._base)
        self._show_sizes(self._base)

    # ---- remembering ----------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """What the user picked, to be remembered between starts."""
        return self._choice.state()

    def restore_state(self, state: object) -> None:
        """Take up a remembered state; anything odd in it is ignored."""
        self._choice.restore_state(state)
        self.show_choice()


def _whole(value: Value) -> int:
    assert value is not None
    return int(value)
