"""Recorded steps, as a lossless check takes them: the output and nothing behind it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from support.random_runs import runs
from support.traces import baseline_of, lively_run

from specviz.trace.events import RunFinished, StopReason
from specviz.trace.trace import Trace
from specviz.worker.protocol import CheckLossless
from specviz.worker.recorded import recorded_steps, token_at


def folded(events):
    trace = Trace()
    for event in events:
        trace.append(event)
    return trace


@given(runs())
def test_the_steps_emit_the_output_and_an_end_token(events):
    trace = folded(events)
    emitted = [token_id for step in recorded_steps(trace) for token_id in step.emitted]
    output = [token.token_id for token in trace.tokens]
    assert emitted[: len(output)] == output
    ends = {step.end_token.token_id for step in trace.steps if step.end_token}
    assert len(emitted) <= len(output) + 1 and set(emitted[len(output) :]) <= ends


@given(runs())
def test_no_step_contradicts_itself(events):
    for step in recorded_steps(folded(events)):
        accepted = step.emitted[:-1]
        assert accepted == step.draft[: len(accepted)]
        assert len(step.emitted) <= len(step.draft) + 1


def test_a_stop_text_that_reaches_back_ends_the_recording():
    whole = lively_run(40, close=False).trace
    n_kept = whole.first_token_of_step[5] + 1
    trace = folded(
        [
            *([whole.started, *whole.preparations, *whole.steps]),
            RunFinished(
                run_id=whole.run_id,
                t=whole.steps[-1].t,
                reason=StopReason.STOP_TEXT,
                n_committed=n_kept,
            ),
        ]
    )
    steps = recorded_steps(trace)
    assert sum(len(step.emitted) for step in steps) == n_kept
    assert steps[-1].draft == tuple(token.token_id for token in whole.steps[5].draft)


def test_the_token_at_a_position_may_be_the_end_token():
    trace = baseline_of(lively_run(20).trace, close=False)
    last = trace.steps[-1]
    assert token_at(trace, 3) == trace.tokens[3].token_id
    assert token_at(trace, len(trace.tokens)) is None
    assert token_at(trace, -1) is None
    trace.steps[-1] = replace(last, end_token=last.target)
    assert token_at(trace, len(trace.tokens)) == last.target.token_id
    assert token_at(trace, len(trace.tokens) + 1) is None


def test_a_check_is_made_of_what_a_trace_holds():
    trace = lively_run(20).trace
    command = CheckLossless(config=trace.started.config, steps=recorded_steps(trace), whole=True)
    assert len(command.steps) == len(trace.steps)
