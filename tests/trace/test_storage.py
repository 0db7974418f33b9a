"""Trace files: written as they grow, read whole or cut off, never trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.random_runs import folded, runs
from support.traces import TraceBuilder, explanation

from specviz.errors import FileError, TraceError
from specviz.export.csv_tables import write_csv
from specviz.export.summary_json import summary_text
from specviz.trace import codec, storage
from specviz.trace.events import RunEvent, StopReason
from specviz.trace.metrics import ThroughputSeries
from specviz.trace.storage import TraceWriter, events_of, read_trace, write_trace

PER_EXAMPLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write_lines(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@PER_EXAMPLE
@given(events=runs())
def test_any_run_reads_back_as_it_was(tmp_path: Path, events: list[RunEvent]) -> None:
    path = tmp_path / "run.specviz.jsonl"
    trace = folded(events)
    write_trace(trace, path)
    read = read_trace(path)
    assert list(events_of(read)) == events
    assert read.tokens == trace.tokens
    assert read.counts == trace.counts
    assert read.incomplete == trace.incomplete
    assert not read.unreadable_tail


def test_the_file_is_a_header_and_an_event_a_line(tmp_path: Path) -> None:
    path = tmp_path / "run.specviz.jsonl"
    trace = TraceBuilder().step(["a"], 1, "é").finish()
    write_trace(trace, path)
    header, *events = lines_of(path)
    assert (header["schema"], header["version"]) == ("specviz.trace/1", 1)
    assert [event["event"] for event in events] == [
        "RunStarted", "Prefilled", "StepVerified", "RunFinished",
    ]  # fmt: skip
    assert events[2]["target"]["piece"] == "é"
    assert b"\r" not in path.read_bytes()


def test_every_event_is_on_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run.specviz.jsonl"
    trace = explanation().trace
    with TraceWriter(path) as writer:
        for count, event in enumerate(events_of(trace), 1):
            writer.write(event)
            assert len(lines_of(path)) == 1 + count


def test_a_file_cut_at_any_byte_reads_up_to_its_last_whole_line(tmp_path: Path) -> None:
    whole = tmp_path / "whole.specviz.jsonl"
    builder = TraceBuilder().step(["a", b"\xf0\x9f"], 2, b"\x98\x80").step(target="né")
    write_trace(builder.finish(), whole)
    data = whole.read_bytes()
    events = list(events_of(read_trace(whole)))
    cut = tmp_path / "cut.specviz.jsonl"
    begin_of_steps = data.index(b"\n", data.index(b"\n") + 1) + 1
    for size in range(len(data)):
        cut.write_bytes(data[:size])
        if size < begin_of_steps:
            with pytest.raises(TraceError):
                read_trace(cut)
            continue
        trace = read_trace(cut)
        n_whole = data[:size].count(b"\n") - 1
        assert list(events_of(trace)) == events[:n_whole]
        assert trace.incomplete
        assert trace.unreadable_tail == (not data[:size].endswith(b"\n"))


def test_unknown_fields_and_unknown_events_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "run.specviz.jsonl"
    write_trace(TraceBuilder().step(target="a").finish(), path)
    header, started, *rest = lines_of(path)
    header["colour"] = "green"
    started["mood"] = {"deep": [1, {"er": None}]}
    started["config"]["load"]["n_gpus"] = 4
    note = {"event": "Applause", "t": "loud"}
    assert read_trace(write_lines(path, [header, note, started, note, *rest, note])).text == "a"


@pytest.mark.parametrize("version", ["2", "17", "999999"])
def test_a_newer_version_is_refused_in_a_sentence(tmp_path: Path, version: str) -> None:
    path = write_lines(tmp_path / "new.specviz.jsonl", [{"schema": f"specviz.trace/{version}"}])
    with pytest.raises(TraceError, match=f"newer SpecViz.*version {version}") as caught:
        read_trace(path)
    assert "Update" in caught.value.hint


def test_an_older_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.specviz.jsonl"
    write_trace(TraceBuilder().step(target="a").finish(), path)
    header, *rest = lines_of(path)
    write_lines(path, [{**header, "schema": "specviz.trace/0"}, *rest])
    assert read_trace(path).text == "a"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\n", b"hello\n", b"[]\n", b"{}\n", b'{"schema": 5}\n',
        b'{"schema": "specviz.trace/"}\n', b'{"schema": "specviz.trace/one"}\n',
        b'{"schema": "specviz.trace/-1"}\n', b'{"schema": "specviz.trace/99999999"}\n',
        b'{"schema": "specviz.script/1"}\n', b"GGUF\x03\x00\x00\x00", b"\x00" * 5000,
        b"[" * 200_000 + b"\n",
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "holiday.jpg"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"holiday\.jpg is not a SpecViz trace"):
        read_trace(path)


def test_a_trace_without_a_run_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "empty.specviz.jsonl", [{"schema": "specviz.trace/1"}])
    with pytest.raises(TraceError, match="holds no run"):
        read_trace(path)


def test_an_endless_line_is_refused_before_it_fills_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "MAX_LINE_BYTES", 4096)
    path = tmp_path / "long.specviz.jsonl"
    write_trace(TraceBuilder().step(target="a").finish(), path)
    with path.open("ab") as file:
        file.write(b'{"event": "' + b"x" * 5000 + b'"}\n')
    with pytest.raises(TraceError, match=r"Line 6 .* too long"):
        read_trace(path)


@pytest.mark.parametrize("line", [b"\n", b"null\n", b"[]\n", b"\xff\n", b"{\n", b'{"t": 1}\n'])
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "run.specviz.jsonl"
    write_trace(TraceBuilder().step(target="a").trace, path)
    with path.open("ab") as file:
        file.write(line)
    with pytest.raises(TraceError, match=r"run\.specviz\.jsonl is damaged at line 5"):
        read_trace(path)


HOSTILE_VALUES: list[Any] = [
    None, True, -1, -0.5, 2**63, 10**400, 1e308, 5e-324, "", "=cmd()", "\ud800", "NaN", [], [[]],
    {}, {"hex": "zz"}, {"hex": "ff"}, [None], 0, 1, 3, "baseline", "speculative",
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to every value inside `value`."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(
        value, list) else ()  # fmt: skip
    return [at, *(place for key, item in inner for place in places(item, (*at, key)))]


def replaced(value: Any, place: tuple[Any, ...], by: Any) -> Any:
    if not place:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = replaced(value[place[0]], place[1:], by)
    return copy


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_trace_with_a_hostile_value_is_refused_or_harmless(
    tmp_path: Path, data: st.DataObject
) -> None:
    path = tmp_path / "hostile.specviz.jsonl"
    builder = TraceBuilder().step(["a", "b"], 1, "c", probs=[(0.5, 0.5)] * 2, runner_up=("d", 1))
    write_trace(builder.finish(StopReason.STOP_TEXT, 2, b"c"), path)
    lines = lines_of(path)
    place = data.draw(st.sampled_from(places(lines)))
    lines = replaced(lines, place, data.draw(st.sampled_from(HOSTILE_VALUES)))
    write_lines(path, lines if isinstance(lines, list) else [lines])
    try:
        trace = read_trace(path)
    except TraceError as error:
        assert error.message.endswith(".")
        return
    codec.loads(summary_text([trace]))
    write_csv([trace], tmp_path / "csv")
    ThroughputSeries(trace).extend()
    write_trace(trace, path)
    assert read_trace(path).tokens == trace.tokens


@PER_EXAMPLE
@given(noise=st.binary(max_size=300), at=st.integers(0, 5000), n=st.integers(0, 50))
def test_flipped_bytes_never_do_worse_than_a_sentence(
    tmp_path: Path, noise: bytes, at: int, n: int
) -> None:
    path = tmp_path / "noise.specviz.jsonl"
    write_trace(TraceBuilder().step(["a"], 0, "c").finish(), path)
    data = path.read_bytes()
    at %= len(data)
    path.write_bytes(data[:at] + noise + data[at + n :])
    try:
        trace = read_trace(path)
    except TraceError:
        return
    summary_text([trace])


def test_a_missing_file_and_a_folder_are_file_errors(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"gone\.specviz\.jsonl cannot be read"):
        read_trace(tmp_path / "gone.specviz.jsonl")
    with pytest.raises(FileError):
        read_trace(tmp_path)
    with pytest.raises(FileError, match="cannot be written"):
        TraceWriter(tmp_path / "missing" / "run.specviz.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_sentence() -> None:
    with pytest.raises(FileError, match="no space left on device"):
        TraceWriter(Path("/dev/full"))
