"""Where the files in resources/ are: in a bundle, in an installed wheel, or in a checkout.

The only place that knows. Refuses absolute and parent-relative names.
"""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath

from specviz.errors import FileError


def _folders() -> list[Path]:
    package = Path(__file__).resolve().parent
    frozen = getattr(sys, "_MEIPASS", None)
    return [
        *([Path(frozen) / "resources"] if frozen else []),
        package / "_resources",
        package.parent / "resources",
    ]


def resource(name: str) -> Path:
    """Path of a bundled file or folder, named with forward slashes; FileError if missing."""
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or "\\" in name or ":" in name:
        raise ValueError(f"not a resource name: {name!r}")
    for folder in _folders():
        path = folder.joinpath(*relative.parts)
        if path.exists():
            return path
    raise FileError(f"The file {name} is missing from this installation.", "Install SpecViz again.")
