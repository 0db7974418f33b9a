"""What the decode loop needs from a model, a clock and its surroundings.

Two implementations of each: engine/llama/ (weights) and engine/scripted.py (a played script).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Progress = Callable[[int, int], None]
"""Called with tokens done and tokens in all."""


class Cancelled(Exception):  # noqa: N818 - a request that was met, not an error
    """The command was cancelled inside a call that cannot return early otherwise."""


class Clock(Protocol):
    """Monotonic seconds."""

    def __call__(self) -> float: ...


class Cancellation(Protocol):
    """Whether somebody asked to stop; read between verify steps and between prefill chunks."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Observation:
    """What is recorded of a verified batch beside the sampled ids.

    `target_probs`: probability of each asked (row, token), None where unknown.
    `runners_up`: for each sampled row, (token id, margin in logits) of the best other candidate.
    """

    target_probs: tuple[float | None, ...]
    runners_up: tuple[tuple[int, float] | None, ...]


class TargetModel(Protocol):
    """The model whose output must be reproduced, with its sampler and its memory."""

    @property
    def n_ctx(self) -> int:
        """Positions the memory may hold."""
        ...

    @property
    def n_past(self) -> int:
        """Positions the memory holds."""
        ...

    def begin(self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """Evaluate these tokens from an empty memory, with a fresh sampler.

        Returns how many of them were kept from before. Raises Cancelled.
        """
        ...

    def verify(self, pending: int, draft: Sequence[int]) -> None:
        """Evaluate `[pending, *draft]`, keeping a row of scores for each."""
        ...

    def sample(self, row: int) -> int | None:
        """Draw from row `row` of the last batch and advance the sampler by the drawn token.

        Rows are asked in order, and only up to the first that differs from the draft. None, which
        only a script says, is no token at all behind the accepted ones.
        """
        ...

    def keep(self, n_rows: int) -> None:
        """Forget all positions of the last batch behind its first `n_rows`."""
        ...

    def observe(self, asked: Sequence[tuple[int, int]], sampled: Sequence[int]) -> Observation:
        """Probabilities of the asked (row, token id) pairs of the last batch.

        `sampled` are the tokens drawn from the first rows; each gets its runner-up.
        """
        ...

    def take_restore_seconds(self) -> float:
        """Seconds spent saving and restoring state since this was last asked."""
        ...

    def piece(self, token_id: int) -> bytes:
        """The bytes a token stands for in the answer."""
        ...

    def ends_generation(self, token_id: int) -> bool: ...

    def exhausted(self) -> bool:
        """Whether there is nothing more to say; a model with weights always has more."""
        ...
