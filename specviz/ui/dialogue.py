"""The conversation as the window keeps it: asking, editing and taking back, in field and page.

Joins the rules of chat.py with prompt field and page. Knows nothing of engines, models or states.
"""

from __future__ import annotations

from collections.abc import Sequence

from specviz.trace.config import RunMode
from specviz.trace.trace import Trace
from specviz.ui.chat import Chat, Turn
from specviz.ui.conversation import Conversation
from specviz.ui.prompt_bar import PromptBar

RAW_BEGINS_ANEW = "A raw prompt has no turns: it begins a new conversation."
CHAT_BEGINS_ANEW = "A raw prompt cannot be gone on from: this begins a new conversation."
NO_TEMPLATE = "This model has no chat template: each prompt begins a new conversation."


class Dialogue:
    """Owns the conversation. `chat` is how it stands; the newest turn is the measured one.

    Attributes:
        raw: the next prompt goes without a chat template, as somebody wants it.
        lacks_template: it has to, since the model brings none.
    """

    def __init__(self, page: Conversation, bar: PromptBar) -> None:
        self.chat = Chat()
        self.raw = False
        self.lacks_template = False
        self._page = page
        self._bar = bar
        self._before: Chat | None = None
        self._again = self._begins_anew = False
        self._sent = ""

    # A turn ------------------------------------------------------------------------------------
    def ask(self, prompt: str, mode: RunMode) -> None:
        """Add a turn, or send an edited one; the field keeps the text until an answer comes."""
        self._before, self._again, self._sent = self.chat, False, prompt
        self._begins_anew = bool(self._words_of_beginning())
        self.chat = self.chat.asked(prompt, raw=self.raw or self.lacks_template, mode=mode)
        self._show()

    def ask_again(self, mode: RunMode) -> None:
        """Take the newest answer back, so that it is measured again."""
        self._before, self._again, self._sent = self.chat, True, ""
        self._begins_anew = False
        self.chat = self.chat.asked_again(mode=mode)
        self._show()

    def show_runs(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """These are the runs of the newest turn now."""
        self.chat = self.chat.answered(baseline, speculative)
        self._show()

    def notice_answer(self) -> None:
        """Empty the field once the answer to its text has begun."""
        newest = self.chat.newest
        if self._sent and newest is not None and newest.answered:
            if self._bar.prompt == self._sent:
                self._bar.set_prompt("")
            self._sent = ""

    def end_turn(self) -> Chat | None:
        """The runs are over. Returns the conversation that they left behind, where that was said.

        Where no token came, everything is as before, with the prompt still in its field.
        """
        before, self._before = self._before, None
        if before is None:
            return None
        self.notice_answer()
        self._sent = ""
        after = self.chat.after(before)
        self.chat = after.keep() if self._again else after
        self._show()
        newest = self.chat.newest
        answered = newest is not None and newest.answered
        return before.keep() if self._begins_anew and answered else None

    # Editing -----------------------------------------------------------------------------------
    def edit(self, index: int) -> None:
        """Put the text of a turn into the field; what was written there waits."""
        if not 0 <= index < len(self.chat.turns):
            return
        self.chat = self.chat.edit(index, draft=self._bar.prompt)
        self._bar.recall(self.chat.turns[index].prompt)

    def edit_earlier(self) -> None:
        """Edit the last turn, or the one before that which is edited."""
        editing = self.chat.editing
        self.edit((len(self.chat.turns) if editing is None else editing) - 1)

    def give_up(self) -> None:
        """Edit nothing any more; the field has again what was written there."""
        if self.chat.editing is not None:
            self._bar.set_prompt(self.chat.draft)
            self.chat = self.chat.keep()

    def hint(self) -> str:
        """What is said above the field; empty for nothing."""
        if self.chat.editing is not None:
            number = self.chat.editing + 1
            return f"Editing turn {number} · Escape keeps the conversation as it is"
        return self._words_of_beginning()

    def _words_of_beginning(self) -> str:
        """Why the next prompt leaves turns behind; empty where it leaves none.

        Who writes one raw prompt after the other need not be told each time.
        """
        if not self.chat.begins_anew(self.raw or self.lacks_template):
            return ""
        if self.raw:
            return "" if self.chat.kept_turns()[-1].raw else RAW_BEGINS_ANEW
        return NO_TEMPLATE if self.lacks_template else CHAT_BEGINS_ANEW

    # The whole ---------------------------------------------------------------------------------
    def set_mode(self, mode: RunMode) -> None:
        """Show the newest turn in another mode."""
        self.chat = self.chat.shown_in(mode)

    def replace(self, turns: Sequence[Turn]) -> Chat | None:
        """Show another conversation; returns the one before, None if that had no turns."""
        self.give_up()
        before, self.chat = self.chat, Chat(turns=tuple(turns))
        self._show()
        return before if before.turns else None

    def _show(self) -> None:
        self._page.show_turns(self.chat.turns)
