"""Has the engine measure what checks and drafts cost, and keeps it while it is true.

Costs belong to the models and runtime settings they were measured with. Knows no widget.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import cast

from specviz.trace.config import LoadConfig, RunConfig
from specviz.trace.costs import CheckCost, DraftCost
from specviz.trace.trace import Trace
from specviz.ui.break_even_facts import LONGEST_WHAT_IF, WIDEST_CURVE, Measured
from specviz.worker.client import Message
from specviz.worker.protocol import CostMeasured, Done
from specviz.worker.session import EngineSession

Tell = Callable[[Message], None]


def rows_to_measure(config: RunConfig) -> int:
    """The widest check that these settings, or the what-if, may ask for."""
    speculation = config.speculation
    longest = max((speculation.longest_draft(each) for each in speculation.sources), default=0)
    return min(max(longest, LONGEST_WHAT_IF) + 1, WIDEST_CURVE)


def text_to_measure_with(config: RunConfig, newest: Trace | None) -> tuple[int, ...]:
    """Token ids of the newest answer, where it is longer than its prompt; else none.

    Costs grow with the text before a check, so the longer one is nearer to what a run meets. With
    no ids the engine takes the prompt. Ids of another model mean nothing.
    """
    if newest is None or newest.started is None:
        return ()
    same = newest.started.config.load.target.path == config.load.target.path
    if not same or len(newest.tokens) <= newest.started.n_prompt:
        return ()
    return tuple(token.token_id for token in newest.tokens)


class CostMeasuring:
    """Carries the measurement out. `measured` is the newest one that is still true."""

    def __init__(self, session: EngineSession) -> None:
        self.measured: Measured | None = None
        self._session = session

    async def measure(self, config: RunConfig, newest: Trace | None, tell: Tell) -> bool:
        """Measure with these models and settings; False when it was cancelled.

        `tell` gets the engine's notices on the way. What was measured is kept however it ends.
        Raises SpecvizError.
        """
        stream = self._session.measure_costs(
            config, rows_to_measure(config), text_to_measure_with(config, newest)
        )
        checks: dict[int, CheckCost] = {}
        drafts: dict[int, DraftCost] = {}
        cancelled = False
        try:
            async with aclosing(cast("AsyncGenerator[Message, None]", stream)) as messages:
                async for message in messages:
                    if isinstance(message, Done):
                        cancelled = message.cancelled
                        continue
                    if isinstance(message, CostMeasured):
                        if message.check is not None:
                            checks[message.check.n_rows] = message.check
                        if message.draft is not None:
                            drafts[message.draft.n_tokens] = message.draft
                    tell(message)
        finally:
            if checks or drafts:
                self._keep(config.load, checks, drafts)
        return not cancelled

    def _keep(
        self, load: LoadConfig, checks: dict[int, CheckCost], drafts: dict[int, DraftCost]
    ) -> None:
        """Beside what is known of other widths; what is new stands for its own."""
        known = self.measured.of(load) if self.measured is not None else None
        if known is not None and self.measured is not None:
            if self.measured.safe_mode == self._session.safe_mode:
                checks = {each.n_rows: each for each in known.checks} | checks
                drafts = {each.n_tokens: each for each in known.drafts} | drafts
        self.measured = Measured(
            load=load,
            safe_mode=self._session.safe_mode,
            checks=tuple(checks[n] for n in sorted(checks)),
            drafts=tuple(drafts[n] for n in sorted(drafts)),
        )

    def keep_what_is_true_of(self, load: LoadConfig) -> bool:
        """Forget what these models and settings no longer give; True when that was anything.

        Settings that use no draft model say nothing about one.
        """
        if self.measured is None:
            return False
        if load.draft is None:
            load = replace(load, draft=self.measured.load.draft)
        left = self.measured.of(load)
        if left is not None and left.safe_mode != self._session.safe_mode:
            left = None
        forgot = left != self.measured
        self.measured = left if left is not None and (left.checks or left.drafts) else None
        return forgot
