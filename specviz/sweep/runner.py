"""Runs a sweep on an engine, run after run, with the models kept in memory.

Knows neither windows nor terminals; a listener is told what happens. What was measured stays when
the sweep is cancelled, when a run fails, and when the engine dies.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol, cast

from specviz.errors import EngineDied, FileError, PairError, SpecvizError
from specviz.sweep.plan import SweepPlan
from specviz.sweep.remaining import RunTimes
from specviz.sweep.results import BASELINE_LABEL, SweepResults
from specviz.trace.config import RunConfig
from specviz.trace.events import RunEvent, StopReason
from specviz.trace.trace import Trace
from specviz.worker.client import Message

MOST_DEATHS = 3
"""So often the engine may die before the sweep gives up."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a sweep stands: `n_done` of `n_total` runs, and what runs now.

    `remaining_seconds` is judged by the runs there were, None before the first one has ended.
    """

    n_done: int
    n_total: int
    prompt: str
    label: str
    remaining_seconds: float | None
    elapsed_seconds: float


class SweepListener(Protocol):
    """Who wants to know how a sweep goes."""

    def on_sweep_progress(self, progress: Progress) -> None:
        """A run is about to begin."""

    def on_sweep_result(self, prompt: int, point: int | None) -> None:
        """A run has ended, in good order or not, and `results` holds it."""

    def on_notice(self, message: Message) -> None:
        """Something happened that is not part of a run: loading, prefill, safe mode."""


class RunsEngine(Protocol):
    """What a sweep needs of an `EngineSession`. It starts the engine again where there is none."""

    def run(self, config: RunConfig) -> AsyncIterator[Message]:
        """Run once; loads where needed."""

    def cancel(self) -> None:
        """Ask the run under way to stop."""


class Sweep:
    """One sweep. `results` grows while it runs; `plan` has the seed that all runs share."""

    def __init__(
        self,
        session: RunsEngine,
        plan: SweepPlan,
        listener: SweepListener,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan = plan.with_seed()
        self.results = SweepResults(self.plan)
        self.cancelled = False
        self._session = session
        self._listener = listener
        self._clock = clock
        self._times = RunTimes()
        self._deaths = 0

    async def run(self) -> bool:
        """Run all there is to run; False when it was cancelled.

        A run that fails is noted and the sweep goes on, also when the engine dies. Raises
        EngineDied when it has done so `MOST_DEATHS` times, and what makes every run fail: a file
        or pair that cannot be loaded at all. The results so far stay.
        """
        begun = self._clock()
        runs = list(self.plan.runs())
        for n_done, (prompt, point) in enumerate(runs):
            if self.cancelled:
                return False
            self._listener.on_sweep_progress(
                Progress(
                    n_done=n_done,
                    n_total=len(runs),
                    prompt=self.plan.prompts[prompt].name,
                    label=BASELINE_LABEL if point is None else self.plan.points[point].label,
                    remaining_seconds=self._times.remaining(runs[n_done:]),
                    elapsed_seconds=self._clock() - begun,
                )
            )
            if not await self._one(prompt, point):
                self.cancelled = True
                return False
        return True

    def cancel(self) -> None:
        """Stop within a step; what was measured before stays."""
        self.cancelled = True
        self._session.cancel()

    async def _one(self, prompt: int, point: int | None) -> bool:
        """One run; False when it was cancelled. A run that was cut off counts for nothing."""
        begun = self._clock()
        trace = Trace()
        try:
            await self._follow(self.plan.config(prompt, point), trace)
        except EngineDied as death:
            self._deaths += 1
            if self.cancelled:
                return False
            self._fail(prompt, point, death)
            if self._deaths >= MOST_DEATHS:
                raise
            return True
        except SpecvizError as error:
            hopeless = isinstance(error, FileError | PairError) and self.results.environment is None
            self._fail(prompt, point, error)
            if hopeless:
                raise
            return True
        if trace.failed is None and _cut_off(trace):
            return False
        self.results.add(prompt, point, trace)
        if trace.failed is None:
            self._times.add(prompt, point, self._clock() - begun)
        self._listener.on_sweep_result(prompt, point)
        return True

    async def _follow(self, config: RunConfig, trace: Trace) -> None:
        stream = cast(Any, self._session.run(config))
        async with aclosing(stream) as messages:
            async for message in messages:
                if isinstance(message, RunEvent):
                    trace.append(message)
                else:
                    self._listener.on_notice(message)

    def _fail(self, prompt: int, point: int | None, error: SpecvizError) -> None:
        self.results.add_error(prompt, point, str(error))
        self._listener.on_sweep_result(prompt, point)


def _cut_off(trace: Trace) -> bool:
    return trace.finished is None or trace.finished.reason is StopReason.CANCELLED
