"""The result of a sweep as lines of text: sentence, table of settings, table of prompts.

Prints nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from specviz.cli.summary_table import UNDEFINED, percent
from specviz.sweep.figures import PromptResult
from specviz.sweep.results import SweepResults, SweepRow
from specviz.trace.comparison import Verdict
from specviz.trace.lossless import Divergence
from specviz.trace.server_command import LLAMA_CPP_RELEASE, not_covered, server_command

VERDICTS = {
    Verdict.FASTER: "faster",
    Verdict.NO_REAL_GAIN: "no real gain",
    Verdict.SLOWER: "slower",
    Verdict.SPECULATION_NEVER_RAN: "never drafted",
    Verdict.OUTPUT_REPEATING: "output repeats",
    Verdict.NOT_MEASURED: "not measured",
}

FORKS = {
    Divergence.NEAR_TIE: "near-tie",
    Divergence.UNEXPLAINED: "not explained",
}

COLUMNS = ("setting", "speed-up", "helps on", "tokens/s", "accepted of tested", "tokens per step")
PROMPT_COLUMNS = (
    "prompt", "speed-up", "verdict", "tokens/s", "accepted of tested", "tokens per step", "output",
)  # fmt: skip


def result_lines(results: SweepResults) -> list[str]:
    """What the sweep came to, and the table of all settings with the baseline first."""
    rows = [results.baseline_row, *results.rows()]
    table = [list(COLUMNS), *([*_cells(row)] for row in rows if _was_run(row))]
    n_total = results.plan.n_runs
    lines = [results.sentence(), *([caution] if (caution := results.caution()) else [])]
    if not results.complete:
        lines.append(
            f"Stopped after {results.n_added} of {n_total} runs; this is what was measured."
        )
    return [*lines, "", *_aligned(table)]


def prompt_lines(results: SweepResults) -> list[str]:
    """The best setting prompt by prompt; where none helps, the one that comes closest."""
    row = results.leading()
    if row is None:
        return []
    table = [list(PROMPT_COLUMNS)]
    for result in row.results:
        if result is not None:
            table.append(_prompt_cells(results.plan.prompts[result.prompt].name, result))
    title = f"{row.label}, prompt by prompt:"
    return ["", title, *_aligned(table)]


def failure_lines(results: SweepResults) -> list[str]:
    """What failed, where, and why; empty when nothing did."""
    failed = [
        (row.label, results.plan.prompts[result.prompt].name, result.error)
        for row in (results.baseline_row, *results.rows())
        for result in row.errors
    ]
    if not failed:
        return []
    n = results.n_failed
    title = "1 run failed:" if n == 1 else f"{n} runs failed:"
    return ["", title, *(f"  {label} · {prompt}: {why}" for label, prompt, why in failed)]


def command_lines(results: SweepResults) -> list[str]:
    """The llama-server command for the best setting, and what it leaves to requests."""
    best = results.best()
    if best is None or best.index is None:
        return []
    config = results.plan.config(0, best.index)
    return [
        "",
        f"The same with llama-server ({LLAMA_CPP_RELEASE}):",
        f"  {server_command(config)}",
        *(f"  {sentence}" for sentence in not_covered(config)),
    ]


def _was_run(row: SweepRow) -> bool:
    return any(result is not None for result in row.results)


def _cells(row: SweepRow) -> list[str]:
    sign = " (best)" if row.is_best else ""
    if row.is_baseline:
        speedup, helps = "1.00 ×", UNDEFINED
    else:
        speedup = _range(row.lowest, row.highest)
        helps = f"{row.n_helps} of {row.n_prompts}" if row.n_prompts else UNDEFINED
    if row.errors:
        sign += f" ({len(row.errors)} failed)"
    return [
        f"{row.label}{sign}",
        speedup if row.n_prompts else UNDEFINED,
        helps,
        _number(row.tokens_per_second, 1),
        _accepted(row.accepted, row.tested, row.acceptance_rate),
        _number(row.tokens_per_step, 2),
    ]


def _prompt_cells(name: str, result: PromptResult) -> list[str]:
    speedup = UNDEFINED if result.speedup is None else f"{result.speedup:.2f} ×"
    if result.speedup_spread is not None:
        speedup += f" ({_range(*result.speedup_spread)})"
    verdict = VERDICTS[result.verdict] if result.verdict else UNDEFINED
    return [
        name,
        speedup,
        "failed" if result.error and not result.n_runs else verdict,
        _number(result.tokens_per_second, 1),
        _accepted(result.accepted, result.tested, result.acceptance_rate),
        _number(result.tokens_per_step, 2),
        _output(result),
    ]


def _output(result: PromptResult) -> str:
    if result.identical is None:
        return UNDEFINED
    if result.identical:
        return "identical"
    return FORKS.get(result.divergence, "differs") if result.divergence else "differs"


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return UNDEFINED
    if f"{low:.2f}" == f"{high:.2f}":
        return f"{low:.2f} ×"
    return f"{low:.2f} to {high:.2f} ×"


def _number(value: float | None, digits: int) -> str:
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def _accepted(accepted: int, tested: int, rate: float | None) -> str:
    return UNDEFINED if not tested else f"{accepted} of {tested} ({percent(rate)})"


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width, the first one at its left edge, the others at their right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
