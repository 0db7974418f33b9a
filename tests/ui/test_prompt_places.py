"""Messages found again among the tokens of a prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.turns import pieces_of, position_in, rendered, user

from specviz.trace.config import Message
from specviz.ui.prompt_places import PromptPlaces


def words_at(messages, pieces, first, after):
    """The words that tokens stand for, by message."""
    found = []
    for place in PromptPlaces(messages, pieces).places_of(first, after):
        message = messages[place.message]
        text = message.reasoning if place.in_reasoning else message.text
        found.append((place.message, text[place.start : place.end]))
    return found


def test_tokens_of_every_turn_are_found():
    messages = (
        Message(role="system", text="You are brief."),
        user("Write a line about rivers."),
        Message(role="assistant", text="Rivers run slowly."),
        user("  And one about the sea?\n"),
    )
    pieces = rendered(messages)
    for number, words in ((0, " are brief"), (1, " line about"), (2, " run"), (3, " the sea")):
        at = position_in(pieces, words)
        found = words_at(messages, pieces, at, at + len(pieces_of(words)))
        assert found == [(number, words)]


def test_template_marks_are_no_part_of_any_message():
    messages = (user("Something about rivers, please."),)
    pieces = rendered(messages)
    assert words_at(messages, pieces, 0, 2) == []
    assert words_at(messages, pieces, len(pieces) - 3, len(pieces)) == []


def test_a_span_over_several_messages_has_a_place_in_each():
    messages = (user("First question here"), Message(role="assistant", text="First answer here"))
    pieces = rendered(messages)
    found = words_at(messages, pieces, 3, position_in(pieces, " answer") + 1)
    assert found == [(0, " question here"), (1, "First answer")]


def test_the_same_words_twice_are_told_apart_by_their_order():
    again = user("Write the same paragraph again.")
    messages = (again, Message(role="assistant", text="As I said: it flows."), again)
    pieces = rendered(messages)
    at = position_in(pieces, " paragraph")
    assert words_at(messages, pieces, at, at + 1) == [(2, " paragraph")]
    first = pieces.index(b" paragraph")
    assert words_at(messages, pieces, first, first + 1) == [(0, " paragraph")]


def test_what_the_template_left_out_has_no_place():
    messages = (user("A question that is there."), Message(role="assistant", text="Never shown."))
    pieces = rendered(messages[:1])
    assert words_at(messages, pieces, 0, len(pieces)) == [(0, "A question that is there.")]


def test_a_short_text_that_could_be_anywhere_has_no_place():
    messages = (user("a"),)
    pieces = rendered(messages)
    assert words_at(messages, pieces, 0, len(pieces)) == []


def test_reasoning_that_the_template_repeats_is_found():
    reply = Message(role="assistant", text="Yes, it is so.", reasoning="Let me think of it.")
    told = "assistant\n<think>\nLet me think of it.\n</think>\n\nYes, it is so."
    pieces = pieces_of(f"user\nIs it so, really?\n{told}")
    places = PromptPlaces((user("Is it so, really?"), reply), pieces)
    at = position_in(pieces, " think of")
    (place,) = places.places_of(at, at + 2)
    assert place.in_reasoning and reply.reasoning[place.start : place.end] == " think of"


@pytest.mark.parametrize("first", range(4))
def test_characters_cut_by_tokens_belong_to_both(first):
    text = "Grüße aus Köln 😀"
    data = text.encode()
    pieces = [data[i : i + 3] for i in range(0, len(data), 3)]
    found = words_at((user(text),), pieces, first, first + 1)
    piece = pieces[first].decode("utf-8", "ignore")
    assert piece in found[0][1]


@given(st.text(min_size=12, max_size=40), st.integers(0, 60), st.integers(0, 60))
def test_all_places_lie_inside_their_message(text, a, b):
    messages = (user(text), Message(role="assistant", text=text[::-1]))
    pieces = rendered(messages)
    for place in PromptPlaces(messages, pieces).places_of(min(a, b), max(a, b)):
        assert 0 <= place.start <= place.end <= len(messages[place.message].text)


def test_an_unknown_prompt_has_no_places():
    assert PromptPlaces((user("Something longer than that."),), ()).places_of(0, 9) == []
