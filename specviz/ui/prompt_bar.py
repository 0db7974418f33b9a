"""Where a prompt is written and a run is started or stopped."""

from __future__ import annotations

import logging
from functools import partial

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QLabel, QMenu, QPlainTextEdit, QPushButton, QSizePolicy, QWidget

from specviz.errors import FileError
from specviz.ui.examples import Example, load_examples
from specviz.ui.icons import IconButton
from specviz.ui.plain_text import describe, label
from specviz.ui.reading_column import reading_column
from specviz.ui.theme import DARK, Palette
from specviz.ui.typefaces import interface_font

log = logging.getLogger(__name__)

ROW = 40
LINE = 20
MOST_LINES = 6
GAP = 10
BOTTOM = 16
REASON_HEIGHT = 20
HINT_HEIGHT = 26
BUTTON_WIDTH = 102
_RETURN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class PromptEdit(QPlainTextEdit):
    """Plain text that grows with its lines, up to six. Enter submits, Shift+Enter breaks a line.

    Attributes:
        recalled: an earlier prompt that was put here; the arrow up goes on to the one before it.

    Signals:
        submitted: Enter was pressed.
        earlier_wanted: the arrow up was pressed where there is no text, or only a recalled one.
        given_up: Escape was pressed.
        height_wanted: the text needs another height, in pixels.
    """

    submitted = Signal()
    earlier_wanted = Signal()
    given_up = Signal()
    height_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("prompt-edit")
        self.setAccessibleName("Prompt")
        self.setAccessibleDescription(
            "What to ask. Enter runs, Shift and Enter begin a new line. The arrow up in an empty "
            "prompt edits the last turn."
        )
        self.setPlaceholderText("Ask something, or pick an example…")
        self.setTabChangesFocus(True)
        self.setFont(interface_font())
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        self.recalled = ""
        self._height = ROW
        self.document().documentLayout().documentSizeChanged.connect(self._measure)

    @property
    def wanted_height(self) -> int:
        return self._height

    def _measure(self) -> None:
        lines = max(int(self.document().size().height()), 1)
        pitch = QFontMetrics(self.font()).lineSpacing()
        height = ROW + (min(lines, MOST_LINES) - 1) * pitch
        scrolls = lines > MOST_LINES
        self.setVerticalScrollBarPolicy(
            Qt.ScrollBarPolicy.ScrollBarAsNeeded
            if scrolls
            else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        )
        if height != self._height:
            self._height = height
            self.height_wanted.emit(height)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        shift = held & Qt.KeyboardModifier.ShiftModifier
        if event.key() in _RETURN_KEYS and not shift:
            self.submitted.emit()
        elif event.key() in _RETURN_KEYS:
            # Qt would put a line separator here, which is another character
            self.insertPlainText("\n")
        elif event.key() == Qt.Key.Key_Up and not held and self._may_go_back():
            self.earlier_wanted.emit()
        elif event.key() == Qt.Key.Key_Escape and not held:
            self.given_up.emit()
        else:
            super().keyPressEvent(event)

    def _may_go_back(self) -> bool:
        text = self.toPlainText()
        cursor = self.textCursor()
        on_first_line = not cursor.movePosition(QTextCursor.MoveOperation.Up)
        return not text or (text == self.recalled and on_first_line)


class PromptBar(QWidget):
    """Prompt, examples, and one button that runs or stops.

    Signals:
        run_requested: the prompt to run.
        stop_requested: stop what is running.
        example_chosen: an `Example` was picked; its prompt is in the field already.
        earlier_wanted: the turn before the one in the field is to be edited.
        given_up: what the hint speaks of is not wanted any more.
    """

    run_requested = Signal(str)
    stop_requested = Signal()
    example_chosen = Signal(object)
    earlier_wanted = Signal()
    given_up = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("prompt-bar")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._palette = DARK
        self._running = False
        self._blocked = ""
        self._run_words = "Run both"
        self._build()
        self._show_state()

    def _build(self) -> None:
        self.edit = PromptEdit(self)
        self.edit.submitted.connect(self._submit)
        self.edit.textChanged.connect(self._show_state)
        self.edit.height_wanted.connect(lambda _: self._resize_later())
        self.edit.earlier_wanted.connect(self.earlier_wanted)
        self.edit.given_up.connect(self.given_up)
        self._examples = QPushButton("Examples ▾", self)
        self._examples.setObjectName("examples-button")
        self._examples.setAccessibleName("Example prompts")
        self._examples.setToolTip("Prompts that each show one thing about drafting.")
        self._examples.setAccessibleDescription(self._examples.toolTip())
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self._menu.aboutToShow.connect(self._fill_menu)
        self._examples.setMenu(self._menu)
        self._run = QPushButton(self._run_words, self)
        self._run.setObjectName("run-button")
        self._run.setProperty("kind", "accent")
        self._run.clicked.connect(self._submit)
        self._stop = QPushButton("Stop", self)
        self._stop.setObjectName("stop-button")
        self._stop.setAccessibleDescription("Stops the run; what has arrived is kept.")
        self._stop.setToolTip("Stop the run; what has arrived is kept.")
        self._stop.clicked.connect(self._ask_to_stop)
        self._stop.hide()
        self._reason = QLabel(self)
        self._reason.setObjectName("run-reason")
        self._reason.setProperty("role", "hint")
        self._reason.setTextFormat(Qt.TextFormat.PlainText)
        self._build_hint()
        # the layout follows once, after all that one change of text brings about
        self._resize = QTimer(self)
        self._resize.setSingleShot(True)
        self._resize.setInterval(0)
        self._resize.timeout.connect(self._place)

    def _build_hint(self) -> None:
        self._hint = label("", "small")
        self._hint.setParent(self)
        self._hint.setObjectName("prompt-hint")
        self._hint_close = IconButton("close", quiet=True, size=12, parent=self)
        self._hint_close.setObjectName("prompt-hint-close")
        self._hint_close.setProperty("kind", "tiny")
        describe(
            self._hint_close, "Do not edit", "Keeps the conversation as it is, as Escape does."
        )
        self._hint_close.clicked.connect(self.given_up)

    # State -----------------------------------------------------------------------------------
    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on; the style sheet does most of it."""
        self._palette = palette
        self.edit.viewport().setAutoFillBackground(False)
        self.setStyleSheet(
            f"QPlainTextEdit#prompt-edit {{ background: {palette.card}; border-radius: 10px;"
            f" border: 1px solid {palette.line}; padding: 11px 14px; }}"
            f"QPlainTextEdit#prompt-edit:focus {{ border-color: {palette.accent}; }}"
            "QPushButton { border-radius: 8px; min-height: 38px; }"
            f"QPushButton#stop-button {{ color: {palette.text}; font-weight: 600; }}"
            f"QLabel#run-reason {{ color: {palette.recovered}; font-size: 12px; }}"
        )

    @property
    def prompt(self) -> str:
        """What is written."""
        return self.edit.toPlainText()

    def set_prompt(self, text: str) -> None:
        """Write this in place of what was written; it can be undone."""
        cursor = self.edit.textCursor()
        cursor.select(cursor.SelectionType.Document)
        cursor.insertText(text)
        self.edit.setTextCursor(cursor)

    def recall(self, text: str) -> None:
        """Write an earlier prompt, to be edited or passed over by the arrow up."""
        self.set_prompt(text)
        self.edit.recalled = text
        self.edit.setFocus()

    def set_hint(self, text: str, *, closable: bool) -> None:
        """A quiet line above the field, empty for none; `closable`: it can be given up."""
        if text == self._hint.text() and closable == self._hint_close.isVisibleTo(self):
            return
        self._hint.setText(text)
        self._hint_close.setVisible(bool(text) and closable)
        self._place()

    @property
    def hint(self) -> str:
        return self._hint.text()

    def set_run_words(self, words: str) -> None:
        """What the button does: “Run both”, “Run baseline”."""
        self._run_words = words
        self._show_state()

    def set_running(self, running: bool) -> None:
        """Offer Stop while running."""
        self._running = running
        self._stop.setEnabled(True)
        self._stop.setText("Stop")
        had_focus = self._run.hasFocus() or self._stop.hasFocus()
        self._show_state()
        if had_focus:
            (self._stop if running else self._run).setFocus()

    def set_blocked(self, reason: str) -> None:
        """Why nothing can be run now, in a sentence; empty when it can."""
        self._blocked = reason
        self._show_state()

    @property
    def reason(self) -> str:
        """Why the button is off; empty when it is on."""
        if self._blocked:
            return self._blocked
        return "" if self.prompt.strip() else "Write a prompt first, or pick an example."

    def _show_state(self) -> None:
        self._run.setVisible(not self._running)
        self._stop.setVisible(self._running)
        self._run.setText(self._run_words)
        self._run.setEnabled(not self.reason)
        hint = self.reason or f"{self._run_words} (Enter)"
        self._run.setToolTip(hint)
        self._run.setAccessibleDescription(hint)
        # an empty field explains itself; anything else that blocks is said in plain sight
        said = self._blocked if not self._running else ""
        if said != self._reason.text():
            self._reason.setText(said)
            self._reason.setToolTip(said)
        self._place()

    def _submit(self) -> None:
        if not self._running and not self.reason:
            self.run_requested.emit(self.prompt)

    def _ask_to_stop(self) -> None:
        self._stop.setEnabled(False)
        self._stop.setText("Stopping…")
        self.stop_requested.emit()

    # Examples --------------------------------------------------------------------------------
    def _fill_menu(self) -> None:
        if self._menu.actions():
            return
        try:
            examples = load_examples()
        except FileError as error:
            log.warning("%s", error)
            self._menu.addAction(error.message).setEnabled(False)
            return
        for example in examples:
            action = self._menu.addAction(example.name)
            action.setToolTip(example.lesson)
            action.setStatusTip(example.lesson)
            action.triggered.connect(partial(self.choose, example))

    def choose(self, example: Example, *_: object) -> None:
        """Take an example's prompt."""
        self.set_prompt(example.prompt)
        self.edit.setFocus()
        self.example_chosen.emit(example)

    # Geometry --------------------------------------------------------------------------------
    def _resize_later(self) -> None:
        self._resize.start()

    def _place(self) -> None:
        left, width = reading_column(self.width())
        has_reason, has_hint = bool(self._reason.text()), bool(self._hint.text())
        hint_top = REASON_HEIGHT if has_reason else 0
        top = 2 + hint_top + (HINT_HEIGHT if has_hint else 0)
        button = self._stop if self._running else self._run
        run_width = max(BUTTON_WIDTH, button.sizeHint().width())
        examples_width = max(100, self._examples.sizeHint().width())
        edit_width = max(width - run_width - examples_width - 2 * GAP, 80)
        height = self.edit.wanted_height
        self._reason.setVisible(has_reason)
        self._reason.setGeometry(left, 0, width, REASON_HEIGHT)
        hint_width = min(self._hint.sizeHint().width(), width - 28)
        self._hint.setVisible(has_hint)
        self._hint.setGeometry(left, hint_top, hint_width, HINT_HEIGHT - 4)
        self._hint_close.setGeometry(left + hint_width + 4, hint_top, 22, 22)
        self.edit.setGeometry(left, top, edit_width, height)
        y = top + height - ROW
        self._examples.setGeometry(left + edit_width + GAP, y, examples_width, ROW)
        for each in (self._run, self._stop):
            each.setGeometry(left + width - run_width, y, run_width, ROW)
        self.setFixedHeight(top + height + BOTTOM)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()
        super().resizeEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(640, 2 + ROW + BOTTOM)
