"""The legend counts what is shown, and its switch shows rejected drafts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF, Qt
from support.traces import TraceBuilder, baseline_of, explanation, run_config

from specviz.trace.config import DraftSource, RunMode
from specviz.ui.figures import THIN
from specviz.ui.legend import Legend
from specviz.ui.theme import DARK, LIGHT
from specviz.ui.token_layout import Style


@pytest.fixture
def legend(qtbot):
    legend = Legend()
    qtbot.addWidget(legend)
    legend.resize(1000, 30)
    legend.apply_palette(DARK)
    legend.show()
    return legend


def counted(legend: Legend) -> dict[Style, int | None]:
    return {entry.style: entry.n for entry in legend.entries}


def test_counts_add_up_to_the_answer(legend):
    trace = explanation().trace
    legend.show_traces(baseline_of(trace), trace)
    counts = counted(legend)
    assert counts[Style.ACCEPTED] == trace.counts.accepted
    assert sum(counts.values()) == len(trace.tokens) == 55
    assert f"rejected {trace.counts.rejected}" in legend.text()
    assert legend.text().endswith(f"55 tokens · first 0.43{THIN}s")


def test_nothing_is_counted_before_a_run(legend):
    assert set(counted(legend).values()) == {None}
    assert legend.text() == (
        "accepted from the draft · corrected · bonus · target alone · rejected · "
    )


def test_copies_have_an_entry_of_their_own(legend):
    builder = TraceBuilder().plain("one").step([" one", " two"], 1, " x", copied_from=12)
    legend.show_trace(builder.finish())
    assert counted(legend)[Style.COPIED] == 1
    assert counted(legend)[Style.ACCEPTED] == 0


def test_a_run_that_only_copies_has_its_entry_from_the_start(legend):
    builder = TraceBuilder(run_config(sources=[DraftSource.NGRAM_MOD]))
    legend.show_trace(builder.trace)
    before = [entry.style for entry in legend.entries]
    assert before == [Style.COPIED, Style.RECOVERED, Style.BONUS, Style.PLAIN]
    builder.step([" a", " b"], 2, " c", copied_from=3)
    legend.refresh()
    assert [entry.style for entry in legend.entries] == before
    assert counted(legend)[Style.COPIED] == 2


def test_copies_and_drafts_of_a_model_stand_side_by_side(legend):
    sources = [DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE]
    builder = TraceBuilder(run_config(sources=sources))
    builder.step([" a", " b"], 2, " c", copied_from=3).step([" d"], 1, " e")
    legend.show_trace(builder.finish())
    counts = counted(legend)
    assert (counts[Style.ACCEPTED], counts[Style.COPIED]) == (1, 2)
    assert sum(counts.values()) == 5


def first_token_tooltip(legend: Legend) -> str:
    return legend.tooltip_at(QPointF(legend.width() - 30, 15))


def test_a_time_to_the_first_token_with_a_kept_prompt_does_not_look_like_any_other(legend):
    base = TraceBuilder(run_config(RunMode.BASELINE)).plain("a", "b").finish()
    spec = TraceBuilder(n_reused=11, prefill_seconds=0.0).step([" a"], 1, " b").finish()
    legend.show_traces(base, spec)
    assert legend.text().endswith(f"2 tokens · first 0.10{THIN}s, prompt reused")
    assert first_token_tooltip(legend).split("\n") == [
        f"The first token came 0.10{THIN}s after the start of the run. All 11 prompt "
        "tokens were still in memory from before.",
        f"In the baseline it came after 0.40{THIN}s. All 11 prompt tokens were read for it.",
        "So the two times cannot be compared; tokens per second can.",
    ]


def test_with_little_room_a_kept_prompt_is_told_in_fewer_words(legend):
    legend.show_trace(TraceBuilder(n_reused=11, prefill_seconds=0.0).plain("a").finish())
    first = f"first 0.10{THIN}s"
    assert legend._right == (
        f"1 token · {first}, prompt reused",
        f"1 token · {first}, reused",
        f"{first}, reused",
        "1 token",
    )


def test_a_prompt_that_was_read_whole_needs_no_words(legend):
    legend.show_traces(None, explanation().trace)
    assert "reused" not in legend.text()
    assert "All 11 prompt tokens were read for it." in first_token_tooltip(legend)
    legend.show_trace(TraceBuilder(n_reused=5).plain("a").finish())
    assert legend.text().endswith("prompt partly reused")
    assert "Of 11 prompt tokens, 5 were still in memory from before, and 6 read" in (
        first_token_tooltip(legend)
    )
    legend.show_trace(None)
    assert first_token_tooltip(legend) == ""


def test_it_counts_on_as_tokens_arrive(legend):
    builder = TraceBuilder()
    legend.show_trace(builder.trace)
    builder.step([" a", " b"], 2, " c")
    legend.refresh()
    assert counted(legend)[Style.ACCEPTED] == 2
    assert counted(legend)[Style.BONUS] == 1


def test_the_switch_shows_rejected_drafts_by_mouse_and_key(qtbot, legend):
    toggle = legend.findChild(object, "rejected-toggle")
    with qtbot.waitSignal(legend.show_rejected_changed) as shown:
        qtbot.mouseClick(toggle, Qt.MouseButton.LeftButton)
    assert shown.args == [True]
    with qtbot.waitSignal(legend.show_rejected_changed) as shown:
        qtbot.keyClick(toggle, Qt.Key.Key_Space)
    assert shown.args == [False]
    assert toggle.accessibleName() and toggle.accessibleDescription()


@pytest.mark.parametrize("width", [420, 620, 788, 1000, 2000])
def test_it_fits_into_every_width_without_overlaps(legend, width):
    legend.show_trace(explanation(repeat=30).trace)
    legend.resize(width, 30)
    boxes = [box for box, _ in legend._boxes]
    assert all(a.right() < b.left() for a, b in pairwise(boxes))
    assert boxes[-1].right() < legend._toggle.geometry().right()
    assert not legend.grab().isNull()


@pytest.mark.parametrize("width", [440, 528, 788])
def test_every_entry_and_the_switch_stay_inside(legend, width):
    sources = [DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE]
    builder = TraceBuilder(run_config(sources=sources))
    for i in range(300):
        builder.step([f"a{i}"] * 4, 3, f"b{i}", copied_from=3)
    legend.show_trace(builder.finish())
    legend.resize(width, 30)
    assert legend._toggle.geometry().right() <= width
    assert [entry.n for _, entry in legend._boxes] == [0, 900, 300, 0, 0]


def test_it_is_painted_in_the_palettes_colours(legend):
    legend.apply_palette(LIGHT)
    legend.show_trace(explanation().trace)
    image = legend.grab().toImage()
    colours = {
        image.pixelColor(x, y).name().upper()
        for x in range(image.width())
        for y in range(image.height())
    }
    assert {LIGHT.accepted, LIGHT.recovered, LIGHT.bonus} <= colours


def tooltip_of(legend: Legend, style: Style) -> str:
    (box,) = [box for box, entry in legend._boxes if entry.style is style]
    return legend.tooltip_at(box.center())


def test_accepted_tokens_are_told_with_what_was_tested(legend):
    sources = [DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE]
    builder = TraceBuilder(run_config(sources=sources))
    builder.step([" a", " b", " x"], 2, " c", copied_from=3, drafter=DraftSource.NGRAM_MOD)
    builder.step([" d", " y", " z", " w"], 1, " e", drafter=DraftSource.DRAFT_SIMPLE)
    legend.show_trace(builder.finish())
    copied = f"2 of 3 tested draft tokens accepted, 67{THIN}%."
    drafted = f"1 of 4 tested draft tokens accepted, 25{THIN}%."
    assert tooltip_of(legend, Style.COPIED).endswith(copied)
    assert tooltip_of(legend, Style.ACCEPTED).endswith(drafted)
    assert tooltip_of(legend, Style.RECOVERED) == "The target’s correction"
    assert copied in legend.accessibleDescription() and drafted in legend.accessibleDescription()


def test_no_share_is_told_where_the_source_of_a_token_is_not_known(legend):
    builder = TraceBuilder(run_config(sources=[DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE]))
    builder.step([" a", " b"], 2, " c", copied_from=3, drafter=DraftSource.DRAFT_SIMPLE)
    legend.show_trace(builder.finish())
    assert "tested" not in legend.accessibleDescription()
