"""The card of one model: what was chosen, what it is, and whether it fits.

Shows what it is told. Names and paths come from files and are shown literally.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMenu,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from specviz.trace.config import Role
from specviz.ui import figures
from specviz.ui.icons import IconButton
from specviz.ui.menus import make_action, plain_menu_text, rounded_menu
from specviz.ui.plain_text import ElidedLabel, describe, label, set_role, tooltip

if TYPE_CHECKING:
    from specviz.models.compatibility import PairVerdict
    from specviz.models.model_file import ModelFile


class CardPhase(StrEnum):
    """What the card has to show."""

    EMPTY = "empty"
    READING = "reading"
    READY = "ready"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardState:
    """What a card shows. Build one with `empty_card`, `reading_card`, `ready_card`, `error_card`.

    `progress` runs from 0 to 1; None while its end is not known. `n_layers`, `nextn_layers` and
    `has_reasoning_switch` are what the settings below the card depend on; layers are None while
    they are not known. `can_trim`: the model can simply forget rejected tokens.
    """

    phase: CardPhase
    path: str = ""
    name: str = ""
    details: str = ""
    progress: float | None = None
    message: str = ""
    hint: str = ""
    n_layers: int | None = None
    has_reasoning_switch: bool = False
    nextn_layers: int | None = None
    can_trim: bool = True


def empty_card() -> CardState:
    """No file chosen."""
    return CardState(phase=CardPhase.EMPTY)


def reading_card(path: Path | str, doing: str, progress: float | None = None) -> CardState:
    """A file is being read, loaded or converted; `doing` says which, as in “Reading the file”."""
    return CardState(
        phase=CardPhase.READING,
        path=str(path),
        name=Path(path).name,
        details=doing,
        progress=progress,
    )


def ready_card(model: ModelFile) -> CardState:
    """A file that was read: name, then quantisation, size, parameters and architecture."""
    info = model.info
    details = [
        info.quantisation,
        figures.file_size(info.file_size),
        figures.parameters(info.n_params),
        info.architecture,
    ]
    if len(model.parts) > 1:
        details.append(f"{len(model.parts)} files")
    return CardState(
        phase=CardPhase.READY,
        path=str(model.path),
        name=info.name,
        details=" · ".join(part for part in details if part),
        n_layers=model.n_layers,
        has_reasoning_switch=model.has_reasoning_switch,
        nextn_layers=model.nextn_layers,
        can_trim=model.can_trim,
    )


def scripted_card(role: Role, script: Path) -> CardState:
    """No model: a script is played in its place."""
    return CardState(
        phase=CardPhase.READY,
        path=str(script),
        name=f"Scripted {role.value}",
        details=f"plays {script.name}",
        nextn_layers=0,
    )


def error_card(path: Path | str, message: str, hint: str = "") -> CardState:
    """A file that cannot be used, and why."""
    return CardState(
        phase=CardPhase.ERROR,
        path=str(path),
        name=Path(path).name,
        message=message,
        hint=hint,
    )


_MENU_PX = 24

_EFFECTS = {
    Role.TARGET: "The model whose answer is shown; a larger one takes longer for each step.",
    Role.DRAFT: "The small model that proposes tokens; the faster it is, the sooner drafting pays.",
}
_KEEPS_STATE = (
    "Rejected tokens cannot simply be taken back in this model: its state is saved and restored "
    "instead, which costs time. Drafting works."
)
_PLACEHOLDERS = {
    Role.TARGET: "The model whose answer you want",
    Role.DRAFT: "A small model with the same vocabulary",
}


class ModelCard(QFrame):
    """The card of the target or of the draft. A click, Enter or Space opens its menu,
    or the choice of a file while there is none.

    Signals:
        choose_requested(): the user wants to pick a file.
        recent_chosen(Path): the user picked a file used before.
        clear_requested(): the user wants the slot empty.
        swap_requested(): the user wants target and draft exchanged.
    """

    choose_requested = Signal()
    recent_chosen = Signal(object)
    clear_requested = Signal()
    swap_requested = Signal()

    def __init__(self, role: Role, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.role = role
        self.state = empty_card()
        self._recent: tuple[Path, ...] = ()
        self._menu: QMenu | None = None
        self._locked = False
        self._verdict: PairVerdict | None = None
        self.setObjectName(f"{role.value}-slot")
        self.setProperty("kind", "card")
        self.setProperty("hovered", "false")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._name = ElidedLabel(role="card-name")
        self._name.setObjectName(f"{role.value}-name")
        self._details = ElidedLabel(role="small")
        self._details.setObjectName(f"{role.value}-details")
        self._message = label(role="error", wrap=True)
        self._message.setObjectName(f"{role.value}-message")
        self._chip = label(role="chip")
        self._chip.setIndent(0)
        self._chip.setObjectName(f"{role.value}-chip")
        self._notes = label(role="small", wrap=True)
        self._notes.setObjectName(f"{role.value}-notes")
        self._pending = label("applies after reload", "hint")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._choose = QPushButton("Choose file…")
        self._more = IconButton("more", quiet=True)
        self._build()
        self.show_state(empty_card())

    def _build(self) -> None:
        whose = self.role.value
        self._choose.setObjectName(f"{whose}-choose")
        self._choose.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._choose.clicked.connect(self.choose_requested)
        describe(self._choose, f"Choose the {whose} file", _EFFECTS[self.role])
        self._more.setObjectName(f"{whose}-menu")
        self._more.setProperty("kind", "tiny")
        self._more.clicked.connect(self.open_menu)
        describe(
            self._more,
            f"{whose.capitalize()} menu",
            f"Choose, clear or swap the {whose}; loading another one takes time, not speed.",
        )
        self._bar.setObjectName(f"{whose}-progress")
        self._bar.setRange(0, 1000)
        # the button stands in the corner, beside the lines: it must not make the first one higher
        self._more.setParent(self)
        head = QHBoxLayout()
        head.addWidget(self._name, 1)
        head.addSpacing(_MENU_PX)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(11, 9, 7, 11)
        layout.setSpacing(3)
        layout.addLayout(head)
        layout.addWidget(self._details)
        layout.addWidget(self._message)
        self._holders = {
            widget: _held(widget, space)
            for widget, space in (
                (self._bar, 6),
                (self._chip, 6),
                (self._notes, 4),
                (self._pending, 2),
                (self._choose, 8),
            )
        }
        for holder in self._holders.values():
            layout.addWidget(holder)
            holder.hide()
        self._message.hide()

    def show_state(self, state: CardState) -> None:
        """Show another state. The verdict on the pair is cleared unless the file is the same."""
        if state.path != self.state.path or state.phase is not CardPhase.READY:
            self.show_pair(None)
        self.state = state
        self._show_notes()
        empty = state.phase is CardPhase.EMPTY
        self._name.setText("No file chosen" if empty else state.name)
        self._details.setText(_PLACEHOLDERS[self.role] if empty else state.details)
        self._details.setVisible(bool(self._details.text()))
        self._message.setText(f"{state.message} {state.hint}".strip())
        self._message.setVisible(state.phase is CardPhase.ERROR)
        self._show_progress(state)
        self._holders[self._choose].setVisible(empty)
        path = state.path or "No file chosen"
        self.setToolTip(tooltip(f"{path}\n{_EFFECTS[self.role]}"))
        self.setAccessibleName(f"{self.role.value.capitalize()}: {self._spoken()}")

    def _show_progress(self, state: CardState) -> None:
        reading = state.phase is CardPhase.READING
        self._holders[self._bar].setVisible(reading)
        if not reading:
            return
        # a bar that cannot know its end shows that it is at work
        self._bar.setRange(0, 0 if state.progress is None else 1000)
        if state.progress is not None:
            self._bar.setValue(round(min(max(state.progress, 0.0), 1.0) * 1000))

    def _spoken(self) -> str:
        state = self.state
        parts = (self._name.text(), state.details, state.message, state.hint)
        return ", ".join(part for part in parts if part)

    def show_pair(self, verdict: PairVerdict | None) -> None:
        """Show whether draft and target fit, and why not."""
        self._verdict = verdict
        self._holders[self._chip].setVisible(verdict is not None)
        if verdict is not None:
            set_role(self._chip, "chip" if verdict.fits else "chip-refused")
            self._chip.setText(
                f"✓ {verdict.sentence}" if verdict.fits else "× does not fit the target"
            )
        self._show_notes()

    def _show_notes(self) -> None:
        """What else is worth knowing of the model and of the pair."""
        lines: list[str] = []
        if self.role is Role.TARGET and not self.state.can_trim:
            lines.append(_KEEPS_STATE)
        verdict = self._verdict
        if verdict is not None:
            lines += [*([] if verdict.fits else [verdict.sentence]), *verdict.notes]
        refused = verdict is not None and not verdict.fits
        set_role(self._notes, "refusal" if refused else "small")
        self._notes.setText("\n".join(lines))
        self._holders[self._notes].setVisible(bool(lines))
        self.setAccessibleDescription(" ".join([_EFFECTS[self.role], *lines]))

    def set_pending(self, pending: bool) -> None:
        """Say that this file is not the loaded one yet."""
        self._holders[self._pending].setVisible(pending)

    def set_locked(self, locked: bool) -> None:
        """Nothing can be changed while locked; everything can still be read and copied."""
        self._locked = locked
        self._choose.setEnabled(not locked)

    def set_recent(self, paths: Sequence[Path]) -> None:
        """Files the menu offers again."""
        self._recent = tuple(paths)

    def open_menu(self) -> None:
        """Open the card's menu at its corner."""
        menu = self.make_menu()
        menu.aboutToHide.connect(menu.deleteLater)
        self._menu = menu
        corner = self._more.mapToGlobal(QPoint(self._more.width(), self._more.height() + 2))
        menu.popup(corner - QPoint(menu.sizeHint().width(), 0))

    def make_menu(self) -> QMenu:
        """The card's menu as it is now."""
        menu = rounded_menu(self)
        has_file = bool(self.state.path)
        whose = self.role.value
        choose = make_action(
            menu, "Choose file…", self.choose_requested.emit, name=f"{whose}-choose-action"
        )
        choose.setEnabled(not self._locked)
        menu.addAction(choose)
        recent = rounded_menu(menu, "Recent files")
        menu.addMenu(recent).setEnabled(bool(self._recent) and not self._locked)
        for path in self._recent:
            recent.addAction(
                make_action(
                    menu,
                    plain_menu_text(path.name),
                    partial(self.recent_chosen.emit, path),
                    name=f"{whose}-recent-action",
                    effect=tooltip(str(path)),
                )
            )
        menu.addSeparator()
        for text, slot, name in (
            ("Swap target and draft", self.swap_requested.emit, "swap"),
            ("Clear", self.clear_requested.emit, "clear"),
            ("Copy path", self._copy_path, "copy-path"),
        ):
            action = make_action(menu, text, slot, name=f"{whose}-{name}-action")
            possible = has_file or name == "swap"
            action.setEnabled(possible and (name == "copy-path" or not self._locked))
            menu.addAction(action)
        if has_file:
            menu.addSeparator()
            shown = menu.addAction(plain_menu_text(_middle_elided(self.state.path)))
            shown.setEnabled(False)
            shown.setToolTip(tooltip(self.state.path))
        return menu

    def _copy_path(self) -> None:
        QGuiApplication.clipboard().setText(self.state.path)

    def _open(self) -> None:
        if self.state.phase is not CardPhase.EMPTY:
            self.open_menu()
        elif not self._locked:
            self.choose_requested.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._open()
        elif event.key() == Qt.Key.Key_Menu:
            self.open_menu()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            if self.state.path and not self._locked:
                self.clear_requested.emit()
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        inside = self.rect().contains(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and inside:
            self._open()

    def contextMenuEvent(self, event: QEvent) -> None:
        self.open_menu()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._more.setGeometry(self.width() - _MENU_PX - 6, 6, _MENU_PX, _MENU_PX)

    def enterEvent(self, event: QEnterEvent) -> None:
        set_role(self, "true", "hovered")

    def leaveEvent(self, event: QEvent) -> None:
        set_role(self, "false", "hovered")

    def minimumSizeHint(self) -> QSize:
        return QSize(160, super().minimumSizeHint().height())


def _middle_elided(path: str, limit: int = 56) -> str:
    if len(path) <= limit:
        return path
    keep = (limit - 1) // 2
    return f"{path[:keep]}…{path[-keep:]}"


def _held(widget: QWidget, above: int) -> QWidget:
    """A widget with room above it that goes when it is hidden; labels and bars take all width."""
    holder = QWidget()
    line = QHBoxLayout(holder)
    line.setContentsMargins(0, above, 0, 0)
    line.addWidget(widget)
    if isinstance(widget, QPushButton) or widget.property("role") == "chip":
        line.addStretch(1)
    return holder
