"""A stored run comes with the partner that did the same task, and says when it ends early."""

from __future__ import annotations

import asyncio

import pytest
from support.traces import baseline_of, explanation

from specviz.errors import TraceError
from specviz.trace.config import RunMode
from specviz.trace.storage import write_trace
from specviz.ui.stored_runs import read_runs

SPECULATIVE, BASELINE = "run.speculative.specviz.jsonl", "run.baseline.specviz.jsonl"


@pytest.fixture
def pair(tmp_path):
    speculative = explanation().trace
    write_trace(speculative, tmp_path / SPECULATIVE)
    write_trace(baseline_of(speculative), tmp_path / BASELINE)
    return tmp_path


@pytest.mark.parametrize("name", [SPECULATIVE, BASELINE])
def test_either_of_a_pair_brings_the_other(pair, name):
    runs = asyncio.run(read_runs(pair / name))
    assert runs.baseline.mode is RunMode.BASELINE
    assert runs.speculative.mode is RunMode.SPECULATIVE is runs.mode
    assert not runs.cut_short


def test_a_run_without_a_partner_comes_alone(pair):
    (pair / SPECULATIVE).unlink()
    runs = asyncio.run(read_runs(pair / BASELINE))
    assert runs.speculative is None and runs.mode is RunMode.BASELINE


def test_a_partner_that_did_something_else_stays_away(pair):
    text = (pair / BASELINE).read_text(encoding="utf-8")
    changed = text.replace('"max_tokens":', '"max_tokens":1', 1)
    assert changed != text
    (pair / BASELINE).write_text(changed, encoding="utf-8")
    runs = asyncio.run(read_runs(pair / SPECULATIVE))
    assert runs.baseline is None and runs.speculative is not None


def test_a_file_cut_short_is_shown_as_far_as_it_goes(pair):
    lines = (pair / SPECULATIVE).read_text(encoding="utf-8").splitlines(keepends=True)
    (pair / SPECULATIVE).write_text("".join(lines[:-1]), encoding="utf-8")
    runs = asyncio.run(read_runs(pair / SPECULATIVE))
    assert runs.cut_short and runs.speculative.steps


def test_what_is_no_trace_is_said(pair):
    (pair / SPECULATIVE).write_text("{}\n", encoding="utf-8")
    with pytest.raises(TraceError):
        asyncio.run(read_runs(pair / SPECULATIVE))
