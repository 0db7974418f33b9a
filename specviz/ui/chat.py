"""The rules of a conversation: which turns there are, what the model is told of them, editing.

Values without behaviour of their own, so that any earlier state can be had back. Knows nothing of
Qt, runs or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from specviz.trace.config import Message, RunMode
from specviz.trace.reasoning import reasoning_of
from specviz.trace.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What was asked, and the runs that answered it.

    `mode` is the mode in which it is shown: the speculative run comes before the baseline, except
    in the baseline mode. `reply` is an answer of which only the text is known. `raw`: asked
    without a chat template, so that it has no turns before it and none behind. `over`: nothing
    more arrives.
    """

    prompt: str
    raw: bool = False
    baseline: Trace | None = None
    speculative: Trace | None = None
    reply: Message | None = None
    mode: RunMode = RunMode.SPECULATIVE
    over: bool = False

    @property
    def trace(self) -> Trace | None:
        """The run whose answer is shown: the newer one; when all is over, one with tokens."""
        runs = [self.speculative, self.baseline]
        if self.mode is RunMode.BASELINE:
            runs.reverse()
        there = [run for run in runs if run is not None]
        first = there[0] if there else None
        return next((run for run in there if run.tokens), first) if self.over else first

    @property
    def answer(self) -> Message | None:
        """What the model is told that it has answered; None while there is no token."""
        trace = self.trace
        if trace is None or not trace.tokens:
            return self.reply
        parts = reasoning_of(trace)
        return Message(role="assistant", text=parts.answer, reasoning=parts.text)

    @property
    def answered(self) -> bool:
        """Whether there is anything of an answer."""
        trace = self.trace
        return self.reply is not None or (trace is not None and bool(trace.tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A conversation as it stands. The last turn is the newest, and the one that is measured.

    `editing` is the turn whose text is being written anew, None where the next prompt is another
    turn; `draft` is what was written before the edit began.
    """

    turns: tuple[Turn, ...] = ()
    editing: int | None = None
    draft: str = ""

    @property
    def newest(self) -> Turn | None:
        return self.turns[-1] if self.turns else None

    # Asking ----------------------------------------------------------------------------------
    def kept_turns(self) -> tuple[Turn, ...]:
        """The turns that the next prompt follows.

        An edited turn and all behind it make room, and so do newest turns without an answer.
        """
        kept = list(self.turns if self.editing is None else self.turns[: self.editing])
        while kept and not kept[-1].answered:
            kept.pop()
        return tuple(kept)

    def begins_anew(self, raw: bool) -> bool:
        """Whether the next prompt leaves these turns behind, because a raw prompt has no turns."""
        kept = self.kept_turns()
        return bool(kept) and (raw or kept[-1].raw)

    def asked(self, prompt: str, *, raw: bool, mode: RunMode) -> Chat:
        """With one more turn, which has no answer yet."""
        kept = () if self.begins_anew(raw) else self.kept_turns()
        return Chat(turns=(*kept, Turn(prompt=prompt, raw=raw, mode=mode)))

    def asked_again(self, *, mode: RunMode) -> Chat:
        """With the newest turn's answer taken back, so that it is measured again."""
        *kept, last = self.turns
        return replace(self, turns=(*kept, Turn(prompt=last.prompt, raw=last.raw, mode=mode)))

    def messages(self) -> tuple[Message, ...]:
        """What the newest prompt is run with, system prompt left aside."""
        found = []
        for turn in self.turns:
            if turn.prompt:
                found.append(Message(role="user", text=turn.prompt))
            answer = turn.answer if turn is not self.newest else None
            if answer is not None:
                found.append(answer)
        return tuple(found)

    # Answers ---------------------------------------------------------------------------------
    def answered(self, baseline: Trace | None, speculative: Trace | None) -> Chat:
        """With these runs of the newest turn."""
        return self._with_newest(baseline=baseline, speculative=speculative)

    def shown_in(self, mode: RunMode) -> Chat:
        """With the newest turn shown in another mode."""
        return self._with_newest(mode=mode)

    def _with_newest(self, **changes: Trace | RunMode | bool | None) -> Chat:
        if not self.turns:
            return self
        *earlier, newest = self.turns
        return replace(self, turns=(*earlier, replace(newest, **changes)))  # type: ignore[arg-type]

    def after(self, before: Chat) -> Chat:
        """What is left when the runs are over; `before` it was asked.

        Whatever arrived is the answer. Without a token nothing that made room for it is lost, and
        the prompt is to be sent again: its turn is edited.
        """
        over = self._with_newest(over=True)
        newest = over.newest
        if newest is None or newest.answered:
            return over
        index = len(self.turns) - 1
        if any(turn.answered for turn in before.turns[index:]):
            return before
        return over.edit(index, draft=before.draft)

    # Editing ---------------------------------------------------------------------------------
    def edit(self, index: int, draft: str) -> Chat:
        """With a turn that is being written anew; a draft that waits already goes on waiting."""
        if not 0 <= index < len(self.turns):
            return self
        return replace(self, editing=index, draft=draft if self.editing is None else self.draft)

    def keep(self) -> Chat:
        """As it is, with nothing being edited."""
        return replace(self, editing=None, draft="")


def turns_of(
    messages: Sequence[Message],
    baseline: Trace | None = None,
    speculative: Trace | None = None,
    *,
    raw: bool = False,
    over: bool = True,
) -> tuple[Turn, ...]:
    """The turns of a run's messages; the newest one is answered by the runs."""
    turns: list[Turn] = []
    for message in messages:
        if message.role == "user":
            turns.append(Turn(prompt=message.text, raw=raw))
        elif message.role == "assistant":
            if turns and turns[-1].reply is None:
                turns[-1] = replace(turns[-1], reply=message)
            else:
                turns.append(Turn(prompt="", reply=message))
    if not turns or turns[-1].reply is not None:
        turns.append(Turn(prompt=""))
    turns[-1] = replace(turns[-1], baseline=baseline, speculative=speculative, over=over)
    return tuple(turns)


def homes_of(messages: Sequence[Message]) -> list[int | None]:
    """For each message, which of the turns that `turns_of` makes it is in; None for none."""
    homes: list[int | None] = []
    turn, answered = -1, True
    for message in messages:
        if message.role not in ("user", "assistant"):
            homes.append(None)
            continue
        is_answer = message.role == "assistant"
        if not is_answer or answered:
            turn += 1
        answered = is_answer
        homes.append(turn)
    return homes


def turns_of_runs(
    baseline: Trace | None, speculative: Trace | None, *, over: bool = True
) -> tuple[Turn, ...]:
    """The conversation that a run, or a pair of runs of one task, answers; none before it began."""
    trace = speculative if speculative is not None else baseline
    if trace is None or trace.started is None:
        return ()
    config = trace.started.config
    return turns_of(config.messages, baseline, speculative, raw=config.raw, over=over)
