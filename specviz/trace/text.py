"""Bytes of successive tokens to text, incrementally.

A character may span tokens. It belongs to the token that completes it, for text and for colour;
the tokens before it get empty text.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable


class PieceDecoder:
    """Feeds on pieces, gives text; invalid bytes become one U+FFFD each, as UTF-8 decoders do."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, piece: bytes) -> str:
        """The characters that this piece completes."""
        return self._decoder.decode(piece)

    def flush(self) -> str:
        """What an unfinished character at the end comes to: one U+FFFD, or nothing."""
        return self._decoder.decode(b"", final=True)

    @property
    def pending(self) -> bool:
        """Whether bytes of an unfinished character are held."""
        return bool(self._decoder.getstate()[0])


def texts_of(pieces: Iterable[bytes]) -> list[str]:
    """The text of each piece; an unfinished character at the very end goes to the last one."""
    decoder = PieceDecoder()
    texts = [decoder.feed(piece) for piece in pieces]
    rest = decoder.flush()
    if rest and texts:
        texts[-1] += rest
    return texts


def quoted(piece: bytes, longest: int = 24) -> str:
    """A piece in quotation marks for a sentence, with everything that is not a sign escaped."""
    text = piece.decode("utf-8", "replace")
    shown = "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
    return f"“{shown if len(shown) <= longest else shown[: longest - 1] + '…'}”"
