"""A file as a setting: chosen in a dialog, shown by its name, taken away again."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget
from support.shell import Heard

from specviz.ui.file_field import FileField

NAME = "counts-of-a-very-long-kind-from-wikipedia.lcs"


@pytest.fixture
def field(qtbot, dressed):
    host = QWidget()
    line = QHBoxLayout(host)
    made = FileField("Static counts", "Effect.", "ngram-cache-static")
    line.addWidget(made.clear)
    line.addWidget(made)
    host.setFixedWidth(200)
    qtbot.addWidget(host)
    host.show()
    qtbot.waitExposed(host)
    made.keep = host
    return made


def test_a_click_opens_the_dialog_and_the_choice_is_announced(qtbot, field, tmp_path):
    heard = Heard()
    field.value_changed.connect(heard)
    assert field.text() == "none" and not field.clear.isVisible()
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    dialog = field.dialog
    assert isinstance(dialog, QFileDialog) and dialog.isVisible()
    dialog.fileSelected.emit(str(tmp_path / "a.lcs"))
    dialog.reject()
    assert field.dialog is None
    assert heard.said == [str(tmp_path / "a.lcs")] == [field.value]
    assert field.text() == "a.lcs" and field.clear.isVisible()
    assert field.accessibleName() == "Static counts: a.lcs"


def test_a_dialog_that_is_left_changes_nothing(qtbot, field):
    field.set_value("/data/a.lcs")
    heard = Heard()
    field.value_changed.connect(heard)
    field.choose()
    field.dialog.reject()
    assert field.value == "/data/a.lcs" and heard.said == []


@pytest.mark.parametrize("how", ["button", "key", "menu"])
def test_a_file_can_be_taken_away(qtbot, field, how):
    field.set_value("/data/a.lcs")
    heard = Heard()
    field.value_changed.connect(heard)
    if how == "button":
        qtbot.mouseClick(field.clear, Qt.MouseButton.LeftButton)
    elif how == "key":
        qtbot.keyClick(field, Qt.Key.Key_Delete)
    else:
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert field._menu.isVisible()
        field._menu.actions()[1].trigger()
        field._menu.close()
    assert field.value is None and heard.said == [None]
    assert field.text() == "none" and not field.clear.isVisible()


def test_a_long_name_loses_its_middle_and_its_path_is_in_the_tooltip(field):
    path = f"/data/<b>counts</b>/{NAME}"
    field.set_value(path)
    field.keep.layout().activate()
    assert field.text().startswith("counts") and field.text().endswith(".lcs")
    assert "…" in field.text()
    assert field.fontMetrics().horizontalAdvance(field.text()) < field.width() <= 200
    assert "&lt;b&gt;" in field.toolTip() and NAME in field.toolTip().replace("<br>", "")
    assert field.accessibleName() == f"Static counts: {NAME}", "spoken as a whole"


def test_locked_it_neither_opens_nor_asks(qtbot, field):
    field.setEnabled(False)
    field.begin_edit()
    assert field.dialog is None
