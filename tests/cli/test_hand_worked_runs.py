"""Runs worked out on paper, through `specviz run`: the summary is the working, the tables are the
summary, and the printed table says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import specviz
from support.hand_worked import Worked
from support.hand_worked_checks import wrong_figures, wrong_tables
from support.hand_worked_runs import CHEAP_TARGET, RUNS
from support.scripts import write_script


def arguments(worked: Worked, folder: Path) -> tuple[str, ...]:
    script = write_script(folder / "script.json", worked.script)
    return (
        "run", "--engine", f"scripted:{script}", "-n", str(worked.max_tokens),
        "--spec-draft-n-max", "8", "--spec-draft-n-min", str(worked.n_min),
        *(part for text in worked.stop for part in ("--stop", text)),
    )  # fmt: skip


@pytest.mark.parametrize("worked", RUNS, ids=lambda worked: worked.name)
def test_summary_and_tables_are_what_was_worked_out(worked: Worked, tmp_path: Path) -> None:
    answer = specviz(*arguments(worked, tmp_path), "--json", "--csv", tmp_path / "csv")
    assert answer.returncode == 0, answer.stderr
    summary = json.loads(answer.stdout)
    assert wrong_figures(summary, worked) == []
    assert wrong_tables(tmp_path / "csv", summary) == []


def test_the_printed_table_has_the_same_figures(tmp_path: Path) -> None:
    """Rates with their divisors, and each speed with the digits that are shown."""
    answer = specviz(*arguments(CHEAP_TARGET, tmp_path))
    assert answer.returncode == 0
    for text in ("0.94", "66.7", "62.6", "119", "2.38", "69", "150", "46 %"):
        assert text in answer.stdout, text


def test_a_limit_of_nothing_is_no_run_and_no_division(tmp_path: Path) -> None:
    script = write_script(tmp_path / "script.json", CHEAP_TARGET.script)
    answer = specviz("run", "--engine", f"scripted:{script}", "-n", "0", "--json")
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert "limit of 0 tokens" in answer.stderr
