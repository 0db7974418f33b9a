"""The curve of what a check costs, and the section around it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from support.traces import baseline_of, explanation

from specviz.trace.costs import CheckCost, Costs, CurvePoint, DraftCost
from specviz.ui.break_even_facts import BreakEvenFacts, facts_of
from specviz.ui.cost_chart import NOTHING, CostChart
from specviz.ui.cost_panel import OFFER, CostPanel
from specviz.ui.theme import DARK

CURVE = (
    CurvePoint(n_rows=1, steps=0.9, is_measured=True),
    CurvePoint(n_rows=2, steps=1.0, is_measured=True),
    CurvePoint(n_rows=3, steps=1.2, is_measured=False),
    CurvePoint(n_rows=4, steps=1.4, is_measured=True),
    CurvePoint(n_rows=5, steps=1.5, is_measured=False, is_extrapolated=True),
)


@pytest.fixture
def chart(qtbot):
    made = CostChart()
    qtbot.addWidget(made)
    made.resize(324, made.height())
    made.apply_palette(DARK)
    made.show()
    return made


@pytest.fixture
def panel(qtbot):
    made = CostPanel()
    qtbot.addWidget(made)
    made.resize(324, 300)
    made.apply_palette(DARK)
    made.show()
    return made


def facts(n_rows=4):
    checks = [CheckCost(n_rows=n, seconds=0.1 + 0.02 * n, n_samples=5) for n in range(1, n_rows)]
    drafts = (DraftCost(n_tokens=2, seconds=0.03, n_samples=5),)
    return BreakEvenFacts(costs=Costs(step_seconds=0.1, checks=tuple(checks), drafts=drafts))


# Chart -------------------------------------------------------------------------------------------
def test_wider_checks_stand_further_right_and_dearer_ones_higher(chart):
    chart.show_points(CURVE)
    places = [chart.place(point.n_rows, point.steps) for point in CURVE]
    assert [p.x() for p in places] == sorted(p.x() for p in places)
    assert [p.y() for p in places] == sorted((p.y() for p in places), reverse=True)
    rect = chart.plot_rect()
    assert all(rect.left() <= p.x() <= rect.right() for p in places)
    assert all(rect.top() <= p.y() <= rect.bottom() for p in places)


def test_the_curve_in_words(chart):
    assert chart.accessibleDescription() == NOTHING
    chart.show_points(CURVE)
    assert chart.text().splitlines()[:2] == [
        "1 row: 0.90 target steps",
        "2 rows: 1.00 target steps",
    ]
    assert chart.accessibleDescription() == chart.text()


@pytest.mark.parametrize(
    ("n_rows", "how"),
    [
        (1, "the pending token; measured"),
        (2, "the pending token and 1 draft token; measured"),
        (3, "read between the widths"),
        (5, "the pending token and 4 draft tokens; extended beyond"),
    ],
)
def test_hovering_tells_how_a_value_is_known(chart, n_rows, how):
    chart.show_points(CURVE)
    text = chart.tooltip(chart.place(n_rows, 0).x() + 3)
    assert text.splitlines()[0] == chart.text().splitlines()[n_rows - 1]
    assert how in text


def test_an_empty_chart_has_axes_and_nothing_to_hover(chart):
    chart.grab()
    assert chart.tooltip(50) == ""
    assert chart.grid_values()[0] == 0


@pytest.mark.parametrize("n_rows", [1, 2, 9, 17, 49, 65])
@pytest.mark.parametrize("dearest", [0.4, 1.0, 3.3, 40.0, 900.0])
def test_any_curve_has_few_lines_and_labels_inside(chart, n_rows, dearest):
    chart.show_points(
        [
            CurvePoint(n_rows=n, steps=dearest * n / n_rows, is_measured=True)
            for n in range(1, n_rows + 1)
        ]
    )
    values = chart.grid_values()
    assert 2 <= len(values) <= 6
    assert values[-1] >= dearest
    labels = chart.row_labels()
    assert labels[0] == 1 and len(labels) <= 10
    assert labels[-1] <= max(n_rows, 2)
    chart.grab()


def test_values_that_are_no_numbers_are_left_out(chart):
    odd = CurvePoint(n_rows=2, steps=float("inf"), is_measured=True)
    chart.show_points((CURVE[0], odd))
    assert chart.points == CURVE[:1]


def test_measured_points_are_dots_and_the_rest_is_a_line(chart):
    def accent(image, place):
        return image.pixelColor(round(place.x()), round(place.y()) - 2).name().upper()

    chart.show_points(CURVE)
    image = chart.grab().toImage()
    measured, between = (chart.place(p.n_rows, p.steps) for p in CURVE[1:3])
    assert accent(image, measured) == DARK.accent
    assert accent(image, between) != DARK.accent


# Panel -------------------------------------------------------------------------------------------
def test_the_panel_shows_the_costs_of_a_run(panel):
    trace = explanation(repeat=4).trace
    known = facts_of(baseline_of(trace, seconds=0.08), trace, None)
    panel.show_facts(known)
    assert [p.n_rows for p in panel.chart.points] == list(range(1, 10))
    assert panel.draft_cost.text().startswith("Drafting a token costs ")
    panel.show_facts(None)
    assert panel.chart.points == () and panel.draft_cost.text() == ""


def test_the_button_measures_then_cancels(panel, qtbot):
    panel.set_blocked("")
    assert panel.status.text() == OFFER
    with qtbot.waitSignal(panel.measure_requested):
        QTest.keyClick(panel.measure_button, Qt.Key.Key_Space)
    panel.show_progress(0, 0)
    assert panel.status.text() == "The models are made ready."
    panel.show_progress(7, 24)
    assert panel.status.text() == "7 of 24 measured"
    assert panel.progress.isVisible() and panel.progress.value() == 7
    with qtbot.waitSignal(panel.cancel_requested):
        panel.measure_button.click()
    panel.show_rest("Stopped; checks of up to 4 rows are measured.")
    assert not panel.busy and not panel.progress.isVisible()
    assert panel.measure_button.text() == "Measure costs"
    assert panel.status.text() == "Stopped; checks of up to 4 rows are measured."


def test_a_panel_that_is_off_says_why(panel):
    panel.set_blocked("Choose a target first.")
    assert not panel.measure_button.isEnabled()
    assert panel.status.text() == "Choose a target first."
    assert panel.measure_button.accessibleDescription() == "Choose a target first."
    # a measurement that is under way can be cancelled all the same
    panel.show_progress(1, 9)
    assert panel.measure_button.isEnabled()


def test_nothing_moves_when_a_measurement_begins_and_ends(panel, qtbot):
    panel.show_facts(facts())
    qtbot.wait(0)
    before = (panel.measure_button.geometry(), panel.status.geometry(), panel.sizeHint())
    panel.show_progress(3, 24)
    qtbot.wait(0)
    assert (panel.measure_button.geometry(), panel.status.geometry(), panel.sizeHint()) == before
    panel.show_rest("Measured for checks of 1 to 17 rows.")
    qtbot.wait(0)
    assert (panel.measure_button.geometry(), panel.status.geometry(), panel.sizeHint()) == before


def test_the_width_of_the_what_if_is_pointed_out(panel):
    panel.show_facts(facts(n_rows=18))
    panel.show_length(4)
    assert panel.chart.marked == 5
    panel.grab()
