"""Acceptance by draft position, and where the time goes."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFocusEvent, QFontMetricsF, QGuiApplication
from PySide6.QtWidgets import QWidget
from support.traces import TraceBuilder, baseline_of, lively_run

from specviz.trace import metrics
from specviz.ui.figures import THIN
from specviz.ui.position_chart import PositionChart
from specviz.ui.theme import DARK
from specviz.ui.time_chart import TimeChart


@pytest.fixture
def window(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(324, 300)
    window.show()
    yield window


@pytest.fixture
def positions(window):
    return placed(PositionChart(window))


@pytest.fixture
def times(window):
    return placed(TimeChart(window))


def placed(chart):
    chart.resize(324, chart.height())
    chart.apply_palette(DARK)
    chart.show()
    return chart


def colours(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {
        image.pixelColor(x, y).name().upper()
        for x in range(image.width())
        for y in range(image.height())
    }


def test_bars_are_the_metrics(positions):
    trace = lively_run(80).trace
    positions.show_traces(None, trace)
    assert positions.rates == metrics.accepted_by_position(trace)
    assert positions.text().startswith("1: ")


def test_higher_rates_have_higher_bars(positions):
    builder = TraceBuilder()
    for i in range(10):
        builder.step([" a", " b"], 1 + i % 2, f" {i}")
    positions.show_traces(None, builder.finish())
    first, second = positions._bar(0, 1.0), positions._bar(1, 0.5)
    assert first.height() == 2 * second.height() == 80
    assert first.bottom() == second.bottom()
    assert first.right() < second.left()


@pytest.mark.parametrize("n_max", [1, 8, 16, 64, 511])
def test_any_number_of_bars_stays_inside(positions, n_max):
    builder = TraceBuilder()
    builder.step([f" {i}" for i in range(n_max)], n_max, " end")
    positions.show_traces(None, builder.finish())
    assert len(positions.rates) == n_max
    assert positions._bar(n_max - 1, 1.0).right() <= positions.width()
    assert positions.tooltip(n_max - 1).startswith(f"Draft position {n_max}: 100{THIN}%")
    assert positions.tooltip(n_max) == ""
    positions.grab()


@pytest.mark.parametrize("n_max", [1, 8, 13, 16, 64, 200, 511])
def test_labels_stand_apart(positions, n_max):
    builder = TraceBuilder().step([f" {i}" for i in range(n_max)], n_max, " end")
    positions.show_traces(None, builder.finish())
    font, every = positions._labels()
    width = QFontMetricsF(font).horizontalAdvance("100")
    assert positions._pitch() * every > width + 1
    assert every == 1 or n_max > 16


def two_positions() -> TraceBuilder:
    """Position 1 is tested four times and kept three times, position 2 twice and once."""
    builder = TraceBuilder()
    builder.step([" a", " b"], 2, " c").step([" d", " e"], 1, " f")
    return builder.step([" g"], 1, " h").step([" i"], 0, " j")


def test_each_rate_says_what_it_divides_by(positions):
    positions.show_traces(None, two_positions().finish())
    first, second = f"75{THIN}%, 3 of 4 tested", f"50{THIN}%, 1 of 2 tested"
    assert positions.text() == f"1: {first}; 2: {second}"
    assert positions.tooltip(1) == f"Draft position 2: {second}"
    assert positions.foot() == f"In all 67{THIN}% accepted, 4 of 6 tested"


def test_bars_can_be_chosen_by_key(qtbot, positions):
    positions.show_traces(None, two_positions().finish())
    positions.setFocus()
    whole = positions.accessibleDescription()
    keys = Qt.Key
    for key, part in (
        (keys.Key_Right, 0),
        (keys.Key_Right, 1),
        (keys.Key_Right, 1),
        (keys.Key_Home, 0),
        (keys.Key_End, 1),
        (keys.Key_Left, 0),
    ):
        qtbot.keyClick(positions, key)
        assert positions.part == part
        assert positions.accessibleDescription() == positions.part_words(part)
    qtbot.keyClick(positions, keys.Key_Escape)
    assert positions.part is None and positions.accessibleDescription() == whole
    qtbot.keyClick(positions, keys.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == positions.text()


def test_a_choice_ends_with_the_focus_and_with_the_run(positions):
    positions.show_traces(None, two_positions().finish())
    positions.choose(1)
    positions.show_traces(None, TraceBuilder().step([" a"], 1, " b").finish())
    assert positions.part is None
    positions.choose(0)
    positions.focusOutEvent(QFocusEvent(QFocusEvent.Type.FocusOut))
    assert positions.part is None


def test_keys_do_nothing_before_a_run(qtbot, positions):
    qtbot.keyClick(positions, Qt.Key.Key_Right)
    assert positions.part is None


def test_the_part_under_the_mouse(positions):
    positions.show_traces(None, two_positions().finish())
    middle = positions._bar(1, 0.5).center().toPoint()
    assert positions.part_at(middle) == 1
    assert positions.part_at(QPoint(positions.width() - 1, 40)) is None


def test_a_chart_that_is_not_seen_waits(positions):
    builder = TraceBuilder()
    positions.show_traces(None, builder.trace)
    positions.hide()
    builder.step([" a"], 1, " b")
    positions.refresh()
    assert positions.rates == []
    positions.show()
    assert positions.rates == [1.0]


def test_bars_grow_with_the_run(positions):
    builder = TraceBuilder()
    positions.show_traces(None, builder.trace)
    assert positions.rates == []
    builder.step([" a"], 1, " b")
    positions.refresh()
    assert positions.rates == [1.0]


def test_a_baseline_has_no_bars(positions):
    positions.show_traces(baseline_of(lively_run(10).trace), None)
    assert positions.rates == []
    assert positions.text() == "No draft token has been tested yet."


def test_shares_add_up_to_a_hundred(times):
    trace = lively_run(30).trace
    times.show_traces(None, trace)
    assert [part.name for part in times.slices] == ["draft", "verify", "sampling", "other"]
    assert sum(part.percent for part in times.slices) == 100
    assert sum(part.seconds for part in times.slices) == pytest.approx(
        metrics.decode_seconds(trace)
    )


def test_saving_and_restoring_has_its_own_slice(times):
    times.show_traces(None, lively_run(30, restore_share=0.4).trace)
    shares = {part.name: part.percent for part in times.slices}
    assert shares["save and restore"] == 40
    assert sum(shares.values()) == 100


def test_taking_back_single_tokens_in_no_time_is_no_slice(times):
    trace = lively_run(30, restore_share=0.001).trace
    trace.started.effective["rollback"] = "trim"
    times.show_traces(None, trace)
    assert "save and restore" not in times.text()
    trace.started.effective["rollback"] = "checkpoint"
    times.show_traces(None, trace)
    assert f"save and restore 0{THIN}%" in times.text()


def test_widths_fill_the_bar(times):
    times.show_traces(None, lively_run(30, restore_share=0.4).trace)
    assert sum(width for _, width in times._widths()) == times.width()


def test_shares_are_told_with_their_seconds(times):
    builder = TraceBuilder()
    builder.step([" a"], 1, " b", seconds=2.0, restore_share=0.5)  # drafting takes 15 %
    times.show_traces(None, builder.finish())
    assert times.foot() == f"Decoding took 2.00{THIN}s in all"
    assert times.part_words(0) == f"draft 15{THIN}%: 300{THIN}ms of 2.00{THIN}s of decoding"
    assert f"save and restore 50{THIN}% (1.00{THIN}s)" in times.text()
    assert times.text().endswith(f"of 2.00{THIN}s of decoding")


def test_a_slice_is_under_the_mouse_in_bar_and_legend(times):
    times.show_traces(None, lively_run(30, restore_share=0.4).trace)
    names = [part.name for part in times.slices]
    assert names[times.part_at(QPoint(2, 5))] == "draft"
    assert names[times.part_at(QPoint(times.width() - 2, 5))] == "other"
    assert names[times.part_at(QPoint(200, 32))] == "verify"
    assert names[times.part_at(QPoint(20, 70))] == "other"
    assert times.part_at(QPoint(200, 70)) is None


def test_the_bar_is_painted_in_its_colours(times):
    times.show_traces(None, lively_run(30).trace)
    assert {DARK.recovered, DARK.accepted, DARK.bonus, DARK.quiet} <= colours(times)


def test_without_a_run_shares_are_dashes(times):
    assert {part.percent for part in times.slices} == {None}
    assert times.text() == "draft –, verify –, sampling –, other –"
    assert times.foot() == "No step has been timed yet."
    times.choose(0)
    times.grab()


def test_the_baseline_shows_while_there_is_no_speculative_run(times):
    times.show_traces(baseline_of(lively_run(10).trace), None)
    shares = {part.name: part.percent for part in times.slices}
    assert shares["draft"] == 0 and shares["verify"] > 80
