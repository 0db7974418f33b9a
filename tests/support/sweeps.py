"""Sweeps without an engine: fabricated runs of a wanted speed, and a session that plays them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from support.traces import TraceBuilder, run_config

from specviz.sweep.axes import Axis
from specviz.sweep.plan import SweepPlan, SweepPrompt, grid
from specviz.sweep.runner import Progress
from specviz.trace.config import RunConfig, RunMode
from specviz.trace.events import RunEvent, StopReason
from specviz.trace.trace import Trace
from specviz.worker.client import Message

N_TOKENS = 24


def plan_of(
    *n_max: int, prompts: Sequence[str] = ("Story", "Code"), n_repeats: int = 1
) -> SweepPlan:
    """Draft lengths over prompts, each prompt's text being `About` and its name."""
    base = run_config()
    points = grid(base, [Axis("n_max", n_max)]).points
    return SweepPlan(
        base=base,
        prompts=tuple(SweepPrompt(name, f"About {name}") for name in prompts),
        points=points,
        n_repeats=n_repeats,
    )


def run_at(
    speed: float,
    config: RunConfig | None = None,
    *,
    accepted: int | None = None,
    n_tokens: int = N_TOKENS,
    text: str = "w",
    close: bool = True,
) -> Trace:
    """A run of exactly `speed` tokens per second; its text depends on `text` alone.

    A speculative run drafts `n_max` tokens in each step, of which `accepted` (all by default) are
    kept; the last steps draft less, so that it ends after `n_tokens`.
    """
    config = config or run_config(RunMode.BASELINE)
    builder = TraceBuilder(config)
    n_max = config.speculation.n_max if config.mode is RunMode.SPECULATIVE else 0
    position = 0
    while position < n_tokens:
        n_draft = min(n_max, n_tokens - position - 1)
        n_kept = n_draft if accepted is None else min(accepted, n_draft)
        words = [f" {text}{position + i}" for i in range(n_kept + 1)]
        wrong = [" wrong"] * (n_draft - n_kept)
        builder.step(
            [*words[:-1], *wrong], n_kept, words[-1], seconds=(n_kept + 1) / speed, draft_share=0.1
        )
        position += n_kept + 1
    if close:
        builder.finish(StopReason.MAX_TOKENS)
    return builder.trace


def events_of(trace: Trace) -> list[RunEvent]:
    """The events that a trace was made from."""
    assert trace.started is not None
    end = trace.finished or trace.failed
    return [trace.started, *trace.preparations, *trace.steps, *([end] if end else [])]


Play = Callable[[RunConfig], Trace | Exception]


class FakeSession:
    """Plays a run for each configuration; an exception is raised in its place.

    `configs`: what was asked for. `clock` is moved on by what the runs took.
    """

    def __init__(self, play: Play, notices: Sequence[Message] = ()) -> None:
        self.configs: list[RunConfig] = []
        self.now = 0.0
        self.cancel_after: int | None = None
        self.n_cancels = 0
        self._play = play
        self._notices = notices

    def clock(self) -> float:
        return self.now

    async def run(self, config: RunConfig) -> AsyncIterator[Message]:
        self.configs.append(config)
        for notice in self._notices:
            yield notice
        played = self._play(config)
        if isinstance(played, Exception):
            raise played
        events = events_of(played)
        if self.n_cancels:
            events = [
                *events[:-2],
                replace(played.finished, reason=StopReason.CANCELLED, n_committed=0),
            ]
        for event in events:
            yield event
        self.now += events[-1].t

    def cancel(self) -> None:
        self.n_cancels += 1


class Recorder:
    """Remembers what a sweep has told."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []
        self.results: list[tuple[int, int | None]] = []
        self.notices: list[Message] = []
        self.on_result: Callable[[], None] = lambda: None

    def on_sweep_progress(self, progress: Progress) -> None:
        self.progress.append(progress)

    def on_sweep_result(self, prompt: int, point: int | None) -> None:
        self.results.append((prompt, point))
        self.on_result()

    def on_notice(self, message: Message) -> None:
        self.notices.append(message)
