"""What one setting came to on one prompt: figures of its runs, held against the baseline's.

Figures are those of `trace.metrics` and `trace.comparison`; of repeats, speeds are medians, and
counts are those of the run of median speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, median_low

from specviz.trace import metrics
from specviz.trace.comparison import Comparison, Verdict, compare_repeated
from specviz.trace.lossless import Divergence
from specviz.trace.trace import Trace

CLASSED = (Verdict.FASTER, Verdict.NO_REAL_GAIN, Verdict.SLOWER)
"""The verdicts that rest on a measured speed-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptResult:
    """One setting, or the baseline, on one prompt. Undefined figures are None.

    `prompt`: index of the prompt. `n_runs`: runs that came to an end; `n_wanted`: how many there
    should be. `seconds`: of decode. `speedup`, `identical` and what follows hold the runs against
    the baselines of the same repeats; for the baseline itself they are None. `error`: why a run
    failed, in a sentence with a hint; empty when none did.
    """

    prompt: int
    n_runs: int
    n_wanted: int
    tokens_per_second: float | None = None
    baseline_tokens_per_second: float | None = None
    committed: int = 0
    steps: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    dropped: int = 0
    seconds: float = 0.0
    acceptance_rate: float | None = None
    tokens_per_step: float | None = None
    speedup: float | None = None
    speedup_spread: tuple[float, float] | None = None
    identical: bool | None = None
    divergence: Divergence | None = None
    verdict: Verdict | None = None
    reasons: tuple[str, ...] = ()
    error: str = ""

    @property
    def complete(self) -> bool:
        """Whether all its runs came to an end."""
        return self.n_runs == self.n_wanted

    @property
    def helps(self) -> bool:
        """Whether it was faster than the baseline, by more than noise."""
        return self.verdict is Verdict.FASTER


def prompt_result(
    prompt: int,
    runs: Sequence[Trace | None],
    baselines: Sequence[Trace | None] | None,
    *,
    n_wanted: int,
    error: str = "",
) -> PromptResult:
    """The figures of the runs of one setting on one prompt, repeat by repeat; None: it failed.

    `baselines` are those of the same repeats; None for the baseline itself.
    """
    done = [run for run in runs if run is not None]
    if not done:
        return PromptResult(prompt=prompt, n_runs=0, n_wanted=n_wanted, error=error)
    pairs = [
        (base, run)
        for base, run in zip(baselines or (), runs, strict=False)
        if base is not None and run is not None
    ]
    typical = _of_median_speed(done)
    counts = typical.counts
    compared = _compared(pairs) if pairs else None
    unpaired = None if baselines is None else Verdict.NOT_MEASURED
    return PromptResult(
        prompt=prompt,
        n_runs=len(done),
        n_wanted=n_wanted,
        tokens_per_second=_median_speed(done),
        baseline_tokens_per_second=_median_speed([base for base, _ in pairs]),
        committed=counts.committed,
        steps=counts.steps,
        drafted=counts.drafted,
        tested=counts.tested,
        accepted=counts.accepted,
        dropped=counts.dropped,
        seconds=metrics.decode_seconds(typical),
        acceptance_rate=metrics.acceptance_rate(typical),
        tokens_per_step=metrics.tau(typical),
        speedup=compared.speedup if compared else None,
        speedup_spread=compared.speedup_spread if compared else None,
        identical=compared.identical if compared else None,
        divergence=compared.divergence if compared else None,
        verdict=compared.verdict if compared else unpaired,
        reasons=compared.reasons if compared else (),
        error=error,
    )


def _compared(pairs: Sequence[tuple[Trace, Trace]]) -> Comparison:
    return compare_repeated([base for base, _ in pairs], [run for _, run in pairs])


def _median_speed(runs: Sequence[Trace]) -> float | None:
    speeds = [speed for run in runs if (speed := metrics.tokens_per_second(run)) is not None]
    return median(speeds) if speeds else None


def _of_median_speed(runs: Sequence[Trace]) -> Trace:
    by_speed = {metrics.tokens_per_second(run) or 0.0: run for run in runs}
    return by_speed[median_low(by_speed)]
