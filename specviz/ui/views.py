"""The widgets that show runs, made and named for the controller."""

from __future__ import annotations

from dataclasses import dataclass

from specviz.ui.conversation import Conversation
from specviz.ui.draft_charts import DraftCharts
from specviz.ui.legend import Legend
from specviz.ui.main_window import Views
from specviz.ui.prompt_bar import PromptBar
from specviz.ui.settings_view import SettingsLine
from specviz.ui.source_table import SourceTable
from specviz.ui.step_inspector import StepInspector
from specviz.ui.step_strip import StepStrip
from specviz.ui.throughput_plot import ThroughputPlot
from specviz.ui.time_chart import TimeChart
from specviz.ui.verdict_bar import VerdictBar


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
    sources: SourceTable
    settings: SettingsLine
    strip: StepStrip
    inspector: StepInspector


def make_views() -> RunViews:
    """One of each; the application object must exist."""
    return RunViews(
        verdict=VerdictBar(),
        conversation=Conversation(),
        legend=Legend(),
        prompt_bar=PromptBar(),
        throughput=ThroughputPlot(),
        drafts=DraftCharts(),
        times=TimeChart(),
        sources=SourceTable(),
        settings=SettingsLine(),
        strip=StepStrip(),
        inspector=StepInspector(),
    )
