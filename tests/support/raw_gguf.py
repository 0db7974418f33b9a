"""Builds GGUF files byte by byte, wrong ones too. For tests of the reader only."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

UINT32, BOOL, STRING, ARRAY, UINT64 = 4, 7, 8, 9, 10
F32, Q8_0 = 0, 8


def text(value: str | bytes) -> bytes:
    """A length and the bytes."""
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str | bytes, type_id: int, value: bytes) -> bytes:
    """One metadata entry; `value` as it stands in the file."""
    return text(key) + struct.pack("<I", type_id) + value


def string_entry(key: str, value: str | bytes) -> bytes:
    return entry(key, STRING, text(value))


def number_entry(key: str, value: int) -> bytes:
    return entry(key, UINT32, struct.pack("<I", value))


def array_entry(key: str, item_type: int, count: int, items: bytes) -> bytes:
    return entry(key, ARRAY, struct.pack("<IQ", item_type, count) + items)


def strings_entry(key: str, values: list[str | bytes]) -> bytes:
    return array_entry(key, STRING, len(values), b"".join(text(value) for value in values))


def tensor(
    name: str | bytes, shape: tuple[int, ...], *, type_id: int = F32, offset: int = 0
) -> bytes:
    """One line of the list of tensors."""
    return (
        text(name)
        + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        + struct.pack("<IQ", type_id, offset)
    )


@dataclass
class RawGguf:
    """A file in its parts; counts are taken from the lists unless they are given."""

    entries: list[bytes] = field(default_factory=list)
    tensors: list[bytes] = field(default_factory=list)
    data: bytes = b""
    magic: bytes = b"GGUF"
    version: bytes = struct.pack("<I", 3)
    n_tensors: int | None = None
    n_entries: int | None = None
    alignment: int = 32

    def to_bytes(self) -> bytes:
        n_tensors = len(self.tensors) if self.n_tensors is None else self.n_tensors
        n_entries = len(self.entries) if self.n_entries is None else self.n_entries
        header = self.magic + self.version + struct.pack("<QQ", n_tensors, n_entries)
        header += b"".join(self.entries) + b"".join(self.tensors)
        padding = -len(header) % self.alignment
        return header + b"\0" * padding + self.data
