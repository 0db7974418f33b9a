"""The result as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.random_runs import folded, runs
from support.traces import TraceBuilder, baseline_of, explanation, run_config

from specviz.cli.summary_table import (
    lossless_lines,
    seconds,
    source_lines,
    summary_lines,
    verdict_lines,
)
from specviz.trace.comparison import Comparison, Verdict, compare, compare_repeated
from specviz.trace.config import DraftSource, RunMode
from specviz.trace.events import RunEvent, StopReason
from specviz.trace.lossless import BatchShape, LosslessCheck, ShapeMargin
from specviz.trace.trace import Trace


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
    assert verdict_lines(comparison(speedup_spread=(1.2, 1.9), n_repeats=3))[0] == (
        "Faster: 1.50 × the speed of the baseline (median of 3 repeats, from 1.20 × to 1.90 ×)."
    )


def forked(margin: float, temperature: float = 0.0) -> tuple[Trace, Trace]:
    """Equal for two tokens, then “b” in place of “a”."""
    base = TraceBuilder(run_config(RunMode.BASELINE, temperature=temperature), run_id="base")
    base.plain("x", "y").step(target="a", runner_up=("b", margin)).plain("z")
    spec = TraceBuilder(run_config(temperature=temperature)).step(["x"], 1, "y").plain("b", "z")
    return base.finish(), spec.finish()


def lossless(pair: tuple[Trace, Trace], check: LosslessCheck | None = None) -> list[str]:
    return lossless_lines(compare(*pair, check), *pair)


def test_forks_are_explained() -> None:
    first, margins, why = lossless(forked(0.03))
    assert first == (
        "The output is identical for 2 tokens; then a near-tie (margin 0.03 logits), “b” in place "
        "of “a”: rounding, not an error."
    )
    assert margins == (
        "As the runs recorded it, “a” leads “b” by +0.03 logits in a pass over one row."
    )
    assert why.startswith("A pass over several rows adds up in another order")
    bad = lossless(forked(4.0))
    assert bad[0].endswith("“b” in place of “a” (margin 4.00 logits): not explained by rounding.")
    assert why not in bad
    (hot,) = lossless(forked(4.0, temperature=0.8))
    assert "not comparable token by token" in hot


def test_what_a_check_found_is_told() -> None:
    margins = tuple(
        ShapeMargin(shape=shape, n_rows=n, margin=m)
        for shape, n, m in zip(BatchShape, (1, 2, 9), (0.3, -0.1, 0.2), strict=True)
    )
    lines = lossless(forked(4.0), LosslessCheck(fork=2, margins=margins, n_rechecked=4))
    assert "a near-tie (margin 0.30 logits)" in lines[0]
    assert lines[1].startswith("Evaluated anew on fresh memory, “a” leads “b” by +0.30 logits in a")
    assert lines[-1] == "All 4 tokens were confirmed on fresh memory."


def test_one_token_is_not_all_tokens() -> None:
    trace = TraceBuilder().step(["x"], 0, "a").finish()
    assert lossless((baseline_of(trace), trace)) == ["The output is identical for its one token."]


def test_settings_in_effect_otherwise_than_asked_for_are_told_once() -> None:
    trace = explanation().trace
    base = baseline_of(trace)
    for run in (base, trace):
        assert run.started is not None
        run.started.effective["n_ctx_allocated"] = 4352
    lines = summary_lines([base, trace], compare(base, trace))
    assert lines.count("Context memory: asked for 4096 tokens, in effect 4352 tokens.") == 1
    assert not any("asked for" in line for line in summary_lines([explanation().trace], None))


def test_every_share_says_what_it_divides_by() -> None:
    builder = TraceBuilder().step(["a", "b"], 1, "x").step(["c"], 1, "y").step(target="z")
    lines = summary_lines([builder.step(target="w", n_dropped=2).finish()], None)
    rows = {line[:26].strip(): line[26:].strip() for line in lines}
    assert rows["drafted per step"] == "1.25"
    assert rows["accepted of tested"] == "2 of 3 (67 %)"
    assert rows["accepted by position, %"] == "100 0"
    assert rows["of so many tested"] == "2 1"
    assert rows["dropped of drafted"] == "2 of 5"


def test_a_run_cut_short_is_not_called_wholly_identical() -> None:
    spec = explanation().trace
    builder = explanation(close=False)
    cut = builder.finish(StopReason.CANCELLED, n_committed=9)
    result = compare(baseline_of(spec), cut)
    assert lossless_lines(result, baseline_of(spec), cut) == [
        "The output is identical as far as both runs went (9 tokens)."
    ]


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
