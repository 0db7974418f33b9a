"""Text and numbers from model files made fit for a sentence: one line, no control characters.

File names, metadata and token texts are untrusted; nothing here interprets them.
"""

from __future__ import annotations

import unicodedata
from contextlib import suppress
from functools import cache
from pathlib import Path

THIN_SPACE = "\u202f"
"""Groups thousands and stands before units; does not break at a line's end."""

_SPACE_MARK = "\u2581"  # how SentencePiece writes a space


def grouped(number: int) -> str:
    """151936 as 151 936, with thin spaces."""
    return f"{number:,}".replace(",", THIN_SPACE)


def counted(number: int, one: str, many: str = "") -> str:
    """A number and its noun: `1 byte`, `12 345 bytes`. The plural defaults to `one` + s."""
    return f"{grouped(number)} {one if number == 1 else many or one + 's'}"


def one_line(text: str, limit: int = 80) -> str:
    """Control, format and line-break characters become spaces; longer text is cut with an ellipsis.

    Format characters are dropped too because they can reorder what a reader sees.
    """
    shown = "".join(" " if unicodedata.category(sign)[0] in "CZ" else sign for sign in text[:4096])
    shown = " ".join(shown.split())
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"


def file_label(path: Path) -> str:
    """The file's name for a sentence; undecodable bytes of a name show as U+FFFD."""
    name = path.name or str(path)
    return one_line("".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in name), 100)


@cache
def _bytes_by_character() -> dict[str, int]:
    """GPT-2's printable stand-ins, which byte-level vocabularies write instead of bytes."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = (byte for byte in range(256) if byte not in printable)
    return {chr(byte): byte for byte in printable} | {
        chr(256 + index): byte for index, byte in enumerate(others)
    }


def token_text(raw: bytes, tokenizer_model: str, limit: int = 40) -> str:
    r"""A token's text in quotation marks, with \n and \xff for what cannot be shown.

    Byte-level and SentencePiece spellings are undone where that is possible.
    """
    if tokenizer_model == "llama":
        return quoted(raw.decode("utf-8", "surrogateescape").replace(_SPACE_MARK, " "), limit)
    if tokenizer_model == "gpt2":
        table = _bytes_by_character()
        # What is not spelt byte by byte is an added token, shown as it is.
        with suppress(KeyError, UnicodeDecodeError):
            raw = bytes(table[character] for character in raw.decode("utf-8"))
    return quoted(raw.decode("utf-8", "surrogateescape"), limit)


def quoted(text: str, limit: int = 40) -> str:
    """Text in quotation marks with escapes for everything that is not plainly visible."""
    shown = "".join(_escaped(character) for character in text[: limit + 1])
    if len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return f'"{shown}"'


def _escaped(character: str) -> str:
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"', " ": " "}
    if character in short:
        return short[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if unicodedata.category(character)[0] in "CZ":
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return character
