"""CSV tables: exact columns, exact numbers, cells that no spreadsheet runs."""

from __future__ import annotations

import csv
import locale
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.random_runs import folded, runs
from support.traces import TraceBuilder, baseline_of, explanation, run_config

from specviz.errors import FileError
from specviz.export.csv_tables import cell, columns_of, flatten, write_csv
from specviz.trace.config import DraftSource
from specviz.trace.events import RunEvent, StopReason
from specviz.trace.summary import run_summary
from specviz.trace.trace import Trace

TOKENS = (
    "run_id,mode,position,step,token_id,text,piece_hex,source,drafter,draft_position,draft_prob,"
    "target_prob,copied_from,t_seconds"
)
STEPS = (
    "run_id,mode,step,n_past,drafter,drafted,tested,accepted,rejected,dropped,target_source,"
    "draft_seconds,verify_seconds,sample_seconds,restore_seconds,t_seconds,tokens_per_second"
)


SOURCES = (
    "run_id,mode,source,begin_calls,draft_calls,accept_calls,drafts,accepted_drafts,drafted,tested,"
    "accepted,dropped,mean_accepted_length,begin_seconds,draft_seconds,accept_seconds"
)


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def exported(folder: Path, *traces: Trace) -> tuple[list[dict[str, str]], ...]:
    write_csv(traces, folder)
    return tuple(table(folder, f"{name}.csv") for name in ("tokens", "steps", "summary"))


def test_the_columns_are_those_that_scripts_rely_on(tmp_path: Path) -> None:
    paths = write_csv([explanation().trace], tmp_path)
    names = [path.name for path in paths]
    assert names == ["tokens.csv", "steps.csv", "sources.csv", "summary.csv"]
    assert (tmp_path / "tokens.csv").read_bytes().split(b"\r\n")[0] == TOKENS.encode()
    assert (tmp_path / "steps.csv").read_bytes().split(b"\r\n")[0] == STEPS.encode()


def test_a_run_worked_out_on_paper(tmp_path: Path) -> None:
    builder = TraceBuilder(prefill_seconds=0.25)
    builder.step(target="a", seconds=0.5)
    builder.step(["b", "c"], 2, "d", seconds=0.5, probs=[(0.9, 0.8), (0.5, None)])
    builder.step(["=x", "y"], 1, ", z", seconds=0.25, n_dropped=2, copied_from=3)
    tokens, steps, _ = exported(tmp_path, builder.finish())
    assert [
        (t["position"], t["step"], t["text"], t["source"], t["drafter"], t["draft_position"])
        for t in tokens
    ] == [
        ("0", "0", "a", "sampled", "", ""), ("1", "1", "b", "accepted", "draft-simple", "0"),
        ("2", "1", "c", "accepted", "draft-simple", "1"), ("3", "1", "d", "bonus", "", ""),
        ("4", "2", "'=x", "accepted", "ngram-mod", "0"), ("5", "2", ", z", "recovered", "", ""),
    ]  # fmt: skip
    assert [t["draft_prob"] for t in tokens] == ["", "0.9", "0.5", "", "", ""]
    assert [t["target_prob"] for t in tokens] == ["", "0.8", "", "", "", ""]
    assert [t["copied_from"] for t in tokens] == ["", "", "", "", "3", ""]
    assert [t["t_seconds"] for t in tokens] == ["0.75", "1.25", "1.25", "1.25", "1.5", "1.5"]
    counts = ("drafted", "tested", "accepted", "rejected", "dropped")
    assert [[s[name] for name in counts] for s in steps] == [
        ["0", "0", "0", "0", "0"], ["2", "2", "2", "0", "0"], ["4", "2", "1", "1", "2"],
    ]  # fmt: skip
    assert [s["target_source"] for s in steps] == ["sampled", "bonus", "recovered"]
    assert [s["drafter"] for s in steps] == ["", "draft-simple", "ngram-mod"]
    assert [s["tokens_per_second"] for s in steps] == ["2.0", "6.0", "8.0"]
    assert [s["n_past"] for s in steps] == ["12", "15", "17"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(events=runs())
def test_the_tables_agree_with_the_summary(tmp_path: Path, events: list[RunEvent]) -> None:
    trace = folded(events)
    tokens, steps, (row,) = exported(tmp_path, trace)
    run = run_summary(trace)
    assert len(tokens) == run["committed"]
    assert b"".join(bytes.fromhex(t["piece_hex"]) for t in tokens) == trace.data
    assert len(steps) == run["steps"]
    for step in steps:
        assert int(step["accepted"]) + int(step["rejected"]) == int(step["tested"])
        assert int(step["tested"]) + int(step["dropped"]) == int(step["drafted"])
    for name in ("drafted", "tested", "accepted", "rejected", "dropped"):
        assert sum(int(step[name]) for step in steps) == run[name] == int(row[name])
    for source in ("recovered", "bonus", "sampled"):
        assert sum(step["target_source"] == source for step in steps) == run[source]
        assert sum(t["source"] == source for t in tokens) == run[source]
    shown = "".join(t["text"].removeprefix("'") for t in tokens)
    assert shown.replace("'", "") == trace.text.replace("'", "")


def test_numbers_keep_their_full_precision(tmp_path: Path) -> None:
    third = 1 / 3
    tokens, _, (row,) = exported(
        tmp_path, TraceBuilder().step(["a"], 1, "b", probs=[(third, 0.1)], seconds=third).finish()
    )
    assert float(tokens[0]["draft_prob"]) == third
    assert float(row["decode_seconds"]) == pytest.approx(third, rel=1e-15)


def test_the_decimal_mark_is_a_point_in_every_locale(tmp_path: Path) -> None:
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "German_Germany", "C"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        try:
            tokens, _, _ = exported(tmp_path, TraceBuilder().step(target="a").finish())
            assert tokens[0]["t_seconds"] == "0.4"
        finally:
            locale.setlocale(locale.LC_ALL, before)


# Text that a spreadsheet must not run ------------------------------------------------------------
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_cell_that_a_spreadsheet_would_run_gets_an_apostrophe(tmp_path: Path, start: str) -> None:
    piece = start + 'cmd|" /C calc"!A0'
    tokens, _, (row,) = exported(tmp_path, TraceBuilder().step(target=piece).finish())
    assert tokens[0]["text"] == "'" + piece
    assert bytes.fromhex(tokens[0]["piece_hex"]) == piece.encode()
    assert row["text"] == "'" + piece


@given(st.text())
def test_only_dangerous_text_is_changed(text: str) -> None:
    written = cell(text)
    assert written.removeprefix("'") == text.removeprefix("'")
    assert not written.startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (False, "false"), (-1, "-1"), (-0.5, "-0.5"), (1e-7, "1e-07"),
     (0, "0"), ("", ""), ("'", "'"), (" =1", " =1")],
)  # fmt: skip
def test_cells(value: object, text: str) -> None:
    assert cell(value) == text


def test_awkward_pieces_survive(tmp_path: Path) -> None:
    pieces = ['"quoted"', "a,b", "line\nbreak", "\r\n", "\x00", "\x1b[31m", " ", "ü;", "\u2028"]
    tokens, _, _ = exported(tmp_path, TraceBuilder().plain(*pieces).finish())
    assert [t["text"].removeprefix("'") for t in tokens] == pieces


def test_a_split_character_stands_in_the_row_that_completes_it(tmp_path: Path) -> None:
    trace = TraceBuilder().step([b"\xf0", b"\x9f"], 2, b"\x98").step(target=b"\x80").finish()
    tokens, _, _ = exported(tmp_path, trace)
    assert [t["text"] for t in tokens] == ["", "", "", "😀"]
    assert "".join(t["piece_hex"] for t in tokens) == "f09f9880"
    assert "\ufffd" not in (tmp_path / "tokens.csv").read_text(encoding="utf-8")


def test_what_a_stop_text_cut_is_not_exported(tmp_path: Path) -> None:
    builder = TraceBuilder().step(["a", "E"], 2, "N").step(["D", "x"], 2, "y")
    tokens, steps, (row,) = exported(tmp_path, builder.finish(StopReason.STOP_TEXT, n_committed=1))
    assert [t["text"] for t in tokens] == ["a"]
    assert [s["accepted"] for s in steps] == ["1", "0"]
    assert [s["rejected"] for s in steps] == ["1", "2"]
    assert [s["target_source"] for s in steps] == ["", ""]
    assert row["accepted"] == row["committed"] == "1"


# Summary -----------------------------------------------------------------------------------------
def test_a_row_for_each_run_with_the_comparison_beside_the_speculative_one(tmp_path: Path) -> None:
    trace = explanation().trace
    base = baseline_of(trace)
    tokens, steps, (first, second) = exported(tmp_path, base, trace)
    assert (first["mode"], second["mode"]) == ("baseline", "speculative")
    assert {t["run_id"] for t in tokens} == {"run-0", "run-1"}
    assert len(steps) == len(base.steps) + len(trace.steps)
    assert (first["comparison.verdict"], second["comparison.identical"]) == ("", "true")
    assert second["target.name"] == "Qwen3 14B"
    assert second["engine.llama_cpp"] == "test"
    assert second["effective.n_ctx"] == "4096"
    assert float(second["time.verify_seconds"]) == run_summary(trace)["time"]["verify_seconds"]
    assert float(second["accepted_by_position.0"]) == run_summary(trace)["accepted_by_position"][0]
    assert first["accepted_by_position.0"] == first["draft.name"] == ""
    assert second["token_ids"].split() == [str(token.token_id) for token in trace.tokens]


def test_nested_values_are_flattened_with_dots() -> None:
    flat = flatten({"a": {"b": {"c": 1}}, "accepted_by_position": [0.5, None], "ids": [1, 2]})
    assert flat == {
        "a.b.c": 1, "accepted_by_position.0": 0.5, "accepted_by_position.1": None, "ids": "1 2",
    }  # fmt: skip
    assert flatten({"a": [{"b": 1}, {"b": 2}]}) == {"a.0.b": 1, "a.1.b": 2}


def test_lengths_and_what_a_rate_divides_by_get_columns_of_their_own(tmp_path: Path) -> None:
    trace = TraceBuilder().step(["a", "b"], 1, "c").step(["d"], 1, "e").plain("f").finish()
    _, _, (row,) = exported(tmp_path, trace)
    assert [row[f"tested_by_position.{i}"] for i in range(2)] == ["2", "1"]
    assert [row[f"drafted_lengths.{i}"] for i in range(3)] == ["1", "1", "1"]
    assert [row[f"accepted_lengths.{i}"] for i in range(2)] == ["1", "2"]
    assert (row["dropped_drafts"], row["differences"]) == ("0", "")
    assert not any(name.startswith("settings") for name in row)


def test_columns_of_later_rows_stand_beside_their_neighbours() -> None:
    rows = [{"a": 1, "z": 2}, {"a": 1, "b": 2, "c": 3, "z": 4}, {"z": 1, "end": 2}]
    assert columns_of(rows) == ["a", "b", "c", "z", "end"]


def test_a_trace_cut_short_is_exported_as_far_as_it_goes(tmp_path: Path) -> None:
    tokens, _, (row,) = exported(tmp_path, TraceBuilder().step(target="a").trace)
    assert len(tokens) == 1
    assert row["stop_reason"] == ""


def test_no_tokens_make_empty_tables(tmp_path: Path) -> None:
    tokens, steps, rows = exported(tmp_path, TraceBuilder().finish())
    assert (tokens, steps, len(rows)) == ([], [], 1)
    assert exported(tmp_path) == ([], [], [])


def test_a_drafter_without_a_draft_is_empty(tmp_path: Path) -> None:
    trace = TraceBuilder().step(target="a", drafter=DraftSource.NGRAM_MOD, n_dropped=2).finish()
    tokens, steps, _ = exported(tmp_path, trace)
    assert (tokens[0]["drafter"], steps[0]["drafter"]) == ("", "ngram-mod")


def test_a_row_for_each_run_and_source(tmp_path: Path) -> None:
    config = run_config(sources=[DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_MOD])
    builder = TraceBuilder(config)
    builder.step(["a", "b"], 1, "x", drafter=DraftSource.NGRAM_MOD)
    builder.step(["c"], 0, "y", drafter=DraftSource.NGRAM_MOD)
    trace = builder.finish()
    write_csv([baseline_of(trace), trace], tmp_path)
    mod, model = table(tmp_path, "sources.csv")
    assert (mod["run_id"], mod["mode"], mod["source"]) == ("run-1", "speculative", "ngram-mod")
    assert [mod[name] for name in ("drafts", "drafted", "accepted")] == ["2", "3", "1"]
    assert (mod["accepted_by_position.0"], mod["accepted_by_position.1"]) == ("0.5", "0.0")
    assert mod["mean_accepted_length"] == "1.5"
    assert (model["source"], model["drafts"]) == ("draft-simple", "0")
    assert model["mean_accepted_length"] == model["accepted_by_position.0"] == ""
    assert "sources" not in table(tmp_path, "summary.csv")[1]


def test_the_table_of_sources_has_its_columns_without_a_source(tmp_path: Path) -> None:
    write_csv([baseline_of(explanation().trace)], tmp_path)
    assert (tmp_path / "sources.csv").read_bytes() == SOURCES.encode() + b"\r\n"


# Files -------------------------------------------------------------------------------------------
def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "Модели" / "é ü"
    write_csv([explanation().trace], folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "sources.csv", "steps.csv", "summary.csv", "tokens.csv",
    ]  # fmt: skip


def test_a_folder_that_is_a_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(FileError, match="cannot be written"):
        write_csv([explanation().trace], tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_a_failure_half_way_leaves_the_old_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv([TraceBuilder().step(target="old").finish()], tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_: object) -> Iterator[dict[str, object]]:
        yield {"step": 0}
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("specviz.export.csv_tables.step_rows", full)
    with pytest.raises(FileError, match="no space left on device"):
        write_csv([TraceBuilder().step(target="new").finish()], tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_read_only_folder_is_a_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="permission denied"):
        write_csv([explanation().trace], tmp_path)
    tmp_path.chmod(0o700)
