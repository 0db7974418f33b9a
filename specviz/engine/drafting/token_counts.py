"""How often tokens followed an n-gram, iterated in the order of a C++ hash map.

llama.cpp takes the first of the most frequent followers, first in the order of its
`std::unordered_map<int, int>`. To propose the same token we keep libstdc++'s order: a bucket is the
token id modulo the number of buckets; a new token goes to the front of its bucket's group, or to
the front of all when the bucket is empty; when the map grows, its tokens are moved one after the
other by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable

BUCKETS = (
    13, 29, 59, 127, 257, 541, 1_109, 2_357, 5_087, 10_273, 20_753, 42_043, 85_229, 172_933,
    351_061, 712_697, 1_447_153, 2_938_679,
)  # fmt: skip
"""How libstdc++ grows a map that takes one element after the other."""


class TokenCounts:
    """Counts by token id; every token known has a count of at least 1."""

    __slots__ = ("_best", "_counts", "_order", "_places", "total")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._order: list[int] = []
        self._best: int | None = None
        self.total = 0

    def __getitem__(self, token_id: int) -> int:
        return self._counts[token_id]

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def order(self) -> tuple[int, ...]:
        """Token ids as the C++ map iterates them."""
        return tuple(self._order)

    def add(self, token_id: int, place: int) -> None:
        """Count a token that followed, at position `place` of the text."""
        known = self._counts.get(token_id)
        if known is None:
            self._insert(token_id)
            known = 0
        self._counts[token_id] = known + 1
        self._places[token_id] = place
        self.total += 1
        self._best = None

    def set(self, token_id: int, count: int) -> None:
        """A count from a file; of a token that comes twice the first stands."""
        if token_id not in self._counts:
            self._insert(token_id)
            self._counts[token_id] = count
            self.total += count
            self._best = None

    def place_of(self, token_id: int) -> int | None:
        """Where this token followed last, None when the counts came from a file."""
        return self._places.get(token_id)

    @property
    def best(self) -> int:
        """The most frequent token, the first of several."""
        if self._best is None:
            self._best = max(self._order, key=self._counts.__getitem__)
        return self._best

    def best_weighed(self, weights: TokenCounts) -> int:
        """The best product of count and weight: 100 times the other's count, or 1 without one."""
        others = weights._counts

        def weighed(token_id: int) -> int:
            other = others.get(token_id)
            return self._counts[token_id] * (100 * other if other is not None else 1)

        return max(self._order, key=weighed)

    def _insert(self, token_id: int) -> None:
        size = len(self._counts)
        if size in BUCKETS:
            self._order = _ordered(self._order, _buckets_for(size + 1))
        _place(self._order, token_id, _buckets_for(size + 1))


def _buckets_for(size: int) -> int:
    return next((count for count in BUCKETS if size <= count), BUCKETS[-1])


def _ordered(token_ids: Iterable[int], n_buckets: int) -> list[int]:
    order: list[int] = []
    for token_id in token_ids:
        _place(order, token_id, n_buckets)
    return order


def _place(order: list[int], token_id: int, n_buckets: int) -> None:
    bucket = token_id % n_buckets
    for i, other in enumerate(order):
        if other % n_buckets == bucket:
            order.insert(i, token_id)
            return
    order.insert(0, token_id)
