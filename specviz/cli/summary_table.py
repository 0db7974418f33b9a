"""The result of a measurement as lines of text: verdict, reasons, table. Prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median_low

from specviz.trace import metrics
from specviz.trace.comparison import Comparison, Verdict
from specviz.trace.config import RunMode
from specviz.trace.events import StopReason
from specviz.trace.fork import (
    WHY_WIDTH_TIPS_TIES,
    fork_sentence,
    margins_sentence,
    recheck_sentence,
)
from specviz.trace.lossless import Divergence
from specviz.trace.reasoning import reasoning_of
from specviz.trace.settings_in_effect import difference_sentence, differences
from specviz.trace.sources import source_statistics, statistics_line
from specviz.trace.trace import Trace

UNDEFINED = "–"

MOST_POSITIONS = 8
"""Draft positions that a line of the table has room for."""

STOP_REASONS = {
    StopReason.END_OF_GENERATION: "end of generation",
    StopReason.STOP_TEXT: "stop text",
    StopReason.MAX_TOKENS: "token limit",
    StopReason.CONTEXT_FULL: "context full",
    StopReason.CANCELLED: "interrupted",
}

Cell = Callable[[Trace], str]

REASONING, REUSED = "of these reasoning", "prompt tokens reused"
_SELDOM: dict[str, Callable[[Trace], bool]] = {
    REASONING: lambda run: reasoning_of(run).n_tokens > 0,
    REUSED: lambda run: bool(metrics.reused_tokens(run)),
}
"""Rows that are only there when a run has use for them."""


def summary_lines(traces: Sequence[Trace], comparison: Comparison | None) -> list[str]:
    """Everything worth reading about the runs; of repeated runs the one of median speed."""
    shown = [run for mode in RunMode if (run := _median_run(traces, mode)) is not None]
    lines: list[str] = []
    if comparison is not None:
        lines += [*verdict_lines(comparison), *lossless_lines(comparison, *shown[:2]), ""]
    lines += difference_lines(shown)
    return lines + _table(shown, comparison is not None or shown[0].counts.drafted > 0)


def source_lines(traces: Sequence[Trace]) -> list[str]:
    """What each draft source did in the run shown, as llama.cpp logs it, behind an empty line."""
    run = _median_run(traces, RunMode.SPECULATIVE)
    lines = [statistics_line(source) for source in source_statistics(run)] if run else []
    return ["", *lines] if lines else []


def verdict_lines(comparison: Comparison) -> list[str]:
    """The verdict, then its reasons."""
    speedup = comparison.speedup
    verdict = {
        Verdict.FASTER: f"Faster: {_times(speedup)} the speed of the baseline",
        Verdict.NO_REAL_GAIN: f"No real gain: {_times(speedup)} the speed of the baseline",
        Verdict.SLOWER: f"Slower: {_times(speedup)} the speed of the baseline",
        Verdict.SPECULATION_NEVER_RAN: "Speculation never ran",
        Verdict.OUTPUT_REPEATING: "No verdict: the output is repeating",
        Verdict.NOT_MEASURED: "No verdict: not enough to measure",
    }[comparison.verdict]
    if comparison.speedup_spread and speedup is not None:
        low, high = comparison.speedup_spread
        verdict += (
            f" (median of {comparison.n_repeats} repeats, from {_times(low)} to {_times(high)})"
        )
    return [f"{verdict}.", *comparison.reasons]


def lossless_lines(comparison: Comparison, baseline: Trace, speculative: Trace) -> list[str]:
    """Whether both runs gave the same tokens, what explains it if not, and what a check found."""
    lines = [_same_line(comparison, baseline, speculative)]
    fork, check = comparison.fork, comparison.check
    if fork is not None and fork.divergence is not None:
        lines += [sentence] if (sentence := margins_sentence(fork)) else []
        lines += [WHY_WIDTH_TIPS_TIES] if fork.divergence is Divergence.NEAR_TIE else []
    if check is not None:
        lines += [sentence] if (sentence := recheck_sentence(check)) else []
    return lines


def _same_line(comparison: Comparison, baseline: Trace, speculative: Trace) -> str:
    if comparison.fork is not None:
        return fork_sentence(comparison.fork)
    n = comparison.n_compared
    tokens = "one token" if n == 1 else f"{n} tokens"
    if len(baseline.tokens) != len(speculative.tokens):
        return f"The output is identical as far as both runs went ({tokens})."
    return f"The output is identical for {'its one token' if n == 1 else f'all {tokens}'}."


def difference_lines(runs: Sequence[Trace]) -> list[str]:
    """A line for each setting in effect in another way than asked for, and an empty one."""
    lines = {difference_sentence(row): None for run in runs for row in differences(run)}
    return [*lines, ""] if lines else []


def _median_run(traces: Sequence[Trace], mode: RunMode) -> Trace | None:
    runs = [trace for trace in traces if trace.mode is mode and trace.started]
    rates = {metrics.tokens_per_second(run) or 0.0: run for run in runs}
    return rates[median_low(rates)] if rates else None


def _table(runs: Sequence[Trace], with_drafts: bool) -> list[str]:
    rows = [row for row in _SPEED if row[0] not in _SELDOM or any(map(_SELDOM[row[0]], runs))]
    if with_drafts:
        rows += _DRAFTS
    rows += _TIME
    cells = [(label, [cell(run) for run in runs]) for label, cell in rows]
    width = max(len(label) for label, _ in cells) + 2
    columns = max(12, *(len(text) + 2 for _, row in cells for text in row))
    head = " " * width + "".join(run.mode.value.rjust(columns) for run in runs)
    return [
        head,
        *(label.ljust(width) + "".join(t.rjust(columns) for t in r) for label, r in cells),
    ]


def _times(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.2f} ×"


def _number(value: float | None, digits: int) -> str:
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    """A duration, with as many digits as can be read."""
    if value is None:
        return UNDEFINED
    if 1e-6 <= value < 0.0995:
        return f"{1000 * value:.3g} ms"
    return f"{value:.1f} s" if value >= 100 else f"{value:.2f} s"


def percent(value: float | None) -> str:
    """A share; the dash where it is undefined."""
    return UNDEFINED if value is None else f"{100 * value:.0f} %"


def _stop(trace: Trace) -> str:
    if trace.finished:
        return STOP_REASONS[trace.finished.reason]
    return "failed" if trace.failed else "incomplete"


def _accepted(trace: Trace) -> str:
    counts = trace.counts
    if not counts.tested:
        return UNDEFINED
    return f"{counts.accepted} of {counts.tested} ({percent(metrics.acceptance_rate(trace))})"


def _by_position(trace: Trace) -> str:
    shares = metrics.accepted_by_position(trace)[:MOST_POSITIONS]
    return " ".join(percent(share).removesuffix(" %") for share in shares) or UNDEFINED


def _tested_by_position(trace: Trace) -> str:
    counts = trace.counts.tested_by_position[:MOST_POSITIONS]
    return " ".join(str(n) for n in counts) or UNDEFINED


def _dropped(trace: Trace) -> str:
    counts = trace.counts
    return f"{counts.dropped} of {counts.drafted}" if counts.drafted else UNDEFINED


def _drafted_per_step(trace: Trace) -> str:
    if trace.mode is RunMode.BASELINE:
        return UNDEFINED
    return _number(metrics.ratio(trace.counts.drafted, trace.counts.steps), 2)


def _reused(trace: Trace) -> str:
    reused, evaluated = metrics.reused_tokens(trace), metrics.prefill_tokens(trace)
    if reused is None or evaluated is None:
        return UNDEFINED
    return f"{reused} of {reused + evaluated}"


def _share(part: Callable[[metrics.TimeShares], float]) -> Cell:
    def cell(trace: Trace) -> str:
        shares = metrics.time_shares(trace)
        share = metrics.ratio(part(shares), shares.total)
        return UNDEFINED if share is None else f"{seconds(part(shares))} {percent(share):>6}"

    return cell


_SPEED: tuple[tuple[str, Cell], ...] = (
    ("tokens/s", lambda run: _number(metrics.tokens_per_second(run), 1)),
    ("tokens", lambda run: str(run.counts.committed)),
    (REASONING, lambda run: str(reasoning_of(run).n_tokens)),
    ("ended by", _stop),
    ("time to first token", lambda run: seconds(metrics.time_to_first_token(run))),
    ("prefill", lambda run: seconds(metrics.prefill_seconds(run))),
    (REUSED, _reused),
    ("decode", lambda run: seconds(metrics.decode_seconds(run) if run.steps else None)),
    ("verify steps", lambda run: str(run.counts.steps)),
    ("tokens per step", lambda run: _number(metrics.tau(run), 2)),
)
_DRAFTS: tuple[tuple[str, Cell], ...] = (
    ("drafted per step", _drafted_per_step),
    ("accepted of tested", _accepted),
    ("accepted by position, %", _by_position),
    ("of so many tested", _tested_by_position),
    ("dropped of drafted", _dropped),
)
_TIME: tuple[tuple[str, Cell], ...] = (
    ("of decode: draft", _share(lambda shares: shares.draft)),
    ("of decode: verify", _share(lambda shares: shares.verify)),
    ("of decode: sample", _share(lambda shares: shares.sample)),
    ("of decode: restore", _share(lambda shares: shares.restore)),
    ("of decode: other", _share(lambda shares: shares.other)),
)
