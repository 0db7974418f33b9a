"""What the sweep's page says: plan, progress, verdict, cells."""

from __future__ import annotations

import pytest
from support.made_sweeps import PROMPTS, SPEEDUPS, filled, length_plan
from support.sweeps import run_at

from specviz.sweep.results import SweepResults
from specviz.ui import sweep_words as words
from specviz.ui.figures import DASH, THIN
from specviz.ui.sweep_words import Effect
from specviz.ui.verdict_words import Tone

EVERYWHERE = {prompt.name: (1.2, 1.3, 1.4, 1.1) for prompt in PROMPTS}
NOWHERE = {prompt.name: (0.9, 0.8, 0.7, 0.6) for prompt in PROMPTS}
NOISE_ONLY = {prompt.name: (1.01, 1.02, 0.99, 0.98) for prompt in PROMPTS}


def test_the_plan_in_a_line():
    assert words.plan_words(length_plan()) == (
        "4 settings × 3 prompts × 1 repeat and 3 baselines: 15 runs"
    )
    repeated = length_plan(PROMPTS[:1], n_repeats=2)
    assert words.plan_words(repeated) == (
        "4 settings × 1 prompt × 2 repeats and 2 baselines: 10 runs"
    )
    assert words.plan_words(repeated).endswith(f"{repeated.n_runs} runs")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, ""),
        (0, "a few seconds left"),
        (12, f"about 10{THIN}s left"),
        (60, f"about 1{THIN}min left"),
        (130, f"about 2{THIN}min left"),
        (3 * 3600, f"about 3.0{THIN}h left"),
    ],
)
def test_remaining_time_is_rounded(seconds, said):
    assert words.remaining_words(seconds) == said


def test_progress():
    said = words.progress_words(12, 48, 130, "Story", "4 draft tokens")
    assert said == f"12 of 48 · about 2{THIN}min left · Story · 4 draft tokens"
    assert words.progress_words(0, 48, None, "Story", "baseline") == "0 of 48 · Story · baseline"


@pytest.mark.parametrize(
    ("speedup", "effect"),
    [
        (None, None),
        (1.06, Effect.FASTER),
        (1.05, Effect.FLAT),
        (1.0, Effect.FLAT),
        (0.95, Effect.FLAT),
        (0.94, Effect.SLOWER),
    ],
)
def test_the_limits_are_those_of_the_verdict(speedup, effect):
    assert words.effect_of(speedup) is effect


@pytest.mark.parametrize(
    ("speedups", "headline", "tone"),
    [
        (SPEEDUPS, "Helps on 2 of 3", Tone.PLAIN),
        (EVERYWHERE, "Helps on 3 of 3", Tone.FASTER),
        (NOWHERE, "No setting helps", Tone.SLOWER),
        (NOISE_ONLY, "No setting helps", Tone.FLAT),
    ],
)
def test_the_verdict_is_green_only_where_every_prompt_is_faster(speedups, headline, tone):
    said = words.verdict(filled(length_plan(), speedups))
    assert (said.headline, said.tone) == (headline, tone)


def test_one_prompt_has_its_speed_up_for_a_headline():
    said = words.verdict(filled(length_plan(PROMPTS[:1])))
    assert said.headline == "1.61× faster"
    assert "Best is 4 draft tokens" in said.text


def test_a_stopped_sweep_says_so_and_one_with_failures_too():
    stopped = filled(length_plan(), n_runs=7)
    assert "stopped after 7 of 15 runs" in words.verdict(stopped).text
    assert "stopped" not in words.verdict(stopped, running=True).text
    assert words.verdict(stopped, running=True).headline == "7 of 15 runs"
    failed = filled(length_plan(), n_runs=14)
    failed.add_error(2, 3, "The engine stopped.")
    assert "1 run failed" in words.verdict(failed).text
    assert "changed since" in words.verdict(failed, stale="The setup has changed since.").text


def test_a_machine_that_was_busy_is_told_of_when_the_sweep_is_over():
    plan = length_plan(PROMPTS[:2])
    results = SweepResults(plan)
    for prompt, point in plan.runs():
        results.add(prompt, point, run_at(10.0 * (1 + 2 * prompt), plan.config(prompt, point)))
    assert results.caution()
    assert words.verdict(results).text.endswith(results.caution())
    assert results.caution() not in words.verdict(results, running=True).text
    assert "busy" not in words.verdict(filled(length_plan())).text


def test_before_anything_was_measured():
    empty = SweepResults(length_plan())
    assert words.verdict(empty).tone is Tone.QUIET
    assert "pays on which prompt" in words.idle().text


def test_the_cells_of_a_setting():
    row = filled(length_plan()).rows()[2]
    texts = [cell.text for cell in words.setting_cells(row)]
    assert texts[:3] == ["4 draft tokens", "◆ 0.92× to 1.61×", "2 of 3"]
    assert texts[4] == f"100{THIN}% of {row.tested}"
    assert texts[6] == "yes"
    assert len(texts) == len(words.SETTING_COLUMNS)


def test_the_best_row_is_marked_with_a_sign_and_a_word():
    results = filled(length_plan())
    best = results.best()
    assert words.label_words(best) == f"★ {best.label} · best"
    marked = [words.label_words(row) for row in results.rows() if "★" in words.label_words(row)]
    assert marked == [words.label_words(best)]


def test_the_cells_of_the_baseline():
    texts = [cell.text for cell in words.setting_cells(filled(length_plan()).baseline_row)]
    assert texts == ["baseline, the target alone", "1.00×", DASH, "10.0", DASH, "1.00", DASH]


def test_what_was_not_measured_is_a_dash():
    row = SweepResults(length_plan()).rows()[0]
    texts = [cell.text for cell in words.setting_cells(row)]
    assert texts == ["1 draft token", *[DASH] * 6]
    assert all(cell.order is None for cell in words.setting_cells(row)[1:])
    assert [cell.text for cell in words.prompt_cells("Story", None)][:3] == [
        "Story", DASH, "not run yet",
    ]  # fmt: skip


def test_rows_that_are_not_whole_say_so():
    plan = length_plan()
    results = filled(plan, n_runs=7)
    assert words.label_words(results.rows()[0]) == "1 draft token · in part"
    results.add_error(1, 1, "Out of memory.")
    assert "failed in part" in words.label_words(results.rows()[1])
    assert words.outcome_words(results.result(1, 1)) == "Out of memory."


def test_the_cells_of_a_prompt():
    result = filled(length_plan()).result(0, 2)
    texts = [cell.text for cell in words.prompt_cells("Code refactoring", result)]
    assert texts[:5] == ["Code refactoring", "▲ 1.61×", "faster", "16.1", "10.0"]
    assert texts[5] == f"100{THIN}% of {result.tested}"
    assert len(texts) == len(words.PROMPT_COLUMNS)


def test_repeats_show_their_spread():
    plan = length_plan(PROMPTS[:1], n_repeats=2)
    results = SweepResults(plan)
    for (prompt, point), speed in zip(
        plan.runs(), (10, 12, 12, 12, 12, 10, 14, 12, 12, 12), strict=True
    ):
        results.add(prompt, point, run_at(float(speed), plan.config(prompt, point)))
    result = results.result(0, 0)
    assert words.speedup_words(result.speedup, result.speedup_spread) == (
        "▲ 1.30× (1.20× to 1.40×)"
    )


def test_other_text_than_the_baseline_is_told():
    plan = length_plan(PROMPTS[:1])
    results = SweepResults(plan)
    results.add(0, None, run_at(10.0, plan.config(0, None)))
    results.add(0, 0, run_at(12.0, plan.config(0, 0), text="v"))
    assert words.same_words(results.result(0, 0)).startswith("no")
    assert words.setting_cells(results.rows()[0])[6].text.startswith("on 0 of 1")
