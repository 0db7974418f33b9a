"""draft-simple: llama.cpp's stopping rules, and a memory that stays in step with the text."""

from __future__ import annotations

import threading

from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_models import ToyTarget, ids_of, next_token, toy_events

from specviz.engine.drafting.draft_model import DraftModelDrafter


class ToyDraftModel:
    """Remembers what it was fed and insists on being fed the text."""

    def __init__(self, prob=lambda text: 0.9, spoil=lambda text: False, n_ctx=10_000):
        self.memory: list[int] = []
        self.n_ctx = n_ctx
        self.batches: list[int] = []
        self.marked = 0
        self._prob, self._spoil = prob, spoil

    @property
    def n_past(self):
        return len(self.memory)

    def begin(self, token_ids, cancelled, progress):
        self.memory = list(token_ids)
        return 0

    def mark(self):
        self.marked = len(self.memory)

    def truncate(self, n_past):
        assert n_past <= len(self.memory)
        del self.memory[n_past:]
        return n_past

    def propose(self, token_ids):
        self.memory += token_ids
        self.batches.append(len(token_ids))
        token_id = next_token(self.memory)
        if self._spoil(self.memory):
            token_id = (token_id + 1) % 40
        return token_id, self._prob(self.memory)


class ToyRecurrentModel(ToyDraftModel):
    """Can only go back to the moment it was told to remember."""

    def truncate(self, n_past):
        assert self.marked <= n_past
        return super().truncate(self.marked)


def begun(model, n_max=4, n_min=0, p_min=0.0, history=(1, 2, 3)):
    drafter = DraftModelDrafter(model, n_max, n_min, p_min)
    drafter.begin(list(history), threading.Event(), lambda done, total: None)
    return drafter


def test_stops_at_its_maximum_and_at_the_limit():
    drafter = begun(ToyDraftModel(), n_max=4)
    assert len(drafter.draft([1, 2, 3], 4, 100).token_ids) == 4
    assert len(drafter.draft([1, 2, 3], 4, 2).token_ids) == 2


def test_stops_before_the_first_token_below_the_threshold():
    model = ToyDraftModel(prob=lambda text: 0.9 if len(text) < 6 else 0.3)
    proposal = begun(model, p_min=0.5).draft([1, 2, 3], 4, 100)
    assert len(proposal.token_ids) == 2
    assert proposal.probs == (0.9, 0.9)


def test_a_draft_below_the_minimum_is_dropped_and_counted():
    model = ToyDraftModel(prob=lambda text: 0.9 if len(text) < 6 else 0.3)
    proposal = begun(model, n_min=3, p_min=0.5).draft([1, 2, 3], 4, 100)
    assert (proposal.token_ids, proposal.n_dropped) == ((), 2)


def test_the_memory_keeps_what_the_text_kept():
    model = ToyDraftModel()
    drafter = begun(model)
    draft = drafter.draft([1, 2, 3], 4, 100).token_ids
    # all accepted: only the last draft token and the bonus are still to be evaluated
    model.batches.clear()
    drafter.draft([1, 2, 3, 4, *draft], 9, 100)
    assert model.batches[0] == 2
    assert model.memory[:9] == [1, 2, 3, 4, *draft, 9]


def test_a_rejected_tail_is_forgotten():
    model = ToyDraftModel()
    drafter = begun(model)
    draft = drafter.draft([1, 2, 3], 4, 100).token_ids
    other = (draft[1] + 1) % 40
    drafter.draft([1, 2, 3, 4, draft[0], other], 9, 100)
    assert model.memory[:7] == [1, 2, 3, 4, draft[0], other, 9]


@given(st.integers(0, 500), st.integers(1, 6), st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_the_memory_is_the_text_at_every_proposal(seed, n_max, p_min):
    class Watched(ToyDraftModel):
        def propose(self, token_ids):
            found = super().propose(token_ids)
            assert self.memory[: len(target.memory)] == target.memory
            return found

    target = ToyTarget(end_share=0.0)
    model = Watched(
        prob=lambda text: (hash(tuple(text)) % 100) / 100,
        spoil=lambda text: hash((seed, *text)) % 3 == 0,
    )
    drafter = DraftModelDrafter(model, n_max, 0, p_min)
    drafted = toy_events(target, drafter, prompt=[1, 2, 1 + seed % 30], max_tokens=40)
    plain = toy_events(ToyTarget(end_share=0.0), None, prompt=[1, 2, 1 + seed % 30], max_tokens=40)
    assert ids_of(drafted) == ids_of(plain)


def test_the_drafts_own_context_limits_the_draft():
    drafter = begun(ToyDraftModel(n_ctx=6), n_max=8)
    assert len(drafter.draft([1, 2, 3], 4, 100).token_ids) == 2


def test_a_model_that_cannot_trim_is_fed_again_what_it_had_to_forget():
    model = ToyRecurrentModel()
    drafter = begun(model)
    draft = drafter.draft([1, 2, 3], 4, 100).token_ids
    # two of four accepted: back to the pending token, then both again with the correction
    model.batches.clear()
    drafter.draft([1, 2, 3, 4, *draft[:2]], 39, 100)
    assert model.batches[0] == 3
    assert model.memory[:7] == [1, 2, 3, 4, *draft[:2], 39]


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_models_that_can_and_cannot_trim_draft_the_same(seed, n_max):
    def spoil(text):
        return hash((seed, *text[-3:])) % 4 == 0

    events = []
    for kind in (ToyDraftModel, ToyRecurrentModel):
        drafter = DraftModelDrafter(kind(spoil=spoil), n_max, 0, 0.0)
        events.append(toy_events(ToyTarget(), drafter, max_tokens=60))
    assert [step.draft for step in events[0] if hasattr(step, "draft")] == [
        step.draft for step in events[1] if hasattr(step, "draft")
    ]
