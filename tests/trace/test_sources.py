"""What each draft source was asked, proposed and had accepted."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from support.random_runs import folded, runs
from support.traces import TraceBuilder, baseline_of, explanation, run_config

from specviz.trace.config import DraftSource
from specviz.trace.events import DraftCall, RunEvent, StopReason
from specviz.trace.sources import (
    SourceStatistics,
    SourceTally,
    source_statistics,
    statistics_line,
)
from specviz.trace.trace import Trace

SIMPLE, MOD, MODEL = DraftSource.NGRAM_SIMPLE, DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE

LLAMA_CPP = re.compile(
    r"statistics\s+(?P<impl>[\w-]+):\s+#calls(?:\(b,g,a\))?\s*=\s*"
    r"(?P<calls>\d+(?:\s+\d+\s+\d+)?),"
    r"\s*#gen drafts\s*=\s*(?P<gd>\d+),\s*#acc drafts\s*=\s*(?P<ad>\d+),"
    r"\s*#gen tokens\s*=\s*(?P<gt>\d+),\s*#acc tokens\s*=\s*(?P<at>\d+)"
    r"(?:,\s*#mean acc len\s*=\s*(?P<mal>[\d.]+),\s*#acc rate/pos\s*=\s*\((?P<rpp>[^)]*)\))?"
    r"(?:,\s*dur\(b,g,a\)\s*=\s*(?P<db>[\d.]+),\s*(?P<dg>[\d.]+),\s*(?P<da>[\d.]+)\s*ms)?"
)
"""How log readers take llama.cpp's lines apart."""


def call(source: DraftSource, n_tokens: int = 0, n_dropped: int = 0) -> DraftCall:
    return DraftCall(source=source, n_tokens=n_tokens, n_dropped=n_dropped, seconds=0.002)


def two_sources() -> TraceBuilder:
    """ngram-mod drafts twice and fails twice, once because of its minimum; the model steps in."""
    builder = TraceBuilder(run_config(sources=[MODEL, MOD]))
    builder.begin(MOD, 0.003).begin(MODEL, 0.05)
    builder.step(target="a", calls=[call(MOD, n_dropped=2), call(MODEL)], n_dropped=2)
    builder.step(["b", "c", "d"], 2, "e", drafter=MOD, calls=[call(MOD, 3)], accept_seconds=0.001)
    builder.step(["f"], 0, "g", drafter=MOD, calls=[call(MOD, 1)], accept_seconds=0.001)
    builder.step(["h", "i"], 2, "j", drafter=MODEL, calls=[call(MOD), call(MODEL, 2)])
    return builder


def test_two_sources_counted_on_paper() -> None:
    mod, model = source_statistics(two_sources().finish())
    assert (mod.source, model.source) == (MOD, MODEL)
    assert (mod.n_begin_calls, mod.n_draft_calls, mod.n_accept_calls) == (1, 4, 2)
    assert (mod.n_drafts, mod.n_dropped_drafts, mod.n_accepted_drafts) == (2, 1, 1)
    assert (mod.n_drafted, mod.n_tested, mod.n_accepted, mod.n_dropped) == (6, 4, 2, 2)
    assert mod.tested_by_position == (2, 1, 1)
    assert mod.accepted_by_position == (1, 1, 0)
    assert mod.rates_by_position == [0.5, 1.0, 0.0]
    assert mod.mean_accepted_length == 2.0
    assert mod.acceptance_rate == 0.5
    assert mod.seconds_per_call == pytest.approx(0.002)
    assert (mod.begin_seconds, mod.accept_seconds) == pytest.approx((0.003, 0.002))
    assert (model.n_draft_calls, model.n_accept_calls, model.n_drafts) == (2, 1, 1)
    assert (model.n_tested, model.n_accepted, model.mean_accepted_length) == (2, 2, 3.0)


def test_a_source_that_never_drafted_is_there_with_its_calls() -> None:
    builder = TraceBuilder(run_config(sources=[SIMPLE])).begin(SIMPLE)
    builder.step(target="a", calls=[call(SIMPLE)]).step(target="b", calls=[call(SIMPLE)])
    (simple,) = source_statistics(builder.finish())
    assert (simple.n_draft_calls, simple.n_drafts, simple.n_accept_calls) == (2, 0, 0)
    assert simple.mean_accepted_length is None
    assert simple.acceptance_rate is None


def test_no_sources_without_drafting() -> None:
    assert source_statistics(baseline_of(explanation().trace)) == ()
    assert source_statistics(Trace()) == ()


def test_what_a_stop_text_took_back_was_not_accepted() -> None:
    builder = TraceBuilder().step(["a", "E"], 2, "N").step(["D", "x"], 2, "y")
    tally = SourceTally(builder.trace)
    assert tally.extend()[0].n_accepted == 4
    builder.finish(StopReason.STOP_TEXT, n_committed=1)
    (model,) = tally.extend()
    assert (model.n_accepted, model.n_accepted_drafts, model.n_tested) == (1, 1, 4)
    assert model.n_accepted == builder.trace.counts.accepted


def test_an_older_trace_is_read_by_what_its_steps_tell() -> None:
    builder = TraceBuilder().step(["a", "b"], 1, "c", seconds=0.1, draft_share=0.2).plain("d")
    builder.step(target="e", drafter=MODEL, n_dropped=3)
    (model,) = source_statistics(builder.finish())
    assert (model.n_draft_calls, model.n_drafts, model.n_dropped_drafts) == (2, 1, 1)
    assert (model.n_tested, model.n_accepted, model.n_dropped) == (2, 1, 3)
    assert model.draft_seconds == pytest.approx(0.02)


def test_a_source_that_the_configuration_does_not_name_counts_all_the_same() -> None:
    trace = TraceBuilder(run_config(sources=[MODEL])).step(["a"], 1, "b", drafter=MOD).finish()
    assert [each.source for each in source_statistics(trace)] == [MOD, MODEL]


@given(runs())
def test_the_sources_add_up_to_the_run_and_may_be_added_up_as_it_grows(
    events: list[RunEvent],
) -> None:
    whole = folded(events)
    growing = Trace()
    tally = SourceTally(growing)
    for event in events:
        growing.append(event)
        last = tally.extend()
    statistics = source_statistics(whole)
    assert last == statistics
    counts = whole.counts
    assert sum(each.n_accepted for each in statistics) == counts.accepted
    assert sum(each.n_tested for each in statistics) == counts.tested
    assert sum(each.n_accept_calls for each in statistics) == counts.steps_with_draft
    for each in statistics:
        assert sum(each.accepted_by_position) == each.n_accepted <= each.n_tested
        assert each.n_accepted_drafts <= each.n_drafts <= each.n_draft_calls


# In llama.cpp's words ----------------------------------------------------------------------------
COUNTED = SourceStatistics(
    source=SIMPLE,
    n_begin_calls=1,
    n_draft_calls=4,
    n_accept_calls=2,
    n_drafts=3,
    n_accepted_drafts=1,
    n_tested=12,
    n_accepted=2,
    tested_by_position=(2, 2, 2),
    accepted_by_position=(1, 1, 0),
    begin_seconds=1e-6,
    draft_seconds=4e-6,
    accept_seconds=2e-6,
)


def test_the_line_is_that_of_llama_cpp_to_the_letter() -> None:
    assert statistics_line(COUNTED) == (
        "statistics     ngram-simple: #calls(b,g,a) =    1      4      2, #gen drafts =      3, "
        "#acc drafts =     1, #gen tokens =     12, #acc tokens =     2, #mean acc len = 2.00, "
        "#acc rate/pos = (0.500, 0.500), dur(b,g,a) = 0.001, 0.004, 0.002 ms"
    )


def test_the_line_of_a_source_that_never_drafted_leaves_the_averages_out() -> None:
    assert statistics_line(SourceStatistics(source=MODEL, n_draft_calls=7)) == (
        "statistics     draft-simple: #calls(b,g,a) =    0      7      0, #gen drafts =      0, "
        "#acc drafts =     0, #gen tokens =      0, #acc tokens =     0, "
        "dur(b,g,a) = 0.000, 0.000, 0.000 ms"
    )


@pytest.mark.parametrize("source", DraftSource)
def test_a_log_reader_gets_every_number_back(source: DraftSource) -> None:
    many = replace(COUNTED, source=source, n_draft_calls=1_234_567, draft_seconds=98.7654321)
    found = LLAMA_CPP.fullmatch(statistics_line(many))
    assert found is not None
    assert found["impl"] == source.value
    assert found["calls"].split() == ["1", "1234567", "2"]
    assert [found[name] for name in ("gd", "ad", "gt", "at")] == ["3", "1", "12", "2"]
    assert (found["mal"], found["rpp"]) == ("2.00", "0.500, 0.500")
    assert float(found["dg"]) == pytest.approx(98765.432)


def test_no_accepted_token_makes_an_empty_list_of_rates() -> None:
    unlucky = replace(COUNTED, n_accepted=0, n_accepted_drafts=0, accepted_by_position=(0, 0, 0))
    found = LLAMA_CPP.fullmatch(statistics_line(unlucky))
    assert found is not None
    assert (found["mal"], found["rpp"]) == ("1.00", "")
