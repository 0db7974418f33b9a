"""The break-even section: its sentences, the what-if, and what it is made from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from support.traces import (
    TraceBuilder,
    baseline_of,
    explanation,
    lively_run,
    run_config,
)

from specviz.trace.break_even import PREDICTION_NOTE, break_even, speedup_at
from specviz.trace.comparison import compare
from specviz.trace.config import DraftSource, ModelSpec
from specviz.trace.costs import CheckCost, Costs, DraftCost
from specviz.ui.break_even import BreakEven
from specviz.ui.break_even_facts import BreakEvenFacts, Measured, facts_of, filled_in
from specviz.ui.break_even_words import best_sentence, draft_cost, help_text, sentence
from specviz.ui.figures import THIN
from specviz.ui.theme import DARK
from specviz.ui.verdict_words import plain

COSTS = Costs(
    step_seconds=0.1,
    checks=tuple(
        CheckCost(n_rows=n, seconds=s, n_samples=9)
        for n, s in ((1, 0.09), (2, 0.1), (3, 0.11), (5, 0.13))
    ),
    drafts=tuple(DraftCost(n_tokens=n, seconds=0.01 * n, n_samples=9) for n in (1, 2, 4)),
    extra_seconds=0.01,
)
"""A step with 4 draft tokens takes 0.04 + 0.13 + 0.01 s, which are 1.8 steps of the target."""


@pytest.fixture
def section(qtbot):
    made = BreakEven()
    qtbot.addWidget(made)
    made.resize(324, 300)
    made.apply_palette(DARK)
    made.show()
    return made


def pair(seconds=0.08):
    trace = explanation(repeat=4).trace
    return baseline_of(trace, seconds=seconds), trace


def said(**changes):
    facts = BreakEvenFacts(**{"costs": COSTS, "n_draft": 4.0, "n_max": 4, **changes})
    return plain(sentence(facts))


# Sentences ---------------------------------------------------------------------------------------
def test_the_break_even_of_four_tokens_is_the_one_worked_out_by_hand():
    # (1.8 - 1) / 4
    assert break_even(COSTS, 4) == pytest.approx(0.2)
    assert said(acceptance=0.68) == (
        f"This pair pays off above 20{THIN}% acceptance at 4 draft tokens. You are at 68{THIN}%."
    )


def test_copied_drafts_have_an_average_length_and_are_no_pair():
    costs = replace(COSTS, drafts=(DraftCost(n_tokens=4, seconds=0.0, n_samples=9),))
    words = said(costs=costs, n_draft=3.4, acceptance=0.5, copies=True)
    assert words.startswith("Copying pays off above ")
    assert "acceptance at 3.4 draft tokens on average. You are at" in words


def test_a_step_dearer_than_its_yield_never_pays():
    dear = replace(COSTS, extra_seconds=0.4)
    words = said(costs=dear, acceptance=0.9)
    assert words == (
        "No acceptance is enough at 4 draft tokens: a step costs 5.7 target steps and yields 5 "
        f"tokens at most. You are at 90{THIN}%."
    )


def test_a_step_cheaper_than_one_of_the_target_never_loses():
    cheap = replace(COSTS, step_seconds=1.0)
    assert said(costs=cheap).startswith("Drafting never loses here at 4 draft tokens")


def test_a_run_without_drafts_has_nothing_to_compare():
    builder = TraceBuilder(run_config()).plain(" a", " b", " c", " d")
    trace = builder.finish()
    facts = facts_of(baseline_of(trace), trace, None)
    assert plain(sentence(facts)).startswith("Nothing was drafted")
    assert best_sentence(facts) == ()


def test_nothing_is_known_before_a_run_and_until_it_has_ended():
    assert facts_of(None, None, None) is None
    running = explanation(close=False).trace
    assert facts_of(baseline_of(running, close=False), running, None) is None
    assert facts_of(None, explanation().trace, None) is None


def test_the_best_length_stands_beside_what_was_measured():
    baseline, trace = lively_pair()
    facts = facts_of(baseline, trace, None)
    best = facts.best()
    words = plain(best_sentence(facts))
    assert best.n_draft != facts.n_max == 8
    assert words.startswith(f"About {best.n_draft} draft tokens would be best: {best.speedup:.2f}×")
    assert f"{facts.speedup:.2f}× measured at 8." in words
    assert best.speedup == max(each.speedup for each in facts.predictions[:10])


def lively_pair():
    trace = lively_run(200).trace
    return baseline_of(trace, seconds=0.068), trace


def test_where_nothing_pays_the_sentence_says_so():
    baseline, trace = pair(seconds=0.01)
    words = plain(best_sentence(facts_of(baseline, trace, None)))
    assert words.startswith("No length is predicted to pay. The best is ")


def test_runs_that_are_no_base_for_a_prediction_are_said_to_be_uneven():
    facts = facts_of(*lively_pair(), None)
    here = facts.predictions[facts.n_max - 1]
    uneven = replace(facts, speedup=here.speedup * 1.3)
    assert plain(best_sentence(uneven)) == (
        f"The runs were too uneven to predict from: {here.speedup:.2f}× predicted at 8, "
        f"{here.speedup * 1.3:.2f}× measured."
    )
    even = replace(facts, speedup=here.speedup * 1.1)
    assert "would be best" in plain(best_sentence(even))


def test_a_length_that_never_ran_is_said_to_be_beyond():
    facts = facts_of(*pair(), None)
    assert facts.best().extrapolated
    assert "predicted beyond what ran" in plain(best_sentence(facts))


def test_a_prediction_from_guessed_costs_says_so_and_what_would_help():
    facts = facts_of(*lively_pair(), None)
    best = facts.best()
    at = facts.predictions.index(best)

    def said(guessed_checks):
        rough = replace(best, guessed_checks=guessed_checks)
        predictions = (*facts.predictions[:at], rough, *facts.predictions[at + 1 :])
        return plain(best_sentence(replace(facts, predictions=predictions)))

    assert "× roughly predicted" in said(0.5)
    assert said(0.5).endswith("measured at 8. Measured costs would tell better.")
    assert "roughly" not in said(0.05)
    assert said(0.05).endswith("measured at 8.")


def test_the_cost_of_a_draft_token_is_the_one_of_the_verdict():
    baseline, trace = pair()
    facts = facts_of(baseline, trace, None)
    words = plain(draft_cost(facts))
    assert words in compare(baseline, trace).reasons
    # 15 % of 0.133 s for a draft, of 2.8 tokens on average, in steps of 0.08 s
    n = trace.counts.tested / trace.counts.steps_with_draft
    assert facts.draft_token == pytest.approx(0.15 * 0.133 / n / 0.08)
    assert draft_cost(None) == () == draft_cost(BreakEvenFacts(costs=COSTS))


@pytest.mark.parametrize(
    ("seconds", "words"), [(1e-5, "next to nothing."), (0.012, "0.12 target steps.")]
)
def test_the_cost_of_copying_a_draft(seconds, words):
    costs = replace(COSTS, drafts=(DraftCost(n_tokens=4, seconds=seconds, n_samples=9),))
    facts = BreakEvenFacts(costs=costs, n_draft=4.0, copies=True)
    assert plain(draft_cost(facts)) == f"Copying a draft costs {words}"
    assert draft_cost(replace(facts, n_draft=None)) == ()


def test_the_help_says_how_good_predictions_are():
    assert PREDICTION_NOTE in help_text()


# Measured costs ----------------------------------------------------------------------------------
def measured(load=None, **changes):
    checks = tuple(CheckCost(n_rows=n, seconds=0.05 + n * 0.01, n_samples=5) for n in (1, 5, 9))
    drafts = (DraftCost(n_tokens=4, seconds=0.03, n_samples=5),)
    return Measured(load=load or run_config().load, checks=checks, drafts=drafts, **changes)


def test_measured_costs_join_those_of_a_run_on_the_same_models():
    baseline, trace = pair()
    load = trace.started.config.load
    met = [each.n_rows for each in facts_of(baseline, trace, None).costs.checks]
    more = [each.n_rows for each in facts_of(baseline, trace, measured(load)).costs.checks]
    assert 9 not in met and 9 in more
    other = replace(load, n_ctx=8192)
    assert facts_of(baseline, trace, measured(other)) == facts_of(baseline, trace, None)


@pytest.mark.parametrize("pace", [0.25, 1.0, 3.0])
def test_costs_of_a_slower_or_faster_time_are_brought_to_the_pace_of_the_run(pace):
    steady = {1: 0.09, 2: 0.1, 5: 0.13, 9: 0.2}
    found = filled_in(
        COSTS,
        Measured(
            load=run_config().load,
            checks=tuple(
                CheckCost(n_rows=n, seconds=s * pace, n_samples=5) for n, s in steady.items()
            ),
            drafts=(DraftCost(n_tokens=8, seconds=0.08 * pace, n_samples=5),),
        ),
    )
    assert found.check_seconds(9) == pytest.approx(0.2)
    assert found.draft_seconds(8) == pytest.approx(0.08)
    assert found.check_seconds(3) == pytest.approx(0.11)


def test_costs_alone_tell_where_a_pair_would_pay():
    facts = facts_of(None, None, measured())
    assert facts.costs.step_seconds == pytest.approx(0.06)
    # 4 tokens: (0.03 + 0.10) ÷ 0.06 = 2.17 steps, and so 29 % have to be accepted
    assert plain(sentence(facts)).startswith(
        f"On these costs, 4 draft tokens pay off above 29{THIN}% acceptance."
    )
    assert facts.best() is None and facts.at(4) is None


def test_another_draft_keeps_the_checks_and_drops_the_drafts():
    known = measured()
    assert known.of(known.load) is known
    other = known.of(replace(known.load, draft=ModelSpec(path="other.gguf")))
    assert other.checks == known.checks and other.drafts == ()
    assert known.of(replace(known.load, target=ModelSpec(path="other.gguf"))) is None


# The what-if -------------------------------------------------------------------------------------
def test_the_sliders_begin_at_the_runs_own_values(section):
    baseline, trace = lively_pair()
    facts = facts_of(baseline, trace, None)
    section.show_facts(facts)
    assert section.length.value() == 8
    assert section.acceptance.value() == round(facts.acceptance * 100)
    assert section.result == f"{facts.speedup:.2f}×"
    assert not section.reset_button.isEnabled()


def test_acceptance_follows_the_length_until_it_is_moved(section):
    facts = facts_of(*lively_pair(), None)
    section.show_facts(facts)
    section.length.setValue(2)
    assert section.acceptance.value() == round(facts.at(2).acceptance * 100)
    assert section.result == f"{facts.at(2).speedup:.2f}×"
    section.acceptance.setValue(10)
    low = section.result
    section.length.setValue(3)
    assert section.acceptance.value() == 10
    section.acceptance.setValue(90)
    assert float(section.result[:-1]) > float(low[:-1])
    assert section.reset_button.isEnabled()
    section.reset_button.click()
    assert (section.length.value(), section.result) == (8, f"{facts.speedup:.2f}×")


@pytest.mark.parametrize("n_draft", [1, 4, 8, 12, 16])
def test_moving_the_acceptance_begins_where_the_prediction_stands(n_draft):
    facts = facts_of(*lively_pair(), None)
    found = facts.at(n_draft)
    assert facts.what_if(n_draft, found.acceptance) == pytest.approx(found.speedup)


def test_without_a_run_the_what_if_is_the_formula(section):
    section.show_facts(BreakEvenFacts(costs=COSTS))
    section.length.setValue(2)
    section.acceptance.setValue(50)
    assert section.result == f"{speedup_at(COSTS, 2, 0.5):.2f}×"


def test_without_costs_the_what_if_is_off_and_undefined(section):
    section.show_facts(None)
    assert section.result == "–"
    assert not section.length.isEnabled() and not section.acceptance.isEnabled()
    section.show_facts(None, running=True)
    assert section.text() == "Break-even comes when the run has ended."


def test_the_sliders_can_be_used_by_keyboard_and_say_what_they_stand_at(section):
    section.show_facts(facts_of(*lively_pair(), None))
    QTest.keyClick(section.length, Qt.Key.Key_Left)
    assert section.length.value() == 7
    QTest.keyClick(section.acceptance, Qt.Key.Key_Home)
    assert section.acceptance.value() == 0
    assert section.length.accessibleDescription().startswith("7 draft tokens per step.")
    assert f"0{THIN}% of tested tokens" in section.acceptance.accessibleDescription()


def test_a_turn_of_the_wheel_scrolls_the_panel_and_moves_no_slider(section, qtbot):
    section.show_facts(facts_of(*lively_pair(), None))
    before = section.length.value()
    event = QWheelEvent(
        QPointF(5, 5),
        QPointF(5, 5),
        QPoint(0, 120),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(section.length, event)
    assert section.length.value() == before


def test_moving_the_sliders_moves_nothing_else(section, qtbot):
    section.show_facts(facts_of(*lively_pair(), None))
    qtbot.wait(0)

    def places():
        parts = (section.length, section.acceptance, section.reset_button)
        return [part.geometry() for part in parts], section.sizeHint()

    before = places()
    for n, percent in ((1, 0), (16, 100), (9, 37)):
        section.length.setValue(n)
        section.acceptance.setValue(percent)
        qtbot.wait(0)
        assert places() == before


def test_drafts_from_several_sources_offer_as_many_tokens_as_the_longest():
    trace = TraceBuilder(run_config(sources=[DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE]))
    for i in range(6):
        trace.step([f" {i}"], 1, " x", copied_from=2)
    done = trace.finish()
    facts = facts_of(baseline_of(done), done, None)
    assert facts.n_max == 12 and not facts.copies
