"""Arithmetic on rows of scores: arg-max, probabilities, runners-up, the draft's top ten.

Rows are float32 arrays of shape (n_vocab,) or (n_rows, n_vocab), usually views into the engine's
own memory; none is changed for longer than a call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float32]

TOP_K = 10
"""llama.cpp's draft sampler keeps the ten best candidates, and `p_min` looks at their softmax."""

GROUP_SIZE = 64
"""How many scores of a row share one maximum while its best candidates are looked for."""


def most_likely(row: Row) -> int:
    """Token id of the largest score; the lowest id on a tie, as llama.cpp's greedy sampler."""
    return int(row.argmax())


def draft_candidate(row: Row) -> tuple[int, float]:
    """The draft's proposal and its probability over the ten best candidates, temperature 1.

    Source: `common_speculative_impl_draft_simple` with its top-k 10 chain.
    """
    token_id = int(row.argmax())
    near = row[row >= _low_bound(row)]
    if near.size > TOP_K:
        near = np.partition(near, near.size - TOP_K)[-TOP_K:]
    total = float(np.exp(near.astype(np.float64) - float(row[token_id])).sum())
    # a model that overflows gives scores that are no numbers
    return token_id, 1.0 / total if total > 0 else 0.0


def _low_bound(row: Row) -> np.float32:
    """A score that the ten best reach and few others do.

    The maxima of disjoint groups are scores of the row too, so the tenth best of them is at most
    the tenth best of all. Finding it takes a fraction of the time of sorting the row.
    """
    n_groups = row.size // GROUP_SIZE
    if n_groups < TOP_K:
        return np.float32(-np.inf)
    best = row[: n_groups * GROUP_SIZE].reshape(GROUP_SIZE, n_groups).max(axis=0)
    bound: np.float32 = np.partition(best, n_groups - TOP_K)[n_groups - TOP_K]
    return bound


def token_probability(row: Row, token_id: int, scratch: Row) -> tuple[float, float, float]:
    """Probability of a token: softmax over the whole vocabulary at temperature 1.

    Returns it with the row's largest score and its sum of exponentials, from which further tokens
    of the row follow. `scratch` is a buffer of the row's shape that is overwritten.
    """
    best = float(row.max())
    np.subtract(row, np.float32(best), out=scratch)
    np.exp(scratch, out=scratch)
    total = float(scratch.sum())
    return min(float(scratch[token_id]) / total, 1.0), best, total


def runner_up(row: Row, token_id: int) -> tuple[int, float]:
    """The best token other than `token_id`, and by how many logits it lies below it.

    The margin is negative where a sampler passed over the most likely token.
    """
    kept = row[token_id]
    row[token_id] = -np.inf
    other = int(row.argmax())
    row[token_id] = kept
    return other, float(kept) - float(row[other])
