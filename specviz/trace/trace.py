"""A run as it unfolds: folds events into tokens, steps and counts.

Append-only. Views remember how many tokens and steps they have drawn. Knows nothing of where the
events come from (engine, stored file, script) and computes no rates: see metrics.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from specviz.errors import TraceError
from specviz.trace.config import DraftSource, Role, RunMode
from specviz.trace.events import (
    DrafterBegun,
    Prefilled,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    StepVerified,
    TargetToken,
    TokenSource,
)
from specviz.trace.text import PieceDecoder, texts_of

LONGEST_SECONDS = 1e9
"""Longer than any run; keeps sums over an untrusted trace finite."""


@dataclass(frozen=True, slots=True)
class Token:
    """A committed token.

    `draft_position` counts from 0 inside its draft and is None for the target's own tokens.
    `mixed`: its text was begun by a token of another source (a character spanning tokens).
    """

    position: int
    step: int
    token_id: int
    piece: bytes
    text: str
    source: TokenSource
    drafter: DraftSource | None
    draft_position: int | None
    draft_prob: float | None
    target_prob: float | None
    copied_from: int | None
    t: float
    mixed: bool = False


@dataclass(slots=True)
class Counts:
    """Plain sums over the run, from which every rate is derived.

    accepted + rejected = tested; tested + dropped = drafted. The two `by_position` lists count,
    for each draft position, the steps that tested it and the steps that kept it.
    """

    steps: int = 0
    steps_with_draft: int = 0
    tested: int = 0
    dropped: int = 0
    accepted: int = 0
    recovered: int = 0
    bonus: int = 0
    sampled: int = 0
    draft_seconds: float = 0.0
    verify_seconds: float = 0.0
    sample_seconds: float = 0.0
    restore_seconds: float = 0.0
    other_seconds: float = 0.0
    tested_by_position: list[int] = field(default_factory=list)
    accepted_by_position: list[int] = field(default_factory=list)

    @property
    def committed(self) -> int:
        return self.accepted + self.recovered + self.bonus + self.sampled

    @property
    def rejected(self) -> int:
        return self.tested - self.accepted

    @property
    def drafted(self) -> int:
        return self.tested + self.dropped

    def add(self, step: StepVerified, n_accepted: int, target: TargetToken | None) -> None:
        """Count a step of which `n_accepted` draft tokens and `target` are in the output."""
        self.steps += 1
        n_draft = len(step.draft)
        self.steps_with_draft += n_draft > 0
        self.tested += n_draft
        self.dropped += step.n_dropped
        self.accepted += n_accepted
        if target is not None:
            name = target.source.value
            setattr(self, name, getattr(self, name) + 1)
        self.draft_seconds += step.draft_seconds
        self.verify_seconds += step.verify_seconds
        self.sample_seconds += step.sample_seconds
        self.restore_seconds += step.restore_seconds
        self.other_seconds += step.other_seconds
        while len(self.tested_by_position) < n_draft:
            self.tested_by_position.append(0)
            self.accepted_by_position.append(0)
        for i in range(n_draft):
            self.tested_by_position[i] += 1
        for i in range(n_accepted):
            self.accepted_by_position[i] += 1


class Trace:
    """One run, from its events.

    Attributes:
        started, prefilled, begun, steps, finished, failed: the events themselves.
        tokens: committed tokens in order.
        counts: sums over the steps, always consistent with `tokens`.
        first_token_of_step: for each step, the position of its first committed token.
        incomplete: no closing event arrived (engine died, file cut off).
        unreadable_tail: a stored trace was cut off in the middle of a line.
    """

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.prefilled: dict[Role, Prefilled] = {}
        self.begun: dict[DraftSource, DrafterBegun] = {}
        self.steps: list[StepVerified] = []
        self.tokens: list[Token] = []
        self.first_token_of_step: list[int] = []
        self.counts = Counts()
        self.finished: RunFinished | None = None
        self.failed: RunFailed | None = None
        self.unreadable_tail = False
        self._decoder = PieceDecoder()
        self._begun_by: TokenSource | None = None
        self._last_t = 0.0

    @property
    def closed(self) -> bool:
        return self.finished is not None or self.failed is not None

    @property
    def incomplete(self) -> bool:
        return not self.closed

    @property
    def mode(self) -> RunMode:
        return self.started.config.mode if self.started else RunMode.BASELINE

    @property
    def run_id(self) -> str:
        return self.started.run_id if self.started else ""

    @property
    def n_shown(self) -> int:
        """Tokens that may be shown: those that could still become a stop text are held back."""
        if self.closed or not self.steps:
            return len(self.tokens)
        return len(self.tokens) - self.steps[-1].n_held

    @property
    def text(self) -> str:
        return "".join(token.text for token in self.tokens)

    @property
    def data(self) -> bytes:
        """The exact bytes of the answer."""
        return b"".join(token.piece for token in self.tokens)

    @property
    def decode_start(self) -> float:
        """When decoding began: models and draft sources had taken in the prompt.

        In seconds since the run began.
        """
        return max((event.t for event in self.preparations), default=0.0)

    @property
    def preparations(self) -> list[Prefilled | DrafterBegun]:
        """What happened before the first step, in order of time."""
        return sorted((*self.prefilled.values(), *self.begun.values()), key=lambda event: event.t)

    @property
    def decode_end(self) -> float:
        return self.steps[-1].t if self.steps else self.decode_start

    def kept_of_step(self, index: int) -> int:
        """How many tokens of step `index` are in the output."""
        first = self.first_token_of_step[index]
        is_last = index + 1 == len(self.steps)
        end = len(self.tokens) if is_last else self.first_token_of_step[index + 1]
        return min(end, len(self.tokens)) - min(first, len(self.tokens))

    def accepted_of_step(self, index: int) -> int:
        """How many draft tokens of step `index` are in the output."""
        return min(self.steps[index].n_accepted, self.kept_of_step(index))

    def target_of_step(self, index: int) -> TargetToken | None:
        """The target's own token of step `index`, if it is in the output."""
        step = self.steps[index]
        return step.target if self.kept_of_step(index) > step.n_accepted else None

    def append(self, event: RunEvent) -> None:
        """Fold the next event in. Raises TraceError for one that breaks the rules of a run."""
        self._check_order(event)
        self._last_t = event.t
        match event:
            case RunStarted():
                self.started = event
            case Prefilled():
                self.prefilled[event.role] = event
            case DrafterBegun():
                self.begun[event.source] = event
            case StepVerified():
                self._add_step(event)
            case RunFinished():
                self._finish(event)
            case RunFailed():
                self.failed = event
                self._flush_text()

    def _check_order(self, event: RunEvent) -> None:
        if self.closed:
            raise TraceError("An event follows the end of the run.")
        if isinstance(event, RunStarted):
            if self.started is not None:
                raise TraceError("The run starts twice.")
        elif self.started is None and not isinstance(event, RunFailed):
            raise TraceError("The first event is not the start of a run.")
        elif self.started is not None and event.run_id != self.started.run_id:
            raise TraceError("An event of another run is mixed in.")
        if event.t < self._last_t:
            raise TraceError("Time runs backwards.")
        if event.t > LONGEST_SECONDS:
            raise TraceError("An event lies further away than a run can last.")
        if isinstance(event, Prefilled):
            self._check_prefill(event)
        if isinstance(event, DrafterBegun):
            self._check_begun(event)

    def _check_prefill(self, event: Prefilled) -> None:
        if event.role in self.prefilled or self.steps:
            raise TraceError("The prompt is evaluated twice, or after the first step.")
        if min(event.n_tokens, event.n_reused) < 0 or not 0 <= event.seconds <= LONGEST_SECONDS:
            raise TraceError("The evaluation of the prompt has an impossible count or duration.")

    def _check_begun(self, event: DrafterBegun) -> None:
        if event.source in self.begun or self.steps:
            raise TraceError("A draft source begins twice, or after the first step.")
        if not 0 <= event.seconds <= LONGEST_SECONDS:
            raise TraceError("The beginning of a draft source has an impossible duration.")

    def _add_step(self, step: StepVerified) -> None:
        check_step(step, len(self.steps), len(self.tokens))
        self.first_token_of_step.append(len(self.tokens))
        self.steps.append(step)
        for i, drafted in enumerate(step.draft[: step.n_accepted]):
            self._add_token(
                step,
                drafted.token_id,
                drafted.piece,
                TokenSource.ACCEPTED,
                drafted.target_prob,
                i,
                drafted.draft_prob,
                drafted.copied_from,
            )
        if step.target is not None:
            target = step.target
            self._add_token(step, target.token_id, target.piece, target.source, target.target_prob)
        self.counts.add(step, step.n_accepted, step.target)

    def _add_token(
        self,
        step: StepVerified,
        token_id: int,
        piece: bytes,
        source: TokenSource,
        target_prob: float | None,
        draft_position: int | None = None,
        draft_prob: float | None = None,
        copied_from: int | None = None,
    ) -> None:
        begun_by = self._begun_by if self._decoder.pending else source
        text = self._decoder.feed(piece)
        mixed = bool(text) and begun_by is not source
        if self._decoder.pending:
            self._begun_by = begun_by if not text else source
        self.tokens.append(
            Token(
                position=len(self.tokens),
                step=step.step,
                token_id=token_id,
                piece=piece,
                text=text,
                source=source,
                drafter=step.drafter if draft_position is not None else None,
                draft_position=draft_position,
                draft_prob=draft_prob,
                target_prob=target_prob,
                copied_from=copied_from,
                t=step.t,
                mixed=mixed,
            )
        )

    def _finish(self, event: RunFinished) -> None:
        if not 0 <= event.n_committed <= len(self.tokens):
            raise TraceError("The end of the run counts more tokens than its steps.")
        if event.last_piece is not None:
            whole = self.tokens[event.n_committed - 1].piece if event.n_committed else b""
            if not whole.startswith(event.last_piece):
                raise TraceError("What is left of the last token is not its beginning.")
        self.finished = event
        if event.n_committed < len(self.tokens) or event.last_piece is not None:
            self._cut(event.n_committed, event.last_piece)
        else:
            self._flush_text()

    def _cut(self, n_committed: int, last_piece: bytes | None) -> None:
        del self.tokens[n_committed:]
        if last_piece is not None and self.tokens:
            self.tokens[-1] = replace(self.tokens[-1], piece=last_piece)
        texts = texts_of(token.piece for token in self.tokens)
        for i, text in enumerate(texts):
            if self.tokens[i].text != text:
                self.tokens[i] = replace(self.tokens[i], text=text)
        self.counts = Counts()
        for i, step in enumerate(self.steps):
            self.counts.add(step, self.accepted_of_step(i), self.target_of_step(i))

    def _flush_text(self) -> None:
        rest = self._decoder.flush()
        if rest and self.tokens:
            self.tokens[-1] = replace(self.tokens[-1], text=self.tokens[-1].text + rest)


def check_step(step: StepVerified, index: int, n_committed: int) -> None:
    """Raise TraceError for a step that breaks a rule of the format."""
    n_draft = len(step.draft)
    if step.step != index:
        raise TraceError(f"Step {index} is numbered {step.step}.")
    if not 0 <= step.n_accepted <= n_draft:
        raise TraceError(f"Step {index} accepts {step.n_accepted} of {n_draft} draft tokens.")
    counts = [n for call in step.calls for n in (call.n_tokens, call.n_dropped)]
    if min(step.n_dropped, step.n_past, *counts) < 0:
        raise TraceError(f"Step {index} has a negative count.")
    _check_tokens(step)
    new = step.n_accepted + (step.target is not None)
    if not 0 <= step.n_held <= n_committed + new:
        raise TraceError(f"Step {index} holds back more tokens than there are.")
    durations = (
        step.draft_seconds,
        step.verify_seconds,
        step.sample_seconds,
        step.restore_seconds,
        step.other_seconds,
        step.accept_seconds,
        *(call.seconds for call in step.calls),
    )
    if min(durations) < 0 or max(durations) > LONGEST_SECONDS:
        raise TraceError(f"Step {index} has an impossible duration.")
    if step.target is not None:
        if n_draft == 0:
            wanted = TokenSource.SAMPLED
        elif step.n_accepted == n_draft:
            wanted = TokenSource.BONUS
        else:
            wanted = TokenSource.RECOVERED
        if step.target.source is not wanted:
            raise TraceError(f"The target's token of step {index} should be {wanted.value}.")


def _check_tokens(step: StepVerified) -> None:
    for token in (*step.draft, step.target, step.end_token):
        if token is None:
            continue
        if token.token_id < 0 or (token.runner_up and token.runner_up.token_id < 0):
            raise TraceError(f"Step {step.step} has a negative token id.")
        _check_probability(token.target_prob, step.step)
    for drafted in step.draft:
        _check_probability(drafted.draft_prob, step.step)
        if drafted.copied_from is not None and drafted.copied_from < 0:
            raise TraceError(f"Step {step.step} copies from a negative position.")


def _check_probability(value: float | None, step: int) -> None:
    # sums of float32 terms come out a little above 1
    if value is not None and not 0.0 <= value <= 1.001:
        raise TraceError(f"Step {step} has a probability outside 0 to 1.")
