"""`specviz export`: stored traces to tables and summaries."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from support.traces import TraceBuilder, baseline_of, explanation

from specviz import cli
from specviz.trace.storage import write_trace


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    trace = explanation().trace
    paths = [tmp_path / "b.specviz.jsonl", tmp_path / "s.specviz.jsonl"]
    write_trace(baseline_of(trace), paths[0])
    write_trace(trace, paths[1])
    return [str(path) for path in paths]


def export(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main(["export", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_tables_and_summary(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = tmp_path / "csv", tmp_path / "summary.json"
    code, out, err = export(capsys, *pair, "--csv", folder, "--json", file)
    assert (code, err) == (0, "")
    tables = [folder / f"{name}.csv" for name in ("tokens", "steps", "sources", "summary")]
    assert out.splitlines() == [str(path) for path in (*tables, file)]
    with (folder / "tokens.csv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    values = json.loads(file.read_bytes())
    assert len(rows) == sum(run["committed"] for run in values["runs"])
    assert values["comparison"]["identical"] is True


def test_runs_of_different_prompts_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one.specviz.jsonl", tmp_path / "other.specviz.jsonl"
    write_trace(baseline_of(TraceBuilder().step(target="a").finish()), one)
    write_trace(explanation().trace, other)
    assert export(capsys, one, other, "--json", tmp_path / "s.json")[0] == 0
    assert json.loads((tmp_path / "s.json").read_bytes())["comparison"] is None


def test_a_trace_cut_short_is_exported_and_mentioned(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.specviz.jsonl"
    cut.write_bytes(Path(pair[1]).read_bytes()[:-5])
    code, _, err = export(capsys, cut, "--csv", tmp_path / "csv")
    assert code == 0
    assert "cut.specviz.jsonl is incomplete" in err


def test_nothing_to_write_is_two(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = export(capsys, *pair)
    assert code == 2
    assert "--csv DIR or --json FILE" in err
    assert export(capsys)[0] == 2
    assert export(capsys, *pair, "--html", "x.html")[0] == 2


def test_what_cannot_be_read_or_written_is_four(
    pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n")
    for arguments in (
        (tmp_path / "gone.jsonl", "--csv", tmp_path / "csv"),
        (tmp_path / "x.jsonl", "--csv", tmp_path / "csv"),
        (*pair, "--json", tmp_path / "gone" / "s.json"),
        (*pair, "--csv", tmp_path / "x.jsonl"),
    ):
        code, out, err = export(capsys, *arguments)
        assert (code, out) == (4, "")
        assert err.startswith("specviz: ")
    assert not (tmp_path / "csv").exists()
