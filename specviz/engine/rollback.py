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


SNAPSHOT_BUDGET = 512 * 1024 * 1024
"""Bytes that snapshots of a recurrent state may take in all."""

MOST_SNAPSHOTS = 8
"""Each costs a little in every pass: 0.8 % for three and 2.8 % for sixteen on a small hybrid."""


def snapshots_for(longest_draft: int, state_bytes: int, n_batch: int) -> int:
    """How many older states to keep so that drafts of this length can be undone.

    Fewer than the draft is long where the state is large: longer drafts are then undone by a
    checkpoint. llama.cpp wants a batch that is longer than the states kept by two at least.
    """
    if state_bytes <= 0:
        return 0
    affordable = SNAPSHOT_BUDGET // state_bytes
    return max(min(longest_draft, MOST_SNAPSHOTS, affordable, n_batch - 2), 0)
