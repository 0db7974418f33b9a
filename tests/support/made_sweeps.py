"""Results of sweeps with known speed-ups, for the page that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from support.sweeps import run_at
from support.traces import run_config

from specviz.sweep.axes import METHOD, Axis
from specviz.sweep.plan import SweepPlan, SweepPrompt, grid
from specviz.sweep.results import SweepResults
from specviz.trace.config import DraftSource, RunConfig

MODEL, MOD = DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_MOD
BASE_SPEED = 10.0
PROMPTS = (
    SweepPrompt("Code refactoring", "Rewrite this."),
    SweepPrompt("Story", "Tell a story."),
    SweepPrompt("Reasoning", "A train leaves."),
)
SPEEDUPS: Mapping[str, Sequence[float]] = {
    "Code refactoring": (1.21, 1.48, 1.61, 1.44),
    "Story": (1.02, 0.97, 0.92, 0.71),
    "Reasoning": (1.12, 1.22, 1.18, 0.99),
}
"""By prompt, for the four settings of either plan below."""


def sweep_base() -> RunConfig:
    """What the setup says, without a prompt."""
    return replace(run_config(), messages=())


def length_plan(prompts: Sequence[SweepPrompt] = PROMPTS, n_repeats: int = 1) -> SweepPlan:
    """1, 2, 4 and 8 draft tokens."""
    base = sweep_base()
    points = grid(base, [Axis("n_max", (1, 2, 4, 8))]).points
    return SweepPlan(base, tuple(prompts), points, n_repeats)


def mixed_plan(prompts: Sequence[SweepPrompt] = PROMPTS) -> SweepPlan:
    """A draft model and n-grams, two settings each."""
    base = sweep_base()
    axes = [
        Axis(METHOD, ((MODEL,), (MOD,))),
        Axis("n_max", (2, 4)),
        Axis("ngram_mod.n_match", (4, 12)),
    ]
    return SweepPlan(base, tuple(prompts), grid(base, axes).points)


def filled(
    plan: SweepPlan,
    speedups: Mapping[str, Sequence[float]] = SPEEDUPS,
    n_runs: int | None = None,
) -> SweepResults:
    """The results of a plan after so many runs, by default all, with these speed-ups."""
    results = SweepResults(plan)
    for number, (prompt, point) in enumerate(plan.runs()):
        if number == n_runs:
            break
        factor = 1.0 if point is None else speedups[plan.prompts[prompt].name][point]
        trace = run_at(BASE_SPEED * factor, plan.config(prompt, point))
        results.add(prompt, point, trace)
    return results
