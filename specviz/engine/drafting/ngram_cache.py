"""ngram-cache: token by token from counts of what followed the last one to four tokens.

Proposes what llama.cpp's common/ngram-cache.cpp and its drafter propose. This text's counts come
from the tokens that are new since the last draft, and no n-gram spans two such pieces: where a step
brings one token, nothing is learnt. Two files may bring counts from elsewhere: of other texts of
the user (dynamic), and of the language (static), which weigh what the others offer or step in last.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.ngram_count_file import LONGEST, CountFile
from specviz.engine.drafting.ngram_counts import Followers, FollowersInText
from specviz.engine.model import Cancellation, Progress
from specviz.errors import FileError
from specviz.models.readable import file_label
from specviz.trace.config import NGRAM_CACHE_DRAFT, DraftSource, NgramCacheConfig

STATIC_SIZE = 2
STATIC_RULE = (2, 50)
"""Fewest counts in all, and least share of the best one in percent."""

LAX = ((2, 66), (2, 50), (1, 50), (1, 50))
"""For this text, by length of the n-gram from 1."""

STRICT = ((4, 75), (3, 66), (2, 66), (2, 66))
"""For the dynamic file."""


class Counts(Protocol):
    """Where counts come from."""

    def behind(self, ngram: tuple[int, ...]) -> Followers | None: ...


class NgramCacheDrafter:
    """Drafts have 8 tokens at most, which llama.cpp fixes.

    `n_vocab`: tokens of the target, which files must not exceed. Raises FileError.
    """

    source = DraftSource.NGRAM_CACHE

    def __init__(self, config: NgramCacheConfig, n_vocab: int | None = None) -> None:
        self._static = _count_file(config.static_path, n_vocab)
        self._dynamic = _count_file(config.dynamic_path, n_vocab)
        self._in_text = FollowersInText()

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """The counts of earlier texts stay. A new one is read from where they ended, at drafts."""
        return 0

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        learnt = len(self._in_text)
        if learnt <= len(history):
            self._in_text.add([*history[learnt:], pending])
        tail = (*history[-LONGEST + 1 :], pending)
        if len(tail) < STATIC_SIZE:
            return NOTHING
        token_ids: list[int] = []
        positions: list[int | None] = []
        while len(token_ids) < min(NGRAM_CACHE_DRAFT, limit):
            token_id, position = self._next(tail, history, pending)
            if token_id is None:
                break
            token_ids.append(token_id)
            positions.append(position)
            tail = (*tail, token_id)[-LONGEST:]
        if not token_ids:
            return NOTHING
        probs = (None,) * len(token_ids)
        return Proposal(tuple(token_ids), probs, tuple(positions), source=self.source)

    def accept(self, n_accepted: int) -> None:
        """Nothing to learn but the text."""

    def _next(
        self, tail: tuple[int, ...], history: Sequence[int], pending: int
    ) -> tuple[int | None, int | None]:
        """What to draft behind these tokens, and where it followed them last in this text."""
        weights = self._static.behind(tail[-STATIC_SIZE:]) if self._static else None
        token_id, size, followers = _offer(self._in_text, LAX, tail, weights)
        if token_id is not None and followers is not None:
            ngram = [*tail[-size:], token_id]
            return token_id, _checked(followers.positions[token_id], ngram, history, pending)
        if self._dynamic is not None:
            token_id, _, _ = _offer(self._dynamic, STRICT, tail, weights)
        if token_id is None and weights is not None:
            token_id = weights.best(*STATIC_RULE)
        return token_id, None


def _offer(
    counts: Counts,
    rules: Sequence[tuple[int, int]],
    tail: tuple[int, ...],
    weights: Followers | None,
) -> tuple[int | None, int, Followers | None]:
    """The best follower of the longest n-gram of enough weight, with that n-gram's length."""
    for size in range(len(tail), 0, -1):
        followers = counts.behind(tail[-size:])
        if followers is not None:
            token_id = followers.best(*rules[size - 1], weights)
            if token_id is not None:
                return token_id, size, followers
    return None, 0, None


def _checked(position: int, ngram: list[int], history: Sequence[int], pending: int) -> int | None:
    """The position, if the n-gram ends there; an earlier text may have been another one."""
    there = list(history[position - len(ngram) + 1 : position + 1])
    if position == len(history):
        there.append(pending)
    return position if there == ngram else None


def _count_file(path: str | None, n_vocab: int | None) -> CountFile | None:
    if path is None:
        return None
    file = CountFile(Path(path))
    if n_vocab is not None and file.largest_token >= n_vocab:
        raise FileError(
            f"{file_label(Path(path))} was made with another model: it has a token "
            f"{file.largest_token}, and this one has {n_vocab} tokens.",
            "Make one with the target.",
        )
    return file
