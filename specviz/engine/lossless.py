"""The oracle of the lossless check: a recorded greedy run, evaluated anew on fresh memory.

Teacher-forced: it always goes on with the recorded tokens, in the recorded partition into batches,
and looks at each row's most likely token. Knows nothing of drafting, decode loop or llama.cpp, so
that it can judge them.

Source of the procedure: each emitted token has to be what the sampler picks when the output is
evaluated in the same batches on a fresh context, and a fork is explained by rounding where batch
shapes disagree about it; see trace/lossless.finding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from specviz.engine.lossless_request import Fork
from specviz.engine.model import Cancellation, Cancelled
from specviz.engine.rollback import MOST_BACKLOG
from specviz.engine.sampling import Row
from specviz.errors import EngineError, SettingError
from specviz.trace.config import DraftSource
from specviz.trace.lossless import (
    NEAR_TIE_LOGITS,
    BatchShape,
    Divergence,
    LosslessCheck,
    Mismatch,
    ShapeMargin,
    finding,
)
from specviz.worker.protocol import RecordedStep


class Memory(Protocol):
    """One sequence on a model's weights."""

    n_batch: int
    n_vocab: int
    trims: bool

    @property
    def n_past(self) -> int:
        """Positions in memory."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...

    def evaluate(self, token_ids: Sequence[int], n_rows: int) -> Row:
        """Evaluate tokens behind what is there; the scores of the last `n_rows`, until the next."""
        ...

    def drop(self, n_past: int) -> None:
        """Forget all positions from `n_past` on; only where it `trims`."""
        ...

    def save(self) -> None:
        """Keep the whole memory as it is."""
        ...

    def put_back(self) -> None:
        """Have the memory as it was saved."""
        ...


@dataclass(frozen=True, slots=True)
class Recording:
    """A run: the prompt, at least one token of it, and the steps that followed."""

    prompt: Sequence[int]
    steps: Sequence[RecordedStep]

    def texts(self) -> Iterator[tuple[RecordedStep, list[int], int, int]]:
        """Each step with the text before it, its pending token and its first token's position.

        The text is one list that grows.
        """
        text, pending, position = list(self.prompt[:-1]), self.prompt[-1], 0
        for step in self.steps:
            yield step, text, pending, position
            if step.emitted:
                text += [pending, *step.emitted[:-1]]
                pending = step.emitted[-1]
            position += len(step.emitted)

    def text_before(self, position: int) -> list[int]:
        """Prompt and output up to a position."""
        output = [token_id for step in self.steps for token_id in step.emitted]
        return [*self.prompt, *output[:position]]


class Oracle:
    """Evaluates a recording anew on one model's memory.

    `advance` is told how many tokens a pass has dealt with. Raises Cancelled.
    """

    def __init__(
        self,
        recording: Recording,
        memory: Memory,
        cancelled: Cancellation,
        advance: Callable[[int], None],
    ) -> None:
        self._recording = recording
        self._memory = memory
        self._cancelled = cancelled
        self._advance = advance

    # The fork ------------------------------------------------------------------------------------
    def look_at_fork(self, fork: Fork) -> tuple[ShapeMargin, ...]:
        """The margins at the fork. Quick where three shapes behind a prefill tell enough.

        Where they agree too well to blame rounding, what the passes before the fork have left in
        memory has to be taken into account: see `follow_both`.
        """
        margins = (
            self._one_row(fork, 1),
            self._verify_batch(fork),
            self._prefilled(fork),
        )
        check = LosslessCheck(fork=fork.position, margins=margins)
        if finding(check) is not Divergence.UNEXPLAINED:
            return margins
        return self.follow_both(fork, self.replay(fork, end=fork.step + 1).margin)

    def follow_both(self, fork: Fork, replayed: ShapeMargin | None) -> tuple[ShapeMargin, ...]:
        """The margins where both runs' own ways led to: `replayed`, and the baseline's."""
        own = () if replayed is None else (replayed,)
        return (self._one_row(fork, fork.position + 1), *own, self._prefilled(fork))

    def _one_row(self, fork: Fork, n_alone: int) -> ShapeMargin:
        """As the baseline evaluates it, its last `n_alone` tokens one by one."""
        text = self._recording.text_before(fork.position)
        begin = len(text) - n_alone
        self._start(text[:begin])
        for token_id in text[begin:]:
            row = self._evaluate([token_id], 1)[0]
            if n_alone > 1:
                self._advance(1)
        return _margin(BatchShape.ONE_ROW, 1, row, fork)

    def _verify_batch(self, fork: Fork) -> ShapeMargin:
        """The recorded step as it was, behind a text evaluated in large batches."""
        *text, pending = self._recording.text_before(fork.position - fork.row)
        self._start(text)
        batch = [pending, *self._recording.steps[fork.step].draft]
        rows = self._evaluate(batch, len(batch))
        return _margin(BatchShape.VERIFY_BATCH, len(batch), rows[fork.row], fork)

    def _prefilled(self, fork: Fork) -> ShapeMargin:
        """All of the text in as few batches as there can be, of one size."""
        text = self._recording.text_before(fork.position)
        size = math.ceil(len(text) / math.ceil(len(text) / self._memory.n_batch))
        at = (len(text) - 1) // size * size
        self._start(text[:at], size)
        row = self._evaluate(text[at:], 1)[0]
        return _margin(BatchShape.PREFILL, len(text) - at, row, fork)

    # The whole run -------------------------------------------------------------------------------
    def replay(self, fork: Fork | None, end: int | None = None) -> Replay:
        """Decide the tokens of the steps, up to step `end`, in the partition that was recorded.

        Where memory cannot trim, all of it is put back after a rejection; the tokens that stand go
        in front of the next batch, as they do in a run.
        """
        memory, seen, margin = self._memory, _Mismatches(), None
        self._start(self._recording.prompt[:-1])
        n_rechecked, backlog = 0, list[int]()
        for step, _, pending, position in islice(self._recording.texts(), end):
            checked = [pending, *step.draft]
            if len(backlog) > MOST_BACKLOG or len(backlog) + len(checked) > memory.n_batch:
                self._evaluate(backlog, 0)
                backlog = []
            batch, n_past = [*backlog, *checked], memory.n_past
            n_kept = len(backlog) + len(step.emitted)
            rejects = n_kept < len(batch)
            if rejects and not memory.trims:
                memory.save()
            rows = self._evaluate(batch, len(checked))
            for row, token_id in enumerate(step.emitted):
                seen.look(position + row, rows[row], token_id)
            if fork is not None and position == fork.position - fork.row:
                margin = _margin(BatchShape.VERIFY_BATCH, len(checked), rows[fork.row], fork)
            n_rechecked += len(step.emitted)
            self._advance(len(step.emitted))
            backlog = []
            if rejects and memory.trims:
                memory.drop(n_past + n_kept)
            elif rejects:
                memory.put_back()
                backlog = batch[:n_kept]
        return Replay(n_rechecked, seen.found, margin)

    def redraft(self) -> Replay:
        """On a draft model's memory: ask it again for each of its tokens, behind the recorded ones.

        The most likely token has to be the recorded one. Where a draft ends is not looked at.
        """
        draft, seen, n_rechecked = self._memory, _Mismatches(), 0
        held = _known(self._recording.prompt[:-1], draft.n_vocab)
        self._start(held)
        n_saved = 0
        for step, text, pending, position in self._recording.texts():
            if step.drafter is not DraftSource.DRAFT_SIMPLE or not step.draft:
                continue
            known = _known([*text, pending], draft.n_vocab)
            n_shared = _n_shared(held, known[:-1])
            if n_shared < len(held):
                if draft.trims:
                    draft.drop(n_shared)
                else:
                    draft.put_back()
                    n_shared = n_saved
                del held[n_shared:]
            row = self._evaluate_all(known[n_shared:])
            held = known
            if not draft.trims:
                draft.save()
                n_saved = len(held)
            for i, token_id in enumerate(step.draft):
                seen.look(position + i, row, token_id)
                if i + 1 < len(step.draft):
                    row = self._evaluate([token_id], 1)[0]
                    held.append(token_id)
            n_rechecked += len(step.draft)
            self._advance(len(step.draft))
        return Replay(n_rechecked, seen.found, None)

    # Passes --------------------------------------------------------------------------------------
    def _start(self, text: Sequence[int], size: int = 0) -> None:
        """Have this text, and nothing else, in memory, evaluated in batches as a prefill does."""
        self._memory.clear()
        size = size or self._memory.n_batch
        for begin in range(0, len(text), size):
            self._evaluate(text[begin : begin + size], 0)

    def _evaluate_all(self, token_ids: Sequence[int]) -> Row:
        """Evaluate tokens in batches; the last one's scores."""
        size = self._memory.n_batch
        *whole, last = range(0, len(token_ids), size)
        for begin in whole:
            self._evaluate(token_ids[begin : begin + size], 0)
        row: Row = self._evaluate(token_ids[last:], 1)[0]
        return row

    def _evaluate(self, token_ids: Sequence[int], n_rows: int) -> Row:
        if self._cancelled.is_set():
            raise Cancelled
        return self._memory.evaluate(token_ids, n_rows)


@dataclass(frozen=True, slots=True)
class Replay:
    """`n_rechecked` tokens were decided anew. `margin`: at the fork, where it was among them."""

    n_rechecked: int
    mismatch: Mismatch | None
    margin: ShapeMargin | None


class _Mismatches:
    """Keeps the first token that differs by more than rounding explains, or else the first."""

    def __init__(self) -> None:
        self.found: Mismatch | None = None

    def look(self, position: int, row: Row, recorded: int) -> None:
        best = int(row.argmax())
        if best == recorded or (self.found and self.found.margin > NEAR_TIE_LOGITS):
            return
        if not 0 <= recorded < len(row):
            raise SettingError("The recorded run has tokens that this model does not have.")
        margin = _difference(row, best, recorded)
        if self.found is None or margin > NEAR_TIE_LOGITS:
            self.found = Mismatch(position=position, recorded=recorded, found=best, margin=margin)


def _margin(shape: BatchShape, n_rows: int, row: Row, fork: Fork) -> ShapeMargin:
    if not max(fork.baseline_id, fork.token_id) < len(row):
        raise SettingError("The recorded run has tokens that this model does not have.")
    margin = _difference(row, fork.baseline_id, fork.token_id)
    return ShapeMargin(shape=shape, n_rows=n_rows, margin=margin)


def _difference(row: Row, one: int, other: int) -> float:
    difference = float(row[one]) - float(row[other])
    if not math.isfinite(difference):
        raise EngineError("The model gives scores that are no numbers, so nothing can be checked.")
    return difference


def _known(token_ids: Sequence[int], n_vocab: int) -> list[int]:
    """Token 0 stands in for what the draft lacks, as it does while drafting."""
    return [token_id if token_id < n_vocab else 0 for token_id in token_ids]


def _n_shared(one: Sequence[int], other: Sequence[int]) -> int:
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))
