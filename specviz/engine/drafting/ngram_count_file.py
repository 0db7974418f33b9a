"""Files with counts of what followed n-grams: llama.cpp's lookup caches.

Records, one behind the other, of 32-bit little-endian numbers: four tokens, of which the last may
be missing (-1); the number of followers; for each of these its token and its count. Such a file may
come from anywhere: all of it is checked before any of it is used, and memory is bounded.
"""

from __future__ import annotations

import stat
from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from specviz.engine.drafting.ngram_counts import Followers
from specviz.errors import FileError
from specviz.models.readable import file_label
from specviz.trace.storage import reason_of

MAX_FILE_BYTES = 256 * 2**20
"""Checked and indexed, such a file takes up to 1 GiB while it is read, and half of that later."""

MAX_FOLLOWERS = 2**20
"""No vocabulary has more tokens."""

LONGEST = 4
HEAD = LONGEST + 1
MISSING = -1
MAKE_IT = "Make it with llama-lookup-create from llama.cpp."

Numbers = NDArray[np.int32]


class CountFile:
    """The counts of one file, looked up in its own bytes. Raises FileError."""

    def __init__(self, path: Path) -> None:
        self._numbers = _read(path)
        starts = _record_starts(self._numbers)
        if starts is None:
            raise FileError(f"{file_label(path)} is cut off or no lookup cache.", MAKE_IT)
        ngrams = self._numbers[starts[:, None] + np.arange(LONGEST)]
        pairs = _pairs(self._numbers, starts)
        if not _sound(ngrams, pairs):
            raise FileError(f"{file_label(path)} is damaged or no lookup cache.", MAKE_IT)
        self.largest_token = int(max(ngrams.max(initial=-1), pairs[:, 0].max(initial=-1)))
        hashes = _hashes(ngrams)
        # of an n-gram that comes twice the first stands, so equal hashes stay in the file's order
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._starts = hashes[order], starts[order]
        self._known: dict[tuple[int, ...], Followers | None] = {}

    def behind(self, ngram: tuple[int, ...]) -> Followers | None:
        """What followed the n-gram of one to four tokens; None when the file does not say."""
        if ngram not in self._known:
            self._known[ngram] = self._look_up(ngram)
        return self._known[ngram]

    def _look_up(self, ngram: tuple[int, ...]) -> Followers | None:
        wanted = np.array([*ngram, *(LONGEST - len(ngram)) * [MISSING]], dtype=np.int32)
        value = _hashes(wanted[None])[0]
        first = int(np.searchsorted(self._hashes, value))
        for at in range(first, len(self._hashes)):
            if self._hashes[at] != value:
                break
            start = int(self._starts[at])
            if (self._numbers[start : start + LONGEST] == wanted).all():
                return self._followers(start)
        return None

    def _followers(self, start: int) -> Followers:
        end = start + HEAD + 2 * int(self._numbers[start + LONGEST])
        followers = Followers()
        for token_id, count in self._numbers[start + HEAD : end].reshape(-1, 2).tolist():
            if token_id not in followers.counts:
                followers.add(token_id, count)
        return followers


def _read(path: Path) -> Numbers:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"{file_label(path)} is not a file.", "Choose a lookup cache.")
        if status.st_size > MAX_FILE_BYTES:
            raise FileError(
                f"{file_label(path)} is too large for a lookup cache: it has "
                f"{status.st_size / 2**20:.0f} MiB of {MAX_FILE_BYTES // 2**20} at most.",
                "Make one from less text.",
            )
        with path.open("rb") as file:
            data = file.read(status.st_size)
    except OSError as error:
        raise FileError(f"{file_label(path)} cannot be read: {reason_of(error)}.") from None
    if len(data) % 4:
        raise FileError(f"{file_label(path)} is cut off or no lookup cache.", MAKE_IT)
    return np.frombuffer(data, dtype="<i4").astype(np.int32, copy=False)


def _record_starts(numbers: Numbers) -> NDArray[np.int64] | None:
    """Where records begin, (n,); None where they do not end with the file."""
    view, size = memoryview(numbers), len(numbers)  # type: ignore[arg-type]
    starts = array("q")
    at = 0
    while at + HEAD <= size:
        n_followers = view[at + LONGEST]
        if not 1 <= n_followers <= MAX_FOLLOWERS:
            return None
        starts.append(at)
        at += HEAD + 2 * n_followers
    return np.array(starts, dtype=np.int64) if at == size else None


def _pairs(numbers: Numbers, starts: NDArray[np.int64]) -> Numbers:
    """Tokens and counts of all followers, (n, 2)."""
    in_pairs = np.ones(len(numbers), dtype=np.bool_)
    for i in range(HEAD):
        in_pairs[starts + i] = False
    return numbers[in_pairs].reshape(-1, 2)


def _sound(ngrams: Numbers, pairs: Numbers) -> bool:
    """Whether n-grams have at least one token and no gaps, and followers were met."""
    there = ngrams >= 0
    return bool(
        there[:, 0].all()
        and (there[:, :-1] | ~there[:, 1:]).all()
        and (there | (ngrams == MISSING)).all()
        and (pairs >= (0, 1)).all()
    )


def _hashes(ngrams: Numbers) -> NDArray[np.uint64]:
    values = np.zeros(len(ngrams), dtype=np.uint64)
    for column in ngrams.T:
        values = values * np.uint64(6_364_136_223_846_793_005) + column.astype(np.uint64)
    return values
