"""The drafting options of `run` and `sweep`, by llama.cpp's names, and the settings they come to.

Names that llama.cpp has given up are accepted where the chosen drafting methods make clear what is
meant; each leaves a note naming today's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specviz.cli.arguments import ArgumentParser, number, one_of, whole_number
from specviz.errors import SettingError
from specviz.trace.config import DraftSource, NgramCacheConfig, SpeculationConfig
from specviz.trace.presets import LLAMA_CPP, NGRAM_PRESETS
from specviz.trace.sources import MODEL_SOURCES, NGRAM_SOURCES

NO_DRAFTING = "none"


@dataclass(frozen=True, slots=True)
class Kinds:
    """How the values of options are read that can be varied.

    `word` makes a reader of some words; `suffix` marks a metavar; `about_methods` says what it
    means to give methods several times.
    """

    whole_number: Callable[[str], Any]
    number: Callable[[str], Any]
    word: Callable[..., Callable[[str], Any]]
    suffix: str = ""
    about_methods: str = ""

    def metavar(self, name: str) -> str:
        """What stands for the value in the help."""
        return name + self.suffix


ONE_VALUE = Kinds(whole_number, number, one_of)
"""One value for each option, as `specviz run` takes them."""

HEADS = {
    "draft-eagle3": "an EAGLE-3 head, a small network that reads the target's inner layers",
    "draft-dflash": "a DFlash head, which reads the target's inner layers and proposes a whole "
    "block at once",
    "draft-dspark": "a DSpark head, a DFlash head that also weighs which token follows which",
}
"""Drafting methods that llama.cpp has and this program has not, and what they draft with."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of some draft sources, and the setting it gives: `part.field` or `field`."""

    name: str
    sources: frozenset[DraftSource]
    setting: str
    help: str

    @property
    def dest(self) -> str:
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def default(self) -> Any:
        """The value in the configuration's defaults."""
        return _get(SpeculationConfig(), self.setting)


def _sized(source: DraftSource, does: str, min_hits: str) -> tuple[Option, ...]:
    part = source.value.replace("-", "_")
    return tuple(
        Option(f"--spec-{source.value}-{name}", frozenset({source}), f"{part}.{field}", text)
        for name, field, text in (
            ("size-n", "size_n", does),
            ("size-m", "size_m", "tokens copied at most"),
            ("min-hits", "min_hits", min_hits),
        )
    )


_MOD = frozenset({DraftSource.NGRAM_MOD})
_UNUSED_HITS = "taken for llama.cpp's sake; this method does not look at it"
MODEL_OPTIONS = (
    Option("--spec-draft-n-max", MODEL_SOURCES, "n_max", "draft tokens per step at most"),
    Option(
        "--spec-draft-n-min", MODEL_SOURCES, "n_min", "shorter drafts are thrown away unchecked"
    ),
    Option("--spec-draft-p-min", MODEL_SOURCES, "p_min", "drafting stops at a less probable token"),
)
NGRAM_OPTIONS = (
    *_sized(
        DraftSource.NGRAM_SIMPLE,
        "tokens that must match, and the fewest worth copying",
        _UNUSED_HITS,
    ),
    *_sized(DraftSource.NGRAM_MAP_K, "tokens that must match", _UNUSED_HITS),
    *_sized(
        DraftSource.NGRAM_MAP_K4V,
        "tokens that must match",
        "how often the match must have been met",
    ),
    Option("--spec-ngram-mod-n-match", _MOD, "ngram_mod.n_match", "tokens that must match"),
    Option("--spec-ngram-mod-n-min", _MOD, "ngram_mod.n_min", "shorter drafts are thrown away"),
    Option("--spec-ngram-mod-n-max", _MOD, "ngram_mod.n_max", "draft tokens per step at most"),
)
CACHE_FILES = (
    (("-lcs", "--lookup-cache-static"), "n-gram counts that stay as they are"),
    (("-lcd", "--lookup-cache-dynamic"), "n-gram counts of earlier runs"),
)
OLD_NAMES = {
    "--draft": ("--spec-draft-n-max", "--spec-ngram-mod-n-max"),
    "--draft-n": ("--spec-draft-n-max", "--spec-ngram-mod-n-max"),
    "--draft-max": ("--spec-draft-n-max", "--spec-ngram-mod-n-max"),
    "--draft-min": ("--spec-draft-n-min", "--spec-ngram-mod-n-min"),
    "--draft-n-min": ("--spec-draft-n-min", "--spec-ngram-mod-n-min"),
    "--spec-ngram-size-n": (
        "--spec-ngram-simple-size-n",
        "--spec-ngram-map-k-size-n",
        "--spec-ngram-map-k4v-size-n",
        "--spec-ngram-mod-n-match",
    ),
    "--spec-ngram-size-m": (
        "--spec-ngram-simple-size-m",
        "--spec-ngram-map-k-size-m",
        "--spec-ngram-map-k4v-size-m",
    ),
    "--spec-ngram-min-hits": (
        "--spec-ngram-simple-min-hits",
        "--spec-ngram-map-k-min-hits",
        "--spec-ngram-map-k4v-min-hits",
    ),
}
"""Names that llama.cpp has given up, and those of today that they may mean."""


class _OldName(argparse.Action):
    """Remembers that an old name was used, and with what; the methods decide what it means."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        namespace.old_names = {**namespace.old_names, option_string or "": values}


METHODS = {
    DraftSource.DRAFT_SIMPLE.value: "a small draft model with the same vocabulary (-md)",
    DraftSource.DRAFT_MTP.value: "the target's own next-token (MTP) blocks, where it has them",
    DraftSource.NGRAM_SIMPLE.value: "copies what followed the newest match of the last tokens",
    DraftSource.NGRAM_MAP_K.value: "the same from an index, never more than was accepted before",
    DraftSource.NGRAM_MAP_K4V.value: "copies only where one sequel is clearly the most frequent",
    DraftSource.NGRAM_MOD.value: "goes on token by token from what last followed the same tokens",
    DraftSource.NGRAM_CACHE.value: "counts what followed the last one to four tokens",
    NO_DRAFTING: "the baseline alone",
}
"""What `--spec-type` takes, and what each does."""


# Parsing -----------------------------------------------------------------------------------------
def add_drafting(parser: ArgumentParser, kinds: Kinds = ONE_VALUE) -> None:
    """Add the options that say how draft tokens come about.

    `kinds`: how values are read; a sweep takes lists of them.
    """
    parser.set_defaults(notes=[], old_names={})
    group = parser.add_argument_group("drafting", _described(METHODS))
    group.add_argument(
        "--spec-type",
        action="append",
        metavar="LIST",
        help="drafting methods, separated by commas, in any order: several are asked in turn until "
        f"one drafts{kinds.about_methods} (default: draft-simple with a draft model, else "
        "ngram-mod)",
    )
    sizes = group.add_mutually_exclusive_group()
    sizes.add_argument(
        "--spec-preset",
        type=kinds.word(*(preset.key for preset in NGRAM_PRESETS)),
        metavar=kinds.metavar("NAME"),
        help=f"sizes for all n-gram methods, {_listed(preset.key for preset in NGRAM_PRESETS)}; "
        f"single options override it (default: {NGRAM_PRESETS[0].key})",
    )
    mod = LLAMA_CPP.mod
    sizes.add_argument(
        "--spec-default",
        action="store_true",
        help=f"llama.cpp's default: ngram-mod with n-match {mod.n_match}, n-min {mod.n_min}, n-max "
        f"{mod.n_max}",
    )
    group = parser.add_argument_group("drafting with a model (draft-simple, draft-mtp)")
    for option in MODEL_OPTIONS:
        _add(group, option, kinds)
    group = parser.add_argument_group("drafting from n-grams of the text so far (ngram-...)")
    for option in NGRAM_OPTIONS:
        _add(group, option, kinds)
    for names, text in CACHE_FILES:
        group.add_argument(*names, type=Path, metavar="FILE", help=f"ngram-cache: file with {text}")
    for name in OLD_NAMES:
        group.add_argument(
            name,
            action=_OldName,
            type=kinds.whole_number,
            default=argparse.SUPPRESS,
            help=argparse.SUPPRESS,
        )


def _described(methods: Mapping[str, str]) -> str:
    width = max(map(len, methods)) + 2
    return "\n".join(f"{name.ljust(width)}{does}" for name, does in methods.items())


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}"


def _add(group: argparse._ArgumentGroup, option: Option, kinds: Kinds) -> None:
    is_share = isinstance(option.default, float)
    aliases = ("--draft-p-min",) if is_share else ()
    group.add_argument(
        option.name,
        *aliases,
        dest=option.dest,
        type=kinds.number if is_share else kinds.whole_number,
        metavar=kinds.metavar("P" if is_share else "N"),
        help=f"{option.help} (default {option.default:g})",
    )


# Methods -----------------------------------------------------------------------------------------
def drafting_methods(values: argparse.Namespace, has_draft: bool) -> tuple[DraftSource, ...]:
    """The methods asked for, in order of precedence; empty for a baseline alone.

    Raises SettingError for unknown names and for those that this program cannot do.
    """
    names = [name.strip() for text in values.spec_type or () for name in text.split(",")]
    if values.spec_default:
        names.append(DraftSource.NGRAM_MOD.value)
    if not names:
        return (DraftSource.DRAFT_SIMPLE if has_draft else DraftSource.NGRAM_MOD,)
    for name in names:
        _check_method(name)
    if DraftSource.DRAFT_SIMPLE.value in names and not has_draft:
        raise SettingError(
            "draft-simple needs a draft model.",
            "Give one with -md, or choose ngram-mod, which needs none.",
        )
    return tuple(source for source in DraftSource if source.value in names)


def _check_method(name: str) -> None:
    if name in METHODS:
        return
    hint = f"--spec-type takes {_listed(METHODS)}."
    if name in HEADS:
        raise SettingError(
            f"{name} drafts with {HEADS[name]}; this program cannot hand those on to it.", hint
        )
    raise SettingError(f"There is no drafting method {name or 'without a name'}.", hint)


def take_old_names(values: argparse.Namespace, sources: Collection[DraftSource]) -> None:
    """Give old names the meaning that they have for these methods, and note today's names.

    A value under today's name goes first. Raises SettingError where it is not clear what an old
    name means.
    """
    for old, value in values.old_names.items():
        meant = _meant(old, sources)
        for option in meant:
            if getattr(values, option.dest) is None:
                setattr(values, option.dest, value)
        today = " and ".join(option.name for option in meant)
        values.notes = [*values.notes, f"{old} is now called {today}."]


def _meant(old: str, sources: Collection[DraftSource]) -> list[Option]:
    options = [
        option for option in (*MODEL_OPTIONS, *NGRAM_OPTIONS) if option.name in OLD_NAMES[old]
    ]
    meant = [option for option in options if option.sources & set(sources)]
    if len({bool(option.sources & MODEL_SOURCES) for option in meant}) > 1:
        raise SettingError(
            f"{old} could mean the draft model or ngram-mod here.",
            f"Give {_listed(option.name for option in meant)}, or both.",
        )
    if not meant and not sources:
        return options[:1]  # nothing drafts, so nothing can go wrong
    if not meant:
        raise SettingError(f"{old} means nothing to {_names(sources)}.", _own_options(sources))
    return meant


def _own_options(sources: Collection[DraftSource]) -> str:
    own = [o.name for o in (*MODEL_OPTIONS, *NGRAM_OPTIONS) if o.sources & set(sources)]
    return f"Its settings are {_listed(own)}." if own else "It has no sizes to set."


def _names(sources: Collection[DraftSource]) -> str:
    return " and ".join(source.value for source in sources)


def unused_options(values: argparse.Namespace, sources: Collection[DraftSource]) -> Iterator[str]:
    """A sentence for each option that was given and that no chosen method looks at."""
    for option in (*MODEL_OPTIONS, *NGRAM_OPTIONS):
        if getattr(values, option.dest) is not None and not option.sources & set(sources):
            yield _no_effect(option.name, option.sources)
    for names, _ in CACHE_FILES:
        given = getattr(values, names[1].removeprefix("--").replace("-", "_")) is not None
        if given and DraftSource.NGRAM_CACHE not in sources:
            yield _no_effect(names[0], {DraftSource.NGRAM_CACHE})
    if values.spec_preset is not None and not NGRAM_SOURCES & set(sources):
        yield "--spec-preset has no effect: no n-gram method is among the drafting methods."
    if values.draft is not None and sources and DraftSource.DRAFT_SIMPLE not in sources:
        draft = "drafts" if len(sources) == 1 else "draft"
        yield f"The draft model is not loaded: {_names(sources)} {draft} without one."


def _no_effect(name: str, wanted: Collection[DraftSource]) -> str:
    methods = [source.value for source in DraftSource if source in wanted]
    is_no = "is not" if len(methods) == 1 else "is"
    which = methods[0] if len(methods) == 1 else f"neither {' nor '.join(methods)}"
    return f"{name} has no effect: {which} {is_no} among the drafting methods."


# Settings ----------------------------------------------------------------------------------------
def speculation_config(
    values: argparse.Namespace, sources: Sequence[DraftSource]
) -> SpeculationConfig:
    """The drafting settings: a preset, then what single options say, wherever they stand."""
    config = SpeculationConfig(sources=tuple(sources))
    if values.spec_default:
        config = replace(config, ngram_mod=LLAMA_CPP.mod)
    for preset in NGRAM_PRESETS:
        if preset.key == values.spec_preset:
            config = preset.applied_to(config)
    for option in (*MODEL_OPTIONS, *NGRAM_OPTIONS):
        value = getattr(values, option.dest)
        if value is not None:
            config = _with(config, option.setting, value)
    return replace(config, ngram_cache=cache_files(values))


def cache_files(values: argparse.Namespace) -> NgramCacheConfig:
    """The files that ngram-cache is to use."""
    return NgramCacheConfig(
        static_path=_text(values.lookup_cache_static),
        dynamic_path=_text(values.lookup_cache_dynamic),
    )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _get(config: Any, setting: str) -> Any:
    for name in setting.split("."):
        config = getattr(config, name)
    return config


def _with(config: SpeculationConfig, setting: str, value: Any) -> SpeculationConfig:
    part, _, field = setting.rpartition(".")
    if not part:
        return replace(config, **{field: value})
    return replace(config, **{part: replace(getattr(config, part), **{field: value})})
