"""The verdict: green only when faster, quiet until measured, in sentences."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from support.traces import TraceBuilder, baseline_of, explanation, long_run, run_config

from specviz.trace.comparison import compare, compare_repeated
from specviz.trace.config import DraftSource
from specviz.trace.events import DraftCall, StopReason
from specviz.trace.lossless import BatchShape, LosslessCheck, Mismatch, ShapeMargin
from specviz.ui.figures import THIN
from specviz.ui.theme import DARK, LIGHT
from specviz.ui.verdict_bar import HEIGHT, MOST_LINES, VerdictBar
from specviz.ui.verdict_words import Part, Tone, Words, plain, with_figures


@pytest.fixture
def bar(qtbot):
    bar = VerdictBar()
    qtbot.addWidget(bar)
    bar.resize(788, HEIGHT)
    bar.apply_palette(DARK)
    bar.show()
    return bar


def show(bar: VerdictBar, baseline, speculative) -> str:
    bar.show_result(baseline, speculative, compare(baseline, speculative))
    return bar.text()


def pair(baseline_seconds: float):
    speculative = explanation().trace
    return baseline_of(speculative, seconds=baseline_seconds), speculative


def test_faster_is_green_and_gives_its_reasons(bar):
    text = show(bar, *pair(0.07))
    headline, first, rest = text.split("\n")
    assert headline == "1.61× faster"
    assert bar.headline_colour == DARK.accepted
    assert first == (
        f"23.0{THIN}tok/s against 14.3 baseline · 77{THIN}% of 48 accepted · 3.1 tokens per step"
    )
    assert rest.startswith(
        "Each step yields 3.06 tokens in the time of 1.90 target steps. "
        "Output identical to the baseline for all 55 tokens. Checking "
    )


def test_slower_is_never_green_however_much_is_accepted(bar):
    builder = TraceBuilder()
    for i in range(20):
        builder.step([f" a{i}", f" b{i}"], 2, f" c{i}", seconds=0.3)
    speculative = builder.finish()
    text = show(bar, baseline_of(speculative, seconds=0.05), speculative)
    assert text.startswith("0.50× slower")
    assert f"100{THIN}% of 40 accepted" in text
    assert bar.headline_colour == DARK.slower


def test_no_real_gain_is_amber_and_says_the_ratio(bar):
    text = show(bar, *pair(0.0434))
    assert text.startswith("no real gain\n")
    assert "1.00×" in text
    assert bar.headline_colour == DARK.recovered


def test_speculation_that_never_ran_shows_no_speed_up(bar):
    speculative = TraceBuilder().plain(*(f" t{i}" for i in range(20))).finish()
    text = show(bar, baseline_of(speculative, seconds=0.2), speculative)
    assert text.startswith("speculation never ran\n")
    assert "×" not in text
    assert "Not a single token was drafted" in text


def test_repeating_output_withholds_the_verdict(bar):
    builder = TraceBuilder()
    for _ in range(40):
        builder.step([" la", " la"], 2, " la")
    speculative = builder.finish()
    text = show(bar, baseline_of(speculative, seconds=0.2), speculative)
    assert text.startswith("output is repeating\n")
    assert "period 1" in text
    assert bar.words.tone is Tone.FLAT


def test_too_short_to_measure_is_quiet(bar):
    speculative = TraceBuilder().step([" a"], 1, " b").finish()
    text = show(bar, baseline_of(speculative), speculative)
    assert text.startswith("not measured\n")
    assert bar.headline_colour == DARK.quiet


def forked(margin: float, temperature: float = 0.0):
    config = run_config(temperature=temperature)
    speculative, baseline = TraceBuilder(config), TraceBuilder(run_config(mode="baseline"))
    for i in range(20):
        speculative.step([f" a{i}"], 1, f" b{i}")
        baseline.plain(f" a{i}", f" b{i}")
    speculative.step(target=" ours")
    baseline.step(target=" <b>theirs</b>", runner_up=(" ours", margin))
    return baseline.finish(), speculative.finish()


def test_a_near_tie_is_called_rounding(bar):
    text = show(bar, *forked(0.03))
    assert "identical to the baseline for 40 tokens, then a near-tie (margin 0.03)" in text
    assert "“␣ours” in place of “␣<b>theirs</b>”" in text
    assert "rounding, not an error" in text


def test_a_clear_fork_is_not(bar):
    text = show(bar, *forked(4.0))
    assert "“␣ours” in place of “␣<b>theirs</b>” (margin 4.00), not explained by rounding." in text


def test_a_fork_above_temperature_zero_is_no_failure(bar):
    text = show(bar, *forked(4.0, temperature=0.8))
    assert "Above temperature 0 two runs are not comparable token by token" in text
    assert "explained" not in text and "error" not in text


def checked(bar, baseline, speculative, **check) -> str:
    found = compare(baseline, speculative, LosslessCheck(**check))
    bar.show_result(baseline, speculative, found)
    return bar.text()


def test_a_check_on_fresh_memory_has_the_last_word(bar):
    margins = tuple(
        ShapeMargin(shape=shape, n_rows=n, margin=5.0)
        for shape, n in ((BatchShape.ONE_ROW, 1), (BatchShape.PREFILL, 40))
    )
    assert "rounding, not an error" in show(bar, *forked(0.03))
    text = checked(bar, *forked(0.03), fork=40, margins=margins)
    assert "(margin 5.00), not explained by rounding." in text


def test_a_fault_found_anew_is_told_first_even_where_the_outputs_agree(bar):
    fault = Mismatch(position=4, recorded=1, found=2, margin=3.0)
    rest = checked(bar, *pair(0.07), n_rechecked=9, mismatch=fault).split("\n")[2]
    assert rest.startswith("After 4 tokens fresh memory gives another token, ")
    assert "not explained by rounding" in rest
    clean = checked(bar, *pair(0.07), n_rechecked=9)
    assert "resh memory" not in clean


def test_repeats_show_their_spread_first(bar):
    speculative = explanation().trace
    bases = [baseline_of(speculative, seconds=seconds) for seconds in (0.07, 0.08)]
    bar.show_result(bases[0], speculative, compare_repeated(bases, [speculative] * 2))
    assert bar.text().split("\n")[2].startswith("From 1.61× to 1.84× in 2 repeats. Each step")


def test_measured_numbers_stand_out_and_counts_do_not():
    parts = with_figures("Checking 4 tokens costs 1.73 target steps, 12 % of it, 150 ms.")
    assert [part.text for part in parts if part.is_figure] == ["1.73", f"12{THIN}%", "150"]
    assert plain(parts) == f"Checking 4 tokens costs 1.73 target steps, 12{THIN}% of it, 150 ms."


def test_while_running_there_is_no_judgement(bar):
    baseline, _ = pair(0.5)
    bar.show_running(explanation(close=False).trace, baseline)
    assert bar.text().startswith(f"23.0{THIN}tok/s\nagainst 2.00 baseline")
    assert bar.headline_colour == DARK.quiet


def test_a_run_without_drafts_says_so_early(bar):
    bar.show_running(TraceBuilder().plain(*"abcdefghij").trace)
    assert "Nothing has been drafted so far." in bar.text()


def ngram_builder() -> TraceBuilder:
    return TraceBuilder(run_config(sources=[DraftSource.NGRAM_MOD]))


def test_while_nothing_matches_it_says_that_nothing_was_found(bar):
    bar.show_running(ngram_builder().plain(*"abcdefghij").trace)
    assert "Nothing to copy has been found so far." in bar.text()
    builder = ngram_builder()
    for piece in "abcdefghij":
        builder.step(target=piece, n_dropped=2)
    bar.show_running(builder.trace)
    assert "So far every draft was too short, and thrown away." in bar.text()


def test_no_matches_are_the_reason_why_speculation_never_ran(bar):
    builder = ngram_builder()
    call = DraftCall(source=DraftSource.NGRAM_MOD, n_tokens=0, n_dropped=0, seconds=0.0)
    for piece in "abcdefghij":
        builder.step(target=piece, calls=[call])
    speculative = builder.finish()
    text = show(bar, baseline_of(speculative), speculative)
    assert text.startswith("speculation never ran\n")
    assert "No matches: the text was searched 10 times for the last 6 tokens" in text
    bar.show_result(None, speculative, None)
    assert "No matches: the text was searched 10 times" in bar.text()
    assert "both runs" not in bar.text().lower()


def test_matches_that_do_not_pay_are_the_reason_why_it_is_slower(bar):
    builder = ngram_builder()
    for i in range(20):
        draft = [f" {i}.{j}" for j in range(12)]
        builder.step(draft, 1, f" t{i}", copied_from=2, seconds=0.5, restore_share=0.3)
    speculative = builder.finish()
    text = show(bar, baseline_of(speculative, seconds=0.1), speculative)
    assert text.startswith("0.40× slower")
    assert "Saving and restoring the target's state takes 30\u202f% of the time" in text
    assert "Something to copy was found in 20 of 20 steps, but checking it is too dear" in text


def test_the_baseline_alone(bar):
    bar.show_result(pair(0.1)[0], None, None)
    assert bar.text().startswith(f"10.0{THIN}tok/s\nThe target alone · 55 tokens")
    assert bar.words.tone is Tone.PLAIN


def test_without_a_baseline_nothing_is_claimed(bar):
    bar.show_result(None, explanation().trace, None)
    assert bar.words.tone is Tone.PLAIN
    assert "Without a baseline" in bar.text()


def test_a_stopped_run_says_so(bar):
    builder = explanation(close=False)
    speculative = builder.finish(StopReason.CANCELLED)
    assert "Stopped by you after 55 tokens." in show(bar, baseline_of(speculative), speculative)


def test_a_failed_run(bar):
    builder = explanation(close=False)
    speculative = builder.fail("The engine ran out of memory.", "Use a smaller context.")
    text = show(bar, pair(0.1)[0], speculative)
    assert text.split("\n") == [
        "The run failed",
        "The engine ran out of memory.",
        "Use a smaller context. 55 tokens were kept.",
    ]


def test_an_incomplete_run_is_no_result(bar):
    text = show(bar, pair(0.1)[0], explanation(close=False).trace)
    assert text.startswith("Not finished\n")


def test_idle(bar):
    bar.show_idle("Drop two models to begin.")
    assert bar.text() == "No run yet\nDrop two models to begin."


def test_its_height_never_changes_and_long_reasons_are_in_the_tooltip(qtbot, bar):
    bar.resize(360, HEIGHT)
    show(bar, *forked(0.03))
    bar.grab()
    assert bar.height() == HEIGHT
    assert bar._sentences.toolTip() == bar.text()


def test_a_sentence_that_is_too_long_ends_in_whole_words(bar):
    sentence = "This sentence goes on and on about what came of the run. " * 12
    bar.show_words(Words("slower", Tone.SLOWER, (Part("One line."),), ((Part(sentence),),)))
    bar.grab()
    lines = bar._sentences._lines
    assert sum(layout.lineCount() for layout in lines) == MOST_LINES
    shown = lines[-1].text()
    assert shown.endswith("…") and sentence.startswith(shown[:-1] + " ")


def test_it_is_painted_in_the_tone(bar):
    show(bar, *pair(0.07))
    image = bar.grab().toImage()
    colours = {
        image.pixelColor(x, y).name().upper() for x in range(200) for y in range(image.height())
    }
    assert DARK.accepted in colours


def test_it_can_be_copied_and_read_aloud(qtbot, bar):
    show(bar, *pair(0.07))
    qtbot.keyClick(bar, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == bar.text()
    assert bar.accessibleDescription() == bar.text()


def test_the_palette_changes_the_tone_on_the_spot(bar):
    show(bar, *pair(0.07))
    bar.apply_palette(LIGHT)
    assert LIGHT.accepted in bar._headline.styleSheet()


def test_thousands_are_grouped(bar):
    speculative = long_run(2000, close=True).trace
    text = show(bar, baseline_of(speculative, seconds=0.01), speculative)
    assert f"for all 2{THIN}002 tokens" in text
    assert f"% of 1{THIN}638 accepted" in text
