"""Folding events into a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from support.random_runs import folded, runs
from support.traces import TraceBuilder, explanation

from specviz.errors import TraceError
from specviz.trace.config import Role, RunMode
from specviz.trace.events import (
    Prefilled,
    RunEvent,
    RunFailed,
    RunFinished,
    StepVerified,
    StopReason,
    TargetToken,
    TokenSource,
)
from specviz.trace.storage import events_of
from specviz.trace.trace import Trace


# What holds for every run ------------------------------------------------------------------------
@given(runs())
def test_the_counts_add_up(events: list[RunEvent]) -> None:
    counts = folded(events).counts
    assert counts.accepted + counts.rejected == counts.tested
    assert counts.tested + counts.dropped == counts.drafted
    assert min(counts.accepted, counts.rejected, counts.dropped) >= 0
    assert sum(counts.accepted_by_position) == counts.accepted
    assert sum(counts.tested_by_position) == counts.tested


@given(runs())
def test_tokens_shown_are_tokens_counted(events: list[RunEvent]) -> None:
    trace = folded(events)
    assert trace.counts.committed == len(trace.tokens)
    by_source = dict.fromkeys(TokenSource, 0)
    for token in trace.tokens:
        by_source[token.source] += 1
    assert by_source == {source: getattr(trace.counts, source.value) for source in TokenSource}


@given(runs())
def test_steps_add_up_to_the_run(events: list[RunEvent]) -> None:
    trace = folded(events)
    steps = range(len(trace.steps))
    assert sum(map(trace.kept_of_step, steps)) == len(trace.tokens)
    assert sum(map(trace.accepted_of_step, steps)) == trace.counts.accepted
    targets = [trace.target_of_step(index) for index in steps]
    assert sum(target is not None for target in targets) + trace.counts.accepted == len(
        trace.tokens
    )


@given(runs())
def test_tokens_know_their_place(events: list[RunEvent]) -> None:
    trace = folded(events)
    assert [token.position for token in trace.tokens] == list(range(len(trace.tokens)))
    for token in trace.tokens:
        step = trace.steps[token.step]
        if token.draft_position is None:
            assert step.target is not None
            assert (token.token_id, token.source) == (step.target.token_id, step.target.source)
            assert token.drafter is None
        else:
            assert token.source is TokenSource.ACCEPTED
            assert token.token_id == step.draft[token.draft_position].token_id
            assert token.drafter is step.drafter


@given(runs(closed=True))
def test_the_bytes_of_the_tokens_are_the_text(events: list[RunEvent]) -> None:
    trace = folded(events)
    assert trace.data == b"".join(token.piece for token in trace.tokens)
    assert trace.text == trace.data.decode("utf-8", "replace")
    assert trace.n_shown == len(trace.tokens)


@given(runs(closed=False))
def test_an_open_run_holds_back_what_may_be_cut(events: list[RunEvent]) -> None:
    trace = folded(events)
    held = trace.steps[-1].n_held if trace.steps else 0
    assert trace.n_shown == len(trace.tokens) - held
    assert trace.incomplete
    assert trace.data.decode("utf-8", "replace").startswith(trace.text)


@given(runs())
def test_a_trace_gives_back_its_events(events: list[RunEvent]) -> None:
    assert list(events_of(folded(events))) == events


# Single situations -------------------------------------------------------------------------------
def test_every_source_of_a_token() -> None:
    trace = (
        TraceBuilder()
        .step(target="plain")
        .step(["a", "b"], 2, "bonus")
        .step(["c", "d"], 1, "right")
        .finish()
    )
    assert [(token.text, token.source.value) for token in trace.tokens] == [
        ("plain", "sampled"), ("a", "accepted"), ("b", "accepted"), ("bonus", "bonus"),
        ("c", "accepted"), ("right", "recovered"),
    ]  # fmt: skip
    assert trace.counts.rejected == 1
    assert trace.counts.steps_with_draft == 2
    assert trace.counts.tested_by_position == [2, 2]
    assert trace.counts.accepted_by_position == [2, 1]


def test_an_emoji_of_accepted_and_recovered_bytes_is_one_mixed_character() -> None:
    trace = TraceBuilder().step([b"\xf0", b"\x9f", b"!"], 2, b"\x98").step(target=b"\x80").finish()
    assert [token.text for token in trace.tokens] == ["", "", "", "😀"]
    assert [token.mixed for token in trace.tokens] == [False, False, False, True]
    assert "\ufffd" not in trace.text


def test_a_character_of_one_source_is_not_mixed() -> None:
    trace = TraceBuilder().step([b"\xf0\x9f", b"\x98\x80"], 2, "x").finish()
    assert not any(token.mixed for token in trace.tokens)


def test_the_end_of_an_unfinished_character_shows_once() -> None:
    trace = TraceBuilder().step(target="a").step(target=b"\xf0\x9f").finish()
    assert trace.text == "a\ufffd"


def test_a_failed_run_keeps_its_tokens() -> None:
    trace = TraceBuilder().step(target="a").step(target=b"\xf0").fail("Out of memory.")
    assert trace.text == "a\ufffd"
    assert trace.closed
    assert trace.failed is not None and trace.failed.message == "Out of memory."


def test_a_stop_text_reaching_back_two_steps_cuts_tokens_counts_and_text() -> None:
    builder = TraceBuilder().step(["x", "E"], 2, "N").step(["D", "!"], 1, "?", n_held=3)
    trace = builder.finish(StopReason.STOP_TEXT, n_committed=1)
    assert trace.text == "x"
    assert [token.text for token in trace.tokens] == ["x"]
    assert (trace.counts.accepted, trace.counts.tested, trace.counts.rejected) == (1, 4, 3)
    assert trace.counts.committed == 1
    assert [trace.accepted_of_step(0), trace.accepted_of_step(1)] == [1, 0]
    assert trace.target_of_step(0) is None
    assert trace.target_of_step(1) is None


def test_a_stop_text_inside_a_token_leaves_its_beginning() -> None:
    trace = TraceBuilder().step(target="one").step(target=" twoEND").finish(
        StopReason.STOP_TEXT, n_committed=2, last_piece=b" two"
    )  # fmt: skip
    assert trace.text == "one two"
    assert trace.tokens[-1].piece == b" two"


def test_held_tokens_are_not_shown_until_the_run_is_over() -> None:
    builder = TraceBuilder().step(target="a").step(target="E", n_held=1)
    assert builder.trace.n_shown == 1
    builder.finish(StopReason.MAX_TOKENS)
    assert builder.trace.n_shown == 2


def test_decode_begins_when_the_last_model_has_read_the_prompt() -> None:
    builder = TraceBuilder(prefill_seconds=0.3)
    builder.trace.append(
        Prefilled(run_id="run-1", t=0.5, role=Role.DRAFT, n_tokens=11, n_reused=0, seconds=0.2)
    )
    assert builder.trace.decode_start == 0.5
    assert builder.trace.decode_end == 0.5


def test_an_empty_trace_has_no_numbers_to_trip_over() -> None:
    trace = Trace()
    assert (trace.text, trace.data, trace.run_id, trace.n_shown) == ("", b"", "", 0)
    assert trace.mode is RunMode.BASELINE
    assert trace.incomplete


# What is refused ---------------------------------------------------------------------------------
def finished(
    t: float, n: int = 0, last_piece: bytes | None = None, run_id: str = "run-1"
) -> RunFinished:
    return RunFinished(
        run_id=run_id, t=t, reason=StopReason.MAX_TOKENS, n_committed=n, last_piece=last_piece
    )


def test_the_order_of_events_is_checked() -> None:
    started = TraceBuilder().trace.started
    assert started is not None
    step = explanation().trace.steps[0]
    with pytest.raises(TraceError, match="first event"):
        Trace().append(step)
    with pytest.raises(TraceError, match="starts twice"):
        folded([started, started])
    with pytest.raises(TraceError, match="another run"):
        folded([started, finished(1.0, run_id="run-2")])
    with pytest.raises(TraceError, match="follows the end"):
        folded([started, finished(1.0), finished(2.0)])
    with pytest.raises(TraceError, match="backwards"):
        folded([replace(started, t=5.0), finished(1.0)])
    with pytest.raises(TraceError, match="further away"):
        folded([started, finished(1e300)])


def test_a_run_may_fail_before_it_starts() -> None:
    trace = folded([RunFailed(run_id="run-1", t=0.0, kind="file", message="No.")])
    assert trace.closed


@pytest.mark.parametrize(
    "change",
    [
        {"role": Role.TARGET}, {"seconds": -1.0}, {"seconds": 1e10}, {"n_tokens": -1},
        {"n_reused": -1},
    ],
)  # fmt: skip
def test_an_impossible_prefill_is_refused(change: dict[str, object]) -> None:
    trace = TraceBuilder().trace
    good = Prefilled(run_id="run-1", t=1.0, role=Role.DRAFT, n_tokens=1, n_reused=0, seconds=0.1)
    with pytest.raises(TraceError):
        trace.append(replace(good, **change))


def test_no_prefill_after_the_first_step() -> None:
    builder = TraceBuilder().step(target="a")
    late = Prefilled(run_id="run-1", t=9.0, role=Role.DRAFT, n_tokens=1, n_reused=0, seconds=0.1)
    with pytest.raises(TraceError):
        builder.trace.append(late)


IMPOSSIBLE_STEPS: list[dict[str, object]] = [
    {"step": 1}, {"step": -1}, {"n_accepted": 3}, {"n_accepted": -1}, {"n_dropped": -1},
    {"n_past": -1}, {"n_held": -1}, {"n_held": 4}, {"draft_seconds": -0.1},
    {"other_seconds": -1e-9}, {"verify_seconds": 1e18},
    {"target": TargetToken(token_id=1, piece=b"x", source=TokenSource.ACCEPTED)},
    {"target": TargetToken(token_id=1, piece=b"x", source=TokenSource.RECOVERED)},
    {"target": TargetToken(token_id=1, piece=b"x", source=TokenSource.SAMPLED)},
    {"target": TargetToken(token_id=-1, piece=b"x", source=TokenSource.BONUS)},
    {"target": TargetToken(token_id=1, piece=b"x", source=TokenSource.BONUS, target_prob=1.5)},
    {"end_token": TargetToken(token_id=-5, piece=b"", source=TokenSource.BONUS)},
]  # fmt: skip


@pytest.mark.parametrize("change", IMPOSSIBLE_STEPS)
def test_an_impossible_step_is_refused_and_changes_nothing(change: dict[str, object]) -> None:
    good = TraceBuilder().step(["a", "b"], 2, "c").trace.steps[0]
    trace = TraceBuilder().trace
    with pytest.raises(TraceError):
        trace.append(replace(good, **change))
    assert (trace.tokens, trace.steps, trace.counts.steps) == ([], [], 0)


@pytest.mark.parametrize(
    "change",
    [{"token_id": -1}, {"draft_prob": -0.1}, {"draft_prob": 7.0}, {"target_prob": 2.0},
     {"copied_from": -1}],
)  # fmt: skip
def test_an_impossible_draft_token_is_refused(change: dict[str, object]) -> None:
    good = TraceBuilder().step(["a", "b"], 2, "c").trace.steps[0]
    bad = replace(good, draft=(replace(good.draft[0], **change), good.draft[1]))
    with pytest.raises(TraceError):
        TraceBuilder().trace.append(bad)


@pytest.mark.parametrize(("n", "last_piece"), [(3, None), (-1, None), (2, b"zz"), (0, b"a")])
def test_an_impossible_end_is_refused(n: int, last_piece: bytes | None) -> None:
    builder = TraceBuilder().step(target="a").step(target="b")
    with pytest.raises(TraceError):
        builder.trace.append(finished(9.0, n, last_piece))
    assert builder.trace.text == "ab"


def test_a_run_is_one_step_after_another() -> None:
    trace = TraceBuilder().trace
    step = TraceBuilder().step(target="a").trace.steps[0]
    trace.append(step)
    with pytest.raises(TraceError, match="numbered"):
        trace.append(replace(step))
    assert isinstance(trace.steps[0], StepVerified)
