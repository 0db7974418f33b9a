"""A speculative run held against the baseline run of the same target.

The headline is the measured speed-up; acceptance only explains it. Reasons are sentences built
from measured terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from specviz.trace import metrics
from specviz.trace.config import RunConfig, RunMode, SamplingConfig, SpeculationConfig
from specviz.trace.events import StopReason
from specviz.trace.fork import (
    Fork,
    first_divergence,
    fork_of,
    is_drawn,
    margin_at,
    recheck_finding,
)
from specviz.trace.lossless import NEAR_TIE_LOGITS, Divergence, LosslessCheck
from specviz.trace.reasons import explain, never_ran
from specviz.trace.trace import Trace

__all__ = [
    "LONGEST_PERIOD", "LOOPING_TOKENS", "NEAR_TIE_LOGITS", "NOISE", "SHORTEST_MEASURED",
    "Comparison", "Verdict", "compare", "compare_repeated", "first_divergence", "margin_at",
    "pair_with_fork", "repeating_period", "same_task", "task_of",
]  # fmt: skip

NOISE = 0.05
"""Speed-ups within this distance of 1 are no real gain: single runs on a desktop machine spread
by about that much."""

SHORTEST_MEASURED = 4
"""Fewer committed tokens than this make no rate worth quoting."""

LONGEST_PERIOD = 8
LOOPING_TOKENS = 48


class Verdict(StrEnum):
    """What the comparison comes to; values are part of `specviz.summary/1`."""

    FASTER = "faster"
    NO_REAL_GAIN = "no_real_gain"
    SLOWER = "slower"
    SPECULATION_NEVER_RAN = "speculation_never_ran"
    OUTPUT_REPEATING = "output_repeating"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`first_divergence` is the position of the first differing token, None where there is none.

    `n_compared` tokens were compared; `margin` is the baseline's margin at the fork, in logits.
    `divergence` is None where the outputs agree, and at a temperature above 0, where a margin
    explains nothing. `speedup_spread` holds the lowest and highest of `n_repeats` pairs, None for
    a single one. `check` is what evaluating the run anew has shown, where that was done; it
    decides then what explains a fork.
    """

    verdict: Verdict
    speedup: float | None
    identical: bool
    n_compared: int
    first_divergence: int | None
    divergence: Divergence | None
    margin: float | None
    reasons: tuple[str, ...]
    speedup_spread: tuple[float, float] | None = None
    n_repeats: int = 1
    fork: Fork | None = None
    check: LosslessCheck | None = None


def repeating_period(token_ids: list[int]) -> int | None:
    """Period of the cycle that the end of the output repeats, or None.

    The last `LOOPING_TOKENS` tokens repeat with a period of at most `LONGEST_PERIOD`.
    """
    tail = token_ids[-LOOPING_TOKENS:]
    if len(tail) < LOOPING_TOKENS:
        return None
    for period in range(1, LONGEST_PERIOD + 1):
        if tail[period:] == tail[:-period]:
            return period
    return None


def compare(baseline: Trace, speculative: Trace, check: LosslessCheck | None = None) -> Comparison:
    """Hold a finished speculative run against its baseline."""
    return compare_repeated([baseline], [speculative], check)


def compare_repeated(
    baselines: Sequence[Trace],
    speculatives: Sequence[Trace],
    check: LosslessCheck | None = None,
) -> Comparison:
    """Hold repeated runs against their baselines, pair by pair; at least one of each.

    The speed-up comes from the medians of the speeds, its spread from the pairs; pairs that broke
    off count only where there is no other. The outputs count as identical when they are so in
    every pair; a fork, and the `check`, are those of `pair_with_fork`.
    """
    pairs = _whole_pairs(baselines, speculatives)
    baseline, speculative = pair_with_fork(baselines, speculatives)
    fork = fork_of(baseline, speculative, check)
    divergence = fork.divergence if fork else None
    if fork is None and not is_drawn(speculative):
        divergence = recheck_finding(check)
    speedup, spread = _speedup(pairs)
    typical = _typical_pair(pairs, speedup)
    verdict = _verdict(*typical, speedup, spread)
    if verdict in (Verdict.SPECULATION_NEVER_RAN, Verdict.NOT_MEASURED):
        speedup = spread = None
    return Comparison(
        verdict=verdict,
        speedup=speedup,
        identical=fork is None,
        n_compared=min(len(baseline.tokens), len(speculative.tokens)),
        first_divergence=fork.position if fork else None,
        divergence=divergence,
        margin=margin_at(baseline, fork.position) if fork else None,
        reasons=tuple(_reasons(*typical, verdict, len(pairs))),
        speedup_spread=spread,
        n_repeats=len(pairs),
        fork=fork,
        check=check,
    )


def pair_with_fork(
    baselines: Sequence[Trace], speculatives: Sequence[Trace]
) -> tuple[Trace, Trace]:
    """The first pair whose outputs part, or else the last one: what is worth checking."""
    pairs = _whole_pairs(baselines, speculatives)
    return next((pair for pair in pairs if fork_of(*pair) is not None), pairs[-1])


def same_task(one: Trace, other: Trace) -> bool:
    """Whether two runs did the same on the same target, so that comparing them means something.

    Mode, draft and drafting settings may differ, and the seed where nothing is drawn.
    """
    if one.started is None or other.started is None:
        return False
    return one.started.target == other.started.target and task_of(one.started.config) == task_of(
        other.started.config
    )


def task_of(config: RunConfig) -> RunConfig:
    """The configuration with all that may differ between the runs of one task set alike."""
    greedy = config.sampling.temperature == 0
    return replace(
        config,
        mode=RunMode.BASELINE,
        load=replace(config.load, draft=None),
        sampling=SamplingConfig() if greedy else config.sampling,
        speculation=SpeculationConfig(),
    )


def _whole_pairs(
    baselines: Sequence[Trace], speculatives: Sequence[Trace]
) -> list[tuple[Trace, Trace]]:
    pairs = list(zip(baselines, speculatives, strict=False))
    return [pair for pair in pairs if all(map(_is_whole, pair))] or pairs[-1:]


def _is_whole(trace: Trace) -> bool:
    return trace.finished is not None and trace.finished.reason is not StopReason.CANCELLED


def _typical_pair(
    pairs: Sequence[tuple[Trace, Trace]], speedup: float | None
) -> tuple[Trace, Trace]:
    """The pair whose speed-up is nearest to the one that is quoted."""

    def distance(pair: tuple[Trace, Trace]) -> float:
        own = metrics.ratio(*(metrics.tokens_per_second(run) or 0.0 for run in reversed(pair)))
        return abs(own - speedup) if own is not None and speedup is not None else math.inf

    return min(reversed(pairs), key=distance)


def _speedup(
    pairs: Sequence[tuple[Trace, Trace]],
) -> tuple[float | None, tuple[float, float] | None]:
    rates = [
        (base_rate, rate)
        for base_rate, rate in (
            (metrics.tokens_per_second(a), metrics.tokens_per_second(b)) for a, b in pairs
        )
        if base_rate and rate
    ]
    if not rates:
        return None, None
    speedup = metrics.ratio(median(rate for _, rate in rates), median(base for base, _ in rates))
    each = [quotient for base, rate in rates if (quotient := metrics.ratio(rate, base))]
    return speedup, (min(each), max(each)) if len(each) > 1 else None


def _verdict(
    baseline: Trace,
    speculative: Trace,
    speedup: float | None,
    spread: tuple[float, float] | None,
) -> Verdict:
    """What it comes to. Of repeats, faster and slower are only what every pair agrees on."""
    counts = speculative.counts
    if speculative.incomplete or not counts.steps or speculative.failed:
        return Verdict.NOT_MEASURED
    if counts.tested == 0:
        return Verdict.SPECULATION_NEVER_RAN
    shortest = min(counts.committed, baseline.counts.committed)
    if speedup is None or shortest < SHORTEST_MEASURED:
        return Verdict.NOT_MEASURED
    rate = metrics.acceptance_rate(speculative)
    if rate is not None and rate > 0.9:
        if repeating_period([token.token_id for token in speculative.tokens]) is not None:
            return Verdict.OUTPUT_REPEATING
    lowest, highest = spread or (speedup, speedup)
    if speedup > 1 + NOISE and lowest > 1:
        return Verdict.FASTER
    return Verdict.SLOWER if speedup < 1 - NOISE and highest < 1 else Verdict.NO_REAL_GAIN


def _reasons(baseline: Trace, speculative: Trace, verdict: Verdict, n_repeats: int) -> list[str]:
    if verdict is Verdict.SPECULATION_NEVER_RAN:
        same = [] if speculative.counts.dropped else ["Both runs did the same work."]
        return [*never_ran(speculative), *same]
    if verdict is Verdict.NOT_MEASURED:
        shortest = min(speculative.counts.committed, baseline.counts.committed)
        if not speculative.incomplete and shortest < SHORTEST_MEASURED:
            return ["The answer is too short for a speed worth quoting."]
        return []
    reasons = explain(
        baseline, speculative, is_faster=verdict is Verdict.FASTER, n_repeats=n_repeats
    )
    if verdict is Verdict.OUTPUT_REPEATING:
        period = repeating_period([token.token_id for token in speculative.tokens])
        reasons.insert(
            0, f"The output is repeating (period {period}); acceptance is not meaningful here."
        )
    return reasons
