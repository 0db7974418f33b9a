"""What is examined beside the runs: costs that are measured, and outputs that are checked anew.

Joins the engine's answers to the sections that show them. The controller decides when; this
knows what to ask, why it cannot be asked, and how far it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QWidget

from specviz.errors import EngineDied, SpecvizError
from specviz.trace.comparison import Comparison
from specviz.trace.config import LoadConfig, RunConfig
from specviz.trace.lossless import LosslessCheck
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.break_even import BreakEven
from specviz.ui.break_even_facts import facts_of
from specviz.ui.break_even_measuring import CostMeasuring
from specviz.ui.cost_panel import CostPanel
from specviz.ui.lossless_checking import LosslessChecking, wants_a_look, why_not_check
from specviz.ui.lossless_panel import LosslessPanel
from specviz.ui.lossless_words import report
from specviz.ui.slots import ModelSlots
from specviz.ui.verdict_bar import VerdictBar
from specviz.worker.client import Message
from specviz.worker.protocol import Checking, CostMeasured
from specviz.worker.session import EngineSession

log = logging.getLogger(__name__)

FORGOTTEN = "The measured costs belonged to other models or settings and are no longer used."
BUSY = "The engine is at work; the output can be checked when it is done."
STOPPED_CHECK = "The check was stopped before its end."
NOTHING_ANEW = "This engine plays a script, so there was nothing to evaluate anew."


class Examination:
    """Measures costs and checks outputs, one at a time, for the runs on show."""

    def __init__(
        self,
        session: EngineSession,
        break_even: BreakEven,
        costs: CostPanel,
        verdict: VerdictBar,
        slots: ModelSlots,
        script: Path | None,
        notify: Callable[[Message], None],
    ) -> None:
        self.measuring = CostMeasuring(session)
        self.checking = LosslessChecking(session)
        self.panel: LosslessPanel | None = None
        self._break_even, self._costs, self._verdict = break_even, costs, verdict
        self._slots, self._script = slots, script
        self._notify = notify
        self._baseline: Trace | None = None
        self._speculative: Trace | None = None
        self._comparison: Comparison | None = None
        self._seen: tuple[object, ...] = ()
        self._busy = False
        break_even.length_changed.connect(costs.show_length)
        costs.show_length(break_even.length.value())

    # What is on show -------------------------------------------------------------------------
    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """These runs are on show from now on."""
        if (baseline, speculative) != (self._baseline, self._speculative):
            if self.panel is not None and not self.panel.busy:
                self.panel.show_rest()
        self._baseline, self._speculative = baseline, speculative
        self._comparison = None
        self.show_facts()
        self._show_report()

    def show_comparison(self, comparison: Comparison | None) -> None:
        """The runs on show have been compared; they are over."""
        self._comparison = comparison
        self.show_facts()
        self._show_report()

    def show_facts(self) -> None:
        """Bring break-even and costs in line with runs and measurement."""
        runs = (self._baseline, self._speculative)
        closed = tuple(run is None or run.closed for run in runs)
        # one that broke off is never closed, and nothing more comes of it either
        running = self._busy and not all(closed)
        state = (*runs, *closed, running, self.measuring.measured)
        if state != self._seen:  # a long run takes a while to be gone through
            self._seen = state
            facts = facts_of(*runs, self.measuring.measured)
            self._break_even.show_facts(facts, running=running)
            self._costs.show_facts(facts)

    @property
    def known_check(self) -> LosslessCheck | None:
        """What checking the run on show has shown."""
        return self.checking.known(self._speculative)

    def settings_changed(self, load: LoadConfig) -> None:
        """Forget costs that these settings do not have."""
        if self.measuring.keep_what_is_true_of(load):
            self._costs.show_rest(FORGOTTEN)
            self.show_facts()

    def set_blocked(self, why_not_measure: str, *, busy: bool) -> None:
        """Bring the buttons in line with what can be done.

        Why nothing can be measured is a sentence, empty where it can. `busy`: the engine is.
        """
        self._busy = busy
        self._costs.set_blocked(why_not_measure)
        self._verdict.show_check(self._speculative is not None and bool(self._speculative.steps))
        self._block_panel()

    def _block_panel(self) -> None:
        if self.panel is not None:
            self.panel.set_blocked(self.why_not_check or (BUSY if self._busy else ""))

    @property
    def why_not_check(self) -> str:
        """Why the run on show cannot be checked, in a sentence; empty when it can."""
        return why_not_check(self._speculative, self._slots, self._script)

    def open_panel(self, window: QWidget) -> LosslessPanel:
        """The panel on the lossless check, in front."""
        if self.panel is None:
            self.panel = LosslessPanel(window)
        self._block_panel()
        self._show_report()
        self.panel.show()
        self.panel.raise_()
        self.panel.activateWindow()
        return self.panel

    def _show_report(self) -> None:
        if self.panel is not None:
            self.panel.show_report(
                report(self._baseline, self._speculative, self._comparison, self.known_check)
            )

    # Costs -----------------------------------------------------------------------------------
    async def measure(self, config: RunConfig) -> None:
        """Measure costs; what was measured is shown however it ends. Raises SpecvizError."""
        newest = self._speculative if self._speculative is not None else self._baseline
        self._costs.show_progress(0, 0)
        told = ""
        try:
            finished = await self.measuring.measure(config, newest, self._on_notice)
            told = self._measured_words(finished)
        finally:
            self._costs.show_rest(told)
            self.show_facts()

    def _measured_words(self, finished: bool) -> str:
        measured = self.measuring.measured
        if measured is None or not measured.checks:
            return "Stopped before anything was measured."
        widest = figures.counted(measured.checks[-1].n_rows, "row")
        if not finished:
            return f"Stopped; checks of up to {widest} are measured."
        return f"Measured for checks of 1 to {widest}."

    # Outputs ---------------------------------------------------------------------------------
    def wants_a_look(self, comparison: Comparison | None) -> bool:
        """Whether the fork between the runs on show should be looked at without being asked."""
        return (
            not self.why_not_check
            and self.known_check is None
            and wants_a_look(self._speculative, comparison)
        )

    async def look_at_fork(self, comparison: Comparison | None) -> None:
        """Evaluate the fork anew. Without an answer the recorded margins have to do."""
        self._verdict.show_checking(True)
        try:
            await self._check(comparison, whole=False)
        except EngineDied:
            raise
        except SpecvizError as error:
            log.warning("the fork could not be evaluated anew: %s", error)
        finally:
            self._verdict.show_checking(False)

    async def check_again(self, comparison: Comparison | None) -> None:
        """Evaluate every step of the run on show anew. Raises SpecvizError."""
        told = ""
        self._verdict.show_checking(True)
        if self.panel is not None:
            self.panel.show_progress(0, 0)
        try:
            finished = await self._check(comparison, whole=True)
            check = self.known_check
            if not finished:
                told = STOPPED_CHECK
            elif check is None or not (check.n_rechecked or check.mismatch):
                told = NOTHING_ANEW
        finally:
            self._verdict.show_checking(False)
            if self.panel is not None:
                self.panel.show_rest(told)
                self._show_report()

    async def _check(self, comparison: Comparison | None, *, whole: bool) -> bool:
        if self._speculative is None:
            return False
        fork = comparison.first_divergence if comparison is not None else None
        return await self.checking.check(
            self._baseline, self._speculative, fork, self._on_notice, whole
        )

    def check_config(self) -> RunConfig | None:
        """What the run on show was asked to do; its models and settings are needed to check it."""
        started = self._speculative.started if self._speculative is not None else None
        return started.config if started is not None else None

    # Progress --------------------------------------------------------------------------------
    def _on_notice(self, message: Message) -> None:
        self._notify(message)
        match message:
            case CostMeasured():
                self._costs.show_progress(message.n_done, message.n_total)
            case Checking():
                if self.panel is not None and self.panel.busy:
                    self.panel.show_progress(message.n_done, message.n_total)
