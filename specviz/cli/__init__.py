"""The command line: sub-commands that open no window, never import Qt and need no display."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module

from specviz.errors import EngineDied, ExitCode, SpecvizError

COMMANDS = {
    "run": "run a prompt as baseline and speculatively, and compare",
    "sweep": "try drafting settings over several prompts, and say which help",
    "inspect": "say what a model file is, and whether a draft fits",
    "export": "write stored traces as CSV or JSON",
    "devices": "list what this build of the engine can use",
    "selftest": "prove that this installation works",
}
"""Name of each sub-command, which is also its module in this package, and what it does."""

STACK_LINES = ("Traceback", "Thread 0x", "Current thread", "Extension modules")
"""How the lines of Python's stack dumps begin, those aside that are indented."""


def main(argv: Sequence[str]) -> int:
    """Run the sub-command that `argv` begins with; returns the exit code."""
    name, *rest = argv
    if name not in COMMANDS:
        raise ValueError(f"no such sub-command: {name!r}")
    # one module per sub-command, loaded only when asked for: inspect should not wait for asyncio
    command = import_module(f"specviz.cli.{name}")
    return guarded(lambda: int(command.execute(rest)))


def guarded(action: Callable[[], int]) -> int:
    """Run `action` and turn what it raises into a sentence on standard error and an exit code."""
    from specviz.cli.terminal import prepare_streams, safe

    prepare_streams()
    try:
        code = action()
        sys.stdout.flush()
        return code
    except SpecvizError as error:
        report(error)
        return int(error.exit_code)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # the reader of our output has gone; nothing may be flushed to it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.INTERRUPTED)
    except Exception as error:
        if os.environ.get("SPECVIZ_DEBUG"):
            traceback.print_exc()
        print(
            f"specviz: This should not have happened: {type(error).__name__}: {safe(str(error))}\n"
            "Please report it; with SPECVIZ_DEBUG=1 in the environment it shows where.",
            file=sys.stderr,
        )
        return 1


def report(error: SpecvizError) -> None:
    """Print an error: its sentence, its hint, and the last words of an engine that died."""
    from specviz.cli.terminal import safe

    print(f"specviz: {safe(error.message)}", file=sys.stderr)
    if error.hint:
        print(safe(error.hint), file=sys.stderr)
    if isinstance(error, EngineDied) and (words := last_words(error.log_tail)):
        print("The engine's last words:", file=sys.stderr)
        for line in words:
            print(f"  {safe(line)}", file=sys.stderr)


def last_words(log_tail: str, n_lines: int = 12) -> list[str]:
    """The end of an engine's log without its stack dumps, which say nothing to a user."""
    lines = [
        line
        for line in log_tail.splitlines()
        if line.strip() and not line.startswith((" ", *STACK_LINES))
    ]
    return lines[-n_lines:]
