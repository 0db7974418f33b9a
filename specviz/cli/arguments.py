"""Reading arguments: argparse whose errors are ours, and the kinds of value that options take."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from specviz.errors import SettingError

LARGEST = 2**31 - 1
SCRIPTED = "scripted:"


class ArgumentParser(argparse.ArgumentParser):
    """Takes no abbreviations and raises SettingError instead of leaving the program."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options
        )

    def error(self, message: str) -> NoReturn:
        hint = f"{self.prog} -h lists the options."
        if message.startswith("unrecognized arguments: "):
            words = message.partition(": ")[2]
            message = f"{words} is not understood"
            close = difflib.get_close_matches(words.split()[0], self._option_string_actions, n=1)
            hint = f"Did you mean {close[0]}? {hint}" if close else hint
        elif message.endswith("expected one argument"):
            hint = f"A value that starts with a dash is written as --option=-value. {hint}"
        raise SettingError(f"{message[0].upper()}{message[1:].rstrip('.')}.", hint)


def whole_number(text: str) -> int:
    """An int that fits the engine's counters."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number") from None
    if abs(number) > LARGEST:
        raise argparse.ArgumentTypeError(f"{text} is too large a number")
    return number


def seed(text: str) -> int | None:
    """A seed; None for -1, which asks for a random one."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number") from None
    return None if number == -1 else number


def number(text: str) -> float:
    """A float, with a point as decimal mark."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a number") from None


def layers(text: str) -> int:
    """A count of GPU layers; `all` and `auto` ask for as many as there are."""
    return -1 if text in ("all", "auto") else whole_number(text)


def one_of(*choices: str) -> Callable[[str], str]:
    """A word out of `choices`."""

    def choose(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(choices)}")
        return text

    return choose


def script_path(text: str) -> Path:
    """The file of `scripted:FILE`."""
    if not text.startswith(SCRIPTED) or text == SCRIPTED:
        raise argparse.ArgumentTypeError(f"{text} is not of the form {SCRIPTED}FILE")
    return Path(text.removeprefix(SCRIPTED))
