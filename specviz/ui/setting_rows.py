"""One setting a row: quiet label on the left, the value on the right, a note below if need be."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from specviz.ui.icons import IconLabel
from specviz.ui.plain_text import describe, label, set_role, tooltip
from specviz.ui.setting_fields import NumberField, SwitchField, ValueButton

ROW_HEIGHT = 27
ROW_PADDING = 8
"""A row reaches this far beyond the panel's text on both sides."""
FIELD_MARGIN = 3
"""With its own frame and padding, a field's text then ends where the panel's text ends."""


class Note(IntEnum):
    """What a row can say below itself; the first that is set is shown."""

    REFUSED = 0
    PROBLEM = 1
    PENDING = 2
    HINT = 3
    ASIDE = 4


_NOTE_ROLES = {
    Note.REFUSED: "error",
    Note.PROBLEM: "error",
    Note.PENDING: "hint",
    Note.HINT: "hint",
    Note.ASIDE: "small",
}
PENDING_TEXT = "applies after reload"


class SettingRow(QWidget):
    """A label, one or two fields, and a note.

    Signals:
        changed(): the user changed a value.
        validity_changed(): a typed value was refused, or is fine again.
    """

    changed = Signal()
    validity_changed = Signal()

    def __init__(
        self,
        key: str,
        text: str,
        effect: str,
        fields: Sequence[NumberField | ValueButton | SwitchField | QPushButton],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.key = key
        self.setObjectName(f"{key}-row")
        self.setProperty("kind", "row")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setToolTip(tooltip(effect))
        self.fields = list(fields)
        self._notes: dict[Note, str] = {}
        self._label = label(text, "quiet")
        self._note = label(role="error", wrap=True)
        self._note.setObjectName(f"{key}-note")
        self._note.hide()
        self._build()
        for field in fields:
            self._connect(field)

    def _build(self) -> None:
        line = QHBoxLayout()
        line.setContentsMargins(ROW_PADDING, 0, FIELD_MARGIN, 0)
        line.setSpacing(0)
        line.addWidget(self._label)
        line.addStretch(1)
        for index, field in enumerate(self.fields):
            if index:
                line.addWidget(label("·", "mono-value"))
            line.addWidget(field)
        self.line = line
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        holder = QWidget()
        holder.setFixedHeight(ROW_HEIGHT)
        holder.setLayout(line)
        layout.addWidget(holder)
        note_line = QHBoxLayout()
        note_line.setContentsMargins(ROW_PADDING, 0, ROW_PADDING, 0)
        note_line.addWidget(self._note)
        layout.addLayout(note_line)

    def _connect(self, field: QWidget) -> None:
        if isinstance(field, NumberField | ValueButton | SwitchField):
            field.value_changed.connect(lambda _value: self.changed.emit())
        if isinstance(field, NumberField):
            field.refused.connect(lambda why: self._refuse(field, why))
            field.accepted.connect(lambda: self._refuse(field, ""))

    def note(self) -> str:
        """The sentence that is shown, empty when there is none."""
        return next((self._notes[kind] for kind in Note if self._notes.get(kind)), "")

    def set_note(self, kind: Note, text: str) -> None:
        """Say something of this kind, or with an empty text no longer."""
        if self._notes.get(kind, "") == text:
            return
        self._notes[kind] = text
        shown = next((each for each in Note if self._notes.get(each)), None)
        if shown is None:
            self._note.hide()
            return
        set_role(self._note, _NOTE_ROLES[shown])
        self._note.setText(self._notes[shown])
        self._note.setContentsMargins(0, 0, 0, 4)
        self._note.show()

    @property
    def has_problem(self) -> bool:
        """Whether something about the row stops a run."""
        return bool(self._notes.get(Note.PROBLEM))

    def set_problem(self, text: str) -> None:
        """Mark the row with what is wrong about it in combination with others."""
        self.set_note(Note.PROBLEM, text)
        for field in self.fields:
            if isinstance(field, NumberField | ValueButton):
                field.set_wrong(bool(text))

    def set_pending(self, pending: bool) -> None:
        """Say that a change waits for a reload."""
        self.set_note(Note.PENDING, PENDING_TEXT if pending else "")

    def set_hint(self, text: str) -> None:
        """Advice that does not stop anything."""
        self.set_note(Note.HINT, text)

    def set_aside(self, text: str) -> None:
        """A remark that nobody has to act on."""
        self.set_note(Note.ASIDE, text)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click beside the value is meant for the value."""
        if event.button() == Qt.MouseButton.LeftButton and self.fields:
            if self.rect().contains(event.position().toPoint()):
                field = self.fields[0]
                if isinstance(field, NumberField | ValueButton | SwitchField):
                    field.begin_edit()
                elif isinstance(field, QPushButton):
                    field.click()
        super().mouseReleaseEvent(event)

    def _refuse(self, field: NumberField, why: str) -> None:
        self.set_note(Note.REFUSED, why)
        field.set_wrong(bool(why) or bool(self._notes.get(Note.PROBLEM)))
        self.validity_changed.emit()


class _Editor(QPlainTextEdit):
    """Plain text; Escape closes it, Tab leaves it. Files are not for it but for the window."""

    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setTabChangesFocus(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        # Escape belongs to the editor while it is open, not to the window's Stop
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                event.accept()
                return True
        return super().event(event)


class TextRow(SettingRow):
    """A longer text: the row shows how it begins, a click unfolds the editor below.

    `empty_word` stands for no text.

    Signals:
        unfolding(): the editor was opened and takes room.
    """

    unfolding = Signal()

    def __init__(
        self,
        key: str,
        text: str,
        effect: str,
        *,
        empty_word: str,
        placeholder: str,
        parent: QWidget | None = None,
    ) -> None:
        self._button = QPushButton()
        self._button.setObjectName(key)
        self._button.setProperty("kind", "value")
        self._button.setAutoDefault(False)
        self._name = text
        super().__init__(key, text, effect, [self._button], parent)
        describe(self._button, text, effect)
        self._empty_word = empty_word
        self._editor = _Editor()
        self._editor.setObjectName(f"{key}-edit")
        self._editor.setFixedHeight(96)
        self._editor.setPlaceholderText(placeholder)
        describe(self._editor, text, effect)
        self._editor.hide()
        self._editor.textChanged.connect(self._on_text_changed)
        self._editor.closed.connect(self.fold)
        self._button.clicked.connect(self._toggle)
        holder = QHBoxLayout()
        holder.setContentsMargins(ROW_PADDING, 2, ROW_PADDING, 6)
        holder.addWidget(self._editor)
        self._holder = QWidget()
        self._holder.setLayout(holder)
        self._holder.hide()
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.insertWidget(1, self._holder)
        self._show()

    @property
    def text(self) -> str:
        return self._editor.toPlainText()

    def set_text(self, text: str) -> None:
        """Show another text without announcing it."""
        if text == self.text:
            return
        self._editor.blockSignals(True)
        self._editor.setPlainText(text)
        self._editor.blockSignals(False)
        self._show()

    @property
    def unfolded(self) -> bool:
        return not self._holder.isHidden()

    def unfold(self) -> None:
        """Open the editor and put the cursor behind the text."""
        self._holder.show()
        self._editor.show()
        self._editor.moveCursor(self._editor.textCursor().MoveOperation.End)
        self._editor.setFocus(Qt.FocusReason.OtherFocusReason)
        self.unfolding.emit()

    def fold(self) -> None:
        """Close the editor."""
        self._holder.hide()
        self._button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _toggle(self) -> None:
        if self.unfolded:
            self.fold()
        else:
            self.unfold()

    def _on_text_changed(self) -> None:
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        words = " ".join(self.text.split())
        shown = words if len(words) <= 14 else words[:13].rstrip() + "…"
        self._button.setText((shown or self._empty_word).replace("&", "&&"))
        self._button.setAccessibleName(f"{self._name}: {words or self._empty_word}")


class FoldButton(QWidget):
    """A quiet line that shows or hides the less common rows.

    Signals:
        toggled(bool): the rows are to be shown.
    """

    toggled = Signal(bool)

    def __init__(self, key: str, section: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._section = section
        self._button = QPushButton("More")
        self._button.setObjectName(key)
        self._button.setProperty("kind", "link")
        self._button.setCheckable(True)
        self._button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._button.toggled.connect(self._on_toggled)
        self._arrow = IconLabel("chevron-right", size=12)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(ROW_PADDING - 4, 0, ROW_PADDING, 0)
        layout.setSpacing(1)
        layout.addWidget(self._button)
        layout.addWidget(self._arrow)
        layout.addStretch(1)
        self.setFixedHeight(ROW_HEIGHT)
        self._describe()

    @property
    def unfolded(self) -> bool:
        return self._button.isChecked()

    def set_unfolded(self, unfolded: bool) -> None:
        """Show or hide the rows."""
        self._button.setChecked(unfolded)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._button.toggle()

    def _on_toggled(self, on: bool) -> None:
        self._button.setText("Less" if on else "More")
        self._arrow.set_icon("chevron-down" if on else "chevron-right", self._arrow.role)
        self._describe()
        self.toggled.emit(on)

    def _describe(self) -> None:
        verb = "Hides" if self.unfolded else "Shows"
        describe(
            self._button,
            f"{self._button.text()} {self._section} settings",
            f"{verb} the less common {self._section} settings; this has no effect on speed.",
        )
