"""Why a run came out as it did, in sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from support.random_runs import folded, runs
from support.traces import TraceBuilder, baseline_of, run_config

from specviz.trace.comparison import Verdict, compare
from specviz.trace.config import DraftSource, NgramModConfig, RunConfig, SpeculationConfig
from specviz.trace.events import DraftCall, RunEvent
from specviz.trace.reasons import match_length
from specviz.trace.trace import Trace

MOD, MODEL = DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE
FOUND_NOTHING = DraftCall(source=MOD, n_tokens=0, n_dropped=0, seconds=0.0)


def ngram_config(**mod: int) -> RunConfig:
    config = run_config(sources=[MOD])
    speculation = replace(config.speculation, ngram_mod=NgramModConfig(**mod))
    return replace(config, speculation=speculation)


def searching(n: int, builder: TraceBuilder | None = None, n_dropped: int = 0) -> TraceBuilder:
    """Steps of 0.1 s in which ngram-mod is asked in vain."""
    builder = builder or TraceBuilder(ngram_config())
    call = DraftCall(source=MOD, n_tokens=0, n_dropped=n_dropped, seconds=0.0)
    for i in range(n):
        builder.step(target=f"p{i}", calls=[call], n_dropped=n_dropped)
    return builder


def copying(builder: TraceBuilder, n: int, accepted: int, seconds: float) -> TraceBuilder:
    """Steps that check eight copied tokens, of which so many are accepted."""
    for i in range(n):
        draft = [f"c{i}.{j}" for j in range(8)]
        builder.step(draft, accepted, f"t{i}", seconds=seconds, copied_from=3, draft_share=0.0)
    return builder


def told(speculative: Trace, step_seconds: float = 0.1) -> tuple[Verdict, tuple[str, ...]]:
    result = compare(baseline_of(speculative, seconds=step_seconds), speculative)
    return result.verdict, result.reasons


# Copies ------------------------------------------------------------------------------------------
def test_no_matches_are_told_with_what_was_searched_for() -> None:
    verdict, reasons = told(searching(9).finish())
    assert verdict is Verdict.SPECULATION_NEVER_RAN
    assert reasons == (
        "No matches: the text was searched 9 times for the last 6 tokens, and nothing was found "
        "to copy.",
        "Both runs did the same work.",
    )


def test_a_long_match_in_vain_comes_with_advice() -> None:
    builder = searching(9, TraceBuilder(ngram_config(n_match=24)))
    _, reasons = told(builder.finish())
    assert "for the last 24 tokens" in reasons[0]
    assert reasons[1] == "Fewer matching tokens find more; 6 suit short texts."


def test_matches_below_the_minimum_are_not_called_no_matches() -> None:
    verdict, reasons = told(searching(9, n_dropped=3).finish())
    assert verdict is Verdict.SPECULATION_NEVER_RAN
    assert reasons == (
        "All 27 drafted tokens were thrown away unchecked: what was found to copy, 9 times, was "
        "shorter than the shortest draft allowed.",
    )


def test_matches_that_do_not_pay_are_told_with_their_price() -> None:
    # eight checks of 9 rows: 0.93 x 0.5 s against a target step of 0.93 x 0.1 s, for 3 tokens each
    verdict, reasons = told(copying(searching(4), 8, accepted=2, seconds=0.5).finish())
    assert verdict is Verdict.SLOWER
    assert reasons[0] == (
        "Something to copy was found in 8 of 12 steps, but checking it is too dear here: a check "
        "of 9.0 tokens costs 5.00 target steps and yields 3.00 tokens."
    )


def test_matches_that_pay_and_are_too_few_are_told_so() -> None:
    verdict, reasons = told(copying(searching(60), 1, accepted=2, seconds=0.2).finish())
    assert verdict is Verdict.NO_REAL_GAIN
    assert reasons[0] == (
        "Something to copy was found in only 1 of 61 steps; a check of 9.0 tokens costs 2.00 "
        "target steps and yields 3.00 tokens."
    )


def test_matches_that_pay_are_told_when_it_is_faster() -> None:
    verdict, reasons = told(copying(searching(4), 8, accepted=8, seconds=0.2).finish())
    assert verdict is Verdict.FASTER
    assert reasons[0].startswith("Something to copy was found in 8 of 12 steps; a check of 9.0")
    assert not any("drafting a token" in reason for reason in reasons)


def test_finds_thrown_away_beside_copies_are_told_when_they_are_many() -> None:
    builder = copying(searching(9, n_dropped=1), 2, accepted=1, seconds=0.3)
    _, reasons = told(builder.finish())
    assert "Another 9 finds were shorter than the shortest draft allowed." in reasons


def test_with_a_model_beside_them_each_is_told_for_itself() -> None:
    builder = TraceBuilder(run_config(sources=[MOD, MODEL]))
    for i in range(6):
        builder.step([f"m{i}", "n"], 2, "x", drafter=MODEL, seconds=0.2, calls=[FOUND_NOTHING])
    _, reasons = told(builder.finish())
    assert reasons[0] == "In 6 searches nothing was found to copy."
    assert reasons[1].startswith("A check of 3.0 tokens on average costs 1.59 target steps")


def test_a_model_that_never_drafted_is_not_blamed_on_the_text() -> None:
    builder = TraceBuilder(run_config(sources=[MOD, MODEL])).plain(*"abcdef")
    assert told(builder.finish())[1] == (
        "Not a single token was drafted.", "Both runs did the same work.",
    )  # fmt: skip


# Where the time goes -----------------------------------------------------------------------------
def test_saving_and_restoring_is_named_when_it_is_much() -> None:
    def built(share: float, rollback: str = "checkpoint") -> tuple[str, ...]:
        builder = TraceBuilder()
        assert builder.trace.started is not None
        builder.trace.started.effective["rollback"] = rollback
        for i in range(6):
            builder.step([f"a{i}", "b"], 1, "c", seconds=0.825, restore_share=share)
        return told(builder.finish())[1]

    assert built(600 / 825)[0] == (
        "Saving and restoring the target's state takes 73 % of the time, because it cannot forget "
        "single tokens."
    )
    assert not any("Saving" in reason for reason in built(0.05))
    assert not any("Saving" in reason for reason in built(0.5, "trim"))


def test_a_draft_that_takes_most_of_the_time_is_named_when_it_does_not_pay() -> None:
    def built(seconds: float) -> tuple[str, ...]:
        builder = TraceBuilder()
        for i in range(6):
            builder.step([f"a{i}", "b"], 2, "c", seconds=seconds, draft_share=0.6)
        return told(builder.finish())[1]

    assert any(
        reason.startswith("Drafting is the largest part of the time, 60 %: fewer draft tokens")
        and "GPU" in reason
        for reason in built(0.5)
    )
    assert not any("largest" in reason for reason in built(0.1))


def test_each_source_says_how_much_must_match() -> None:
    lengths = [match_length(SpeculationConfig(), source) for source in DraftSource]
    assert lengths == [6, 6, 6, 6, None, None, None]


@given(runs(closed=True))
def test_any_run_gets_whole_sentences(events: list[RunEvent]) -> None:
    trace = folded(events)
    for reason in compare(baseline_of(trace), trace).reasons:
        assert reason.endswith(".") and reason[0].isupper()
        assert "nan" not in reason and "inf " not in reason and "None" not in reason


@pytest.mark.parametrize("n", [1, 2])
def test_one_is_not_written_as_many(n: int) -> None:
    _, reasons = told(searching(n, n_dropped=2).plain("a", "b", "c").finish())
    assert ("1 times" in reasons[0]) is False
