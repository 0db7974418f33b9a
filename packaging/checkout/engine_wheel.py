"""llama-cpp-python, which comes as source: compiled once, kept as a wheel in build/engine.

pip's own cache is used where it already holds the wheel. With CMAKE_ARGS set (GPU builds) the
wheel is compiled with these settings and kept apart from the others.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from checkout.processes import Watch, pip_environment, run_logged
from checkout.terminal import LiveLine, SetupError, last_lines, say

NAME = "llama-cpp-python"
PROCESSOR_MINUTES = 16
"""Processor time of a compilation for the CPU on an ordinary desktop machine."""

_NINJA = re.compile(r"^\s*\[(\d+)/(\d+)\] ")
_COMPILING = re.compile(r"Building wheel for llama[-_]cpp[-_]python .*started")
_NO_COMPILER = ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "no such file or directory: 'cc'")
_TELLING = re.compile(r"error|fatal|killed|No space|not found|cannot", re.IGNORECASE)


@dataclass(frozen=True)
class EngineBuild:
    """Which build is wanted: the lock's block, and the settings of a GPU build if any."""

    requirement: str
    cmake_args: str

    @property
    def key(self) -> str:
        """Changes with everything that makes another wheel necessary."""
        text = f"{self.requirement}\n{self.cmake_args}\n{sys.platform}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def wanted_build(requirement: str, settings_in_use: str = "") -> EngineBuild:
    """The build for this lock; CMAKE_ARGS chooses the settings, else those in use stay."""
    return EngineBuild(requirement, os.environ.get("CMAKE_ARGS", "").strip() or settings_in_use)


def expected_minutes(cores: int) -> int:
    """About how long a compilation takes here."""
    return max(1, round(PROCESSOR_MINUTES / max(cores, 1)))


def announcement(cores: int) -> str:
    """What is said before the compilation starts."""
    minutes = expected_minutes(cores)
    return (
        "llama-cpp-python, which runs the models, is compiled now. This is needed once, and takes "
        f"8 to 10 minutes on 2 cores. This machine has {cores}: expect about {minutes} "
        f"minute{'s' if minutes > 1 else ''}."
    )


def engine_wheel(python: Path, build: EngineBuild, build_folder: Path) -> Path:
    """Path of the wheel, compiled now unless it is there already."""
    folder = build_folder / "engine" / build.key
    kept = _wheels(folder)
    if kept:
        return kept[0]
    log = build_folder / "logs" / "engine.log"
    log.unlink(missing_ok=True)
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    requirement = partial / "requirement.txt"
    requirement.write_text(build.requirement, encoding="utf-8")
    command: list[str | Path] = [
        python,
        "-m",
        "pip",
        "wheel",
        "-v",
        "--progress-bar",
        "off",
        "--no-deps",
        "--require-hashes",
        "-r",
        requirement,
        "-w",
        partial,
    ]
    if build.cmake_args:
        command.append("--no-cache-dir")
    line = LiveLine("Preparing llama-cpp-python")
    environment = pip_environment(CMAKE_ARGS=build.cmake_args)
    if run_logged(command, log, line, _watch(log), environment) != 0:
        line.pause()
        raise SetupError(failure(log))
    line.finish("done")
    shutil.rmtree(folder, ignore_errors=True)
    partial.replace(folder)
    return _wheels(folder)[0]


def _wheels(folder: Path) -> list[Path]:
    return sorted(folder.glob("llama_cpp_python-*.whl"))


def _watch(log: Path) -> Watch:
    def watch(text: str, line: LiveLine) -> None:
        if _COMPILING.search(text):
            line.pause()
            say(announcement(os.cpu_count() or 1))
            say(f"The compiler's output goes to {log}")
            line.title = "Compiling llama-cpp-python"
        step = _NINJA.match(text)
        if step:
            line.fraction = (int(step[1]), int(step[2]))

    return watch


def compiler_hint() -> str:
    """How to get a C++ compiler on this system."""
    if sys.platform == "darwin":
        return "Install Apple's command line tools with: xcode-select --install"
    if sys.platform == "win32":
        return (
            "Install the Visual Studio Build Tools with the workload Desktop development with C++."
        )
    for manager, packages in (
        ("apt-get", "g++"),
        ("dnf", "gcc-c++"),
        ("zypper", "gcc-c++"),
        ("pacman", "gcc"),
    ):
        if shutil.which(manager):
            verb = "-S" if manager == "pacman" else "install"
            return f"Install one with: sudo {manager} {verb} {packages}"
    return "Install a C++ compiler (g++ or clang++)."


def failure(log: Path) -> str:
    """What went wrong with the compilation, in words, and where the whole log is."""
    lines = last_lines(log, 400)
    if any(sign in line for line in lines for sign in _NO_COMPILER):
        reason = f"There is no working C and C++ compiler. {compiler_hint()}"
    else:
        telling = [line.strip() for line in lines if _TELLING.search(line)][-6:]
        shown = telling or [line.strip() for line in lines[-6:]]
        reason = "The telling lines are:\n    " + "\n    ".join(shown)
    return (
        f"llama-cpp-python could not be prepared. {reason}\n"
        f"The whole log: {log}\nThen run this command again; it goes on where it stopped."
    )
