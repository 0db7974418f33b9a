"""The result as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.random_runs import folded, runs
from support.traces import TraceBuilder, baseline_of, explanation, run_config

from specviz.cli.summary_table import (
    lossless_line,
    seconds,
    source_lines,
    summary_lines,
    verdict_lines,
)
from specviz.trace.comparison import Comparison, Verdict, compare, compare_repeated
from specviz.trace.config import DraftSource, RunMode
from specviz.trace.events import RunEvent, StopReason
from specviz.trace.lossless import Divergence


def comparison(**changes: object) -> Comparison:
    values = {
        "verdict": Verdict.FASTER, "speedup": 1.5, "identical": True, "n_compared": 40,
        "first_divergence": None, "divergence": None, "margin": None, "reasons": ("Because.",),
    }  # fmt: skip
    return Comparison(**{**values, **changes})


def test_every_verdict_is_a_sentence() -> None:
    first = {
        verdict: verdict_lines(comparison(verdict=verdict, speedup=speedup))[0]
        for verdict, speedup in (
            (Verdict.FASTER, 1.5),
            (Verdict.NO_REAL_GAIN, 1.02),
            (Verdict.SLOWER, 0.6),
            (Verdict.SPECULATION_NEVER_RAN, None),
            (Verdict.OUTPUT_REPEATING, 3.0),
            (Verdict.NOT_MEASURED, None),
        )
    }
    assert first == {
        Verdict.FASTER: "Faster: 1.50 × the speed of the baseline.",
        Verdict.NO_REAL_GAIN: "No real gain: 1.02 × the speed of the baseline.",
        Verdict.SLOWER: "Slower: 0.60 × the speed of the baseline.",
        Verdict.SPECULATION_NEVER_RAN: "Speculation never ran.",
        Verdict.OUTPUT_REPEATING: "No verdict: the output is repeating.",
        Verdict.NOT_MEASURED: "No verdict: not enough to measure.",
    }
    assert set(first) == set(Verdict)


def test_repeats_show_their_spread() -> None:
    assert verdict_lines(comparison(speedup_spread=(1.2, 1.9)))[0] == (
        "Faster: 1.50 × the speed of the baseline (median; the repeats range from 1.20 × to "
        "1.90 ×)."
    )


def test_forks_are_explained() -> None:
    base, spec = baseline_of(explanation().trace), explanation().trace
    fork = {"identical": False, "first_divergence": 40, "margin": 0.03}
    near = lossless_line(comparison(**fork, divergence=Divergence.NEAR_TIE), base, spec)
    assert "identical for 40 tokens" in near
    assert "margin 0.03 logits" in near
    assert "rounding and not an error" in near
    bad = lossless_line(comparison(**fork, divergence=Divergence.UNEXPLAINED), base, spec)
    assert bad.endswith("not explained by rounding.")
    hot = lossless_line(comparison(**fork, divergence=None), base, spec)
    assert "temperature" in hot


def test_a_run_cut_short_is_not_called_wholly_identical() -> None:
    spec = explanation().trace
    builder = explanation(close=False)
    cut = builder.finish(StopReason.CANCELLED, n_committed=9)
    result = compare(baseline_of(spec), cut)
    assert lossless_line(result, baseline_of(spec), cut) == (
        "The output is identical as far as both runs went (9 tokens)."
    )


def test_a_baseline_alone_has_no_rows_about_drafts() -> None:
    lines = summary_lines([baseline_of(explanation().trace)], None)
    assert not any("accepted" in line or "Faster" in line for line in lines)
    assert lines[0].strip() == "baseline"


def test_repeats_show_the_run_of_median_speed() -> None:
    spec = explanation().trace
    bases = [baseline_of(spec, seconds=seconds) for seconds in (0.1, 0.4, 0.2)]
    lines = summary_lines([*bases, spec, spec, spec], compare_repeated(bases, [spec] * 3))
    rates = next(line for line in lines if line.startswith("tokens/s")).split()
    assert rates[1] == "5.0"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (0.0, "0.00 s"), (1e-16, "0.00 s"), (2.4e-5, "0.024 ms"), (0.0123, "12.3 ms"),
        (0.1, "0.10 s"), (0.0994, "99.4 ms"), (0.0999, "0.10 s"), (12.345, "12.35 s"),
        (123.4, "123.4 s"),
    ],
)  # fmt: skip
def test_durations_have_as_many_digits_as_can_be_read(value: float | None, text: str) -> None:
    assert seconds(value) == text


def test_undefined_is_a_dash() -> None:
    lines = summary_lines([TraceBuilder().finish()], None)
    assert any(line.startswith("tokens/s") and line.endswith("–") for line in lines)
    text = "\n".join(lines)
    assert "nan" not in text and "inf" not in text and "None" not in text


def row_of(lines: list[str], label: str) -> list[str]:
    found = [line.removeprefix(label).split("  ") for line in lines if line.startswith(label)]
    return [text.strip() for cells in found for text in cells if text.strip()]


def test_what_was_reused_of_the_prompt_stands_beside_the_prefill() -> None:
    base, spec = (
        TraceBuilder(run_config(mode), n_reused=n).plain("a").finish()
        for mode, n in zip(RunMode, (0, 8), strict=True)
    )
    lines = summary_lines([base, spec], None)
    assert row_of(lines, "prompt tokens reused") == ["0 of 11", "8 of 11"]
    assert row_of(summary_lines([base], None), "prompt tokens reused") == []


def test_reasoning_is_counted_beside_the_tokens_it_is_part_of() -> None:
    trace = TraceBuilder().plain("<think>", "Hm", "</think>", "Yes").finish()
    lines = summary_lines([trace], None)
    assert row_of(lines, "of these reasoning") == ["3"]
    assert row_of(lines, "tokens   ") == ["4"]
    assert row_of(summary_lines([explanation().trace], None), "of these reasoning") == []


def test_each_source_has_a_line_as_llama_cpp_writes_it() -> None:
    config = run_config(sources=[DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_MOD])
    trace = TraceBuilder(config).step(["a"], 1, "b", drafter=DraftSource.NGRAM_MOD).finish()
    empty, mod, model = source_lines([baseline_of(trace), trace])
    assert empty == ""
    assert mod.startswith("statistics        ngram-mod: #calls(b,g,a) = ")
    assert model.startswith("statistics     draft-simple: #calls(b,g,a) = ")
    assert source_lines([baseline_of(trace)]) == []


@given(runs())
def test_any_run_makes_a_table(events: list[RunEvent]) -> None:
    lines = summary_lines([folded(events)], None)
    assert len({len(line) for line in lines}) == 1
