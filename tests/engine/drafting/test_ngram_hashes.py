"""Hashes of n-grams: llama.cpp's formula, however the text was taken in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specviz.engine.drafting import ngram_map, ngram_mod
from specviz.engine.drafting.ngram_hashes import FEW, MODULUS, NgramHashes

MULTIPLIERS = st.sampled_from([ngram_map.MULTIPLIER, ngram_mod.MULTIPLIER, 3])
TOKENS = st.integers(0, 5) | st.integers(0, 2**31 - 1)


def plainly(tokens, multiplier):
    value = 0
    for token_id in tokens:
        value = value * multiplier + token_id
    return value % MODULUS


@given(
    text=st.lists(TOKENS, max_size=3 * FEW),
    n=st.integers(1, 9) | st.just(70),
    steps=st.lists(st.integers(1, FEW + 20), max_size=8),
    multiplier=MULTIPLIERS,
)
def test_every_n_gram_has_the_hash_of_its_tokens(text, n, steps, multiplier):
    hashes = NgramHashes(n, multiplier)
    known = 0
    for step in [0, *steps]:
        known = min(known + step, len(text))
        hashes.follow(text[:known])
        expected = [plainly(text[i : i + n], multiplier) for i in range(known - n + 1)]
        assert hashes.between(0, max(known - n + 1, 0)).tolist() == expected
        if known >= n:
            assert hashes.at_end(text[:known], 7) == plainly([*text[:known], 7][-n:], multiplier)


def test_a_long_text_outgrows_the_first_array():
    text = [i * i % 1013 for i in range(5000)]
    hashes = NgramHashes(4, 3)
    for end in (900, 1100, 1101, 1600, 5000):
        hashes.follow(text[:end])
    assert hashes.between(1020, 1030).tolist() == [
        plainly(text[i : i + 4], 3) for i in range(1020, 1030)
    ]
    assert hashes.between(0, 4997).tolist() == [plainly(text[i : i + 4], 3) for i in range(4997)]


def test_a_new_text_leaves_nothing_of_the_old_one():
    hashes = NgramHashes(2, 3)
    hashes.begin([1, 2, 3, 4, 5])
    hashes.begin([6, 7])
    assert hashes.between(0, 1).tolist() == [6 * 3 + 7]
    assert hashes.at_end([6, 7], 8) == 7 * 3 + 8


def test_equal_hashes_are_found_between_two_positions():
    hashes = NgramHashes(2, 3)
    hashes.begin([1, 2, 1, 2, 1, 2, 1])
    assert hashes.find(1 * 3 + 2, 0, 6).tolist() == [0, 2, 4]
    assert hashes.find(1 * 3 + 2, 1, 4).tolist() == [2]
    assert hashes.find(2**32 - 1, 0, 6).tolist() == []
