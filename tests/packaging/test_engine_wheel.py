"""The compilation of llama-cpp-python: announced, watched, explained when it fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from checkout import engine_wheel
from checkout.engine_wheel import EngineBuild, announcement, expected_minutes, failure
from checkout.terminal import LiveLine, SetupError

BUILD = EngineBuild("llama-cpp-python==0.0.0 --hash=sha256:aa\n", "")
WHEEL = "llama_cpp_python-0.0.0-py3-none-any.whl"

COMPILING = """\
  Building wheel for llama-cpp-python (pyproject.toml): started
  *** Building project with Ninja...
  [1/193] /usr/bin/g++ -DGGML_BUILD -c ggml.c
  [57/193] /usr/bin/g++ -DGGML_BUILD -c llama.cpp
"""


@pytest.fixture
def pip(tmp_path: Path) -> Path:
    """An interpreter whose `-m pip` prints output.txt and leaves a wheel, unless fail.txt is."""
    module = tmp_path / "pip.py"
    module.write_text(
        "import pathlib, sys\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        "print((here / 'output.txt').read_text())\n"
        "(here / 'called').open('a').write('x')\n"
        f"(pathlib.Path(sys.argv[-1]) / {WHEEL!r}).touch()\n"
        "sys.exit((here / 'fail.txt').exists())\n",
        encoding="utf-8",
    )
    (tmp_path / "output.txt").write_text("nothing to compile\n", encoding="utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def _use_pip(pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(pip))


def build(pip: Path) -> Path:
    return engine_wheel.engine_wheel(Path(sys.executable), BUILD, pip / "build")


def test_the_wheel_is_made_once(pip: Path) -> None:
    first = build(pip)
    assert first.name == WHEEL and first.exists()
    assert build(pip) == first
    assert (pip / "called").read_text() == "x"


def test_other_settings_make_another_wheel() -> None:
    assert EngineBuild(BUILD.requirement, "-DGGML_CUDA=on").key != BUILD.key
    assert EngineBuild("llama-cpp-python==0.0.1\n", "").key != BUILD.key


def test_a_compilation_is_announced(pip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pip / "output.txt").write_text(COMPILING, encoding="utf-8")
    build(pip)
    said = capsys.readouterr().out
    assert "compiled now" in said and "minutes" in said
    assert "engine.log" in said
    assert "Compiling llama-cpp-python: done" in said


def test_a_cached_wheel_is_not_announced_as_a_compilation(
    pip: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(pip)
    assert "ompil" not in capsys.readouterr().out


def test_progress_is_read_from_the_build_tool(tmp_path: Path) -> None:
    line = LiveLine("Compiling")
    watch = engine_wheel._watch(tmp_path / "log")
    for text in COMPILING.splitlines():
        watch(text, line)
    assert line.fraction == (57, 193)


def test_a_failed_compilation_leaves_nothing_that_looks_finished(pip: Path) -> None:
    (pip / "fail.txt").touch()
    with pytest.raises(SetupError):
        build(pip)
    (pip / "fail.txt").unlink()
    assert build(pip).exists()
    assert (pip / "called").read_text() == "xx"


def test_a_missing_compiler_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "engine.log"
    log.write_text(
        "CMake Error at CMakeLists.txt:2 (project):\n  No CMAKE_CXX_COMPILER could be found.\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(engine_wheel.shutil, "which", lambda name: name == "apt-get")
    told = failure(log)
    assert "no working C and C++ compiler" in told
    assert "sudo apt-get install g++" in told
    assert str(log) in told


def test_other_failures_show_the_telling_lines(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    noise = "-- Performing test\n" * 30
    log.write_text(f"{noise}llama.cpp:7:1: fatal error: no such header\n{noise}", encoding="utf-8")
    assert "llama.cpp:7:1: fatal error: no such header" in failure(log)


@pytest.mark.parametrize(("cores", "minutes"), [(1, 16), (2, 8), (8, 2), (64, 1)])
def test_the_expected_time_depends_on_the_cores(cores: int, minutes: int) -> None:
    assert expected_minutes(cores) == minutes
    assert f"has {cores}: expect about {minutes} minute" in announcement(cores)
