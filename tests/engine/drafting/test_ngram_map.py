"""ngram-map-k and ngram-map-k4v: each rule of llama.cpp's common/ngram-map.cpp by an example."""

from __future__ import annotations

import pytest
from support.ngram_sessions import begun

from specviz.engine.drafting.base import NOTHING
from specviz.engine.drafting.ngram_map import (
    MULTIPLIER,
    N_SLOTS,
    NgramMapDrafter,
    Value,
    drop_values,
)
from specviz.trace.config import DraftSource, NgramSizes

K, K4V = DraftSource.NGRAM_MAP_K, DraftSource.NGRAM_MAP_K4V
AB = [1, 2]
FILL = iter(range(1000, 10**6))


def new(count):
    """Tokens that occur nowhere else."""
    return [next(FILL) for _ in range(count)]


def mapped(source=K, n=2, m=3, min_hits=1):
    return NgramMapDrafter(NgramSizes(size_n=n, size_m=m, min_hits=min_hits), source)


def told(*continuations, gap=4):
    """A text in which AB is followed by each of these in turn; ends before another AB's B."""
    text = new(1)
    for continuation in continuations:
        text += [*AB, *continuation, *new(gap)]
    return [*text, AB[0]]


@pytest.mark.parametrize("source", [K, K4V])
def test_copies_what_followed_the_same_tokens(source):
    history = told([11, 12, 13, 14])
    proposal = begun(mapped(source), history).draft(history, AB[1], 10)
    assert proposal.token_ids == (11, 12, 13)
    assert proposal.copied_from == (3, 4, 5)
    assert proposal.probs == (None,) * 3
    assert proposal.source is source


@pytest.mark.parametrize("source", [K, K4V])
def test_the_limit_of_the_call_cuts(source):
    history = told([11, 12, 13, 14])
    proposal = begun(mapped(source), history).draft(history, AB[1], 2)
    assert proposal.token_ids == (11, 12)
    assert proposal.copied_from == (3, 4)


def test_the_first_draft_copies_the_newest_of_the_prompt():
    history = told([11, 12, 13], [21, 22, 23])
    assert begun(mapped(), history).draft(history, AB[1], 10).token_ids == (21, 22, 23)


def test_later_drafts_stay_with_the_position_that_was_indexed_first():
    history = told([11, 12, 13])
    drafter = begun(mapped(), history)
    for i in range(5):
        assert drafter.draft(history, AB[1], 10).token_ids == (11, 12, 13)
        history += [AB[1], *new(6), *AB, 20 + i, 30 + i, 40 + i, *new(8), AB[0]]


def test_tokens_right_behind_the_prompt_are_never_indexed():
    # the prompt ends with AB, too near its end to be indexed then, and not at all later
    prompt = [*new(8), *AB]
    history = [*prompt, 31, 32, 33, *new(8), AB[0]]
    drafter = begun(mapped(), prompt)
    assert drafter.draft(history, AB[1], 10) == NOTHING
    # where all of it is prompt, it is
    assert begun(mapped(), history).draft(history, AB[1], 10).token_ids == (31, 32, 33)


def test_position_0_never_matches():
    history = [*AB, 11, 12, 13, *new(6), AB[0]]
    assert begun(mapped(), history).draft(history, AB[1], 10) == NOTHING


@pytest.mark.parametrize("n_prompt", [23, 10, 3])
def test_position_0_is_not_in_the_way_of_a_later_one(n_prompt):
    history = [*AB, *new(9), *AB, 11, 12, 13, *new(6), AB[0]]
    drafter = begun(mapped(), history[:n_prompt])
    assert drafter.draft(history, AB[1], 10).token_ids == (11, 12, 13)


def test_a_text_shorter_than_two_keys_and_a_copy_is_too_short():
    history = [9, 1, 2, 3, 1, 2]
    assert begun(mapped(n=3, m=1), history).draft(history, 3, 10) == NOTHING
    history = [9, 1, 2, 3, 8, 1, 2]
    assert begun(mapped(n=3, m=1), history).draft(history, 3, 10).token_ids == (8,)


@pytest.mark.parametrize("source", [K, K4V])
def test_a_key_copies_as_many_tokens_as_were_accepted_last(source):
    history = told([11, 12, 13])
    drafter = begun(mapped(source), history)
    assert len(drafter.draft(history, AB[1], 10).token_ids) == 3
    drafter.accept(2)
    history += [AB[1], 11, 12, *new(6), AB[0]]
    assert drafter.draft(history, AB[1], 10).token_ids == (11, 12)


@pytest.mark.parametrize("source", [K, K4V])
def test_a_key_that_was_rejected_at_once_never_drafts_again(source):
    history = told([11, 12, 13], [11, 12, 13])
    drafter = begun(mapped(source), history)
    assert drafter.draft(history, AB[1], 10).token_ids
    drafter.accept(0)
    for _ in range(3):
        history += [AB[1], 11, 12, 13, *new(6), AB[0]]
        assert drafter.draft(history, AB[1], 10) == NOTHING


def test_min_hits_is_for_k4v_only():
    history = told([11, 12, 13])
    assert begun(mapped(K, min_hits=3), history).draft(history, AB[1], 10).token_ids
    drafter = begun(mapped(K4V, min_hits=3), history)
    found = []
    for _ in range(4):
        found.append(bool(drafter.draft(history, AB[1], 10).token_ids))
        history += [AB[1], 11, 12, 13, *new(6), AB[0]]
    assert found == [False, False, True, True]


def test_k4v_drafts_only_where_one_continuation_outweighs_the_others_twofold():
    one, other = [11, 12, 13], [21, 22, 23]
    twice = told(one, one, other)
    assert begun(mapped(K4V), twice).draft(twice, AB[1], 10).token_ids
    once = told(one, other)
    assert begun(mapped(K4V), once).draft(once, AB[1], 10) == NOTHING


def test_k4v_copies_from_the_found_position_whatever_outweighs():
    one, other = [11, 12, 13], [21, 22, 23]
    history = told(one, one, other)
    assert begun(mapped(K4V), history).draft(history, AB[1], 10).token_ids == (21, 22, 23)


def test_k4v_counts_the_found_position_at_every_call():
    one, other = [11, 12, 13], [21, 22, 23]
    history = told(other, one)
    drafter = begun(mapped(K4V), history)
    found = []
    for _ in range(3):
        # counts of the two: 1 and 1, then 1 and 2
        found.append(bool(drafter.draft(history, AB[1], 10).token_ids))
        history += [AB[1], *new(8), AB[0]]
    assert found == [False, True, True]


def test_k4v_counts_position_0_although_it_never_matches():
    one, other = [11, 12, 13], [21, 22, 23]
    history = [*AB, *other, *new(4), *AB, *one, *new(4), AB[0]]
    assert begun(mapped(K4V), history).draft(history, AB[1], 10) == NOTHING


def test_k4v_does_not_notice_a_fifth_continuation():
    texts = [[10 * i, 10 * i + 1, 10 * i + 2] for i in range(1, 6)]
    history = told(*texts[:4], *10 * [texts[4]])
    drafter = begun(mapped(K4V), history)
    # four continuations once each stand in each other's way; the fifth, met most, is not counted
    for _ in range(4):
        assert drafter.draft(history, AB[1], 10) == NOTHING
        history += [AB[1], *new(8), AB[0]]


def test_a_shorter_text_forgets_what_lay_behind_its_end():
    prompt = told([11, 12, 13])[:-1]
    drafter = begun(mapped(), prompt)
    longer = [*prompt, *new(4), 7, 8, 71, 72, 73, *new(8), 7]
    assert drafter.draft(longer, 8, 10).token_ids == (71, 72, 73)
    drafter.accept(3)
    begun(drafter, prompt)
    again = [*prompt, *new(8), 7]
    assert drafter.draft(again, 8, 10) == NOTHING
    assert drafter.draft([*again, 8, AB[0]], AB[1], 10).token_ids == (11, 12, 13)


def learnt_behind_a_prompt():
    """A drafter that copies one token only of what it once found behind its prompt."""
    prompt = new(10)
    drafter = begun(mapped(), prompt)
    history = [*prompt, *new(4), *AB, 11, 12, 13, *new(8), AB[0]]
    assert drafter.draft(history, AB[1], 10).token_ids == (11, 12, 13)
    drafter.accept(1)
    return drafter, prompt, history


def test_a_longer_text_forgets_nothing():
    drafter, _, history = learnt_behind_a_prompt()
    begun(drafter, [*history, AB[1]])
    history += [AB[1], *new(9), AB[0]]
    assert drafter.draft(history, AB[1], 10).token_ids == (11,)


def test_a_shorter_text_forgets_keys_behind_its_end_even_if_it_goes_on_alike():
    drafter, prompt, history = learnt_behind_a_prompt()
    begun(drafter, prompt)
    assert drafter.draft(history, AB[1], 10).token_ids == (11, 12, 13)


def test_a_shorter_text_makes_room_in_the_index():
    drafter, prompt, _ = learnt_behind_a_prompt()
    begun(drafter, prompt)
    history = [*prompt, *new(12), *AB, 31, 32, 33, *new(8)]
    # takes in the text, so that the index alone knows of it then
    assert drafter.draft(history, 9, 10) == NOTHING
    assert drafter.draft([*history, 9, AB[0]], AB[1], 10).token_ids == (31, 32, 33)


def test_a_shorter_text_is_searched_from_the_first_position_it_forgot():
    drafter, prompt, history = learnt_behind_a_prompt()
    shorter = [*prompt, 7, 8, 71, 72, 73, *new(8), 7]
    assert len(prompt) < len(shorter) < len(history)
    begun(drafter, shorter)
    assert drafter.draft(shorter, 8, 10).token_ids == (71, 72, 73)


def test_a_text_shorter_than_the_prompt_before_forgets_a_key_and_a_copy_more():
    prompt = told([11, 12, 13])
    for kept, expected in ((7, 1), (6, 0)):
        drafter = begun(mapped(), prompt)
        assert drafter.draft(prompt, AB[1], 10).token_ids == (11, 12, 13)
        drafter.accept(1)
        # AB is at position 1; what begins up to 5 tokens before the end is forgotten, and is then
        # too near the prompt's end to be found again
        begun(drafter, prompt[:kept])
        history = [*prompt[:kept], *new(8), AB[0]]
        assert len(drafter.draft(history, AB[1], 10).token_ids) == expected


def test_dropped_continuations_close_up_and_the_last_place_keeps_what_was_accepted():
    values = [Value(1, 10, 5), Value(2, 50, 6), Value(3, 20, 7), Value(4, 60, 8)]
    drop_values(values, 50)
    assert values == [Value(1, 10, 5), Value(3, 20, 7), Value(4), Value(4)]
    values = [Value(1, 50, 5), Value(2, 10, 6), Value(3), Value(3)]
    drop_values(values, 50)
    assert values == [Value(2, 10, 6), Value(3), Value(3), Value(3)]


def test_k4v_forgets_continuations_behind_a_shorter_texts_end():
    # one token is its own hash here, and the twin keeps the other one out of the index
    one, twin = 5, 5 + N_SLOTS
    prompt = [*new(1), one, 11, 12, *new(3), twin, 21, 22, *new(4)]
    drafter = begun(mapped(K4V, n=1, m=2), prompt)
    assert drafter.draft(prompt, one, 10).token_ids == (11, 12)
    longer = [*prompt, one, *new(5), *2 * [one, 31, 32], *new(3)]
    assert drafter.draft(longer, one, 10) == NOTHING
    begun(drafter, prompt)
    other = [*prompt, *new(1), one, 41, 42, *new(4)]
    assert drafter.draft(other, one, 10).token_ids == (41, 42)


def test_what_a_key_learnt_survives_a_shorter_text():
    prompt = told([11, 12, 13])
    drafter = begun(mapped(), prompt)
    assert drafter.draft(prompt, AB[1], 10).token_ids == (11, 12, 13)
    drafter.accept(1)
    drafter.draft([*prompt, AB[1], *new(8)], 9, 10)
    begun(drafter, prompt)
    assert drafter.draft(prompt, AB[1], 10).token_ids == (11,)


def test_k4v_forgets_a_key_without_continuations_when_the_text_becomes_shorter():
    prompt = told([11, 12, 13])
    drafter = begun(mapped(K4V, min_hits=2), prompt)
    assert drafter.draft(prompt, AB[1], 10) == NOTHING
    drafter.draft([*prompt, AB[1], *new(8)], 9, 10)
    begun(drafter, prompt)
    # the hit from before does not count
    assert drafter.draft(prompt, AB[1], 10) == NOTHING


def test_a_key_stands_for_the_text_at_its_place_when_the_text_was_replaced():
    first = told([11, 12, 13])
    drafter = begun(mapped(), first)
    assert drafter.draft(first, AB[1], 10).token_ids
    drafter.accept(1)
    # not shorter than the first, with another key at the same place, which is now that entry's
    second = [*first[:1], 5, 6, *new(len(first)), 5, 6, 71, 72, 73, *new(4), 5]
    begun(drafter, second)
    assert drafter.draft(second, 6, 10).token_ids == (71,)


def test_a_key_in_the_slot_of_another_is_found_only_until_it_would_be_indexed():
    # one token is its own hash here, so these two share a slot
    one, twin = 5, 5 + N_SLOTS
    history = [*new(2), twin, 21, 22, *new(3), one, 11, 12, *new(3)]
    drafter = begun(mapped(n=1, m=2), history)
    # the prompt is searched once, before anything is in the slots
    assert drafter.draft(history, twin, 10).token_ids == (21, 22)
    drafter.accept(2)
    # the slot went to the newer one
    assert drafter.draft([*history, twin, 9], twin, 10) == NOTHING
    assert drafter.draft([*history, twin, 9, twin], one, 10).token_ids == (11, 12)


def test_equal_hashes_of_other_tokens_are_no_match():
    twin = [2, (2 - MULTIPLIER) % 2**32]  # hashes like AB
    history = [*new(2), *AB, 11, 12, 13, *new(3), *twin, 21, 22, 23, *new(4), AB[0]]
    assert begun(mapped(), history).draft(history, AB[1], 10).token_ids == (11, 12, 13)


def test_keys_of_equal_hashes_are_told_apart():
    twin = [2, (2 - MULTIPLIER) % 2**32]  # hashes like AB
    history = [*new(2), *AB, 11, 12, 13, *new(6), *twin, 21, 22, 23, *new(6), AB[0]]
    drafter = begun(mapped(), history)
    assert drafter.draft(history, AB[1], 10).token_ids == (11, 12, 13)
    drafter.accept(1)
    # the index has the newer of the two, which has nothing to do with what was accepted
    history += [AB[1], *new(2), twin[0]]
    assert drafter.draft(history, twin[1], 10).token_ids == (21, 22, 23)


def test_hits_are_counted_up_to_a_limit():
    history = told([11, 12, 13])
    reached, never = (begun(mapped(K4V, min_hits=hits), history) for hits in (16_380, 16_381))
    for _ in range(16_380 - 1):
        assert reached.draft(history, AB[1], 10) is NOTHING
        never.draft(history, AB[1], 10)
    for _ in range(3):
        assert reached.draft(history, AB[1], 10).token_ids
        assert never.draft(history, AB[1], 10) is NOTHING
