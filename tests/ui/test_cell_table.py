"""A table of ready-made cells: order, choice, room, copying, colours."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication
from support.shell import Heard

from specviz.ui.cell_table import LEAST_WIDE, CellTable, TableRow
from specviz.ui.sweep_words import Cell, Effect
from specviz.ui.theme import DARK

COLUMNS = (("Setting", "What."), ("Speed-up", "How much."), ("Per step", "Tokens."))
Role = Qt.ItemDataRole


def row(key: int, name: str, speedup: float | None, **looks: bool) -> TableRow:
    text = "–" if speedup is None else f"{speedup:.2f}×"
    effect = Effect.FASTER if speedup and speedup > 1.05 else None
    return TableRow(key, (Cell(name, key), Cell(text, speedup, effect), Cell("2.0", 2.0)), **looks)


ROWS = [
    row(-1, "baseline", 1.0, quiet=True),
    row(0, "one", 1.2),
    row(1, "two", None),
    row(2, "four", 1.6, strong=True),
]


@pytest.fixture
def table(qtbot, dressed):
    table = CellTable(COLUMNS, "Settings", "cells", sortable=True, spare=(2,), most_rows=3)
    qtbot.addWidget(table)
    table.apply_palette(DARK)
    table.resize(600, 200)
    table.set_rows(ROWS)
    table.show()
    return table


def press(qtbot, table: CellTable, column: int) -> None:
    """Click a title."""
    header = table.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(column) + 10, 10)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)


def test_rows_stand_as_given_until_a_title_is_clicked(qtbot, table):
    assert table.keys == [-1, 0, 1, 2]
    press(qtbot, table, 1)
    assert table.keys == [-1, 0, 2, 1]
    press(qtbot, table, 1)
    # what is undefined stays last
    assert table.keys == [2, 0, -1, 1]


def test_the_choice_stays_with_its_row(qtbot, table):
    heard = Heard()
    table.row_chosen.connect(heard)
    table.choose(2)
    press(qtbot, table, 1)
    press(qtbot, table, 1)
    assert table.chosen == 2 and table.currentIndex().row() == 0
    table.set_rows([*ROWS[:3], row(2, "four", 1.7)])
    assert table.chosen == 2
    table.set_rows(ROWS[:2])
    assert table.chosen is None
    assert heard.said[0] == 2 and heard.said[-1] is None


def test_arrow_keys_choose(qtbot, table):
    table.choose(-1)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert table.chosen == 0
    table.choose(None)
    assert table.chosen is None


def test_copying_gives_titles_and_the_chosen_row_and_no_formula(qtbot, table):
    table.set_rows([TableRow(0, (Cell("=1+1\tx"), Cell("1.20×"), Cell("2.0"))), *ROWS[3:]])
    table.choose(0)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == (
        "Setting\tSpeed-up\tPer step\n'=1+1 x\t1.20×\t2.0"
    )


def test_without_a_choice_all_rows_are_copied(table):
    table.choose(None)
    table.copy()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 1 + len(ROWS)


def test_colour_is_for_what_is_faster_and_quiet_for_the_background(table):
    model = table.model()

    def colour(line: int, column: int) -> QColor:
        return model.data(model.index(line, column), Role.ForegroundRole)

    assert colour(3, 1) == QColor(DARK.accepted)
    assert colour(3, 0) == QColor(DARK.text)
    assert colour(0, 1) == QColor(DARK.quiet)
    assert model.data(model.index(3, 0), Role.FontRole).bold()


def test_the_chosen_row_keeps_its_colours(table):
    def has_green() -> bool:
        image = table.viewport().grab().toImage()
        green, room = QColor(DARK.accepted), range(image.height())
        return any(image.pixelColor(x, y) == green for x in range(image.width()) for y in room)

    table.set_rows([row(0, "one", 1.2)])
    table.choose(None)
    assert has_green()
    table.choose(0)
    assert has_green()


def test_names_are_never_markup(table):
    table.set_rows([TableRow(0, (Cell("<b>x</b>"), Cell("1"), Cell("2")))])
    told = table.model().data(table.model().index(0, 0), Role.ToolTipRole)
    assert "&lt;b&gt;" in told


def test_where_there_is_little_room_spare_columns_go(table):
    assert not table.isColumnHidden(2)
    table.resize(LEAST_WIDE + 40, 200)
    assert table.isColumnHidden(2)
    table.resize(600, 200)
    assert not table.isColumnHidden(2)
    assert sum(table.columnWidth(i) for i in range(3)) <= table.viewport().width()


def test_it_is_as_tall_as_its_rows_up_to_a_limit(table):
    tall = table.height()
    table.set_rows(ROWS[:1])
    assert table.height() < tall
    table.set_rows(ROWS)
    assert table.height() == tall
    assert table.model().rowCount(QModelIndex()) == 4
    table.grab()
