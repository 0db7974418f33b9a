"""The oracle on toy memories, whose scores depend on the whole text that they really hold."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_models import VOCABULARY, next_token

from specviz.engine.lossless import Oracle, Recording
from specviz.engine.lossless_request import Fork
from specviz.engine.model import Cancelled
from specviz.errors import EngineError, SettingError
from specviz.trace.config import DraftSource
from specviz.trace.lossless import BatchShape, Mismatch
from specviz.worker.protocol import RecordedStep

PROMPT = (3, 1, 4, 1, 5)
SCORE = 5.0


class ToyMemory:
    """Gives `SCORE` to the one token that follows a text, and `shift(text, n_rows)` to token 7."""

    def __init__(self, *, trims=True, n_batch=64, n_vocab=VOCABULARY, shift=None):
        self.trims, self.n_batch, self.n_vocab = trims, n_batch, n_vocab
        self.text: list[int] = []
        self.batches: list[list[int]] = []
        self._saved: list[int] | None = None
        self._shift = shift or (lambda text, n_rows: 0.0)

    @property
    def n_past(self):
        return len(self.text)

    def clear(self):
        self.text = []

    def evaluate(self, token_ids, n_rows):
        assert 0 < len(token_ids) <= self.n_batch
        begin = len(self.text)
        self.text = [*self.text, *token_ids]
        self.batches.append([*token_ids])
        rows = np.zeros((n_rows, self.n_vocab), dtype=np.float32)
        for i in range(n_rows):
            before = self.text[: begin + len(token_ids) - n_rows + i + 1]
            rows[i, next_token(before, 0) % self.n_vocab] = SCORE
            rows[i, 7] += self._shift(before, len(token_ids))
        return rows

    def drop(self, n_past):
        assert self.trims and n_past <= len(self.text)
        del self.text[n_past:]

    def save(self):
        self._saved = [*self.text]

    def put_back(self):
        self.text = [*self._saved]


def recorded(seed, n_steps=30, source=DraftSource.NGRAM_MOD, right=0.7, longest=5):
    """Steps that a faultless run on the toy model may have had."""
    chance = random.Random(seed)
    text, steps = list(PROMPT), []
    for _ in range(n_steps):
        draft, guess = [], [*text]
        for _ in range(chance.randint(0, longest)):
            best = next_token(guess, 0)
            token_id = best if chance.random() < right else 1 + best % (VOCABULARY - 1)
            draft.append(token_id)
            guess.append(token_id)
        emitted: list[int] = []
        for token_id in (*draft, None):
            emitted.append(next_token([*text, *emitted], 0))
            if emitted[-1] != token_id:
                break
        text += emitted
        steps.append(RecordedStep(draft=tuple(draft), emitted=tuple(emitted), drafter=source))
    return Recording(PROMPT, steps)


def drafted_alone(seed, n_steps=30):
    """Steps whose drafts are the toy model's own, of which the target keeps only some."""
    chance = random.Random(seed)
    text, steps = list(PROMPT), []
    for _ in range(n_steps):
        draft: list[int] = []
        for _ in range(chance.randint(0, 5)):
            draft.append(next_token([*text, *draft], 0))
        n_accepted = chance.randint(0, len(draft))
        emitted = (*draft[:n_accepted], chance.randrange(VOCABULARY, 2 * VOCABULARY))
        text += emitted
        source = DraftSource.DRAFT_SIMPLE
        steps.append(RecordedStep(draft=tuple(draft), emitted=emitted, drafter=source))
    return Recording(PROMPT, steps)


def oracle(recording, memory, cancelled=None, advance=lambda n: None):
    return Oracle(recording, memory, cancelled or threading.Event(), advance)


def n_emitted(recording):
    return sum(len(step.emitted) for step in recording.steps)


def changed(recording, index, **fields):
    """The recording with the last emitted token of a step replaced, or with another draft."""
    step = recording.steps[index]
    new = RecordedStep(
        draft=fields.get("draft", step.draft),
        emitted=fields.get("emitted", step.emitted),
        drafter=step.drafter,
    )
    return Recording(
        recording.prompt, [*recording.steps[:index], new, *recording.steps[index + 1 :]]
    )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), trims=st.booleans(), n_batch=st.sampled_from([16, 64]))
def test_a_faultless_run_is_confirmed_whatever_the_memory(seed, trims, n_batch):
    recording = recorded(seed)
    told = []
    replay = oracle(recording, ToyMemory(trims=trims, n_batch=n_batch), advance=told.append).replay(
        None
    )
    assert replay.mismatch is None
    assert replay.n_rechecked == n_emitted(recording) == sum(told)


def test_the_batches_are_the_recorded_ones():
    recording, memory = recorded(5), ToyMemory()
    oracle(recording, memory).replay(None)
    pending, expected = PROMPT[-1], [[*PROMPT[:-1]]]
    for step in recording.steps:
        expected.append([pending, *step.draft])
        pending = step.emitted[-1]
    assert memory.batches == expected


def test_what_stands_goes_in_front_of_the_next_batch_where_memory_cannot_trim():
    recording, memory = recorded(5, right=0.2, longest=3), ToyMemory(trims=False)
    oracle(recording, memory).replay(None)
    assert max(map(len, memory.batches)) > 4
    alone = [batch for batch in memory.batches[1:] if len(batch) > 8]
    assert alone, "a long backlog was evaluated by itself"


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), index=st.integers(0, 29), trims=st.booleans())
def test_a_token_that_does_not_follow_is_found(seed, index, trims):
    recording = recorded(seed)
    emitted = recording.steps[index].emitted
    other = 1 + emitted[-1] % (VOCABULARY - 1)
    spoiled = changed(recording, index, emitted=(*emitted[:-1], other))
    replay = oracle(spoiled, ToyMemory(trims=trims)).replay(None)
    position = sum(len(step.emitted) for step in recording.steps[: index + 1]) - 1
    assert replay.mismatch == Mismatch(
        position=position, recorded=other, found=emitted[-1], margin=SCORE
    )


def test_a_difference_within_rounding_makes_way_for_a_clear_one():
    recording = recorded(8)
    texts = [tuple(recording.text_before(position)) for position in range(n_emitted(recording))]
    close = next(i for i, text in enumerate(texts) if next_token(text, 0) != 7)

    def shift(text, n_rows):
        return SCORE + 0.25 if tuple(text) == texts[close] else 0.0

    only = oracle(recording, ToyMemory(shift=shift)).replay(None).mismatch
    assert (only.position, only.found, only.margin) == (close, 7, 0.25)
    emitted = recording.steps[20].emitted
    spoiled = changed(recording, 20, emitted=(*emitted[:-1], 1 + emitted[-1] % 39))
    found = oracle(spoiled, ToyMemory(shift=shift)).replay(None).mismatch
    assert found.position > close and found.margin > 1


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), trims=st.booleans())
def test_a_drafts_own_tokens_are_confirmed(seed, trims):
    recording = drafted_alone(seed)
    memory = ToyMemory(trims=trims, n_vocab=2 * VOCABULARY)
    told = []
    redrafted = oracle(recording, memory, advance=told.append).redraft()
    assert redrafted.mismatch is None
    assert redrafted.n_rechecked == sum(len(step.draft) for step in recording.steps) == sum(told)


def test_a_draft_of_another_text_is_found():
    recording = drafted_alone(3)
    index = next(i for i, step in enumerate(recording.steps) if len(step.draft) >= 3 and i > 4)
    step = recording.steps[index]
    stale = (step.draft[0], 1 + step.draft[1] % 39, *step.draft[2:])
    position = sum(len(step.emitted) for step in recording.steps[:index])
    spoiled = changed(recording, index, draft=stale, emitted=(90,))
    mismatch = oracle(spoiled, ToyMemory(n_vocab=2 * VOCABULARY)).redraft().mismatch
    assert (mismatch.position, mismatch.recorded, mismatch.found) == (
        position + 1,
        stale[1],
        step.draft[1],
    )


def test_only_the_draft_models_drafts_are_asked_for_again():
    memory = ToyMemory()
    assert oracle(recorded(4, source=DraftSource.NGRAM_MOD), memory).redraft().n_rechecked == 0


def fork_at(recording, position, baseline_id):
    before = 0
    for index, step in enumerate(recording.steps):
        row = position - before
        if row < len(step.emitted):
            return Fork(
                position=position,
                step=index,
                row=row,
                token_id=step.emitted[row],
                baseline_id=baseline_id,
            )
        before += len(step.emitted)
    raise AssertionError(position)


def a_fork(recording):
    """In the middle of a step with a draft, away from token 7."""
    before = 0
    for step in recording.steps:
        if before > 20 and len(step.emitted) >= 3 and 7 not in step.emitted[:2]:
            return fork_at(recording, before + 1, 7)
        before += len(step.emitted)
    raise AssertionError


def test_a_tie_that_tips_with_the_width_is_seen_behind_a_prefill():
    recording = recorded(11, right=0.9)
    fork = a_fork(recording)

    def shift(text, n_rows):
        return SCORE + (0.1 if n_rows == 1 else -0.2)

    memory = ToyMemory(shift=shift)
    margins = oracle(recording, memory).look_at_fork(fork)
    assert [(each.shape, round(each.margin, 3)) for each in margins] == [
        (BatchShape.ONE_ROW, 0.1),
        (BatchShape.VERIFY_BATCH, -0.2),
        (BatchShape.PREFILL, -0.2),
    ]
    n_text = len(PROMPT) + fork.position
    n_draft = len(recording.steps[fork.step].draft)
    assert [each.n_rows for each in margins] == [1, 1 + n_draft, n_text]
    # a prefill and a pass for each shape, where the prefill is no more than the last batch of all
    assert len(memory.batches) == 5


def test_where_the_shapes_agree_both_runs_are_followed_as_they_were():
    recording = recorded(11, right=0.9)
    fork = a_fork(recording)
    memory = ToyMemory(shift=lambda text, n_rows: SCORE + 3.0)
    told = []
    margins = oracle(recording, memory, advance=told.append).look_at_fork(fork)
    assert [round(each.margin, 3) for each in margins] == [3.0, 3.0, 3.0]
    singles = [batch for batch in memory.batches if len(batch) == 1]
    assert len(singles) >= fork.position
    assert sum(told) >= 2 * fork.position


def test_a_prefill_is_split_evenly():
    recording = recorded(11, right=0.9)
    fork = a_fork(recording)
    n_text = len(PROMPT) + fork.position
    memory = ToyMemory(n_batch=n_text - 1)
    last = oracle(recording, memory).look_at_fork(fork)[-1]
    assert last.n_rows == n_text // 2


def test_cancelling_takes_effect_between_passes():
    stop, memory = threading.Event(), ToyMemory()

    def advance(n_tokens):
        if len(memory.batches) == 6:
            stop.set()

    with pytest.raises(Cancelled):
        oracle(recorded(2), memory, stop, advance).replay(None)
    assert len(memory.batches) == 6


def test_scores_that_are_no_numbers_prove_nothing():
    recording = recorded(1)
    memory = ToyMemory(shift=lambda text, n_rows: float("nan"))
    with pytest.raises(EngineError, match="no numbers"):
        oracle(recording, memory).replay(None)


def test_tokens_of_another_model_are_refused():
    recording = changed(recorded(1), 29, emitted=(VOCABULARY + 3,), draft=())
    with pytest.raises(SettingError, match="does not have"):
        oracle(recording, ToyMemory()).replay(None)
    fork = Fork(position=0, step=0, row=0, token_id=1, baseline_id=VOCABULARY + 3)
    with pytest.raises(SettingError, match="does not have"):
        oracle(recorded(1), ToyMemory()).look_at_fork(fork)
