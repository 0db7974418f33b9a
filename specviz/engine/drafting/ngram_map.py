"""ngram-map-k and ngram-map-k4v: an index of n-grams that learns how far each may be copied.

Proposes what llama.cpp's common/ngram-map.cpp proposes, with all its corners: the index keeps the
first position it saw of an n-gram, the tokens right behind the prompt are never indexed, a key
whose draft was rejected from the first token never drafts again, and `min_hits` counts for k4v
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.ngram_text import SearchableText, key_of
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource, NgramSizes

N_SLOTS = 262_144
FACTOR = 2_654_435_761
MOST_COUNTED = 16_380
MOST_VALUES = 4


@dataclass(slots=True)
class _Value:
    """One continuation of a key: where it stands, how often it was met, how much was accepted."""

    at: int = 0
    count: int = 0
    n_accepted: int = 0


@dataclass(slots=True)
class _Key:
    """An n-gram that was drafted from: where it stands, what was counted up to where."""

    at: int
    n_accepted: int
    counted_to: int = 0
    count: int = 0
    values: list[_Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = [_Value(n_accepted=self.n_accepted) for _ in range(MOST_VALUES)]


class NgramMapDrafter:
    """`size_n` tokens have to match, `size_m` are copied at most. k4v weighs continuations."""

    def __init__(self, sizes: NgramSizes, source: DraftSource) -> None:
        self.source = source
        self._n = sizes.size_n
        self._m = sizes.size_m
        self._min_hits = sizes.min_hits
        self._weighs = source is DraftSource.NGRAM_MAP_K4V
        self._text = SearchableText()
        self._slots: NDArray[np.int32] = np.zeros(N_SLOTS, dtype=np.int32)
        self._keys: list[_Key] = []
        self._by_key: dict[bytes, _Key] | None = {}
        self._last_slotted = 0
        self._n_prompt = 0
        self._n_seen = 0
        self._used: _Value | None = None

    # A new generation ----------------------------------------------------------------------------
    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        length, cut = len(history), self._n_prompt
        if self._n_seen:
            # what is known may now stand for other tokens, so keys are looked up by their text
            self._by_key = None
        if cut > length:
            cut = max(length - self._n - self._m, 0)
        if length < self._n_seen:
            self._forget_from(cut)
        self._n_seen = self._n_prompt = length
        self._text.restart(history)
        return length

    def _forget_from(self, cut: int) -> None:
        """The text became shorter: drop what points behind the part that is taken to be kept."""
        self._slots[self._slots >= cut] = 0
        self._last_slotted = max(cut - 1, 0)
        kept = []
        for key in self._keys:
            if key.at >= cut:
                continue
            if self._weighs:
                _drop_values(key.values, cut)
                if key.values[0].at == 0:
                    continue
            kept.append(key)
        self._keys = kept

    # A draft -------------------------------------------------------------------------------------
    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        self._used = None
        n, m, length = self._n, self._m, len(history)
        if length < 2 * n + m:
            return NOTHING
        self._text.extend(history[len(self._text) :])
        self._n_seen = length
        wanted = [*history[length - n + 1 :], pending]
        packed = key_of(wanted)
        at = self._find(history, wanted, packed)
        self._slot_new(history)
        if not at:
            return NOTHING
        value = self._value_of(self._key_of(history, wanted, packed, at), packed, at, history)
        if value is None:
            return NOTHING
        self._used = value
        first, count = at + n, min(m, value.n_accepted, limit)
        if not count:
            return NOTHING
        return Proposal(
            tuple(history[first : first + count]),
            (None,) * count,
            tuple(range(first, first + count)),
            source=self.source,
        )

    def accept(self, n_accepted: int) -> None:
        if self._used is not None:
            self._used.n_accepted = n_accepted

    def _ranges(self, length: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The positions, both ends included, of prompt and answer that are not in the slots yet."""
        n, m, prompt, last = self._n, self._m, self._n_prompt, self._last_slotted
        in_prompt = (last + 1, prompt - n - m - 1 if prompt > n + m + 1 else 0)
        return in_prompt, (max(prompt, last) + 1, length - n - m - 1)

    def _find(self, history: Sequence[int], wanted: list[int], packed: bytes) -> int:
        """Where to copy from; 0, which never matches, for nowhere."""
        n, m, length = self._n, self._m, len(history)
        at = int(self._slots[_slot_of(wanted)])
        if at and at < length - n - m - 1 and list(history[at : at + n]) == wanted:
            return at
        for low, high in self._ranges(length):
            if high >= low and (found := self._text.last(packed, low, high)) > 0:
                return found
        return 0

    def _slot_new(self, history: Sequence[int]) -> None:
        """Index what is new, the newest position first; a slot once taken stays."""
        for low, high in self._ranges(len(history)):
            if high < low:
                continue
            slots = _slots_of(history[low : high + self._n], self._n)
            newest = np.zeros(high - low + 1, dtype=np.int32)
            newest[:] = np.arange(low, high + 1)
            # of equal slots the last assignment stands, which is the newest position
            fresh = self._slots[slots] == 0
            self._slots[slots[fresh]] = newest[fresh]
        self._last_slotted = max(len(history) - self._n - self._m - 1, self._last_slotted)

    def _key_of(self, history: Sequence[int], wanted: list[int], packed: bytes, at: int) -> _Key:
        key = None
        if self._by_key is not None:
            key = self._by_key.get(packed)
        else:
            n = self._n
            key = next((k for k in self._keys if list(history[k.at : k.at + n]) == wanted), None)
        if key is None:
            key = _Key(at, self._m)
            self._keys.append(key)
            if self._by_key is not None:
                self._by_key[packed] = key
        key.count = min(key.count + 1, MOST_COUNTED)
        return key

    def _value_of(self, key: _Key, packed: bytes, at: int, history: Sequence[int]) -> _Value | None:
        """The continuation to draft, None where there is none worth it."""
        if not self._weighs:
            return key.values[0]
        if key.count < self._min_hits:
            return None
        place = self._text.first(packed, key.counted_to, at)
        while place >= 0:
            self._count(key, place + self._n, history)
            place = self._text.first(packed, place + 1, at) if place < at else -1
        key.counted_to = at
        best = max(key.values, key=lambda value: value.count)
        others = sum(value.count for value in key.values) - best.count
        return None if others > 0 and best.count < 2 * others else best

    def _count(self, key: _Key, at: int, history: Sequence[int]) -> None:
        m = self._m
        continuation = history[at : at + m]
        for value in key.values:
            if value.at == 0:
                value.at, value.count, value.n_accepted = at, 0, m
            elif history[value.at : value.at + m] != continuation:
                continue
            value.count = min(value.count + 1, MOST_COUNTED)
            return


def _drop_values(values: list[_Value], cut: int) -> None:
    """Close the gaps of what is dropped; of the last place only position and count are cleared."""
    for i in reversed(range(MOST_VALUES)):
        if values[i].at and values[i].at >= cut:
            for j in range(i, MOST_VALUES - 1):
                values[j] = replace(values[j + 1])
            values[-1].at = values[-1].count = 0


def _slot_of(token_ids: Sequence[int]) -> int:
    """llama.cpp's hash of an n-gram."""
    code = 0
    for token_id in token_ids:
        code = (code * FACTOR + token_id) & 0xFFFFFFFF
    return code % N_SLOTS


def _slots_of(token_ids: Sequence[int], n: int) -> NDArray[np.int64]:
    """The same for every n-gram of a text, (len(token_ids) - n + 1,)."""
    tokens = np.asarray(token_ids, dtype=np.uint32)
    count = len(tokens) - n + 1
    codes = np.zeros(count, dtype=np.uint32)
    for i in range(n):
        codes = codes * np.uint32(FACTOR) + tokens[i : i + count]
    return (codes % N_SLOTS).astype(np.int64)
