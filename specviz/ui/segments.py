"""A row of segments of which one is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QPushButton, QWidget

from specviz.ui.plain_text import describe


@dataclass(frozen=True, slots=True)
class Segment:
    """One choice: its value, its words, what it does, and the name tests know it by."""

    value: str
    label: str
    effect: str
    object_name: str


class SegmentedControl(QFrame):
    """Shows all choices side by side; arrow keys move the choice.

    Signals:
        chosen(str): the user chose another value.
    """

    chosen = Signal(str)

    def __init__(self, segments: Sequence[Segment], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "segments")
        self.setFixedHeight(32)
        self._buttons: dict[str, QPushButton] = {}
        self._group = QButtonGroup(self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(3, 3, 3, 3)
        layout.setSpacing(0)
        for segment in segments:
            button = QPushButton(segment.label)
            button.setObjectName(segment.object_name)
            button.setProperty("kind", "segment")
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            describe(button, segment.label, segment.effect)
            button.clicked.connect(lambda _on, value=segment.value: self._choose(value))
            self._group.addButton(button)
            self._buttons[segment.value] = button
            # room beyond what the words need is shared so that all have about the same padding
            layout.addWidget(button, len(segment.label) + 4)
        self._value = segments[0].value
        self.set_value(self._value)

    @property
    def value(self) -> str:
        return self._value

    def buttons(self) -> list[QPushButton]:
        """The segments, from the left."""
        return list(self._buttons.values())

    def set_value(self, value: str) -> None:
        """Choose without announcing it. Unknown values are ignored."""
        if value not in self._buttons:
            return
        self._value = value
        for each, button in self._buttons.items():
            button.setChecked(each == value)
            # Tab reaches the control once, at the chosen segment
            button.setFocusPolicy(
                Qt.FocusPolicy.TabFocus if each == value else Qt.FocusPolicy.NoFocus
            )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}
        step = steps.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        values = list(self._buttons)
        index = values.index(self._value) + step
        if 0 <= index < len(values):
            self._choose(values[index])
            self._buttons[values[index]].setFocus(Qt.FocusReason.TabFocusReason)

    def _choose(self, value: str) -> None:
        changed = value != self._value
        self.set_value(value)
        if changed:
            self.chosen.emit(value)
