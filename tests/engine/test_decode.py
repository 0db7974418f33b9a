"""The decode loop on toy models: lossless, exact limits, right accounts."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.toy_models import (
    END,
    VOCABULARY,
    ToyDrafter,
    ToyTarget,
    ids_of,
    next_token,
    toy_events,
    toy_trace,
)

from specviz.trace.config import Role
from specviz.trace.events import Prefilled, RunFinished, StepVerified, StopReason, TokenSource


def finish_of(events):
    assert isinstance(events[-1], RunFinished)
    return events[-1]


@given(
    seed=st.integers(0, 10_000),
    n_max=st.integers(0, 9),
    budget=st.integers(1, 60),
    n_ctx=st.integers(5, 70),
    sampled=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_any_draft_gives_the_baselines_tokens(seed, n_max, budget, n_ctx, sampled):
    sampler_seed = seed if sampled else None
    prompt = [1 + seed % 7, 2, 3]
    plain = toy_events(ToyTarget(n_ctx, sampler_seed), None, prompt=prompt, max_tokens=budget)
    drafted = toy_events(
        ToyTarget(n_ctx, sampler_seed), ToyDrafter(seed, n_max), prompt=prompt, max_tokens=budget
    )
    assert ids_of(drafted) == ids_of(plain)
    assert finish_of(drafted).reason == finish_of(plain).reason
    assert finish_of(drafted).n_committed == len(ids_of(drafted)) <= budget
    assert len(prompt) + len(ids_of(drafted)) <= n_ctx


@given(seed=st.integers(0, 10_000), n_max=st.integers(1, 9), budget=st.integers(1, 60))
@settings(max_examples=150, deadline=None)
def test_every_step_keeps_the_accounts(seed, n_max, budget):
    target = ToyTarget(seed=None)
    trace = toy_trace(toy_events(target, ToyDrafter(seed, n_max), max_tokens=budget))
    counts = trace.counts
    assert counts.accepted + counts.rejected == counts.tested
    assert counts.committed == len(trace.tokens) == trace.finished.n_committed
    committed = 0
    for index, step in enumerate(trace.steps):
        committed += step.n_accepted + (step.target is not None)
        assert step.n_past == 3 - 1 + committed + (step.end_token is not None)
        parts = (
            step.draft_seconds
            + step.verify_seconds
            + step.sample_seconds
            + step.restore_seconds
            + step.other_seconds
        )
        before = trace.steps[index - 1].t if index else trace.decode_start
        assert parts == pytest.approx(step.t - before)


def test_a_draft_equal_to_the_target_gives_full_acceptance_and_a_bonus():
    target = ToyTarget(end_share=0.0)
    drafter = ToyDrafter(seed=1, n_max=4, noise=0.0)
    drafter._generator.randint = lambda low, high: high  # always the longest draft
    steps = [e for e in toy_events(target, drafter, max_tokens=50) if isinstance(e, StepVerified)]
    # the toy's texts have an end now and then, the target of this test has none: look at the rest
    whole = [step for step in steps if END not in [token.token_id for token in step.draft]]
    assert whole
    for step in whole[:-1]:
        assert step.n_accepted == len(step.draft) == 4
        assert step.target.source is TokenSource.BONUS


def test_the_end_inside_a_draft_is_no_accepted_token():
    prompt = next(
        p
        for p in ([1, 2, n] for n in range(1, VOCABULARY))
        if next_token(p) != END and next_token([*p, next_token(p)]) == END
    )
    first = next_token(prompt)

    class EndDrafter(ToyDrafter):
        def draft(self, history, pending, limit):
            from specviz.engine.drafting.base import Proposal

            return Proposal((first, END, 5, 6), (1.0,) * 4, (None,) * 4, 0, self.source)

    events = toy_events(ToyTarget(), EndDrafter(1, 4), prompt=prompt)
    (step,) = [e for e in events if isinstance(e, StepVerified)]
    assert (step.n_accepted, step.target, step.end_token.token_id) == (1, None, END)
    assert finish_of(events).reason is StopReason.END_OF_GENERATION
    trace = toy_trace(events)
    assert (trace.counts.tested, trace.counts.accepted, trace.counts.rejected) == (4, 1, 3)
    assert [token.token_id for token in trace.tokens] == [first]


@pytest.mark.parametrize("budget", [1, 2, 3, 10])
def test_the_budget_is_met_exactly_inside_an_accepted_run(budget):
    drafter = ToyDrafter(seed=3, n_max=8, noise=0.0)
    events = toy_events(ToyTarget(end_share=0.0), drafter, max_tokens=budget)
    assert len(ids_of(events)) == budget
    assert finish_of(events).reason is StopReason.MAX_TOKENS


def test_a_full_context_ends_the_run_before_it_overflows():
    events = toy_events(ToyTarget(n_ctx=20, end_share=0.0), ToyDrafter(5, 16), max_tokens=-1)
    assert finish_of(events).reason is StopReason.CONTEXT_FULL
    assert 3 + len(ids_of(events)) == 20


def test_a_stop_text_across_steps_cuts_tokens_of_earlier_steps():
    pieces = dict.fromkeys(range(VOCABULARY), b"x")
    plain = ids_of(toy_events(ToyTarget(end_share=0.0, pieces=pieces), None, max_tokens=10))
    # give the fourth to sixth token of this text the pieces that make up the stop text
    pieces |= {plain[3]: b"ab[S", plain[4]: b"TO", plain[5]: b"P]cd"}
    expected = b"".join(pieces[i] for i in plain[:10])
    cut = expected.find(b"[STOP]")
    assert cut >= 0
    for drafter in (None, ToyDrafter(4, 5)):
        target = ToyTarget(end_share=0.0, pieces=pieces)
        events = toy_events(target, drafter, max_tokens=10, stop=["[STOP]"])
        trace = toy_trace(events)
        assert trace.finished.reason is StopReason.STOP_TEXT
        assert trace.data == expected[:cut]
        assert trace.counts.committed == len(trace.tokens) == trace.finished.n_committed
        assert trace.counts.accepted + trace.counts.rejected == trace.counts.tested


def test_cancellation_ends_the_run_after_the_step_under_way():
    cancelled = threading.Event()

    class CancellingDrafter(ToyDrafter):
        def draft(self, history, pending, limit):
            if len(history) > 10:
                cancelled.set()
            return super().draft(history, pending, limit)

    events = toy_events(
        ToyTarget(end_share=0.0), CancellingDrafter(1, 2), max_tokens=-1, cancelled=cancelled
    )
    assert finish_of(events).reason is StopReason.CANCELLED
    assert 8 < len(ids_of(events)) < 16


def test_cancellation_during_prefill_gives_a_closing_event_and_no_step():
    cancelled = threading.Event()
    cancelled.set()
    events = toy_events(ToyTarget(), None, cancelled=cancelled)
    assert [type(event) for event in events] == [RunFinished]
    assert events[0].reason is StopReason.CANCELLED


def test_the_prompt_is_evaluated_without_its_last_token():
    target = ToyTarget(end_share=0.0)
    events = toy_events(target, None, prompt=[7, 8, 9], max_tokens=1)
    prefilled = [e for e in events if isinstance(e, Prefilled)]
    assert [(e.role, e.n_tokens) for e in prefilled] == [(Role.TARGET, 2)]
    assert target.batches == [[9]]


def test_a_drafter_hears_of_acceptance_only_after_its_own_drafts():
    drafter = ToyDrafter(seed=2, n_max=1)
    events = toy_events(ToyTarget(end_share=0.0), drafter, max_tokens=30)
    steps = [e for e in events if isinstance(e, StepVerified)]
    assert drafter.accepted == [step.n_accepted for step in steps if step.draft]


def test_a_target_that_says_nothing_of_its_own_goes_on_from_the_accepted_tokens():
    class Silent(ToyTarget):
        def sample(self, row):
            # never a bonus: nothing behind a draft that was accepted as a whole
            return None if row and row == len(self.batches[-1]) - 1 else super().sample(row)

    drafter = ToyDrafter(seed=3, n_max=4, noise=0.0)
    events = toy_events(Silent(end_share=0.0), drafter, max_tokens=30)
    plain = toy_events(ToyTarget(end_share=0.0), None, max_tokens=30)
    assert ids_of(events) == ids_of(plain)
    steps = [event for event in events if isinstance(event, StepVerified)]
    silent = [step for step in steps if step.draft and step.target is None]
    assert silent and all(step.n_accepted == len(step.draft) for step in silent)
