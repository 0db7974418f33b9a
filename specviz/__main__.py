"""Where the program starts: `specviz`, or `python -m specviz`. A window, or a command without one.

Imports next to nothing: the engine process imports this module again when it starts.
"""

from __future__ import annotations

import multiprocessing
import sys


def main() -> int:
    """Run what the command line asks for; returns the exit code."""
    # first of all: in a bundle, the engine process starts with this same program
    multiprocessing.freeze_support()
    from specviz import cli

    argv = sys.argv[1:]
    if argv and argv[0] in cli.COMMANDS:
        return cli.main(argv)
    return cli.guarded(lambda: _window(argv))


def _window(argv: list[str]) -> int:
    from specviz.window_options import parse_window_options

    options = parse_window_options(argv)
    from specviz import display

    display.check()
    try:
        from specviz.app import run_window
    except ImportError as error:
        raise display.cannot_open(error) from None
    return run_window(options)


if __name__ == "__main__":
    sys.exit(main())
