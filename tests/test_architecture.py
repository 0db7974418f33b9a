"""The import rules: stated in pyproject.toml, and checked once more in fresh interpreters.

import-linter reads the source; the interpreters see what is really loaded, lazily or not.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

QT = ("PySide6", "shiboken6", "pyqtgraph", "qasync", "specviz.ui", "specviz.app")
ENGINE = ("llama_cpp", "specviz.engine", "specviz.worker.host")
NOT_STANDARD = ("numpy", "platformdirs", "psutil", "jinja2", "gguf")

# walks the packages named on the command line, imports every module, prints all that is loaded
IMPORT_ALL = """
import importlib, pkgutil, sys
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    for found in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print("\\n".join(sorted(sys.modules)))
"""


def loaded_after_importing(*names: str) -> set[str]:
    """Modules in `sys.modules` of a fresh interpreter that has imported `names` and all in them."""
    answer = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert answer.returncode == 0, answer.stderr
    return set(answer.stdout.split())


def among(loaded: set[str], forbidden: tuple[str, ...]) -> list[str]:
    """The forbidden packages, or modules in them, that are loaded."""
    return sorted(
        name for name in loaded if any(name == f or name.startswith(f + ".") for f in forbidden)
    )


@pytest.mark.parametrize(
    ("names", "forbidden"),
    [
        (["specviz.trace"], QT + ENGINE + NOT_STANDARD),
        (["specviz.export"], QT + ENGINE + NOT_STANDARD),
        (["specviz.models"], (*QT, *ENGINE, "numpy", "gguf")),
        (["specviz.worker.client", "specviz.worker.session", "specviz.worker.entry"], QT + ENGINE),
        (["specviz.sweep"], (*QT, *ENGINE, "numpy", "specviz.cli")),
        (["specviz.cli"], QT + ENGINE),
        (["specviz.__main__", "specviz.display", "specviz.window_options"], QT + ENGINE),
        (["specviz.preferences", "specviz.resources", "specviz.errors"], QT + ENGINE),
    ],
    ids=lambda value: value[0].removeprefix("specviz.") if isinstance(value, list) else "",
)
def test_packages_load_only_what_they_may(names: list[str], forbidden: tuple[str, ...]) -> None:
    assert among(loaded_after_importing(*names), forbidden) == []


@pytest.mark.model
def test_the_engine_process_loads_no_qt() -> None:
    loaded = loaded_after_importing("specviz.engine", "specviz.worker.host")
    assert among(loaded, QT) == []
    assert among(loaded, ("llama_cpp",)), "this test looks at the wrong modules"


@pytest.mark.skipif(importlib.util.find_spec("PySide6") is None, reason="there is no Qt here")
def test_the_window_process_maps_no_native_engine() -> None:
    loaded = loaded_after_importing("specviz.app", "specviz.ui")
    assert among(loaded, ENGINE) == []
    assert among(loaded, ("PySide6",)), "this test looks at the wrong modules"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the source in `folder`."""
    command = "from importlinter.cli import lint_imports_command as lint; lint()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def test_the_contracts_hold() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("trace/metrics.py", "import numpy", "trace is the shared language"),
        ("trace/metrics.py", "import specviz.preferences", "trace is the shared language"),
        ("export/csv_tables.py", "import PySide6.QtGui", "the Qt-free part"),
        ("worker/client.py", "import specviz.ui.theme", "the Qt-free part"),
        ("worker/session.py", "import specviz.engine.decode", "never map the native library"),
        ("ui/theme.py", "import specviz.worker.host", "never map the native library"),
        ("engine/decode.py", "import llama_cpp", "one adapter"),
        ("models/model_file.py", "import gguf", "model files are read"),
        ("export/csv_tables.py", "import specviz.models.model_file", "exporters read traces"),
        ("sweep/plan.py", "import specviz.cli.options", "a sweep serves"),
    ],
)
def test_each_contract_can_break(tmp_path: Path, module: str, line: str, contract: str) -> None:
    # given a copy of the source with one import that a contract forbids
    shutil.copytree(ROOT / "specviz", tmp_path / "specviz")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = tmp_path / "specviz" / module
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    # when the contracts are checked
    done = lint_imports(tmp_path)
    # then that one is broken
    assert done.returncode == 1, done.stdout
    broken = [text for text in done.stdout.splitlines() if " BROKEN" in text]
    assert any(contract in text for text in broken), done.stdout
