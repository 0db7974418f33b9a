"""What a sweep runs: grids without nonsense, names in words, runs in turns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import plan_of
from support.traces import run_config

from specviz.errors import SettingError
from specviz.sweep.axes import METHOD, PRESET, SETTINGS, Axis, Value, label_of
from specviz.sweep.plan import MOST_POINTS, SweepPlan, SweepPrompt, grid, numeric_setting
from specviz.trace.config import DraftSource, Message, RunConfig, RunMode, Switch
from specviz.trace.presets import CODE_REFACTORING
from specviz.trace.validation import problems

SIMPLE, MOD = (DraftSource.DRAFT_SIMPLE,), (DraftSource.NGRAM_MOD,)
BOTH = (DraftSource.NGRAM_SIMPLE, DraftSource.NGRAM_MOD)


def labels(*axes: Axis, base: RunConfig | None = None) -> list[str]:
    return [point.label for point in grid(base or run_config(), axes).points]


# Grid --------------------------------------------------------------------------------------------
def test_one_axis_is_a_point_for_each_value() -> None:
    points = grid(run_config(), [Axis("n_max", (1, 2, 4))]).points
    assert [point.label for point in points] == [
        "1 draft token", "2 draft tokens", "4 draft tokens",
    ]  # fmt: skip
    assert [point.speculation.n_max for point in points] == [1, 2, 4]
    assert [point.value_of("n_max") for point in points] == [1, 2, 4]
    assert points[0].value_of(METHOD) == SIMPLE


def test_axes_are_multiplied_and_both_are_named() -> None:
    found = labels(Axis("n_max", (2, 4)), Axis("p_min", (0.0, 0.75)))
    assert found == [
        "2 draft tokens, stop below p 0", "2 draft tokens, stop below p 0.75",
        "4 draft tokens, stop below p 0", "4 draft tokens, stop below p 0.75",
    ]  # fmt: skip


def test_what_cannot_work_is_left_out_and_told() -> None:
    found = grid(run_config(), [Axis("n_max", (1, 2, 4)), Axis("n_min", (0, 2, 3))])
    assert len(found.points) == 6
    assert len(found.dropped) == 3
    assert found.notes[0].startswith("1 of 9 settings is left out: The minimum of 2 draft tokens")
    assert all(point.speculation.n_min <= point.speculation.n_max for point in found.points)


def test_reasons_are_counted() -> None:
    (note,) = grid(run_config(), [Axis("n_max", (0,)), Axis("p_min", (0.1, 0.2))]).notes
    assert note.startswith("2 of 2 settings are left out: At most 0 draft tokens")


def test_an_axis_counts_only_for_the_methods_that_look_at_it() -> None:
    found = labels(
        Axis(METHOD, (SIMPLE, MOD)), Axis("n_max", (1, 2)), Axis("ngram_mod.n_match", (4, 6))
    )
    assert found == [
        "draft model, 1 draft token", "draft model, 2 draft tokens",
        "ngram-mod, match 4", "ngram-mod, match 6",
    ]  # fmt: skip


def test_sizes_of_several_sources_say_whose_they_are() -> None:
    assert labels(Axis(METHOD, (BOTH,)), Axis("ngram_mod.n_match", (4, 6))) == [
        "ngram-mod match 4", "ngram-mod match 6",
    ]  # fmt: skip


def test_hits_count_for_the_only_source_that_looks_at_them() -> None:
    assert set(SETTINGS["ngram_map_k4v.min_hits"].read_by) == {DraftSource.NGRAM_MAP_K4V}
    assert "ngram_simple.min_hits" not in SETTINGS


def test_equal_points_are_there_once() -> None:
    assert labels(Axis("n_max", (3, 3, 2, 3))) == ["3 draft tokens", "2 draft tokens"]
    assert len(labels(Axis(METHOD, (SIMPLE, SIMPLE)))) == 1


def test_a_single_point_is_named_after_its_method() -> None:
    assert labels() == ["draft model"]
    assert labels(Axis(METHOD, (BOTH,))) == ["ngram-simple + ngram-mod"]


def test_methods_stand_in_the_order_of_precedence() -> None:
    (point,) = grid(run_config(), [Axis(METHOD, (BOTH[::-1],))]).points
    assert point.speculation.sources == BOTH


def test_a_preset_sets_all_sizes_and_single_sizes_override_it() -> None:
    (point,) = grid(
        run_config(sources=MOD),
        [Axis(PRESET, ("code-refactoring",)), Axis("ngram_mod.n_max", (9,))],
    ).points
    assert point.speculation.ngram_mod == replace(CODE_REFACTORING.mod, n_max=9)
    assert point.speculation.ngram_simple == CODE_REFACTORING.sizes


def test_points_with_the_same_draft_cache_stand_together() -> None:
    axes = [Axis("draft.type_k", ("f16", "q8_0")), Axis("n_max", (1, 2))]
    found = grid(run_config(), [*axes, Axis(METHOD, (SIMPLE, (*MOD, *SIMPLE)))])
    types = [point.draft_type_k for point in found.points]
    assert sorted(types) == types
    config = found.points[-1].applied_to(run_config())
    assert config.load.draft is not None
    assert (config.load.draft.type_k, config.load.draft.type_v) == ("q8_0", "f16")


def test_a_cache_type_that_needs_flash_attention_is_left_out() -> None:
    base = run_config()
    base = replace(base, load=replace(base.load, flash_attention=Switch.OFF))
    found = grid(base, [Axis("draft.type_v", ("f16", "q8_0"))])
    assert [point.draft_type_v for point in found.points] == ["f16"]
    assert "flash attention" in found.dropped[0].reason


def test_too_many_combinations_are_refused_before_they_are_made() -> None:
    with pytest.raises(SettingError, match=f"a sweep takes {MOST_POINTS} at most"):
        grid(run_config(), [Axis("n_max", tuple(range(1, 500))), Axis("n_min", tuple(range(9)))])


@given(
    st.lists(st.integers(-1, 9), min_size=1, max_size=4),
    st.lists(st.integers(-1, 9), min_size=1, max_size=4),
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
    st.lists(st.sampled_from([SIMPLE, MOD, BOTH, (*MOD, *SIMPLE)]), min_size=1, max_size=3),
)
def test_every_point_can_run_and_none_is_twice(
    n_max: list[int], n_min: list[int], shortest: list[int], methods: list[tuple[DraftSource, ...]]
) -> None:
    axes = [
        Axis("n_max", tuple(n_max)),
        Axis("n_min", tuple(n_min)),
        Axis("ngram_mod.n_min", tuple(shortest)),
        Axis(METHOD, tuple(methods)),
    ]
    found = grid(run_config(), axes)
    for point in found.points:
        assert problems(point.applied_to(run_config())) == []
    settings = [point.speculation for point in found.points]
    assert len(set(settings)) == len(settings)
    names = [point.label for point in found.points]
    assert len(set(names)) == len(names), names


def test_what_tells_points_apart() -> None:
    assert numeric_setting(plan_of(1, 2, 4).points) == "n_max"
    two = grid(run_config(), [Axis("n_max", (1, 2)), Axis("p_min", (0.0, 0.5))])
    assert numeric_setting(two.points) is None
    methods = grid(run_config(), [Axis(METHOD, (SIMPLE, MOD))])
    assert numeric_setting(methods.points) is None
    assert numeric_setting(plan_of(3).points) is None


def test_numbers_are_named_without_needless_digits() -> None:
    values = ((METHOD, SIMPLE), ("p_min", 0.5), ("n_max", 12))
    assert label_of(values, ["p_min", "n_max"]) == "12 draft tokens, stop below p 0.5"


# Plan --------------------------------------------------------------------------------------------
def test_baseline_and_points_take_turns_prompt_by_prompt() -> None:
    plan = plan_of(1, 2, n_repeats=2)
    turn = [None, 0, 1]
    assert list(plan.runs()) == [(prompt, p) for prompt in (0, 1) for p in turn + turn]
    assert plan.n_runs == len(list(plan.runs())) == 12


def test_the_runs_differ_in_what_was_varied_only() -> None:
    plan = plan_of(1, 4)
    base, one, four = (plan.config(1, point) for point in (None, 0, 1))
    assert [c.mode for c in (base, one, four)] == [
        RunMode.BASELINE, RunMode.SPECULATIVE, RunMode.SPECULATIVE,
    ]  # fmt: skip
    assert one.prompt == four.prompt == base.prompt == "About Code"
    assert replace(one, speculation=four.speculation) == four
    assert base.load == one.load == four.load
    # the context that the baseline makes is wide enough for all
    assert base.speculation.n_max == 4


def test_the_system_prompt_stays_and_earlier_turns_do_not() -> None:
    turns = tuple(Message(role=role, text=role) for role in ("system", "user", "assistant", "user"))
    plan = replace(plan_of(1), base=replace(run_config(), messages=turns))
    messages = plan.config(0, 0).messages
    assert [(m.role, m.text) for m in messages] == [("system", "system"), ("user", "About Story")]
    raw = replace(plan, base=replace(plan.base, raw=True))
    assert [m.role for m in raw.config(0, None).messages] == ["user"]
    assert raw.problems() == []


def test_a_draft_that_no_point_asks_is_not_loaded() -> None:
    base = run_config()
    points = grid(base, [Axis(METHOD, (MOD,))]).points
    plan = SweepPlan(base, (SweepPrompt("A", "a"),), points)
    assert plan.config(0, 0).load.draft is None
    mixed = grid(base, [Axis(METHOD, (MOD, SIMPLE))]).points
    plan = replace(plan, points=mixed)
    assert plan.config(0, 0).load.draft is not None, "a reload between points"


def test_all_runs_share_a_seed() -> None:
    base = run_config()
    plan = replace(plan_of(1), base=replace(base, sampling=replace(base.sampling, seed=None)))
    seeded = plan.with_seed()
    assert isinstance(seeded.base.sampling.seed, int)
    assert seeded.with_seed() is seeded
    assert {seeded.config(p, k).sampling.seed for p, k in seeded.runs()} == {
        seeded.base.sampling.seed
    }


def test_what_stands_in_the_way() -> None:
    plan = plan_of(1)
    assert plan.problems() == []
    assert replace(plan, prompts=()).problems() == ["No prompt is chosen."]
    assert replace(plan, points=()).problems() == ["No setting is left to try."]
    assert "0 repeats" in replace(plan, n_repeats=0).problems()[0]
    assert "limit of 0" in replace(plan, base=replace(plan.base, max_tokens=0)).problems()[0]
    empty = replace(plan, prompts=(SweepPrompt("A", "a"), SweepPrompt("B", " ")))
    assert empty.problems() == ["The prompt is empty."]


def test_every_setting_can_be_applied() -> None:
    values: dict[str, Value] = {
        METHOD: MOD, PRESET: "llama-cpp", "draft.type_k": "q8_0", "draft.type_v": "q8_0",
        "p_min": 0.5, "ngram_simple.size_m": 13,
    }  # fmt: skip
    for name, setting in SETTINGS.items():
        base = run_config(sources=tuple(setting.read_by or SIMPLE))
        (point,) = grid(base, [Axis(name, (values.get(name, 3),))]).points
        assert point.applied_to(base) != base, name
