"""From the command to the first painted window, beside a bare PySide6 program with an empty one.

Files are in the system's cache and modules compiled after an unmeasured start of each. How the
moment of painting is found: startup_driver.py.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import MeasuringError, Repeats, Result, look_at_machine, order, report, spread

GOAL_SECONDS = 1.0
DRIVER = Path(__file__).with_name("startup_driver.py")
PROGRAMS = ("specviz", "bare")
MAX_SECONDS = 60


def seconds_to_window(program: str, folder: Path) -> float:
    """Start a program; seconds until its window was painted. It is gone when this returns."""
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": os.environ.get("QT_QPA_PLATFORM", "offscreen"),
        "SPECVIZ_HOME": str(folder / "home"),
        # compiled modules are kept, as they are once a program is installed
        "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begin = time.time()
    done = subprocess.run(
        [sys.executable, DRIVER, program],
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=MAX_SECONDS,
    )
    if done.returncode != 0 or not done.stdout.strip():
        raise MeasuringError(f"{program} showed no window (exit code {done.returncode}).")
    return float(done.stdout.split()[0]) - begin


def measure(options: argparse.Namespace) -> None:
    """Start both in turn and report."""
    machine = look_at_machine()
    seconds: dict[str, list[float]] = {program: [] for program in PROGRAMS}
    with tempfile.TemporaryDirectory() as name:
        for program in PROGRAMS:
            seconds_to_window(program, Path(name))
        repeats = Repeats(options.repeats, options.keep_disturbed)
        for attempt in repeats:
            pair = {each: seconds_to_window(each, Path(name)) for each in order(attempt, PROGRAMS)}
            if repeats.counts():
                for program, passed in pair.items():
                    seconds[program].append(passed)
    ours, bare = seconds["specviz"], seconds["bare"]
    times = [mine / peer for mine, peer in zip(ours, bare, strict=True)]
    results = [
        Result("first painted window", spread(ours), GOAL_SECONDS, at_least=False, unit="s"),
        Result(
            "ours / bare PySide6 window",
            spread(times),
            None,
            unit="s",
            ours=statistics.median(ours),
            peer=statistics.median(bare),
        ),
    ]
    report("startup", machine, results, n_discarded=repeats.n_discarded)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--keep-disturbed", action="store_true", help="count all repeats")
    options = parser.parse_args()
    try:
        measure(options)
    except MeasuringError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
