"""`specviz export`: stored traces as CSV tables or as a JSON summary."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from specviz.cli.arguments import ArgumentParser
from specviz.cli.terminal import safe
from specviz.errors import SettingError
from specviz.export.csv_tables import write_csv
from specviz.export.summary_json import write_summary
from specviz.trace.storage import read_trace
from specviz.trace.trace import Trace


def execute(argv: Sequence[str]) -> int:
    """Export as the options ask for; returns the exit code. Raises SpecvizError."""
    values = _parser().parse_args(argv)
    if values.csv is None and values.json is None:
        raise SettingError("There is nothing to write.", "Name a target: --csv DIR or --json FILE.")
    traces = [_read(path) for path in values.traces]
    written: list[Path] = []
    if values.csv is not None:
        written += write_csv(traces, values.csv)
    if values.json is not None:
        write_summary(traces, values.json)
        written.append(values.json)
    for path in written:
        print(safe(str(path)))
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="specviz export",
        description=(
            "Writes stored traces for other programs. Of several traces, the newest baseline\n"
            "and speculative run of one prompt are compared."
        ),
    )
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="stored trace")
    parser.add_argument(
        "--csv",
        type=Path,
        metavar="DIR",
        help="write tokens.csv, steps.csv, sources.csv and summary.csv",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the summary")
    return parser


def _read(path: Path) -> Trace:
    trace = read_trace(path)
    if trace.incomplete:
        n = len(trace.tokens)
        print(
            f"specviz: {safe(path.name)} is incomplete: it ends after {n} tokens, without the end "
            "of the run.",
            file=sys.stderr,
        )
    return trace
