"""What a sweep can vary: which settings there are, who looks at them, how they are put into words.

A setting is named by its place: `n_max`, `ngram_mod.n_match`, `draft.type_k`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specviz.trace.config import DraftSource, RunConfig, SpeculationConfig
from specviz.trace.presets import NGRAM_PRESETS
from specviz.trace.sources import MODEL_SOURCES
from specviz.trace.validation import NGRAM_SIZES

Sources = tuple[DraftSource, ...]
Value = int | float | str | Sources
"""A number, the key of a preset or a KV cache type, or draft sources that are used together."""

METHOD = "sources"
PRESET = "preset"
DRAFT_TYPE_K = "draft.type_k"
DRAFT_TYPE_V = "draft.type_v"

SOURCE_NAMES: Mapping[DraftSource, str] = {
    **{source: source.value for source in DraftSource},
    DraftSource.DRAFT_SIMPLE: "draft model",
    DraftSource.DRAFT_MTP: "MTP blocks",
}
"""What a setting's name calls the draft sources."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that can be varied. `read_by`: the sources that look at it; None: it is the choice
    of sources itself.

    `words` puts a value into words, such as `{} draft tokens`; `one` where the value is 1.
    """

    name: str
    read_by: frozenset[DraftSource] | None
    words: str
    one: str = ""

    def shown(self, value: Value) -> str:
        """A value in words, as part of a point's name."""
        if isinstance(value, tuple):
            return " + ".join(SOURCE_NAMES[source] for source in value)
        if self.name == PRESET:
            return next((p.name for p in NGRAM_PRESETS if p.key == value), str(value))
        text = f"{value:g}" if isinstance(value, float) else str(value)
        return (self.one if self.one and value == 1 else self.words).format(text)


def _ngram_settings() -> list[Setting]:
    settings = []
    for source, part in NGRAM_SIZES.items():
        settings += [
            Setting(f"{part}.size_n", frozenset({source}), "match {}"),
            Setting(f"{part}.size_m", frozenset({source}), "copy up to {}"),
        ]
    k4v, mod = frozenset({DraftSource.NGRAM_MAP_K4V}), frozenset({DraftSource.NGRAM_MOD})
    return [
        *settings,
        # the other two sources have this number and do not look at it
        Setting("ngram_map_k4v.min_hits", k4v, "at least {} hits", "at least {} hit"),
        Setting("ngram_mod.n_match", mod, "match {}"),
        Setting("ngram_mod.n_min", mod, "shortest draft {}"),
        Setting("ngram_mod.n_max", mod, "longest draft {}"),
    ]


_SIZED = frozenset({*NGRAM_SIZES, DraftSource.NGRAM_MOD})
_DRAFT_MODEL = frozenset({DraftSource.DRAFT_SIMPLE})

SETTINGS: Mapping[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(METHOD, None, "{}"),
        Setting(PRESET, _SIZED, "{}"),
        Setting(DRAFT_TYPE_K, _DRAFT_MODEL, "draft K cache {}"),
        Setting(DRAFT_TYPE_V, _DRAFT_MODEL, "draft V cache {}"),
        Setting("n_max", MODEL_SOURCES, "{} draft tokens", "{} draft token"),
        Setting("n_min", MODEL_SOURCES, "shortest draft {}"),
        Setting("p_min", MODEL_SOURCES, "stop below p {}"),
        *_ngram_settings(),
    )
}
"""All settings that can be varied, by name, in the order in which they are applied and named."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One setting and the values it takes in turn; `setting` is a key of `SETTINGS`."""

    setting: str
    values: tuple[Value, ...]

    def applies_to(self, sources: Iterable[DraftSource]) -> bool:
        """Whether any of these sources looks at the setting."""
        read_by = SETTINGS[self.setting].read_by
        return read_by is None or not read_by.isdisjoint(sources)


def applied(config: RunConfig, setting: str, value: Value) -> RunConfig:
    """The configuration with one setting changed; without a draft its cache types mean nothing."""
    if setting in (DRAFT_TYPE_K, DRAFT_TYPE_V):
        draft = config.load.draft
        if draft is None:
            return config
        changed: Any = {setting.partition(".")[2]: value}
        return replace(config, load=replace(config.load, draft=replace(draft, **changed)))
    return replace(config, speculation=_speculation(config.speculation, setting, value))


def _speculation(speculation: SpeculationConfig, setting: str, value: Any) -> SpeculationConfig:
    if setting == METHOD:
        return replace(speculation, sources=tuple(s for s in DraftSource if s in value))
    if setting == PRESET:
        preset = next(preset for preset in NGRAM_PRESETS if preset.key == value)
        return preset.applied_to(speculation)
    part, _, field = setting.rpartition(".")
    if not part:
        return replace(speculation, **{field: value})
    changed: Any = {part: replace(getattr(speculation, part), **{field: value})}
    return replace(speculation, **changed)


def label_of(values: Sequence[tuple[str, Value]], named: Iterable[str]) -> str:
    """The name of a point: its values of the settings in `named`, in words.

    Sizes say whose they are where several sources are at work. Where nothing is named, the
    sources are.
    """
    wanted, given = set(named), dict(values)
    sources = given.get(METHOD, ())
    assert isinstance(sources, tuple)
    parts = []
    for setting in SETTINGS.values():
        if setting.name not in wanted or setting.name not in given:
            continue
        words = setting.shown(given[setting.name])
        part, dot, _ = setting.name.partition(".")
        if dot and part != "draft" and len(sources) > 1:
            words = f"{part.replace('_', '-')} {words}"
        parts.append(words)
    return ", ".join(parts) or SETTINGS[METHOD].shown(sources)
