"""Does watching slow the engine? Tokens/s with the window streaming divided by those without one.

Two programs take turns with the same pair, prompt and settings: the real window, and a session
without any window. Both rates are the engine's own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from llama_peer import Settings
from measuring import MeasuringError, Repeats, Result, look_at_machine, order, ratios, report
from our_engine import OurEngine, demo_pair, run_config

from specviz.engine.hardware import physical_cores
from specviz.errors import SpecvizError
from specviz.trace import metrics
from specviz.trace.config import RunConfig, RunMode

GOAL = 0.97
PROMPT = "Write a short story about a fox who learns to read."
P_MIN = {RunMode.BASELINE: None, RunMode.SPECULATIVE: 0.5}


# The two programs that take turns ----------------------------------------------------------------
RunOnce = Callable[[RunMode], Awaitable[float]]


async def serve(run_once: RunOnce) -> None:
    """Run what is asked for on standard input, a mode a line; answer with tokens/s."""
    print("ready", flush=True)
    async for line in _lines():
        print(json.dumps(await run_once(RunMode(line))), flush=True)


async def _lines() -> AsyncIterator[str]:
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield line.strip()


async def headless(settings: Settings) -> None:
    """The session alone."""
    async with OurEngine(settings.target, settings.draft) as engine:

        async def run_once(mode: RunMode) -> float:
            run = await engine.run(PROMPT, replace(settings, p_min=P_MIN[mode]))
            return run.tokens_per_second

        await serve(run_once)


def windowed(settings: Settings) -> None:
    """The session under the real window."""
    from driven_window import in_window, ready, run

    from specviz.ui.controller import Controller
    from specviz.window_options import WindowOptions

    async def scenario(controller: Controller) -> None:
        await ready(controller)

        async def run_once(mode: RunMode) -> float:
            wanted = run_config(PROMPT, replace(settings, p_min=P_MIN[mode]))

            def change(config: RunConfig) -> RunConfig:
                return replace(wanted, messages=config.messages)

            trace = await run(controller, PROMPT, change, mode)
            return metrics.tokens_per_second(trace) or 0.0

        await serve(run_once)

    in_window(WindowOptions(target=settings.target, draft=settings.draft), scenario)


# Measuring ---------------------------------------------------------------------------------------
class Program:
    """One of the two, running beside the other and idle while the other runs."""

    def __init__(self, kind: str, arguments: list[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--only", kind, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SpecvizError("One of the two programs ended before it was asked to.")
        return line

    def run(self, mode: RunMode) -> float:
        assert self._process.stdin is not None
        print(mode.value, file=self._process.stdin, flush=True)
        return float(json.loads(self._answer()))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def measure(options: argparse.Namespace, arguments: list[str]) -> None:
    """Let the two take turns and print the ratio of their rates."""
    machine = look_at_machine()
    asyncio.run(demo_pair())
    programs: dict[str, Program] = {}
    try:
        for kind in ("window", "headless"):
            programs[kind] = Program(kind, arguments)
        repeats = {mode: Repeats(options.repeats, options.keep_disturbed) for mode in RunMode}
        results = [_ratio(programs, mode, repeats[mode]) for mode in RunMode]
    finally:
        for program in programs.values():
            program.close()
    report("observer_effect", machine, results, n_predict=options.tokens, n_threads=options.threads)


def _ratio(programs: dict[str, Program], mode: RunMode, repeats: Repeats) -> Result:
    rates: dict[str, list[float]] = {kind: [] for kind in programs}
    for program in programs.values():
        program.run(mode)  # unmeasured: loads the models, makes the baseline
    for attempt in repeats:
        pair = {kind: programs[kind].run(mode) for kind in order(attempt, list(programs))}
        if not repeats.counts():
            continue
        for kind, rate in pair.items():
            rates[kind].append(rate)
        print(f"{mode}: window {pair['window']:.1f}, headless {pair['headless']:.1f} tokens/s")
    name = f"{mode}, window / headless"
    return ratios(name, rates["window"], rates["headless"], "tokens/s", GOAL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", dest="tokens", type=int, default=140, help="tokens of each run")
    parser.add_argument("-t", dest="threads", type=int, default=physical_cores())
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--keep-disturbed", action="store_true", help="count all repeats")
    parser.add_argument("--repack", action="store_true", help="allow repacked weights")
    parser.add_argument("--only", choices=("window", "headless"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        if options.only is None:
            measure(options, sys.argv[1:])
            return 0
        target, draft = asyncio.run(demo_pair())
        settings = Settings(
            target=Path(target),
            draft=Path(draft),
            prompt="",
            n_predict=options.tokens,
            n_ctx=2048,
            n_threads=options.threads,
            repack=options.repack,
            n_max=3,
            p_min=None,
        )
        if options.only == "window":
            windowed(settings)
        else:
            asyncio.run(headless(settings))
    except (MeasuringError, SpecvizError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
