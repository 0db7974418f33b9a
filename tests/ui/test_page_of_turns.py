"""Several turns on the page: colours, places, editing, and what a draft was copied from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu
from support.traces import TraceBuilder
from support.turns import (
    answered,
    builder_for,
    pieces_of,
    position_in,
    reasoning_run,
    rendered,
    turn_of,
    user,
)

from specviz.trace.config import DraftSource, Message
from specviz.trace.events import StopReason
from specviz.ui.chat import Turn
from specviz.ui.conversation import Conversation
from specviz.ui.icons import IconButton
from specviz.ui.page import Part
from specviz.ui.token_layout import Style
from specviz.ui.token_words import tooltip

ONE = answered("One?", "First", " answer", " here", ".")
TWO = answered("Two?", "Second", " one", ".")


@pytest.fixture
def page(qtbot):
    view = Conversation()
    qtbot.addWidget(view)
    view.resize(600, 420)
    view.show()
    return view


def long_turn(prompt: str = "Long?") -> Turn:
    return answered(prompt, *["word "] * 300)


def styles_of(page: Conversation, index: int) -> list[Style]:
    return [Style(style) for style in page.page.blocks[index].answer.layout.styles]


def middle_of(page: Conversation, index: int, item: int) -> QPoint:
    layout = page.page.blocks[index].answer.layout
    start = layout.start_of(item)
    rect = layout.rects_between(start, layout.start_of(item + 1))[0]
    x, y = page.answer_corner(index)
    return (rect.center() + QPointF(x, y)).toPoint()


def point_at(page: Conversation, point: QPoint) -> None:
    """Move the mouse without pressing anything."""
    viewport = page.viewport()
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(point),
        QPointF(viewport.mapToGlobal(point)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(viewport, event)


def pencil(page: Conversation) -> IconButton:
    found = page.findChild(IconButton, "edit-turn-button")
    assert found is not None
    return found


# ---- what is shown -------------------------------------------------------------------------------
def test_earlier_answers_keep_their_colours(page):
    page.show_turns((ONE, TWO))
    assert styles_of(page, 0) == [Style.ACCEPTED, Style.BONUS] * 2
    assert styles_of(page, 1) == [Style.ACCEPTED, Style.BONUS, Style.ACCEPTED]
    assert page.toPlainText() == "Second one."


def test_the_whole_conversation_is_read_and_copied(page):
    page.show_turns((ONE, TWO))
    page.copy_all()
    text = "One?\n\nFirst answer here.\n\nTwo?\n\nSecond one."
    assert QGuiApplication.clipboard().text() == text == page.whole_text


def test_how_an_earlier_run_ended_stays_said(page):
    cut = builder_for((user("One?"),)).plain("First").finish(StopReason.CANCELLED)
    page.show_turns((turn_of(cut), TWO))
    notes = [block.note.text if block.note else "" for block in page.page.blocks]
    assert notes == ["Stopped by you after 1 token.", ""]


def test_what_is_shown_already_is_not_made_anew(page):
    page.show_turns((ONE, TWO))
    answers = [block.answer for block in page.page.blocks]
    live = replace(answered("Three?"), speculative=None, baseline=None, over=False)
    page.show_turns((ONE, TWO, live))
    assert [block.answer for block in page.page.blocks[:2]] == answers
    page.show_turns((ONE,))
    assert [block.answer for block in page.page.blocks] == answers[:1]


def test_replies_known_as_text_are_plain(page):
    messages = (user("One?"), Message(role="assistant", text="A <b>reply</b>."), user("Two?"))
    page.show_traces(None, builder_for(messages).plain("Yes").finish())
    assert styles_of(page, 0) == [Style.PLAIN]
    assert page.whole_text == "One?\n\nA <b>reply</b>.\n\nTwo?\n\nYes"


# ---- scrolling -----------------------------------------------------------------------------------
def test_a_new_turn_is_scrolled_to(page):
    page.show_turns((long_turn(),))
    bar = page.verticalScrollBar()
    bar.setValue(0)
    page.show_turns((long_turn(), Turn(prompt="Two?")))
    assert bar.value() == bar.maximum() > 0


def test_nothing_moves_under_a_reader_of_earlier_turns(page):
    first = long_turn()
    builder = TraceBuilder()
    page.show_turns((first, turn_of(builder.trace, over=False)))
    bar = page.verticalScrollBar()
    bar.setValue(50)
    picture = page.viewport().grab().toImage()
    for _ in range(20):
        builder.step([" more", " words"], 2, " come")
        page.refresh()
    baseline_then_speculative = replace(turn_of(TraceBuilder().plain("x").trace), over=False)
    assert bar.value() == 50
    assert page.viewport().grab().toImage() == picture
    page.show_turns(
        (first, replace(baseline_then_speculative, prompt=page.page.newest.turn.prompt))
    )
    assert bar.value() == 50


def test_the_view_follows_the_newest_answer_at_the_end(page):
    builder = TraceBuilder()
    page.show_turns((long_turn(), turn_of(builder.trace, over=False)))
    bar = page.verticalScrollBar()
    for _ in range(60):
        builder.step([" more", " words"], 2, " come")
        page.refresh()
        assert bar.value() == bar.maximum()


def test_only_lines_in_sight_are_shaped(page):
    page.show_turns([long_turn(f"{i}?") for i in range(20)])
    page.verticalScrollBar().setValue(0)
    page.grab()
    assert not page.page.blocks[10].answer.layout._cache


# ---- selecting and choosing ----------------------------------------------------------------------
def test_an_earlier_answer_can_be_selected_by_the_mouse(qtbot, page):
    page.show_turns((ONE, TWO))
    page.verticalScrollBar().setValue(0)
    qtbot.mouseDClick(page.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(page, 0, 1))
    assert (page.selected_text, page.selected_in) == ("answer", 0)
    qtbot.keyClick(page, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert page.selected_text == "First answer here."


def test_a_selection_stays_while_the_newest_answer_grows(page):
    builder = TraceBuilder()
    page.show_turns((ONE, turn_of(builder.trace, over=False)))
    page.select(0, 5, 0)
    builder.plain("New")
    page.refresh()
    assert page.selected_text == "First"


def test_only_the_newest_answer_chooses_steps(qtbot, page):
    page.show_turns((ONE, TWO))
    page.verticalScrollBar().setValue(0)
    chosen = []
    page.step_chosen.connect(chosen.append)
    for index in (0, 1):
        point = middle_of(page, index, 2)
        qtbot.mouseClick(page.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert chosen == [1]


def test_assistive_technology_reads_every_turn(page):
    page.show_turns((ONE, TWO))
    text = QAccessible.queryAccessibleInterface(page).textInterface()
    whole = page.whole_text
    assert text.text(0, text.characterCount()) == whole
    for word, index in (("answer", 0), ("Second", 1)):
        start = whole.index(word)
        text.setSelection(0, start, start + len(word))
        assert (page.selected_text, page.selected_in) == (word, index)
        assert text.selection(0) == (start, start + len(word))
        assert not text.characterRect(start).isEmpty()


# ---- editing -------------------------------------------------------------------------------------
def test_pointing_at_a_bubble_offers_to_edit_it(qtbot, page):
    page.show_turns((ONE, TWO))
    page.set_editing(None, allowed=True)
    assert pencil(page).isHidden()
    point_at(page, page._bubble_rect(1).center())
    assert pencil(page).isVisible() and "turn 2" in pencil(page).accessibleName()
    with qtbot.waitSignal(page.edit_requested) as asked:
        qtbot.mouseClick(pencil(page), Qt.MouseButton.LeftButton)
    assert asked.args == [1]
    point_at(page, middle_of(page, 1, 0))
    assert pencil(page).isHidden()


def test_nothing_is_offered_while_a_run_is_under_way(page):
    page.show_turns((ONE, TWO))
    page.set_editing(None, allowed=False)
    point_at(page, page._bubble_rect(1).center())
    assert pencil(page).isHidden()


def actions_at(page: Conversation, point: QPoint) -> tuple[QMenu, dict]:
    menu = page.context_menu(point)
    return menu, {action.text(): action for action in menu.actions() if action.text()}


def test_the_menu_of_a_bubble_edits_and_copies_it(qtbot, page):
    page.show_turns((ONE, TWO))
    page.set_editing(None, allowed=True)
    page.verticalScrollBar().setValue(0)
    _, actions = actions_at(page, page._bubble_rect(0).center())
    with qtbot.waitSignal(page.edit_requested) as asked:
        actions["Edit and send again"].trigger()
    assert asked.args == [0]
    actions["Copy prompt"].trigger()
    assert QGuiApplication.clipboard().text() == "One?"


def test_the_menu_of_an_answer_copies_that_answer(page):
    page.show_turns((ONE, TWO))
    page.verticalScrollBar().setValue(0)
    _, actions = actions_at(page, middle_of(page, 0, 1))
    assert "Edit and send again" not in actions
    actions["Copy answer"].trigger()
    assert QGuiApplication.clipboard().text() == "First answer here."


def test_the_edited_turn_and_what_will_go_look_different(page):
    page.show_turns((ONE, TWO))
    before = page.grab().toImage()
    page.set_editing(0, allowed=True)
    assert page.grab().toImage() != before
    page.set_editing(None, allowed=True)
    assert page.grab().toImage() == before


# ---- copies --------------------------------------------------------------------------------------
CODE = "for item in items: total = total + item.price"


def copying(messages, text: str, source: DraftSource = DraftSource.NGRAM_MOD) -> TraceBuilder:
    """A run that copies `text` from the last place where the prompt has it."""
    builder = builder_for(messages, source=source)
    pieces = pieces_of(text)
    at = position_in(rendered(messages), text)
    builder.plain("Here", ":")
    builder.step([*pieces], len(pieces), ".", copied_from=at, drafter=source)
    builder.finish()
    return builder


def spots(page: Conversation, index: int, item: int) -> list[tuple[int, Part, str]]:
    found = []
    for spot in page.page.copy_sources(index, item):
        block = page.page.blocks[spot.block]
        if spot.part is Part.BUBBLE:
            words = block.turn.prompt[slice(*spot.span)]
        else:
            words = block.answer.exact_text(*spot.span)
        found.append((spot.block, spot.part, words))
    return found


def test_a_copy_from_the_prompt_lights_up_in_its_bubble(page):
    trace = copying((user(f"Shorten this:\n\n{CODE}"),), " in items: total").trace
    page.show_traces(None, trace)
    assert spots(page, 0, 2) == [(0, Part.BUBBLE, " in items: total")]
    before = page.grab().toImage()
    value = page.verticalScrollBar().value()
    point_at(page, middle_of(page, 0, 3))
    assert page.grab().toImage() != before
    assert page.verticalScrollBar().value() == value
    point_at(page, middle_of(page, 0, 0))
    assert page.grab().toImage() == before


def test_a_copy_from_an_earlier_answer_lights_up_there(page):
    one = answered("Write code.", *[piece.decode() for piece in pieces_of(CODE)])
    messages = (user("Write code."), one.answer, user("Again, please."))
    page.set_show_rejected(True)
    page.show_turns((one, turn_of(copying(messages, " in items").trace)))
    assert spots(page, 1, 2) == [(0, Part.ANSWER, " in items")]


def test_a_copy_from_an_earlier_prompt_lights_up_there(page):
    one = answered(f"Look: {CODE}", "I", " see", ".")
    messages = (user(one.prompt), one.answer, user("Now repeat a part of it."))
    page.show_turns((one, turn_of(copying(messages, " in items").trace)))
    assert spots(page, 1, 3) == [(0, Part.BUBBLE, " in items")]


def test_a_copy_behind_reasoning_is_found_in_its_answer(page):
    run = reasoning_run(20, 30).trace
    one = turn_of(run)
    messages = (user("Think first."), one.answer, user("Again, please."))
    page.show_turns((one, turn_of(copying(messages, " a7 a8 a9").trace)))
    assert spots(page, 1, 2) == [(0, Part.ANSWER, " a7 a8 a9")]


def test_a_copy_from_folded_reasoning_points_at_its_header(page):
    builder = TraceBuilder(n_prompt=12).plain("<think>", "one", " two", "</think>", "\n\nSo ")
    builder.step(["one", " two"], 2, ".", copied_from=13)
    page.show_traces(None, builder.finish())
    assert spots(page, 0, 5) == [(0, Part.ANSWER, "one two")]
    page.set_folded(0, True)
    assert [spot.part for spot in page.page.copy_sources(0, 5)] == [Part.HEADER]


def test_what_the_page_does_not_show_has_no_light(page):
    messages = (Message(role="system", text="Say: the sky is blue."), user("What do you say?"))
    trace = copying(messages, " the sky is").trace
    page.show_traces(None, trace)
    assert spots(page, 0, 2) == []
    assert "copied from the prompt: ␣the␣sky␣is" in tooltip(page.answer, 2)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (DraftSource.NGRAM_SIMPLE, "ngram-simple (newest match)"),
        (DraftSource.NGRAM_MOD, "ngram-mod (token chain)"),
    ],
)
def test_tooltips_name_who_drafted_and_what_was_copied(page, source, words):
    page.show_traces(None, copying((user(f"See: {CODE}"),), " in items", source).trace)
    tip = tooltip(page.answer, 2).split("\n")
    assert tip[0] == "Accepted copy of earlier text"
    assert any(words in line and line.startswith("drafted by") for line in tip)
    assert "copied from the prompt: ␣in␣items" in tip
