"""The right side of a setting row: a value that is edited where it stands.

Fields show a value and announce a change of it; they do not know what it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QColor,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import QCheckBox, QLineEdit, QMenu, QPushButton

from specviz.ui.menus import plain_menu_text, rounded_menu
from specviz.ui.numbers import NumberFormat, Value
from specviz.ui.plain_text import describe, set_role, tooltip

_STEPS = {
    Qt.Key.Key_Up: 1,
    Qt.Key.Key_Down: -1,
    Qt.Key.Key_PageUp: 10,
    Qt.Key.Key_PageDown: -10,
}
_BEGIN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2, Qt.Key.Key_Space)
_FIELD_EXTRA_PX = 14
"""Frame and padding of a field beside its text."""


class NumberField(QLineEdit):
    """A number. Click, Enter or typing edits it; arrow keys step; Escape gives up.

    Signals:
        value_changed(object): the user set another value.
        refused(str): what was typed cannot be, in a sentence; the old value stays.
        accepted(): what was typed is fine, also when it changes nothing.
    """

    value_changed = Signal(object)
    refused = Signal(str)
    accepted = Signal()

    def __init__(
        self, number: NumberFormat, value: Value, name: str, effect: str, object_name: str
    ) -> None:
        super().__init__()
        self.number = number
        self._value = value
        self.setObjectName(object_name)
        self.setProperty("kind", "value")
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setReadOnly(True)
        self.setAcceptDrops(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        describe(self, name, effect)
        self._show()

    @property
    def value(self) -> Value:
        return self._value

    @property
    def editing(self) -> bool:
        return not self.isReadOnly()

    def set_value(self, value: Value) -> None:
        """Show another value without announcing it; an edit under way is given up."""
        self._value = value
        self._end_edit()

    def set_number(self, number: NumberFormat) -> None:
        """Other limits from now on; the value stays what it is."""
        self.number = number
        if not self.editing:
            self._show()

    def set_wrong(self, wrong: bool) -> None:
        """Mark the field, or no longer."""
        set_role(self, "true" if wrong else "false", "wrong")

    def begin_edit(self) -> None:
        """Let the user type over the value."""
        if self.editing or not self.isEnabled():
            return
        self.setReadOnly(False)
        self.setText(self.number.typed(self._value))
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        self.selectAll()

    def sizeHint(self) -> QSize:
        texts = [self.number.shown(self._value)]
        if self.editing:
            texts += [self.text(), "0000"]
        width = max(self.fontMetrics().horizontalAdvance(text) for text in texts)
        return QSize(width + _FIELD_EXTRA_PX, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if key in _STEPS and not plain:
            self._step(_STEPS[key])
        elif not self.editing:
            self._key_when_shown(event, key)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not plain:
            if self._commit():
                self._end_edit()
        elif key == Qt.Key.Key_Escape:
            self._end_edit()
            self.accepted.emit()
        else:
            super().keyPressEvent(event)
            self.updateGeometry()

    def _key_when_shown(self, event: QKeyEvent, key: Qt.Key) -> None:
        if key in _BEGIN_KEYS and not event.modifiers():
            self.begin_edit()
        elif (
            event.text().isprintable()
            and event.text().strip()
            and not (
                event.modifiers()
                & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
            )
        ):
            self.begin_edit()
            super().keyPressEvent(event)
        else:
            event.ignore()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self.begin_edit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self.editing and event.reason() != Qt.FocusReason.PopupFocusReason:
            self._commit()
            self._end_edit()

    def event(self, event: QEvent) -> bool:
        # while a value is edited, Escape gives it up; it does not stop the run
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if self.editing and event.key() == Qt.Key.Key_Escape:
                event.accept()
                return True
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.updateGeometry()

    def _commit(self) -> bool:
        try:
            value = self.number.parse(self.text())
        except ValueError as error:
            self.refused.emit(str(error))
            return False
        self.accepted.emit()
        self._take(value)
        return True

    def _step(self, steps: int) -> None:
        if self.editing and not self._commit():
            return
        was_editing = self.editing
        self._take(self.number.stepped(self._value, steps))
        self.accepted.emit()
        if was_editing:
            self.setText(self.number.typed(self._value))
            self.selectAll()

    def _take(self, value: Value) -> None:
        changed = value != self._value
        self._value = value
        if not self.editing:
            self._show()
        if changed:
            self.value_changed.emit(value)

    def _end_edit(self) -> None:
        self.setReadOnly(True)
        self._show()

    def _show(self) -> None:
        self.setText(self.number.shown(self._value))
        self.setCursorPosition(0)
        self.deselect()
        self.updateGeometry()


class ValueButton(QPushButton):
    """A value that is shown as text and changed elsewhere: in a menu, or in a dialog.

    Signals:
        value_changed(object): the user set another value.
    """

    value_changed = Signal(object)

    def __init__(self, name: str, effect: str, object_name: str) -> None:
        super().__init__()
        self._name = name
        self._menu: QMenu | None = None
        self.setObjectName(object_name)
        self.setProperty("kind", "value")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAutoDefault(False)
        self.clicked.connect(self.begin_edit)
        describe(self, name, effect)

    def set_wrong(self, wrong: bool) -> None:
        """Mark the field, or no longer."""
        set_role(self, "true" if wrong else "false", "wrong")

    def begin_edit(self) -> None:
        """Open the menu, as a click does."""
        if self.isEnabled():
            self.open_menu()

    def open_menu(self) -> None:
        """Open the menu below the value, ending where the value ends."""
        menu = self.make_menu()
        menu.aboutToHide.connect(menu.deleteLater)
        self._menu = menu
        corner = self.mapToGlobal(QPoint(self.width(), self.height() + 2))
        menu.popup(corner - QPoint(menu.sizeHint().width(), 0))

    def make_menu(self) -> QMenu:
        """The menu as it is now."""
        raise NotImplementedError

    def show_text(self, text: str, spoken: str = "") -> None:
        """Show a text; `spoken` is what assistive technology reads in its place."""
        self.setText(plain_menu_text(text))
        self.setAccessibleName(f"{self._name}: {spoken or text}")
        self.updateGeometry()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2)
        if event.key() in keys and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            self.begin_edit()
        else:
            super().keyPressEvent(event)


@dataclass(frozen=True, slots=True)
class Choice:
    """One value a choice field offers, the word for it, and what it does where that needs saying.

    `beside`: a second name, shown quietly at the end of the line.
    """

    value: str
    word: str
    effect: str = ""
    beside: str = ""

    @property
    def explained(self) -> str:
        """Word and effect, as a sentence of its own."""
        return f"{self.word[0].upper()}{self.word[1:]}: {self.effect}"

    def action(self, menu: QMenu) -> QAction:
        """The choice as an entry of a menu, not yet connected."""
        text = plain_menu_text(self.word)
        action = QAction(f"{text}\t{self.beside}" if self.beside else text, menu, checkable=True)
        action.setToolTip(tooltip(self.effect) or self.word)
        action.setStatusTip(self.effect)
        return action


class ChoiceField(ValueButton):
    """One of a few values. A click or Enter opens the menu; arrow keys step through.

    A value that is not among the choices is shown as it is; no choice is marked then.
    """

    def __init__(
        self, choices: Sequence[Choice], value: str, name: str, effect: str, object_name: str
    ) -> None:
        super().__init__(name, effect, object_name)
        self._choices = {choice.value: choice for choice in choices}
        self._effect = effect
        self._value = value
        self._show()

    @property
    def value(self) -> str:
        return self._value

    def set_value(self, value: str) -> None:
        """Show another value without announcing it."""
        self._value = value
        self._show()

    def make_menu(self) -> QMenu:
        """All values, the present one marked."""
        menu = rounded_menu(self)
        menu.setProperty("checkable", "true")
        group = QActionGroup(menu)
        for value, choice in self._choices.items():
            action = choice.action(menu)
            action.setChecked(value == self._value)
            action.triggered.connect(lambda _on, each=value: self._take(each))
            group.addAction(action)
            menu.addAction(action)
            if value == self._value:
                menu.setActiveAction(action)
        return menu

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and not event.modifiers():
            values = list(self._choices)
            step = -1 if key == Qt.Key.Key_Up else 1
            index = values.index(self._value) + step if self._value in values else 0
            if 0 <= index < len(values):
                self._take(values[index])
        else:
            super().keyPressEvent(event)

    def _take(self, value: str) -> None:
        if value == self._value:
            return
        self.set_value(value)
        self.value_changed.emit(value)

    def _show(self) -> None:
        choice = self._choices.get(self._value)
        self.show_text(choice.word if choice else self._value)
        sentences = [self._effect]
        if choice and choice.effect:
            sentences.append(choice.explained)
        self.setToolTip(tooltip("\n\n".join(sentences)))
        self.setAccessibleDescription(" ".join(sentences))


class SwitchField(QCheckBox):
    """On or off, drawn as a small switch.

    Signals:
        value_changed(object): the user switched.
    """

    value_changed = Signal(object)

    def __init__(self, on: bool, name: str, effect: str, object_name: str) -> None:
        super().__init__()
        self.setObjectName(object_name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setChecked(on)
        self.clicked.connect(lambda on: self.value_changed.emit(on))
        describe(self, name, effect)

    @property
    def value(self) -> bool:
        return self.isChecked()

    def set_value(self, on: bool) -> None:
        """Show another state without announcing it."""
        self.setChecked(on)

    def set_wrong(self, wrong: bool) -> None:
        """A switch is never wrong by itself."""

    def begin_edit(self) -> None:
        """Switch, as a click does."""
        self.click()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(36, 23)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def hitButton(self, pos: QPoint) -> bool:
        return self.rect().contains(pos)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = QGuiApplication.palette()
        on = self.isChecked()
        track = QRectF(self.width() - 5 - 26, (self.height() - 14) / 2, 26, 14)
        ground = colours.color(QPalette.ColorRole.Accent if on else QPalette.ColorRole.Mid)
        if not self.isEnabled():
            painter.setOpacity(0.5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(track, 7, 7)
        knob = QRectF(track.right() - 12 if on else track.left() + 2, track.top() + 2, 10, 10)
        painter.setBrush(
            QColor(Qt.GlobalColor.white)
            if on
            else colours.color(QPalette.ColorRole.PlaceholderText)
        )
        painter.drawEllipse(knob)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colours.color(QPalette.ColorRole.Accent), 1))
            painter.drawRoundedRect(track.adjusted(-3.5, -3.5, 3.5, 3.5), 10, 10)
