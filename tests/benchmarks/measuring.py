"""What the benchmarks share: alternating repeats, ratios with their spread, the closing JSON line.

Knows nothing of what is measured.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psutil

BUSY_PERCENT = 10.0
"""Processor use by others from which on a measurement is not to be trusted."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A measured quantity: median, lowest and highest of `n` repeats."""

    median: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.median:.3f} ({self.low:.3f} to {self.high:.3f}, n = {self.n})"


def spread(values: Sequence[float]) -> Spread:
    """Median and range of at least one value."""
    return Spread(statistics.median(values), min(values), max(values), len(values))


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the report. `goal` is a bound on the median: at least, or at most.

    `ours` and `peer` are medians in `unit`; a result without a peer has None there.
    """

    name: str
    measured: Spread
    goal: float | None
    at_least: bool = True
    unit: str = ""
    ours: float | None = None
    peer: float | None = None

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        found = self.measured.median
        return found >= self.goal if self.at_least else found <= self.goal

    def line(self) -> str:
        """The result in words."""
        text = f"{self.name}: {self.measured}"
        if self.ours is not None and self.peer is not None:
            text += f"; ours {self.ours:.3g} {self.unit}, peer {self.peer:.3g} {self.unit}"
        elif self.unit:
            text += f" {self.unit}"
        if self.goal is not None:
            sign = "at least" if self.at_least else "at most"
            text += f"; goal {sign} {self.goal:g}: {'met' if self.met else 'MISSED'}"
        return text


def ratios(
    name: str, ours: Sequence[float], peer: Sequence[float], unit: str, goal: float
) -> Result:
    """Ours divided by the peer's, repeat by repeat, for quantities where more is better."""
    pairs = [mine / theirs for mine, theirs in zip(ours, peer, strict=True)]
    return Result(
        name,
        spread(pairs),
        goal,
        unit=unit,
        ours=statistics.median(ours),
        peer=statistics.median(peer),
    )


def order(repeat: int, names: Sequence[str]) -> list[str]:
    """Who goes first takes turns, so that a machine growing warm slows all alike."""
    return list(names) if repeat % 2 == 0 else list(reversed(names))


@dataclass(frozen=True, slots=True)
class Machine:
    """Where and how undisturbed a measurement began. `busy_percent`: all processors together."""

    system: str
    processor: str
    cores: int
    load_average: float | None
    busy_percent: float


def look_at_machine() -> Machine:
    """Watch the processors for two seconds; says so when others keep them busy."""
    machine = Machine(
        system=platform.platform(terse=True),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        busy_percent=psutil.cpu_percent(interval=2.0),
    )
    print(f"{machine.processor}, {machine.cores} cores, {machine.busy_percent:.0f} % busy before.")
    if machine.busy_percent > BUSY_PERCENT:
        print("Other programs keep this machine busy: do not trust the numbers.")
    return machine


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def report(benchmark: str, machine: Machine, results: Sequence[Result], **facts: Any) -> None:
    """Print the results in words, then all of it as one line of JSON."""
    print()
    for result in results:
        print(result.line())
    entries = [{**asdict(result), "met": result.met} for result in results]
    data = {"benchmark": benchmark, "machine": asdict(machine), "results": entries, **facts}
    print(json.dumps(data, ensure_ascii=False))
