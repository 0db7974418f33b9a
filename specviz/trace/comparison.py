"""A speculative run held against the baseline run of the same target.

The headline is the measured speed-up; acceptance only explains it. Reasons are sentences built
from measured terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from specviz.trace import metrics
from specviz.trace.config import RunConfig, RunMode, SamplingConfig, SpeculationConfig
from specviz.trace.lossless import NEAR_TIE_LOGITS as NEAR_TIE_LOGITS
from specviz.trace.lossless import Divergence
from specviz.trace.reasons import explain, never_ran
from specviz.trace.trace import Trace

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
    explains nothing. `speedup_spread` holds the lowest and highest of repeated pairs.
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


def first_divergence(baseline: Trace, speculative: Trace) -> int | None:
    """Position of the first differing token; a missing token differs. None when all are equal."""
    ours, theirs = speculative.tokens, baseline.tokens
    for position, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a.token_id != b.token_id:
            return position
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


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


def compare(baseline: Trace, speculative: Trace) -> Comparison:
    """Hold a finished speculative run against its baseline."""
    return compare_repeated([baseline], [speculative])


def compare_repeated(baselines: Sequence[Trace], speculatives: Sequence[Trace]) -> Comparison:
    """Hold repeated runs against their baselines, pair by pair; at least one of each.

    The speed-up comes from the medians of the speeds, its spread from the pairs. The outputs
    count as identical when they are so in every pair; a fork is that of the first pair with one.
    """
    pairs = list(zip(baselines, speculatives, strict=False))
    baseline, speculative = next((p for p in pairs if _fork(*p) is not None), pairs[-1])
    fork = _fork(baseline, speculative)
    margin, divergence = _explain_fork(baseline, speculative, fork)
    speedup, spread = _speedup(pairs)
    verdict = _verdict(*pairs[-1], speedup)
    if verdict in (Verdict.SPECULATION_NEVER_RAN, Verdict.NOT_MEASURED):
        speedup = spread = None
    return Comparison(
        verdict=verdict,
        speedup=speedup,
        identical=fork is None,
        n_compared=min(len(baseline.tokens), len(speculative.tokens)),
        first_divergence=fork,
        divergence=divergence,
        margin=margin,
        reasons=tuple(_reasons(*pairs[-1], verdict)),
        speedup_spread=spread,
    )


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


def _fork(baseline: Trace, speculative: Trace) -> int | None:
    """The first differing position, leaving out that one run was stopped before its end."""
    fork = first_divergence(baseline, speculative)
    if fork == min(len(baseline.tokens), len(speculative.tokens)):
        if _cut_short(baseline) or _cut_short(speculative):
            return None
    return fork


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


def _cut_short(trace: Trace) -> bool:
    return trace.finished is None or trace.finished.reason.value == "cancelled"


def _explain_fork(
    baseline: Trace, speculative: Trace, fork: int | None
) -> tuple[float | None, Divergence | None]:
    if fork is None:
        return None, None
    margin = margin_at(baseline, fork)
    if baseline.started and baseline.started.config.sampling.temperature > 0:
        # a drawn token needs no small margin to flip: the margin explains nothing either way
        return margin, None
    other = _choice(speculative, fork)
    runner_up = _runner_up_id(baseline, fork)
    explained = (
        margin is not None
        and margin <= NEAR_TIE_LOGITS
        and (other is None or runner_up is None or other == runner_up)
    )
    return margin, Divergence.NEAR_TIE if explained else Divergence.UNEXPLAINED


def _decision(trace: Trace, position: int) -> tuple[int, float] | None:
    """Runner-up id and margin where the token at `position` was decided."""
    if position < len(trace.tokens):
        token = trace.tokens[position]
        step = trace.steps[token.step]
        if token.draft_position is not None:
            runner_up = step.draft[token.draft_position].runner_up
        else:
            runner_up = step.target.runner_up if step.target else None
    else:
        last = trace.steps[-1].end_token if trace.steps else None
        runner_up = last.runner_up if last else None
    return (runner_up.token_id, runner_up.margin) if runner_up else None


def _choice(trace: Trace, position: int) -> int | None:
    """The token chosen at `position`; behind the last one that is the end token, if any."""
    if position < len(trace.tokens):
        return trace.tokens[position].token_id
    end = trace.steps[-1].end_token if trace.steps else None
    return end.token_id if end else None


def margin_at(trace: Trace, position: int) -> float | None:
    """Margin of the decision at `position`, in logits; None where it was not recorded."""
    decision = _decision(trace, position)
    return decision[1] if decision else None


def _runner_up_id(trace: Trace, position: int) -> int | None:
    decision = _decision(trace, position)
    return decision[0] if decision else None


def _verdict(baseline: Trace, speculative: Trace, speedup: float | None) -> Verdict:
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
    if speedup > 1 + NOISE:
        return Verdict.FASTER
    return Verdict.SLOWER if speedup < 1 - NOISE else Verdict.NO_REAL_GAIN


def _reasons(baseline: Trace, speculative: Trace, verdict: Verdict) -> list[str]:
    if verdict is Verdict.SPECULATION_NEVER_RAN:
        same = [] if speculative.counts.dropped else ["Both runs did the same work."]
        return [*never_ran(speculative), *same]
    if verdict is Verdict.NOT_MEASURED:
        shortest = min(speculative.counts.committed, baseline.counts.committed)
        if not speculative.incomplete and shortest < SHORTEST_MEASURED:
            return ["The answer is too short for a speed worth quoting."]
        return []
    reasons = explain(baseline, speculative, is_faster=verdict is Verdict.FASTER)
    if verdict is Verdict.OUTPUT_REPEATING:
        period = repeating_period([token.token_id for token in speculative.tokens])
        reasons.insert(
            0, f"The output is repeating (period {period}); acceptance is not meaningful here."
        )
    return reasons
