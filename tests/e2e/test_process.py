"""The program as a process: it opens, it closes when asked to, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest
from support.scripts import write_script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX signals")


def engine_of(pid):
    """The engine process of a window process, waiting until it is there."""
    process = psutil.Process(pid)
    while process.is_running():
        for child in process.children(recursive=True):
            try:
                if "spawn_main" in " ".join(child.cmdline()):
                    return child
            except psutil.Error:
                continue
    raise AssertionError("the window ended before it had an engine")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_window_that_is_asked_to_end_ends_in_good_order(tmp_path, number):
    script = write_script(tmp_path / "script.json")
    program = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "specviz", "--engine", f"scripted:{script}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "SPECVIZ_HOME": str(tmp_path)},
    )
    engine = engine_of(program.pid)
    program.send_signal(number)
    output, errors = program.communicate(timeout=60)
    assert (program.returncode, output, errors) == (0, "", "")
    assert not engine.is_running()


def test_a_missing_file_on_the_command_line_opens_the_window_all_the_same(tmp_path):
    program = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "specviz",
            str(tmp_path / "gone.gguf"),
            "--trace",
            str(tmp_path / "gone.specviz.jsonl"),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "SPECVIZ_HOME": str(tmp_path)},
    )
    engine_of(program.pid)
    program.send_signal(signal.SIGTERM)
    _, errors = program.communicate(timeout=60)
    assert (program.returncode, errors) == (0, "")
