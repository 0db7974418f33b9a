"""Followers of n-grams: what is kept of them, and the order of a C++ hash map."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.engine.drafting.ngram_counts import Followers, FollowersInText, hash_map_order

RECORDED = json.loads(Path(__file__).with_name("vectors").joinpath("map_order.json").read_text())


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: str(len(case["given"])))
def test_tokens_come_in_the_order_of_libstdcxx(case):
    assert hash_map_order(case["given"]) == case["order"]


def test_in_a_small_map_the_newest_token_comes_first():
    assert hash_map_order([1, 2, 3]) == [3, 2, 1]


def test_a_token_joins_those_of_its_bucket_as_their_first():
    # 13 buckets: 14 falls to the 1
    assert hash_map_order([1, 2, 14, 3]) == [3, 2, 14, 1]


def counts(**given):
    followers = Followers()
    for token_id, count in given.items():
        followers.add(int(token_id[1:]), count)
    return followers


def test_the_best_follower_needs_enough_counts_and_share():
    followers = counts(t5=3, t6=1)
    assert followers.best(4, 75) == 5
    assert followers.best(5, 75) is None
    assert followers.best(4, 76) is None


def test_weights_decide_before_the_share_is_judged():
    followers = counts(t5=3, t6=1)
    assert followers.best(1, 25, counts(t6=1)) == 6
    assert followers.best(1, 26, counts(t6=1)) is None
    assert followers.best(1, 75, counts(t7=9)) == 5


def test_products_run_over_as_32_bit_numbers_do():
    followers = counts(t5=30_000, t6=20_000)
    assert followers.best(1, 40, counts(t5=700, t6=1)) == 5
    # 30 000 x 100 x 800 is more than 31 bits and comes out negative
    assert followers.best(1, 40, counts(t5=800, t6=1)) == 6
    assert followers.best(1, 40, counts(t5=800, t6=1_100)) is None
    # more than 32 bits: positive again, but small
    assert followers.best(1, 40, counts(t5=1_432, t6=1)) == 6


def test_sums_and_shares_run_over_as_32_bit_numbers_do():
    assert counts(t5=2**31 - 1).best(1, 50) is None
    assert counts(t5=21_000_000).best(1, 75) == 5
    # 100 times the count comes out negative, 75 times it does not
    assert counts(t5=22_000_000).best(1, 75) is None
    assert counts(t5=22_000_000, t6=22_000_000).best(1, 50) == 6
    # a sum beyond 31 bits is below every minimum
    assert counts(t5=2**30, t6=2**30, t7=1).best(1, 30) is None


TOKENS = st.lists(st.integers(0, 3), max_size=30)


@given(pieces=st.lists(TOKENS.filter(bool), max_size=6), asked=st.lists(st.integers(0, 50)))
def test_followers_are_those_met_within_the_pieces(pieces, asked):
    text = FollowersInText()
    met = {}
    place = 0
    for number, piece in enumerate(pieces):
        text.add(piece)
        for i, token_id in enumerate(piece):
            for size in range(1, min(i, 4) + 1):
                met.setdefault(tuple(piece[i - size : i]), []).append((token_id, place + i))
        place += len(piece)
        # asking in between must not change what is told later
        if number in asked:
            check(text, met)
    check(text, met)
    assert len(text) == place


def check(text, met):
    for ngram, followers in met.items():
        known = text.behind(ngram)
        order = list(dict.fromkeys(token_id for token_id, _ in followers))
        assert list(known.counts) == order
        assert sum(known.counts.values()) == len(followers)
        assert known.positions == dict(followers)
    assert text.behind((7, 7, 7)) is None
    assert text.behind((7, 0)) is None
