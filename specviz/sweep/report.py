"""The result of a sweep as JSON (schema `specviz.sweep/1`) and as a CSV table.

Figures in full precision, undefined ones as null or an empty cell; text is untrusted.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, TextIO

from specviz import __version__
from specviz.export.atomic import Write, make_folder, write_files
from specviz.export.csv_tables import cell, columns_of
from specviz.sweep.axes import DRAFT_TYPE_K, DRAFT_TYPE_V, METHOD, PRESET, SETTINGS, Axis, Value
from specviz.sweep.figures import PromptResult
from specviz.sweep.plan import SweepPlan
from specviz.sweep.results import SweepResults, SweepRow
from specviz.trace import codec
from specviz.trace.config import DraftSource
from specviz.trace.server_command import LLAMA_CPP_RELEASE, not_covered, server_command

SCHEMA = "specviz.sweep/1"
CSV_NAME = "sweep.csv"

IN_EFFECT = tuple(name for name in SETTINGS if name not in (METHOD, PRESET))
"""The settings that get a column each; a preset stands in its sizes."""


def report(results: SweepResults, *, scripted: bool = False) -> dict[str, Any]:
    """The whole sweep as plain JSON values. Undefined numbers are None.

    `scripted`: the runs were played from a script, for which there is no llama-server command.
    """
    plan, environment = results.plan, results.environment
    rows = results.rows()
    best = next((row.index for row in rows if row.is_best), None)
    served = None if scripted or best is None else plan.config(0, best)
    return {
        "schema": SCHEMA,
        "specviz_version": environment.specviz_version if environment else __version__,
        "engine": {
            "llama_cpp_python": environment.llama_cpp_python if environment else None,
            "llama_cpp": environment.llama_cpp if environment else None,
            "system_info": environment.system_info if environment else None,
            "safe_mode": environment.safe_mode if environment else None,
        },
        "target": codec.to_json(results.target) if results.target else None,
        "draft": codec.to_json(results.draft) if results.draft else None,
        "plan": _plan(plan),
        "prompts": [
            {"name": prompt.name, "prompt": prompt.text, "shows": prompt.shows or None}
            for prompt in plan.prompts
        ],
        "complete": results.complete,
        "runs": results.n_added,
        "failed_runs": results.n_failed,
        "baseline": _row(results.baseline_row, plan),
        "rows": [_row(row, plan) for row in rows],
        "best": best,
        "sentence": results.sentence(),
        "caution": results.caution() or None,
        "llama_server": {
            "release": LLAMA_CPP_RELEASE,
            "best": None if served is None else server_command(served),
            "not_covered": [] if served is None else not_covered(served),
        },
    }


def report_text(results: SweepResults, *, scripted: bool = False) -> str:
    """The report as indented JSON text that ends in a line feed."""
    return codec.dumps(report(results, scripted=scripted), indent=1) + "\n"


def write_report(results: SweepResults, path: Path, *, scripted: bool = False) -> None:
    """Write the report to `path`, replacing what is there. Raises FileError."""
    text = report_text(results, scripted=scripted)
    write_files({path: lambda file: file.write(text)})


def write_csv(results: SweepResults, folder: Path) -> Path:
    """Write sweep.csv into `folder`, which is made when missing. Raises FileError."""
    make_folder(folder)
    return write_table(results, folder / CSV_NAME)


def write_table(results: SweepResults, path: Path) -> Path:
    """Write the table of `table_rows` to `path`, replacing what is there. Raises FileError."""
    write_files({path: _table(table_rows(results))})
    return path


def table_rows(results: SweepResults) -> list[dict[str, Any]]:
    """One row for each setting, the baseline first, and prompt; only those that were run."""
    return [
        {
            "setting": row.label,
            "baseline": row.is_baseline,
            "best": row.is_best,
            "prompt": results.plan.prompts[result.prompt].name,
            "spec_type": " ".join(_spec_type(row)),
            **settings_in_effect(row, results.plan),
            **_spread_apart(_result(result)),
        }
        for row in (results.baseline_row, *results.rows())
        for result in row.results
        if result is not None
    ]


def settings_in_effect(row: SweepRow, plan: SweepPlan) -> dict[str, Value | None]:
    """All settings that can be varied; None where none of the row's sources looks at one."""
    if row.point is None or row.index is None:
        return dict.fromkeys(IN_EFFECT)
    config = plan.config(0, row.index) if plan.prompts else row.point.applied_to(plan.base)
    draft = config.load.draft
    places: dict[str, Any] = {
        DRAFT_TYPE_K: draft.type_k if draft else None,
        DRAFT_TYPE_V: draft.type_v if draft else None,
    }
    found: dict[str, Value | None] = {}
    for name in IN_EFFECT:
        value: Any = None
        if Axis(name, ()).applies_to(config.speculation.sources):
            value = places[name] if name in places else _at(config.speculation, name)
        found[name] = value
    return found


def _at(value: Any, place: str) -> Any:
    for name in place.split("."):
        value = getattr(value, name)
    return value


def _plan(plan: SweepPlan) -> dict[str, Any]:
    base = plan.base
    system = [message.text for message in base.messages if message.role == "system"]
    return {
        "repeats": plan.n_repeats,
        "runs": plan.n_runs,
        "load": codec.to_json(plan.config(0, None).load if plan.prompts else base.load),
        "system_prompt": system[0] if system and not base.raw else None,
        "raw": base.raw,
        "reasoning": base.reasoning.value,
        "max_tokens": base.max_tokens,
        "stop": list(base.stop),
        "sampling": codec.to_json(base.sampling),
    }


def _spec_type(row: SweepRow) -> list[str]:
    sources = row.point.speculation.sources if row.point else ()
    return [source.value for source in DraftSource if source in sources]


def _row(row: SweepRow, plan: SweepPlan) -> dict[str, Any]:
    return {
        "setting": row.label,
        "spec_type": _spec_type(row),
        "settings": settings_in_effect(row, plan),
        "best": row.is_best,
        "complete": row.complete,
        "helps": None if row.is_baseline else row.n_helps,
        "measured_prompts": row.n_prompts,
        "speedup_lowest": row.lowest,
        "speedup_highest": row.highest,
        "speedup_geometric_mean": row.speedup,
        "tokens_per_second": row.tokens_per_second,
        "drafted": row.drafted,
        "tested": row.tested,
        "accepted": row.accepted,
        "acceptance_rate": row.acceptance_rate,
        "tau": row.tokens_per_step,
        "identical": row.identical,
        "prompts": [
            None if result is None else {"prompt": plan.prompts[i].name, **_result(result)}
            for i, result in enumerate(row.results)
        ],
    }


def _result(result: PromptResult) -> dict[str, Any]:
    counts = ("committed", "steps", "drafted", "tested", "accepted", "dropped")
    return {
        "runs": result.n_runs,
        "complete": result.complete,
        "tokens_per_second": result.tokens_per_second,
        "baseline_tokens_per_second": result.baseline_tokens_per_second,
        "speedup": result.speedup,
        "speedup_spread": list(result.speedup_spread) if result.speedup_spread else None,
        "verdict": result.verdict.value if result.verdict else None,
        # nothing was counted where no run came to an end, which is not the same as 0
        **{name: getattr(result, name) if result.n_runs else None for name in counts},
        "acceptance_rate": result.acceptance_rate,
        "tau": result.tokens_per_step,
        "decode_seconds": result.seconds if result.n_runs else None,
        "identical": result.identical,
        "divergence": result.divergence.value if result.divergence else None,
        "error": result.error or None,
    }


def _spread_apart(values: dict[str, Any]) -> dict[str, Any]:
    """The spread as two columns, since a table has no lists."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if name == "speedup_spread":
            flat["speedup_lowest"], flat["speedup_highest"] = value or (None, None)
        else:
            flat[name] = value
    return flat


def _table(rows: list[dict[str, Any]]) -> Write:
    columns = columns_of(rows)

    def write(file: TextIO) -> None:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([cell(row.get(name)) for name in columns])

    return write
