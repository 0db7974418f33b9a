"""Bytes of successive tokens to text: characters may span tokens."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.trace.text import PieceDecoder, texts_of


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """`data` in pieces, cut at `places`."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(edges)]


@given(st.text(min_size=1), st.lists(st.integers(0, 500)))
def test_text_cut_anywhere_comes_back_whole(text: str, places: list[int]) -> None:
    data = text.encode("utf-8", "replace")
    assert "".join(texts_of(cut(data, places))) == data.decode()


@given(st.binary(min_size=1), st.lists(st.integers(0, 500)))
def test_any_bytes_give_what_a_decoder_gives_for_the_whole(data: bytes, places: list[int]) -> None:
    assert "".join(texts_of(cut(data, places))) == data.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("pieces", "texts"),
    [
        ([b"\xf0", b"\x9f", b"\x98", b"\x80"], ["", "", "", "😀"]),
        ([b"a\xf0\x9f", b"\x98\x80b"], ["a", "😀b"]),
        ([b"\xf0\x9f"], ["\ufffd"]),
        ([b"a", b"\xf0\x9f"], ["a", "\ufffd"]),
        ([b"\xf0", b"\x9f", b"!"], ["", "", "\ufffd!"]),
        ([b"", b"x", b""], ["", "x", ""]),
        ([], []),
    ],
)
def test_a_character_belongs_to_the_token_that_completes_it(
    pieces: list[bytes], texts: list[str]
) -> None:
    assert texts_of(pieces) == texts


def test_pending_tells_of_an_unfinished_character() -> None:
    decoder = PieceDecoder()
    decoder.feed(b"a")
    assert not decoder.pending
    decoder.feed(b"\xf0\x9f")
    assert decoder.pending
    decoder.feed(b"\x98\x80")
    assert not decoder.pending
