"""llama.cpp's log, and bringing the library up once for this process."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import re
import sys
from collections.abc import Iterator, Sequence

from llama_cpp import llama_cpp as lib


class NativeLog:
    """llama.cpp's log lines: written to standard error and kept while somebody listens.

    The callback of the package has the levels mixed up, so ours replaces it.
    """

    LEVELS = (logging.DEBUG, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)

    def __init__(self) -> None:
        self._lines: list[str] | None = None
        self._partial = ""
        # the reference keeps the callback alive as long as llama.cpp may call it
        self._callback = lib.llama_log_callback(self._receive)
        lib.llama_log_set(self._callback, ctypes.c_void_p(0))

    def _receive(self, level: int, text: bytes, _: object) -> None:
        self._partial += text.decode("utf-8", "replace")
        *whole, self._partial = self._partial.split("\n")
        for line in whole:
            if level != 1:
                sys.stderr.write(line + "\n")
            if self._lines is not None:
                self._lines.append(line)

    @contextlib.contextmanager
    def listening(self) -> Iterator[list[str]]:
        """Collects the lines of the calls inside the block."""
        lines: list[str] = []
        self._lines = lines
        try:
            yield lines
        finally:
            self._lines = None
            sys.stderr.flush()


_native_log: NativeLog | None = None


def start() -> NativeLog:
    """Bring the library up once for this process; returns its log."""
    global _native_log
    if _native_log is None:
        _native_log = NativeLog()
        lib.llama_backend_init()
    return _native_log


def last_error(lines: Sequence[str]) -> str:
    """The telling line of a failed load, without its function prefix."""
    telling = [line for line in lines if re.search(r"error|fail|invalid|unknown|missing", line)]
    line = (telling or list(lines) or [""])[0]
    return re.sub(r"^\w+: ", "", line).strip()[:240]
