"""A setting that takes several of a few values, ticked in a menu that stays open meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QWidget

from specviz.ui.menus import round_corners
from specviz.ui.plain_text import tooltip
from specviz.ui.setting_fields import Choice, ValueButton


class _TickMenu(QMenu):
    """Stays open while entries are ticked, by click or Space; Enter ticks and closes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        round_corners(self)
        self.setProperty("checkable", "true")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        action = self.actionAt(event.position().toPoint())
        if action is not None and action.isCheckable():
            action.trigger()
        else:
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = self.activeAction()
        if event.key() == Qt.Key.Key_Space and action is not None and action.isCheckable():
            action.trigger()
        else:
            super().keyPressEvent(event)


class ManyField(ValueButton):
    """One or more of a few values. A click or Enter opens the menu.

    At least one stays chosen. Arrow keys step through while exactly one is. `plural` is the noun
    for more than one, as in “2 methods”.
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        values: Sequence[str],
        name: str,
        plural: str,
        effect: str,
        object_name: str,
    ) -> None:
        super().__init__(name, effect, object_name)
        self._choices = {choice.value: choice for choice in choices}
        self._plural = plural
        self._effect = effect
        self._values = tuple(values)
        self._show()

    @property
    def values(self) -> tuple[str, ...]:
        """The chosen values, in the order of the choices."""
        return self._values

    def set_values(self, values: Sequence[str]) -> None:
        """Show others without announcing it; of none at all, nothing is taken."""
        self._values = tuple(each for each in self._choices if each in values) or self._values
        self._show()

    def make_menu(self) -> QMenu:
        """All values, the chosen ones ticked."""
        menu = _TickMenu(self)
        for value, choice in self._choices.items():
            action = choice.action(menu)
            action.setChecked(value in self._values)
            action.triggered.connect(lambda _on, act=action, each=value: self._tick(act, each))
            menu.addAction(action)
        menu.setActiveAction(menu.actions()[list(self._choices).index(self._values[0])])
        return menu

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        step = steps.get(Qt.Key(event.key()))
        if step is None or event.modifiers():
            super().keyPressEvent(event)
        elif len(self._values) > 1:
            self.begin_edit()
        else:
            values = list(self._choices)
            index = values.index(self._values[0]) + step
            if 0 <= index < len(values):
                self._take((values[index],))

    def _tick(self, action: QAction, value: str) -> None:
        others = tuple(each for each in self._values if each != value)
        if action.isChecked():
            self._take((*others, value))
        elif others:
            self._take(others)
        else:
            action.setChecked(True)

    def _take(self, values: tuple[str, ...]) -> None:
        before = self._values
        self.set_values(values)
        if self._values != before:
            self.value_changed.emit(self._values)

    def _show(self) -> None:
        chosen = [self._choices[value] for value in self._values]
        spoken = ", ".join(choice.word for choice in chosen)
        several = len(chosen) > 1
        self.show_text(f"{len(chosen)} {self._plural}" if several else spoken, spoken)
        sentences = [self._effect, *(choice.explained for choice in chosen if choice.effect)]
        self.setToolTip(tooltip("\n\n".join(sentences)))
        self.setAccessibleDescription(" ".join(sentences))
