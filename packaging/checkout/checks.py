"""What "checked" means here: every check by name, in the order they run.

People, CI and the README's test command all use this list.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checkout.terminal import duration, say


@dataclass(frozen=True)
class Check:
    """One check: what it is called, and its command after the interpreter."""

    name: str
    arguments: tuple[str, ...]
    settings: dict[str, str] = field(default_factory=dict)


CHECKS = (
    Check("lint", ("-m", "ruff", "check", ".")),
    Check("format", ("-m", "ruff", "format", "--check", ".")),
    Check("types", ("-m", "mypy")),
    Check("imports", ("-c", "from importlinter.cli import lint_imports_command as c; c()")),
    Check("tests", ("-m", "pytest"), {"QT_QPA_PLATFORM": "offscreen"}),
)

WITHOUT_QT = Check(
    "tests without Qt",
    ("-m", "pytest", "-p", "support.without_qt"),
    {"PYTHONPATH": "tests"},
)
"""Everything that claims to need no Qt, where there is none."""


def run_checks(python: Path, root: Path, checks: Sequence[Check]) -> list[tuple[Check, bool]]:
    """Run all of them, whatever fails; output goes straight to the terminal."""
    return [(check, _run(python, root, check)) for check in checks]


def _run(python: Path, root: Path, check: Check) -> bool:
    say(f"\n== {check.name} " + "=" * max(4, 74 - len(check.name)))
    started = time.monotonic()
    done = subprocess.run(
        [str(python), *check.arguments],
        cwd=root,
        env={**os.environ, **check.settings},
        check=False,
    )
    passed = done.returncode == 0
    verdict = "passed" if passed else f"failed with exit code {done.returncode}"
    say(f"== {check.name} {verdict} after {duration(time.monotonic() - started)}")
    return passed
