"""Untrusted text is shown on one line and cannot rearrange what is around it."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.models.readable import counted, file_label, grouped, one_line, quoted, token_text


def test_thousands_are_grouped_by_thin_spaces() -> None:
    assert grouped(151936) == "151\u202f936"
    assert grouped(999) == "999"
    assert counted(1, "byte") == "1 byte"
    assert counted(12_345, "byte") == "12\u202f345 bytes"
    assert counted(2, "entry", "entries") == "2 entries"


@given(st.text(max_size=300), st.integers(2, 100))
def test_one_line_has_only_visible_characters(text: str, limit: int) -> None:
    shown = one_line(text, limit)
    assert len(shown) <= limit
    assert all(c == " " or unicodedata.category(c)[0] not in "CZ" for c in shown)


@pytest.mark.parametrize(
    ("raw", "model", "shown"),
    [
        ("\u0120the".encode(), "gpt2", '" the"'),
        ("\u010a\u010a".encode(), "gpt2", r'"\n\n"'),
        (b"\n\n", "gpt2", r'"\n\n"'),
        ("\u00c3\u00a9".encode(), "gpt2", '"é"'),
        ("\u00c3".encode(), "gpt2", r'"\xc3"'),
        ("\u2581a".encode(), "llama", '" a"'),
        (b"[@x]", "llama", '"[@x]"'),
        ("\u202e".encode(), "llama", r'"\u202e"'),
        (b'a"\\', "rwkv", r'"a\"\\"'),
        (b"\x00\xff", "rwkv", r'"\x00\xff"'),
        (b"x" * 100, "gpt2", '"' + "x" * 39 + '…"'),
    ],
)
def test_token_texts_are_readable(raw: bytes, model: str, shown: str) -> None:
    assert token_text(raw, model) == shown


@given(st.binary(max_size=60), st.sampled_from(["gpt2", "llama", "rwkv"]))
def test_any_token_can_be_shown(raw: bytes, model: str) -> None:
    shown = token_text(raw, model)
    assert len(shown) <= 42
    shown.encode()
    assert all(c == " " or unicodedata.category(c)[0] not in "CZ" for c in shown)


def test_quoted_keeps_plain_text() -> None:
    assert quoted("grün") == '"grün"'


def test_a_path_without_a_name_has_a_label() -> None:
    assert file_label(Path("/")) == str(Path("/"))


def test_names_that_are_no_text_are_shown_with_marks() -> None:
    assert file_label(Path("a\udcff\ud800.gguf")) == "a\ufffd\ufffd.gguf"
