"""What the window was asked to open with, and how that is read from the command line.

Knows nothing of Qt, so that a mistake on the command line needs no display to be reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz import __version__
from specviz.cli import COMMANDS
from specviz.cli.arguments import ArgumentParser, script_path
from specviz.errors import SettingError


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions:
    """Files to open at the start; None where nothing was named.

    `script` is played by the engine process instead of computing with weights.
    """

    target: Path | None = None
    draft: Path | None = None
    trace: Path | None = None
    script: Path | None = None


def parse_window_options(argv: Sequence[str]) -> WindowOptions:
    """The options in `argv`, without the program's name. Raises SettingError."""
    values = _parser().parse_args(argv)
    for path in (values.target, values.draft):
        _check_meant_as_file(path)
    return WindowOptions(
        target=values.target, draft=values.draft, trace=values.trace, script=values.engine
    )


def _parser() -> ArgumentParser:
    commands = "\n".join(f"  specviz {name:<10} {what}" for name, what in COMMANDS.items())
    parser = ArgumentParser(
        prog="specviz",
        usage="specviz [TARGET.gguf [DRAFT.gguf]] [--trace FILE]",
        description="Opens the window.",
        epilog=f"without a window:\n{commands}\n\nspecviz COMMAND -h lists the options of each.",
    )
    parser.add_argument("target", nargs="?", type=Path, metavar="TARGET", help="target model file")
    parser.add_argument("draft", nargs="?", type=Path, metavar="DRAFT", help="draft model file")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="stored trace to open")
    parser.add_argument(
        "--engine",
        type=script_path,
        metavar="scripted:FILE",
        help="play a script instead of computing with weights",
    )
    parser.add_argument("--version", action="version", version=f"specviz {__version__}")
    return parser


def _check_meant_as_file(path: Path | None) -> None:
    """Refuse a mistyped command; a file that is missing is the window's to report."""
    if path is None or path.suffix or len(path.parts) > 1 or path.exists():
        return
    raise SettingError(
        f"There is no command and no file called {path}.",
        f"Commands are {', '.join(COMMANDS)}; specviz -h tells more.",
    )
