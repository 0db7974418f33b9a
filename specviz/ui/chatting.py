"""The conversation's part of the window: editing turns, beginning anew, and taking that back.

dialogue.py has the rules; this knows when they may be used, and keeps the runs on show those of the
newest turn.
"""

from __future__ import annotations

from typing import Protocol

from specviz.ui.chat import Chat
from specviz.ui.dialogue import Dialogue
from specviz.ui.main_window import MainWindow
from specviz.ui.messages import MessageAction, ShownMessage
from specviz.ui.runner import Runner
from specviz.ui.showing import Showing
from specviz.ui.states import Action, State, may

UNDO = MessageAction("undo-new-chat", "Undo", "Brings the conversation before it back.")


class Host(Protocol):
    """What chatting needs of the window around it."""

    @property
    def state(self) -> State:
        """Where the program stands."""

    def enable(self) -> None:
        """Bring every control in line with the conversation."""

    def show_end(self) -> None:
        """Nothing more comes of the runs on show."""


class Chatting:
    """Changes the conversation, and keeps the one before for as long as that can be undone."""

    def __init__(
        self,
        window: MainWindow,
        dialogue: Dialogue,
        runner: Runner,
        showing: Showing,
        host: Host,
    ) -> None:
        self._window, self._dialogue = window, dialogue
        self._runner, self._showing = runner, showing
        self._host = host
        self._left_behind: Chat | None = None

    # Editing -----------------------------------------------------------------------------------
    def edit(self, index: int) -> None:
        """Put the text of a turn into the prompt, to be sent again."""
        if may(self._host.state, Action.EDIT_CHAT):
            self._dialogue.edit(index)
            self._host.enable()

    def edit_last(self) -> None:
        """Edit the newest turn."""
        self.edit(len(self._dialogue.chat.turns) - 1)

    def edit_earlier(self) -> None:
        """Edit the last turn, or the one before that which is edited."""
        if may(self._host.state, Action.EDIT_CHAT):
            self._dialogue.edit_earlier()
            self._host.enable()

    def give_up(self) -> None:
        """Edit nothing any more."""
        self._dialogue.give_up()
        self._host.enable()

    # Turns -------------------------------------------------------------------------------------
    def end_turn(self) -> None:
        """Take up the conversation as the runs leave it."""
        self._showing.show_traces()
        left_behind = self._dialogue.end_turn()
        self.show_newest()
        if left_behind is not None:
            self.offer_undo("This run began a new conversation.", left_behind)

    def show_newest(self) -> None:
        """Bring charts and verdict in line with the newest turn of the conversation."""
        self._dialogue.set_mode(self._window.mode)
        newest = self._dialogue.chat.newest
        baseline, speculative = (newest.baseline, newest.speculative) if newest else (None, None)
        if (baseline, speculative) != (self._runner.baseline, self._runner.speculative):
            self._runner.show(baseline, speculative)
            self._showing.show_traces()

    # Another conversation ----------------------------------------------------------------------
    def new_chat(self) -> None:
        """Begin a conversation without turns. The models stay loaded, and it can be undone."""
        if may(self._host.state, Action.EDIT_CHAT) and self._dialogue.chat.turns:
            before = self._dialogue.replace(())
            self.show_newest()
            self.offer_undo("This is a new chat.", before)
            self._host.show_end()
            self._window.focus_prompt()

    def offer_undo(self, sentence: str, before: Chat | None) -> None:
        """Say what took the place of a conversation, and keep that; None: there was none."""
        self._left_behind = before
        if before is not None:
            self._window.messages.show_message(
                ShownMessage(sentence=sentence, actions=(UNDO,), key=UNDO.name)
            )

    def undo(self) -> None:
        """Bring the conversation before back."""
        if self._left_behind is not None:
            self._dialogue.replace(self._left_behind.turns)
            self._left_behind = None
            self._window.messages.dismiss(UNDO.name)
            self.show_newest()
            self._host.show_end()

    def forget_undo(self) -> None:
        """The conversation was gone on with; the one before is not kept any longer."""
        self._left_behind = None
