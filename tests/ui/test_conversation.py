"""Which answer is shown, what is said around it, and that nothing moves under the reader."""

from __future__ import annotations

import gc

import pytest
from PySide6.QtGui import QAccessible, QGuiApplication
from support.traces import (
    RunMode,
    TraceBuilder,
    baseline_of,
    explanation,
    long_run,
    run_config,
)

from specviz.trace.config import Message
from specviz.trace.events import StopReason
from specviz.ui.conversation import Conversation


@pytest.fixture
def conversation(qtbot):
    view = Conversation()
    qtbot.addWidget(view)
    view.resize(600, 300)
    view.show()
    return view


def note(view: Conversation) -> str:
    said = view.page.newest.note
    return said.text if said else ""


def test_the_speculative_answer_comes_before_the_baseline(conversation):
    speculative = explanation().trace
    baseline = baseline_of(speculative)
    conversation.show_traces(baseline, None)
    assert conversation.is_baseline
    assert conversation.toPlainText() == baseline.text
    conversation.show_traces(baseline, speculative)
    assert not conversation.is_baseline


def test_the_prompt_is_shown_and_copied_with_the_answer(conversation):
    conversation.show_traces(None, explanation().trace)
    conversation.copy_all()
    text = QGuiApplication.clipboard().text()
    assert text.startswith("Explain speculative decoding")
    assert text.endswith(conversation.toPlainText())


def test_the_prompt_is_there_before_the_answer(conversation):
    conversation.show_prompt("What now?")
    conversation.show_traces(None, None)
    assert conversation.whole_text == "What now?"


def test_system_prompts_are_not_drawn(conversation):
    messages = (
        Message(role="system", text="Be brief."),
        Message(role="user", text="Hello"),
        Message(role="assistant", text="Hi."),
        Message(role="user", text="And?"),
    )
    conversation.show_traces(None, TraceBuilder(run_config(messages=messages)).trace)
    assert conversation.whole_text == "Hello\n\nHi.\n\nAnd?"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (StopReason.END_OF_GENERATION, ""),
        (StopReason.CANCELLED, "Stopped by you after 2 tokens."),
        (StopReason.CONTEXT_FULL, "The context is full after 2 tokens."),
        (StopReason.MAX_TOKENS, "Stopped at the longest answer allowed, 2 tokens."),
        (StopReason.STOP_TEXT, "Stopped before a stop text, after 2 tokens."),
    ],
)
def test_how_a_run_ended_is_said(conversation, reason, words):
    conversation.show_traces(None, TraceBuilder().plain("a", " b").finish(reason))
    assert note(conversation) == words


def test_a_failed_run_says_what_was_kept(conversation):
    conversation.show_traces(None, TraceBuilder().plain("a").fail("It broke."))
    assert note(conversation) == "It broke. 1 token was kept."
    assert conversation.toPlainText() == "a"


def test_progress_gives_way_to_the_first_token(conversation):
    builder = TraceBuilder()
    conversation.show_traces(None, builder.trace)
    conversation.show_progress("Reading the prompt… 3 of 12 tokens", 0.25)
    conversation.refresh()
    assert conversation._progress is not None
    with_progress = conversation.grab().toImage()
    conversation.show_progress("Reading the prompt… 9 of 12 tokens", 0.75)
    assert conversation.grab().toImage() != with_progress
    builder.plain("First")
    conversation.refresh()
    assert conversation._progress is None


def test_the_view_follows_the_end_while_it_stands_there(conversation):
    builder = long_run(400)
    conversation.show_traces(None, builder.trace)
    bar = conversation.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    for _ in range(100):
        builder.step([" more", " words"], 2, " come")
    conversation.refresh()
    assert bar.value() == bar.maximum()


def test_the_place_of_a_reader_who_scrolled_back_does_not_move(conversation):
    builder = long_run(400)
    conversation.show_traces(None, builder.trace)
    bar = conversation.verticalScrollBar()
    bar.setValue(120)
    picture = conversation.viewport().grab().toImage()
    for _ in range(100):
        builder.step([" more", " words"], 2, " come")
        conversation.refresh()
    assert bar.value() == 120
    assert conversation.viewport().grab().toImage() == picture


def first_token_in_sight(view: Conversation) -> int:
    _, position, _ = view._reading_place()
    assert position is not None
    return position


def test_rejected_drafts_appear_without_moving_what_is_read(conversation):
    conversation.show_traces(None, explanation(repeat=40).trace)
    bar = conversation.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    before, height = first_token_in_sight(conversation), conversation.content_height
    conversation.set_show_rejected(True)
    assert conversation.content_height > height
    after = first_token_in_sight(conversation)
    # the same line: its first token may have changed, the token itself is still on it
    layout = conversation.answer.layout
    assert (
        abs(
            layout.line_of(layout.start_of(conversation.answer.item_of(before)))
            - layout.line_of(layout.start_of(conversation.answer.item_of(after)))
        )
        <= 1
    )


def test_resizing_keeps_the_place(conversation):
    conversation.show_traces(None, explanation(repeat=40).trace)
    bar = conversation.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    before = first_token_in_sight(conversation)
    conversation.resize(420, 300)
    layout = conversation.answer.layout
    line = layout.line_of(layout.start_of(conversation.answer.item_of(before)))
    top = conversation.answer_top + layout.top_of(line) - bar.value()
    assert -layout.spacing.line <= top <= layout.spacing.line


def test_replay_shows_the_answer_as_it_was(conversation):
    trace = explanation().trace
    conversation.show_traces(None, trace)
    whole = conversation.toPlainText()
    conversation.set_limit(3)
    assert conversation.toPlainText() == "Speculative decoding lets a small draft"
    conversation.set_limit(0)
    assert conversation.toPlainText() == ""
    conversation.set_limit(None)
    assert conversation.toPlainText() == whole


def test_a_new_run_takes_the_place_of_the_old_one(conversation):
    conversation.show_traces(None, long_run(400, close=True).trace)
    conversation.mark_step(5)
    conversation.show_traces(None, TraceBuilder().plain("new").trace)
    assert conversation.toPlainText() == "new"
    assert conversation.marked_step is None
    conversation.clear()
    assert conversation.whole_text == ""


def test_assistive_technology_can_read_it(conversation):
    trace = explanation().trace
    conversation.show_traces(None, trace)
    interface = QAccessible.queryAccessibleInterface(conversation)
    assert interface.text(QAccessible.Text.Name) == "Conversation"
    text = interface.textInterface()
    assert text is not None
    assert text.characterCount() == len(conversation.whole_text)
    assert text.text(0, text.characterCount()) == conversation.whole_text
    start = conversation.whole_text.index("Speculative decoding lets")
    text.setSelection(0, start, start + len("Speculative"))
    assert conversation.selected_text == "Speculative"
    assert text.selection(0) == (start, start + len("Speculative"))
    assert not text.characterRect(start).isEmpty()


def test_views_come_and_go_with_their_accessible_side(qtbot):
    for _ in range(20):
        view = Conversation()
        qtbot.addWidget(view)
        view.show_traces(None, explanation().trace)
        assert QAccessible.queryAccessibleInterface(view).textInterface() is not None
        view.deleteLater()
    gc.collect()


def test_a_baseline_mode_run_is_plain(conversation):
    conversation.show_traces(TraceBuilder(run_config(RunMode.BASELINE)).plain("x").trace, None)
    assert conversation.is_baseline
