"""The lossless check in words and on its panel."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from support.traces import TraceBuilder, baseline_of, explanation, run_config, token_id_of

from specviz.trace.comparison import compare
from specviz.trace.config import RunMode
from specviz.trace.lossless import BatchShape, LosslessCheck, Mismatch, ShapeMargin
from specviz.ui.lossless_panel import LosslessPanel
from specviz.ui.lossless_words import DRAWN, WHAT_FRESH_MEMORY_IS, Mood, report

FORK = 40


@pytest.fixture
def panel(qtbot, dressed):
    made = LosslessPanel()
    qtbot.addWidget(made)
    return made


def forked(margin=0.03, piece=" something"):
    """A baseline that says another token at `FORK`, and the run with drafts."""
    trace = explanation().trace
    other = TraceBuilder(run_config(RunMode.BASELINE), run_id="run-0")
    for token in trace.tokens[:FORK]:
        other.step(target=token.piece)
    other.step(target=piece, runner_up=(trace.tokens[FORK].piece, margin))
    other.plain(*(token.piece for token in trace.tokens[FORK + 1 :]))
    return other.finish(), trace


def looked(*margins):
    shapes = zip(
        (BatchShape.ONE_ROW, BatchShape.VERIFY_BATCH, BatchShape.PREFILL), (1, 5, 52), strict=True
    )
    return LosslessCheck(
        fork=FORK,
        margins=tuple(
            ShapeMargin(shape=shape, n_rows=n, margin=margin)
            for (shape, n), margin in zip(shapes, margins, strict=True)
        ),
    )


def told(baseline, speculative, check=None):
    comparison = compare(baseline, speculative, check) if baseline is not None else None
    return report(baseline, speculative, comparison, check)


# Words -------------------------------------------------------------------------------------------
def test_the_same_text_is_said_to_be_the_same():
    trace = explanation().trace
    found = told(baseline_of(trace), trace)
    n = len(trace.tokens)
    assert found.headline.text == f"Identical to the baseline for all {n} tokens."
    assert found.headline.mood is Mood.GOOD
    assert found.margins == () and found.finding is None and found.fresh == ()


def test_shapes_that_disagree_are_a_near_tie():
    found = told(*forked(), looked(0.03, -0.02, 0.01))
    assert found.headline.text == (
        f"Identical to the baseline for {FORK} tokens, then the outputs part."
    )
    assert found.candidates[0] == ("Baseline", "“␣something”")
    assert [(row.n_rows, row.margin) for row in found.margins] == [
        (1, "+0.03"),
        (5, "−0.02"),
        (52, "+0.01"),
    ]
    assert found.margins[0].prefers == found.candidates[0][1]
    assert found.margins[1].prefers == found.candidates[1][1]
    assert found.margins_are == "Evaluated anew on fresh memory"
    assert found.finding.mood is Mood.ODD
    assert "do not agree" in found.finding.text and "Rounding explains it." in found.finding.text
    assert "another order" in found.why


def test_a_clear_margin_in_every_shape_is_not_explained():
    found = told(*forked(), looked(4.0, 4.1, 3.9))
    assert found.finding.mood is Mood.WRONG
    assert found.finding.text == (
        "Every batch shape clearly prefers the same token. This is not explained by rounding."
    )


def test_stored_runs_show_the_margins_they_recorded():
    found = told(*forked(margin=0.4))
    assert found.margins_are == "As the runs recorded it"
    assert found.margins[0].margin == "+0.40" and found.margins[0].n_rows == 1
    assert found.finding.mood is Mood.ODD
    assert told(*forked(margin=4.0)).finding.mood is Mood.WRONG


def test_a_fork_at_the_first_token():
    trace = explanation().trace
    other = TraceBuilder(run_config(RunMode.BASELINE), run_id="run-0").plain(" other", " words")
    found = told(other.finish(), trace)
    assert found.headline.text == "The outputs differ from the first token on."


def test_every_token_was_confirmed():
    trace = explanation().trace
    check = LosslessCheck(n_rechecked=214, n_drafts_rechecked=341)
    found = told(baseline_of(trace), trace, check)
    assert [said.text for said in found.fresh] == [
        "All 214 tokens and 341 draft tokens were confirmed on fresh memory."
    ]
    alone = told(baseline_of(trace), trace, LosslessCheck(n_rechecked=1))
    assert alone.fresh[0].text == "The one token was confirmed on fresh memory."


def test_the_first_token_that_was_not_confirmed_is_quoted_in_red():
    trace = explanation().trace
    wrong = Mismatch(
        position=3, recorded=trace.tokens[3].token_id, found=token_id_of(" and"), margin=3.1
    )
    found = told(baseline_of(trace), trace, LosslessCheck(n_rechecked=50, mismatch=wrong))
    (said,) = found.fresh
    assert said.mood is Mood.WRONG
    assert said.text.startswith("Token 4 was not confirmed: recorded is “")
    assert "and”, by a margin of 3.10. This is not explained by rounding." in said.text
    assert not any("confirmed on fresh" in each.text for each in found.fresh)


def test_a_small_margin_on_fresh_memory_is_no_error():
    trace = explanation().trace
    off = Mismatch(position=0, recorded=1, found=2, margin=0.02)
    found = told(baseline_of(trace), trace, LosslessCheck(n_rechecked=50, draft_mismatch=off))
    assert found.fresh[0].mood is Mood.ODD
    assert found.fresh[0].text.startswith("Draft token 1 was not confirmed: recorded is token ")


def test_drawn_tokens_are_not_compared():
    run = TraceBuilder(run_config(temperature=0.8)).step([" a"], 1, " b").finish()
    assert told(baseline_of(run), run).headline.text == DRAWN


def test_a_run_alone_and_no_run():
    trace = explanation().trace
    assert told(None, trace).headline.text.startswith("There is no baseline")
    assert told(None, None).headline.text == "There is no run with drafts to check."


def test_model_output_is_quoted_and_never_markup(panel):
    panel.show_report(told(*forked(piece="<b>bold</b>\x1b[31m"), looked(0.1, 0.2, 0.3)))
    texts = [each.text() for each in panel.findChildren(QLabel)]
    assert any("<b>bold</b>" in text for text in texts)
    assert not any("\x1b" in text for text in texts)
    assert all(
        each.textFormat() is Qt.TextFormat.PlainText
        for each in panel.findChildren(QLabel)
        if each.text()
    )


# Panel -------------------------------------------------------------------------------------------
def test_the_panel_shows_a_report_and_copies_it(panel):
    found = told(*forked(), looked(0.03, -0.02, 0.01))
    panel.show_report(found)
    panel.show()
    texts = [each.text() for each in panel.findChildren(QLabel) if each.isVisible()]
    for row in found.margins:
        assert row.margin in texts and row.shape in texts
    assert found.finding.text in texts and found.why in texts
    panel.copy()
    assert QGuiApplication.clipboard().text() == found.text
    assert panel.accessibleDescription() == found.text


def test_another_report_takes_the_place_of_the_first(panel, qtbot):
    panel.show()
    panel.show_report(told(*forked(), looked(0.03, -0.02, 0.01)))
    trace = explanation().trace
    panel.show_report(told(baseline_of(trace), trace))
    qtbot.wait(0)
    texts = [each.text() for each in panel.findChildren(QLabel) if each.isVisible()]
    assert not any("outputs part" in text for text in texts)


def test_the_button_checks_then_cancels(panel, qtbot):
    panel.show()
    assert panel.status.text() == WHAT_FRESH_MEMORY_IS
    with qtbot.waitSignal(panel.check_requested):
        panel.check_button.click()
    panel.show_progress(0, 0)
    assert panel.check_button.text() == "Cancel"
    panel.show_progress(50, 214)
    assert panel.status.text() == "50 of 214 tokens checked"
    with qtbot.waitSignal(panel.cancel_requested):
        panel.check_button.click()
    panel.show_rest("The check was stopped before its end.")
    assert panel.check_button.text() == "Check again" and not panel.progress.isVisible()
    assert panel.status.text() == "The check was stopped before its end."


def test_a_check_that_cannot_be_made_says_why(panel):
    panel.set_blocked("The target of this run is not in the setup; choose it there first.")
    assert not panel.check_button.isEnabled()
    assert panel.status.text().startswith("The target of this run is not in the setup")
