"""ngram-cache: token by token from counts of what followed the last 1 to 4 tokens.

Proposes what llama.cpp's common/ngram-cache.cpp and its drafter propose. The counts of this text
are taken from the tokens that are new since the last draft, and no n-gram spans two such pieces.
Two files may bring counts from elsewhere: one that belongs to the user's texts (dynamic), one that
belongs to the language (static), which only weighs what the others offer or steps in last.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.ngram_text import TOKEN_BYTES, key_of
from specviz.engine.drafting.token_counts import TokenCounts
from specviz.engine.model import Cancellation, Progress
from specviz.errors import FileError
from specviz.trace.config import NGRAM_CACHE_DRAFT, DraftSource, NgramCacheConfig

LONGEST = 4
STATIC_SIZE = 2
MAX_FILE_BYTES = 256 * 1024 * 1024

Rule = tuple[int, int]
"""Fewest counts in all, and least share of the best one in percent."""

LAX: tuple[Rule, ...] = ((2, 66), (2, 50), (1, 50), (1, 50))
STRICT: tuple[Rule, ...] = ((4, 75), (3, 66), (2, 66), (2, 66))
STATIC_RULE: Rule = (2, 50)
"""By length of the n-gram, from 1."""

Counts = dict[bytes, TokenCounts]
_RECORD = struct.Struct(f"={LONGEST + 1}i")
_PAIR = struct.Struct("=2i")


class NgramCacheDrafter:
    """Drafts have 8 tokens at most, which llama.cpp fixes."""

    source = DraftSource.NGRAM_CACHE

    def __init__(self, config: NgramCacheConfig) -> None:
        self._static = read_counts(config.static_path) if config.static_path else {}
        self._dynamic = read_counts(config.dynamic_path) if config.dynamic_path else {}
        # most n-grams occur once: what followed those is one number, token and position in it
        self._once: dict[bytes, int] = {}
        self._often: Counts = {}
        self._n_counted = 0

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """The counts of an earlier generation stay, as in llama.cpp."""
        return len(history)

    def _count_new(self, history: Sequence[int], pending: int) -> None:
        first = self._n_counted
        if first > len(history):
            return
        piece = array("i", [*history[first:], pending])
        data = piece.tobytes()
        once, often = self._once, self._often
        for i in range(1, len(piece)):
            end = i * TOKEN_BYTES
            for begin in range(end - TOKEN_BYTES, max(end - LONGEST * TOKEN_BYTES, 0) - 1, -4):
                key = data[begin:end]
                counts = often.get(key)
                if counts is not None:
                    counts.add(piece[i], first + i)
                elif key in once:
                    counts = often[key] = TokenCounts()
                    place = once.pop(key)
                    counts.add(place >> 32, place & 0xFFFFFFFF)
                    counts.add(piece[i], first + i)
                else:
                    once[key] = piece[i] << 32 | (first + i)
        self._n_counted = len(history) + 1

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        self._count_new(history, pending)
        tail = [*history[-LONGEST:], pending][-LONGEST:]
        if len(history) + 1 < STATIC_SIZE:
            return NOTHING
        token_ids: list[int] = []
        places: list[int | None] = []
        while len(token_ids) < NGRAM_CACHE_DRAFT:
            found = self._next(tail)
            if found is None:
                break
            token_ids.append(found[0])
            places.append(found[1])
            tail = [*tail, found[0]][-LONGEST:]
        if not token_ids:
            return NOTHING
        token_ids, places = token_ids[:limit], places[:limit]
        return Proposal(
            tuple(token_ids), (None,) * len(token_ids), tuple(places), source=self.source
        )

    def accept(self, n_accepted: int) -> None:
        """Nothing to learn but the text."""

    def _next(self, tail: list[int]) -> tuple[int, int | None] | None:
        """The token to follow these, and where it followed them last."""
        static = self._static.get(key_of(tail[-STATIC_SIZE:])) if self._static else None
        keys = [key_of(tail[-size:]) for size in range(1, min(LONGEST, len(tail)) + 1)]
        found = self._from_text(keys, static)
        if found is None and self._dynamic:
            found = _offered(self._dynamic, keys, static, STRICT)
        if found is None and static is not None and _convinces(static, STATIC_RULE):
            found = static.best, None
        return found

    def _from_text(
        self, keys: list[bytes], static: TokenCounts | None
    ) -> tuple[int, int | None] | None:
        for size in range(len(keys), 0, -1):
            key, rule = keys[size - 1], LAX[size - 1]
            counts = self._often.get(key)
            if counts is not None:
                best = counts.best if static is None else counts.best_weighed(static)
                if counts.total >= rule[0] and 100 * counts[best] >= rule[1] * counts.total:
                    return best, counts.place_of(best)
            elif (place := self._once.get(key)) is not None and rule[0] <= 1:
                return place >> 32, place & 0xFFFFFFFF
        return None


def _offered(
    known: Mapping[bytes, TokenCounts],
    keys: list[bytes],
    static: TokenCounts | None,
    rules: Sequence[Rule],
) -> tuple[int, int | None] | None:
    """What the longest known n-gram of enough weight offers."""
    for size in range(len(keys), 0, -1):
        counts = known.get(keys[size - 1])
        if counts is None:
            continue
        best = counts.best if static is None else counts.best_weighed(static)
        least, percent = rules[size - 1]
        if counts.total >= least and 100 * counts[best] >= percent * counts.total:
            return best, None
    return None


def _convinces(counts: TokenCounts, rule: Rule) -> bool:
    return counts.total >= rule[0] and 100 * counts[counts.best] >= rule[1] * counts.total


def read_counts(path: str) -> Counts:
    """A file of counts as llama.cpp's `llama-lookup-create` writes it. Raises FileError.

    Records of four tokens, padded with -1, the number of followers, and a pair of token and count
    for each. Of an n-gram that comes twice the first stands.
    """
    file = Path(path)
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise FileError(f"{file.name} is too large for a file of n-gram counts.")
        data = file.read_bytes()
    except OSError as error:
        raise FileError(f"{file.name} cannot be read: {error.strerror}.") from None
    counts: Counts = {}
    at = 0
    while at < len(data):
        at = _read_record(data, at, counts, file.name)
    return counts


def _read_record(data: bytes, at: int, counts: Counts, name: str) -> int:
    broken = FileError(
        f"{name} is not a file of n-gram counts, or it is cut off.",
        "Make it with llama-lookup-create, on a machine of the same byte order.",
    )
    if at + _RECORD.size > len(data):
        raise broken
    padded: list[int]
    n_followers: int
    *padded, n_followers = _RECORD.unpack_from(data, at)
    at += _RECORD.size
    ngram = [token_id for token_id in padded if token_id != -1]
    if not ngram or padded[: len(ngram)] != ngram or min(ngram) < 0:
        raise broken
    end: int = at + n_followers * _PAIR.size
    if n_followers < 1 or end > len(data):
        raise broken
    followers = TokenCounts()
    for token_id, count in _PAIR.iter_unpack(data[at:end]):
        if token_id < 0 or count < 1:
            raise broken
        followers.set(token_id, count)
    counts.setdefault(key_of(ngram), followers)
    return end
