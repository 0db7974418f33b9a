"""Is the predicted speed-up of other draft lengths what they really come to?

Runs every draft length, predicts all of them from the run of one, and holds the two together.
Predictions are made from the run's own steps, and with what "Measure costs" adds for widths of
check that it did not meet.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from llama_peer import Settings
from measuring import MeasuringError, Repeats, Result, look_at_machine, order, report, spread
from our_engine import MeasuredCosts, OurEngine

from specviz.engine.hardware import physical_cores
from specviz.errors import SpecvizError
from specviz.trace.break_even import predict, shape_of
from specviz.trace.costs import Costs, costs_of, with_measured
from specviz.trace.events import StepVerified
from specviz.trace.trace import Trace

GOAL = 0.10
UNEVEN = 0.05
"""A run that predicts its own speed-up worse than this was disturbed: no costs explain that."""

GUESSED = 0.1
"""A prediction of which a larger share of the checks is of a width never met is marked."""

PROMPTS = {
    "code": "Write a Python function that returns the n-th Fibonacci number, with a docstring.",
    "list": "List ten fruits and say one sentence about each of them.",
    "story": "Write a short story about a fox who learns to read.",
}


@dataclass(frozen=True, slots=True)
class Repeat:
    """One round: the baseline, a run of each draft length, and the costs measured for it."""

    baseline: Trace
    runs: dict[int, Trace]
    costs: MeasuredCosts


@dataclass(frozen=True, slots=True)
class Row:
    """One prediction. `guessed`: share of its checks of a width that was never met."""

    prompt: str
    p_min: float
    n_from: int
    with_measured: bool
    n_draft: int
    predicted: float
    measured: float
    guessed: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


async def measure(options: argparse.Namespace) -> list[Row]:
    """All prompts and minimum probabilities."""
    machine = look_at_machine()
    rows: list[Row] = []
    async with OurEngine(options.target, options.draft) as engine:
        for prompt in options.prompts:
            for p_min in options.p_min:
                repeats = await _measured(engine, prompt, p_min, options)
                new = list(_rows(prompt, p_min, repeats, options))
                _show(prompt, p_min, new, options)
                rows += new
    largest = {
        kind: [abs(row.error) for row in rows if row.with_measured is kind] for kind in KINDS
    }
    report(
        "draft_length_prediction",
        machine,
        [
            Result(f"error of the prediction, {KINDS[kind]}", spread(errors), None)
            for kind, errors in largest.items()
        ],
        largest_error={KINDS[kind]: max(errors) for kind, errors in largest.items()},
        goal=GOAL,
        n_predict=options.tokens,
        n_threads=options.threads,
        rows=[[*_key(row), row.predicted, row.measured] for row in rows],
    )
    return rows


KINDS = {False: "from the run's steps alone", True: "with measured costs"}


def _key(row: Row) -> list[str | float]:
    return [row.prompt, row.p_min, row.n_from, KINDS[row.with_measured], row.n_draft]


async def _measured(
    engine: OurEngine, prompt: str, p_min: float, options: argparse.Namespace
) -> list[Repeat]:
    settings = Settings(
        target=engine.target,
        draft=engine.draft,
        prompt="",
        n_predict=options.tokens,
        n_ctx=options.ctx_size,
        n_threads=options.threads,
        repack=options.repack,
        n_max=options.longest,
        p_min=p_min,
    )
    alone = replace(settings, p_min=None)
    question = PROMPTS[prompt]
    repeats: list[Repeat] = []
    attempts = Repeats(options.repeats, options.keep_disturbed)
    for attempt in attempts:
        baseline = (await engine.run(question, alone)).trace
        runs: dict[int, Trace] = {}
        for name in order(attempt, [str(n) for n in range(1, options.longest + 1)]):
            run = await engine.run(question, replace(settings, n_max=int(name)))
            runs[int(name)] = run.trace
        costs = await engine.measure_costs(question, settings, options.longest + 1)
        if attempts.counts():
            repeats.append(Repeat(baseline, runs, costs))
    return repeats


def _rows(
    prompt: str, p_min: float, repeats: Sequence[Repeat], options: argparse.Namespace
) -> Iterator[Row]:
    alone = seconds_per_token([repeat.baseline for repeat in repeats])
    for n_from in options.from_length:
        for kind in KINDS:
            for n_draft in range(1, options.longest + 1):
                found = [
                    predict(_costs(repeat, n_from, kind), shape, n_draft)
                    for repeat in repeats
                    if (shape := shape_of(repeat.runs[n_from]))
                ]
                known = [prediction for prediction in found if prediction is not None]
                if not known:
                    continue
                runs = [repeat.runs[n_draft] for repeat in repeats]
                yield Row(
                    prompt=prompt,
                    p_min=p_min,
                    n_from=n_from,
                    with_measured=kind,
                    n_draft=n_draft,
                    predicted=statistics.median(each.speedup for each in known),
                    measured=alone / seconds_per_token(runs),
                    guessed=known[0].guessed_checks,
                )


def _costs(repeat: Repeat, n_from: int, measured: bool) -> Costs:
    costs = costs_of(repeat.baseline, repeat.runs[n_from])
    if costs is None:
        raise MeasuringError("A baseline without a step tells no costs.")
    return with_measured(costs, *repeat.costs) if measured else costs


def seconds_per_token(traces: Sequence[Trace]) -> float:
    """Of repeats of one greedy run.

    They take the same steps, so each step counts with the median of what it took in the repeats:
    what holds up one of them does not hold up another at the same place.
    """
    n_steps = {len(trace.steps) for trace in traces}
    if len(n_steps) > 1:
        raise MeasuringError("Repeats of a greedy run took different steps.")
    seconds = sum(
        statistics.median(_whole(trace.steps[i]) for trace in traces) for i in range(n_steps.pop())
    )
    return seconds / len(traces[0].tokens)


def _whole(step: StepVerified) -> float:
    return (
        step.draft_seconds
        + step.verify_seconds
        + step.sample_seconds
        + step.restore_seconds
        + step.other_seconds
    )


def _show(prompt: str, p_min: float, rows: Sequence[Row], options: argparse.Namespace) -> None:
    lengths = range(1, options.longest + 1)
    print(f"\n{prompt}, p_min {p_min:g}")
    print(f"{'draft tokens':42}" + "".join(f"{n:8}" for n in lengths))
    for n_from in options.from_length:
        for kind, words in KINDS.items():
            own = [row for row in rows if row.n_from == n_from and row.with_measured is kind]
            if n_from == options.from_length[0] and not kind:
                print(f"{'measured':42}" + "".join(f"{row.measured:8.3f}" for row in own))
            marks = ["~" if row.guessed > GUESSED else "" for row in own]
            values = [f"{m}{row.predicted:.3f}" for m, row in zip(marks, own, strict=True)]
            print(f"{f'from {n_from}, {words}':42}" + "".join(f"{text:>8}" for text in values))
            print(f"{'':42}" + "".join(f"{100 * row.error:+7.1f}%" for row in own))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", dest="target", type=Path, help="target (default: the demo pair)")
    parser.add_argument("-md", dest="draft", type=Path, help="draft")
    parser.add_argument("-n", dest="tokens", type=int, default=160, help="tokens of each run")
    parser.add_argument("-t", dest="threads", type=int, default=physical_cores())
    parser.add_argument("-c", dest="ctx_size", type=int, default=2048)
    parser.add_argument("--longest", type=int, default=8, help="draft lengths go from 1 to this")
    parser.add_argument(
        "--from", dest="from_length", type=int, nargs="+", default=[8, 3], help="predict from these"
    )
    parser.add_argument("--p-min", type=float, nargs="+", default=[0.0, 0.6])
    parser.add_argument("--repeats", type=int, default=5, help="of everything")
    parser.add_argument("--prompts", nargs="+", choices=PROMPTS, default=list(PROMPTS))
    parser.add_argument("--keep-disturbed", action="store_true", help="count all repeats")
    parser.add_argument("--no-repack", dest="repack", action="store_false")
    options = parser.parse_args()
    if (options.target is None) != (options.draft is None):
        parser.error("give both -m and -md, or neither")
    if not all(1 <= n <= options.longest for n in options.from_length):
        parser.error("--from has to lie within the draft lengths that are run")
    try:
        rows = asyncio.run(measure(options))
    except (MeasuringError, SpecvizError) as error:
        print(error, file=sys.stderr)
        return 2
    outside = [row for row in rows if row.with_measured and abs(row.error) > GOAL]
    for row in outside:
        print(f"outside {100 * GOAL:.0f} %: {_key(row)}, {100 * row.error:+.1f} %")
    itself = max(abs(row.error) for row in rows if row.n_draft == row.n_from)
    if outside and itself > UNEVEN:
        print(
            f"A run predicts even its own speed-up only within {100 * itself:.0f} %. "
            "The machine was too busy to judge by this.",
            file=sys.stderr,
        )
        return 2
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
