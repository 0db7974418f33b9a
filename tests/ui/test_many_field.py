"""Several of a few values, ticked in a menu."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu
from support.shell import Heard

from specviz.ui.many_field import ManyField
from specviz.ui.setting_fields import Choice

CHOICES = (
    Choice("a", "first way", "Does it so.", "ngram-a"),
    Choice("b", "second way", "Does it otherwise."),
    Choice("c", "third way"),
)


@pytest.fixture
def field(qtbot, dressed):
    made = ManyField(CHOICES, ("b",), "Method", "methods", "Effect.", "ngram-methods")
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


def menu_of(field: ManyField) -> QMenu:
    assert field._menu is not None
    return field._menu


def ticked(menu: QMenu) -> list[bool]:
    return [action.isChecked() for action in menu.actions()]


def click(qtbot, menu: QMenu, index: int) -> None:
    place = menu.actionGeometry(menu.actions()[index]).center()
    qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=place)


def test_a_click_opens_a_menu_that_stays_open_while_ways_are_ticked(qtbot, field):
    heard = Heard()
    field.value_changed.connect(lambda values: heard(values, None))
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    menu = menu_of(field)
    assert ticked(menu) == [False, True, False]
    click(qtbot, menu, 2)
    click(qtbot, menu, 0)
    assert menu.isVisible() and ticked(menu) == [True, True, True]
    assert field.values == ("a", "b", "c"), "in the order of the choices"
    assert field.text() == "3 methods"
    click(qtbot, menu, 1)
    assert field.values == ("a", "c") and len(heard.said) == 3
    menu.close()


def test_the_last_one_cannot_be_taken_away(qtbot, field):
    heard = Heard()
    field.value_changed.connect(lambda values: heard(values, None))
    field.open_menu()
    menu = menu_of(field)
    click(qtbot, menu, 1)
    assert ticked(menu) == [False, True, False] and field.values == ("b",)
    assert heard.said == []
    menu.close()


def test_space_ticks_and_escape_closes(qtbot, field):
    qtbot.keyClick(field, Qt.Key.Key_Return)
    menu = menu_of(field)
    qtbot.keyClick(menu, Qt.Key.Key_Down)
    qtbot.keyClick(menu, Qt.Key.Key_Space)
    assert menu.isVisible() and field.values == ("b", "c")
    qtbot.keyClick(menu, Qt.Key.Key_Escape)
    assert not menu.isVisible() and field.values == ("b", "c")


def test_arrows_step_while_one_is_chosen_and_open_the_menu_for_several(qtbot, field):
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up):
        qtbot.keyClick(field, key)
    assert field.values == ("a",) and field.text() == "first way"
    field.set_values(("a", "c"))
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert field.values == ("a", "c") and menu_of(field).isVisible()
    menu_of(field).close()


def test_what_is_chosen_is_told_and_explained(field):
    field.set_values(("a", "b"))
    assert field.accessibleName() == "Method: first way, second way"
    assert field.accessibleDescription() == (
        "Effect. First way: Does it so. Second way: Does it otherwise."
    )
    assert "Does it otherwise." in field.toolTip()
    actions = field.make_menu().actions()
    assert actions[0].text() == "first way\tngram-a"
    assert actions[0].toolTip() == "Does it so."


def test_nothing_at_all_is_not_taken(field):
    field.set_values(())
    assert field.values == ("b",)
    field.set_values(("unknown",))
    assert field.values == ("b",)
