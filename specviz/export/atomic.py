"""Files that appear whole or not at all: written under a temporary name, then put in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from specviz.trace.storage import cannot_write

Write = Callable[[TextIO], object]


def write_files(contents: Mapping[Path, Write]) -> list[Path]:
    """Write all files, or none: the old ones stay until every new one is complete.

    UTF-8, line ends as written. Raises FileError with nothing half-written left behind.
    """
    partials = {path: _partial(path) for path in contents}
    current = Path()
    try:
        for current, write in contents.items():
            # backslashreplace: a file name that is not UTF-8 must not stop an export
            with partials[current].open(
                "w", encoding="utf-8", errors="backslashreplace", newline=""
            ) as file:
                write(file)
        for current, partial in partials.items():
            if partial != current:
                partial.replace(os.path.realpath(current))
    except OSError as error:
        raise cannot_write(current, error) from None
    finally:
        for path, partial in partials.items():
            if partial != path:
                with suppress(OSError):
                    partial.unlink(missing_ok=True)
    return list(contents)


def _partial(path: Path) -> Path:
    """The temporary name; a pipe or device cannot be replaced and stands for itself."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return path
    real = Path(os.path.realpath(path))
    return real.with_name(f"{real.name}.{os.getpid()}.partial")


def make_folder(folder: Path) -> None:
    """Make `folder` with the folders above it where missing; raises FileError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from None
