"""ngram-simple: each rule of llama.cpp's `common_ngram_simple_draft` by an example."""

from __future__ import annotations

from support.ngram_sessions import begun

from specviz.engine.drafting.base import NOTHING
from specviz.engine.drafting.ngram_simple import MULTIPLIER, NgramSimpleDrafter
from specviz.trace.config import NgramSizes

ABC, DEF, XYZ = [1, 2, 3], [4, 5, 6], [7, 8, 9]


def draft(history, pending, *, n=3, m=4, limit=100):
    drafter = begun(NgramSimpleDrafter(NgramSizes(size_n=n, size_m=m)), history)
    return drafter.draft(history, pending, limit)


def test_copies_what_followed_the_same_tokens():
    history = [0, *ABC, 11, 12, 13, 14, 15, *DEF, 1, 2]
    proposal = draft(history, 3)
    assert proposal.token_ids == (11, 12, 13, 14)
    assert proposal.copied_from == (4, 5, 6, 7)
    assert proposal.probs == (None,) * 4


def test_the_newest_match_is_copied():
    history = [0, *ABC, 11, 12, 13, *DEF, *ABC, 21, 22, 23, *DEF, 1, 2]
    assert draft(history, 3).token_ids == (21, 22, 23, 4)


def test_the_limit_of_the_call_cuts():
    history = [0, *ABC, 11, 12, 13, 14, 15, *DEF, 1, 2]
    proposal = draft(history, 3, limit=2)
    assert proposal.token_ids == (11, 12)
    assert proposal.copied_from == (4, 5)


def test_position_0_never_matches():
    rest = [11, 12, 13, 14, 15, *DEF, 1, 2]
    assert draft([*ABC, *rest], 3) == NOTHING
    assert draft([0, *ABC, *rest], 3).token_ids == (11, 12, 13, 14)


def test_a_text_of_no_more_than_both_sizes_and_one_is_too_short():
    assert draft([0, *ABC, 11, 12, 1, 2], 3, n=3, m=4) == NOTHING
    assert draft([0, *ABC, 11, 12, 13, 1, 2], 3, n=3, m=4).token_ids == (11, 12, 13, 1)


def test_near_the_end_it_copies_less_but_no_less_than_it_matched():
    assert draft([0, 0, 0, 0, 0, *ABC, 11, 1, 2], 3, m=5).token_ids == (11, 1, 2)
    assert draft([0, 0, 0, 0, 0, 0, *ABC, 1, 2], 3, m=5) == NOTHING


def test_an_older_match_is_not_tried_when_the_newest_is_too_near_the_end():
    history = [0, *ABC, 11, 12, 13, 14, *ABC, 1, 2]
    assert draft(history, 3) == NOTHING


def test_the_token_before_last_may_match():
    proposal = draft([0, 0, 0, 0, 0, 1, 5], 1, n=1)
    assert proposal.token_ids == (5,)
    assert proposal.copied_from == (6,)


def test_a_run_of_one_token_is_never_copied_for_its_newest_match_is_too_near_the_end():
    assert draft([5] * 40, 5) == NOTHING


def test_text_that_is_new_since_the_last_call_is_found():
    history = [0, *ABC, 11, 12, 13, 14, 15, 16]
    drafter = begun(NgramSimpleDrafter(NgramSizes(size_n=3, size_m=4)), history)
    assert drafter.draft(history, 99, 10) == NOTHING
    history += [*XYZ, 31, 32, 33, 7, 8]
    assert drafter.draft(history, 9, 10).token_ids == (31, 32, 33, 7)


def test_a_shorter_text_leaves_nothing_of_the_longer_one_behind():
    longer = [0, *ABC, 11, 12, 13, *DEF, 14, 15, 16, *XYZ, 17, 18, 19]
    drafter = begun(NgramSimpleDrafter(NgramSizes(size_n=3, size_m=4)), longer)
    shorter = [0, *ABC, 11, 12, 13, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 7, 8]
    begun(drafter, shorter)
    assert drafter.draft(shorter, 9, 10) == NOTHING
    assert drafter.draft([*shorter, 9, 1, 2], 3, 10).token_ids == (11, 12, 13, 21)


def test_another_text_with_the_same_hash_is_no_match():
    twin = [2, (2 - MULTIPLIER) % 2**32]  # hashes like [1, 2]
    history = [0, 1, 2, 11, 12, 13, *twin, 21, 22, 23, 24, 1]
    assert draft(history, 2, n=2).token_ids == (11, 12, 13, 2)
    without = [0, 9, 9, 11, 12, 13, *twin, 21, 22, 23, 24, 1]
    assert draft(without, 2, n=2) == NOTHING
