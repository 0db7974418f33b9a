"""The options of `specviz sweep`: those of `run`, with lists where a setting can be varied."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from specviz.cli.arguments import ArgumentParser, whole_number
from specviz.cli.drafting_options import (
    MODEL_OPTIONS,
    NGRAM_OPTIONS,
    NO_DRAFTING,
    Kinds,
    add_drafting,
    drafting_methods,
)
from specviz.cli.options import add_answer, add_models, add_runtime, add_sampling
from specviz.errors import ExitCode, SettingError
from specviz.sweep.axes import DRAFT_TYPE_K, DRAFT_TYPE_V, METHOD, PRESET, SETTINGS, Axis, Sources
from specviz.sweep.lists import numbers, whole_numbers
from specviz.trace.config import DraftSource
from specviz.trace.presets import NGRAM_PRESETS
from specviz.trace.sources import MODEL_SOURCES

BUILTIN = "builtin"

PREDICT = 256
"""Tokens of an answer by default: enough for a steady rate, and a sweep has many answers."""

DRAFT_LENGTHS = tuple(range(1, 9))
"""What is tried with a model that drafts, when nothing is said of what to vary."""

T = TypeVar("T")


def _list_of(parse: Callable[[str], T]) -> Callable[[str], T]:
    def read(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error).rstrip(".")) from None

    return read


def _words(*choices: str) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        words = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
        for word in words:
            if word not in choices:
                raise argparse.ArgumentTypeError(
                    f"{word or 'an empty word'} is none of {', '.join(choices)}"
                )
        return words

    return read


LISTS = Kinds(
    _list_of(whole_numbers),
    _list_of(numbers),
    _words,
    suffix=",..",
    about_methods="; given several times, each is tried by itself",
)
"""Lists of values, all of which are tried."""


def sweep_parser() -> ArgumentParser:
    """The parser of `specviz sweep`."""
    parser = ArgumentParser(
        prog="specviz sweep",
        usage="specviz sweep [-m TARGET [-md DRAFT]] [--prompts builtin|FILE] [options]",
        description=(
            "Tries drafting settings over several prompts, with the models kept loaded, and says\n"
            "which are faster than the target alone, and on how many prompts. Settings with N,..\n"
            "take lists such as 1,2,4 or 1:8; all combinations are tried. Without any, draft\n"
            f"lengths from {DRAFT_LENGTHS[0]} to {DRAFT_LENGTHS[-1]} are tried, or for n-grams "
            "the presets."
        ),
        epilog=(
            "exit codes: 0 done, 2 wrong usage or setting, 3 the pair does not fit, 4 a file cannot"
            f"\nbe read, 5 the engine died, {int(ExitCode.RUN_FAILED)} done but a run failed (the "
            "table says why),\n130 interrupted (what was measured is reported)"
        ),
    )
    add_models(parser)
    _add_prompts(parser)
    add_drafting(parser, LISTS)
    add_sampling(parser)
    add_runtime(parser, LISTS)
    _add_output(parser)
    return parser


def _add_prompts(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("prompts")
    source = group.add_mutually_exclusive_group()
    source.add_argument(
        "--prompts",
        default=BUILTIN,
        metavar="builtin|FILE",
        help="six built-in prompts (the default), or a file with a prompt a line, as text or as "
        'JSON lines {"name": .., "prompt": ..}',
    )
    source.add_argument("-p", "--prompt", metavar="TEXT", help="one prompt instead")
    source.add_argument("-f", "--file", type=Path, metavar="FILE", help="a file with one prompt")
    add_answer(group, PREDICT)


def _add_output(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("measuring and output")
    group.add_argument(
        "--repeat", type=whole_number, default=1, metavar="N", help="run all N times, quote medians"
    )
    group.add_argument("--csv", type=Path, metavar="DIR", help="write sweep.csv into DIR")
    group.add_argument("--json", action="store_true", help="only the result, as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="only the tables; no progress")


def alternatives(values: argparse.Namespace, has_draft: bool) -> tuple[Sources, ...]:
    """The combinations of drafting methods to try. Raises SettingError.

    Each `--spec-type` is one, `--spec-default` another; the baseline needs not be named.
    """
    one_by_one = [(text, False) for text in values.spec_type or ()]
    one_by_one += [(None, True)] if values.spec_default else []
    found: dict[Sources, None] = {}
    for text, is_default in one_by_one or [(None, False)]:
        single = argparse.Namespace(
            **{
                **vars(values),
                "spec_type": None if text is None else [text],
                "spec_default": is_default,
            }
        )
        found[drafting_methods(single, has_draft)] = None
    found.pop((), None)
    if not found:
        raise SettingError(
            f"{NO_DRAFTING} leaves nothing to try.", "The baseline is always measured along."
        )
    return tuple(found)


def take_axes(values: argparse.Namespace, methods: Sequence[Sources]) -> list[Axis]:
    """What is varied, by these options; takes the lists out of `values`.

    What remains in `values` is as `specviz run` would have it: one value for each option.
    """
    used = {source for sources in methods for source in sources}
    found: dict[str, tuple[Any, ...]] = {}
    if values.spec_preset is not None:
        found[PRESET] = values.spec_preset
        values.spec_preset = None
    for option in (*MODEL_OPTIONS, *NGRAM_OPTIONS):
        given = getattr(values, option.dest)
        if given is None:
            continue
        if option.setting in SETTINGS:
            found[option.setting] = given
        setattr(values, option.dest, None if option.setting in SETTINGS else given[0])
    for setting, dest in ((DRAFT_TYPE_K, "draft_type_k"), (DRAFT_TYPE_V, "draft_type_v")):
        types = getattr(values, dest)
        setattr(values, dest, types[0])
        if len(types) > 1:
            found[setting] = types
    axes = [Axis(METHOD, tuple(methods))]
    axes += [Axis(name, found[name]) for name in SETTINGS if name in found]
    if all(len(axis.values) == 1 or not axis.applies_to(used) for axis in axes):
        axes += _usual(used, found, values.spec_default)
    return axes


def _usual(used: set[DraftSource], given: dict[str, Any], spec_default: bool) -> list[Axis]:
    """What is varied when nothing is said of it: draft lengths, and the presets for n-grams."""
    lengths, presets = Axis("n_max", DRAFT_LENGTHS), Axis(PRESET, _preset_keys())
    axes = [lengths] if used & MODEL_SOURCES and "n_max" not in given else []
    has_sizes = spec_default or any(name == PRESET or name.startswith("ngram_") for name in given)
    if not axes and presets.applies_to(used) and not has_sizes:
        axes = [presets]
    return axes


def _preset_keys() -> tuple[str, ...]:
    return tuple(preset.key for preset in NGRAM_PRESETS)
