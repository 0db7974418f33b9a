"""Models in several files: any part stands for the set.

llama.cpp cuts a model into `name-00001-of-00003.gguf` and so on, and finds the parts by name.
Links are not followed, since a cache may hold the parts under other names behind links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from specviz.errors import FileError
from specviz.models.readable import counted, file_label

_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)


def part_of(path: Path) -> tuple[str, int, int] | None:
    """Stem, number (from 1) and count of a part by its name; None for a whole file."""
    match = _PART.fullmatch(path.name)
    if match is None:
        return None
    number, count = int(match["number"]), int(match["count"])
    return (match["stem"], number, count) if 1 <= number <= count else None


def stem_of(path: Path) -> str:
    """The model's name as its file tells it, without ending and part number."""
    part = part_of(path)
    return part[0] if part else path.stem


def parts_of(path: Path, metadata: Mapping[str, object]) -> tuple[Path, ...]:
    """All files of the model that `path` is, or is a part of.

    Args:
        path: any part of the set.
        metadata: of that part; it decides whether there are others.

    Raises FileError when the name does not fit the metadata, or a part is missing.
    """
    number, count = _place(metadata)
    if count <= 1:
        return (path,)
    named = part_of(path)
    if named is None or named[1:] != (number, count):
        suffix = f"-{number:05d}-of-{count:05d}.gguf"
        raise FileError(
            f"{file_label(path)} is part {number} of a model in {count} files, "
            "and its name does not say so.",
            f"The parts are found by name; this one has to end in {suffix}.",
        )
    parts = tuple(
        path.with_name(f"{named[0]}-{index + 1:05d}-of-{count:05d}.gguf") for index in range(count)
    )
    _require_all(parts)
    return parts


def check_part(path: Path, metadata: Mapping[str, object], number: int, count: int) -> None:
    """FileError unless the file says that it is this part (from 1) of so many."""
    if _place(metadata) != (number, count):
        raise FileError(
            f"{file_label(path)} does not belong to this model: by its content it is not part "
            f"{number} of {count}.",
            "Download the parts again, all from the same place.",
        )


def first_files(paths: Iterable[Path]) -> list[Path]:
    """One file for each model among these, sets of parts listed once; judged by name alone."""
    chosen: dict[tuple[Path, str, int], Path] = {}
    for path in sorted(paths):
        part = part_of(path)
        if path.suffix.lower() == ".gguf":
            key = (path.parent, part[0], part[2]) if part else (path.parent, path.name, 0)
            chosen.setdefault(key, path)
    return list(chosen.values())


def _place(metadata: Mapping[str, object]) -> tuple[int, int]:
    """Number (from 1) and count, as the file's content tells them."""
    index, count = metadata.get("split.no", 0), metadata.get("split.count", 1)
    if not isinstance(index, int) or not isinstance(count, int) or not 0 <= index < count < 2**16:
        return 1, 1
    return index + 1, count


def _require_all(parts: tuple[Path, ...]) -> None:
    missing = [(number, part) for number, part in enumerate(parts, 1) if not part.is_file()]
    if not missing:
        return
    number, part = missing[0]
    more = f", and {counted(len(missing) - 1, 'more part')} too" if len(missing) > 1 else ""
    raise FileError(
        f"Part {number} of {len(parts)} is missing: {file_label(part)}{more}.",
        "All parts have to be in one folder.",
    )
