"""The rows of the draft sources: figures, room, tooltips, copying."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from support.traces import TraceBuilder, baseline_of, drafted_by, explanation, run_config

from specviz.trace.config import DraftSource
from specviz.trace.events import DraftCall
from specviz.trace.sources import source_statistics, statistics_line
from specviz.ui.figures import DASH, THIN
from specviz.ui.source_table import HEAD, LAYOUTS, NOTHING, ROW, SourceTable
from specviz.ui.source_words import NAMES, full_name
from specviz.ui.theme import DARK, LIGHT

MOD, MODEL = DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE


@pytest.fixture
def table(qtbot, dressed):
    table = SourceTable()
    qtbot.addWidget(table)
    table.apply_palette(DARK)
    table.resize(324, table.height())
    table.show()
    return table


def cells(table: SourceTable, row: int) -> list[str]:
    return [column.text(table.rows[row]) for column in table.columns]


def two_sources() -> TraceBuilder:
    builder = TraceBuilder(run_config(sources=[MOD, MODEL]))
    found = DraftCall(source=MOD, n_tokens=3, n_dropped=0, seconds=0.00002)
    short = DraftCall(source=MOD, n_tokens=0, n_dropped=2, seconds=0.00002)
    model = DraftCall(source=MODEL, n_tokens=0, n_dropped=0, seconds=0.012)
    builder.step([" a", " b", " c"], 2, " d", drafter=MOD, calls=[found], copied_from=1)
    return builder.step(target=" e", n_dropped=2, calls=[short, model])


def test_a_row_for_each_source_in_order_of_precedence(table):
    table.show_traces(None, two_sources().finish())
    assert [row.source for row in table.rows] == [MOD, MODEL]
    assert cells(table, 0) == ["2", f"2 of 3  67{THIN}%", f"20{THIN}µs"]
    assert cells(table, 1) == ["0", DASH, f"12{THIN}ms"]
    table.resize(528, table.height())
    assert cells(table, 0) == ["1", "2", f"2 of 3  67{THIN}%", f"20{THIN}µs"]
    assert table.height() == HEAD + 2 * ROW


def test_a_source_that_was_never_asked_has_dashes(table):
    table.show_traces(None, TraceBuilder(run_config(sources=[MOD])).trace)
    assert cells(table, 0) == ["0", DASH, DASH]
    assert table.text() == "ngram-mod (token chain): never asked, 0 drafts"


def test_it_grows_with_the_run_and_takes_back_what_a_stop_text_cut(table):
    builder = TraceBuilder()
    table.show_traces(None, builder.trace)
    builder.step([" a", " b"], 2, " c")
    table.refresh()
    assert cells(table, 0)[1] == f"2 of 2  100{THIN}%"
    builder.finish(n_committed=1)
    table.refresh(True)
    assert cells(table, 0)[1] == f"1 of 2  50{THIN}%"


def test_a_baseline_drafts_nothing(table):
    table.show_traces(baseline_of(explanation().trace), None)
    assert table.rows == ()
    assert table.text() == NOTHING
    table.grab()


@pytest.mark.parametrize("width", [200, 268, 324, 528])
def test_it_fits_into_every_width(table, width):
    trace = drafted_by(list(DraftSource), 3000).trace
    table.show_traces(None, trace)
    table.resize(width, table.height())
    boxes = [box for _, box in table._boxes(0, ROW)]
    assert boxes[0].left() >= 0 and boxes[-1].right() == width
    assert all(a.right() < b.left() for a, b in pairwise(boxes))
    wanted = {200: LAYOUTS[4], 268: LAYOUTS[3], 324: LAYOUTS[2], 528: LAYOUTS[0]}
    assert table.columns == wanted[width]
    assert not table.grab().isNull()


def test_the_tooltip_has_the_words_and_the_line_of_llama_cpp(table):
    table.show_traces(None, two_sources().finish())
    text = table.tooltip_at(QPoint(10, HEAD + 5))
    words, line = text.split("\n\n")
    assert words == (
        "ngram-mod (token chain): asked 2 times, 1 draft, 1 too short (2 tokens dropped), 2 of 3 "
        f"tested tokens accepted (67{THIN}%), 20{THIN}µs per call"
    )
    assert line == statistics_line(table.rows[0])
    assert table.tooltip_at(QPoint(10, 3)) == ""
    assert table.tooltip_at(QPoint(10, HEAD + 2 * ROW)) == ""


def test_the_line_of_a_source_can_be_copied_from_its_menu(table):
    trace = two_sources().finish()
    table.show_traces(None, trace)
    menu = table.make_menu(table.row_at(QPoint(0, HEAD + ROW + 1)))
    one, every = menu.actions()
    one.trigger()
    lines = [statistics_line(source) for source in source_statistics(trace)]
    assert QGuiApplication.clipboard().text() == lines[1]
    every.trigger()
    assert QGuiApplication.clipboard().text() == "\n".join(lines)


def test_the_lines_can_be_copied_by_key(qtbot, table):
    table.show_traces(None, two_sources().finish())
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().startswith("statistics        ngram-mod: #calls")


def test_nothing_to_copy_is_offered_before_a_run(table):
    (action,) = table.make_menu(None).actions()
    assert not action.isEnabled()


def test_it_can_be_read_aloud(table):
    table.show_traces(None, two_sources().finish())
    assert table.accessibleName() == "Drafting sources"
    assert table.accessibleDescription() == table.text()


@pytest.mark.parametrize("palette", [DARK, LIGHT])
def test_it_is_painted_in_the_palettes_colours(table, palette):
    table.apply_palette(palette)
    table.show_traces(None, two_sources().finish())
    image = table.grab().toImage()
    colours = {
        image.pixelColor(x, y).name().upper()
        for x in range(image.width())
        for y in range(HEAD, image.height())
    }
    assert palette.text in colours


def test_every_source_has_a_name_in_words():
    assert set(NAMES) == set(DraftSource)
    assert len(set(NAMES.values())) == len(NAMES)
    assert full_name(MOD) == "ngram-mod (token chain)"
