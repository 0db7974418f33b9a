"""Runs the program as a user does: another process, with pipes or on a terminal of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TIMEOUT_SECONDS = 120


def specviz(
    *arguments: str | Path,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    python_options: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Run `specviz` with pipes for its output; nothing is on its standard input by default."""
    answer = subprocess.run(
        command(*arguments, python_options=python_options),
        input=stdin if stdin is not None else b"",
        capture_output=True,
        env={**os.environ, **(env or {})},
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return subprocess.CompletedProcess(
        answer.args,
        answer.returncode,
        answer.stdout.decode("utf-8").replace("\r\n", "\n"),
        answer.stderr.decode("utf-8").replace("\r\n", "\n"),
    )


def command(*arguments: str | Path, python_options: tuple[str, ...] = ()) -> list[str]:
    """The command line of `specviz` with these arguments."""
    return [sys.executable, *python_options, "-m", "specviz", *map(str, arguments)]


def on_terminal(
    *arguments: str | Path, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run `specviz` with terminals for output and errors: exit code, output, errors.

    Two terminals, so that progress and answer can be told apart. POSIX only.
    """
    (out, out_end), (err, err_end) = os.openpty(), os.openpty()
    with subprocess.Popen(
        command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=out_end,
        stderr=err_end,
        env={**os.environ, "TERM": "xterm-256color", **(env or {})},
    ) as process:
        os.close(out_end)
        os.close(err_end)
        texts = _read_all(out, err)
        code = process.wait(TIMEOUT_SECONDS)
    return code, texts[out], texts[err]


def _read_all(*terminals: int) -> dict[int, str]:
    import selectors

    data = dict.fromkeys(terminals, b"")
    with selectors.DefaultSelector() as selector:
        for terminal in terminals:
            selector.register(terminal, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(TIMEOUT_SECONDS):
                try:
                    chunk = os.read(key.fd, 65536)
                except OSError:  # Linux reports the end of a terminal like this
                    chunk = b""
                data[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
    for terminal in terminals:
        os.close(terminal)
    return {key: value.decode("utf-8").replace("\r\n", "\n") for key, value in data.items()}
