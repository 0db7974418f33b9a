"""Shared libraries that Qt needs: found missing, named, and installed where that is our place."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkout import qt_libraries
from checkout.qt_libraries import ensure_libraries, install_command, missing_in
from checkout.terminal import SetupError

LDD = """\
\tlinux-vdso.so.1 (0x00007ffc)
\tlibQt6XcbQpa.so.6 => not found
\tlibxcb-cursor.so.0 => not found
\tlibGL.so.1 => not found
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)
"""


def only_manager(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(
        qt_libraries.shutil, "which", lambda asked: f"/usr/bin/{asked}" if asked == name else None
    )


def test_missing_libraries_are_read_from_ldd() -> None:
    assert missing_in(LDD) == {"libxcb-cursor.so.0", "libGL.so.1"}


def test_debian_gets_package_names(monkeypatch: pytest.MonkeyPatch) -> None:
    only_manager(monkeypatch, "apt-get")
    command = install_command({"libxcb-cursor.so.0", "libGL.so.1"})
    assert command is not None
    assert command[:2] == ["apt-get", "install"]
    assert command[-2:] == ["libgl1", "libxcb-cursor0"]


def test_fedora_gets_library_names(monkeypatch: pytest.MonkeyPatch) -> None:
    only_manager(monkeypatch, "dnf")
    assert install_command({"libGL.so.1"}) == ["dnf", "install", "-y", "libGL.so.1()(64bit)"]


def test_an_ordinary_user_is_told_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_manager(monkeypatch, "apt-get")
    monkeypatch.setattr(qt_libraries, "missing_libraries", lambda _: {"libGL.so.1"})
    monkeypatch.setattr(qt_libraries.os, "geteuid", lambda: 1000, raising=False)
    monkeypatch.setattr(qt_libraries, "run_logged", lambda *_, **__: pytest.fail("ran"))
    with pytest.raises(SetupError, match=r"sudo apt-get install .*libgl1"):
        ensure_libraries(tmp_path, tmp_path / "log")


def test_root_on_debian_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # given a system that lacks a library until apt-get has run
    missing = [{"libGL.so.1"}, set()]
    ran: list[list[str]] = []

    def run(command: list[str], *_: object, **__: object) -> int:
        ran.append(command)
        return 0

    only_manager(monkeypatch, "apt-get")
    monkeypatch.setattr(qt_libraries, "missing_libraries", lambda _: missing.pop(0))
    monkeypatch.setattr(qt_libraries.os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(qt_libraries, "run_logged", run)
    # when they are ensured
    ensure_libraries(tmp_path, tmp_path / "log")
    # then lists were refreshed, the package installed, and both were said
    assert [command[1] for command in ran] == ["update", "install"]
    assert "libgl1" in ran[1]
    assert "libgl1" in capsys.readouterr().out


def test_systems_of_other_kinds_are_told_the_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_manager(monkeypatch, "")
    monkeypatch.setattr(qt_libraries, "missing_libraries", lambda _: {"libGL.so.1"})
    with pytest.raises(SetupError, match=r"libGL\.so\.1"):
        ensure_libraries(tmp_path, tmp_path / "log")


def test_nothing_is_said_where_nothing_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(qt_libraries, "missing_libraries", lambda _: set())
    ensure_libraries(tmp_path, tmp_path / "log")
    assert capsys.readouterr().out == ""
