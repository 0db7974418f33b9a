"""The window under a stream of 2 000 tokens/s: is it true, does it answer, does it keep all?

A script of 20 000 tokens is played at its real pace by the real engine process into the real
window. Measured in the window's process: the rate it reports against the script's, how late its
event loop serves a 5 ms timer, how much memory it takes, and whether all tokens arrive in the
view and in the CSV file.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
from driven_window import in_window, ready, run
from measuring import ForeignWork, Result, Spread, look_at_machine, report, spread
from PySide6.QtCore import QObject, Qt, QTimer

from specviz.errors import SpecvizError
from specviz.trace import metrics
from specviz.trace.config import RunConfig, RunMode, SpeculationConfig
from specviz.ui.controller import Controller
from specviz.window_options import WindowOptions

N_PIECES = 4000
DRAFTED = 3
PROBE_MS = 5
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is played, and how fast."""

    n_tokens: int
    tokens_per_second: float


def write_script(path: Path, pace: Pace) -> None:
    """Baseline: one token a step. Speculative: three accepted draft tokens and a bonus a step."""
    seconds = 1 / pace.tokens_per_second
    first = 10
    pieces = {
        str(first + i): f" w{i:04d}" + ("\n" if i % 12 == 11 else "") for i in range(N_PIECES)
    }
    ids = [first + i % N_PIECES for i in range(pace.n_tokens)]
    width = DRAFTED + 1
    rounds = [
        {
            "draft": [[token_id, 0.9, 0.8] for token_id in ids[at : at + DRAFTED]],
            "accepted": DRAFTED,
            "target": [ids[at + DRAFTED], 0.7],
            "draft_seconds": seconds * width * 0.25,
            "verify_seconds": seconds * width * 0.75,
        }
        for at in range(0, pace.n_tokens, width)
    ]
    script = {
        "schema": "specviz.script/1",
        "pieces": pieces,
        "prompt_tokens": 12,
        "prefill_seconds": 0.1,
        "pace": "real",
        "baseline": {"token_ids": ids, "step_seconds": seconds},
        "rounds": rounds,
    }
    path.write_text(json.dumps(script), encoding="utf-8")


class Probe(QObject):
    """Asks for a precise timer every 5 ms, and notes how late the event loop serves it.

    `late_ms`: milliseconds beyond the 5. `arrivals`: (seconds, tokens there) whenever new ones
    were, by this process's own clock.
    """

    def __init__(self, n_tokens: Callable[[], int]) -> None:
        super().__init__()
        self.late_ms: list[float] = []
        self.arrivals: list[tuple[float, int]] = []
        self._n_tokens = n_tokens
        self._last = time.perf_counter()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._timer.start(PROBE_MS)

    def stop(self) -> None:
        self._timer.stop()

    @property
    def rate(self) -> float:
        """Tokens/s of arrival, between the first and the last that were seen to arrive."""
        (begin, already), (end, n_tokens) = self.arrivals[0], self.arrivals[-1]
        return (n_tokens - already) / (end - begin)

    def _tick(self) -> None:
        now = time.perf_counter()
        self.late_ms.append(max((now - self._last) * 1000 - PROBE_MS, 0.0))
        self._last = now
        there = self._n_tokens()
        if there and (not self.arrivals or there > self.arrivals[-1][1]):
            self.arrivals.append((now, there))


@dataclass(frozen=True, slots=True)
class Observed:
    """What one run in the window came to. Rates in tokens/s, memory in MiB."""

    reported_rate: float
    arrival_rate: float
    late_ms: list[float]
    growth: float
    n_tokens: int
    view_is_complete: bool
    n_in_csv: int

    @property
    def complete(self) -> bool:
        return self.view_is_complete and self.n_in_csv == self.n_tokens


async def observe(controller: Controller, mode: RunMode, pace: Pace, folder: Path) -> Observed:
    """Play one run and look at everything."""

    def change(config: RunConfig) -> RunConfig:
        return replace(
            config,
            max_tokens=-1,
            load=replace(config.load, n_ctx=pace.n_tokens + 1024),
            speculation=SpeculationConfig(n_max=DRAFTED),
        )

    def n_tokens() -> int:
        runner = controller.runner
        trace = runner.baseline if mode is RunMode.BASELINE else runner.speculative
        return len(trace.tokens) if trace is not None else 0

    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    probe = Probe(n_tokens)
    trace = await run(controller, "Go", change, mode)
    probe.stop()
    growth = process.memory_info().rss - before
    text = "".join(token.text for token in trace.tokens)
    return Observed(
        reported_rate=metrics.tokens_per_second(trace) or 0.0,
        arrival_rate=probe.rate,
        late_ms=probe.late_ms,
        growth=growth / MIB,
        n_tokens=len(trace.tokens),
        view_is_complete=controller.views.conversation.toPlainText() == text,
        n_in_csv=await _count_csv(controller, mode, folder),
    )


async def _count_csv(controller: Controller, mode: RunMode, folder: Path) -> int:
    """Tokens of the run in the file that the window's own export writes."""
    paths = await controller.exports.write("csv", folder)
    tokens = next(path for path in paths if path.name == "tokens.csv")
    with open(tokens, encoding="utf-8", newline="") as file:
        return sum(row["mode"] == mode.value for row in csv.DictReader(file))


def results_of(name: str, observed: Observed, pace: Pace) -> list[Result]:
    """The goals of one run."""
    late = sorted(observed.late_ms)
    tail = late[int(len(late) * 0.99)]
    once = pace.tokens_per_second

    def one(value: float) -> Spread:
        return spread([value])

    return [
        Result(f"{name}: reported rate / script's", one(observed.reported_rate / once), 0.99),
        Result(f"{name}: rate of arrival / script's", one(observed.arrival_rate / once), 0.98),
        Result(
            f"{name}: latest answer of the event loop", one(late[-1]), 50, at_least=False, unit="ms"
        ),
        Result(f"{name}: 99th percentile of it", one(tail), 16, at_least=False, unit="ms"),
        Result(f"{name}: growth of memory", one(observed.growth), 60, at_least=False, unit="MiB"),
        Result(
            f"{name}: share of the tokens in view and CSV",
            one(float(observed.complete and observed.n_tokens == pace.n_tokens)),
            1,
        ),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", dest="n_tokens", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=2_000.0, help="tokens/s")
    options = parser.parse_args()
    width = DRAFTED + 1
    pace = Pace(max(options.n_tokens // width, 1) * width, options.rate)
    machine = look_at_machine()
    others = ForeignWork()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_script(folder / "script.json", pace)

        async def scenario(controller: Controller) -> dict[RunMode, Observed]:
            await ready(controller)
            return {mode: await observe(controller, mode, pace, folder / mode) for mode in RunMode}

        try:
            seen = in_window(WindowOptions(script=folder / "script.json"), scenario)
        except SpecvizError as error:
            print(error, file=sys.stderr)
            return 2
    results = [
        result for mode, observed in seen.items() for result in results_of(mode, observed, pace)
    ]
    foreign = others.share()
    print(f"Other programs took {foreign:.0%} of a processor meanwhile.")
    report(
        "window_stream",
        machine,
        results,
        foreign_share=foreign,
        n_tokens=pace.n_tokens,
        rate=pace.tokens_per_second,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
