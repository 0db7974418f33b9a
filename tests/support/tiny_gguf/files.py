"""Writes entries and tensors to GGUF files, in one part or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as TensorType
from gguf.quants import quantize


def write_gguf(
    path: Path,
    architecture: str,
    metadata: Mapping[str, Any],
    tensors: Sequence[tuple[str, np.ndarray, TensorType]] = (),
    *,
    split: int | None = None,
) -> Path:
    """Write entries and tensors as they are; entries of None are left out.

    Ints are written as uint32, floats as float32, lists as arrays. With `split` the file is cut
    into that many parts named as llama.cpp names them; metadata go to the first part.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if split is None:
        _write_part(path, architecture, metadata, tensors)
        return path
    paths = part_paths(path, split)
    for index, part in enumerate(paths):
        entries = dict(metadata) if index == 0 else {}
        entries |= {
            "split.no": np.uint16(index),
            "split.count": np.uint16(split),
            "split.tensors.count": np.int32(len(tensors)),
        }
        _write_part(part, architecture, entries, tensors[index::split])
    return paths[0]


def part_paths(path: Path, split: int) -> tuple[Path, ...]:
    """Names of the parts: `stem-00001-of-00003.gguf` and so on."""
    return tuple(
        path.with_name(f"{path.stem}-{index + 1:05d}-of-{split:05d}.gguf") for index in range(split)
    )


def _write_part(
    path: Path,
    architecture: str,
    metadata: Mapping[str, Any],
    tensors: Sequence[tuple[str, np.ndarray, TensorType]],
) -> None:
    writer = gguf.GGUFWriter(path, architecture)
    adders = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        list: writer.add_array,
        str: writer.add_string,
        np.uint16: writer.add_uint16,
        np.int32: writer.add_int32,
        np.uint64: writer.add_uint64,
    }
    for key, value in metadata.items():
        if value is not None:
            adders[type(value)](key, value.item() if isinstance(value, np.generic) else value)
    for name, values, wtype in tensors:
        if wtype == TensorType.F32:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, quantize(values, wtype), raw_dtype=wtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
