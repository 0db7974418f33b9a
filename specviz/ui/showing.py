"""The runs on show: brought to every view, drawn as they grow, compared when they are over.

The views only show what they are given; which runs these are, and what is said of the two together,
is decided here.
"""

from __future__ import annotations

from typing import Protocol

from specviz.trace.comparison import Comparison, compare, same_task
from specviz.trace.config import RunMode
from specviz.trace.trace import Trace
from specviz.ui.dialogue import Dialogue
from specviz.ui.examination import Examination
from specviz.ui.main_window import MainWindow
from specviz.ui.runner import Runner
from specviz.ui.states import State
from specviz.ui.views import RunViews

WHAT_WILL_HAPPEN = "Run measures the target alone first, then with drafting, and compares the two."


class Host(Protocol):
    """What showing needs of the window around it."""

    @property
    def state(self) -> State:
        """Where the program stands."""


class Showing:
    """Shows the runner's runs in the window's mode.

    Attributes:
        comparison: what the runs on show have come to; None until they are over.
        examines: what is under way examines these runs, and does not make them.
    """

    def __init__(
        self,
        window: MainWindow,
        views: RunViews,
        runner: Runner,
        dialogue: Dialogue,
        examination: Examination,
        host: Host,
    ) -> None:
        self.comparison: Comparison | None = None
        self.examines = False
        self._window, self._views, self._runner = window, views, runner
        self._dialogue, self._examination = dialogue, examination
        self._host = host

    # What is on show ---------------------------------------------------------------------------
    def shown(self) -> tuple[Trace | None, Trace | None]:
        """Baseline and speculative run on show; the baseline mode shows that run alone."""
        if self._window.mode is RunMode.BASELINE:
            return self._runner.baseline, None
        return self._runner.baseline, self._runner.speculative

    def show_traces(self) -> None:
        """Other runs are on show, or the same in another mode."""
        baseline, speculative = self.shown()
        views = self._views
        self._dialogue.show_runs(self._runner.baseline, self._runner.speculative)
        for view in (
            views.throughput,
            views.drafts,
            views.times,
            views.sources,
            views.settings,
            views.legend,
            views.strip,
        ):
            view.show_traces(baseline, speculative)
        views.inspector.show_step(speculative or baseline, None)
        self._examination.show_traces(baseline, speculative)
        self._show_verdict()

    def compare(self) -> Comparison | None:
        """The runs on show held against each other, with what a check has shown."""
        baseline, speculative = self.shown()
        if baseline is None or speculative is None or not same_task(baseline, speculative):
            return None
        return compare(baseline, speculative, self._examination.checking.known(speculative))

    # Drawing -----------------------------------------------------------------------------------
    def draw(self, final: bool = False) -> None:
        """Take in what is new: text and strip."""
        for view in (self._views.conversation, self._views.strip):
            view.refresh(final)
        self._dialogue.notice_answer()

    def draw_figures(self, final: bool = False) -> None:
        """Take in what is new: charts, figures and verdict."""
        views = self._views
        for view in (
            views.throughput,
            views.legend,
            views.drafts,
            views.times,
            views.sources,
        ):
            view.refresh(final)
        views.conversation.refresh_figures()
        self._show_verdict()

    def show_end(self) -> None:
        """The last look of a run: everything drawn, the two runs compared."""
        self.comparison = self.compare()
        self._examination.show_comparison(self.comparison)
        self.draw(final=True)
        self.draw_figures(final=True)

    def _show_verdict(self) -> None:
        baseline, speculative = self.shown()
        trace, verdict = speculative or baseline, self._views.verdict
        busy = self._host.state in (State.LOADING, State.RUNNING, State.CANCELLING)
        running = busy and not self.examines
        if running and trace is not None:
            verdict.show_running(trace, baseline if speculative else None)
        elif trace is not None:
            comparison = self.comparison if speculative is not None else None
            verdict.show_result(baseline, speculative, comparison)
        elif running:
            verdict.show_idle("The models are made ready.", headline="Loading")
        else:
            verdict.show_idle(WHAT_WILL_HAPPEN)

    # Steps -------------------------------------------------------------------------------------
    def choose_step(self, step: int) -> None:
        """Show one verify step everywhere."""
        baseline, speculative = self.shown()
        trace = speculative or baseline
        if trace is None or not 0 <= step < len(trace.steps):
            return
        self._views.strip.mark_step(step)
        self._views.conversation.mark_step(step, reveal=True)
        self._views.inspector.show_step(trace, step)

    def clear_step(self) -> None:
        """No step is chosen any more."""
        baseline, speculative = self.shown()
        self._views.strip.mark_step(None)
        self._views.conversation.mark_step(None)
        self._views.inspector.show_step(speculative or baseline, None)
