"""From what is ticked and typed to a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.made_sweeps import PROMPTS, sweep_base

from specviz.errors import SettingError
from specviz.sweep.axes import SETTINGS
from specviz.trace.config import DraftSource
from specviz.ui.sweep_choice import VARIED, SweepChoice, plan_of

SIMPLE, MOD = DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_MOD


def test_every_field_of_the_form_is_a_setting_that_its_sources_look_at():
    for value in VARIED:
        assert SETTINGS[value.setting].read_by == frozenset(value.sources)


def test_every_value_makes_a_point_and_what_is_empty_is_as_in_the_setup():
    base = sweep_base()
    base = replace(base, speculation=replace(base.speculation, p_min=0.25))
    planned = plan_of(base, SweepChoice(values={"draft-tokens": (1, 2, 4)}), PROMPTS)
    points = planned.plan.points
    assert [point.speculation.n_max for point in points] == [1, 2, 4]
    assert {point.speculation.p_min for point in points} == {0.25}
    assert planned.plan.n_runs == 3 * (3 + 1)
    assert not planned.note and not planned.why_none


def test_sources_draft_alone_in_turn_with_their_own_values():
    choice = SweepChoice(
        sources=(MOD, SIMPLE),
        values={"draft-tokens": (2, 4), "ngram-mod-match": (4, 8), "ngram-mod-longest": (16,)},
        n_repeats=2,
    )
    points = plan_of(sweep_base(), choice, PROMPTS[:1]).plan.points
    assert [point.speculation.sources for point in points] == [(MOD,), (MOD,), (SIMPLE,), (SIMPLE,)]
    assert [point.speculation.ngram_mod.n_match for point in points[:2]] == [4, 8]
    assert {point.speculation.ngram_mod.n_max for point in points[:2]} == {16}


def test_what_cannot_work_is_left_out_and_said():
    base = sweep_base()
    base = replace(base, speculation=replace(base.speculation, n_min=3))
    planned = plan_of(base, SweepChoice(values={"draft-tokens": (2, 4)}), PROMPTS)
    assert [point.speculation.n_max for point in planned.plan.points] == [4]
    assert planned.note.startswith("1 of 2 settings is left out: The minimum of 3 draft tokens")


def test_without_a_draft_model_nothing_is_left_and_why_is_said():
    base = sweep_base()
    base = replace(base, load=replace(base.load, draft=None))
    planned = plan_of(base, SweepChoice(values={"draft-tokens": (2, 4)}), PROMPTS)
    assert not planned.plan.points
    assert planned.why_none == "Drafting with a draft model needs a draft model."


def test_no_method_is_no_point():
    assert not plan_of(sweep_base(), SweepChoice(sources=()), PROMPTS).plan.points


def test_too_many_combinations_are_refused():
    values = {
        "ngram-mod-match": tuple(range(1, 60)),
        "ngram-mod-longest": tuple(range(60, 120)),
    }
    with pytest.raises(SettingError, match="combinations"):
        plan_of(sweep_base(), SweepChoice(sources=(MOD,), values=values), PROMPTS)
