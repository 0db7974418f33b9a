"""Several draft sources in llama.cpp's fixed order of precedence: the first to propose wins."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.engine.drafting.base import NOTHING, Drafter, Proposal
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource

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

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        """The first non-empty proposal; sources behind it are not asked in this step."""
        self._winner = None
        n_dropped = 0
        for drafter in self.drafters:
            proposal = drafter.draft(history, pending, limit)
            n_dropped += proposal.n_dropped
            if proposal.token_ids:
                self._winner = drafter
                return Proposal(
                    proposal.token_ids[:limit],
                    proposal.probs[:limit],
                    proposal.copied_from[:limit],
                    n_dropped,
                    drafter.source,
                )
        return Proposal(n_dropped=n_dropped) if n_dropped else NOTHING

    def accept(self, n_accepted: int) -> None:
        """Tell the winner of the last step; as llama-server does, only after a draft."""
        if self._winner is not None:
            self._winner.accept(n_accepted)
