"""What the worker process drives: load models, run, unload. Two of them, real and scripted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from specviz.engine.model import Cancellation
from specviz.trace.config import LoadConfig
from specviz.trace.events import Environment, RunEvent
from specviz.worker.protocol import (
    Checking,
    CheckLossless,
    CostMeasured,
    Device,
    Loaded,
    Loading,
    LosslessChecked,
    MeasureCosts,
    Prefilling,
    Run,
)

Report = Callable[[Loading | Loaded | Prefilling | CostMeasured | Checking | LosslessChecked], None]


class Engine(Protocol):
    """Keeps models in memory between runs. Raises SpecvizError for what it refuses."""

    @property
    def environment(self) -> Environment: ...

    @property
    def gpu_offload(self) -> bool: ...

    def load(self, config: LoadConfig, report: Report, cancelled: Cancellation) -> None:
        """Have the models in memory and report `Loaded`. Raises Cancelled."""
        ...

    def run(self, run: Run, report: Report, cancelled: Cancellation) -> Iterator[RunEvent]:
        """The events of one run; loads first where needed. Raises Cancelled while loading."""
        ...

    def measure_costs(self, command: MeasureCosts, report: Report, cancelled: Cancellation) -> None:
        """Report `CostMeasured` for each width and length. Raises Cancelled."""
        ...

    def check_lossless(
        self, command: CheckLossless, report: Report, cancelled: Cancellation
    ) -> None:
        """Evaluate a recorded run anew and report `LosslessChecked`. Raises Cancelled."""
        ...

    def abort(self) -> None:
        """Cut a long call short, from another thread; the cancellation is set already."""
        ...

    def unload(self) -> None: ...

    def devices(self) -> tuple[Device, ...]: ...
