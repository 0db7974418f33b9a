"""The summary file, and files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.traces import TraceBuilder, baseline_of, explanation

from specviz.errors import FileError
from specviz.export.atomic import write_files
from specviz.export.summary_json import summary_text, write_summary
from specviz.trace.comparison import compare_repeated
from specviz.trace.summary import summary


def test_the_file_is_the_summary(tmp_path: Path) -> None:
    trace = explanation().trace
    path = tmp_path / "summary.json"
    write_summary([baseline_of(trace), trace], path)
    assert json.loads(path.read_bytes()) == summary([baseline_of(trace), trace])
    assert path.read_bytes().endswith(b"}\n")


def test_a_comparison_of_repeats_is_taken_over() -> None:
    trace = explanation().trace
    repeats = compare_repeated([baseline_of(trace)] * 2, [trace] * 2)
    values = json.loads(summary_text([baseline_of(trace), trace], repeats))
    spread = values["comparison"]["speedup_spread"]
    assert spread == [pytest.approx(repeats.speedup)] * 2


def test_text_is_utf8_and_readable() -> None:
    text = summary_text([TraceBuilder().step(target="né 😀").finish()])
    assert "né 😀" in text


def test_an_old_file_stays_when_the_new_one_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def fail(_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match="no space left on device"):
        write_files({path: lambda file: file.write("new"), tmp_path / "b.json": fail})
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]
    assert path.read_text() == "old"


def test_a_missing_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file or directory"):
        write_summary([], tmp_path / "missing" / "summary.json")


def test_a_folder_in_the_way_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "summary.json").mkdir()
    with pytest.raises(FileError, match="cannot be written"):
        write_summary([], tmp_path / "summary.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["summary.json"]


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs links")
def test_a_link_is_written_through(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    write_files({link: lambda file: file.write("new")})
    assert link.is_symlink()
    assert real.read_text() == "new"


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_a_device_is_written_to_and_not_replaced() -> None:
    write_summary([], Path("/dev/null"))
    assert Path("/dev/null").is_char_device()
