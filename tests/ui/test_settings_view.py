"""Settings asked for and in effect: what is marked, in which words, and how it is copied."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from support.traces import TraceBuilder, baseline_of, explanation

from specviz.trace.settings_in_effect import SettingRow
from specviz.ui.figures import DASH
from specviz.ui.settings_view import (
    DIFFERS,
    SettingsLine,
    SettingsView,
    difference_words,
    shown_value,
)
from specviz.ui.theme import DARK, LIGHT

SAME = SettingRow(key="top_k", words="Top-k", requested="40", effective="40")
OTHER = SettingRow(
    key="n_ctx", words="Context", requested="4096 tokens", effective="4352 tokens", differs=True
)
UNTOLD = SettingRow(key="rollback", words="Forgetting tokens", requested=None, effective=None)


@pytest.fixture
def view(qtbot, dressed):
    view = SettingsView()
    qtbot.addWidget(view)
    view.apply_palette(DARK)
    return view


@pytest.fixture
def line(qtbot, dressed):
    line = SettingsLine()
    qtbot.addWidget(line)
    return line


def cells(view: SettingsView, row: int) -> list[str]:
    return [view._table.item(row, column).text() for column in range(4)]


def test_what_differs_has_sign_words_and_colour(view):
    view.show_rows((SAME, OTHER, UNTOLD))
    assert cells(view, 0) == ["Top-k", "40", "40", ""]
    assert cells(view, 1) == ["Context", "4096 tokens", "4352 tokens", DIFFERS]
    assert cells(view, 2) == ["Forgetting tokens", DASH, DASH, ""]
    assert view._table.item(1, 2).foreground().color() == QColor(DARK.recovered)
    assert view._table.item(0, 2).foreground().color() != QColor(DARK.recovered)
    view.apply_palette(LIGHT)
    assert view._table.item(1, 2).foreground().color() == QColor(LIGHT.recovered)
    assert "One setting was in effect in another way" in view.accessibleDescription()


def test_it_is_copied_as_text_by_key_and_button(qtbot, view):
    view.show_rows((SAME, OTHER))
    expected = (
        "Setting\tAsked for\tIn effect\n"
        "Top-k\t40\t40\n"
        f"Context\t4096 tokens\t4352 tokens\t{DIFFERS}"
    )
    view._copy.click()
    assert QGuiApplication.clipboard().text() == expected
    QGuiApplication.clipboard().clear()
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == expected


def test_before_a_run_there_is_a_sentence_and_nothing_to_copy(view):
    view.show_rows(())
    assert view._sentence.text().startswith("There is no run yet.")
    assert not view._copy.isEnabled()


@pytest.mark.parametrize("text", ["<b>bold</b>", "\u202eoverride", "two\nlines", "x" * 500])
def test_values_are_shown_literally_on_one_line(view, text):
    view.show_rows((SettingRow(key="stop", words="Stop texts", requested=text, effective=text),))
    shown = cells(view, 0)[1]
    assert len(shown) <= 80 and "\n" not in shown and "\u202e" not in shown
    if text.startswith("<"):
        assert shown == text
        assert "<b>" not in view._table.item(0, 1).toolTip()


def test_an_undefined_value_is_a_dash():
    assert shown_value(None) == DASH


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((), "Settings in effect"),
        ((SAME,), "All settings are in effect as asked"),
        ((SAME, OTHER), "1 setting differs from what was asked"),
        ((OTHER, OTHER), "2 settings differ from what was asked"),
    ],
)
def test_the_line_says_how_many_differ(rows, words):
    assert difference_words(rows) == words


def test_the_line_tells_of_the_run_on_show_and_opens_the_view(qtbot, line):
    trace = explanation().trace
    baseline = baseline_of(trace)
    line.show_traces(baseline, trace)
    assert line.text() == "All settings are in effect as asked…"
    trace.started.effective["n_ctx"] = 4352
    line.show_traces(baseline, trace)
    assert line.text() == "≠ 1 setting differs from what was asked…"
    assert line.property("role") == "hint"
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
    qtbot.addWidget(line.view)
    assert line.view.isVisible()
    assert line.view._sentence.text().endswith("in the speculative run.")
    line.show_traces(baseline, None)
    assert line.view._sentence.text() == "The baseline had all its settings as they were asked for."
    line.show_traces(None, TraceBuilder().finish())
    assert not any(row.differs for row in line.view.rows)
