"""N-grams as dictionary keys: the tokens as 32-bit numbers in a row."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

TOKEN_BYTES = array("i").itemsize


def key_of(token_ids: Iterable[int]) -> bytes:
    """The key of these tokens."""
    return array("i", token_ids).tobytes()


class SearchableText:
    """The text so far as bytes, in which whole n-grams can be looked for."""

    def __init__(self) -> None:
        self._data = bytearray()

    def __len__(self) -> int:
        return len(self._data) // TOKEN_BYTES

    def restart(self, token_ids: Iterable[int]) -> None:
        """Hold these tokens and no others."""
        self._data = bytearray(key_of(token_ids))

    def extend(self, token_ids: Iterable[int]) -> None:
        """Hold these tokens as well, behind the others."""
        self._data += key_of(token_ids)

    def first(self, key: bytes, low: int, high: int) -> int:
        """The first position from `low` to `high`, both included, where `key` begins; else -1."""
        begin, end = low * TOKEN_BYTES, high * TOKEN_BYTES + len(key)
        while (at := self._data.find(key, begin, end)) >= 0:
            if at % TOKEN_BYTES == 0:
                return at // TOKEN_BYTES
            begin = at + 1
        return -1

    def last(self, key: bytes, low: int, high: int) -> int:
        """The last position from `low` to `high`, both included, where `key` begins; else -1."""
        begin, end = low * TOKEN_BYTES, high * TOKEN_BYTES + len(key)
        while (at := self._data.rfind(key, begin, end)) >= 0:
            if at % TOKEN_BYTES == 0:
                return at // TOKEN_BYTES
            end = at + len(key) - 1
        return -1
