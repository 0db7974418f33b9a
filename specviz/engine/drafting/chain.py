"""Several draft sources in llama.cpp's fixed order of precedence: the first to propose wins."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.engine.drafting.base import Drafter, Proposal
from specviz.engine.model import Cancellation, Clock, Progress
from specviz.trace.config import DraftSource
from specviz.trace.events import DraftCall

PRECEDENCE = tuple(DraftSource)


class DrafterChain:
    """Asks its drafters in order of precedence, whatever order they are given in."""

    def __init__(self, drafters: Sequence[Drafter]) -> None:
        self.drafters = sorted(drafters, key=lambda drafter: PRECEDENCE.index(drafter.source))
        self._winner: Drafter | None = None

    def begin(
        self, drafter: Drafter, history: Sequence[int], cancelled: Cancellation, progress: Progress
    ) -> int:
        """Begin one drafter; the loop does so for each, to time each one's prefill."""
        self._winner = None
        return drafter.begin(history, cancelled, progress)

    def draft(self, history: Sequence[int], pending: int, limit: int, clock: Clock) -> Proposal:
        """The first non-empty proposal; sources behind it are not asked in this step."""
        self._winner = None
        calls: list[DraftCall] = []
        for drafter in self.drafters:
            asked = clock()
            proposal = drafter.draft(history, pending, limit)
            token_ids = proposal.token_ids[:limit]
            calls.append(
                DraftCall(
                    source=proposal.source or drafter.source,
                    n_tokens=len(token_ids),
                    n_dropped=proposal.n_dropped,
                    seconds=clock() - asked,
                )
            )
            if token_ids:
                self._winner = drafter
                return Proposal(
                    token_ids,
                    proposal.probs[:limit],
                    proposal.copied_from[:limit],
                    sum(call.n_dropped for call in calls),
                    proposal.source or drafter.source,
                    tuple(calls),
                )
        return Proposal(n_dropped=sum(call.n_dropped for call in calls), calls=tuple(calls))

    def accept(self, n_accepted: int) -> None:
        """Tell the winner of the last step; as llama-server does, only after a draft."""
        if self._winner is not None:
            self._winner.accept(n_accepted)
