"""ngram-mod: each rule of llama.cpp's common/ngram-mod.cpp and of its drafter by an example."""

from __future__ import annotations

import random

import pytest
from support.ngram_sessions import begun

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.ngram_mod import N_ENTRIES, NgramModDrafter
from specviz.trace.config import NgramModConfig

STORY = list(range(100, 130))


def modded(n=2, n_min=0, n_max=4):
    return NgramModDrafter(NgramModConfig(n_match=n, n_min=n_min, n_max=n_max))


def told(drafter, history, pending, limit=100):
    return drafter.draft(history, pending, limit)


def test_follows_the_text_token_by_token():
    history = [*STORY, 1, 2, 103]
    proposal = told(begun(modded(), history), history, 104)
    assert proposal.token_ids == (105, 106, 107, 108)
    assert proposal.copied_from == (5, 6, 7, 8)
    assert proposal.probs == (None,) * 4


def test_one_token_repeated_copies_itself_to_the_full_length():
    history = [5] * 12
    proposal = told(begun(modded(), history), history, 5)
    assert proposal.token_ids == (5, 5, 5, 5)
    # each is read from where the n-gram stood last
    assert proposal.copied_from == (11, 11, 11, 11)


def test_of_several_continuations_the_last_stands():
    history = [*STORY, 103, 104, 7, 8, 103]
    proposal = told(begun(modded(), history), history, 104)
    assert proposal.token_ids[:2] == (7, 8)
    assert proposal.copied_from[:2] == (32, 33)


def test_a_text_shorter_than_the_match_drafts_nothing():
    assert told(begun(modded(n=4), [1, 1, 1]), [1, 1, 1], 1) == NOTHING
    assert told(begun(modded(n=4), [1, 1, 1, 1, 1]), [1, 1, 1, 1, 1], 1).token_ids == (1, 1, 1, 1)


def test_a_text_of_just_the_match_may_continue_as_an_earlier_one():
    drafter = begun(modded(n=3), STORY)
    begun(drafter, [100, 101, 102])
    assert told(drafter, [100, 101, 102], 103).token_ids == (104, 105, 106, 107)


def test_an_n_gram_with_nothing_behind_it_is_not_in_the_table():
    assert told(begun(modded(n=4), [1, 1, 1, 1]), [1, 1, 1, 1], 1) == NOTHING


def test_a_draft_shorter_than_the_minimum_is_dropped_and_counted():
    history = [*STORY, 127]
    proposal = told(begun(modded(n_min=3), history), history, 128)
    assert proposal == Proposal(n_dropped=2)
    assert told(begun(modded(n_min=2), history), history, 128).token_ids == (129, 127)


def test_what_is_not_known_is_no_dropped_draft():
    history = [*STORY, 1]
    assert told(begun(modded(n_min=3), history), history, 2) == NOTHING


def test_the_limit_of_the_call_cuts():
    history = [*STORY, 1, 2, 103]
    proposal = told(begun(modded(), history), history, 104, limit=2)
    assert proposal.token_ids == (105, 106)
    assert proposal.copied_from == (5, 6)


@pytest.mark.parametrize("n", [2, 12])
def test_new_text_is_taken_in_when_more_of_it_has_gathered_than_a_chunk(n):
    # the prompt's last n-gram is followed by new text, and stands again at the end
    for more, taken_in in ((0, False), (1, True)):
        between = 32 - n - (n - 1) + more
        history = [*STORY, *between * [7], *STORY[-n:-1]]
        proposal = told(begun(modded(n), STORY), history, STORY[-1])
        assert proposal.token_ids[:1] == ((7,) if taken_in else ())


def test_a_match_of_more_tokens_than_a_chunk_is_taken_in_at_once():
    prompt = list(range(100, 150))
    drafter = begun(modded(n=32), prompt)
    history = [*prompt, *range(200, 234)]
    assert told(drafter, history, 1) == NOTHING
    history += [1, *range(200, 231)]
    assert told(drafter, history, 231).token_ids == (232, 233, 1, 200)


class Conversation:
    """A generation behind a prompt, of which more and more is known."""

    def __init__(self, drafter, prompt):
        self.drafter = begun(drafter, prompt)
        self.history = list(prompt)
        self._pending = []

    def ask(self, *tokens, limit=100):
        """The text goes on with these tokens, the last of them pending."""
        self.history += [*self._pending, *tokens[:-1]]
        self._pending = [tokens[-1]]
        return self.drafter.draft(self.history, tokens[-1], limit)


OLDER = list(range(500, 540))


def test_five_drafts_in_a_row_with_less_than_a_quarter_accepted_clear_the_table():
    talk = Conversation(begun(modded(n_max=8), OLDER), STORY)
    for _ in range(5):
        assert len(talk.ask(102, 103).token_ids) == 8
        talk.drafter.accept(1)
    assert talk.ask(500, 501) == NOTHING
    # the text of this generation was taken in again
    assert talk.ask(110, 111).token_ids[0] == 112


def test_a_quarter_is_enough_and_ends_the_streak():
    talk = Conversation(begun(modded(n_max=8), OLDER), STORY)
    for n_accepted in (0, 0, 0, 0, 2, 0, 0, 0, 0):
        assert len(talk.ask(102, 103).token_ids) == 8
        talk.drafter.accept(n_accepted)
    assert talk.ask(500, 501).token_ids


def test_a_new_generation_does_not_end_the_streak():
    drafter = begun(modded(n_max=8), OLDER)
    for _ in range(5):
        talk = Conversation(drafter, STORY)
        assert talk.ask(102, 103).token_ids
        drafter.accept(0)
    assert talk.ask(500, 501) == NOTHING


def test_acceptance_is_measured_by_the_draft_before_it_was_cut():
    talk = Conversation(begun(modded(n_max=8), OLDER), STORY)
    for _ in range(5):
        assert len(talk.ask(102, 103, limit=1).token_ids) == 1
        talk.drafter.accept(1)  # all of what was checked, and an eighth of the draft
    assert talk.ask(500, 501) == NOTHING


def test_the_table_outlives_a_generation():
    drafter = begun(modded(), STORY)
    other = [1, 2, 3, 4, 5, 103]
    begun(drafter, other)
    proposal = told(drafter, other, 104)
    assert proposal.token_ids == (105, 106, 107, 108)
    # not from a place in this text
    assert proposal.copied_from == (None,) * 4


def test_a_place_counts_only_where_the_same_tokens_still_lead_to_it():
    drafter = begun(modded(), [*STORY, 1, 2])
    # the text has changed before the copied piece, and stayed the same from 107 on
    changed = [*range(300, 307), *STORY[7:], 1, 2, 103]
    begun(drafter, changed)
    proposal = told(drafter, changed, 104)
    assert proposal.token_ids == (105, 106, 107, 108)
    assert proposal.copied_from == (None, None, None, None)
    drafter = begun(modded(n_max=6), [*STORY, 1, 2])
    begun(drafter, changed)
    assert told(drafter, changed, 104).copied_from == (None, None, None, None, 9, 10)


def test_a_collision_proposes_as_llama_cpp_does_and_claims_no_place():
    # with one token to match, tokens that differ by the size of the table share an entry
    history = [7, 11, 12, 13, 14]
    drafter = begun(modded(n=1), history)
    proposal = told(drafter, history, 7 + N_ENTRIES)
    assert proposal.token_ids == (11, 12, 13, 14)
    assert proposal.copied_from == (None, 2, 3, 4)


def test_the_same_text_twice_uses_no_more_of_the_table():
    rng = random.Random(6)
    one, other = ([rng.randrange(2**31) for _ in range(N_ENTRIES // 6)] for _ in range(2))
    drafter = begun(modded(), one)
    begun(drafter, one)
    assert told(drafter, [*one, one[100]], one[101]).token_ids
    # two of these are more than a quarter
    begun(drafter, other)
    assert told(drafter, [*other, other[100]], other[101]) == NOTHING


def test_a_table_of_which_more_than_a_quarter_is_used_is_cleared_at_the_next_prompt():
    rng = random.Random(5)
    tokens = [rng.randrange(2**31) for _ in range(N_ENTRIES // 4 + 200_000)]
    drafter = begun(modded(n=2), tokens)
    assert told(drafter, [*tokens, tokens[100]], tokens[101]) == NOTHING
    # none of what was there is taken in again
    few = begun(modded(n=2), tokens[: N_ENTRIES // 8])
    assert told(few, [*tokens[: N_ENTRIES // 8], tokens[100]], tokens[101]).token_ids
