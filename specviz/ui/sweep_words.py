"""A sweep in words: its plan, its progress, its verdict, the cells of its tables. Knows no Qt.

Every figure shows what it is taken over; what is undefined is a dash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from specviz.sweep.figures import PromptResult
from specviz.sweep.plan import SweepPlan
from specviz.sweep.results import SweepResults, SweepRow
from specviz.trace.comparison import NOISE, Verdict
from specviz.trace.lossless import Divergence
from specviz.ui import figures
from specviz.ui.verdict_words import Part, Parts, Tone, Words

WHAT_WILL_HAPPEN = (
    "A sweep runs every prompt once without drafting and once with each setting, and shows which "
    "setting pays on which prompt."
)
VERDICT_WORDS = {
    Verdict.FASTER: "faster",
    Verdict.NO_REAL_GAIN: "no real gain",
    Verdict.SLOWER: "slower",
    Verdict.SPECULATION_NEVER_RAN: "nothing was drafted",
    Verdict.OUTPUT_REPEATING: "output repeating",
    Verdict.NOT_MEASURED: "not measured",
}


class Effect(StrEnum):
    """What a measured speed-up comes to: colour and sign follow it."""

    FASTER = "faster"
    FLAT = "no real gain"
    SLOWER = "slower"


def effect_of(speedup: float | None) -> Effect | None:
    """By the same limits as the verdict; None where nothing was measured."""
    if speedup is None:
        return None
    if speedup > 1 + NOISE:
        return Effect.FASTER
    return Effect.SLOWER if speedup < 1 - NOISE else Effect.FLAT


def range_effect(lowest: float | None, highest: float | None) -> Effect | None:
    """What a range comes to; None where it reaches over a limit, or nothing was measured."""
    ends = {effect_of(lowest), effect_of(highest)}
    return ends.pop() if len(ends) == 1 else None


MIXED = "◆"
"""The sign of a range that is faster here and slower there."""

SIGNS = {Effect.FASTER: "▲", Effect.FLAT: "●", Effect.SLOWER: "▼"}
"""The second cue beside the colour, in chart and table alike."""

LEGEND = f"{SIGNS[Effect.FASTER]} faster   {SIGNS[Effect.FLAT]} no real gain   " + (
    f"{SIGNS[Effect.SLOWER]} slower"
)


# The plan --------------------------------------------------------------------------------------
def plan_words(plan: SweepPlan) -> str:
    """`7 settings × 6 prompts × 1 repeat and 6 baselines: 48 runs`."""
    n_baselines = len(plan.prompts) * plan.n_repeats
    return (
        f"{figures.counted(len(plan.points), 'setting')} × "
        f"{figures.counted(len(plan.prompts), 'prompt')} × "
        f"{figures.counted(plan.n_repeats, 'repeat')} and "
        f"{figures.counted(n_baselines, 'baseline')}: {figures.counted(plan.n_runs, 'run')}"
    )


def remaining_words(seconds: float | None) -> str:
    """`about 2 min left`, rounded so that it does not flicker; empty while unknown."""
    if seconds is None:
        return ""
    if seconds < 5:
        return "a few seconds left"
    if seconds < 55:
        return f"about {round(seconds / 5) * 5}{figures.THIN}s left"
    if seconds < 90 * 60:
        return f"about {max(round(seconds / 60), 1)}{figures.THIN}min left"
    return f"about {figures.decimal(seconds / 3600)}{figures.THIN}h left"


def progress_words(
    n_done: int, n_total: int, remaining_seconds: float | None, prompt: str, label: str
) -> str:
    """`12 of 48 · about 2 min left · Story · 4 draft tokens`."""
    facts = [
        f"{figures.count(n_done)} of {figures.count(n_total)}",
        remaining_words(remaining_seconds),
        prompt,
        label,
    ]
    return " · ".join(fact for fact in facts if fact)


# The verdict -----------------------------------------------------------------------------------
def idle() -> Words:
    """Before the first sweep."""
    return Words("No sweep yet", Tone.QUIET, (Part(WHAT_WILL_HAPPEN),))


def verdict(results: SweepResults, *, running: bool = False, stale: str = "") -> Words:
    """What the sweep comes to so far. `stale`: a sentence on settings that changed since."""
    plan = results.plan
    rows = results.rows()
    best = next((row for row in rows if row.is_best), None)
    sentence = _with_figures(results.sentence())
    rest: list[Parts] = []
    if running:
        headline = f"{figures.count(results.n_added)} of {figures.count(plan.n_runs)} runs"
        so_far = (Part("So far: "), *sentence) if any(row.n_prompts for row in rows) else sentence
        return Words(headline, Tone.QUIET, so_far)
    if results.n_failed:
        failed = figures.counted(results.n_failed, "run")
        rest.append((Part(f"{failed} failed; the rows say why."),))
    if not results.complete:
        made = f"{figures.count(results.n_added)} of {figures.counted(plan.n_runs, 'run')}"
        rest.append((Part(f"The sweep was stopped after {made}; what was measured is kept."),))
    if stale:
        rest.append((Part(stale),))
    if caution := results.caution():
        rest.append(_with_figures(caution))
    return Words(_headline(rows, best), _tone(rows, best), sentence, tuple(rest))


def _with_figures(sentence: str) -> Parts:
    """A sentence of which the figures stand out."""
    pieces = re.split(r"(\d+(?:\.\d+)?×|\d+ of \d+)", sentence)
    return tuple(Part(piece, is_figure=bool(i % 2)) for i, piece in enumerate(pieces) if piece)


def _headline(rows: tuple[SweepRow, ...], best: SweepRow | None) -> str:
    if best is not None:
        if len(best.results) == 1:
            return f"{figures.speedup(best.highest)} faster"
        return f"Helps on {best.n_helps} of {best.n_prompts}"
    measured = any(row.highest is not None for row in rows)
    return "No setting helps" if measured else "Not measured"


def _tone(rows: tuple[SweepRow, ...], best: SweepRow | None) -> Tone:
    """Green only where the best setting is faster on every prompt."""
    if best is not None:
        return Tone.FASTER if best.n_helps == best.n_prompts else Tone.PLAIN
    effects = {effect_of(row.highest) for row in rows} - {None}
    if not effects:
        return Tone.QUIET
    return Tone.SLOWER if effects == {Effect.SLOWER} else Tone.FLAT


# The table of settings -------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows, what it is sorted by, and what its speed-up comes to, if it is one."""

    text: str
    order: float | None = None
    effect: Effect | None = None


SETTING_COLUMNS = (
    ("Setting", "What was varied; the baseline is the target alone."),
    (
        "Speed-up",
        "Lowest and highest over the prompts, of the baseline's speed on each.\n"
        f"{SIGNS[Effect.FASTER]} faster everywhere, {SIGNS[Effect.FLAT]} no real gain, "
        f"{SIGNS[Effect.SLOWER]} slower everywhere, {MIXED} faster here and slower there",
    ),
    ("Helps on", "Prompts on which it is faster than the baseline by more than noise."),
    ("Tokens/s", "All tokens of all prompts, by the seconds of their decode."),
    ("Accepted", "Draft tokens accepted, of those tested."),
    ("Per step", "Committed tokens by verify steps."),
    ("Same text", "Whether the text is the baseline's, on how many prompts."),
)
"""Title and explanation of each column."""


def setting_cells(row: SweepRow) -> tuple[Cell, ...]:
    """The cells of one setting, or of the baseline, under `SETTING_COLUMNS`."""
    if row.is_baseline:
        dash = Cell(figures.DASH)
        per_step = Cell(figures.decimal(row.tokens_per_step, 2), row.tokens_per_step)
        speed = Cell(figures.rate(row.tokens_per_second), row.tokens_per_second)
        one = Cell(figures.speedup(1.0) if row.n_prompts else figures.DASH, 1.0)
        return (Cell(label_words(row), -1), one, dash, speed, dash, per_step, dash)
    n = row.n_prompts
    return (
        Cell(label_words(row), row.index),
        Cell(range_words(row), row.speedup, range_effect(row.lowest, row.highest)),
        Cell(f"{row.n_helps} of {n}" if n else figures.DASH, row.n_helps if n else None),
        Cell(figures.rate(row.tokens_per_second), row.tokens_per_second),
        Cell(accepted_words(row.acceptance_rate, row.tested), row.acceptance_rate),
        Cell(figures.decimal(row.tokens_per_step, 2), row.tokens_per_step),
        _identical_cell(row),
    )


def label_words(row: SweepRow) -> str:
    """The setting with its marks: best, stopped half-way, failed."""
    if row.is_baseline:
        return "baseline, the target alone"
    marks = []
    if row.is_best:
        marks.append("best")
    if row.errors:
        marks.append("failed" if not row.measured else "failed in part")
    elif row.measured and not row.complete:
        marks.append("in part")
    star = "★ " if row.is_best else ""
    return f"{star}{row.label}" + "".join(f" · {mark}" for mark in marks)


def range_words(row: SweepRow) -> str:
    """`▲ 0.92× to 1.61×`, or one figure where there is only one."""
    if row.lowest is None or row.highest is None:
        return figures.DASH
    low, high = figures.speedup(row.lowest), figures.speedup(row.highest)
    effect = range_effect(row.lowest, row.highest)
    sign = SIGNS[effect] if effect else MIXED
    return f"{sign} {low}" if low == high else f"{sign} {low} to {high}"


def accepted_words(rate: float | None, tested: int) -> str:
    """`68 % of 214`: the rate with what it divides by."""
    return figures.DASH if rate is None else f"{figures.percent(rate)} of {figures.count(tested)}"


def _identical_cell(row: SweepRow) -> Cell:
    judged = [r for r in row.measured if r.identical is not None]
    if not judged:
        return Cell(figures.DASH)
    same = sum(bool(r.identical) for r in judged)
    text = "yes" if same == len(judged) else f"on {same} of {len(judged)}"
    unexplained = any(r.divergence is Divergence.UNEXPLAINED for r in judged)
    return Cell(f"{text}, unexplained" if unexplained else text, same)


# The table of prompts --------------------------------------------------------------------------
PROMPT_COLUMNS = (
    ("Prompt", "What was asked."),
    ("Speed-up", "Tokens per second by the baseline's; of repeats with its spread."),
    ("Verdict", "What the speed-up comes to, or why there is none."),
    ("Tokens/s", "Committed tokens by the seconds of their decode."),
    ("Baseline", "Tokens per second of the target alone on this prompt."),
    ("Accepted", "Draft tokens accepted, of those tested."),
    ("Per step", "Committed tokens by verify steps."),
    ("Same text", "Whether the text is the baseline's, token by token."),
)


def prompt_cells(name: str, result: PromptResult | None) -> tuple[Cell, ...]:
    """The cells of one prompt under `PROMPT_COLUMNS`; None: not run yet."""
    if result is None:
        dash = Cell(figures.DASH)
        return (Cell(name), dash, Cell("not run yet"), *[dash] * 5)
    return (
        Cell(name),
        Cell(
            speedup_words(result.speedup, result.speedup_spread),
            result.speedup,
            effect_of(result.speedup),
        ),
        Cell(outcome_words(result)),
        Cell(figures.rate(result.tokens_per_second)),
        Cell(figures.rate(result.baseline_tokens_per_second)),
        Cell(accepted_words(result.acceptance_rate, result.tested)),
        Cell(figures.decimal(result.tokens_per_step, 2)),
        Cell(same_words(result)),
    )


def speedup_words(speedup: float | None, spread: tuple[float, float] | None) -> str:
    """`▲ 1.61×`, with repeats `▲ 1.61× (1.58× to 1.63×)`."""
    effect = effect_of(speedup)
    if effect is None:
        return figures.DASH
    words = f"{SIGNS[effect]} {figures.speedup(speedup)}"
    if spread is not None and spread[0] != spread[1]:
        words += f" ({figures.speedup(spread[0])} to {figures.speedup(spread[1])})"
    return words


def outcome_words(result: PromptResult) -> str:
    """The verdict in a word or two, or the error in its sentence."""
    if result.error and not result.n_runs:
        return result.error
    words = VERDICT_WORDS[result.verdict] if result.verdict else figures.DASH
    if not result.complete:
        words += f", {result.n_runs} of {figures.counted(result.n_wanted, 'run')}"
    return f"{words}. {result.error}" if result.error else words


def same_words(result: PromptResult) -> str:
    """Whether the text is the baseline's, and if not, what explains it."""
    if result.identical is None:
        return figures.DASH
    if result.identical:
        return "yes"
    finding = {Divergence.NEAR_TIE: "no, a near-tie", Divergence.UNEXPLAINED: "no, unexplained"}
    return finding.get(result.divergence, "no") if result.divergence else "no"
