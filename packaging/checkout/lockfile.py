"""Reads a lock file as pip-compile writes it: one block for each package, hashes included.

Knows nothing of installing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^\s;\\]+)")

Lock = dict[str, str]
"""Package name, in its normal form, to its block of lines."""


def normal(name: str) -> str:
    """A package name the way indexes compare them."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path) -> Lock:
    """The blocks of a lock file, in its order."""
    blocks: Lock = {}
    current = ""
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        pin = _PIN.match(line)
        if pin:
            current = normal(pin["name"])
            blocks[current] = line
        elif current and line[:1].isspace() and not line.lstrip().startswith("#"):
            blocks[current] += line
    return {name: _without_trailing_backslash(block) for name, block in blocks.items()}


def version(lock: Lock, name: str) -> str:
    """The pinned version of a package."""
    pin = _PIN.match(lock[normal(name)])
    assert pin is not None
    return pin["version"]


def only(lock: Lock, names: Iterable[str]) -> Lock:
    """The named packages."""
    wanted = {normal(name) for name in names}
    return {name: block for name, block in lock.items() if name in wanted}


def without(lock: Lock, names: Iterable[str]) -> Lock:
    """All but the named packages."""
    unwanted = {normal(name) for name in names}
    return {name: block for name, block in lock.items() if name not in unwanted}


def text(lock: Lock) -> str:
    """The form that pip reads."""
    return "".join(lock.values())


def _without_trailing_backslash(block: str) -> str:
    return block.rstrip().removesuffix("\\").rstrip() + "\n"
