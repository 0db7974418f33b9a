"""The left panel: target and draft, drafting, sampling, runtime.

Shows cards and estimates it is told, and turns its rows into a `RunConfig` and back. Knows neither
files nor the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from specviz.trace.config import (
    LoadConfig,
    Message,
    ModelSpec,
    Role,
    RunConfig,
    RunMode,
    SamplingConfig,
    Switch,
)
from specviz.trace.validation import problems
from specviz.ui import figures
from specviz.ui import setting_catalogue as catalogue
from specviz.ui.drafting_choice import Slots
from specviz.ui.drafting_section import DraftingSection
from specviz.ui.examples import Example
from specviz.ui.icons import IconButton
from specviz.ui.model_card import CardPhase, CardState, ModelCard
from specviz.ui.numbers import NumberFormat, Value
from specviz.ui.plain_text import describe, label, tooltip
from specviz.ui.setting_fields import ChoiceField, NumberField, SwitchField
from specviz.ui.setting_rows import ROW_PADDING, FoldButton, Note, SettingRow, TextRow
from specviz.ui.theme import LEFT_PANEL_WIDTH, PANEL_PADDING
from specviz.ui.well import Well

if TYPE_CHECKING:
    from specviz.models.compatibility import PairVerdict
    from specviz.models.memory import MemoryEstimate

START_CONFIG = RunConfig(
    mode=RunMode.SPECULATIVE, load=LoadConfig(target=ModelSpec(path="")), messages=()
)
"""What the panel shows before anything else was said."""


class SetupPanel(QScrollArea):
    """Everything a run is asked to do, except the prompt.

    Signals:
        settings_changed(): the user changed a value of a row.
        validity_changed(): `problem()` may answer differently now.
        choose_requested(Role): the user wants to pick a file for this slot.
        recent_chosen(Role, Path): the user picked a file used before.
        clear_requested(Role): the user wants the slot empty.
        swap_requested(): the user wants target and draft exchanged.
    """

    settings_changed = Signal()
    validity_changed = Signal()
    choose_requested = Signal(object)
    recent_chosen = Signal(object, object)
    clear_requested = Signal(object)
    swap_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("setup-panel")
        self.setAccessibleName("Setup")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._base = START_CONFIG
        self._paths: dict[Role, str] = dict.fromkeys(Role, "")
        self._mode = RunMode.SPECULATIVE
        self._last_seed: int | None = None
        self.locked = False
        self.cards = {role: ModelCard(role) for role in Role}
        self.rows: dict[str, SettingRow] = {}
        self.folds: dict[str, FoldButton] = {}
        self._build()
        self.apply_config(START_CONFIG)

    # ---- building -------------------------------------------------------------------------------
    def _build(self) -> None:
        content = QWidget()
        content.setProperty("kind", "panel")
        self._layout = QVBoxLayout(content)
        self._layout.setSpacing(0)
        self._build_cards()
        self._build_drafting()
        self._build_sampling()
        self._build_runtime()
        self._layout.addStretch(1)
        self.setWidget(content)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The scroll bar takes its place in the padding, so that nothing moves sideways."""
        super().resizeEvent(event)
        bar = self.width() - self.viewport().width()
        side = PANEL_PADDING - ROW_PADDING
        self._layout.setContentsMargins(side, 11, max(side - bar, 0), 16)

    def _add(self, widget: QWidget, above: int, padded: bool = True) -> None:
        """Add a widget some pixels below the one before; rows bring their own padding."""
        self._layout.addSpacing(above)
        if not padded:
            self._layout.addWidget(widget)
            return
        line = QHBoxLayout()
        line.setContentsMargins(ROW_PADDING, 0, ROW_PADDING, 0)
        line.addWidget(widget)
        self._layout.addLayout(line)

    def _section(self, title: str, above: int) -> None:
        heading = label(title.upper(), "section")
        heading.setAccessibleName(title)
        heading.setFixedHeight(22)
        heading.setContentsMargins(0, 2, 0, 0)
        self._add(heading, above)

    def _row(self, row: SettingRow) -> SettingRow:
        self.rows[row.key] = row
        if isinstance(row, TextRow):
            # when the layout has made room for the editor
            row.unfolding.connect(lambda: QTimer.singleShot(0, row, partial(self._reveal, row)))
        self._layout.addWidget(row)
        row.changed.connect(self._on_changed)
        row.validity_changed.connect(self.validity_changed)
        return row

    def _reveal(self, row: SettingRow) -> None:
        self._layout.activate()
        self.ensureWidgetVisible(row, 0, ROW_PADDING)

    def _number(self, key: str, number: NumberFormat, text: str = "") -> NumberField:
        """A row with one number; returns its field."""
        text = text or number.label
        effect = catalogue.EFFECTS[key]
        field = NumberField(number, number.maximum, text, effect, key)
        self._row(SettingRow(key, text, effect, [field]))
        return field

    def _pair(self, key: str, number: NumberFormat) -> dict[Role, NumberField]:
        """A row with one number for the target and one for the draft."""
        effect = catalogue.EFFECTS[key]
        fields = {
            role: NumberField(
                number,
                number.maximum,
                f"{number.label}, {role.value}",
                effect,
                f"{key}-{role.value}",
            )
            for role in Role
        }
        self._row(SettingRow(key, number.label, effect, list(fields.values())))
        return fields

    def _choice(self, key: str, text: str) -> ChoiceField:
        field = ChoiceField(
            catalogue.SWITCH_CHOICES, Switch.AUTO.value, text, catalogue.EFFECTS[key], key
        )
        self._row(SettingRow(key, text, catalogue.EFFECTS[key], [field]))
        return field

    def _switch(self, key: str, text: str) -> SwitchField:
        field = SwitchField(False, text, catalogue.EFFECTS[key], key)
        self._row(SettingRow(key, text, catalogue.EFFECTS[key], [field]))
        return field

    def _caches(self, role: Role) -> dict[str, ChoiceField]:
        key, text = f"kv-{role.value}", f"{role.value.capitalize()} cache K · V"
        effect = catalogue.EFFECTS[key]
        fields = {
            part: ChoiceField(
                catalogue.KV_CHOICES,
                "f16",
                f"{role.value.capitalize()} {part.upper()} cache type",
                effect,
                f"{key}-{part}",
            )
            for part in ("k", "v")
        }
        self._row(SettingRow(key, text, effect, list(fields.values())))
        return fields

    def _fold(self, key: str, section: str, keys: Sequence[str]) -> None:
        """Put rows that were added last under a line “More” in front of them."""
        fold = FoldButton(key, section)
        first = self.rows[keys[0]]
        self._layout.insertWidget(self._layout.indexOf(first), fold)
        fold.toggled.connect(lambda _on: self._show_rows())
        self.folds[key] = fold
        self._folded[key] = tuple(keys)

    def _build_cards(self) -> None:
        for role, card in self.cards.items():
            self._section(role.value.capitalize(), 0 if role is Role.TARGET else 9)
            self._add(card, 4)
            card.choose_requested.connect(lambda role=role: self.choose_requested.emit(role))
            card.recent_chosen.connect(lambda path, role=role: self.recent_chosen.emit(role, path))
            card.clear_requested.connect(lambda role=role: self.clear_requested.emit(role))
            card.swap_requested.connect(self.swap_requested)
        well = Well("drop-hint")
        inside = QHBoxLayout(well)
        inside.setContentsMargins(8, 0, 8, 0)
        inside.addWidget(
            label("Drop GGUF files anywhere", "small"), 0, Qt.AlignmentFlag.AlignCenter
        )
        well.setFixedHeight(35)
        self._add(well, 14)

    def _build_drafting(self) -> None:
        self._folded: dict[str, tuple[str, ...]] = {}
        self._section("Drafting", 10)
        self._layout.addSpacing(4)
        self._drafting = DraftingSection()
        self._layout.addWidget(self._drafting)
        self._drafting.changed.connect(self._on_changed)
        self._drafting.validity_changed.connect(self.validity_changed)
        self.rows |= self._drafting.rows

    def _build_sampling(self) -> None:
        self._section("Sampling", 11)
        self._layout.addSpacing(3)
        self._temperature = self._number("temperature", catalogue.TEMPERATURE)
        self._seed = self._number("seed", catalogue.SEED)
        self._add_seed_button()
        self._max_tokens = self._number("max-tokens", catalogue.MAX_TOKENS)
        self._system = TextRow(
            "system-prompt",
            "System prompt",
            catalogue.EFFECTS["system-prompt"],
            empty_word="none",
            placeholder="What the model is told before the conversation",
        )
        self._row(self._system)
        self._reasoning = self._choice("reasoning", "Reasoning")
        self._top_k = self._number("top-k", catalogue.TOP_K)
        self._top_p = self._number("top-p", catalogue.TOP_P)
        self._min_p = self._number("min-p", catalogue.MIN_P)
        self._stop = TextRow(
            "stop-texts",
            "Stop texts",
            catalogue.EFFECTS["stop-texts"],
            empty_word="none",
            placeholder="One text a line",
        )
        self._row(self._stop)
        self._raw = self._switch("raw-prompt", "Raw prompt")
        self._fold(
            "sampling-more",
            "sampling",
            ("system-prompt", "reasoning", "top-k", "top-p", "min-p", "stop-texts", "raw-prompt"),
        )

    def _add_seed_button(self) -> None:
        self._reuse = IconButton("again", quiet=True, size=14)
        self._reuse.setObjectName("reuse-seed")
        self._reuse.setProperty("kind", "tiny")
        describe(
            self._reuse,
            "Use the last seed again",
            "Takes the seed of the last run, so that its answer can be had again; no effect on "
            "speed.",
        )
        self._reuse.clicked.connect(self._reuse_seed)
        self._reuse.hide()
        line = self.rows["seed"].line
        line.insertWidget(line.count() - 1, self._reuse)

    def _build_runtime(self) -> None:
        self._section("Runtime", 11)
        self._layout.addSpacing(3)
        self._layers = self._pair("gpu-layers", catalogue.layers(None))
        self._context = self._number("context", catalogue.N_CTX)
        self._build_memory()
        self._threads = self._pair("threads", catalogue.N_THREADS)
        self._kv = {role: self._caches(role) for role in Role}
        self._flash = self._choice("flash-attention", "Flash attention")
        self._repack = self._switch("repack", "Repacked weights")
        self._fold(
            "runtime-more",
            "runtime",
            ("threads", "kv-target", "kv-draft", "flash-attention", "repack"),
        )
        self._show_rows()

    def _build_memory(self) -> None:
        self._memory = QPushButton(figures.DASH)
        self._memory.setObjectName("memory")
        self._memory.setProperty("kind", "value")
        self._memory.clicked.connect(self._toggle_memory)
        describe(self._memory, "Memory needed", catalogue.EFFECTS["memory"])
        row = self._row(
            SettingRow("memory", "Memory needed", catalogue.EFFECTS["memory"], [self._memory])
        )
        self._memory_parts = QWidget()
        self._memory_parts.setObjectName("memory-parts")
        parts = QVBoxLayout(self._memory_parts)
        parts.setContentsMargins(ROW_PADDING + 8, 0, ROW_PADDING, 6)
        parts.setSpacing(2)
        self._part_labels = {}
        for name, words in catalogue.MEMORY_PARTS:
            line = QHBoxLayout()
            line.addWidget(label(words, "small"))
            line.addStretch(1)
            self._part_labels[name] = label("", "mono-quiet")
            line.addWidget(self._part_labels[name])
            parts.addLayout(line)
        self._memory_parts.hide()
        layout = row.layout()
        assert layout is not None
        layout.addWidget(self._memory_parts)

    # ---- what it is told ------------------------------------------------------------------------
    def show_card(self, role: Role, state: CardState) -> None:
        """Show another state of a card; settings that depend on the file follow."""
        self.cards[role].show_state(state)
        self._layers[role].set_number(catalogue.layers(state.n_layers))
        self._show_rows()
        self._tell_slots()
        self._check()

    def show_pair(self, verdict: PairVerdict | None) -> None:
        """Show whether the draft fits the target."""
        self.cards[Role.DRAFT].show_pair(verdict)

    def show_memory(self, estimate: MemoryEstimate | None) -> None:
        """Show what the pair will take, in sum and in five parts."""
        if estimate is None:
            self._memory.setText(figures.DASH)
            self._memory.setToolTip(tooltip(catalogue.EFFECTS["memory"]))
            self._memory.setAccessibleName("Memory needed: unknown")
            self._memory_parts.hide()
            return
        total = figures.file_size(estimate.total)
        self._memory.setText(total)
        self._memory.setAccessibleName(f"Memory needed: {total}")
        lines = []
        for name, words in catalogue.MEMORY_PARTS:
            size = figures.file_size(getattr(estimate, name))
            self._part_labels[name].setText(size)
            lines.append(f"{words}: {size}")
        self._memory.setToolTip("\n".join([*lines, "", tooltip(catalogue.EFFECTS["memory"])]))

    def set_path(self, role: Role, path: Path | str | None) -> None:
        """The file of a slot, for `config`; None empties it."""
        self._paths[role] = "" if path is None else str(path)
        self._tell_slots()
        self._check()

    def _tell_slots(self) -> None:
        """Tell the drafting rows what there is to draft with."""
        self._drafting.set_slots(
            Slots(
                has_target=self._is_filled(Role.TARGET),
                has_draft=self._is_filled(Role.DRAFT),
                nextn_layers=self.cards[Role.TARGET].state.nextn_layers,
            )
        )

    def _is_filled(self, role: Role) -> bool:
        """A file that is still being read counts: nothing shall flicker until it is there."""
        reading_or_ready = (CardPhase.READING, CardPhase.READY)
        return bool(self._paths[role]) or self.cards[role].state.phase in reading_or_ready

    def set_mode(self, mode: RunMode) -> None:
        """The mode of the next run; drafting rows rest in a baseline run."""
        self._mode = mode
        self._drafting.set_resting(mode is RunMode.BASELINE)
        self._check()

    def set_recent(self, role: Role, paths: Sequence[Path]) -> None:
        """Files that the card's menu offers again."""
        self.cards[role].set_recent(paths)

    def set_last_seed(self, seed: int | None) -> None:
        """The seed of the last run, which a button offers to use again."""
        self._last_seed = seed
        self._show_reuse()

    def set_safe_mode(self, on: bool) -> None:
        """Say at the row that repacked weights stay off whatever it shows."""
        self.rows["repack"].set_hint(catalogue.SAFE_MODE if on else "")

    def mark_pending(self, keys: Iterable[str]) -> None:
        """Mark rows, and the cards `target` and `draft`, that wait for a reload; no others."""
        waiting = set(keys)
        for key, row in self.rows.items():
            row.set_pending(key in waiting)
        for role, card in self.cards.items():
            card.set_pending(role.value in waiting)

    def set_locked(self, locked: bool) -> None:
        """Nothing can be changed while locked; everything can still be read."""
        self.locked = locked
        for card in self.cards.values():
            card.set_locked(locked)
        for row in self.rows.values():
            for field in row.fields:
                field.setEnabled(not locked)
        self._drafting.set_locked(locked)
        self._memory.setEnabled(True)
        self._reuse.setEnabled(not locked)

    # ---- configuration --------------------------------------------------------------------------
    def config(self) -> RunConfig:
        """What a run would be asked to do; of the messages only the system prompt."""
        raw = self._raw.value
        system = self._system.text
        return replace(
            self._base,
            mode=self._mode,
            load=self._load_config(),
            messages=(Message(role="system", text=system),) if system.strip() and not raw else (),
            raw=raw,
            reasoning=Switch(self._reasoning.value),
            max_tokens=_whole(self._max_tokens.value),
            stop=stop_texts(self._stop.text),
            sampling=SamplingConfig(
                temperature=_real(self._temperature.value),
                top_k=_whole(self._top_k.value),
                top_p=_real(self._top_p.value),
                min_p=_real(self._min_p.value),
                seed=None if self._seed.value is None else _whole(self._seed.value),
            ),
            speculation=self._drafting.speculation(),
        )

    def _load_config(self) -> LoadConfig:
        return replace(
            self._base.load,
            target=self._model(Role.TARGET),
            draft=self._model(Role.DRAFT) if self._paths[Role.DRAFT] else None,
            n_ctx=_whole(self._context.value),
            flash_attention=Switch(self._flash.value),
            repack=self._repack.value,
        )

    def _model(self, role: Role) -> ModelSpec:
        threads = self._threads[role].value
        return ModelSpec(
            path=self._paths[role],
            n_gpu_layers=_whole(self._layers[role].value),
            n_threads=None if threads is None else _whole(threads),
            type_k=self._kv[role]["k"].value,
            type_v=self._kv[role]["v"].value,
        )

    def apply_config(self, config: RunConfig) -> None:
        """Show another configuration without announcing it; cards are told apart by `show_card`."""
        self._base = config
        self._mode = config.mode
        self._drafting.set_resting(config.mode is RunMode.BASELINE)
        load, sampling = config.load, config.sampling
        for role, spec in ((Role.TARGET, load.target), (Role.DRAFT, load.draft)):
            self._apply_model(role, spec)
        self._tell_slots()
        self._drafting.apply(config.speculation, load.n_batch)
        for field, value in (
            (self._temperature, sampling.temperature),
            (self._top_k, sampling.top_k),
            (self._top_p, sampling.top_p),
            (self._min_p, sampling.min_p),
            (self._seed, sampling.seed),
            (self._max_tokens, max(config.max_tokens, -1)),
            (self._context, load.n_ctx),
        ):
            field.set_value(value)
        system = next((each.text for each in config.messages if each.role == "system"), "")
        self._system.set_text(system)
        self._stop.set_text(stop_lines(config.stop))
        self._reasoning.set_value(config.reasoning.value)
        self._flash.set_value(load.flash_attention.value)
        self._raw.set_value(config.raw)
        self._repack.set_value(load.repack)
        for row in self.rows.values():
            row.set_note(Note.REFUSED, "")
        self._check()

    def apply_example(self, example: Example) -> None:
        """Show the drafting settings that suit an example, without announcing it.

        The sources it brings are those of the user again with the next example that brings none.
        """
        self._drafting.apply_example(example)
        self._check()

    def _apply_model(self, role: Role, spec: ModelSpec | None) -> None:
        self._paths[role] = spec.path if spec is not None else ""
        if spec is None:
            spec = ModelSpec(path="")
        self._layers[role].set_value(max(spec.n_gpu_layers, -1))
        self._threads[role].set_value(spec.n_threads)
        self._kv[role]["k"].set_value(spec.type_k)
        self._kv[role]["v"].set_value(spec.type_v)

    # ---- checking -------------------------------------------------------------------------------
    def problem(self) -> str | None:
        """The first reason why a run with these settings cannot work, or None."""
        config = self.config()
        asked = Message(role="user", text="?")
        found = problems(replace(config, messages=(*config.messages, asked)))
        return found[0] if found else None

    def _check(self) -> None:
        """Mark rows whose values do not go together, and give advice."""
        self._drafting.check()
        self._check_caches()
        self.rows["system-prompt"].set_hint(
            catalogue.RAW_WITHOUT_SYSTEM if self._raw.value and self._system.text.strip() else ""
        )
        self._show_reuse()
        self.validity_changed.emit()

    def _check_caches(self) -> None:
        off = self._flash.value == Switch.OFF.value
        needing = []
        for role in Role:
            types = {part: field.value for part, field in self._kv[role].items()}
            needs = off and types["v"] not in ("f32", "f16", "bf16")
            needing.append(needs and (role is Role.TARGET or bool(self._paths[role])))
            self.rows[f"kv-{role.value}"].set_problem(catalogue.FLASH_FOR_V if needing[-1] else "")
        self.rows["flash-attention"].set_problem(catalogue.FLASH_FOR_V if any(needing) else "")
        low = any(field.value in catalogue.BELOW_Q8_0 for field in self._kv[Role.DRAFT].values())
        self.rows["kv-draft"].set_hint(catalogue.LOW_DRAFT_CACHE if low else "")

    def _on_changed(self) -> None:
        self._check()
        self.settings_changed.emit()

    # ---- small things ---------------------------------------------------------------------------
    def _show_rows(self) -> None:
        has_switch = self.cards[Role.TARGET].state.has_reasoning_switch
        for fold, keys in self._folded.items():
            for key in keys:
                shown = self.folds[fold].unfolded and (key != "reasoning" or has_switch)
                self.rows[key].setVisible(shown)

    def _show_reuse(self) -> None:
        self._reuse.setVisible(self._last_seed is not None and self._seed.value != self._last_seed)

    def _reuse_seed(self) -> None:
        self._seed.set_value(self._last_seed)
        self._seed.setFocus(Qt.FocusReason.OtherFocusReason)
        self._on_changed()

    def _toggle_memory(self) -> None:
        known = self._memory.text() != figures.DASH
        self._memory_parts.setVisible(known and self._memory_parts.isHidden())

    def focus_first(self) -> None:
        """Go to the first row that stops a run, unfolding it, or else to the first of all."""
        wrong = next((row for row in self.rows.values() if row.has_problem), None)
        for fold, keys in self._folded.items():
            if wrong is not None and wrong.key in keys:
                self.folds[fold].set_unfolded(True)
        field = wrong.fields[0] if wrong else self._drafting.first_field()
        self.ensureWidgetVisible(field)
        field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def sizeHint(self) -> QSize:
        return QSize(LEFT_PANEL_WIDTH - 1, 600)

    def state(self) -> dict[str, Any]:
        """What is remembered of the panel itself: open folds, and what the user picked."""
        folds = {key: fold.unfolded for key, fold in self.folds.items()}
        return {**folds, "drafting": self._drafting.state()}

    def restore_state(self, state: object) -> None:
        """Take up a remembered state; anything odd in it is ignored."""
        if isinstance(state, dict):
            for key, fold in self.folds.items():
                fold.set_unfolded(state.get(key) is True)
            self._drafting.restore_state(state.get("drafting"))
            self._check()


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def stop_lines(texts: Iterable[str]) -> str:
    """Stop texts as the editor shows them: one a line, with \\n for a line break in a text."""
    return "\n".join("".join(_ESCAPES.get(sign, sign) for sign in text) for text in texts)


def stop_texts(lines: str) -> tuple[str, ...]:
    """Stop texts from the editor's lines; empty lines are none."""
    meanings = {shown[1]: sign for sign, shown in _ESCAPES.items()}
    return tuple(
        re.sub(r"\\([\\ntr])", lambda found: meanings[found[1]], line)
        for line in lines.split("\n")
        if line
    )


def _whole(value: Value) -> int:
    assert value is not None
    return int(value)


def _real(value: Value) -> float:
    assert value is not None
    return float(value)
