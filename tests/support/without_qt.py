"""pytest plugin for an environment without Qt: leaves out the tests that need it.

Start with `PYTHONPATH=tests python -m pytest -p support.without_qt`. Left out are tests/ui,
tests/e2e, and every test file that imports a Qt package or the part of SpecViz built on one.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

QT_FOLDERS = ("ui", "e2e")
NEEDS_QT = re.compile(
    r"^\s*(?:import|from)\s+(?:PySide6|pyqtgraph|qasync|pytestqt|specviz\.ui|specviz\.app)\b"
    r"|\bdef test_\w+\([^)]*\b(?:qtbot|qapp)\b",
    re.MULTILINE,
)
TESTS = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the settings of pytest-qt, which pyproject.toml holds and nobody reads here."""
    if importlib.util.find_spec("PySide6") is not None:
        raise pytest.UsageError("This run is for an environment without Qt; PySide6 is installed.")
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    for name in project["tool"]["pytest"]["ini_options"]:
        if name.startswith("qt_"):
            parser.addini(name, "a setting of pytest-qt", default=None)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """True for what needs Qt; None leaves the decision to others."""
    if not collection_path.is_relative_to(TESTS):
        return None
    parts = collection_path.relative_to(TESTS).parts
    if parts and parts[0] in QT_FOLDERS:
        return True
    if collection_path.suffix == ".py" and collection_path.name.startswith("test_"):
        return bool(NEEDS_QT.search(collection_path.read_text(encoding="utf-8"))) or None
    return None
