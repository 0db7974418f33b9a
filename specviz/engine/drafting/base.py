"""The protocol of a draft source, after llama.cpp's `common_speculative` interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource
from specviz.trace.events import DraftCall


@dataclass(frozen=True, slots=True)
class Proposal:
    """Draft tokens of one step. `probs` and `copied_from` run parallel to `token_ids`.

    `n_dropped`: tokens that were drafted and thrown away, because the draft came out shorter than
    its minimum. `calls`: who was asked for it; filled in by the chain.
    """

    token_ids: tuple[int, ...] = ()
    probs: tuple[float | None, ...] = ()
    copied_from: tuple[int | None, ...] = ()
    n_dropped: int = 0
    source: DraftSource | None = None
    calls: tuple[DraftCall, ...] = ()


NOTHING = Proposal()


class Drafter(Protocol):
    """Proposes the tokens that may follow `history` and the pending token."""

    source: DraftSource

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """A new generation starts behind `history`, the prompt without its last token.

        Returns how much of it was kept from before. Raises Cancelled.
        """
        ...

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        """Propose up to `limit` (at least 1) tokens; its own maximum applies as well."""
        ...

    def accept(self, n_accepted: int) -> None:
        """This drafter made the last draft, and `n_accepted` of its tokens were accepted."""
        ...
