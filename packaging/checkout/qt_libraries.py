"""The shared libraries of the system that Qt needs on Linux, and which packages bring them.

Qt's own wheels leave them to the distribution. Knows the package names of Debian and Ubuntu, and
the way Fedora and openSUSE take a library's name for a package.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from checkout.processes import run_logged
from checkout.terminal import LiveLine, SetupError, last_lines, say

PARTS = (
    "QtCore.abi3.so",
    "QtGui.abi3.so",
    "QtWidgets.abi3.so",
    "Qt/plugins/platforms/libqoffscreen.so",
    "Qt/plugins/platforms/libqxcb.so",
    "Qt/plugins/xcbglintegrations/libqxcb-glx-integration.so",
    "Qt/plugins/xcbglintegrations/libqxcb-egl-integration.so",
)
"""What the window loads on X11 and without a display, below the PySide6 folder."""

DEBIAN_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
}

_MISSING = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)


def missing_in(ldd_output: str) -> set[str]:
    """The libraries that ldd could not find; Qt's own are not the system's business."""
    return {name for name in _MISSING.findall(ldd_output) if not name.startswith("libQt6")}


def missing_libraries(pyside: Path) -> set[str]:
    """Names of missing shared libraries; empty where ldd cannot tell (macOS, Windows)."""
    ldd = shutil.which("ldd")
    if not sys.platform.startswith("linux") or ldd is None:
        return set()
    missing: set[str] = set()
    for part in PARTS:
        if (pyside / part).exists():
            answer = subprocess.run(
                [ldd, str(pyside / part)], capture_output=True, text=True, check=False
            )
            missing |= missing_in(answer.stdout)
    return missing


def install_command(libraries: Iterable[str]) -> list[str] | None:
    """The command of this system's package manager, or None where it is not known."""
    names = sorted(libraries)
    if shutil.which("apt-get"):
        packages = sorted({DEBIAN_PACKAGES[name] for name in names if name in DEBIAN_PACKAGES})
        return ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    for manager in ("dnf", "zypper"):
        if shutil.which(manager):
            return [manager, "install", "-y", *(f"{name}()(64bit)" for name in names)]
    return None


def ensure_libraries(pyside: Path, log: Path) -> None:
    """Install what is missing when we are root on Debian or Ubuntu; otherwise say how to."""
    missing = missing_libraries(pyside)
    if not missing:
        return
    command = install_command(missing)
    if command is None:
        raise SetupError(
            "The window needs these shared libraries, which this system lacks: "
            + ", ".join(sorted(missing))
            + ".\n"
            "Install the packages that contain them, then run this command again."
        )
    if os.geteuid() == 0 and command[0] == "apt-get":
        say(
            "The window needs some of the system's libraries. As root, this installs them: "
            + " ".join(command[4:])
        )
        _install(command, log)
        missing = missing_libraries(pyside)
        if not missing:
            return
    raise SetupError(
        "The window needs some shared libraries that this system lacks. Install them with\n"
        f"    sudo {' '.join(_quoted(part) for part in command if part != '-y')}\n"
        "and run this command again."
    )


def _install(command: list[str], log: Path) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    line = LiveLine("Installing system libraries")
    update = [command[0], "update", "-q"]
    for step in (update, command):
        if run_logged(step, log, line, environment=environment) != 0 and step is command:
            line.pause()
            raise SetupError(
                "apt-get could not install the libraries. Its last lines were:\n    "
                + "\n    ".join(last_lines(log, 6))
                + f"\nThe whole log: {log}"
            )
    line.finish("done")


def _quoted(part: str) -> str:
    return f"'{part}'" if "(" in part else part
