"""Which way of drafting is chosen, and that a choice of the user is never lost."""

from __future__ import annotations

import pytest

from specviz.trace.config import DraftSource
from specviz.ui.drafting_choice import DraftingChoice, Method, Slots

NOTHING = Slots()
TARGET = Slots(has_target=True, nextn_layers=0)
PAIR = Slots(has_target=True, has_draft=True, nextn_layers=0)
MTP_TARGET = Slots(has_target=True, nextn_layers=1)
MTP_PAIR = Slots(has_target=True, has_draft=True, nextn_layers=1)
BEING_READ = Slots(has_target=True)

SIMPLE, MTP, MOD = DraftSource.DRAFT_SIMPLE, DraftSource.DRAFT_MTP, DraftSource.NGRAM_MOD


@pytest.fixture
def choice() -> DraftingChoice:
    return DraftingChoice()


@pytest.mark.parametrize(
    ("slots", "sources"),
    [
        (NOTHING, (SIMPLE,)),
        (TARGET, (MOD,)),
        (PAIR, (SIMPLE,)),
        (MTP_TARGET, (MTP,)),
        (MTP_PAIR, (SIMPLE,)),
    ],
)
def test_the_slots_decide_until_the_user_does(choice, slots, sources):
    choice.see(slots)
    assert choice.sources == sources
    choice.see(NOTHING)
    choice.see(slots)
    assert choice.sources == sources, "whatever was there before"


def test_a_draft_put_in_is_used_and_taken_out_gives_way_to_n_grams(choice):
    seen = []
    for slots in (TARGET, PAIR, TARGET, NOTHING):
        choice.see(slots)
        seen.append(choice.method)
    assert seen == [Method.NGRAM, Method.MODEL, Method.NGRAM, Method.MODEL]


@pytest.mark.parametrize("method", Method)
def test_a_picked_method_outlasts_every_change_of_models(choice, method):
    choice.see(PAIR)
    choice.pick_method(method)
    for slots in (TARGET, NOTHING, MTP_TARGET, MTP_PAIR, PAIR):
        choice.see(slots)
        assert choice.method is method


def test_nothing_flickers_while_a_file_is_read(choice):
    choice.see(MTP_TARGET)
    choice.see(BEING_READ)
    assert choice.sources == (MTP,)
    choice.see(TARGET)
    choice.see(BEING_READ)
    assert choice.sources == (MOD,)


def test_mtp_switched_off_stays_off_for_other_models_and_comes_back_when_picked(choice):
    choice.see(MTP_TARGET)
    choice.pick_drafted_by(SIMPLE)
    assert choice.sources == (SIMPLE,) and choice.lacks_draft
    for slots in (MTP_PAIR, PAIR, NOTHING, MTP_PAIR):
        choice.see(slots)
        assert choice.drafted_by is SIMPLE
    choice.pick_drafted_by(MTP)
    choice.see(PAIR)
    assert choice.sources == (SIMPLE,), "this target has no MTP blocks"
    choice.see(MTP_PAIR)
    assert choice.sources == (MTP,), "the pick was not forgotten"


def test_without_mtp_and_draft_the_natural_way_is_n_grams(choice):
    choice.pick_drafted_by(SIMPLE)
    choice.see(MTP_TARGET)
    assert choice.method is Method.NGRAM


def test_sources_come_in_order_of_precedence(choice):
    choice.pick_method(Method.BOTH)
    choice.pick_ngrams([DraftSource.NGRAM_CACHE, DraftSource.NGRAM_SIMPLE])
    assert choice.sources == (DraftSource.NGRAM_SIMPLE, DraftSource.NGRAM_CACHE, SIMPLE)
    choice.pick_ngrams([])
    assert len(choice.ngrams) == 2, "none at all is no pick"


@pytest.mark.parametrize(
    ("sources", "method"),
    [((SIMPLE,), Method.MODEL), ((MOD,), Method.NGRAM), ((MOD, MTP), Method.BOTH)],
)
def test_a_configuration_is_taken_but_is_no_pick(choice, sources, method):
    choice.take(sources)
    assert choice.sources == sources and choice.method is method
    assert choice.state()["method"] is None
    choice.see(PAIR)
    assert choice.sources == (SIMPLE,)


def test_a_configuration_cannot_ask_for_blocks_that_are_not_there(choice):
    choice.see(TARGET)
    choice.take((MTP,))
    assert choice.sources == (SIMPLE,) and choice.lacks_draft


def test_a_configuration_without_sources_changes_nothing(choice):
    choice.pick_method(Method.BOTH)
    before = choice.sources
    choice.take(())
    assert choice.sources == before


def test_an_example_borrows_the_choice(choice):
    choice.see(MTP_PAIR)
    choice.pick_method(Method.BOTH)
    choice.lend((DraftSource.NGRAM_SIMPLE,))
    choice.lend((MOD,))
    assert choice.sources == (MOD,)
    assert choice.state()["method"] == "both", "the example is not what the user picked"
    choice.lend(())
    assert choice.sources == (MOD, SIMPLE)
    choice.lend((DraftSource.NGRAM_SIMPLE,))
    choice.pick_method(Method.NGRAM)
    choice.lend(())
    assert choice.sources == (DraftSource.NGRAM_SIMPLE,), "the user made it their own"


def test_a_change_of_models_ends_an_example_where_nothing_was_picked(choice):
    choice.see(TARGET)
    choice.lend((MOD, SIMPLE))
    choice.see(PAIR)
    choice.lend(())
    assert choice.sources == (SIMPLE,)


def test_what_was_picked_is_remembered(choice):
    choice.see(MTP_PAIR)
    choice.pick_method(Method.MODEL)
    choice.pick_drafted_by(MTP)
    choice.pick_ngrams([DraftSource.NGRAM_SIMPLE, MOD])
    again = DraftingChoice()
    again.restore_state(choice.state())
    again.see(MTP_PAIR)
    assert again.sources == (MTP,)
    assert again.ngrams == (DraftSource.NGRAM_SIMPLE, MOD)
    again.see(TARGET)
    assert again.method is Method.MODEL, "that it was picked is remembered too"


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        "model",
        {},
        {"method": "race", "drafted_by": MOD.value, "ngrams": [SIMPLE.value, 3, None]},
        {"method": 1, "drafted_by": ["draft-mtp"], "ngrams": "ngram-mod"},
    ],
)
def test_an_odd_state_is_ignored(choice, odd):
    before = choice.state()
    choice.restore_state(odd)
    assert choice.state() == before
    choice.see(TARGET)
    assert choice.sources == (MOD,)
