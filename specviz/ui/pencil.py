"""The pencil beside a prompt that may be edited and sent again."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QWidget

from specviz.ui.icons import IconButton
from specviz.ui.plain_text import describe

SIZE = 24
REACH = SIZE + 6
"""So far to the left of a bubble the pencil reaches."""


class Pencil(IconButton):
    """A quiet button at the left of one bubble; the keyboard has the arrow up in the prompt.

    Attributes:
        turn: the turn that it is shown for, None while it is hidden.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__("pencil", quiet=True, size=14, parent=parent)
        self.setObjectName("edit-turn-button")
        self.setProperty("kind", "tiny")
        self.setFixedSize(SIZE, SIZE)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.turn: int | None = None
        self.hide()

    def show_beside(self, bubble: QRect, turn: int) -> None:
        """Stand beside the bubble of a turn, at its first line."""
        if turn != self.turn:
            self.turn = turn
            describe(
                self,
                f"Edit turn {turn + 1} and send it again",
                "Puts the text into the prompt; sending it drops this turn and all behind it.",
            )
        top = min(bubble.top() + 8, bubble.center().y() - SIZE // 2 + 1)
        self.move(bubble.left() - REACH, top)
        self.show()

    def leave(self) -> None:
        """Stand nowhere."""
        self.turn = None
        self.hide()
