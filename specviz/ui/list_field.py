"""A text field for several numbers, such as `1, 2, 4` or `1:8`."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit

from specviz.ui.plain_text import describe, set_role, tooltip
from specviz.ui.sweep_lists import ListFormat

FIELD_WIDTH = 116


class ListField(QLineEdit):
    """The values that are typed; none while what is typed cannot be read.

    Signals:
        changed(): something else is typed.
    """

    changed = Signal()

    def __init__(self, wanted: ListFormat, effect: str, object_name: str) -> None:
        super().__init__()
        self.wanted = wanted
        self._effect = effect
        self._values: tuple[float, ...] = ()
        self._problem = ""
        self.setObjectName(object_name)
        self.setProperty("kind", "list")
        self.setFixedWidth(FIELD_WIDTH)
        self.setMaxLength(400)
        self.setAcceptDrops(False)
        describe(self, wanted.label, effect)
        self.textChanged.connect(self._read)

    @property
    def values(self) -> tuple[float, ...]:
        """What is typed, in rising order; empty for an empty field."""
        return self._values

    @property
    def problem(self) -> str:
        """Why what is typed cannot be read, in a sentence; empty when it can."""
        return self._problem

    def _read(self, text: str) -> None:
        try:
            self._values, self._problem = self.wanted.parse(text), ""
        except ValueError as error:
            self._values, self._problem = (), str(error)
        set_role(self, "true" if self._problem else "false", "wrong")
        self.setToolTip(tooltip(self._problem or self._effect))
        self.setAccessibleDescription(self._problem or self._effect)
        self.changed.emit()
