"""Pictures of every view in its states, in both themes, to look at: `view_shots.py FOLDER [NAME]`.

Run as a script with the tests folder on the path; not collected as a test.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parent.parent))

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from support import traces

from specviz.trace.comparison import compare
from specviz.trace.config import DraftSource
from specviz.trace.events import StopReason
from specviz.ui.appearance import apply_palette
from specviz.ui.theme import DARK, LIGHT

SHOTS = {}
CENTRE = ("conversation", "verdict", "legend", "prompt")


def shot(build):
    SHOTS[build.__name__] = build
    return build


@shot
def conversation_finished(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 480)
    view.show_traces(None, traces.explanation().trace)
    view.set_show_rejected(True)
    return view


@shot
def conversation_marked(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 320)
    view.show_traces(None, traces.explanation().trace)
    view.mark_step(3)
    view.select(150, 190)
    return view


@shot
def conversation_baseline(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 320)
    builder = traces.TraceBuilder(
        traces.run_config(traces.RunMode.BASELINE, prompt="Go on, then. " * 30)
    )
    builder.plain(
        "First", " paragraph", ".", "\n\n", "def", " f", "(x", "):\n", "    ", "return", " x\n"
    )
    builder.finish(StopReason.CANCELLED)
    view.show_traces(builder.trace, None)
    return view


def _turns(**changes):
    from support.turns import answered, reasoning_run, turn_of

    first = answered("Explain it.", "A", " small", " model", " guesses", " ahead", ".")
    return first, turn_of(reasoning_run(60, 20, **changes).trace)


@shot
def conversation_turns(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 480)
    view.show_turns(_turns())
    view.verticalScrollBar().setValue(0)
    return view


@shot
def conversation_folded_edited(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 320)
    view.show_turns(_turns())
    view.set_folded(1, True)
    view.set_editing(1, allowed=True)
    return view


@shot
def conversation_awkward(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 420)
    builder = traces.TraceBuilder(traces.run_config(prompt="<b>Odd</b> characters"))
    builder.step([b"Look \xf0", b"\x9f", b"x"], 2, b"\x98\x80 ok")
    builder.step([" smile", " smile", " \u202eoverride\u202c", " <b>bold</b>"], 4, " \x1b[31m\x07")
    builder.step([" مرحبا", " بالعالم"], 2, " 日本語のテキスト")
    builder.step([" fi", "ne", " na", "ïve"], 2, "  mo")
    builder.step(["\n", "\n", "السلام", " عليكم"], 3, " وبركاته")
    builder.step([" one", " two", " three"], 3, " four", copied_from=14)
    builder.step(["\n\tfor", " x", " in", " y"], 4, ":\n")
    builder.step(["A" * 300], 1, " end")
    builder.finish()
    view.show_traces(None, builder.trace)
    return view


@shot
def conversation_progress(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 220)
    view.show_prompt("Explain speculative decoding to a colleague in three sentences.")
    view.show_progress("Reading the prompt… 320 of 1\u202f024 tokens", 320 / 1024)
    return view


@shot
def conversation_empty(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 420)
    view.set_placeholder(
        "Drop two models, or try the demo pair",
        "SpecViz runs your prompt twice, with the target alone and with drafts, and shows "
        "which tokens the draft got right and whether that paid off.",
    )
    return view


def _pair(baseline_seconds=0.07, repeat=12):
    trace = traces.explanation(repeat=repeat).trace
    return traces.baseline_of(trace, seconds=baseline_seconds), trace


def _verdict(baseline, speculative):
    from specviz.ui.verdict_bar import VerdictBar

    view = VerdictBar()
    view.resize(788, 102)
    comparison = compare(baseline, speculative) if baseline and speculative else None
    view.show_result(baseline, speculative, comparison)
    return view


@shot
def verdict_faster(palette):
    return _verdict(*_pair())


@shot
def verdict_slower(palette):
    return _verdict(*_pair(0.02))


@shot
def verdict_no_gain(palette):
    return _verdict(*_pair(0.0434))


@shot
def verdict_fork(palette):
    _, trace = _pair()
    other = traces.TraceBuilder(traces.run_config(traces.RunMode.BASELINE))
    for token in trace.tokens[:40]:
        other.step(target=token.piece, seconds=0.07)
    other.step(target=" something", runner_up=(trace.tokens[40].piece, 0.03), seconds=0.07)
    for token in trace.tokens[41:]:
        other.step(target=token.piece, seconds=0.07)
    return _verdict(other.finish(), trace)


@shot
def verdict_running(palette):
    from specviz.ui.verdict_bar import VerdictBar

    view = VerdictBar()
    view.resize(788, 102)
    baseline, _ = _pair()
    view.show_running(traces.explanation(close=False).trace, baseline)
    return view


@shot
def verdict_idle(palette):
    from specviz.ui.verdict_bar import VerdictBar

    view = VerdictBar()
    view.resize(788, 102)
    view.show_idle("Run measures the target alone first, then with drafting, and compares the two.")
    return view


@shot
def verdict_baseline(palette):
    return _verdict(_pair()[0], None)


@shot
def verdict_failed(palette):
    builder = traces.explanation(close=False)
    builder.fail("The engine ran out of memory.", "Use a smaller context.")
    return _verdict(_pair()[0], builder.trace)


@shot
def legend_counts(palette):
    from specviz.ui.legend import Legend

    view = Legend()
    view.resize(788, 30)
    view.show_trace(_pair()[1])
    view.set_show_rejected(True)
    return view


@shot
def legend_narrow(palette):
    from specviz.ui.legend import Legend

    view = Legend()
    view.resize(528, 30)
    view.show_trace(_pair()[1])
    return view


@shot
def legend_empty(palette):
    from specviz.ui.legend import Legend

    view = Legend()
    view.resize(788, 30)
    return view


def _prompt(text="", **state):
    from specviz.ui.prompt_bar import PromptBar

    view = PromptBar()
    view.resize(788, 60)
    view.set_prompt(text)
    view.set_blocked(state.get("blocked", ""))
    view.set_running(state.get("running", False))
    return view


@shot
def prompt_empty(palette):
    return _prompt()


@shot
def prompt_text(palette):
    return _prompt("Explain speculative decoding to a colleague in three sentences.")


@shot
def prompt_long(palette):
    return _prompt("One line of a long prompt that goes on.\n" * 8)


@shot
def prompt_running(palette):
    return _prompt("Explain it.", running=True)


@shot
def prompt_editing(palette):
    view = _prompt("Explain it.", blocked="Choose a target first.")
    view.set_hint("Editing turn 2 · Escape keeps the conversation as it is", closable=True)
    return view


@shot
def prompt_blocked(palette):
    return _prompt("Explain it.", blocked="Choose a target first.")


def _right(*views):
    box = QWidget()
    box.resize(356, sum(view.height() for view in views) + 24 * len(views))
    y = 12
    for view in views:
        view.setParent(box)
        view.setGeometry(16, y, 324, view.height())
        y += view.height() + 24
    box.apply_palette = lambda palette: [view.apply_palette(palette) for view in views]
    return box


@shot
def charts_finished(palette):
    from specviz.ui.draft_charts import DraftCharts
    from specviz.ui.throughput_plot import ThroughputPlot
    from specviz.ui.time_chart import TimeChart

    views = ThroughputPlot(), DraftCharts(), TimeChart()
    builder = traces.lively_run()
    baseline = traces.baseline_of(builder.trace, seconds=0.068)
    for view in views:
        view.show_traces(baseline, builder.trace)
    return _right(*views)


@shot
def charts_running(palette):
    from specviz.ui.draft_charts import DraftCharts
    from specviz.ui.throughput_plot import ThroughputPlot
    from specviz.ui.time_chart import TimeChart

    views = ThroughputPlot(), DraftCharts(), TimeChart()
    builder = traces.lively_run(40, n_max=16, close=False, restore_share=0.1)
    baseline = traces.baseline_of(traces.lively_run().trace, seconds=0.068)
    for view in views:
        view.show_traces(baseline, builder.trace)
    return _right(*views)


@shot
def charts_empty(palette):
    from specviz.ui.draft_charts import DraftCharts
    from specviz.ui.throughput_plot import ThroughputPlot
    from specviz.ui.time_chart import TimeChart

    return _right(ThroughputPlot(), DraftCharts(), TimeChart())


def _lengths(builder, width=324, part=None):
    from specviz.ui.draft_charts import DraftCharts

    view = DraftCharts()
    view.set_chart("length")
    view.show_traces(None, builder.trace if builder else None)
    view.by_length.choose(part)
    view.resize(width, view.height())
    return view


@shot
def lengths_few(palette):
    return _lengths(traces.lively_run(240, n_max=3))


@shot
def lengths_chosen(palette):
    return _lengths(traces.lively_run(240, n_max=8), part=2)


@shot
def lengths_many(palette):
    return _lengths(traces.lively_run(4000, n_max=64), 268)


@shot
def lengths_empty(palette):
    return _lengths(None)


@shot
def settings_line(palette):
    from specviz.ui.settings_view import SettingsLine

    view = SettingsLine()
    trace = traces.explanation().trace
    trace.started.effective.update(n_ctx=4352, target_type_k="f16")
    view.show_traces(None, trace)
    return view


@shot
def settings_view(palette):
    from specviz.trace.settings_in_effect import settings_in_effect
    from specviz.ui.settings_view import SettingsView

    view = SettingsView()
    trace = traces.explanation().trace
    trace.started.effective.update(n_ctx=4352, target_type_k="f16", draft_type_k="q8_0")
    view.show_rows(settings_in_effect(trace), "speculative run")
    return view


def _sources(width=324, *sources, steps=60):
    from specviz.ui.source_table import SourceTable

    view = SourceTable()
    view.show_traces(None, traces.drafted_by(sources, steps).trace if sources else None)
    view.resize(width, view.height())
    return view


@shot
def sources_model(palette):
    return _sources(324, DraftSource.DRAFT_SIMPLE)


@shot
def sources_both(palette):
    return _sources(324, DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE)


@shot
def sources_all(palette):
    return _sources(324, *DraftSource, steps=4000)


@shot
def sources_narrow(palette):
    return _sources(268, *DraftSource, steps=4000)


@shot
def sources_empty(palette):
    return _sources()


def _break_even(*, measured=False, percent=None):
    from specviz.trace.costs import CheckCost, DraftCost
    from specviz.ui.break_even import BreakEven
    from specviz.ui.break_even_facts import Measured, facts_of
    from specviz.ui.cost_panel import CostPanel

    section, costs = BreakEven(), CostPanel()
    section.length_changed.connect(costs.show_length)
    trace = traces.lively_run(200).trace
    checks = [
        CheckCost(n_rows=n, seconds=0.05 * (1 + 0.08 * n + 0.5 * (n > 4)), n_samples=5)
        for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17)
    ]
    drafts = [DraftCost(n_tokens=n, seconds=0.006 * n, n_samples=5) for n in (1, 4, 8, 16)]
    load = trace.started.config.load
    known = Measured(load=load, checks=tuple(checks), drafts=tuple(drafts)) if measured else None
    facts = facts_of(traces.baseline_of(trace, seconds=0.068), trace, known)
    section.show_facts(facts)
    costs.show_facts(facts)
    if percent is not None:
        section.acceptance.setValue(percent)
        costs.show_progress(7, 24)
    for view, height in ((section, 196), (costs, 270)):
        view.resize(324, height)
    return _right(section, costs)


@shot
def break_even_run(palette):
    return _break_even()


@shot
def break_even_measured(palette):
    return _break_even(measured=True)


@shot
def break_even_moved(palette):
    return _break_even(measured=True, percent=30)


def _lossless(check=None, margin=0.03):
    from specviz.ui.lossless_panel import LosslessPanel
    from specviz.ui.lossless_words import report

    _, trace = _pair(repeat=1)
    other = traces.TraceBuilder(traces.run_config(traces.RunMode.BASELINE))
    for token in trace.tokens[:40]:
        other.step(target=token.piece)
    other.step(target=" something", runner_up=(trace.tokens[40].piece, margin))
    baseline = other.plain(*(token.piece for token in trace.tokens[41:])).finish()
    view = LosslessPanel()
    view.apply_palette = lambda palette: None
    view.show_report(report(baseline, trace, compare(baseline, trace, check), check))
    return view


def _looked(*margins):
    from specviz.trace.lossless import BatchShape, LosslessCheck, Mismatch, ShapeMargin

    shapes = zip(BatchShape, (1, 5, 52), margins, strict=True)
    found = tuple(ShapeMargin(shape=s, n_rows=n, margin=m) for s, n, m in shapes)
    wrong = Mismatch(position=41, recorded=7, found=traces.token_id_of(" them"), margin=3.1)
    bad = min(margins) > 1
    return LosslessCheck(fork=40, margins=found, n_rechecked=55, mismatch=wrong if bad else None)


@shot
def lossless_near_tie(palette):
    return _lossless(_looked(0.03, -0.02, 0.01))


@shot
def lossless_unexplained(palette):
    return _lossless(_looked(4.0, 4.1, 3.9), margin=4.0)


@shot
def lossless_recorded(palette):
    return _lossless()


def _strip(builder, current=None):
    from specviz.ui.step_strip import StepStrip

    view = StepStrip()
    view.resize(780, 156)
    view.show_traces(None, builder.trace if builder else None)
    view.mark_step(current)
    return view


@shot
def strip_current(palette):
    return _strip(traces.lively_run(64), 41)


@shot
def strip_long(palette):
    return _strip(traces.lively_run(400, n_max=16))


@shot
def strip_empty(palette):
    return _strip(None)


@shot
def inspector_step(palette):
    from specviz.ui.step_inspector import StepInspector

    view = StepInspector()
    view.resize(356, 156)
    view.show_step(traces.explanation().trace, 1)
    view.show_step(traces.explanation().trace, 7)
    return view


@shot
def inspector_copies(palette):
    from specviz.ui.step_inspector import StepInspector

    view = StepInspector()
    view.resize(356, 156)
    builder = traces.TraceBuilder(traces.run_config(sources=[DraftSource.NGRAM_MOD]), n_prompt=90)
    draft = ["def", " reverse", "(text", "):", "\n    ", "return", " text", "[::-1]"]
    probs = [(None, 0.97 - 0.06 * i) for i in range(len(draft))]
    builder.step(draft, 6, " words", copied_from=34, probs=probs, target_prob=0.83, seconds=0.18)
    view.show_step(builder.trace, 0)
    return view


@shot
def inspector_empty(palette):
    from specviz.ui.step_inspector import StepInspector

    view = StepInspector()
    view.resize(356, 156)
    return view


def main(folder: Path, only: str = "") -> None:
    """Write one picture for each state and theme."""
    app = QApplication.instance() or QApplication([])
    folder.mkdir(parents=True, exist_ok=True)
    for palette in (DARK, LIGHT):
        apply_palette(app, palette)
        for name, build in SHOTS.items():
            if only not in name:
                continue
            view = build(palette)
            view.setProperty("kind", "ground" if name.split("_")[0] in CENTRE else "panel")
            view.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
            view.apply_palette(palette)
            view.show()
            app.processEvents()
            app.processEvents()
            view.grab().save(str(folder / f"{palette.name}-{name}.png"))
            view.close()
            view.deleteLater()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
