"""draft-mtp: the target's own next-token block proposes, from the target's hidden rows.

Proposes what llama.cpp's `draft-mtp` proposes for files with one such block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from specviz.engine.drafting.base import Proposal
from specviz.engine.drafting.draft_model import chain_of_tokens
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource


class Head(Protocol):
    """What drafting needs from the block, which follows the target by itself."""

    @property
    def n_ctx(self) -> int: ...

    def start(self, pending: int) -> tuple[int, float] | None:
        """The most likely token behind `pending`, with its probability."""
        ...

    def go_on(self, token_id: int) -> tuple[int, float] | None:
        """The most likely token behind the one that was proposed last."""
        ...


class NextTokenDrafter:
    """Drafts with the block of the target's file."""

    source = DraftSource.DRAFT_MTP

    def __init__(self, head: Head, n_max: int, n_min: int, p_min: float) -> None:
        self._head = head
        self._n_max = n_max
        self._n_min = n_min
        self._p_min = p_min

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """The block has read the prompt along with the target."""
        return len(history)

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        most = min(self._n_max, limit, self._head.n_ctx - len(history) - 1)
        first = self._head.start(pending) if most > 0 else None
        return chain_of_tokens(self.source, first, self._head.go_on, most, self._n_min, self._p_min)

    def accept(self, n_accepted: int) -> None:
        """Nothing to learn: the block follows what the target keeps."""
