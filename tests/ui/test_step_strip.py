"""The step strip and the inspector: cells, choosing, following, flat cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from support.traces import (
    TraceBuilder,
    baseline_of,
    explanation,
    lively_run,
    long_run,
    run_config,
)

from specviz.trace.config import DraftSource
from specviz.trace.events import DraftCall, StopReason
from specviz.trace.trace import Trace
from specviz.ui.figures import THIN
from specviz.ui.step_inspector import NOTHING_CHOSEN, StepInspector
from specviz.ui.step_strip import StepStrip, cells_of
from specviz.ui.theme import DARK, tint
from specviz.ui.token_layout import Style


@pytest.fixture
def strip(qtbot):
    strip = StepStrip()
    qtbot.addWidget(strip)
    strip.resize(600, 156)
    strip.apply_palette(DARK)
    strip.show()
    return strip


@pytest.fixture
def inspector(qtbot):
    inspector = StepInspector()
    qtbot.addWidget(inspector)
    inspector.resize(356, 156)
    inspector.apply_palette(DARK)
    inspector.show()
    return inspector


def centre_of(strip: StepStrip, step: int) -> QPoint:
    return strip.column_rect(step).center().toPoint()


def test_cells_of_each_kind_of_step():
    builder = TraceBuilder()
    builder.step([" a", " b", " c"], 1, " x").step([" a", " b"], 2, " y").step(target=" z")
    builder.step([" q"], 1, " r", copied_from=3)
    trace = builder.finish()
    assert [cells_of(trace, i) for i in range(4)] == [
        [Style.ACCEPTED, Style.RECOVERED, Style.REJECTED, Style.REJECTED],
        [Style.ACCEPTED, Style.ACCEPTED, Style.BONUS],
        [Style.PLAIN],
        [Style.COPIED, Style.BONUS],
    ]


def test_cells_add_up_to_the_counts():
    trace = lively_run(60).trace
    cells = [cell for i in range(len(trace.steps)) for cell in cells_of(trace, i)]
    assert cells.count(Style.ACCEPTED) == trace.counts.accepted
    assert cells.count(Style.RECOVERED) == trace.counts.recovered
    assert cells.count(Style.REJECTED) == trace.counts.rejected


def test_what_a_stop_text_cut_away_has_no_cell():
    builder = TraceBuilder().step([" a", " b"], 2, " c")
    trace = builder.finish(StopReason.STOP_TEXT, n_committed=1)
    assert cells_of(trace, 0) == [Style.ACCEPTED]


def test_columns_are_painted_in_their_colours(strip):
    strip.show_traces(None, explanation().trace)
    image = strip.grab().toImage()
    column = strip.column_rect(1)
    x = round(column.center().x())
    found = {image.pixelColor(x, y).name().upper() for y in range(image.height())}
    assert {DARK.accepted, DARK.recovered} <= found


def test_a_click_chooses_a_step_and_another_click_lets_go(qtbot, strip):
    strip.show_traces(None, explanation().trace)
    with qtbot.waitSignal(strip.step_chosen) as chosen:
        qtbot.mouseClick(strip.viewport(), Qt.MouseButton.LeftButton, pos=centre_of(strip, 4))
    assert chosen.args == [4] and strip.current == 4
    with qtbot.waitSignal(strip.step_cleared):
        qtbot.mouseClick(strip.viewport(), Qt.MouseButton.LeftButton, pos=centre_of(strip, 4))
    assert strip.current is None


def test_arrow_keys_move_the_choice(qtbot, strip):
    strip.show_traces(None, explanation().trace)
    chosen = []
    strip.step_chosen.connect(chosen.append)
    for key in (
        Qt.Key.Key_Home,
        Qt.Key.Key_Left,
        Qt.Key.Key_Right,
        Qt.Key.Key_End,
        Qt.Key.Key_Right,
        Qt.Key.Key_Left,
    ):
        qtbot.keyClick(strip, key)
    assert chosen == [0, 0, 1, 17, 17, 16]
    qtbot.keyClick(strip, Qt.Key.Key_Escape)
    assert strip.current is None


def test_steps_behind_the_current_one_are_faded(strip):
    strip.show_traces(None, explanation().trace)
    strip.mark_step(4)
    image = strip.grab().toImage()
    column = strip.column_rect(10)
    x, y = round(column.center().x()), round(column.bottom()) - 4
    assert image.pixelColor(x, y).name().upper() == tint(DARK.accepted, DARK.panel, 0.3)


def test_marking_sends_no_signal_and_odd_steps_clear(strip):
    sent = []
    strip.step_chosen.connect(sent.append)
    strip.show_traces(None, explanation().trace)
    strip.mark_step(3)
    strip.mark_step(99)
    assert strip.current is None and sent == []


def test_it_follows_the_end_only_while_it_stands_there(strip):
    builder = long_run(1000)
    strip.show_traces(None, builder.trace)
    bar = strip.horizontalScrollBar()
    assert bar.value() == bar.maximum() > 0
    bar.setValue(30)
    builder.step(target=" x")
    strip.refresh()
    assert bar.value() == 30
    bar.setValue(bar.maximum())
    builder.step(target=" x").step(target=" x")
    strip.refresh()
    assert bar.value() == bar.maximum()


def test_the_last_steps_of_a_run_are_followed_and_a_stored_one_begins_at_its_beginning(strip):
    builder = long_run(1000)
    strip.show_traces(None, builder.trace)
    builder.step(target=" x").step(target=" x")
    trace = builder.finish()
    strip.refresh(final=True)
    bar = strip.horizontalScrollBar()
    assert bar.value() == bar.maximum() > 0
    strip.show_trace(None)
    strip.show_trace(trace)
    assert bar.value() == 0 < bar.maximum()


def test_painting_costs_the_same_for_any_number_of_steps(strip):
    painted = []
    for n in (400, 20_000):
        builder = TraceBuilder()
        for i in range(n):
            builder.step([" a", " b"], i % 3, " c", seconds=0.001)
        strip.show_traces(None, builder.trace)
        strip.grab()
        strip.n_painted = 0
        strip.grab()
        painted.append(strip.n_painted)
    assert painted[0] == painted[1] <= strip.width() // 12 + 2
    assert strip.n_steps == 20_000


@pytest.mark.parametrize("n_max", [1, 4, 16, 64])
@pytest.mark.parametrize("height", [80, 156, 300])
def test_the_longest_draft_fits_the_height(strip, n_max, height):
    strip.resize(600, height)
    strip.show_traces(None, lively_run(20, n_max=n_max).trace)
    column = strip.column_rect(0)
    assert column.top() >= 0 and column.bottom() < height
    strip.grab()


def test_steps_are_numbered_from_one(strip):
    strip.show_traces(None, explanation().trace)
    assert strip.tooltip(1) == f"Step 2\n3 drafted, 2 accepted, 133{THIN}ms"
    assert strip.tooltip(0) == f"Step 1\nthe target alone, 133{THIN}ms"


def test_a_baseline_has_its_steps_too(strip):
    strip.show_traces(baseline_of(explanation().trace), None)
    assert strip.n_steps == 55


# The inspector -----------------------------------------------------------------------------------
def test_a_step_in_full(inspector):
    builder = TraceBuilder()
    builder.step(
        [" committed", " for", " free", " beer"],
        2,
        " the",
        probs=[(0.71, 0.64), (0.93, 0.97), (0.41, 0.02), (0.5, None)],
        target_prob=0.88,
        runner_up=(" a", 1.25),
        seconds=0.133,
    )
    inspector.show_step(builder.finish(), 0)
    lines = inspector.text().split("\n")
    assert lines[:6] == [
        f"Step 1 · 4 drafted, 2 accepted · 133{THIN}ms",
        "␣committed 0.71 / 0.64",
        "␣for 0.93 / 0.97",
        "␣free 0.41 / 0.02 → ␣the 0.88",
        "␣beer 0.50 / –",
        "draft p / target p",
    ]
    assert lines[6] == "runner-up ␣a, 1.25 behind in logits"
    assert "check" in lines[7]


def test_a_bonus_and_a_plain_step(inspector):
    trace = TraceBuilder().step([" a"], 1, " b").step(target=" c").finish()
    inspector.show_step(trace, 0)
    assert "␣b –  bonus" in inspector.text()
    inspector.show_step(trace, 1)
    assert inspector.text().startswith("Step 2 · the target alone")


def test_the_end_of_the_answer_is_told(inspector):
    trace = TraceBuilder().step([" a", " b"], 1, end="<end>").finish()
    inspector.show_step(trace, 0)
    assert "␣b – / – → end of the answer" in inspector.text()


def copying(positions: list[int], **parts: object) -> Trace:
    """A step that copied tokens from these positions, of a prompt of twelve tokens."""
    builder = TraceBuilder(n_prompt=12).plain("one", "two", "three", "four")
    builder.step([f"c{i}" for i in range(len(positions))], 1, "x", copied_from=0, **parts)
    trace = builder.trace
    step = trace.steps[-1]
    draft = tuple(
        replace(token, copied_from=at) for token, at in zip(step.draft, positions, strict=True)
    )
    trace.steps[-1] = replace(step, draft=draft)
    return builder.trace


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        ([5], "ngram-mod: copied token 6 of the prompt"),
        ([3, 4, 5], "ngram-mod: copied tokens 4 to 6 of the prompt"),
        ([13, 14], "ngram-mod: copied tokens 2 to 3 of the answer"),
        ([11, 12, 13], "ngram-mod: copied from token 12 of the prompt on"),
        ([2, 3, 9], "ngram-mod: copied from several places, token 3 of the prompt first"),
    ],
)
def test_copies_are_told_with_their_source_above_the_tokens(inspector, positions, words):
    inspector.show_step(copying(positions), 4)
    lines = inspector.text().split("\n")
    assert lines[1] == words
    assert lines[2].startswith("c0 –") and "/" not in lines[2]
    assert "target p" in lines and "draft p" not in inspector.text()


def test_dropped_tokens_are_told(inspector):
    inspector.show_step(copying([3], n_dropped=2), 4)
    assert "2 more tokens drafted, dropped unchecked" in inspector.text()
    inspector.show_step(TraceBuilder().step(target="a", n_dropped=2).finish(), 0)
    assert "\n2 tokens drafted, dropped unchecked" in inspector.text()


def test_the_drafter_is_named_where_several_could_be_it(inspector):
    sources = [DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE]
    builder = TraceBuilder(run_config(sources=sources)).step(["a"], 1, "b", probs=[(0.9, 0.8)])
    inspector.show_step(builder.finish(), 0)
    assert inspector.text().split("\n")[1:3] == ["draft model", "a 0.90 / 0.80"]
    inspector.show_step(explanation().trace, 1)
    assert "draft model" not in inspector.text()


def test_a_search_in_vain_is_told(inspector):
    builder = TraceBuilder(run_config(sources=[DraftSource.NGRAM_MOD]))
    call = DraftCall(source=DraftSource.NGRAM_MOD, n_tokens=0, n_dropped=0, seconds=0.0)
    inspector.show_step(builder.step(target="a", calls=[call]).finish(), 0)
    assert inspector.text().split("\n")[1] == "nothing found to copy"


def test_pieces_are_never_markup(inspector):
    trace = TraceBuilder().step(["<b>x</b>", "\n\u202e"], 1, "&amp;").finish()
    inspector.show_step(trace, 0)
    assert "<b>x</b>" in inspector.text() and "&amp;" in inspector.text()
    assert "\u202e" not in inspector.text()


def test_formats_follow_the_palette(inspector):
    inspector.show_step(explanation().trace, 1)
    cursor = QTextCursor(inspector.document())
    cursor.movePosition(QTextCursor.MoveOperation.Down)
    cursor.movePosition(QTextCursor.MoveOperation.Right)
    assert cursor.charFormat().foreground().color().name().upper() == DARK.accepted


def test_without_a_step_it_invites(inspector):
    inspector.show_step(explanation().trace, 99)
    assert inspector.text() == NOTHING_CHOSEN
