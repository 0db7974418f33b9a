"""How the program starts: window or command, and what is told when neither is possible."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import specviz
from support.traces import ENVIRONMENT

from specviz import __version__, cli, display
from specviz.errors import EngineDied, FileError, SettingError, SpecvizError
from specviz.window_options import WindowOptions, parse_window_options

POSIX_DESKTOP = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="displays are named on Linux only"
)


def test_window_options(tmp_path: Path) -> None:
    assert parse_window_options([]) == WindowOptions()
    assert parse_window_options(
        ["t.gguf", "d.gguf", "--trace", "x.specviz.jsonl", "--engine", "scripted:s.json"]
    ) == WindowOptions(
        target=Path("t.gguf"),
        draft=Path("d.gguf"),
        trace=Path("x.specviz.jsonl"),
        script=Path("s.json"),
    )


def test_any_path_may_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model").write_bytes(b"")
    assert parse_window_options(["model"]).target == Path("model")
    assert parse_window_options(["folder/model"]).target == Path("folder/model")


@pytest.mark.parametrize("arguments", [["rum"], ["sweep"], ["a.gguf", "b.gguf", "c.gguf"], ["-x"]])
def test_a_mistyped_command_is_a_sentence(arguments: list[str]) -> None:
    with pytest.raises(SettingError):
        parse_window_options(arguments)


def test_version_and_help_need_no_display() -> None:
    env = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}
    assert specviz("--version", env=env).stdout == f"specviz {__version__}\n"
    answer = specviz("-h", env=env)
    assert answer.returncode == 0
    for name in cli.COMMANDS:
        assert f"specviz {name}" in answer.stdout
        helped = specviz(name, "-h", env=env)
        assert (helped.returncode, helped.stderr) == (0, "")
        assert helped.stdout.startswith(f"usage: specviz {name}")


def test_the_module_imports_next_to_nothing() -> None:
    """The engine process imports it again before it does anything else."""
    code = "import sys, specviz.__main__; print(*(n for n in sys.modules if 'specviz' in n))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert set(answer.stdout.split()) == {"specviz", "specviz.__main__"}


@POSIX_DESKTOP
@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}, "There is no display"),
        ({"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": "xcb"}, "There is no display"),
        ({"DISPLAY": ":987", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": "xcb"}, ""),
    ],
)
def test_no_display_is_a_sentence(env: dict[str, str], words: str) -> None:
    answer = specviz(env=env)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("specviz: ")
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


@POSIX_DESKTOP
@pytest.mark.parametrize("platform", ["offscreen", "minimal", "vnc:size=10x10", "eglfs"])
def test_platforms_without_a_display_are_let_through(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", platform)
    monkeypatch.delenv("DISPLAY", raising=False)
    display.check()


def test_missing_qt_libraries_are_a_sentence() -> None:
    error = ImportError("libEGL.so.1: cannot open shared object file", name="PySide6.QtWidgets")
    assert "libEGL.so.1" in display.cannot_open(error).message
    assert "libegl1" in display.cannot_open(error).hint
    with pytest.raises(ImportError):
        display.cannot_open(ImportError("no module", name="specviz.ui.gone"))


# Errors ------------------------------------------------------------------------------------------
def failing(error: BaseException) -> int:
    def action() -> int:
        raise error

    return cli.guarded(action)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingError("No.", "Try."), 2),
        (FileError("Gone.", ""), 4),
        (EngineDied("Dead."), 5),
        (SpecvizError("Odd."), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(error: BaseException, code: int) -> None:
    assert failing(error) == code


def test_an_error_is_its_sentence_and_its_hint(capsys: pytest.CaptureFixture[str]) -> None:
    failing(SettingError("It\x1b[2J cannot work.", "Change it."))
    assert capsys.readouterr().err == "specviz: It␛[2J cannot work.\nChange it.\n"


def test_a_fault_of_ours_is_no_traceback_unless_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPECVIZ_DEBUG", raising=False)
    assert failing(ZeroDivisionError("oops")) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError: oops" in err
    assert "Traceback" not in err
    monkeypatch.setenv("SPECVIZ_DEBUG", "1")
    assert failing(ZeroDivisionError("oops")) == 1
    assert "Traceback" in capsys.readouterr().err


def test_last_words_leave_out_stack_dumps(capsys: pytest.CaptureFixture[str]) -> None:
    tail = (
        "ggml_abort: bad\nFatal Python error: Aborted\nCurrent thread 0x1 (most recent):\n"
        '  File "x.py", line 1 in f\n\nTraceback (most recent call last):\nValueError: no\n'
    )
    assert cli.last_words(tail) == [
        "ggml_abort: bad",
        "Fatal Python error: Aborted",
        "ValueError: no",
    ]
    failing(EngineDied("It died.", "Start again.", log_tail=tail))
    assert capsys.readouterr().err.splitlines()[:4] == [
        "specviz: It died.",
        "Start again.",
        "The engine's last words:",
        "  ggml_abort: bad",
    ]


def test_names_of_commands_are_their_modules() -> None:
    folder = Path(cli.__file__).parent
    assert all((folder / f"{name}.py").is_file() for name in cli.COMMANDS)
    assert ENVIRONMENT.specviz_version  # the support module is importable without Qt
    assert os.environ["QT_QPA_PLATFORM"] == "offscreen"
