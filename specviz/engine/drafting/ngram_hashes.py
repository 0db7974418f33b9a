"""The hash of every n-gram of a growing text, in one array: to find n-grams without reading tokens.

Equal hashes say that two n-grams may be equal; whoever asks has to compare. Does not keep the text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MODULUS = 1 << 32
MASK = MODULUS - 1

FEW = 64
"""So many new tokens are quicker taken in one by one than with arrays."""


class NgramHashes:
    """Sums of token x multiplier^(places behind it), modulo 2^32, for all runs of `n` tokens.

    These are the low bits of llama.cpp's hashes, which differ in the (odd) multiplier only.
    """

    def __init__(self, n: int, multiplier: int) -> None:
        self._n = n
        self._multiplier = multiplier & MASK
        self._outgrown = pow(multiplier, n, MODULUS)
        self._hashes: NDArray[np.uint32] = np.zeros(1024, dtype=np.uint32)
        self._count = 0

    def begin(self, history: Sequence[int]) -> None:
        """Hash this text and no other."""
        self._count = 0
        self.follow(history)

    def follow(self, history: Sequence[int]) -> None:
        """Take in what the text has grown by."""
        known, count = self._count, len(history) - self._n + 1
        if count <= known:
            return
        if count > len(self._hashes):
            larger = np.zeros(2 * count, dtype=np.uint32)
            larger[:known] = self._hashes[:known]
            self._hashes = larger
        if known and count - known <= FEW:
            value = int(self._hashes[known - 1])
            for i in range(known, count):
                value = self._next(value, history[i - 1], history[i + self._n - 1])
                self._hashes[i] = value
        else:
            tokens = np.array(history[known:], dtype=np.uint32)
            self._hashes[known:count] = hashes_of(tokens, self._n, self._multiplier)
        self._count = count

    def _next(self, value: int, leaving: int, entering: int) -> int:
        return (value * self._multiplier + entering - leaving * self._outgrown) & MASK

    def at_end(self, history: Sequence[int], pending: int) -> int:
        """The hash of the n-gram that ends with the pending token, behind at least n tokens."""
        return self._next(int(self._hashes[self._count - 1]), history[-self._n], pending)

    def between(self, first: int, end: int) -> NDArray[np.uint32]:
        """The hashes of the n-grams that begin at `first` to `end` - 1."""
        return self._hashes[first:end]

    def find(self, value: int, first: int, end: int) -> NDArray[np.intp]:
        """Where n-grams of this hash begin, from `first` to `end` - 1, ascending."""
        return np.flatnonzero(self._hashes[first:end] == value) + first


def hashes_of(tokens: NDArray[np.uint32], n: int, multiplier: int) -> NDArray[np.uint32]:
    """The hashes of all n-grams, (len(tokens) - n + 1,), at a cost that does not grow with n.

    Tokens are first multiplied with falling powers, so that a difference of two running sums is an
    n-gram's hash but for one factor. Modulo 2^32 that is exact, as an odd number has an inverse.
    """
    rising = _powers(multiplier & MASK, len(tokens))
    falling = _powers(pow(multiplier, -1, MODULUS), len(tokens))
    sums = np.cumsum(tokens * falling, dtype=np.uint32)
    windows = sums[n - 1 :].copy()
    windows[1:] -= sums[: len(tokens) - n]
    return windows * rising[n - 1 :]


def _powers(base: int, count: int) -> NDArray[np.uint32]:
    factors = np.full(count, base, dtype=np.uint32)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint32)
