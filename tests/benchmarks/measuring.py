"""What the benchmarks share: undisturbed repeats in turn, ratios, the closing JSON line.

Knows nothing of what is measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psutil

BUSY_PERCENT = 10.0
"""Use of all processors before the start from which on there is a warning."""

FOREIGN_SHARE = 0.05
"""A repeat counts when other programs took less than this share of one processor."""


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


class MeasuringError(Exception):
    """Nothing could be measured; the message says why."""


class ForeignWork:
    """How busy other programs are from now on."""

    def __init__(self) -> None:
        self._begin, self._busy, self._own = time.perf_counter(), _busy(), _own()

    def share(self) -> float:
        """Processor time that others took since the start, in shares of one processor."""
        foreign = (_busy() - self._busy) - (_own() - self._own)
        return max(foreign, 0.0) / (time.perf_counter() - self._begin)


class Repeats:
    """Counts repeats until enough of them went undisturbed by other programs.

    Gives up after three times as many. Iterating yields the number of the attempt.
    """

    def __init__(self, wanted: int, keep_all: bool) -> None:
        self.n_discarded = 0
        self._wanted = wanted
        self._keep_all = keep_all
        self._n_kept = 0
        self._watch = ForeignWork()

    def __iter__(self) -> Iterator[int]:
        for attempt in range(3 * self._wanted):
            if self._n_kept == self._wanted:
                return
            self._watch = ForeignWork()
            yield attempt
        if not self._n_kept and self._wanted:
            raise MeasuringError(
                "Other programs disturbed every repeat. Close them, or use --keep-disturbed."
            )

    def counts(self) -> bool:
        """Whether the repeat that just ended may be kept."""
        kept = self._keep_all or self._watch.share() < FOREIGN_SHARE
        self._n_kept += kept
        self.n_discarded += not kept
        return kept


def _busy() -> float:
    """Seconds that all processors together have been busy."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)


def _own() -> float:
    """Seconds of processor time of this process and all it has started."""
    process = psutil.Process()
    own = process.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times = child.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


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
        print("Other programs keep this machine busy: numbers may be off, or take long to get.")
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
