"""Has outputs evaluated anew by the engine, and keeps what that has shown for each run.

Knows no widget.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import cast
from weakref import WeakKeyDictionary

from specviz.trace.comparison import Comparison
from specviz.trace.config import Role
from specviz.trace.lossless import LosslessCheck
from specviz.trace.trace import Trace
from specviz.ui.lossless_words import DRAWN
from specviz.ui.slots import ModelSlots
from specviz.worker.client import Message
from specviz.worker.protocol import Checking, Done, LosslessChecked
from specviz.worker.recorded import recorded_steps, token_at
from specviz.worker.session import EngineSession

Tell = Callable[[Message], None]


def why_not_check(speculative: Trace | None, slots: ModelSlots, script: Path | None) -> str:
    """Why an output cannot be evaluated anew, in a sentence; empty when it can."""
    if speculative is None or speculative.started is None or not speculative.steps:
        return "There is no run with drafts to check."
    config = speculative.started.config
    if config.sampling.temperature > 0:
        return DRAWN
    wanted = {Role.TARGET: config.load.target, Role.DRAFT: config.load.draft}
    for role, spec in wanted.items():
        if spec is None:
            continue
        held = slots.files.get(role)
        path = script if script is not None else held.path if held is not None else None
        if path is None or str(path) != spec.path:
            return f"The {role.value} of this run is not in the setup; choose it there first."
    return ""


def wants_a_look(speculative: Trace | None, comparison: Comparison | None) -> bool:
    """Whether a fork between greedy runs should be looked at without being asked."""
    if speculative is None or speculative.started is None or comparison is None:
        return False
    greedy = speculative.started.config.sampling.temperature == 0
    return greedy and comparison.first_divergence is not None


class LosslessChecking:
    """Carries checks out; what they showed lives as long as the run it is about."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self._known: WeakKeyDictionary[Trace, LosslessCheck] = WeakKeyDictionary()

    def known(self, speculative: Trace | None) -> LosslessCheck | None:
        """What a check of this run has shown."""
        return self._known.get(speculative) if speculative is not None else None

    async def check(
        self, baseline: Trace | None, speculative: Trace, fork: int | None, tell: Tell, whole: bool
    ) -> bool:
        """Evaluate a run anew: the fork alone, or `whole`. False when it was cancelled.

        `tell` gets the engine's notices on the way. Raises SpecvizError.
        """
        assert speculative.started is not None
        baseline_id = (
            token_at(baseline, fork) if baseline is not None and fork is not None else None
        )
        if baseline_id is None:
            fork = None
        stream = self._session.check_lossless(
            speculative.started.config,
            recorded_steps(speculative),
            fork=fork,
            baseline_id=baseline_id,
            whole=whole,
        )
        finished = False
        async with aclosing(cast("AsyncGenerator[Message, None]", stream)) as messages:
            async for message in messages:
                if isinstance(message, LosslessChecked):
                    self._known[speculative] = message.check
                    finished = True
                elif isinstance(message, Done):
                    finished = finished and not message.cancelled
                else:
                    tell(message)
        return finished


def progress_words(message: Checking) -> tuple[int, int]:
    """How far a check is, in tokens: done, and all."""
    return message.n_done, max(message.n_total, message.n_done)
