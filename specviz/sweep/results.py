"""What a sweep has come to so far: a row for each setting, the best one, and that in a sentence.

Append-only. Whether a setting helps is said prompt by prompt; the mean over prompts only ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, fsum, log

from specviz.sweep.figures import CLASSED, PromptResult, prompt_result
from specviz.sweep.plan import SweepPlan, SweepPoint
from specviz.trace import metrics
from specviz.trace.comparison import NOISE, Verdict
from specviz.trace.events import Environment, ModelInfo
from specviz.trace.trace import Trace

BASELINE_LABEL = "baseline"

NOISE_IN_WORDS = f"{100 * NOISE:.0f}\u202f%"

UNSTEADY = 1.5
"""From this quotient of the baseline's speeds on two prompts on, the measurement is doubtful."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow:
    """One setting over all prompts, or the baseline (`point` and `index` are None).

    `results`: by prompt; None where nothing was run yet. `n_helps` of `n_prompts` measured prompts
    are faster than the baseline by more than noise. `lowest` and `highest` speed-up are taken over
    prompts. `speedup` is the geometric mean of the speed-ups and ranks rows; it is no verdict.
    `tokens_per_second`, `acceptance_rate` and `tokens_per_step` are quotients of sums over the
    prompts.
    """

    index: int | None
    point: SweepPoint | None
    results: tuple[PromptResult | None, ...]
    n_helps: int = 0
    n_prompts: int = 0
    speedup: float | None = None
    lowest: float | None = None
    highest: float | None = None
    tokens_per_second: float | None = None
    accepted: int = 0
    tested: int = 0
    drafted: int = 0
    acceptance_rate: float | None = None
    tokens_per_step: float | None = None
    identical: bool | None = None
    is_best: bool = False

    @property
    def label(self) -> str:
        """The setting in words."""
        return self.point.label if self.point else BASELINE_LABEL

    @property
    def is_baseline(self) -> bool:
        return self.point is None

    @property
    def measured(self) -> tuple[PromptResult, ...]:
        """The prompts on which at least one run came to an end."""
        return tuple(result for result in self.results if result is not None and result.n_runs)

    @property
    def complete(self) -> bool:
        """Whether every prompt was run, as often as it should be, and nothing failed."""
        return all(result is not None and result.complete for result in self.results)

    @property
    def errors(self) -> tuple[PromptResult, ...]:
        """The prompts on which a run failed; each says why."""
        return tuple(result for result in self.results if result is not None and result.error)


@dataclass(slots=True)
class _Runs:
    """The runs of one setting on one prompt; traces are let go once all have come to an end."""

    traces: list[Trace | None]
    errors: list[str]


class SweepResults:
    """Adds up the runs of a plan. `n_added` counts runs, failed ones too.

    `environment`, `target` and `draft` are what the runs said of themselves; None before.
    """

    def __init__(self, plan: SweepPlan) -> None:
        self.plan = plan
        self.n_added = 0
        self.n_failed = 0
        self.environment: Environment | None = None
        self.target: ModelInfo | None = None
        self.draft: ModelInfo | None = None
        self._runs: dict[tuple[int, int | None], _Runs] = {}
        self._results: dict[tuple[int, int | None], PromptResult] = {}

    def add(self, prompt: int, point: int | None, trace: Trace) -> None:
        """Take in a finished run of a prompt; `point` is None for a baseline.

        A run that says of itself that it failed counts as failed.
        """
        if trace.started is not None:
            self.environment, self.target = trace.started.environment, trace.started.target
            self.draft = trace.started.draft or self.draft
        if trace.failed is not None:
            failed = trace.failed
            self.add_error(prompt, point, f"{failed.message} {failed.hint}".strip())
        else:
            self._add(prompt, point, trace, "")

    def add_error(self, prompt: int, point: int | None, sentence: str) -> None:
        """Take note of a run that failed, and why."""
        self.n_failed += 1
        self._add(prompt, point, None, sentence)

    def result(self, prompt: int, point: int | None) -> PromptResult | None:
        """What a setting, or the baseline, came to on a prompt so far."""
        return self._results.get((prompt, point))

    @property
    def baseline_row(self) -> SweepRow:
        """The baseline over all prompts."""
        return self._row(None)

    def rows(self) -> tuple[SweepRow, ...]:
        """A row for each point, in the order of the plan; the best one is marked."""
        rows = [self._row(index) for index in range(len(self.plan.points))]
        best = best_of(rows)
        return tuple(replace(row, is_best=best is not None and row is best) for row in rows)

    def best(self) -> SweepRow | None:
        """The best of the settings that help on any prompt; None where none does."""
        return next((row for row in self.rows() if row.is_best), None)

    def leading(self) -> SweepRow | None:
        """The best setting, or where none helps the one that comes closest to the baseline."""
        rows = self.rows()
        return next((row for row in rows if row.is_best), None) or closest_of(rows)

    @property
    def complete(self) -> bool:
        """Whether all runs of the plan were made, failed ones included."""
        return self.n_added >= self.plan.n_runs

    def sentence(self) -> str:
        """What the sweep came to, in words."""
        return sentence_of(self.rows())

    def caution(self) -> str:
        """Why these figures should be taken with care, in a sentence; empty where nothing is known.

        The baseline is the same work on every prompt, so its speed is a measure of the machine.
        """
        speeds = [
            result.tokens_per_second
            for result in self.baseline_row.measured
            if result.tokens_per_second
        ]
        factor = max(speeds) / min(speeds) if speeds else 1.0
        if factor < UNSTEADY:
            return ""
        return (
            f"The baseline is {factor:.1f}× as fast on one prompt as on another: either the "
            "prompts differ much in length, or the machine was busy, and the figures say little."
        )

    def _add(self, prompt: int, point: int | None, trace: Trace | None, error: str) -> None:
        self.n_added += 1
        runs = self._runs.setdefault((prompt, point), _Runs([], []))
        runs.traces.append(trace)
        if error and error not in runs.errors:
            runs.errors.append(error)
        base = self._runs.get((prompt, None), _Runs([], []))
        self._results[prompt, point] = prompt_result(
            prompt,
            runs.traces,
            None if point is None else base.traces,
            n_wanted=self.plan.n_repeats,
            error=" ".join(runs.errors),
        )
        # only figures are kept: traces of a long sweep would fill the memory
        if point is not None and len(runs.traces) >= self.plan.n_repeats:
            runs.traces.clear()
        for key in [key for key in self._runs if key[0] < prompt]:
            del self._runs[key]

    def _row(self, index: int | None) -> SweepRow:
        point = None if index is None else self.plan.points[index]
        results = tuple(self.result(prompt, index) for prompt in range(len(self.plan.prompts)))
        measured = [result for result in results if result is not None and result.n_runs]
        speedups = [result.speedup for result in measured if result.speedup is not None]
        accepted, tested = _sum(measured, "accepted"), _sum(measured, "tested")
        committed, steps = _sum(measured, "committed"), _sum(measured, "steps")
        same = [result.identical for result in measured if result.identical is not None]
        return SweepRow(
            index=index,
            point=point,
            results=results,
            n_helps=sum(result.helps for result in measured),
            n_prompts=len(measured),
            speedup=_geometric_mean(speedups),
            lowest=min(speedups, default=None),
            highest=max(speedups, default=None),
            tokens_per_second=metrics.ratio(committed, fsum(r.seconds for r in measured)),
            accepted=accepted,
            tested=tested,
            drafted=_sum(measured, "drafted"),
            acceptance_rate=metrics.ratio(accepted, tested),
            tokens_per_step=metrics.ratio(committed, steps),
            identical=all(same) if same else None,
        )


def _sum(results: Iterable[PromptResult], field: str) -> int:
    return sum(getattr(result, field) for result in results)


def _geometric_mean(values: Sequence[float]) -> float | None:
    positive = [value for value in values if value > 0]
    return exp(fsum(map(log, positive)) / len(positive)) if positive else None


def best_of(rows: Sequence[SweepRow]) -> SweepRow | None:
    """The row with the highest geometric mean of speed-ups among those that help anywhere."""
    rank = _ranking(rows)
    helping = [row for row in rows if row.n_helps and rank.get(row.index) is not None]
    return max(helping, key=lambda row: rank[row.index], default=None)


def _ranking(rows: Sequence[SweepRow]) -> dict[int | None, float]:
    """What rows are ranked by: the geometric mean over the prompts that all of them share.

    A sweep that was stopped has rows with fewer prompts, and an easy prompt must not decide for
    those that met it. Where speculation never ran, both runs did the same work, which is 1.
    """
    classed = [row for row in rows if any(_rank_value(result) for result in row.results)]
    shared = [
        prompt
        for prompt in range(max((len(row.results) for row in classed), default=0))
        if all(_rank_value(row.results[prompt]) for row in classed)
    ]
    means = {}
    for row in classed:
        results = [row.results[prompt] for prompt in shared] or list(row.results)
        mean = _geometric_mean([value for r in results if (value := _rank_value(r)) is not None])
        if mean is not None:
            means[row.index] = mean
    return means


def _rank_value(result: PromptResult | None) -> float | None:
    if result is None:
        return None
    if result.verdict is Verdict.SPECULATION_NEVER_RAN:
        return 1.0
    return result.speedup if result.verdict in CLASSED else None


def sentence_of(rows: Sequence[SweepRow]) -> str:
    """What these rows come to, in words."""
    measured = [row for row in rows if row.n_prompts]
    if not measured:
        failed = any(row.errors for row in rows)
        return "No run came to an end." if failed else "Nothing has been measured yet."
    best = best_of(rows)
    if best is None:
        return _none_helps(measured)
    where = f"{_where_it_helps(best)}{_range(best)}."
    if best.speedup is not None and best.speedup < 1 - NOISE:
        return f"On the whole the baseline is faster. The best setting, {best.label}, {where}"
    return f"Best is {best.label}: it {where}{_as_good(best, measured)}"


def _as_good(best: SweepRow, rows: Sequence[SweepRow]) -> str:
    """Which settings cannot be told from the best one, since they differ from it by noise."""
    rank = _ranking(rows)
    close = [
        row
        for row in rows
        if row.index != best.index
        and row.n_helps
        and rank.get(row.index, 0.0) >= rank[best.index] * (1 - NOISE)
    ]
    if not close:
        return ""
    who = close[0].label if len(close) == 1 else f"{len(close)} other settings"
    return f" Within {NOISE_IN_WORDS} of it, which is noise: {who}."


def closest_of(rows: Sequence[SweepRow]) -> SweepRow | None:
    """The row with the highest geometric mean of speed-ups, whether it helps or not."""
    rank = _ranking(rows)
    ranked = [row for row in rows if row.index in rank]
    return max(ranked, key=lambda row: rank[row.index], default=None)


def _none_helps(rows: Sequence[SweepRow]) -> str:
    closest = closest_of(rows)
    if closest is None:
        return "No speed-up could be measured."
    n_prompts = max(row.n_prompts for row in rows)
    prompts = "this prompt" if n_prompts == 1 else f"any of the {n_prompts} prompts"
    sentence = (
        f"No setting helps: none is more than {NOISE_IN_WORDS} faster than the baseline on "
        f"{prompts}."
    )
    if closest.highest is None:
        return f"{sentence} Where nothing is drafted, the speed is the baseline's."
    return f"{sentence} The closest is {closest.label}{_range(closest)}."


def _where_it_helps(row: SweepRow) -> str:
    n = row.n_prompts
    if n == 1:
        return "helps on the prompt" if len(row.results) == 1 else "helps on 1 of 1 prompts"
    if row.n_helps == n:
        return f"helps on {'both' if n == 2 else f'all {n}'} prompts"
    return f"helps on {row.n_helps} of {n} prompts"


def _range(row: SweepRow) -> str:
    if row.lowest is None or row.highest is None:
        return ""
    low, high = f"{row.lowest:.2f}×", f"{row.highest:.2f}×"
    return f", {low}" if low == high else f", {low} to {high}"
