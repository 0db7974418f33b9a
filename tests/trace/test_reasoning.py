"""Reasoning blocks: marks of every kind, over any cut into tokens."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces import TraceBuilder

from specviz.trace.reasoning import MARKS, BlockFinder, parted, reasoning_of


def cut(text: str, places: list[int]) -> list[str]:
    """The text in pieces, cut at these places."""
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[a:b] for a, b in itertools.pairwise(edges)]


@pytest.mark.parametrize(("begin", "end"), MARKS)
def test_every_kind_of_mark_opens_and_closes_a_block(begin, end):
    found = parted([begin, "Let me", " see", end, "\n\n", "Yes", "."])
    assert (found.n_tokens, found.n_answer_tokens) == (4, 3)
    assert (found.text, found.answer, found.open) == ("Let me see", "Yes.", False)


def test_three_hundred_reasoning_tokens_and_fifty_behind():
    texts = ["<think>", *[" hm"] * 298, "</think>", *[" so"] * 50]
    found = parted(texts)
    assert (found.n_tokens, found.n_answer_tokens) == (300, 50)


def test_without_a_block_the_answer_is_the_whole_text():
    found = parted([" \n", "I <think> so", " </think>"])
    assert (found.n_tokens, found.n_answer_tokens) == (0, 3)
    assert found.answer == " \nI <think> so </think>"


def test_blanks_may_stand_before_the_block():
    found = parted(["\n", " ", "<think>", "a", "</think>", "b"])
    assert (found.n_tokens, found.text, found.answer) == (5, "a", "b")


def test_a_block_that_the_prompt_opened_needs_no_mark():
    found = parted(["Hm", "</thi", "nk>", "Yes"], opened=True)
    assert (found.n_tokens, found.text, found.answer) == (3, "Hm", "Yes")
    assert parted(["Hm"], opened=True).open


def test_an_open_block_has_no_answer_yet():
    found = parted(["<think>", "So ", "</th"])
    assert found.open and found.n_tokens == 3 and found.answer == ""
    assert found.text == "So </th"


def test_the_mark_of_another_kind_does_not_close_a_block():
    assert parted(["<think>", "a", "</reasoning>", "b"]).open


def test_a_token_with_the_end_mark_and_more_is_reasoning_and_its_rest_the_answer():
    found = parted(["<think>a", "b</think>Yes", " it is"])
    assert (found.n_tokens, found.n_answer_tokens) == (2, 1)
    assert (found.text, found.answer) == ("ab", "Yes it is")


def test_a_beginning_that_looks_like_a_mark_may_be_none():
    finder = BlockFinder()
    for text in ("<", "thi"):
        finder.feed(text)
        assert not finder.found
    finder.feed("s>")
    assert not finder.found and finder.n_tokens == 0
    finder.feed("<think>")
    assert not finder.found


def test_where_the_answer_begins_waits_for_something_to_read():
    finder = BlockFinder()
    for text in ("<think>", "a</think> ", "\n"):
        finder.feed(text)
    assert not finder.open and finder.answer_at is None
    finder.feed("\n Yes")
    assert finder.answer_at == (3, 2)


@given(
    st.sampled_from(MARKS),
    st.text(alphabet="ab<>/[]|think \n", max_size=30),
    st.text(alphabet="ab<>/[]|think \n", max_size=20),
    st.lists(st.integers(0, 200), max_size=40),
    st.booleans(),
)
def test_the_cut_into_tokens_does_not_matter(marks, inside, behind, places, opened):
    begin, end = marks
    text = ("" if opened else "\n" + begin) + inside + end + behind
    whole, pieces = parted([text], opened), cut(text, places)
    found = parted(pieces, opened)
    assert (found.text, found.answer, found.open) == (whole.text, whole.answer, False)
    assert found.n_tokens + found.n_answer_tokens == len(pieces)
    # the block ends with the token that holds the last character of the end mark
    before = "".join(pieces[: found.n_tokens - 1])
    assert parted([before], opened).open or not parted([before], opened).n_tokens


def test_the_two_parts_of_a_run():
    builder = TraceBuilder().plain("<think>", "Hm")
    assert reasoning_of(builder.trace).open
    builder.step([".", "</think>"], 2, "\n\nYes")
    found = reasoning_of(builder.finish())
    assert (found.text, found.answer, found.n_tokens) == ("Hm.", "Yes", 4)


def test_a_run_whose_prompt_ends_inside_the_block():
    trace = TraceBuilder().plain("Hm", "</think>", "Yes").finish()
    trace.started = replace(trace.started, reasoning_open=True)
    assert reasoning_of(trace).n_tokens == 2
