"""The chart of draft lengths, and the switch between it and the one by position."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from support.traces import TraceBuilder, baseline_of, lively_run

from specviz.ui.draft_charts import DraftCharts
from specviz.ui.theme import DARK, LIGHT


@pytest.fixture
def charts(qtbot, dressed):
    charts = DraftCharts()
    qtbot.addWidget(charts)
    charts.resize(324, charts.height())
    charts.apply_palette(DARK)
    charts.show()
    return charts


def worked() -> TraceBuilder:
    """Five steps: 3 of 3 accepted, 1 of 3, none of 1, none drafted, 2 drafted and dropped.

    Tested by length 0..3: 2, 1, 0, 2. Accepted by length 0..3: 3, 1, 0, 1.
    Accepted 4, committed 4 + 5: mean accepted length 4 / 5, tau 9 / 5.
    """
    builder = TraceBuilder()
    builder.step([" a", " b", " c"], 3, " d").step([" e", " f", " g"], 1, " h")
    builder.step([" i"], 0, " j").step(target=" k").step(target=" l", n_dropped=2)
    return builder


def test_steps_are_counted_by_length(charts):
    charts.show_traces(None, worked().finish())
    lengths = charts.by_length
    assert lengths.tested == [2, 1, 0, 2]
    assert lengths.accepted == [3, 1, 0, 1]
    assert lengths.foot() == "Mean accepted length 0.80, tokens per step (τ) 1.80"
    assert lengths.part_words(1) == "1 token: tested in 1, accepted in 1 of 5 steps"
    assert lengths.part_words(3) == "3 tokens: tested in 2, accepted in 1 of 5 steps"
    assert "4 accepted and 9 committed in 5 steps" in lengths.text()
    assert lengths.text().endswith("Thrown away untested: 2 draft tokens")
    assert "2 draft tokens thrown away untested" in lengths.tooltip(0)
    assert lengths.tooltip(4) == ""


def test_more_steps_have_higher_bars(charts):
    charts.show_traces(None, worked().finish())
    tested, accepted = charts.by_length._pair(0)
    assert accepted.height() > tested.height() > 0
    assert tested.right() <= accepted.left()
    assert charts.by_length._pair(2)[0].height() == 0


@pytest.mark.parametrize("n_max", [1, 8, 64, 300])
@pytest.mark.parametrize("palette", [DARK, LIGHT])
def test_any_length_has_its_place(charts, n_max, palette):
    builder = TraceBuilder().step([f" {i}" for i in range(n_max)], n_max, " end")
    charts.apply_palette(palette)
    charts.set_chart("length")
    charts.show_traces(None, builder.finish())
    lengths = charts.by_length
    assert lengths.n_parts() == n_max + 1
    _, accepted = lengths._pair(n_max)
    assert lengths._pair(0)[0].left() > 0 and accepted.right() <= lengths.width()
    if n_max < 300:  # thinner than a pixel
        assert lengths.part_at(accepted.center().toPoint()) == n_max
    assert not lengths.grab().isNull()


def test_a_baseline_has_no_lengths(charts):
    charts.show_traces(baseline_of(lively_run(10).trace), None)
    assert charts.by_length.tested == []
    assert charts.by_length.text() == "No step has been checked yet."
    charts.by_length.grab()


def test_the_heading_chooses_the_chart_without_a_jump(qtbot, charts):
    height = charts.height()
    chosen = []
    charts.chart_chosen.connect(chosen.append)
    assert charts.by_position.isVisible() and not charts.by_length.isVisible()
    position, length = charts.switch.buttons()
    qtbot.mouseClick(length, Qt.MouseButton.LeftButton)
    assert charts.by_length.isVisible() and not charts.by_position.isVisible()
    length.setFocus()
    qtbot.keyClick(charts.switch, Qt.Key.Key_Left)
    assert charts.by_position.isVisible()
    assert chosen == ["length", "position"]
    assert charts.height() == height
    assert position.accessibleName() == "Accepted by draft position, percent of tested"


def test_the_chart_comes_up_to_date_when_it_is_chosen(charts):
    builder = TraceBuilder()
    charts.show_traces(None, builder.trace)
    builder.step([" a"], 1, " b")
    charts.refresh()
    charts.set_chart("length")
    assert charts.by_length.accepted == [0, 1]


@pytest.mark.parametrize("odd", [None, 3, "by colour", ["length"]])
def test_an_odd_choice_is_left_aside(charts, odd):
    charts.set_chart(odd)
    assert charts.chart == "position"
