"""Sessions of n-gram drafting played by llama.cpp's own code, in a process of its own.

Run as a module, it answers each line of JSON on its standard input with one on its output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from support.native_ngram import NativeError, NativeLibrary, NativePlayer
from support.ngram_sessions import Session, from_json, play, to_json


class NativeProcess:
    """The process, while the context is open. Raises NativeError where it cannot be asked."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.native_ngram_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[1]),
                "GGML_NO_BACKTRACE": "1",
            },
        )
        hello = self._read()
        if hello != "ready":
            self.close()
            raise NativeError(hello)

    def __enter__(self) -> NativeProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def play(self, session: Session) -> list[list[int]]:
        """What llama.cpp drafts in each step of the session."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(to_json(session)) + "\n")
        self._process.stdin.flush()
        drafts: list[list[int]] = self._read()
        return drafts

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait(timeout=30)
            raise AssertionError(f"llama.cpp's code ended the process with {code}")
        return json.loads(line)


def _answer() -> None:
    try:
        library = NativeLibrary()
    except NativeError as error:
        print(json.dumps(str(error)), flush=True)
        return
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        session = from_json(json.loads(line))
        player = NativePlayer(library, session.speculation)
        print(json.dumps(play(player, session.generations)), flush=True)
        player.close()


if __name__ == "__main__":
    _answer()
