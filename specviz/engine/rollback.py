"""How a model can forget the tokens that the target rejected."""

from __future__ import annotations

from enum import StrEnum


class Rollback(StrEnum):
    """The cheapest correct way, after llama.cpp's `common_context_seq_rm_type`.

    TRIM: any suffix of the memory can be dropped, as with attention.
    SNAPSHOTS: a recurrent state that keeps some older versions of itself (`n_rs_seq`).
    CHECKPOINT: a recurrent state that has to be saved before a check and restored after it.
    """

    TRIM = "trim"
    SNAPSHOTS = "snapshots"
    CHECKPOINT = "checkpoint"


MOST_BACKLOG = 8
"""A longer backlog is evaluated by itself, so that the checks do not widen without end."""
