"""Holds a summary and its tables against figures worked out by hand, and against each other.

Each check returns sentences on what is not as it should be, so that a test shows all of it at once.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

from support.hand_worked import Worked

NUMBERED = ("accepted_by_position", "tested_by_position", "drafted_lengths", "accepted_lengths")
NOT_IN_TABLE = ("sources", "settings")
RELATIVE = 1e-9
"""Durations are sums of floating-point numbers; the working is exact."""


def wrong_figures(summary: dict[str, Any], worked: Worked) -> list[str]:
    """What of a summary is not what was worked out."""
    baseline, speculative = summary["runs"]
    found = _wrong("baseline", baseline, worked.baseline)
    found += _wrong("speculative", speculative, worked.speculative)
    found += _wrong("comparison", summary["comparison"], worked.comparison)
    reasons = " ".join(summary["comparison"]["reasons"])
    found += [
        f"no reason says {text!r}: {reasons}" for text in worked.reasons if text not in reasons
    ]
    return found + [text for run in summary["runs"] for text in _identities(run)]


def _wrong(where: str, values: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    found = []
    for name, wanted in expected.items():
        value: Any = values
        for part in name.split("."):
            value = value[part]
        if not _same(value, wanted):
            found.append(f"{where} {name}: {value!r}, worked out: {wanted!r}")
    return found


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(_same, value, wanted))
    if isinstance(wanted, float) and isinstance(value, float | int):
        return math.isclose(value, wanted, rel_tol=RELATIVE, abs_tol=1e-12)
    return bool(value == wanted)


def _identities(run: dict[str, Any]) -> list[str]:
    """What must add up in every run."""
    found = []
    lengths, kept = run["drafted_lengths"], run["accepted_lengths"]
    for words, holds in (
        ("tested = accepted + rejected", run["tested"] == run["accepted"] + run["rejected"]),
        ("drafted = tested + dropped", run["drafted"] == run["tested"] + run["dropped"]),
        (
            "committed = accepted + recovered + bonus + sampled",
            run["committed"] == run["accepted"] + run["recovered"] + run["bonus"] + run["sampled"],
        ),
        ("committed = token ids", run["committed"] == len(run["token_ids"])),
        ("lengths add up to steps", sum(lengths) == run["steps"] == sum(kept)),
        ("lengths weigh the tested", sum(i * n for i, n in enumerate(lengths)) == run["tested"]),
        ("lengths weigh the kept", sum(i * n for i, n in enumerate(kept)) == run["accepted"]),
        ("positions add up to the tested", sum(run["tested_by_position"]) == run["tested"]),
        (
            "time adds up to decode",
            math.isclose(sum(run["time"].values()), run["decode_seconds"], rel_tol=0.01),
        ),
    ):
        if not holds:
            found.append(f"{run['mode']}: not {words}")
    return found


# Tables ------------------------------------------------------------------------------------------
def wrong_tables(folder: Path, summary: dict[str, Any]) -> list[str]:
    """What of the tables in a folder is not, to the last digit, what the summary says."""
    found = []
    rows = {row["mode"]: row for row in _rows(folder / "summary.csv")}
    for run in summary["runs"]:
        cells = dict(_cells(run))
        if run["mode"] == "speculative":
            compared = {k: v for k, v in summary["comparison"].items() if not _is_nested(v)}
            cells |= dict(_cells(compared, "comparison."))
        row = rows[run["mode"]]
        for name, value in cells.items():
            if row.get(name) != value:
                found.append(f"summary.csv {run['mode']} {name}: {row.get(name)!r}, not {value!r}")
        found += (
            _wrong_steps(folder, run) + _wrong_tokens(folder, run) + _wrong_sources(folder, run)
        )
    return found


def _is_nested(value: Any) -> bool:
    """Objects and lists of them have forms of their own in a table."""
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(item, dict) for item in value)
    )


def _cells(values: dict[str, Any], prefix: str = "") -> Any:
    for name, value in values.items():
        key = prefix + name
        if name in NOT_IN_TABLE:
            continue
        if isinstance(value, dict):
            yield from _cells(value, f"{key}.")
        elif name in NUMBERED:
            yield from ((f"{key}.{i}", _cell(each)) for i, each in enumerate(value))
        elif isinstance(value, list):
            yield key, " ".join(str(item) for item in value)
        else:
            yield key, _cell(value)


def _cell(value: Any) -> str:
    """As JSON writes it, which is the shortest text that reads back as the same number."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _wrong_steps(folder: Path, run: dict[str, Any]) -> list[str]:
    rows = [row for row in _rows(folder / "steps.csv") if row["run_id"] == run["run_id"]]
    found = []
    if len(rows) != run["steps"]:
        found.append(f"steps.csv has {len(rows)} rows for {run['steps']} steps")
    for name in ("drafted", "tested", "accepted", "rejected", "dropped"):
        total = sum(int(row[name]) for row in rows)
        if total != run[name]:
            found.append(f"steps.csv {run['mode']} {name}: {total}, not {run[name]}")
    for name, seconds in run["time"].items():
        if name in rows[0] if rows else False:
            total_seconds = sum(float(row[name]) for row in rows)
            if not math.isclose(total_seconds, seconds, rel_tol=RELATIVE, abs_tol=1e-12):
                found.append(f"steps.csv {run['mode']} {name}: {total_seconds}, not {seconds}")
    return found


def _wrong_tokens(folder: Path, run: dict[str, Any]) -> list[str]:
    rows = [row for row in _rows(folder / "tokens.csv") if row["run_id"] == run["run_id"]]
    found = []
    for source in ("accepted", "recovered", "bonus", "sampled"):
        n = sum(row["source"] == source for row in rows)
        if n != run[source]:
            found.append(f"tokens.csv {run['mode']} {source}: {n}, not {run[source]}")
    if [int(row["token_id"]) for row in rows] != run["token_ids"]:
        found.append(f"tokens.csv {run['mode']}: other token ids")
    if bytes.fromhex("".join(row["piece_hex"] for row in rows)).decode() != run["text"]:
        found.append(f"tokens.csv {run['mode']}: another text")
    return found


def _wrong_sources(folder: Path, run: dict[str, Any]) -> list[str]:
    rows = [row for row in _rows(folder / "sources.csv") if row["run_id"] == run["run_id"]]
    if len(rows) != len(run["sources"]):
        return [f"sources.csv has {len(rows)} rows for {len(run['sources'])} sources"]
    return [
        f"sources.csv {name}: {row.get(name)!r}, not {value!r}"
        for row, source in zip(rows, run["sources"], strict=True)
        for name, value in _cells(source)
        if row.get(name) != value
    ]


def _rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
