"""Numbers derived from a trace. Pure functions; None is what is undefined.

Formulas are those of the glossary in ARCHITECTURE.md: acceptance rate = accepted / tested; mean
accepted length = accepted / verify steps; tau = committed / verify steps; throughput = committed /
decode seconds, where decode begins at the end of prefill.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from specviz.trace.config import Role
from specviz.trace.trace import Trace

WINDOW_SECONDS = 1.0
WINDOW_STEPS = 8


def ratio(part: float, whole: float) -> float | None:
    """part / whole, or None where nothing can be divided by."""
    quotient = part / whole if whole > 0 else math.inf
    return quotient if math.isfinite(quotient) else None


def decode_seconds(trace: Trace) -> float:
    """From the end of prefill to the end of the last step."""
    return max(trace.decode_end - trace.decode_start, 0.0)


def tokens_per_second(trace: Trace) -> float | None:
    """Committed tokens per second of decode."""
    if not trace.counts.committed:
        return None
    return ratio(trace.counts.committed, decode_seconds(trace))


def acceptance_rate(trace: Trace) -> float | None:
    """Accepted ÷ tested."""
    return ratio(trace.counts.accepted, trace.counts.tested)


def mean_accepted_length(trace: Trace) -> float | None:
    """Accepted ÷ verify steps; leaves the target's own token out."""
    return ratio(trace.counts.accepted, trace.counts.steps)


def tau(trace: Trace) -> float | None:
    """Committed ÷ verify steps; counts the target's own token."""
    return ratio(trace.counts.committed, trace.counts.steps)


def accepted_by_position(trace: Trace) -> list[float | None]:
    """For each draft position, the share of the steps testing it that kept it."""
    counts = trace.counts
    return [
        ratio(kept, tested)
        for kept, tested in zip(counts.accepted_by_position, counts.tested_by_position, strict=True)
    ]


def drafted_lengths(trace: Trace) -> list[int]:
    """How many steps checked drafts of each length, from 0 (nothing was checked) on.

    Drafts that were thrown away unchecked are not among them. The numbers add up to the steps,
    numbers times lengths to the tested tokens.
    """
    return _by_length(len(step.draft) for step in trace.steps)


def accepted_lengths(trace: Trace) -> list[int]:
    """How many steps accepted each number of draft tokens, from 0 (also without a draft) on.

    The numbers add up to the steps, numbers times lengths to the accepted tokens.
    """
    return _by_length(trace.accepted_of_step(index) for index in range(len(trace.steps)))


def _by_length(lengths: Iterable[int]) -> list[int]:
    found = Counter(lengths)
    return [found[length] for length in range(max(found, default=-1) + 1)]


def dropped_drafts(trace: Trace) -> int:
    """Steps in which a draft was thrown away unchecked."""
    return sum(step.n_dropped > 0 for step in trace.steps)


def prefill_seconds(trace: Trace) -> float | None:
    """Seconds of evaluating the prompt, both models together; None before it happened."""
    if not trace.prefilled:
        return None
    return sum(event.seconds for event in trace.prefilled.values())


def prefill_tokens(trace: Trace) -> int | None:
    """Prompt tokens that the target really evaluated before decoding; None before it did."""
    event = trace.prefilled.get(Role.TARGET)
    return None if event is None else event.n_tokens


def reused_tokens(trace: Trace) -> int | None:
    """Prompt tokens that the target still held from before; None before it was known."""
    event = trace.prefilled.get(Role.TARGET)
    return None if event is None else event.n_reused


def time_to_first_token(trace: Trace) -> float | None:
    """From the start of the run to its first committed token, of any kind."""
    return trace.tokens[0].t if trace.tokens else None


@dataclass(frozen=True, slots=True)
class TimeShares:
    """Seconds of decode by what they were spent on; they add up to `decode_seconds`."""

    draft: float
    verify: float
    sample: float
    restore: float
    other: float

    @property
    def total(self) -> float:
        return self.draft + self.verify + self.sample + self.restore + self.other


def time_shares(trace: Trace) -> TimeShares:
    """Where the decode time went."""
    counts = trace.counts
    return TimeShares(
        counts.draft_seconds,
        counts.verify_seconds,
        counts.sample_seconds,
        counts.restore_seconds,
        counts.other_seconds,
    )


class ThroughputSeries:
    """Tokens/s over time, from a trailing window of whole steps, grown step by step.

    Tokens commit in bursts, so an instantaneous rate is a comb. Each point looks back over at
    least `WINDOW_SECONDS` and at least `WINDOW_STEPS` steps, or to the start of decode.
    `seconds` is counted from the start of decode, so that runs can be laid over each other.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.seconds: list[float] = []
        self.rates: list[float] = []
        self._back = 0
        self._n_tokens = 0

    def extend(self) -> int:
        """Take in the steps that have arrived; returns how many points there are now.

        Starts over when the end of the run took tokens back (a stop text).
        """
        trace = self.trace
        if len(trace.tokens) < self._n_tokens:
            self.seconds.clear()
            self.rates.clear()
            self._back = 0
        self._n_tokens = len(trace.tokens)
        start = trace.decode_start
        limit = len(trace.tokens)
        for i in range(len(self.seconds), len(trace.steps)):
            now = trace.steps[i].t - start
            while (
                self._back < i - WINDOW_STEPS
                and trace.steps[self._back + 1].t - start <= now - WINDOW_SECONDS
            ):
                self._back += 1
            whole = self._back == 0
            since = 0.0 if whole else trace.steps[self._back].t - start
            first = 0 if whole else trace.first_token_of_step[self._back + 1]
            after = trace.first_token_of_step[i] + trace.kept_of_step(i)
            span = now - since
            self.seconds.append(now)
            self.rates.append((min(after, limit) - first) / span if span > 0 else 0.0)
        return len(self.seconds)
