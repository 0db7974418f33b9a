"""Tables for spreadsheets and scripts: committed tokens, verify steps, draft sources, runs.

RFC 4180 with a heading, UTF-8, a point as decimal mark whatever the locale, numbers in full
precision, an empty cell for what is undefined. Text is untrusted: a cell that a spreadsheet would
run as a formula gets a leading apostrophe, and `piece_hex` holds the exact bytes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from specviz.export.atomic import Write, make_folder, write_files
from specviz.trace import codec, metrics
from specviz.trace.comparison import Comparison, compare
from specviz.trace.config import RunMode
from specviz.trace.sources import source_statistics
from specviz.trace.summary import comparison_summary, pair_of, run_summary, source_summary
from specviz.trace.trace import Trace

NUMBERED = ("accepted_by_position", "tested_by_position", "drafted_lengths", "accepted_lengths")
"""Lists of which each place gets a column of its own."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

TOKEN_COLUMNS = (
    "run_id", "mode", "position", "step", "token_id", "text", "piece_hex", "source", "drafter",
    "draft_position", "draft_prob", "target_prob", "copied_from", "t_seconds",
)  # fmt: skip
STEP_COLUMNS = (
    "run_id", "mode", "step", "n_past", "drafter", "drafted", "tested", "accepted", "rejected",
    "dropped", "target_source", "draft_seconds", "verify_seconds", "sample_seconds",
    "restore_seconds", "t_seconds", "tokens_per_second",
)  # fmt: skip

SOURCE_COLUMNS = (
    "run_id", "mode", "source", "begin_calls", "draft_calls", "accept_calls", "drafts",
    "accepted_drafts", "drafted", "tested", "accepted", "dropped", "mean_accepted_length",
    "begin_seconds", "draft_seconds", "accept_seconds",
)  # fmt: skip

Row = dict[str, Any]


def write_csv(
    traces: Sequence[Trace], folder: Path, comparison: Comparison | None = None
) -> list[Path]:
    """Write tokens.csv, steps.csv, sources.csv and summary.csv; returns their paths.

    `folder` is made when missing. Without a `comparison` the newest pair is compared. Raises
    FileError, and then leaves files that were there before as they were.
    """
    make_folder(folder)
    runs = summary_rows(traces, comparison)
    sources = list(source_rows(traces))
    return write_files(
        {
            folder / "tokens.csv": _table(TOKEN_COLUMNS, token_rows(traces)),
            folder / "steps.csv": _table(STEP_COLUMNS, step_rows(traces)),
            folder / "sources.csv": _table(columns_of([SOURCE_COLUMNS, *sources]), sources),
            folder / "summary.csv": _table(columns_of(runs), runs),
        }
    )


def token_rows(traces: Iterable[Trace]) -> Iterator[Row]:
    """One row for each committed token, run after run, in the order of the text."""
    for trace in traces:
        for token in trace.tokens:
            yield {
                "run_id": trace.run_id,
                "mode": trace.mode.value,
                "position": token.position,
                "step": token.step,
                "token_id": token.token_id,
                "text": token.text,
                "piece_hex": token.piece.hex(),
                "source": token.source.value,
                "drafter": token.drafter.value if token.drafter else None,
                "draft_position": token.draft_position,
                "draft_prob": token.draft_prob,
                "target_prob": token.target_prob,
                "copied_from": token.copied_from,
                "t_seconds": token.t,
            }


def step_rows(traces: Iterable[Trace]) -> Iterator[Row]:
    """One row for each verify step.

    Counts are those of the output: what a stop text or the limit cut away is not accepted, so the
    columns add up to the run's summary. `tokens_per_second` is the step's own rate: its committed
    tokens ÷ the time since the step before, or since the end of prefill.
    """
    for trace in traces:
        before = trace.decode_start
        for index, step in enumerate(trace.steps):
            tested = len(step.draft)
            accepted = trace.accepted_of_step(index)
            target = trace.target_of_step(index)
            yield {
                "run_id": trace.run_id,
                "mode": trace.mode.value,
                "step": step.step,
                "n_past": step.n_past,
                "drafter": step.drafter.value if step.drafter else None,
                "drafted": tested + step.n_dropped,
                "tested": tested,
                "accepted": accepted,
                "rejected": tested - accepted,
                "dropped": step.n_dropped,
                "target_source": target.source.value if target else None,
                "draft_seconds": step.draft_seconds,
                "verify_seconds": step.verify_seconds,
                "sample_seconds": step.sample_seconds,
                "restore_seconds": step.restore_seconds,
                "t_seconds": step.t,
                "tokens_per_second": metrics.ratio(trace.kept_of_step(index), step.t - before),
            }
            before = step.t


def source_rows(traces: Iterable[Trace]) -> Iterator[Row]:
    """One row for each run and draft source, with columns for each draft position."""
    for trace in traces:
        for statistics in source_statistics(trace):
            yield {
                "run_id": trace.run_id,
                "mode": trace.mode.value,
                **flatten(source_summary(statistics)),
            }


def summary_rows(traces: Sequence[Trace], comparison: Comparison | None = None) -> list[Row]:
    """One row for each run: the fields of the JSON summary, flattened with dots.

    A number by draft position or length gets a column for each; other lists share one cell,
    separated by spaces. Settings as asked for are in the JSON alone, the names of those that
    differ stand in `differences`. The comparison stands in the rows of the speculative runs it is
    about.
    """
    pair = pair_of(traces)
    if comparison is None and pair is not None:
        comparison = compare(*pair)
        compared = [pair[1]]
    else:
        compared = [trace for trace in traces if trace.mode is RunMode.SPECULATIVE]
    rows = []
    for trace in traces:
        run = run_summary(trace)
        del run["sources"], run["settings"]  # sources.csv has the first
        row = flatten({**_circumstances(trace), **run})
        if comparison is not None and trace in compared:
            row |= flatten({"comparison": comparison_summary(comparison)})
        rows.append(row)
    return rows


def _circumstances(trace: Trace) -> Row:
    started = trace.started
    if started is None:
        return {}
    engine = codec.to_json(started.environment)
    return {
        "specviz_version": engine.pop("specviz_version"),
        "engine": engine,
        "target": codec.to_json(started.target),
        "draft": codec.to_json(started.draft) if started.draft else {},
        "prompt_tokens": started.n_prompt,
    }


def flatten(values: Row, prefix: str = "") -> Row:
    """Nested objects as one, with dots in the names."""
    flat: Row = {}
    for name, value in values.items():
        key = prefix + name
        if isinstance(value, dict):
            flat |= flatten(value, f"{key}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            for i, item in enumerate(value):
                flat |= flatten(item, f"{key}.{i}.")
        elif name in NUMBERED:
            flat |= {f"{key}.{i}": share for i, share in enumerate(value)}
        elif isinstance(value, (list, tuple)):
            flat[key] = " ".join(str(item) for item in value)
        else:
            flat[key] = value
    return flat


def columns_of(rows: Iterable[Iterable[str]]) -> list[str]:
    """The union of the rows' columns; one that only a later row has follows its left neighbour."""
    columns: list[str] = []
    for row in rows:
        at = 0
        for name in row:
            if name in columns:
                at = columns.index(name) + 1
            else:
                columns.insert(at, name)
                at += 1
    return columns


def _table(columns: Sequence[str], rows: Iterable[Row]) -> Write:
    def write(file: TextIO) -> None:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([cell(row.get(name)) for name in columns])

    return write


def cell(value: object) -> str:
    """One value as it stands in a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    return repr(value)
