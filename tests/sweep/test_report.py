"""The result as JSON and CSV: the same figures, undefined as null, nothing a spreadsheet runs."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.sweeps import plan_of, run_at
from support.traces import run_config

from specviz.errors import FileError
from specviz.sweep.axes import METHOD, Axis
from specviz.sweep.plan import SweepPlan, SweepPrompt, grid
from specviz.sweep.report import IN_EFFECT, report, report_text, table_rows, write_csv, write_report
from specviz.sweep.results import SweepResults
from specviz.trace.config import DraftSource


def results_of(plan: SweepPlan, *speeds: float) -> SweepResults:
    """One speed for each run of the plan, in order; 0 fails."""
    results = SweepResults(plan)
    for (prompt, point), speed in zip(plan.runs(), speeds, strict=False):
        if speed:
            results.add(prompt, point, run_at(speed, plan.config(prompt, point)))
        else:
            results.add_error(prompt, point, "It failed.")
    return results


@pytest.fixture
def results() -> SweepResults:
    return results_of(plan_of(1, 2), 10, 9, 15, 10, 0, 12)


def test_the_report_has_plan_rows_and_best(results: SweepResults) -> None:
    values = json.loads(report_text(results))
    assert values == json.loads(json.dumps(report(results)))
    assert values["schema"] == "specviz.sweep/1"
    assert values["engine"]["llama_cpp"] == "test"
    assert values["target"]["name"] == "Qwen3 14B"
    assert values["draft"]["name"] == "Qwen3 0.6B"
    assert (values["plan"]["runs"], values["runs"], values["failed_runs"]) == (6, 6, 1)
    assert values["plan"]["sampling"]["seed"] == 42
    assert values["complete"] is True
    assert [prompt["prompt"] for prompt in values["prompts"]] == ["About Story", "About Code"]
    assert values["best"] == 1
    assert [row["best"] for row in values["rows"]] == [False, True]
    assert values["sentence"] == results.sentence()


def test_rows_say_where_a_setting_helps(results: SweepResults) -> None:
    first, second = report(results)["rows"]
    assert (second["helps"], second["measured_prompts"]) == (2, 2)
    assert second["speedup_lowest"] == pytest.approx(1.2)
    assert second["speedup_highest"] == pytest.approx(1.5)
    assert [prompt["verdict"] for prompt in second["prompts"]] == ["faster", "faster"]
    assert second["settings"]["n_max"] == 2
    assert second["settings"]["ngram_mod.n_match"] is None, "nobody looks at it"
    failed = first["prompts"][1]
    assert (failed["runs"], failed["error"], failed["complete"]) == (0, "It failed.", False)
    assert failed["speedup"] is failed["committed"] is failed["decode_seconds"] is None
    assert first["complete"] is False


def test_the_command_for_the_best_setting_is_there(results: SweepResults) -> None:
    command = report(results)["llama_server"]
    assert "--spec-draft-n-max 2" in command["best"]
    assert "0c1e57098" in command["release"]
    assert command["not_covered"] == ["The limit of 512 tokens goes along with each request."]
    assert report(SweepResults(plan_of(1)))["llama_server"]["best"] is None
    assert report(results, scripted=True)["llama_server"]["best"] is None


def test_an_untouched_sweep_has_nulls_and_no_zeros_in_their_place() -> None:
    values = report(SweepResults(plan_of(1)))
    (row,) = values["rows"]
    assert values["complete"] is False and values["best"] is None and values["target"] is None
    assert row["prompts"] == [None, None]
    assert (row["speedup_lowest"], row["tokens_per_second"], row["tau"]) == (None, None, None)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_has_a_row_for_each_setting_and_prompt(
    results: SweepResults, tmp_path: Path
) -> None:
    path = write_csv(results, tmp_path / "made" / "for it")
    assert path.name == "sweep.csv"
    rows = read_csv(path)
    assert [(row["setting"], row["prompt"]) for row in rows] == [
        ("baseline", "Story"), ("baseline", "Code"),
        ("1 draft token", "Story"), ("1 draft token", "Code"),
        ("2 draft tokens", "Story"), ("2 draft tokens", "Code"),
    ]  # fmt: skip
    assert [row["best"] for row in rows] == ["false"] * 4 + ["true"] * 2
    assert rows[0]["n_max"] == rows[0]["speedup"] == rows[0]["spec_type"] == ""
    assert (rows[5]["n_max"], rows[5]["spec_type"]) == ("2", "draft-simple")
    assert rows[3]["error"] == "It failed." and rows[3]["committed"] == ""
    assert set(IN_EFFECT) < set(rows[0])
    assert "," in path.read_text(encoding="utf-8") and b"\r\n" in path.read_bytes()


def test_table_and_report_agree_to_the_last_digit(results: SweepResults, tmp_path: Path) -> None:
    rows = read_csv(write_csv(results, tmp_path))
    values = report(results)
    prompts = [p for row in (values["baseline"], *values["rows"]) for p in row["prompts"]]
    for cells, prompt in zip(rows, prompts, strict=True):
        for name in ("speedup", "tokens_per_second", "acceptance_rate", "tau", "accepted"):
            assert cells[name] == ("" if prompt[name] is None else repr(prompt[name]))


def test_repeats_have_a_spread_in_two_columns() -> None:
    results = results_of(plan_of(2, prompts=["A"], n_repeats=2), 10, 11, 10, 13)
    row = table_rows(results)[1]
    assert row["speedup_lowest"] == pytest.approx(1.1)
    assert row["speedup_highest"] == pytest.approx(1.3)
    assert row["speedup"] == pytest.approx(1.2)


def test_only_what_was_run_is_in_the_table() -> None:
    rows = table_rows(results_of(plan_of(1, 2), 10, 12))
    assert [row["setting"] for row in rows] == ["baseline", "1 draft token"]


def test_names_of_prompts_are_no_formulas(tmp_path: Path) -> None:
    plan = replace(plan_of(1), prompts=(SweepPrompt('=cmd|"/c calc"!A1', "x\r\ny"),))
    rows = read_csv(write_csv(results_of(plan, 10, 12), tmp_path))
    assert rows[0]["prompt"] == '\'=cmd|"/c calc"!A1'


def test_sizes_in_effect_are_those_of_the_sources_at_work() -> None:
    base = run_config(sources=(DraftSource.NGRAM_MOD,))
    axes = [Axis(METHOD, ((DraftSource.NGRAM_MOD,), (DraftSource.NGRAM_SIMPLE,)))]
    plan = SweepPlan(base, (SweepPrompt("A", "a"),), grid(base, axes).points)
    mod, simple = report(SweepResults(plan))["rows"]
    assert (mod["settings"]["ngram_mod.n_match"], mod["settings"]["n_max"]) == (6, None)
    assert simple["settings"]["ngram_simple.size_n"] == 6
    assert simple["settings"]["ngram_mod.n_match"] is None


def test_what_cannot_be_written_is_told(results: SweepResults, tmp_path: Path) -> None:
    write_report(results, tmp_path / "sweep.json")
    assert json.loads((tmp_path / "sweep.json").read_text(encoding="utf-8"))["best"] == 1
    with pytest.raises(FileError):
        write_report(results, tmp_path / "missing" / "sweep.json")
