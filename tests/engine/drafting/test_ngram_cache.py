"""ngram-cache: each rule of llama.cpp's common/ngram-cache.cpp and of its drafter by an example."""

from __future__ import annotations

import pytest
from support.lookup_files import lookup_file
from support.ngram_sessions import begun

from specviz.engine.drafting.base import NOTHING
from specviz.engine.drafting.ngram_cache import NgramCacheDrafter
from specviz.engine.drafting.ngram_counts import hash_map_order
from specviz.errors import FileError
from specviz.trace.config import NgramCacheConfig

FILL = iter(range(1000, 10**6))


def new(count):
    """Tokens that occur nowhere else."""
    return [next(FILL) for _ in range(count)]


def cached(static=None, dynamic=None, n_vocab=None):
    return NgramCacheDrafter(NgramCacheConfig(static_path=static, dynamic_path=dynamic), n_vocab)


def draft(history, pending, limit=100):
    return begun(cached(), history).draft(history, pending, limit)


def test_follows_the_last_four_tokens_after_one_occurrence():
    history = [*new(4), 1, 2, 3, 4, 11, 12, 13, *new(4), 1, 2, 3]
    proposal = draft(history, 4)
    assert proposal.token_ids[:3] == (11, 12, 13)
    assert proposal.copied_from[:3] == (8, 9, 10)
    assert proposal.probs == (None,) * len(proposal.token_ids)


def test_drafts_have_eight_tokens_at_most():
    history = [*new(4), 1, 2, 3, 4, *range(11, 40), *new(4), 1, 2, 3]
    assert draft(history, 4).token_ids == tuple(range(11, 19))
    assert draft(history, 4, limit=3).token_ids == (11, 12, 13)


def test_a_longer_n_gram_goes_before_shorter_ones():
    history = [*new(1), 1, 2, 3, 4, 11, *3 * [9, 2, 3, 4, 21], *new(4), 1, 2, 3]
    assert draft(history, 4).token_ids[0] == 11


@pytest.mark.parametrize(("times", "drafts"), [(1, False), (2, True)])
def test_two_tokens_have_to_be_met_twice(times, drafts):
    history = [*(token for _ in range(times) for token in [*new(2), 1, 2, 11]), *new(2), 1]
    assert draft(history, 2).token_ids[:1] == ((11,) if drafts else ())


@pytest.mark.parametrize(("others", "drafts"), [([21], True), ([21, 22], False)])
def test_one_token_has_to_be_followed_by_the_same_in_two_of_three_cases(others, drafts):
    followers = [11, *others, 11]
    history = [token for follower in followers for token in [*new(2), 1, follower]]
    assert draft([*history, *new(3)], 1).token_ids[:1] == ((11,) if drafts else ())


def test_of_two_equal_followers_the_map_yields_the_later_first():
    history = [*new(1), 1, 2, 3, 4, 11, *new(3), 1, 2, 3, 4, 21, *new(3), 1, 2, 3]
    assert draft(history, 4).token_ids[0] == 21
    history = [*new(1), 1, 2, 3, 4, 21, *new(3), 1, 2, 3, 4, 11, *new(3), 1, 2, 3]
    assert draft(history, 4).token_ids[0] == 11
    # half of the counts is enough for four tokens, also where it is not for three
    assert draft([*new(2), 9, 2, 3, 4, 31, *history], 4).token_ids[0] == 11


def test_of_three_equal_followers_none_is_frequent_enough():
    met = [token for follower in (11, 21, 31) for token in [*new(3), 1, 2, 3, 4, follower]]
    assert draft([*met, *new(3), 1, 2, 3], 4) == NOTHING


def test_a_text_of_one_token_drafts_nothing():
    assert draft([], 4) == NOTHING


def grown(drafter, history, steps):
    """Let the text grow by steps of tokens; what is drafted after the last of them."""
    proposal = NOTHING
    pending = []
    for step in steps:
        history += [*pending, *step[:-1]]
        pending = [step[-1]]
        proposal = drafter.draft(history, step[-1], 100)
    return proposal


def test_steps_of_one_token_teach_nothing():
    slowly = [[token] for token in 6 * (1, 2, 3, 4, 11, 12)]
    assert grown(begun(cached(), new(4)), new(4), slowly) == NOTHING
    at_once = [[1, 2, 3, 4, 11, 12], *[[token] for token in (1, 2, 3, 4)]]
    assert grown(begun(cached(), new(4)), new(4), at_once).token_ids == (11, 12)


def test_no_n_gram_spans_two_pieces():
    # 4 tokens before the border and their follower behind it
    apart = [[1, 2, 3, 4], [11, 12, 13], [1, 2, 3, 4]]
    assert grown(begun(cached(), new(4)), new(4), apart) == NOTHING


def test_a_piece_begins_with_its_first_token():
    # 3 tokens and their follower behind a border that a fourth lies before
    met = [[*new(2), 1], [2, 3, 4, 11, 12], [*new(2), 1, 2, 3, 4]]
    drafter, history = begun(cached(), new(4)), new(4)
    assert grown(drafter, history, met).token_ids[0] == 11
    # were it known of all four tokens, one other follower of three would not matter
    other = [[*new(1), 9, 2, 3, 4, 21, *new(1)], [9, 2, 3, 4, 21], [*new(2), 1, 2, 3, 4]]
    assert grown(drafter, [*history, 4], other).token_ids[0] == 21


def test_counts_outlive_a_generation():
    drafter = cached()
    first = [*new(4), 1, 2, 3, 4, 11, 12, *new(4)]
    begun(drafter, first).draft(first, 9, 10)
    second = [*new(len(first) - 2), 1, 2, 3]
    proposal = begun(drafter, second).draft(second, 4, 10)
    assert proposal.token_ids[:2] == (11, 12)
    # this text has other tokens there
    assert proposal.copied_from[:2] == (None, None)


def test_a_shorter_text_teaches_nothing_until_it_is_longer_than_the_one_before():
    drafter = cached()
    first = new(30)
    begun(drafter, first).draft(first, 9, 10)
    second = [*new(4), 1, 2, 3, 4, 11, 12, *new(4), 1, 2, 3]
    assert begun(drafter, second).draft(second, 4, 10) == NOTHING
    second += [4, *new(20), 5, 6, 7, 8, 51, 52, *new(4), 1, 2, 3, 4, 5, 6, 7]
    # what lies behind the end of the first text was read, what lies before it was not
    assert drafter.draft(second, 8, 10).token_ids[:2] == (51, 52)
    assert drafter.draft([*second, 8, 1, 2, 3], 4, 10).token_ids[:1] != (11,)


def test_the_pending_token_may_be_what_is_copied():
    proposal = draft([5, 5, 5, 5, 5, 5], 5)
    assert proposal.token_ids == (5,) * 8
    assert proposal.copied_from == (6,) * 8


# Files -------------------------------------------------------------------------------------------
HISTORY = [901, 902, 903]
"""Nothing of it is known but from files; 904 is pending."""


def from_files(tmp_path, static=(), dynamic=()):
    paths = (lookup_file(tmp_path / "static", static), lookup_file(tmp_path / "dynamic", dynamic))
    return begun(cached(*paths), HISTORY).draft(HISTORY, 904, 1).token_ids


def test_the_dynamic_file_steps_in_where_the_text_offers_nothing(tmp_path):
    known = [([901, 902, 903, 904], [(51, 2)])]
    assert from_files(tmp_path, dynamic=known) == (51,)
    assert from_files(tmp_path, dynamic=[([901, 902, 903, 904], [(51, 1)])]) == ()


@pytest.mark.parametrize(
    ("size", "least", "percent"), [(1, 4, 75), (2, 3, 66), (3, 2, 66), (4, 2, 66)]
)
def test_the_dynamic_file_has_to_be_surer_than_the_text(tmp_path, size, least, percent):
    ngram = [901, 902, 903, 904][-size:]
    assert from_files(tmp_path, dynamic=[(ngram, [(51, least)])]) == (51,)
    assert from_files(tmp_path, dynamic=[(ngram, [(51, least - 1)])]) == ()
    assert from_files(tmp_path, dynamic=[(ngram, [(51, percent), (52, 100 - percent)])]) == (51,)
    too_few = [(51, percent - 1), (52, 100 - percent + 1)]
    assert from_files(tmp_path, dynamic=[(ngram, too_few)]) == ()


def test_one_token_of_text_is_too_few_even_with_a_file(tmp_path):
    path = lookup_file(tmp_path / "dynamic", [([904], [(51, 9)])])
    assert begun(cached(dynamic=path), []).draft([], 904, 1) == NOTHING
    assert begun(cached(dynamic=path), [1]).draft([1], 904, 1).token_ids == (51,)


def test_the_static_file_steps_in_last_and_knows_two_tokens_only(tmp_path):
    assert from_files(tmp_path, static=[([903, 904], [(61, 2)])]) == (61,)
    assert from_files(tmp_path, static=[([903, 904], [(61, 1)])]) == ()
    assert from_files(tmp_path, static=[([902, 903, 904], [(61, 9)])]) == ()
    assert from_files(tmp_path, static=[([903, 904], [(61, 50), (62, 50)])]) == (62,)
    assert from_files(tmp_path, static=[([903, 904], [(61, 50), (62, 30), (63, 21)])]) == ()
    both = {"static": [([903, 904], [(61, 9)])], "dynamic": [([903, 904], [(51, 9)])]}
    assert from_files(tmp_path, **both) == (51,)


def test_the_static_file_weighs_what_others_offer(tmp_path):
    offered = [([903, 904], [(51, 70), (52, 20)])]
    assert from_files(tmp_path, dynamic=offered) == (51,)
    # 52 is now the best by far, but has too small a share; the static file may say so itself
    weighed = from_files(tmp_path, dynamic=offered, static=[([903, 904], [(52, 1), (53, 1)])])
    assert weighed == (53,)


@pytest.mark.parametrize(
    ("n_others", "leader", "drafted"),
    [(0, 52, ()), (12, 51, (51,)), (30, 51, (51,)), (100, 52, ())],
)
def test_of_equal_products_the_first_in_the_map_is_taken(tmp_path, n_others, leader, drafted):
    others = [(token, 1) for token in range(100, 100 + n_others)]
    followers = [(51, 200), (52, 1), *others]
    assert next(t for t in hash_map_order([t for t, _ in followers]) if t in (51, 52)) == leader
    # 200 times 1 against 1 time 100 times 2; but with 52 at the head the share is too small
    static = [([903, 904], [(52, 2), (53, 1), (54, 1), (55, 1)])]
    assert from_files(tmp_path, dynamic=[([904], followers)], static=static) == drafted


def test_a_file_of_another_vocabulary_is_refused(tmp_path):
    path = lookup_file(tmp_path / "counts.bin", [([1, 2], [(7, 3), (900, 1)])])
    cached(dynamic=path, n_vocab=901)
    with pytest.raises(FileError, match=r"counts\.bin was made with another model.* 900 "):
        cached(dynamic=path, n_vocab=900)
    with pytest.raises(FileError, match="another model"):
        cached(static=path, n_vocab=900)
