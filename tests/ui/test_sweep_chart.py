"""The chart of a sweep: columns along a number, rows otherwise, a mark for each prompt."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor
from support.made_sweeps import PROMPTS, filled, length_plan, mixed_plan
from support.shell import Heard

from specviz.sweep.results import SweepResults
from specviz.ui.sweep_chart import NOTHING, SweepChart, effect_colour
from specviz.ui.sweep_words import Effect
from specviz.ui.theme import PALETTES


@pytest.fixture
def chart(qtbot, dressed):
    chart = SweepChart()
    qtbot.addWidget(chart)
    chart.resize(700, 240)
    chart.show()
    return chart


def test_empty_it_says_so(chart):
    assert chart.text() == NOTHING
    chart.grab()


def test_one_number_makes_columns_in_its_order(chart):
    plan = length_plan()
    chart.show_results(filled(plan))
    assert chart.in_columns and chart.order == [0, 1, 2, 3]
    marks = list(chart.marks())
    assert len(marks) == 12
    for row in range(4):
        assert len({mark.at.x() for mark in marks if mark.row == row}) == 1
    # faster stands higher
    best, worst = (f(marks, key=lambda m: m.speedup) for f in (max, min))
    assert best.at.y() < worst.at.y()
    assert best.effect is Effect.FASTER and worst.effect is Effect.SLOWER


def test_several_kinds_make_rows(chart):
    chart.show_results(filled(mixed_plan()))
    assert not chart.in_columns
    marks = list(chart.marks())
    for row in range(4):
        assert len({mark.at.y() for mark in marks if mark.row == row}) == 1
    best, worst = (f(marks, key=lambda m: m.speedup) for f in (max, min))
    assert best.at.x() > worst.at.x()
    assert all(chart.rect().contains(mark.at.toPoint()) for mark in marks)


def test_in_words_each_setting_has_its_range_and_the_best_is_named(chart):
    results = filled(length_plan())
    chart.show_results(results)
    lines = chart.text().splitlines()
    assert lines[2] == "4 draft tokens: 0.92× to 1.61×"
    assert [line for line in lines if line.endswith(", the best")] == [
        line for line in lines if line.startswith(results.best().label)
    ]
    assert chart.accessibleDescription() == chart.text()


def test_a_click_chooses_a_setting(qtbot, chart):
    heard = Heard()
    chart.row_chosen.connect(heard)
    chart.show_results(filled(length_plan()))
    at = next(mark.at for mark in chart.marks() if mark.row == 3)
    qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=at.toPoint())
    qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
    assert heard.said == [3]


def test_the_tooltip_tells_of_the_nearest_mark(chart):
    chart.show_results(filled(length_plan()))
    mark = next(m for m in chart.marks() if m.row == 2 and m.prompt == 1)
    told = chart.tooltip_at(mark.at)
    assert told.startswith("Story, 4 draft tokens: 0.92×, slower\n")
    assert "against" in told
    assert chart.tooltip_at(QPointF(-5, -5)) == ""


def test_a_setting_without_a_figure_says_so(chart):
    chart.show_results(filled(length_plan(), n_runs=2))
    assert len(list(chart.marks())) == 1
    band = chart._band(3)
    assert chart.tooltip_at(band.center()) == "8 draft tokens: not measured"
    chart.grab()


@pytest.mark.parametrize("palette", PALETTES, ids=lambda p: p.name)
@pytest.mark.parametrize("plan", [length_plan(), mixed_plan()], ids=["columns", "rows"])
@pytest.mark.parametrize("width", [240, 980])
def test_it_paints_in_every_palette_and_width(chart, palette, plan, width):
    chart.apply_palette(palette)
    chart.show_results(filled(plan))
    chart.mark_row(1)
    chart.mark_prompt(0)
    chart.resize(width, chart.height())
    image = chart.grab().toImage()
    for mark in chart.marks():
        # those of the chosen prompt are painted in full, and over the others
        if mark.prompt == 0:
            assert image.pixelColor(mark.at.toPoint()) == QColor(
                effect_colour(mark.effect, palette)
            )


def test_only_faster_is_green():
    for palette in PALETTES:
        assert effect_colour(Effect.FASTER, palette) == palette.accepted
        assert effect_colour(Effect.FLAT, palette) == palette.recovered
        assert effect_colour(Effect.SLOWER, palette) == palette.slower


def test_many_settings_still_fit(chart):
    results = SweepResults(mixed_plan(PROMPTS[:1]))
    chart.show_results(results)
    low = chart.height()
    chart.show_results(filled(length_plan()))
    assert chart.height() > low
