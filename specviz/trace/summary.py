"""The summary of one or two runs as plain JSON values (schema `specviz.summary/1`).

The same numbers, from the same functions, as the window shows and the CSV files hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from specviz import __version__
from specviz.trace import codec, metrics
from specviz.trace.comparison import Comparison, compare, same_task
from specviz.trace.config import RunMode
from specviz.trace.fork import Candidate, Fork, fork_sentence, recheck_sentence
from specviz.trace.lossless import LosslessCheck
from specviz.trace.reasoning import reasoning_of
from specviz.trace.settings_in_effect import differences, settings_in_effect
from specviz.trace.sources import SourceStatistics, source_statistics, sources_in_use
from specviz.trace.trace import Trace

SCHEMA = "specviz.summary/1"


def run_summary(trace: Trace) -> dict[str, Any]:
    """One run. Undefined numbers are None."""
    counts = trace.counts
    started = trace.started
    shares = metrics.time_shares(trace)
    return {
        "run_id": trace.run_id,
        "mode": trace.mode.value,
        "spec_type": spec_type(trace),
        "effective": dict(started.effective) if started else {},
        "settings": [asdict(row) for row in settings_in_effect(trace)],
        "differences": [row.key for row in differences(trace)],
        "stop_reason": trace.finished.reason.value if trace.finished else None,
        "committed": counts.committed,
        "steps": counts.steps,
        "drafted": counts.drafted,
        "tested": counts.tested,
        "accepted": counts.accepted,
        "rejected": counts.rejected,
        "dropped": counts.dropped,
        "recovered": counts.recovered,
        "bonus": counts.bonus,
        "sampled": counts.sampled,
        "acceptance_rate": metrics.acceptance_rate(trace),
        "mean_accepted_length": metrics.mean_accepted_length(trace),
        "tau": metrics.tau(trace),
        "accepted_by_position": metrics.accepted_by_position(trace),
        "tested_by_position": list(counts.tested_by_position),
        "drafted_lengths": metrics.drafted_lengths(trace),
        "accepted_lengths": metrics.accepted_lengths(trace),
        "dropped_drafts": metrics.dropped_drafts(trace),
        "reasoning_tokens": reasoning_of(trace).n_tokens,
        "prefill_tokens": metrics.prefill_tokens(trace),
        "reused_tokens": metrics.reused_tokens(trace),
        "prefill_seconds": metrics.prefill_seconds(trace),
        "time_to_first_token_seconds": metrics.time_to_first_token(trace),
        "decode_seconds": metrics.decode_seconds(trace),
        "tokens_per_second": metrics.tokens_per_second(trace),
        "time": {
            "draft_seconds": shares.draft,
            "verify_seconds": shares.verify,
            "sample_seconds": shares.sample,
            "restore_seconds": shares.restore,
            "other_seconds": shares.other,
        },
        "sources": [source_summary(source) for source in source_statistics(trace)],
        "text": trace.text,
        "token_ids": [token.token_id for token in trace.tokens],
    }


def spec_type(trace: Trace) -> list[str]:
    """The drafting methods asked for, in order of precedence; empty for a baseline."""
    if trace.started is None:
        return []
    return [source.value for source in sources_in_use(trace.started.config)]


def source_summary(statistics: SourceStatistics) -> dict[str, Any]:
    """One draft source of a run.

    `mean_accepted_length` is llama.cpp's for a source, 1 + accepted ÷ checked drafts.
    """
    return {
        "source": statistics.source.value,
        "begin_calls": statistics.n_begin_calls,
        "draft_calls": statistics.n_draft_calls,
        "accept_calls": statistics.n_accept_calls,
        "drafts": statistics.n_drafts,
        "accepted_drafts": statistics.n_accepted_drafts,
        "drafted": statistics.n_drafted,
        "tested": statistics.n_tested,
        "accepted": statistics.n_accepted,
        "dropped": statistics.n_dropped,
        "accepted_by_position": statistics.rates_by_position,
        "tested_by_position": list(statistics.tested_by_position),
        "mean_accepted_length": statistics.mean_accepted_length,
        "begin_seconds": statistics.begin_seconds,
        "draft_seconds": statistics.draft_seconds,
        "accept_seconds": statistics.accept_seconds,
    }


def comparison_summary(comparison: Comparison) -> dict[str, Any]:
    """The comparison part of the summary."""
    spread, check = comparison.speedup_spread, comparison.check
    return {
        "speedup": comparison.speedup,
        "speedup_spread": list(spread) if spread else None,
        "repeats": comparison.n_repeats,
        "identical": comparison.identical,
        "compared": comparison.n_compared,
        "first_divergence": comparison.first_divergence,
        "divergence": comparison.divergence.value if comparison.divergence else None,
        "fork": fork_summary(comparison.fork) if comparison.fork else None,
        "check": check_summary(check) if check else None,
        "verdict": comparison.verdict.value,
        "reasons": list(comparison.reasons),
    }


def fork_summary(fork: Fork) -> dict[str, Any]:
    """The first token that differs. The text of an answer that ended there is None."""
    return {
        "position": fork.position,
        "baseline": _candidate(fork.baseline),
        "speculative": _candidate(fork.speculative),
        "margins": [codec.to_json(margin) for margin in fork.margins],
        "checked": fork.is_checked,
        "finding": fork_sentence(fork),
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    text = None if candidate.is_end else candidate.text
    return {"token_id": candidate.token_id, "text": text}


def check_summary(check: LosslessCheck) -> dict[str, Any]:
    """What evaluating the run anew has shown; nothing was rechecked where only a fork was."""
    return {
        "rechecked": check.n_rechecked,
        "mismatch": codec.to_json(check.mismatch) if check.mismatch else None,
        "drafts_rechecked": check.n_drafts_rechecked,
        "draft_mismatch": codec.to_json(check.draft_mismatch) if check.draft_mismatch else None,
        "finding": recheck_sentence(check),
    }


def pair_of(traces: Sequence[Trace]) -> tuple[Trace, Trace] | None:
    """The newest speculative run among `traces` and the newest baseline of the same task."""
    for speculative in reversed(traces):
        if speculative.mode is RunMode.BASELINE:
            continue
        for baseline in reversed(traces):
            if baseline.mode is RunMode.BASELINE and same_task(baseline, speculative):
                return baseline, speculative
    return None


def summary(traces: Sequence[Trace], comparison: Comparison | None = None) -> dict[str, Any]:
    """The whole summary of the given runs; compares the newest pair unless told otherwise."""
    started = [trace.started for trace in traces if trace.started]
    newest = started[-1] if started else None
    with_draft = [event.draft for event in started if event.draft]
    pair = pair_of(traces)
    if comparison is None and pair is not None:
        comparison = compare(*pair)
    environment = newest.environment if newest else None
    return {
        "schema": SCHEMA,
        "specviz_version": environment.specviz_version if environment else __version__,
        "engine": {
            "llama_cpp_python": environment.llama_cpp_python if environment else None,
            "llama_cpp": environment.llama_cpp if environment else None,
            "system_info": environment.system_info if environment else None,
            "safe_mode": environment.safe_mode if environment else None,
        },
        "target": codec.to_json(newest.target) if newest else None,
        "draft": codec.to_json(with_draft[-1]) if with_draft else None,
        "prompt_tokens": newest.n_prompt if newest else None,
        "runs": [run_summary(trace) for trace in traces],
        "comparison": comparison_summary(comparison) if comparison else None,
    }
