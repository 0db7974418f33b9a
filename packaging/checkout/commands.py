"""The verbs of bootstrap.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from checkout.checks import CHECKS, WITHOUT_QT, Check, run_checks
from checkout.environment import Checkout, prepare
from checkout.terminal import SetupError, say

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED = 130


def main(argv: list[str], usage: str) -> int:
    """Carry out one verb; returns the exit code."""
    verbs = {"run": run, "test": test, "setup": setup}
    if not argv or argv[0] not in verbs:
        say(usage.strip())
        return 0 if argv and argv[0] in ("-h", "--help") else 2
    try:
        return verbs[argv[0]](Checkout(ROOT), argv[1:])
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from here.", file=sys.stderr, flush=True)
        return INTERRUPTED


def setup(checkout: Checkout, arguments: list[str]) -> int:
    """Set up for running the program."""
    if arguments:
        raise SetupError("setup takes no arguments.")
    python = prepare(checkout, "program")
    say(f"Ready. Start SpecViz with: {python} -m specviz")
    return 0


def run(checkout: Checkout, arguments: list[str]) -> int:
    """Set up, then start SpecViz and leave with its exit code."""
    python = prepare(checkout, "program")
    command = [str(python), "-m", "specviz", *arguments]
    if sys.platform != "win32":
        os.execv(command[0], command)
    # On Windows execv would return to the shell at once, with SpecViz in the background.
    return subprocess.run(command, check=False).returncode


def test(checkout: Checkout, arguments: list[str]) -> int:
    """Set up for development, then run every check; with arguments only pytest with them."""
    python = prepare(checkout, "development")
    if arguments:
        only_tests = Check("tests", ("-m", "pytest", *arguments), {"QT_QPA_PLATFORM": "offscreen"})
        return (
            0 if all(passed for _, passed in run_checks(python, checkout.root, [only_tests])) else 1
        )
    without_qt = prepare(checkout, "development", qt=False)
    results = run_checks(python, checkout.root, CHECKS)
    results += run_checks(without_qt, checkout.root, [WITHOUT_QT])
    failed = [check.name for check, passed in results if not passed]
    say(f"\nFailed: {', '.join(failed)}." if failed else "\nEverything passed.")
    return 1 if failed else 0
