"""One measurement as the window makes it: baseline where needed, then the speculative run.

Consumes the engine's stream and folds it into traces. A baseline is used again while nothing that
matters to it has changed. Knows nothing of widgets; tells a listener what happens.
"""

from __future__ import annotations

import secrets
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from specviz.errors import EngineDied, EngineError, SpecvizError
from specviz.trace.comparison import task_of
from specviz.trace.config import RunConfig, RunMode
from specviz.trace.events import Environment, Prefilled, RunEvent, RunStarted, StopReason
from specviz.trace.trace import Trace
from specviz.trace.validation import LARGEST_SEED
from specviz.worker.client import ERRORS, Message
from specviz.worker.session import EngineSession


class Listener(Protocol):
    """Who wants to know how a measurement goes."""

    def on_notice(self, message: Message) -> None:
        """Something happened that is not part of a run: loading, prefill, safe mode."""

    def on_run_started(self, trace: Trace) -> None:
        """A run begins; `trace` grows from now on."""

    def on_prefilled(self, event: Prefilled) -> None:
        """A model has taken in the prompt."""

    def on_run_ended(self, trace: Trace) -> None:
        """A run is over, in good order or not."""


@dataclass(frozen=True, slots=True)
class _Baseline:
    """A finished baseline, with what it is good for."""

    task: RunConfig
    environment: Environment
    trace: Trace


class Runner:
    """Runs measurements one after the other. `baseline` and `speculative` are the newest traces."""

    def __init__(self, session: EngineSession, listener: Listener) -> None:
        self.baseline: Trace | None = None
        self.speculative: Trace | None = None
        self.reused_baseline = False
        self._session = session
        self._listener = listener
        self._known: _Baseline | None = None

    async def measure(self, config: RunConfig) -> bool:
        """Carry out what `config` asks for; False when it was cancelled.

        Raises SpecvizError; the traces so far stay.
        """
        config = with_seed(config)
        self.speculative = None
        known = self._reusable(config)
        self.reused_baseline = config.mode is RunMode.SPECULATIVE and known is not None
        if self.reused_baseline and known is not None:
            self.baseline = known
        else:
            self.baseline = None
            if not await self._run(replace(config, mode=RunMode.BASELINE)):
                return False
        if config.mode is RunMode.SPECULATIVE:
            return await self._run(config)
        return True

    def show(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Take over traces that come from elsewhere, such as a file."""
        self.baseline, self.speculative = baseline, speculative
        self.reused_baseline = False

    def cancel(self) -> None:
        """Stop the run under way."""
        self._session.cancel()

    async def _run(self, config: RunConfig) -> bool:
        """One run; False when it was cancelled, while loading or while running."""
        trace = Trace()
        try:
            stream = cast(Any, self._session.run(config))
            async with aclosing(stream) as messages:
                async for message in messages:
                    self._take(message, trace)
        except EngineDied:
            if trace.started is not None:
                self._listener.on_run_ended(trace)
            raise
        if trace.started is None:
            return False
        self._listener.on_run_ended(trace)
        if trace.failed is not None:
            raise _error_of(trace)
        cancelled = trace.finished is None or trace.finished.reason is StopReason.CANCELLED
        if config.mode is RunMode.BASELINE and not cancelled:
            self._known = _Baseline(task_of(config), trace.started.environment, trace)
        return not cancelled

    def _take(self, message: Message, trace: Trace) -> None:
        if not isinstance(message, RunEvent):
            self._listener.on_notice(message)
            return
        trace.append(message)
        if isinstance(message, RunStarted):
            if trace.mode is RunMode.BASELINE:
                self.baseline = trace
            else:
                self.speculative = trace
            self._listener.on_run_started(trace)
        elif isinstance(message, Prefilled):
            self._listener.on_prefilled(message)

    def _reusable(self, config: RunConfig) -> Trace | None:
        """The known baseline, if this task would only repeat it on the same engine."""
        known, ready = self._known, self._session.ready
        if known is None or ready is None or ready.environment != known.environment:
            return None
        return known.trace if known.task == task_of(config) else None


def with_seed(config: RunConfig) -> RunConfig:
    """The configuration with a seed that both runs share, drawn where none is set."""
    if config.sampling.seed is not None:
        return config
    seed = secrets.randbelow(LARGEST_SEED + 1)
    return replace(config, sampling=replace(config.sampling, seed=seed))


def _error_of(trace: Trace) -> SpecvizError:
    failed = trace.failed
    assert failed is not None
    return ERRORS.get(failed.kind, EngineError)(failed.message, failed.hint)
