"""What followed an n-gram, how often, and in which order a C++ hash map would tell.

llama.cpp drafts the most frequent follower, and of several the first that it meets on its way
through a `std::unordered_map<int, int>`. To draft the same one we follow libstdc++; other C++
libraries iterate in another order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

BUCKETS = (
    13, 29, 59, 127, 257, 541, 1_109, 2_357, 5_087, 10_273, 20_753, 42_043, 85_229, 172_933,
    351_061, 712_697, 1_447_153,
)  # fmt: skip
"""How many buckets libstdc++'s map has as it grows by one token after the other."""

LARGEST = 2**31 - 1
"""llama.cpp counts and multiplies in 32 bits. What is larger runs over there, and so it does here:
files with counts of a language reach it."""


class Followers:
    """Counts of the tokens that followed one n-gram, with the position each was last met at."""

    __slots__ = ("_most", "_total", "counts", "n_read", "positions")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        """By token, in the order in which the tokens were first met."""
        self.positions: dict[int, int] = {}
        self.n_read = 0
        self._most = 0
        self._total = 0

    def add(self, token_id: int, count: int = 1) -> None:
        """Count a token that followed."""
        known = self.counts.get(token_id, 0) + count
        self.counts[token_id] = known
        self._total += count
        self._most = max(self._most, known)

    def best(self, least: int, percent: int, weights: Followers | None = None) -> int | None:
        """The token to draft, if there are `least` counts in all and its share is large enough.

        With weights, the best product counts: 100 times the weight, or 1 for a token without one.
        """
        # no other has a larger share than the most frequent one, as long as nothing runs over
        if 100 * self._total <= LARGEST and not self._enough(self._most, least, percent):
            return None
        token_id = self._leader(self.counts if weights is None else self._weighed(weights))
        if token_id is None or not self._enough(self.counts[token_id], least, percent):
            return None
        return token_id

    def _enough(self, count: int, least: int, percent: int) -> bool:
        total, share, needed = self._total, 100 * count, percent * self._total
        if 100 * total > LARGEST:
            total, share, needed = map(_in_32_bits, (total, share, needed))
        return total >= least and share >= needed

    def _weighed(self, weights: Followers) -> dict[int, int]:
        known = weights.counts
        return {
            token_id: count * (100 * known[token_id] if token_id in known else 1)
            for token_id, count in self.counts.items()
        }

    def _leader(self, scores: dict[int, int]) -> int | None:
        """The first of the highest scores. None where all that are not 0 have run over."""
        highest = max(scores.values())
        if highest > LARGEST:
            scores = {token_id: _in_32_bits(score) for token_id, score in scores.items()}
            highest = max(scores.values())
            if highest <= 0:
                return None
        leaders = [token_id for token_id, score in scores.items() if score == highest]
        if len(leaders) == 1:
            return leaders[0]
        return next(token_id for token_id in hash_map_order(scores) if scores[token_id] == highest)


def _in_32_bits(number: int) -> int:
    return (number + LARGEST + 1) % 2**32 - LARGEST - 1


def hash_map_order(token_ids: Collection[int]) -> list[int]:
    """The order in which libstdc++'s map yields tokens that were put in as given.

    The bucket is the token modulo their number. A token goes in front of those of its bucket, or in
    front of all when it is the bucket's first. When a map with as many tokens as buckets gets one
    more, it moves to more buckets: its tokens are put in anew, in the order in which they are.
    """
    given = list(token_ids)
    order: list[int] = []
    for n_buckets in BUCKETS:
        buckets: defaultdict[int, list[int]] = defaultdict(list)
        for token_id in order + given[len(order) : n_buckets]:
            buckets[token_id % n_buckets].append(token_id)
        order = [token_id for bucket in reversed(buckets.values()) for token_id in reversed(bucket)]
        if len(order) == len(given):
            break
    return order


class FollowersInText:
    """What followed each n-gram of up to four tokens in pieces of text, none of it across pieces.

    Keeps where n-grams of one and three tokens stood. Followers are counted when they are asked
    for, and from then on by what is new.
    """

    def __init__(self) -> None:
        self._text: list[int] = []
        self._piece_starts: set[int] = set()
        self._places: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        """The positions behind each n-gram."""
        self._counted: dict[tuple[int, ...], Followers] = {}

    def __len__(self) -> int:
        return len(self._text)

    def add(self, piece: Sequence[int]) -> None:
        """Read a piece, in which n-grams begin anew."""
        start = len(self._text)
        self._piece_starts.add(start)
        self._text += piece
        for size in (1, 3):
            ngrams = zip(*(piece[i:] for i in range(size)), strict=False)
            for place, ngram in zip(range(start + size, len(self._text)), ngrams, strict=False):
                self._places[ngram].append(place)

    def behind(self, ngram: tuple[int, ...]) -> Followers | None:
        """What followed the n-gram of one to four tokens; None when nothing did."""
        even = len(ngram) % 2 == 0
        places = self._places.get(ngram[1:] if even else ngram)
        if places is None:
            return None
        known = self._counted.get(ngram)
        if known is None:
            known = self._counted[ngram] = Followers()
        if known.n_read < len(places):
            new: Iterable[int] = places[known.n_read :]
            known.n_read = len(places)
            if even:
                new = self._preceded(new, ngram[0], len(ngram))
            text = self._text
            for place in new:
                known.add(text[place])
                known.positions[text[place]] = place
        return known if known.counts else None

    def _preceded(self, places: Iterable[int], token_id: int, size: int) -> list[int]:
        """The places of a longer n-gram among those of the n-gram without its first token."""
        text, starts = self._text, self._piece_starts
        return [
            place
            for place in places
            if text[place - size] == token_id and place - size + 1 not in starts
        ]
