"""The virtual environments of the checkout: made once, from the lock file, and recorded.

The record is written last, so a set-up that was interrupted is recognised and done again. Knows
nothing of what the environments are used for.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path

from checkout import lockfile
from checkout.engine_wheel import NAME as ENGINE
from checkout.engine_wheel import EngineBuild, engine_wheel, wanted_build
from checkout.processes import pip_environment, run_logged
from checkout.qt_libraries import ensure_libraries
from checkout.terminal import LiveLine, SetupError, last_lines, say

RECORD = "specviz-setup.json"
LOCKS = {"program": "requirements.lock", "development": "requirements-dev.lock"}
"""What can be installed, and the lock file of each. `development` contains `program`."""

QT_PACKAGES = ("PySide6_Essentials", "shiboken6", "pyqtgraph", "qasync", "pytest-qt")

_PROGRESS = re.compile(r"^\s*(Collecting|Downloading|Processing|Using cached) ([^\s=]+)")

_ERROR = re.compile(r"^\s*(ERROR|error|\w+Error):")


@dataclass(frozen=True)
class Record:
    """What an environment was made from. `state` is complete or incomplete."""

    state: str
    contents: str
    lock: str
    project: str
    engine: str
    cmake_args: str


@dataclass(frozen=True)
class Checkout:
    """The folders of a checkout."""

    root: Path

    @property
    def environment(self) -> Path:
        return self.root / ".venv"

    @property
    def environment_without_qt(self) -> Path:
        return self.build / "venv-without-qt"

    @property
    def build(self) -> Path:
        return self.root / "build"

    @property
    def setup_log(self) -> Path:
        return self.build / "logs" / "setup.log"

    def lock_file(self, contents: str) -> Path:
        return self.root / "packaging" / LOCKS[contents]


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def read_record(folder: Path) -> Record | None:
    """What the environment was made from; None when it is not ours or not there."""
    try:
        return Record(**json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


class Step(Enum):
    """What has to be done to an environment before it can be used."""

    NOTHING = "nothing"
    INSTALL = "install"
    REMAKE = "remake"


def next_step(old: Record | None, wanted: Record, *, usable: bool) -> Step:
    """Compare what an environment was made from with what is wanted.

    `usable`: it has an interpreter. An environment without a record was made by hand: it is
    installed into, never deleted. One with an unfinished record is half-made: it is made again.
    """
    if not usable:
        return Step.REMAKE
    if old is None:
        return Step.INSTALL
    if old.state != "complete" or old.lock != wanted.lock:
        return Step.REMAKE
    return Step.NOTHING if old == wanted else Step.INSTALL


def prepare(checkout: Checkout, contents: str, *, qt: bool = True) -> Path:
    """Make the environment what the lock says; returns its interpreter. Quick when it is."""
    folder = checkout.environment if qt else checkout.environment_without_qt
    python = python_of(folder)
    old = read_record(folder)
    if old and old.contents == "development":
        contents = "development"  # what is there already stays
    lock = lockfile.read_lock(checkout.lock_file(contents))
    build = wanted_build(lock[ENGINE], old.cmake_args if old else "")
    wanted = _wanted_record(checkout, contents, build)
    step = next_step(old, wanted, usable=python.exists())
    if step is Step.NOTHING:
        return python
    if step is Step.REMAKE:
        if old and old.state != "complete":
            say("The last set-up was interrupted; it is done again.")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    elif old is None:
        say(f"Using the environment that is already in {folder}.")
    # first of all, so that whatever ends us now is noticed the next time
    _write_record(folder, replace(wanted, state="incomplete"))
    if step is Step.REMAKE:
        _make(folder)
    if not qt:
        lock = lockfile.without(lock, QT_PACKAGES)
    _install(checkout, python, lock, build, qt)
    _write_record(folder, wanted)
    return python


def _wanted_record(checkout: Checkout, contents: str, build: EngineBuild) -> Record:
    project = [checkout.root / "pyproject.toml", checkout.root / "specviz" / "__init__.py"]
    return Record(
        state="complete",
        contents=contents,
        lock=_digest(checkout.lock_file(name) for name in LOCKS),
        project=_digest(project),
        engine=build.key,
        cmake_args=build.cmake_args,
    )


def _make(folder: Path) -> None:
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupError(
            "This Python cannot make virtual environments. On Debian and Ubuntu install the "
            "missing part with\n    sudo apt-get install python3-venv\nand run this command again."
        )
    say(f"Making an environment in {folder}.")
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        raise SetupError(
            "The virtual environment could not be made:\n    "
            + (made.stdout + made.stderr).strip().replace("\n", "\n    ")
        )


def _install(
    checkout: Checkout, python: Path, lock: lockfile.Lock, build: EngineBuild, qt: bool
) -> None:
    log = checkout.setup_log
    _install_lock(python, lockfile.only(lock, ["pip"]), log, "Updating pip")
    rest = lockfile.without(lock, ["pip", ENGINE])
    _install_lock(python, rest, log, f"Installing {len(rest)} packages")
    if qt:
        # before the compilation, so that whatever is missing is said early
        ensure_libraries(_package_folder(python, "PySide6"), log)
    wheel = engine_wheel(python, build, checkout.build)
    _pip(python, log, "Installing llama-cpp-python", "--no-deps", "--force-reinstall", wheel)
    _pip(
        python, log, "Installing this checkout", "--no-deps", "--no-build-isolation",
        "-e", checkout.root,
    )  # fmt: skip


def _install_lock(python: Path, lock: lockfile.Lock, log: Path, title: str) -> None:
    if not lock:
        return
    requirements = log.with_name("requirements.txt")
    requirements.parent.mkdir(parents=True, exist_ok=True)
    requirements.write_text(lockfile.text(lock), encoding="utf-8")
    _pip(python, log, title, "--no-deps", "--require-hashes", "-r", requirements)


def _pip(python: Path, log: Path, title: str, *arguments: str | Path) -> None:
    line = LiveLine(title)
    command = [python, "-m", "pip", "install", "--progress-bar", "off", *arguments]
    if run_logged(command, log, line, _watch, pip_environment()) == 0:
        line.finish("done")
        return
    line.pause()
    lines = last_lines(log, 200)
    errors = [text.strip() for text in lines if _ERROR.match(text)]
    shown = errors[-4:] or [text.strip() for text in lines[-6:]]
    raise SetupError(
        f"{title} failed. pip says:\n    " + "\n    ".join(shown) + f"\nThe whole log: {log}\n"
        "When it was the network, run this command again."
    )


def _watch(text: str, line: LiveLine) -> None:
    progress = _PROGRESS.match(text)
    if progress:
        line.detail = Path(progress[2]).name
    elif text.startswith("Installing collected packages"):
        line.detail = "unpacking"


def _package_folder(python: Path, name: str) -> Path:
    code = (
        "import importlib.util, sys;"
        "print(importlib.util.find_spec(sys.argv[1]).submodule_search_locations[0])"
    )
    answer = subprocess.run(
        [str(python), "-c", code, name], capture_output=True, text=True, check=True
    )
    return Path(answer.stdout.strip())


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _write_record(folder: Path, record: Record) -> None:
    (folder / RECORD).write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
