"""A switch that makes a running evaluation return early, from any thread."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from llama_cpp import llama_cpp as lib


class AbortSwitch:
    """Reaches into a running graph without taking the interpreter lock.

    libc's strlen serves as the callback: it returns 0 until the first byte of its argument is
    set. Where libc is not at hand an evaluation runs to the end of its batch.
    """

    def __init__(self, handle: Any) -> None:
        self._flag = ctypes.create_string_buffer(2)
        if sys.platform == "win32":
            return
        strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
        self._callback = lib.ggml_abort_callback(strlen)
        lib.llama_set_abort_callback(
            handle, self._callback, ctypes.c_void_p(ctypes.addressof(self._flag))
        )

    def abort(self) -> None:
        """Make the evaluation under way return early, and each one after it."""
        self._flag[0] = b"\x01"

    def rearm(self) -> None:
        """Let evaluations run to their end again."""
        self._flag[0] = b"\x00"
