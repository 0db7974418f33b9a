"""The widgets that show runs, made and named for the controller."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from specviz.errors import FileError
from specviz.sweep.plan import SweepPrompt
from specviz.sweep.prompts import builtin_prompts
from specviz.ui.break_even import BreakEven
from specviz.ui.conversation import Conversation
from specviz.ui.cost_panel import CostPanel
from specviz.ui.draft_charts import DraftCharts
from specviz.ui.legend import Legend
from specviz.ui.main_window import Views
from specviz.ui.prompt_bar import PromptBar
from specviz.ui.settings_view import SettingsLine
from specviz.ui.source_table import SourceTable
from specviz.ui.step_inspector import StepInspector
from specviz.ui.step_strip import StepStrip
from specviz.ui.sweep_bar import SweepBar
from specviz.ui.sweep_page import SweepPage
from specviz.ui.throughput_plot import ThroughputPlot
from specviz.ui.time_chart import TimeChart
from specviz.ui.verdict_bar import VerdictBar

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunViews(Views):
    """The window's views by what they are, not only as widgets."""

    verdict: VerdictBar
    conversation: Conversation
    legend: Legend
    prompt_bar: PromptBar
    throughput: ThroughputPlot
    drafts: DraftCharts
    times: TimeChart
    break_even: BreakEven
    costs: CostPanel
    sources: SourceTable
    settings: SettingsLine
    strip: StepStrip
    inspector: StepInspector
    sweep: SweepPage
    sweep_bar: SweepBar


def make_views() -> RunViews:
    """One of each; the application object must exist."""
    return RunViews(
        verdict=VerdictBar(offers_check=True),
        conversation=Conversation(),
        legend=Legend(),
        prompt_bar=PromptBar(),
        throughput=ThroughputPlot(),
        drafts=DraftCharts(),
        times=TimeChart(),
        break_even=BreakEven(),
        costs=CostPanel(),
        sources=SourceTable(),
        settings=SettingsLine(),
        strip=StepStrip(),
        inspector=StepInspector(),
        sweep=SweepPage(offered_prompts()),
        sweep_bar=SweepBar(),
    )


def offered_prompts() -> tuple[SweepPrompt, ...]:
    """The built-in prompts of a sweep; none where the installation is damaged, which is no reason
    not to start."""
    try:
        return builtin_prompts()
    except FileError as error:
        log.warning("%s", error)
        return ()
