"""Which methods draft, with which settings, by today's names and by those of before."""

from __future__ import annotations

import argparse
from itertools import permutations

import pytest

from specviz.cli import drafting_options
from specviz.cli.drafting_options import (
    HEADS,
    METHODS,
    NGRAM_OPTIONS,
    drafting_methods,
    speculation_config,
    take_old_names,
    unused_options,
)
from specviz.cli.options import run_parser
from specviz.errors import SettingError
from specviz.trace.config import DraftSource, NgramModConfig, SpeculationConfig
from specviz.trace.presets import CODE_REFACTORING, LLAMA_CPP, NGRAM_PRESETS, NgramPreset


def parsed(arguments: str = "") -> argparse.Namespace:
    return run_parser().parse_args(arguments.split())


def methods(arguments: str, has_draft: bool = True) -> list[str]:
    return [source.value for source in drafting_methods(parsed(arguments), has_draft)]


def settings(arguments: str, has_draft: bool = False) -> SpeculationConfig:
    values = parsed(arguments)
    sources = drafting_methods(values, has_draft)
    take_old_names(values, sources)
    return speculation_config(values, sources)


# Methods -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "has_draft", "expected"),
    [
        ("", True, ["draft-simple"]), ("", False, ["ngram-mod"]),
        ("--spec-type none", True, []), ("--spec-type none", False, []),
        ("--spec-type none,draft-simple", True, ["draft-simple"]),
        ("--spec-type draft-simple,draft-simple", True, ["draft-simple"]),
        ("--spec-type draft-mtp", False, ["draft-mtp"]),
        ("--spec-type ngram-mod", True, ["ngram-mod"]),
        ("--spec-type ngram-cache --spec-type ngram-mod", False, ["ngram-mod", "ngram-cache"]),
        ("--spec-default", True, ["ngram-mod"]), ("--spec-default", False, ["ngram-mod"]),
        ("--spec-default --spec-type draft-simple", True, ["ngram-mod", "draft-simple"]),
        ("--spec-default --spec-type none", True, ["ngram-mod"]),
    ],
)  # fmt: skip
def test_drafting_methods(arguments: str, has_draft: bool, expected: list[str]) -> None:
    assert methods(arguments, has_draft) == expected


def test_the_order_of_the_list_does_not_matter() -> None:
    names = ["ngram-simple", "ngram-map-k4v", "draft-simple"]
    for order in permutations(names):
        assert methods(f"--spec-type {','.join(order)}") == names


def test_every_method_can_be_named_and_is_explained() -> None:
    names = [source.value for source in DraftSource]
    assert methods(f"--spec-type {','.join(names)}") == names
    assert set(METHODS) == {"none", *names}
    shown = run_parser().format_help()
    assert all(f"  {name} " in shown for name in METHODS)


def test_blanks_around_names_are_no_part_of_them() -> None:
    values = run_parser().parse_args(["--spec-type", " ngram-mod , ngram-simple"])
    assert [source.value for source in drafting_methods(values, False)] == [
        "ngram-simple", "ngram-mod",
    ]  # fmt: skip


def test_draft_simple_needs_a_draft() -> None:
    with pytest.raises(SettingError, match="needs a draft model") as caught:
        methods("--spec-type ngram-mod,draft-simple", has_draft=False)
    assert "ngram-mod" in caught.value.hint


@pytest.mark.parametrize("name", HEADS)
def test_what_llama_cpp_can_and_this_program_cannot_is_explained(name: str) -> None:
    with pytest.raises(SettingError, match=f"{name} drafts with an? .*head") as caught:
        methods(f"--spec-type {name}")
    assert "ngram-mod" in caught.value.hint


@pytest.mark.parametrize("text", ["magic", "ngram", "draft", "NGRAM-MOD", "ngram-mod,,"])
def test_unknown_names_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="There is no drafting method"):
        methods(f"--spec-type {text}")


# Settings ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("option", NGRAM_OPTIONS, ids=lambda option: option.name)
def test_every_ngram_option_arrives_and_changes_nothing_else(
    option: drafting_options.Option,
) -> None:
    plain, changed = settings(""), settings(f"{option.name} 77")
    part, field = option.setting.split(".")
    assert getattr(getattr(changed, part), field) == 77
    assert changed != plain
    reset = settings(f"{option.name} {option.default}")
    assert reset == plain


def test_the_settings_of_every_ngram_source_can_be_given() -> None:
    given = {option.setting for option in NGRAM_OPTIONS}
    defaults = SpeculationConfig()
    assert given == {
        f"{part}.{field}"
        for part in ("ngram_simple", "ngram_map_k", "ngram_map_k4v", "ngram_mod")
        for field in type(getattr(defaults, part)).__dataclass_fields__
    }


def test_without_options_the_settings_are_the_defaults() -> None:
    assert settings("") == SpeculationConfig(sources=(DraftSource.NGRAM_MOD,))


@pytest.mark.parametrize("preset", NGRAM_PRESETS, ids=lambda preset: preset.key)
def test_a_preset_sets_all_sizes(preset: NgramPreset) -> None:
    found = settings(f"--spec-preset {preset.key}")
    assert preset.is_in(found)


@pytest.mark.parametrize(
    "arguments",
    [
        "--spec-preset code-refactoring --spec-ngram-mod-n-max 32",
        "--spec-ngram-mod-n-max 32 --spec-preset code-refactoring",
    ],
)
def test_a_single_option_overrides_the_preset_wherever_it_stands(arguments: str) -> None:
    found = settings(arguments)
    assert found.ngram_mod == NgramModConfig(n_match=16, n_min=4, n_max=32)
    assert found.ngram_simple == CODE_REFACTORING.sizes


def test_spec_default_is_llama_cpps() -> None:
    found = settings("--spec-default --spec-ngram-mod-n-min 8")
    assert found.sources == (DraftSource.NGRAM_MOD,)
    assert found.ngram_mod == NgramModConfig(n_match=24, n_min=8, n_max=64)
    assert settings("--spec-default").ngram_mod == LLAMA_CPP.mod
    with pytest.raises(SettingError, match="not allowed with"):
        parsed("--spec-default --spec-preset short-texts")


def test_cache_files_arrive() -> None:
    found = settings("--spec-type ngram-cache -lcs a.bin --lookup-cache-dynamic b.bin")
    assert (found.ngram_cache.static_path, found.ngram_cache.dynamic_path) == ("a.bin", "b.bin")


# Old names ---------------------------------------------------------------------------------------
def notes_of(arguments: str, has_draft: bool) -> list[str]:
    values = parsed(arguments)
    take_old_names(values, drafting_methods(values, has_draft))
    notes: list[str] = values.notes
    return notes


def test_old_names_mean_the_draft_model_where_one_drafts() -> None:
    found = settings("--draft-max 9 --draft-min 2", has_draft=True)
    assert (found.n_max, found.n_min) == (9, 2)
    assert found.ngram_mod == NgramModConfig()
    assert notes_of("--draft-max 9 --draft-n-min 2", has_draft=True) == [
        "--draft-max is now called --spec-draft-n-max.",
        "--draft-n-min is now called --spec-draft-n-min.",
    ]


def test_old_names_mean_ngram_mod_where_that_drafts() -> None:
    arguments = "--spec-type ngram-mod --spec-ngram-size-n 24 --draft-min 48 --draft-max 64"
    assert settings(arguments).ngram_mod == NgramModConfig(n_match=24, n_min=48, n_max=64)
    assert settings(arguments).n_max == SpeculationConfig().n_max
    assert notes_of(arguments, has_draft=False) == [
        "--spec-ngram-size-n is now called --spec-ngram-mod-n-match.",
        "--draft-min is now called --spec-ngram-mod-n-min.",
        "--draft-max is now called --spec-ngram-mod-n-max.",
    ]


def test_old_names_of_sizes_mean_every_ngram_method_in_use() -> None:
    found = settings(
        "--spec-type ngram-simple,ngram-map-k4v --spec-ngram-size-n 8 --spec-ngram-size-m 20 "
        "--spec-ngram-min-hits 2"
    )
    for sizes in (found.ngram_simple, found.ngram_map_k4v):
        assert (sizes.size_n, sizes.size_m, sizes.min_hits) == (8, 20, 2)
    assert found.ngram_map_k == SpeculationConfig().ngram_map_k
    assert notes_of("--spec-type ngram-simple,ngram-map-k --spec-ngram-size-m 9", False) == [
        "--spec-ngram-size-m is now called --spec-ngram-simple-size-m and "
        "--spec-ngram-map-k-size-m."
    ]


def test_todays_name_goes_first() -> None:
    found = settings("--spec-draft-n-max 6 --draft-max 4", has_draft=True)
    assert found.n_max == 6


@pytest.mark.parametrize("old", ["--draft-max", "--draft-min", "--draft", "--draft-n"])
def test_an_old_name_for_both_kinds_of_source_is_refused(old: str) -> None:
    with pytest.raises(SettingError, match="could mean the draft model or ngram-mod") as caught:
        settings(f"--spec-type ngram-mod,draft-simple {old} 8", has_draft=True)
    assert "--spec-ngram-mod-n-" in caught.value.hint


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--spec-type ngram-simple --draft-max 8", "means nothing to ngram-simple"),
        ("--spec-type ngram-mod --spec-ngram-size-m 8", "means nothing to ngram-mod"),
        ("--spec-type draft-simple --spec-ngram-size-n 8", "means nothing to draft-simple"),
        ("--spec-type ngram-cache --draft-max 8", "means nothing to ngram-cache"),
    ],
)
def test_an_old_name_that_no_method_in_use_has_is_refused(arguments: str, words: str) -> None:
    with pytest.raises(SettingError, match=words) as caught:
        settings(arguments, has_draft=True)
    assert caught.value.hint.endswith(".")


# Options without effect --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "notes"),
    [
        ("", []), ("--spec-draft-n-max 4", []),
        ("--spec-type ngram-mod --spec-draft-n-max 4",
         ["--spec-draft-n-max has no effect: neither draft-simple nor draft-mtp is among the "
          "drafting methods."]),
        ("--spec-ngram-mod-n-max 4",
         ["--spec-ngram-mod-n-max has no effect: ngram-mod is not among the drafting methods."]),
        ("-lcs x", ["-lcs has no effect: ngram-cache is not among the drafting methods."]),
        ("--spec-preset llama-cpp",
         ["--spec-preset has no effect: no n-gram method is among the drafting methods."]),
        ("-md d.gguf --spec-type ngram-mod",
         ["The draft model is not loaded: ngram-mod drafts without one."]),
    ],
)  # fmt: skip
def test_an_option_that_nothing_looks_at_is_named(arguments: str, notes: list[str]) -> None:
    values = parsed(arguments)
    assert list(unused_options(values, drafting_methods(values, True))) == notes
