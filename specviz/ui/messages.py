"""Messages that do not stop anyone: what happened, what to do, and details on demand.

Texts may come from files and logs; they are shown literally.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from specviz.errors import EngineDied, SpecvizError
from specviz.ui.icons import IconButton, IconLabel
from specviz.ui.plain_text import describe, label

MOST_MESSAGES = 3


class Severity(StrEnum):
    """How much a message matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class MessageAction:
    """A button on a message: its name in signals, its words, and what it does."""

    name: str
    words: str
    effect: str


RESTART = MessageAction(
    "restart-engine", "Restart engine", "Starts the engine anew and loads the models again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """One message. A later one with the same `key` takes the place of the earlier one."""

    sentence: str
    hint: str = ""
    details: str = ""
    severity: Severity = Severity.INFO
    actions: tuple[MessageAction, ...] = ()
    key: str = ""


def message_for(error: SpecvizError) -> ShownMessage:
    """An error as a message; an engine that died can be restarted."""
    died = isinstance(error, EngineDied)
    return ShownMessage(
        sentence=error.message,
        hint=error.hint,
        details=error.log_tail.strip() if isinstance(error, EngineDied) else "",
        severity=Severity.ERROR,
        actions=(RESTART,) if died else (),
        key="engine" if died else error.message,
    )


class MessageCard(QFrame):
    """One message with its buttons.

    Signals:
        action_requested(str): one of the message's actions was chosen.
        dismissed(): the message was closed.
    """

    action_requested = Signal(str)
    dismissed = Signal()

    def __init__(self, message: ShownMessage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.message = message
        error = message.severity is Severity.ERROR
        self.setObjectName("message")
        self.setProperty("kind", "message-error" if error else "message")
        self.setAccessibleName(f"{message.severity.value.capitalize()}: {message.sentence}")
        self.setAccessibleDescription(message.hint)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._sentence())
        if message.hint:
            hint = label(message.hint, "quiet", wrap=True)
            hint.setObjectName("message-hint")
            words.addWidget(hint)
        buttons = self._buttons()
        if buttons is not None:
            words.addSpacing(6)
            words.addLayout(buttons)
        self._log = self._details()
        words.addWidget(self._log)
        icon = IconLabel(
            message.severity.value,
            role=QPalette.ColorRole.BrightText if error else QPalette.ColorRole.PlaceholderText,
        )
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 12, 8, 12)
        layout.setSpacing(10)
        layout.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(words, 1)
        layout.addWidget(self._closer(), 0, Qt.AlignmentFlag.AlignTop)

    def _sentence(self) -> QWidget:
        sentence = label(self.message.sentence, "strong", wrap=True)
        sentence.setObjectName("message-sentence")
        sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return sentence

    def _closer(self) -> IconButton:
        closer = IconButton("close", quiet=True)
        closer.setObjectName("message-close")
        closer.setProperty("kind", "tiny")
        describe(closer, "Close the message", "Closes this message; nothing else changes.")
        closer.clicked.connect(self.dismissed)
        return closer

    def _buttons(self) -> QHBoxLayout | None:
        message = self.message
        line = QHBoxLayout()
        line.setSpacing(8)
        for action in message.actions:
            button = self._button(action.words, action.name, action.effect)
            button.clicked.connect(lambda _on, name=action.name: self.action_requested.emit(name))
            line.addWidget(button)
        if message.details:
            shows = self._button(
                "Details", "message-details-button", "Shows what the engine said last."
            )
            shows.setCheckable(True)
            shows.toggled.connect(lambda on: self._log.setVisible(on))
            line.addWidget(shows)
        if message.details or message.severity is Severity.ERROR:
            copies = self._button(
                "Copy details", "message-copy", "Puts message and details on the clipboard."
            )
            copies.clicked.connect(self._copy)
            line.addWidget(copies)
        if not line.count():
            return None
        line.addStretch(1)
        return line

    def _button(self, words: str, name: str, effect: str) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        describe(button, words, effect)
        return button

    def _details(self) -> QPlainTextEdit:
        log = QPlainTextEdit()
        log.setObjectName("message-details")
        log.setProperty("kind", "log")
        log.setReadOnly(True)
        log.setTabChangesFocus(True)
        log.setFixedHeight(128)
        log.setPlainText(self.message.details)
        describe(log, "Details", "What the engine said last.")
        log.hide()
        return log

    def _copy(self) -> None:
        message = self.message
        parts = (message.sentence, message.hint, message.details)
        QGuiApplication.clipboard().setText("\n".join(part for part in parts if part))


class MessageArea(QWidget):
    """The place of the messages, above the prompt. Takes no room while there are none.

    Signals:
        restart_requested(): the engine is to be started anew.
        action_requested(str): another action of a message was chosen.
    """

    restart_requested = Signal()
    action_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("messages")
        self.setAccessibleName("Messages")
        self._cards: list[MessageCard] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(26, 0, 26, 12)
        self._layout.setSpacing(8)
        self.hide()

    @property
    def messages(self) -> tuple[ShownMessage, ...]:
        """What is shown, oldest first."""
        return tuple(card.message for card in self._cards)

    def show_error(self, error: SpecvizError) -> None:
        """Show one of our errors, with what can be done about it."""
        self.show_message(message_for(error))

    def show_message(self, message: ShownMessage) -> None:
        """Show a message below the others; the oldest gives way when there are too many."""
        if message.key:
            self.dismiss(message.key)
        while len(self._cards) >= MOST_MESSAGES:
            self._remove(self._cards[0])
        card = MessageCard(message)
        card.action_requested.connect(self._on_action)
        card.dismissed.connect(lambda: self._remove(card))
        self._cards.append(card)
        self._layout.addWidget(card)
        self.show()

    def dismiss(self, key: str) -> None:
        """Take away the message with this key, if there is one."""
        for card in [card for card in self._cards if card.message.key == key]:
            self._remove(card)

    def clear(self) -> None:
        """Take all messages away."""
        for card in list(self._cards):
            self._remove(card)

    def _on_action(self, name: str) -> None:
        if name == RESTART.name:
            self.restart_requested.emit()
        else:
            self.action_requested.emit(name)

    def _remove(self, card: MessageCard) -> None:
        if card not in self._cards:
            return
        self._cards.remove(card)
        self._layout.removeWidget(card)
        card.hide()
        card.deleteLater()
        self.setVisible(bool(self._cards))
