"""Commands with their output in a log, and what is seen of them meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from checkout import terminal
from checkout.processes import pip_environment, run_logged
from checkout.terminal import LiveLine, bar, duration


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_of_both_kinds_is_logged_and_the_exit_code_returned(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "some.log"
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    seen: list[str] = []
    assert run_logged(python(code), log, LiveLine("x"), lambda text, _: seen.append(text)) == 3
    assert sorted(seen) == ["err", "out"]
    written = log.read_text(encoding="utf-8")
    assert written.startswith("$ ") and "out\n" in written and "err\n" in written


def test_the_command_ends_when_we_are_interrupted(tmp_path: Path) -> None:
    # given a command that says who it is and then waits for ever
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    pids: list[int] = []

    def interrupt(text: str, _: LiveLine) -> None:
        pids.append(int(text))
        raise KeyboardInterrupt

    # when Ctrl+C comes
    with pytest.raises(KeyboardInterrupt):
        run_logged(python(code), tmp_path / "log", LiveLine("x"), interrupt)
    # then it has ended, and was waited for
    assert pids
    if sys.platform != "win32":
        assert not Path(f"/proc/{pids[0]}").exists()


def test_pip_keeps_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://packages.example/simple")
    monkeypatch.setenv("PIP_USER", "1")
    environment = pip_environment(CMAKE_ARGS="")
    assert environment["PIP_INDEX_URL"] == "https://packages.example/simple"
    assert environment["PIP_USER"] == "0"
    assert environment.get("CMAKE_ARGS") is None or environment["CMAKE_ARGS"]


def test_a_log_gets_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    line = LiveLine("Compiling")
    line.fraction = (57, 193)
    for _ in range(140):
        now[0] += 0.5
        line.tick()
    line.finish("done")
    assert capsys.readouterr().out.splitlines() == [
        "Compiling ...",
        "  57 of 193 done, 30 s so far.",
        "  57 of 193 done, 1 min 00 s so far.",
        "Compiling: done (1 min 10 s).",
    ]


def test_a_terminal_gets_one_line_drawn_in_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True)
    line = LiveLine("Compiling")
    line.fraction = (97, 193)
    line.tick()
    drawn = capsys.readouterr().out
    assert drawn.startswith("\r") and "\n" not in drawn
    assert bar(97, 193) in drawn and "97/193" in drawn


def test_durations_read_well() -> None:
    assert [duration(s) for s in (0.4, 59.9, 60, 605)] == ["0 s", "59 s", "1 min 00 s",
                                                          "10 min 05 s"]  # fmt: skip


def test_a_bar_is_full_only_at_the_end() -> None:
    assert bar(192, 193).count(".") == 1
    assert "." not in bar(193, 193)
    assert "#" not in bar(0, 0)
