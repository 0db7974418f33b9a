"""Random runs that keep every rule of the event stream, for property tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from support.traces import DRAFT, ENVIRONMENT, TARGET, run_config

from specviz.trace.config import DraftSource, Role, RunMode
from specviz.trace.events import (
    DraftCall,
    DrafterBegun,
    DraftToken,
    Prefilled,
    RunEvent,
    RunFailed,
    RunFinished,
    RunnerUp,
    RunStarted,
    StepVerified,
    StopReason,
    TargetToken,
    TokenSource,
)
from specviz.trace.trace import Trace

PIECES = st.one_of(
    st.sampled_from(
        [b" the", b"\n", b"=1+1", b"\xf0\x9f", b"\x98\x80", "é".encode(), b"\xff", b""]
    ),
    st.binary(max_size=4),
    st.text(max_size=4).map(lambda text: text.encode("utf-8", "replace")),
)
PROBABILITIES = st.none() | st.floats(0, 1)
SECONDS = st.sampled_from([0.0, 0.001, 0.0125, 0.5]) | st.floats(0, 3)
RUNNERS_UP = st.none() | st.builds(
    RunnerUp, token_id=st.integers(0, 99), piece=PIECES, margin=st.floats(-20, 20)
)


@dataclass
class _Books:
    t: float = 0.0
    committed: list[bytes] = field(default_factory=list)


@st.composite
def runs(draw: st.DrawFn, max_steps: int = 8, closed: bool | None = None) -> list[RunEvent]:
    """The events of one run. `closed`: whether it has its closing event; None: perhaps."""
    mode = draw(st.sampled_from(RunMode))
    books = _Books()
    events: list[RunEvent] = [
        RunStarted(
            run_id="run-1",
            t=0.0,
            config=run_config(mode),
            target=TARGET,
            draft=DRAFT if mode is RunMode.SPECULATIVE else None,
            environment=ENVIRONMENT,
            effective={"n_ctx": 4096, "flash_attention": None, "repack": True, "p_min": 0.5},
            n_prompt=12,
            started_at="2026-01-01T12:00:00+00:00",
            prompt_pieces=tuple(draw(st.lists(PIECES, max_size=2))),
            reasoning_open=draw(st.booleans()),
        )
    ]
    for role in Role if mode is RunMode.SPECULATIVE else (Role.TARGET,):
        seconds = draw(SECONDS)
        books.t += seconds
        events.append(
            Prefilled(
                run_id="run-1", t=books.t, role=role, n_tokens=11, n_reused=0, seconds=seconds
            )
        )
    sources = st.lists(st.sampled_from(DraftSource), max_size=2, unique=True)
    for source in draw(sources) if mode is RunMode.SPECULATIVE else ():
        seconds = draw(SECONDS)
        books.t += seconds
        events.append(DrafterBegun(run_id="run-1", t=books.t, source=source, seconds=seconds))
    n_steps = draw(st.integers(0, max_steps))
    for index in range(n_steps):
        events.append(_step(draw, mode, books, index, last=index + 1 == n_steps))
    if closed or (closed is None and draw(st.booleans())):
        events.append(_closing(draw, books))
    return events


def _step(draw: st.DrawFn, mode: RunMode, books: _Books, index: int, last: bool) -> StepVerified:
    tokens = st.builds(
        DraftToken,
        token_id=st.integers(0, 99),
        piece=PIECES,
        draft_prob=PROBABILITIES,
        target_prob=PROBABILITIES,
        copied_from=st.none() | st.integers(0, 50),
        runner_up=RUNNERS_UP,
    )
    speculative = mode is RunMode.SPECULATIVE
    drafted = draw(st.lists(tokens, max_size=4)) if speculative else []
    n_accepted = draw(st.integers(0, len(drafted)))
    target = None
    if not last or draw(st.booleans()):
        target = TargetToken(
            token_id=draw(st.integers(0, 99)),
            piece=draw(PIECES),
            source=_source(len(drafted), n_accepted),
            target_prob=draw(PROBABILITIES),
            runner_up=draw(RUNNERS_UP),
        )
    durations = [draw(SECONDS) for _ in range(5)]
    books.t += sum(durations)
    drafter = draw(st.sampled_from(DraftSource)) if drafted else None
    n_dropped = draw(st.integers(0, 3)) if speculative else 0
    books.committed += [token.piece for token in drafted[:n_accepted]]
    books.committed += [target.piece] if target else []
    return StepVerified(
        run_id="run-1",
        t=books.t,
        step=index,
        n_past=12 + len(books.committed) - 1,
        draft=tuple(drafted),
        n_accepted=n_accepted,
        target=target,
        drafter=drafter,
        n_dropped=n_dropped,
        calls=_calls(draw, drafter, len(drafted), n_dropped) if speculative else (),
        accept_seconds=durations[0] / 4 if drafted else 0.0,
        n_held=draw(st.integers(0, min(2, len(books.committed)))),
        draft_seconds=durations[0],
        verify_seconds=durations[1],
        sample_seconds=durations[2],
        restore_seconds=durations[3],
        other_seconds=durations[4],
    )


def _calls(
    draw: st.DrawFn, drafter: DraftSource | None, n_draft: int, n_dropped: int
) -> tuple[DraftCall, ...]:
    """Who was asked in a step: one that threw its draft away, then the one that drafted.

    None at all is how an older trace has it.
    """
    calls = [DraftCall(source=drafter, n_tokens=n_draft, n_dropped=0, seconds=0.1)] * bool(drafter)
    if n_dropped:
        loser = draw(st.sampled_from(DraftSource))
        calls.insert(0, DraftCall(source=loser, n_tokens=0, n_dropped=n_dropped, seconds=0.1))
    return tuple(calls) if draw(st.booleans()) else ()


def _source(n_draft: int, n_accepted: int) -> TokenSource:
    if n_draft == 0:
        return TokenSource.SAMPLED
    return TokenSource.BONUS if n_accepted == n_draft else TokenSource.RECOVERED


def _closing(draw: st.DrawFn, books: _Books) -> RunEvent:
    if draw(st.integers(0, 5)) == 0:
        return RunFailed(run_id="run-1", t=books.t, kind="engine", message="It broke.")
    n = draw(st.integers(0, len(books.committed)))
    if draw(st.booleans()):
        n = len(books.committed)
    last_piece = None
    if n and draw(st.booleans()):
        piece = books.committed[n - 1]
        last_piece = piece[: draw(st.integers(0, len(piece)))]
    reason = StopReason.STOP_TEXT if last_piece is not None else draw(st.sampled_from(StopReason))
    return RunFinished(
        run_id="run-1", t=books.t, reason=reason, n_committed=n, last_piece=last_piece
    )


def folded(events: list[RunEvent]) -> Trace:
    """The trace of these events."""
    trace = Trace()
    for event in events:
        trace.append(event)
    return trace
