"""The conversation: which turns the page shows, and the words around their answers.

Follows the traces it is given; knows nothing of engines or files.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from specviz.trace.config import Message, RunMode
from specviz.trace.events import StopReason
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.accessible_text import make_readable
from specviz.ui.chat import Turn, turns_of, turns_of_runs
from specviz.ui.page_paint import Progress
from specviz.ui.token_view import TokenView


def end_words(trace: Trace) -> str:
    """What is said behind a finished answer; nothing where it simply came to its end."""
    n = figures.counted(len(trace.tokens), "token")
    if trace.failed is not None:
        kept = f" {n} {'was' if len(trace.tokens) == 1 else 'were'} kept." if trace.tokens else ""
        return trace.failed.message + kept
    if trace.finished is None:
        return ""
    match trace.finished.reason:
        case StopReason.CANCELLED:
            return f"Stopped by you after {n}."
        case StopReason.CONTEXT_FULL:
            return f"The context is full after {n}."
        case StopReason.MAX_TOKENS:
            return f"Stopped at the longest answer allowed, {n}."
        case StopReason.STOP_TEXT:
            return f"Stopped before a stop text, after {n}."
        case StopReason.END_OF_GENERATION:
            return "" if trace.tokens else "The model ended its answer at once."


class Conversation(TokenView):
    """Shows turns, each with one answer: the speculative one where there is one, else the baseline.

    Text streams in with `refresh`; the view follows the end only while it stands at the end.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Conversation")
        self._said_by_caller = ""
        make_readable(self)

    @property
    def trace(self) -> Trace | None:
        """The trace whose answer is shown."""
        return self.answer.trace

    def show_turns(self, turns: Sequence[Turn]) -> None:
        """Show a conversation, of which the newest turn may still be under way."""
        self._said_by_caller = ""
        super().show_turns(turns)
        for i, block in enumerate(self.page.blocks[:-1]):
            trace = block.answer.trace
            self.set_note(end_words(trace) if trace is not None else "", i)
        self.refresh()

    def show_prompt(self, prompt: str | Sequence[Message]) -> None:
        """Show what was asked, before there is an answer."""
        if isinstance(prompt, str):
            prompt = (Message(role="user", text=prompt),)
        self.show_turns(turns_of(prompt, over=False))

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Show the answer of the speculative run, or of the baseline where there is none yet."""
        self.show_trace(speculative if speculative is not None else baseline)

    def show_trace(self, trace: Trace | None) -> None:
        """Show one run with its messages. The prompt stays until a run brings its own."""
        self._said_by_caller = ""
        if trace is not None and trace.started is not None and trace.started.config.messages:
            self.show_turns(turns_of_runs(None, trace, over=trace.closed))
        elif trace is not self.answer.trace or trace is None:
            self.set_trace(trace)
        self.refresh()

    def clear(self) -> None:
        """Back to the empty page."""
        self.clear_progress()
        self.show_turns(())

    def refresh(self, final: bool = False) -> None:
        """Take in what is new in the trace. Costs nothing when nothing is."""
        trace = self.answer.trace
        if trace is None:
            self.set_note(self._said_by_caller)
            return
        if self.take_new() or trace.closed:
            self.clear_progress()
        if final:
            self.refresh_figures()
        self.set_note(self._said_by_caller or end_words(trace))

    def set_limit(self, n_steps: int | None) -> None:
        """Show the answer as it was after so many verify steps (replay); None shows all."""
        trace = self.answer.trace
        limit = None
        if trace is not None and n_steps is not None and n_steps < len(trace.steps):
            limit = trace.first_token_of_step[n_steps] if n_steps > 0 else 0
        if limit != self.answer.limit:
            self.answer.limit = limit
            self.refresh()

    def show_note(self, text: str) -> None:
        """Say something behind the answer, in place of the words for how the run ended."""
        self._said_by_caller = text
        self.refresh()

    def show_progress(self, text: str, fraction: float | None = None) -> None:
        """Say what is going on before the first token, with a bar where a share is known."""
        self.set_progress(Progress(text, fraction))

    def clear_progress(self) -> None:
        """Take the progress line away."""
        self.set_progress(None)

    @property
    def is_baseline(self) -> bool:
        """Whether the answer shown is the target's alone."""
        trace = self.answer.trace
        return trace is not None and trace.mode is RunMode.BASELINE
