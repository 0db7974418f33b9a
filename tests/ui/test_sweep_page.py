"""The page of a sweep: what is shown when, what is chosen, what is asked for."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from support.made_sweeps import PROMPTS, filled, length_plan, mixed_plan
from support.shell import Heard
from support.sweeps import run_at

from specviz.sweep.results import SweepResults
from specviz.ui.clock import FIGURES_MS
from specviz.ui.reading_column import reading_column
from specviz.ui.sweep_page import BASELINE_KEY, SweepPage
from specviz.ui.theme import DARK, LIGHT


@pytest.fixture
def page(qtbot, dressed):
    page = SweepPage(PROMPTS)
    qtbot.addWidget(page)
    page.resize(1000, 800)
    page.show()
    return page


def test_before_the_first_sweep_there_is_the_form_and_a_sentence(page):
    assert page.verdict.words.headline == "No sweep yet"
    assert page.form.isVisible() and not page.fold.isVisible()
    assert not page.table.isVisible() and not page.chart.isVisible()


def test_results_fill_chart_and_tables_and_the_best_is_chosen(page):
    results = filled(length_plan())
    page.show_results(results)
    assert page.table.keys == [BASELINE_KEY, 0, 1, 2, 3]
    assert page.chosen == results.best().index
    assert [page.prompts.texts(i)[0] for i in range(3)] == [p.name for p in PROMPTS]
    title = page._prompts_title.accessibleName()
    assert title == f"{results.best().label}, prompt by prompt"


def test_where_nothing_helps_the_closest_is_chosen(page):
    page.show_results(filled(length_plan(), {p.name: (0.9, 0.94, 0.7, 0.6) for p in PROMPTS}))
    assert page.chosen == 1


def test_table_and_chart_choose_for_each_other(qtbot, page):
    page.show_results(filled(length_plan()))
    page.chart.row_chosen.emit(3)
    assert page.table.chosen == 3 and page.chart._row == 3
    page.table.choose(BASELINE_KEY)
    assert page.chosen is None and page.chart._row is None
    assert not page.buttons["use"].isEnabled() and not page.buttons["command"].isEnabled()
    assert page.prompts.texts(0)[1] == "–"
    page.table.choose(0)
    assert page.buttons["use"].isEnabled() and page.buttons["command"].isEnabled()
    page.prompts.choose(1)
    assert page.chart._prompt == 1


def test_while_it_runs_rows_fill_and_the_users_choice_stays(page):
    plan = length_plan()
    results = SweepResults(plan)
    page.set_locked(True)
    page.show_results(results, running=True)
    assert page.chosen is None
    for number, (prompt, point) in enumerate(plan.runs()):
        results.add(prompt, point, run_at(10.0 + number, plan.config(prompt, point)))
        page.refresh()
        if number == 3:
            page.table.choose(0)
    assert page.verdict.words.headline == "15 of 15 runs"
    assert page.chosen == 0
    assert not page.buttons["use"].isEnabled()
    page.set_running(False)
    page.set_locked(False)
    assert page.chosen == 0 and page.buttons["use"].isEnabled()
    assert page.verdict.words.headline.startswith("Helps on")


def test_changes_are_drawn_soon_and_together(qtbot, page, monkeypatch):
    plan = length_plan()
    results = SweepResults(plan)
    page.show_results(results, running=True)
    assert page._late.interval() == FIGURES_MS
    for prompt, point in list(plan.runs())[:3]:
        results.add(prompt, point, run_at(12.0, plan.config(prompt, point)))
        page.note_change()
    assert page.table.texts(0)[3] == "–", "not yet"
    qtbot.waitUntil(lambda: page.table.texts(0)[3] == "12.0")
    assert page.verdict.words.headline == "3 of 15 runs"


def test_actions_are_asked_for_by_name(page):
    heard = Heard()
    page.action_requested.connect(heard)
    page.show_results(filled(length_plan()))
    for button in page.buttons.values():
        button.click()
    assert heard.said == ["use", "command", "csv", "json"]


def test_nothing_to_export_before_the_first_run(page):
    page.show_results(SweepResults(length_plan()), running=True)
    assert not page.buttons["csv"].isEnabled() and not page.buttons["json"].isEnabled()


def test_the_form_folds_away_and_comes_back(qtbot, page):
    page.show_results(filled(length_plan()))
    page.set_summary("Draft model (draft tokens 1:8)")
    page.set_folded(True)
    summary = page.findChild(object, "sweep-summary")
    assert not page.form.isVisible() and summary.text() == "Draft model (draft tokens 1:8)"
    qtbot.mouseClick(page.fold, Qt.MouseButton.LeftButton)
    assert page.form.isVisible() and summary.text() == ""
    page.set_folded(True)
    page.show_results(None)
    assert page.form.isVisible()


def test_a_setup_that_changed_since_is_told(page):
    page.show_results(filled(length_plan()))
    page.set_stale("Measured with Qwen3 14B; the setup has changed since.")
    assert "the setup has changed since" in page.verdict.text()
    page.set_stale("")
    assert "changed" not in page.verdict.text()


def test_names_from_a_file_are_shown_literally(page):
    from specviz.sweep.plan import SweepPrompt

    plan = length_plan([SweepPrompt("<b>Bold</b>", "x")])
    results = SweepResults(plan)
    results.add(0, None, run_at(10.0, plan.config(0, None)))
    results.add(0, 0, run_at(12.0, plan.config(0, 0)))
    page.show_results(results)
    assert page.prompts.texts(0)[0] == "<b>Bold</b>"
    mark = next(iter(page.chart.marks()))
    assert "<b>Bold</b>" in page.chart.tooltip_at(mark.at)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda p: p.name)
@pytest.mark.parametrize("width", [700, 984, 1600])
def test_nothing_is_wider_than_the_page(qtbot, page, palette, width):
    page.apply_palette(palette)
    page.resize(width, 520)
    page.show_results(filled(mixed_plan()))
    page.grab()
    room = page.area.viewport().width()
    assert page.area.widget().width() <= room
    left, column = reading_column(width)
    qtbot.waitUntil(page.area.verticalScrollBar().isVisible)
    # the column ends where the verdict and the bar below end, scroll bar or not
    qtbot.waitUntil(
        lambda: page.table.mapTo(page, page.table.rect().topRight()).x() + 1 == left + column
    )
    for view in (page.chart, page.table, page.prompts, page.form):
        right = view.mapTo(page.area.widget(), view.rect().topRight()).x()
        assert right <= room
    for table in (page.table, page.prompts):
        assert not table.horizontalScrollBar().isVisible()
        assert table.columnWidth(0) >= 90
