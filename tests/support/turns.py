"""Turns of a conversation with runs that answered them, for tests and pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from support.traces import TraceBuilder, baseline_of, run_config

from specviz.trace.config import DraftSource, Message
from specviz.trace.trace import Trace
from specviz.ui.chat import Turn


def user(text: str) -> Message:
    return Message(role="user", text=text)


def pieces_of(text: str) -> tuple[bytes, ...]:
    """The text in tokens of a simple kind: words with the blank before them, and single signs."""
    return tuple(piece.encode() for piece in re.findall(r" ?\w+|\s|[^\w\s]", text))


def rendered(messages: Sequence[Message]) -> tuple[bytes, ...]:
    """The prompt of a usual template in tokens; its marks have no text."""
    pieces: list[bytes] = []
    for message in messages:
        head = f"{message.role}\n".encode()
        pieces += [b"", head, *pieces_of(message.text.strip()), b"", b"\n"]
    return (*pieces, b"", b"assistant\n")


def builder_for(messages: Sequence[Message], *, source: DraftSource | None = None) -> TraceBuilder:
    """A run of these messages, whose prompt is known in tokens."""
    sources = (source,) if source else (DraftSource.DRAFT_SIMPLE,)
    pieces = rendered(messages)
    builder = TraceBuilder(run_config(messages=messages, sources=sources), n_prompt=len(pieces))
    started = builder.trace.started
    assert started is not None
    builder.trace.started = replace(started, prompt_pieces=pieces)
    return builder


def position_in(pieces: Sequence[bytes], text: str) -> int:
    """Where the tokens of `text` stand among these for the last time."""
    wanted = list(pieces_of(text))
    places = [i for i in range(len(pieces)) if list(pieces[i : i + len(wanted)]) == wanted]
    return places[-1]


def turn_of(trace: Trace, *, over: bool = True, with_baseline: bool = True) -> Turn:
    """A turn that is answered by a run."""
    assert trace.started is not None
    return Turn(
        prompt=trace.started.config.prompt,
        baseline=baseline_of(trace) if with_baseline else None,
        speculative=trace,
        over=over,
    )


def answered(prompt: str, *pieces: str) -> Turn:
    """A turn with a finished answer, of which every second token was drafted."""
    builder = builder_for((user(prompt),))
    for piece in pieces[::2]:
        index = pieces.index(piece)
        builder.step([piece], 1, pieces[index + 1] if index + 1 < len(pieces) else None)
    return turn_of(builder.finish())


def reasoning_run(n_reasoning: int, n_answer: int, *, close: bool = True) -> TraceBuilder:
    """A run with so many tokens in its reasoning block, marks counted, and so many behind it."""
    builder = TraceBuilder(run_config(prompt="Think first."))
    builder.plain("<think>", *[f" w{i}" for i in range(n_reasoning - 2)], "</think>")
    builder.plain(*["\n\nSo", *[f" a{i}" for i in range(1, n_answer)]][:n_answer])
    if close:
        builder.finish()
    return builder
