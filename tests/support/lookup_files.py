"""Lookup caches as llama.cpp writes them, for tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

Record = tuple[Sequence[int], Sequence[tuple[int, int]]]
"""An n-gram of up to four tokens, and token and count of each of its followers."""


def record(ngram: Sequence[int], followers: Sequence[tuple[int, int]]) -> bytes:
    """One record."""
    padded = [*ngram, *(4 - len(ngram)) * [-1]]
    numbers = [*padded, len(followers), *(number for pair in followers for number in pair)]
    return struct.pack(f"<{len(numbers)}i", *numbers)


def lookup_file(path: Path, records: Iterable[Record]) -> str:
    """Write a file with these records; its path as settings want it."""
    path.write_bytes(b"".join(record(*each) for each in records))
    return str(path)
