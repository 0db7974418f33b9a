"""What goes to the terminal: harmless text, coloured tokens, one line of progress.

Model output, file names and engine logs are untrusted; their control characters are shown as
signs, so that no text can steer the terminal.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TextIO

from specviz.trace.events import TokenSource
from specviz.trace.trace import Token, Trace

_SIGNS = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: "\u2421",
    **dict.fromkeys(range(0x80, 0xA0), "\ufffd"),
    **dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd"),
}

STYLES = {
    TokenSource.ACCEPTED: "\x1b[32;4m",
    TokenSource.RECOVERED: "\x1b[33;1m",
    TokenSource.BONUS: "\x1b[94m",
    TokenSource.SAMPLED: "",
}
"""Green and underlined, amber and bold, blue, plain: the window's colours, as far as they go."""

COPIED = "\x1b[32;3;4m"
"""Accepted, and copied from earlier text: italic as well, or reversed where there is no italic."""

BOLD, QUIET, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def safe(text: str) -> str:
    """`text` with control and direction characters as visible signs; line feed and tab stay."""
    return text.translate(_SIGNS)


def prepare_streams() -> None:
    """UTF-8 into pipes and files whatever the locale; no character may stop the output."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if stream.isatty():
            reconfigure(errors="replace")
        else:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def style_of(token: Token) -> str:
    """The style of a committed token."""
    return STYLES[token.source] if token.copied_from is None else COPIED


def takes_colour(stream: TextIO) -> bool:
    """Whether escape sequences may be written: a terminal, and the user has not objected."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.platform != "win32" or _enable_escapes()


def _enable_escapes() -> bool:
    """Switch on escape sequences in a Windows console; False where it has none."""
    if sys.platform != "win32":
        return True
    import ctypes

    output, processing = -11, 0x0004  # STD_OUTPUT_HANDLE, ENABLE_VIRTUAL_TERMINAL_PROCESSING
    kernel = ctypes.windll.kernel32
    handle, mode = kernel.GetStdHandle(output), ctypes.c_uint32()
    if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        return False
    return bool(kernel.SetConsoleMode(handle, mode.value | processing))


class AnswerPrinter:
    """Prints the answer of one run as it grows; never what could still be taken back."""

    def __init__(self, out: TextIO, colour: bool) -> None:
        self._out = out
        self._colour = colour
        self._n_printed = 0
        self._n_last = 0
        self._style = ""
        self._ends_line = True

    def show(self, trace: Trace) -> None:
        """Print what is new in `trace` and may be shown."""
        self._finish_last(trace)
        for token in trace.tokens[self._n_printed : trace.n_shown]:
            self._write(token.text, style_of(token))
            self._n_printed += 1
            self._n_last = len(token.text)
        self._out.flush()

    def end(self) -> None:
        """Leave the terminal in its plain style, at the beginning of a line."""
        self._change_style("")
        if not self._ends_line:
            self._out.write("\n")
        self._out.flush()

    def _finish_last(self, trace: Trace) -> None:
        """An unfinished character at the end of the run is added to the last token's text."""
        if 0 < self._n_printed <= len(trace.tokens):
            token = trace.tokens[self._n_printed - 1]
            self._write(token.text[self._n_last :], style_of(token))
            self._n_last = len(token.text)

    def _write(self, text: str, style: str) -> None:
        if not text:
            return
        self._change_style(style)
        self._out.write(safe(text))
        self._ends_line = text.endswith("\n")

    def _change_style(self, style: str) -> None:
        if self._colour and style != self._style:
            self._out.write((RESET if self._style else "") + style)
            self._style = style


class Progress:
    """One line on standard error that says what is going on; silent unless `on`."""

    def __init__(self, err: TextIO, on: bool) -> None:
        self._err = err
        self._on = on
        self._shown = ""

    def show(self, text: str) -> None:
        """Replace the line; the same text again costs nothing."""
        if not self._on or text == self._shown:
            return
        width = shutil.get_terminal_size().columns - 1
        line = safe(text).replace("\n", " ")[:width]
        self._err.write("\r" + line + " " * max(len(self._shown[:width]) - len(line), 0))
        self._err.flush()
        self._shown = text

    def clear(self) -> None:
        """Take the line away, for other output."""
        if self._shown:
            width = shutil.get_terminal_size().columns - 1
            self._err.write("\r" + " " * min(len(self._shown), width) + "\r")
            self._err.flush()
            self._shown = ""
