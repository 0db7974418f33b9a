"""A stored or finished run as the steps that the engine is to evaluate anew. Pure."""

from __future__ import annotations

from specviz.trace.trace import Trace
from specviz.worker.protocol import RecordedStep


def recorded_steps(trace: Trace) -> tuple[RecordedStep, ...]:
    """The verify steps of a run, as far as its output goes, for `CheckLossless`.

    Tokens that a stop text cut away are left out, and the steps behind them.
    """
    steps = []
    for index, step in enumerate(trace.steps):
        new = [token.token_id for token in step.draft[: step.n_accepted]]
        if step.target is not None:
            new.append(step.target.token_id)
        kept = trace.kept_of_step(index)
        emitted = new[:kept]
        if step.end_token is not None:
            emitted.append(step.end_token.token_id)
        steps.append(
            RecordedStep(
                draft=tuple(token.token_id for token in step.draft),
                emitted=tuple(emitted),
                drafter=step.drafter,
            )
        )
        if kept < len(new):
            break
    return tuple(steps)


def token_at(trace: Trace, position: int) -> int | None:
    """The token decided at a position of the output, an end token behind the last one included.

    What a fork asks for of the baseline; None where nothing was decided.
    """
    if 0 <= position < len(trace.tokens):
        return trace.tokens[position].token_id
    end = trace.steps[-1].end_token if trace.steps and position == len(trace.tokens) else None
    return end.token_id if end else None
