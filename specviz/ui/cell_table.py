"""A table of ready-made cells: sortable by column, one row chosen, copied with Ctrl+C.

Knows nothing of what the cells say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractTableModel,
    QLineF,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPalette,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from specviz.export.csv_tables import cell as plain_cell
from specviz.ui.plain_text import tooltip
from specviz.ui.sweep_chart import effect_colour
from specviz.ui.sweep_words import Cell
from specviz.ui.theme import DARK, Palette
from specviz.ui.typefaces import Weight, figure_font, interface_font

ROW_HEIGHT = 27
HEAD_HEIGHT = 30
CELL_PADDING = 20
ARROW = 14
"""Beside a title, for the mark of the order."""
LEAST_WIDE = 190

Index = QModelIndex | QPersistentModelIndex
Role = Qt.ItemDataRole


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row by its key. `strong` rows stand out, `quiet` ones are in the background."""

    key: int
    cells: tuple[Cell, ...]
    strong: bool = False
    quiet: bool = False


class _Model(QAbstractTableModel):
    """The rows in the order they are shown."""

    def __init__(self, columns: Sequence[tuple[str, str]], left: Collection[int]) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self._left = frozenset(left)
        self.rows: list[TableRow] = []
        self.palette = DARK
        self._given: tuple[TableRow, ...] = ()
        self._by: tuple[int, Qt.SortOrder] | None = None

    def set_rows(self, rows: Sequence[TableRow]) -> None:
        """Other cells; the same keys in the same order keep their places, and so the choice."""
        before = [row.key for row in self.rows]
        self._given = tuple(rows)
        ordered = self._ordered()
        if [row.key for row in ordered] == before:
            self.rows = ordered
            if before:
                last = self.index(len(before) - 1, len(self.columns) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self.rows = ordered
        self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._by = (column, order) if column >= 0 else None
        self.beginResetModel()
        self.rows = self._ordered()
        self.endResetModel()

    def _ordered(self) -> list[TableRow]:
        """What is undefined stands last, whichever way it is sorted."""
        if self._by is None:
            return list(self._given)
        column, order = self._by
        known = [row for row in self._given if row.cells[column].order is not None]
        known.sort(
            key=lambda row: row.cells[column].order or 0.0,
            reverse=order is Qt.SortOrder.DescendingOrder,
        )
        return known + [row for row in self._given if row.cells[column].order is None]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        title, explained = self.columns[section]
        if role == Role.ToolTipRole:
            return tooltip(explained)
        if role == Role.TextAlignmentRole:
            return self._side(section)
        return title if role == Role.DisplayRole else None

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        row = self.rows[index.row()]
        cell = row.cells[index.column()]
        if role in (Role.DisplayRole, Role.AccessibleTextRole):
            return cell.text
        if role == Role.ToolTipRole:
            return tooltip(cell.text)
        if role == Role.TextAlignmentRole:
            return self._side(index.column())
        if role == Role.FontRole:
            weight = Weight.DemiBold if row.strong else Weight.Normal
            of_words = index.column() in self._left
            return interface_font(13, weight) if of_words else figure_font(13, weight)
        if role == Role.ForegroundRole:
            if cell.effect is not None:
                return QColor(effect_colour(cell.effect, self.palette))
            return QColor(self.palette.quiet if row.quiet else self.palette.text)
        return None

    def _side(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignLeft if column in self._left else Qt.AlignmentFlag.AlignRight
        return side | Qt.AlignmentFlag.AlignVCenter


class _Dashes(QStyledItemDelegate):
    """Draws a dashed line below rows in the background, like the baseline's curve elsewhere.

    Chosen cells keep their colour.
    """

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        colour = index.data(Role.ForegroundRole)
        if isinstance(colour, QColor):
            option.palette.setColor(QPalette.ColorRole.HighlightedText, colour)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        model = index.model()
        if isinstance(model, _Model) and model.rows[index.row()].quiet:
            pen = QPen(QColor(model.palette.quiet), 1)
            pen.setDashPattern([4, 3])
            # as if it were one line through all cells
            pen.setDashOffset(option.rect.left())
            painter.setPen(pen)
            box = option.rect
            painter.drawLine(QLineF(box.left(), box.bottom(), box.right(), box.bottom()))


class CellTable(QTableView):
    """As tall as its rows, up to `most_rows`; then it scrolls.

    Signals:
        row_chosen(object): the key of the chosen row, None for none.
    """

    row_chosen = Signal(object)

    def __init__(
        self,
        columns: Sequence[tuple[str, str]],
        name: str,
        object_name: str,
        *,
        most_rows: int = 14,
        sortable: bool = False,
        wide: Collection[int] = (0,),
        left: Collection[int] = (0,),
        spare: Sequence[int] = (),
        parent: QWidget | None = None,
    ) -> None:
        """`wide`: the columns that share the room that is left; `left`: those of words; `spare`:
        those that go first where there is little room."""
        super().__init__(parent)
        self.setObjectName(object_name)
        self.setProperty("kind", "cells")
        self.setAccessibleName(name)
        self._model = _Model(columns, left)
        self._most_rows = most_rows
        self._wide, self._spare = tuple(wide), tuple(spare)
        self._chosen: int | None = None
        self.setModel(self._model)
        self.setItemDelegate(_Dashes(self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        down, across = self.verticalHeader(), self.horizontalHeader()
        down.hide()
        down.setDefaultSectionSize(ROW_HEIGHT)
        down.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        across.setFixedHeight(HEAD_HEIGHT)
        across.setHighlightSections(False)
        across.setSectionsClickable(sortable)
        across.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if sortable:
            # in the order of the plan until a column is chosen
            across.setSortIndicatorClearable(True)
            across.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
            self.setSortingEnabled(True)
        self.selectionModel().currentRowChanged.connect(self._on_current)
        self._model.modelReset.connect(self._choose_again)
        self._fit()

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._model.palette = palette
        self.viewport().update()

    def set_rows(self, rows: Sequence[TableRow]) -> None:
        """Show these rows; the chosen one stays chosen while it is there."""
        n_before = len(self._model.rows)
        self._model.set_rows(rows)
        if len(rows) != n_before:
            self._fit()
        self._arrange()

    def choose(self, key: int | None) -> None:
        """Choose a row, as a click does; None: no row."""
        keys = [row.key for row in self._model.rows]
        if key in keys:
            self.setCurrentIndex(self._model.index(keys.index(key), 0))
        else:
            self.clearSelection()
            self.setCurrentIndex(QModelIndex())

    @property
    def chosen(self) -> int | None:
        """The key of the chosen row."""
        return self._chosen

    @property
    def keys(self) -> list[int]:
        """The rows by their keys, as they are shown."""
        return [row.key for row in self._model.rows]

    def texts(self, key: int) -> list[str]:
        """What a row shows."""
        row = next(row for row in self._model.rows if row.key == key)
        return [cell.text for cell in row.cells]

    def copy(self) -> None:
        """Copy the chosen row under the titles, or all rows, as a table that spreadsheets take."""
        rows = [row for row in self._model.rows if row.key == self._chosen] or self._model.rows
        lines = [[title for title, _ in self._model.columns]]
        # names may come from a file: no cell shall run as a formula
        lines += [[plain_cell(cell.text) for cell in row.cells] for row in rows]
        text = "\n".join("\t".join(" ".join(each.split()) for each in line) for line in lines)
        QGuiApplication.clipboard().setText(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def _on_current(self, current: QModelIndex, _before: QModelIndex) -> None:
        key = self._model.rows[current.row()].key if current.isValid() else None
        if key != self._chosen:
            self._chosen = key
            self.row_chosen.emit(key)

    def _choose_again(self) -> None:
        """Other rows, or another order: the choice moves along."""
        key, self._chosen = self._chosen, None
        if key in self.keys:
            self.choose(key)
        elif key is not None:
            self.row_chosen.emit(None)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """Each column as wide as it needs; the wide ones share the rest, spare ones may go."""
        widths = [self._needed(column) for column in range(len(self._model.columns))]
        room, hidden = self.viewport().width(), set[int]()
        least = sum(min(widths[column], LEAST_WIDE) for column in self._wide)
        for column in self._spare:
            narrow = sum(w for i, w in enumerate(widths) if i not in (*self._wide, *hidden))
            if narrow + least <= room:
                break
            hidden.add(column)
        rest = room - sum(w for i, w in enumerate(widths) if i not in (*self._wide, *hidden))
        for column, width in enumerate(widths):
            self.setColumnHidden(column, column in hidden)
            if column in self._wide:
                width = max(rest // len(self._wide), 40)
            self.horizontalHeader().resizeSection(column, width)

    def _needed(self, column: int) -> int:
        """What title and cells of a column take at most."""
        head = QFontMetricsF(interface_font()).horizontalAdvance(self._model.columns[column][0])
        cells = QFontMetricsF(figure_font(13, Weight.DemiBold))
        texts = {row.cells[column].text for row in self._model.rows}
        return round(max([head + ARROW, *map(cells.horizontalAdvance, texts)]) + CELL_PADDING)

    def _fit(self) -> None:
        n = min(max(len(self._model.rows), 1), self._most_rows)
        self.setFixedHeight(HEAD_HEIGHT + n * ROW_HEIGHT + 2)
