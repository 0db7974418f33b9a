"""Token budget, context, stop texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.engine.limits import StopScanner, context_is_full, draft_limit


@pytest.mark.parametrize(
    ("n_ctx", "n_past", "n_committed", "max_tokens", "expected"),
    [
        (100, 10, 0, 50, 49),
        (100, 10, 49, 50, 0),
        (100, 10, 50, 50, 0),
        (100, 97, 0, -1, 1),
        (100, 98, 0, -1, 0),
        (100, 10, 0, -1, 88),
        (100, 10, 0, 0, 0),
    ],
)
def test_draft_limit(n_ctx, n_past, n_committed, max_tokens, expected):
    assert draft_limit(n_ctx, n_past, n_committed, max_tokens) == expected


def test_context_is_full_when_prompt_and_answer_fill_it():
    assert not context_is_full(10, 8)
    assert context_is_full(10, 9)


PIECES = st.lists(st.text(alphabet="abcé€", max_size=4).map(str.encode), max_size=25)
STOPS = st.lists(st.text(alphabet="abcé€", min_size=1, max_size=5), min_size=1, max_size=3)


@given(PIECES, STOPS)
def test_scanner_cuts_where_a_search_of_the_whole_text_would(pieces, stops):
    scanner = StopScanner(stops)
    match, fed = None, 0
    for piece in pieces:
        fed += 1
        match = scanner.feed(piece)
        if match:
            break
    data = b"".join(pieces[:fed])
    found = [at for stop in stops if (at := data.find(stop.encode())) >= 0]
    if not found:
        assert match is None
        return
    kept = list(pieces[: match.n_tokens])
    if match.last_piece is not None:
        kept[-1] = match.last_piece
    assert b"".join(kept) == data[: min(found)]
    assert all(stop not in b"".join(kept).decode() for stop in stops)
    # the first fed prefix that contains a stop text is where the scanner stops
    assert not any(stop.encode() in b"".join(pieces[: fed - 1]) for stop in stops)


@given(PIECES, STOPS)
def test_what_is_not_held_back_is_never_cut(pieces, stops):
    scanner = StopScanner(stops)
    shown = 0
    for count, piece in enumerate(pieces, start=1):
        match = scanner.feed(piece)
        if match:
            whole = match.n_tokens - (match.last_piece is not None)
            assert whole >= shown or all(not p for p in pieces[whole:shown])
            return
        assert 0 <= scanner.n_held <= count
        shown = max(shown, count - scanner.n_held)


def test_no_stop_texts_hold_nothing_back():
    scanner = StopScanner(["", ""])
    assert scanner.feed(b"anything") is None
    assert scanner.n_held == 0
