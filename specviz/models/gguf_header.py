"""Reads the header of a GGUF file: metadata, token texts and where the tensors lie.

Meant for any file a user may drop: every count and length is checked against the file's size and
against sane limits before it is acted on, so that a hostile file costs neither memory nor time.
Knows nothing of what the entries mean, of split files, or of weights.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from specviz.errors import FileError
from specviz.models.lookalikes import what_it_looks_like
from specviz.models.quantisation import DROPPED_TENSOR_TYPES, TENSOR_TYPES
from specviz.models.readable import THIN_SPACE, counted, file_label, grouped, one_line

MAX_HEADER_BYTES = 64 * 2**20
"""The largest vocabularies (260 000 tokens and twice as many merges) take about 20 MiB."""

MAX_ENTRIES = 2**12
MAX_TENSORS = 2**17
MAX_TOKENS = 2**20
MAX_STRINGS = 2**22
"""In one array that is passed over."""

MAX_KEPT_NUMBERS = 1024
"""Longer arrays are passed over; llama.cpp allows 512 layers."""

MAX_KEPT_TEXT = 2**18
MAX_DIMENSIONS = 4
MAX_TENSOR_NAME = 63
LARGEST = 2**63 - 1

TOKENS_KEY = "tokenizer.ggml.tokens"
DEFAULT_ALIGNMENT = 32
AGAIN = "Download or copy it again."

_FIRST_READ = 2**20


@dataclass(frozen=True, slots=True)
class Omitted:
    """A metadata value that is too long to keep: `n_items` of `item_type`."""

    item_type: str
    n_items: int


Number = bool | int | float
MetadataValue = Number | str | tuple[Number, ...] | tuple[str, ...] | Omitted


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor. `shape` has the row length first; `offset` counts from the data's beginning."""

    name: str
    shape: tuple[int, ...]
    type_id: int
    offset: int
    n_elements: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What stands before the weights. `tokens` is None when the file has no list of them."""

    version: int
    metadata: dict[str, MetadataValue]
    tokens: tuple[bytes, ...] | None
    tensors: tuple[TensorInfo, ...]
    file_size: int


class _RefusedError(Exception):
    """Why the file is refused, as the rest of a sentence that begins with its name."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def read_header(path: Path) -> GgufHeader:
    """The header of a GGUF file of version 2 or 3; FileError for everything else.

    Reads no further than the header. Whether the tensors' data lie inside the file is checked.
    """
    try:
        size = _size_of_regular_file(path)
        with open(path, "rb") as file:
            return _read(_Source(file, size))
    except _RefusedError as refusal:
        raise FileError(f"{file_label(path)} {refusal.reason}", refusal.hint) from None
    except FileNotFoundError:
        raise FileError(*_missing(path)) from None
    except PermissionError:
        message = f"{file_label(path)} may not be read with your permissions."
        raise FileError(message, "Change the file's permissions or copy it elsewhere.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileError(f"{file_label(path)} cannot be read: {one_line(reason)}.") from None


def _missing(path: Path) -> tuple[str, str]:
    if path.is_symlink():
        return (f"{file_label(path)} is a link to a file that is no longer there.", AGAIN)
    return (
        f"{file_label(path)} is not there.",
        "It may have been moved, renamed or deleted since.",
    )


def _size_of_regular_file(path: Path) -> int:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise _RefusedError("is a folder, not a model file.", "Choose the .gguf file inside it.")
    if not stat.S_ISREG(status.st_mode):
        raise _RefusedError("is a device or a pipe, not a model file.")
    return status.st_size


class _Source:
    """The first bytes of a file, read as far as they are asked for.

    Reads instead of mapping: a mapped file that shrinks meanwhile would end the process.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.size = size
        self.position = 0
        self._file = file
        self._buffer = b""

    def head(self, n_bytes: int) -> bytes:
        """The file's first bytes, fewer if it is shorter; the position stays."""
        if len(self._buffer) < n_bytes:
            self._grow(min(n_bytes, self.size))
        return self._buffer[:n_bytes]

    def _grow(self, end: int) -> None:
        more = max(end - len(self._buffer), len(self._buffer), _FIRST_READ)
        self._buffer += self._file.read(min(more, self.size - len(self._buffer)))

    def _require(self, position: int, n_bytes: int) -> int:
        """Have so many bytes behind a position in the buffer, and return where they end."""
        end = position + n_bytes
        if end <= len(self._buffer):
            return end
        if end > self.size:
            raise _RefusedError("is incomplete or damaged: it ends inside its own header.", AGAIN)
        if end > MAX_HEADER_BYTES:
            limit = f"{grouped(MAX_HEADER_BYTES // 2**20)}{THIN_SPACE}MiB"
            raise _RefusedError(
                f"has a header of more than {limit}; no known model comes near that."
            )
        self._grow(end)
        if end > len(self._buffer):
            raise _RefusedError(
                "became shorter while it was read.", "Try again when it is complete."
            )
        return end

    def take(self, n_bytes: int) -> bytes:
        """The next bytes."""
        end = self._require(self.position, n_bytes)
        taken = self._buffer[self.position : end]
        self.position = end
        return taken

    def skip(self, n_bytes: int) -> None:
        """Pass over bytes that must be there."""
        self.position = self._require(self.position, n_bytes)

    def number(self, layout: struct.Struct) -> Number:
        """The next number."""
        value: Number = layout.unpack(self.take(layout.size))[0]
        return value

    def strings(self, count: int, keep: Callable[[bytes], object] | None) -> None:
        """Pass the next `count` strings to `keep`, or only pass over them.

        The hot loop: a large vocabulary with its merges has some 400 000 strings.
        """
        position, unpack = self.position, _U64.unpack_from
        buffer, known = self._buffer, len(self._buffer)
        for _ in range(count):
            start = position + 8
            if start > known:
                self._require(position, 8)
                buffer, known = self._buffer, len(self._buffer)
            end = start + unpack(buffer, position)[0]
            if end > known:
                self._require(start, end - start)
                buffer, known = self._buffer, len(self._buffer)
            if keep:
                keep(buffer[start:end])
            position = end
        self.position = position


_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_BOOL, _STRING, _ARRAY = 7, 8, 9
_NUMBERS = {
    0: ("uint8", struct.Struct("<B")),
    1: ("int8", struct.Struct("<b")),
    2: ("uint16", struct.Struct("<H")),
    3: ("int16", struct.Struct("<h")),
    4: ("uint32", _U32),
    5: ("int32", struct.Struct("<i")),
    6: ("float32", struct.Struct("<f")),
    _BOOL: ("bool", struct.Struct("<?")),
    10: ("uint64", _U64),
    11: ("int64", struct.Struct("<q")),
    12: ("float64", struct.Struct("<d")),
}


def _read(source: _Source) -> GgufHeader:
    version = _read_version(source)
    n_tensors, n_entries = int(source.number(_U64)), int(source.number(_U64))
    if n_tensors > MAX_TENSORS or n_entries > MAX_ENTRIES:
        raise _RefusedError("is damaged: it claims an impossible number of entries.", AGAIN)
    metadata, tokens = _read_metadata(source, n_entries)
    alignment = _alignment(metadata)
    tensors = _read_tensors(source, n_tensors)
    _check_layout(source, tensors, alignment)
    return GgufHeader(version, metadata, tokens, tensors, source.size)


def _read_version(source: _Source) -> int:
    head = source.head(4096)
    if head[:4] != b"GGUF":
        raise _RefusedError(*what_it_looks_like(head, source.size))
    source.skip(4)
    version = int(source.number(_U32))
    if version and not version & 0xFFFF:
        raise _RefusedError(
            "is a big-endian GGUF file, made for another kind of processor.",
            "Look for the ordinary (little-endian) file of this model.",
        )
    if version == 1:
        raise _RefusedError(
            "is a GGUF file of version 1, which llama.cpp no longer reads.",
            "Look for a newer conversion of this model.",
        )
    if version not in (2, 3):
        raise _RefusedError(
            f"says it is GGUF version {version}; this program reads versions 2 and 3.",
            "It is damaged, or made for a newer llama.cpp.",
        )
    return version


# Metadata ----------------------------------------------------------------------------------------
def _read_metadata(
    source: _Source, n_entries: int
) -> tuple[dict[str, MetadataValue], tuple[bytes, ...] | None]:
    metadata: dict[str, MetadataValue] = {}
    tokens: list[bytes] | None = None
    for _ in range(n_entries):
        key = source.take(_length(source, MAX_KEPT_TEXT)).decode("utf-8", "backslashreplace")
        if not key or key in metadata:
            what = f"the entry {one_line(key)} twice" if key else "an entry without a name"
            raise _RefusedError(f"is damaged: it has {what}.", AGAIN)
        type_id = int(source.number(_U32))
        if type_id == _ARRAY and key == TOKENS_KEY:
            tokens = []
            metadata[key] = _read_array(source, key, tokens)
        elif type_id == _ARRAY:
            metadata[key] = _read_array(source, key, None)
        else:
            metadata[key] = _read_single(source, key, type_id)
    return metadata, None if tokens is None else tuple(tokens)


def _length(source: _Source, limit: int) -> int:
    length = int(source.number(_U64))
    if length > limit:
        raise _RefusedError("is damaged: a text in its header has an impossible length.", AGAIN)
    return length


def _read_single(source: _Source, key: str, type_id: int) -> MetadataValue:
    if type_id == _STRING:
        length = _length(source, MAX_HEADER_BYTES)
        if length > MAX_KEPT_TEXT:
            source.skip(length)
            return Omitted("byte", length)
        return source.take(length).decode("utf-8", "replace")
    return source.number(_number_type(key, type_id)[1])


def _number_type(key: str, type_id: int) -> tuple[str, struct.Struct]:
    if type_id not in _NUMBERS:
        raise _RefusedError(
            f"is damaged: the entry {one_line(key)} has the unknown type {type_id}."
        )
    return _NUMBERS[type_id]


def _read_array(source: _Source, key: str, tokens: list[bytes] | None) -> MetadataValue:
    type_id, count = int(source.number(_U32)), int(source.number(_U64))
    if type_id == _ARRAY:
        raise _RefusedError(
            f"has an array of arrays in the entry {one_line(key)}, which llama.cpp cannot read."
        )
    if type_id == _STRING:
        return _read_strings(source, key, count, tokens)
    if tokens is not None:
        raise _RefusedError("is damaged: its vocabulary is not a list of texts.", AGAIN)
    name, layout = _number_type(key, type_id)
    if count > MAX_KEPT_NUMBERS:
        source.skip(count * layout.size)
        return Omitted(name, count)
    return struct.unpack(f"<{count}{layout.format[1:]}", source.take(count * layout.size))


def _read_strings(
    source: _Source, key: str, count: int, tokens: list[bytes] | None
) -> MetadataValue:
    limit = MAX_STRINGS if tokens is None else MAX_TOKENS
    if count > limit or count * 8 > source.size - source.position:
        raise _RefusedError(
            f"is damaged: the entry {one_line(key)} has an impossible length.", AGAIN
        )
    source.strings(count, None if tokens is None else tokens.append)
    return Omitted("string", count)


def _alignment(metadata: dict[str, MetadataValue]) -> int:
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(value, int) or not 0 < value < 2**32 or value & (value - 1):
        raise _RefusedError("is damaged: the alignment of its data is not a power of two.", AGAIN)
    return value


# Tensors -----------------------------------------------------------------------------------------
def _read_tensors(source: _Source, n_tensors: int) -> tuple[TensorInfo, ...]:
    tensors: dict[str, TensorInfo] = {}
    for _ in range(n_tensors):
        tensor = _read_tensor(source)
        if tensor.name in tensors:
            raise _RefusedError(
                f"is damaged: it has the tensor {one_line(tensor.name)} twice.", AGAIN
            )
        tensors[tensor.name] = tensor
    return tuple(tensors.values())


def _read_tensor(source: _Source) -> TensorInfo:
    raw_name = source.take(_length(source, MAX_KEPT_TEXT))
    name = raw_name.decode("utf-8", "backslashreplace")
    n_dimensions = int(source.number(_U32))
    if len(raw_name) > MAX_TENSOR_NAME or n_dimensions > MAX_DIMENSIONS:
        raise _RefusedError("is damaged: the list of its tensors is not readable.", AGAIN)
    shape = struct.unpack(f"<{n_dimensions}Q", source.take(8 * n_dimensions))
    type_id = int(source.number(_U32))
    offset = int(source.number(_U64))
    n_elements, n_bytes = _tensor_size(name, shape, type_id)
    return TensorInfo(name, shape, type_id, offset, n_elements, n_bytes)


def _tensor_size(name: str, shape: tuple[int, ...], type_id: int) -> tuple[int, int]:
    if type_id not in TENSOR_TYPES:
        if type_id in DROPPED_TENSOR_TYPES:
            raise _RefusedError(
                f"stores weights in a format (number {type_id}) that llama.cpp has dropped.",
                "Look for a newer conversion of this model.",
            )
        raise _RefusedError(
            f"stores weights in a format (number {type_id}) that this program does not know.",
            "It is damaged, or made for a newer llama.cpp.",
        )
    kind = TENSOR_TYPES[type_id]
    n_elements = 1
    for length in shape:
        n_elements *= length
    row = shape[0] if shape else 1
    if not 0 < n_elements <= LARGEST or row % kind.n_elements:
        raise _RefusedError(
            f"is damaged: the tensor {one_line(name)} has an impossible shape.", AGAIN
        )
    return n_elements, n_elements // kind.n_elements * kind.n_bytes


def _check_layout(source: _Source, tensors: tuple[TensorInfo, ...], alignment: int) -> None:
    """Tensors must follow one another without gaps, as llama.cpp wants them, inside the file."""
    expected = 0
    for tensor in tensors:
        if tensor.offset != expected:
            raise _RefusedError(
                f"is damaged: the tensor {one_line(tensor.name)} is misplaced.", AGAIN
            )
        expected += _padded(tensor.n_bytes, alignment)
    if not tensors:
        return
    end = _padded(source.position, alignment) + tensors[-1].offset + tensors[-1].n_bytes
    if end > source.size:
        missing = counted(end - source.size, "byte")
        verb = "is" if end - source.size == 1 else "are"
        raise _RefusedError(f"is incomplete: {missing} {verb} missing at its end.", AGAIN)


def _padded(n_bytes: int, alignment: int) -> int:
    return -(-n_bytes // alignment) * alignment
