"""Where draft tokens were copied from: the text holds the token there, behind the same n-gram."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ngram_sessions import OurPlayer, play
from support.random_ngrams import SOURCES, sessions

from specviz.trace.config import DraftSource, SpeculationConfig

EXACT = {DraftSource.NGRAM_SIMPLE, DraftSource.NGRAM_MAP_K, DraftSource.NGRAM_MAP_K4V}


def matched_tokens(source, speculation):
    """How many tokens before a draft token have to be the same where it was copied."""
    match source:
        case DraftSource.NGRAM_MOD:
            return speculation.ngram_mod.n_match
        case DraftSource.NGRAM_CACHE:
            return 1
    return getattr(speculation, source.value.replace("-", "_")).size_n


@pytest.mark.parametrize("source", SOURCES)
@given(data=st.data())
def test_the_same_tokens_lead_to_every_place_that_is_claimed(source, data):
    session = data.draw(sessions([source]))
    player = OurPlayer(session.speculation)
    play(player, session.generations)
    n = matched_tokens(source, session.speculation)
    for history, pending, proposal in player.proposals:
        assert len(proposal.copied_from) == len(proposal.probs) == len(proposal.token_ids)
        text = [*history, pending]
        drafted = [*text, *proposal.token_ids]
        for i, place in enumerate(proposal.copied_from):
            if place is None:
                assert source not in EXACT
                continue
            # a copy may end with the pending token, but never runs on into itself
            assert 0 <= place < len(text)
            assert text[place] == proposal.token_ids[i]
            end = len(text) + i
            assert text[place - n : place] == drafted[end - n : end]


@pytest.mark.parametrize("source", SOURCES)
def test_in_a_text_that_repeats_every_token_has_a_place(source):
    repeated = [*range(1, 60)] * 4
    player = OurPlayer(SpeculationConfig(sources=(source,)))
    player.begin(repeated[:150])
    player.draft(repeated[:150], repeated[150], 100)
    ((_, _, proposal),) = player.proposals
    assert len(proposal.token_ids) >= 8
    assert None not in proposal.copied_from
    first = proposal.copied_from[0]
    assert proposal.copied_from == tuple(range(first, first + len(proposal.token_ids)))


@pytest.mark.parametrize("source", SOURCES)
@given(text=st.lists(st.integers(0, 1), min_size=1, max_size=6))
def test_texts_of_a_few_tokens_are_no_trouble(source, text):
    player = OurPlayer(SpeculationConfig(sources=(source,)))
    player.begin(text[:-1])
    assert len(player.draft(text[:-1], text[-1], 3)) <= 3
