"""ngram-map-k and ngram-map-k4v: an index of n-grams that learns how far each may be copied.

Proposes what llama.cpp's common/ngram-map.cpp proposes, with all its corners: the index keeps the
first position it took in for an n-gram, the tokens right behind the prompt are never indexed, a key
whose draft was rejected from the first token never drafts again, and `min_hits` counts for k4v
only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.ngram_hashes import NgramHashes
from specviz.engine.drafting.ngram_simple import copied
from specviz.engine.model import Cancellation, Progress
from specviz.trace.config import DraftSource, NgramSizes

N_SLOTS = 262_144
MULTIPLIER = 2_654_435_761
MOST_COUNTED = 16_380
MOST_VALUES = 4


@dataclass(slots=True)
class Value:
    """One continuation of a key. `n_accepted`: of the last draft; so many are copied next time.

    `at` of 0: not in use.
    """

    n_accepted: int
    at: int = 0
    count: int = 0


@dataclass(slots=True)
class Key:
    """An n-gram that was looked for and found: at which position first, and how often."""

    at: int
    values: list[Value]
    counted_to: int = 0
    count: int = 0


class NgramMapDrafter:
    """`size_n` tokens have to match, `size_m` are copied at most. k4v weighs continuations."""

    def __init__(self, sizes: NgramSizes, source: DraftSource) -> None:
        self.source = source
        self._n = sizes.size_n
        self._m = sizes.size_m
        self._min_hits = sizes.min_hits
        self._weighs = source is DraftSource.NGRAM_MAP_K4V
        self._hashes = NgramHashes(sizes.size_n, MULTIPLIER)
        self._slots: NDArray[np.int32] = np.zeros(N_SLOTS, dtype=np.int32)
        self._last_slotted = 0
        self._keys: list[Key] = []
        self._keys_of: dict[int, list[Key]] = {}
        self._n_prompt = 0
        self._n_seen = 0
        self._drafted: Value | None = None

    # A new generation ----------------------------------------------------------------------------
    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """What is known of an earlier text stays, but for what lies behind a shorter one's end."""
        length, cut = len(history), self._n_prompt
        if cut > length:
            cut = max(length - self._n - self._m, 0)
        if length < self._n_seen:
            self._forget_from(cut)
        self._n_seen = self._n_prompt = length
        self._hashes.begin(history)
        # llama.cpp compares keys with the text at their position, which may be another one now
        self._keys_of = {}
        for key in self._keys:
            value = int(self._hashes.between(key.at, key.at + 1)[0])
            self._keys_of.setdefault(value, []).append(key)
        return 0

    def _forget_from(self, cut: int) -> None:
        """The text became shorter: drop what points behind the part that is taken to be kept."""
        self._slots[self._slots >= cut] = 0
        self._last_slotted = max(cut - 1, 0)
        self._keys = [key for key in self._keys if key.at < cut]
        if self._weighs:
            for key in self._keys:
                drop_values(key.values, cut)
            self._keys = [key for key in self._keys if key.values[0].at]

    # A draft -------------------------------------------------------------------------------------
    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        self._drafted = None
        n, m, length = self._n, self._m, len(history)
        if length < 2 * n + m:
            return NOTHING
        self._n_seen = length
        self._hashes.follow(history)
        wanted = [*history[length - n + 1 :], pending]
        value = self._hashes.at_end(history, pending)
        at = self._find(history, wanted, value)
        self._take_in(length)
        if not at:
            return NOTHING
        key = self._key(history, wanted, value, at)
        if self._weighs:
            self._drafted = self._weigh(history, wanted, value, key, at)
        else:
            self._drafted = key.values[0]
        if self._drafted is None:
            return NOTHING
        count = min(m, self._drafted.n_accepted, limit)
        return copied(self.source, history, at + n, count) if count else NOTHING

    def accept(self, n_accepted: int) -> None:
        """The key's next draft will be as long as what was accepted of this one."""
        if self._drafted is not None:
            self._drafted.n_accepted = n_accepted

    def _unslotted(self, length: int) -> tuple[range, range]:
        """The positions in prompt and answer that the slots do not know yet."""
        behind, prompt, last = self._n + self._m, self._n_prompt, self._last_slotted
        return (
            range(last + 1, max(prompt - behind, 0)),
            range(max(prompt, last) + 1, length - behind),
        )

    def _find(self, history: Sequence[int], wanted: list[int], value: int) -> int:
        """Where to copy from; 0, which never matches, for nowhere."""
        n, length = self._n, len(history)
        at = int(self._slots[value % N_SLOTS])
        if 0 < at < length - n - self._m - 1 and list(history[at : at + n]) == wanted:
            return at
        for new in self._unslotted(length):
            for at in self._occurrences(history, wanted, value, new, newest_first=True):
                return at
        return 0

    def _occurrences(
        self,
        history: Sequence[int],
        wanted: list[int],
        value: int,
        positions: range,
        newest_first: bool = False,
    ) -> Iterator[int]:
        """The positions at which the n-gram begins."""
        if not positions:
            return
        found = self._hashes.find(value, positions.start, positions.stop)
        for at in map(int, found[::-1] if newest_first else found):
            if list(history[at : at + self._n]) == wanted:
                yield at

    def _take_in(self, length: int) -> None:
        """Index what is new, the newest position of equal ones; a slot once taken stays."""
        for new in self._unslotted(length):
            if new:
                slots = self._hashes.between(new.start, new.stop) % np.uint32(N_SLOTS)
                positions = np.arange(new.start, new.stop, dtype=np.int32)
                free = self._slots[slots] == 0
                np.maximum.at(self._slots, slots[free], positions[free])
        self._last_slotted = max(length - self._n - self._m - 1, self._last_slotted)

    def _key(self, history: Sequence[int], wanted: list[int], value: int, at: int) -> Key:
        alike = self._keys_of.setdefault(value, [])
        for key in alike:
            if list(history[key.at : key.at + self._n]) == wanted:
                break
        else:
            key = Key(at, [Value(self._m) for _ in range(MOST_VALUES)])
            self._keys.append(key)
            alike.append(key)
        key.count = min(key.count + 1, MOST_COUNTED)
        return key

    def _weigh(
        self, history: Sequence[int], wanted: list[int], value: int, key: Key, at: int
    ) -> Value | None:
        """The continuation that was met most often, if it outweighs the others."""
        if key.count < self._min_hits:
            return None
        # the position itself is counted at every call
        for place in self._occurrences(history, wanted, value, range(key.counted_to, at + 1)):
            self._count(history, key, place + self._n)
        key.counted_to = at
        best = max(key.values, key=lambda value: value.count)
        others = sum(value.count for value in key.values) - best.count
        return None if others > 0 and best.count < 2 * others else best

    def _count(self, history: Sequence[int], key: Key, at: int) -> None:
        """Count the continuation at a position; a fifth one goes unnoticed."""
        m = self._m
        for value in key.values:
            if value.at == 0:
                value.at, value.count, value.n_accepted = at, 0, m
            elif history[value.at : value.at + m] != history[at : at + m]:
                continue
            value.count = min(value.count + 1, MOST_COUNTED)
            return


def drop_values(values: list[Value], cut: int) -> None:
    """Close the gaps of what is dropped; of the last place only position and count are cleared."""
    for i in reversed(range(MOST_VALUES)):
        if values[i].at and values[i].at >= cut:
            values[i:] = [*values[i + 1 :], replace(values[-1], at=0, count=0)]
