"""Long curves reduced to what a drawing of a given width can show. Knows nothing of Qt."""

from __future__ import annotations

import numpy as np


def envelope(
    x: np.ndarray, y: np.ndarray, x_end: float, n_columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """A curve for a drawing of so many pixel columns from 0 to `x_end`: each column keeps its
    first, lowest, highest and last value.

    pyqtgraph's own reduction keeps ten points a pixel, which takes longer to stroke than a frame
    lasts.
    """
    if len(x) <= 4 * n_columns or x_end <= 0:
        return x, y
    starts = _column_starts(x, x_end, n_columns)
    lasts = np.append(starts[1:], len(x)) - 1
    middles = (x[starts] + x[lasts]) / 2
    xs = np.column_stack((x[starts], middles, middles, x[lasts]))
    lowest, highest = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    ys = np.column_stack((y[starts], lowest, highest, y[lasts]))
    return xs.ravel(), ys.ravel()


def means(
    x: np.ndarray, y: np.ndarray, x_end: float, n_columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """A curve for a drawing of so many columns, the mean of each: calm enough for dashes."""
    if len(x) <= n_columns or x_end <= 0:
        return x, y
    starts = _column_starts(x, x_end, n_columns)
    sizes = np.diff(np.append(starts, len(x)))
    xs, ys = np.add.reduceat(x, starts) / sizes, np.add.reduceat(y, starts) / sizes
    xs[0], xs[-1] = x[0], x[-1]
    return xs, ys


def _column_starts(x: np.ndarray, x_end: float, n_columns: int) -> np.ndarray:
    columns = np.minimum((x * (n_columns / x_end)).astype(np.int64), n_columns - 1)
    return np.flatnonzero(np.diff(columns, prepend=-1))
