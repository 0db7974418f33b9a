"""The reasoning block on the page: its lines, folding, and that no figure depends on it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from support.traces import TraceBuilder, run_config
from support.turns import answered, reasoning_run, turn_of

from specviz.trace.config import Message
from specviz.trace.events import StopReason
from specviz.ui.answer import Answer
from specviz.ui.chat import turns_of
from specviz.ui.conversation import Conversation
from specviz.ui.reasoning_header import ReasoningHeader
from specviz.ui.token_layout import HEAD_INDENT, Style, TokenLayout
from specviz.ui.typefaces import answer_font, interface_font


@pytest.fixture
def page(qtbot):
    view = Conversation()
    qtbot.addWidget(view)
    view.resize(600, 300)
    view.show()
    return view


def headers(page: Conversation) -> list[ReasoningHeader]:
    return [header for header in page.findChildren(ReasoningHeader) if not header.isHidden()]


def the_header(page: Conversation) -> ReasoningHeader:
    (header,) = headers(page)
    return header


def layout_of(width: float = 240.0) -> TokenLayout:
    return TokenLayout(answer_font(), interface_font(12), width)


def lines(layout: TokenLayout) -> list[str]:
    return [layout.text_between(*layout.bounds_of(i)) for i in range(layout.n_lines)]


def shown_text(answer: Answer) -> str:
    return "".join(lines(answer.layout))


# ---- words ---------------------------------------------------------------------------------------
def test_the_header_has_count_and_share(page):
    page.show_traces(None, reasoning_run(300, 50).trace)
    header = the_header(page)
    assert header.text().replace("\u202f", " ") == "Reasoning · 300 tokens (86 %)"
    assert header.accessibleName().endswith("shown") and header.accessibleDescription()


def test_an_answer_without_reasoning_has_no_header(page):
    page.show_turns((answered("One?", "1", "."),))
    assert headers(page) == []


def test_a_block_that_the_prompt_opened_has_a_header(page):
    from dataclasses import replace

    builder = TraceBuilder()
    builder.trace.started = replace(builder.trace.started, reasoning_open=True)
    builder.plain("Hm", "</think>", "\n\n", "Yes")
    page.show_traces(None, builder.finish())
    assert the_header(page).text().startswith("Reasoning · 2 tokens")
    page.set_folded(0, True)
    assert shown_text(page.answer) == "Yes"


def test_a_reply_known_as_text_has_its_reasoning_too(page):
    reply = Message(role="assistant", text="Yes.", reasoning="Let me see.")
    page.show_turns(turns_of((Message(role="user", text="So?"), reply)))
    assert the_header(page).text() == "Reasoning"
    page.set_folded(0, True)
    assert shown_text(page.page.blocks[0].answer) == "Yes."


# ---- folding -------------------------------------------------------------------------------------
def test_folding_hides_the_block_and_nothing_else(page):
    page.show_traces(None, reasoning_run(300, 50).trace)
    height, text = page.content_height, page.toPlainText()
    page.set_folded(0, True)
    assert page.content_height < height / 2
    assert shown_text(page.answer).startswith("So a1 a2")
    assert page.toPlainText() == text == page.trace.text
    assert the_header(page).text().replace("\u202f", " ") == "Reasoning · 300 tokens (86 %)"
    page.set_folded(0, False)
    assert page.content_height == height


def test_a_click_and_the_space_bar_fold_and_unfold(qtbot, page):
    page.show_traces(None, reasoning_run(30, 5).trace)
    header = the_header(page)
    qtbot.mouseClick(header, Qt.MouseButton.LeftButton)
    assert page.answer.folded and header.accessibleName().endswith("hidden")
    header.setFocus()
    qtbot.keyClick(header, Qt.Key.Key_Space)
    assert not page.answer.folded
    assert header.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_the_header_stays_where_it_is(page):
    page.show_turns((answered("One?", *["word "] * 200), turn_of(reasoning_run(200, 400).trace)))
    bar = page.verticalScrollBar()
    bar.setValue(round(page.page.blocks[1].header_top) - 90)
    header = the_header(page)
    y = header.y()
    for folded in (True, False):
        page.set_folded(1, folded)
        assert header.y() == y


def test_answers_to_come_follow_suit(page):
    page.show_traces(None, reasoning_run(30, 5).trace)
    page.set_folded(0, True)
    page.show_traces(None, reasoning_run(40, 5).trace)
    assert page.answer.folded and shown_text(page.answer).startswith("So a1")


def test_a_fold_is_of_one_turn(page):
    page.show_turns([turn_of(reasoning_run(30, 5).trace), turn_of(reasoning_run(40, 5).trace)])
    page.set_folded(0, True)
    assert [block.answer.folded for block in page.page.blocks] == [True, False]
    assert len(headers(page)) == 2


# ---- streaming -----------------------------------------------------------------------------------
@pytest.mark.parametrize("folded", [False, True])
def test_streaming_gives_what_showing_it_whole_gives(qtbot, page, folded):
    page.page.folded = folded
    whole = reasoning_run(60, 30)
    live = TraceBuilder(run_config(prompt="Think first."))
    page.show_traces(None, live.trace)
    page.answer.set_folded(folded)
    for step in whole.trace.steps:
        live.trace.append(step)
        page.refresh()
    live.t = whole.t
    live.finish()
    page.refresh(final=True)
    other = Conversation()
    qtbot.addWidget(other)
    other.page.folded = folded
    other.resize(600, 300)
    other.show()
    other.show_traces(None, whole.trace)
    assert lines(page.answer.layout) == lines(other.answer.layout)
    assert page.content_height == other.content_height


def test_streaming_into_a_folded_block_counts_and_follows_the_end(page):
    page.show_turns((answered("One?", *["word "] * 200),))
    builder = TraceBuilder().plain("<think>", " a")
    page.page.folded = True
    page.show_turns((answered("One?", *["word "] * 200), turn_of(builder.trace, over=False)))
    bar = page.verticalScrollBar()
    for _ in range(50):
        builder.plain(" b")
        page.refresh()
        assert bar.value() == bar.maximum()
    page.refresh_figures()
    assert the_header(page).text() == "Reasoning · 52 tokens"
    builder.plain("</think>", *["\n\nline"] * 40)
    page.refresh()
    assert bar.value() == bar.maximum() > 200
    assert shown_text(page.answer).startswith("line")


def test_digits_do_not_change_with_every_frame(page):
    builder = TraceBuilder().plain("<think>", " a")
    page.show_traces(None, builder.trace)
    before = the_header(page).text()
    builder.plain(" b")
    page.refresh()
    assert the_header(page).text() == before
    page.refresh_figures()
    assert the_header(page).text() == "Reasoning · 3 tokens"


def test_hidden_reasoning_costs_no_lines(page):
    builder = TraceBuilder().plain("<think>")
    page.page.folded = True
    page.show_traces(None, builder.trace)
    page.answer.set_folded(True)
    before = page.answer.layout.n_broken
    builder.plain(*[" word"] * 500)
    page.refresh()
    assert page.answer.layout.n_broken == before


def test_a_stop_text_that_reaches_back_into_the_block_opens_it_again(page):
    builder = TraceBuilder().plain("<think>", "a", "</think>", "STOP")
    page.show_traces(None, builder.trace)
    page.set_folded(0, True)
    builder.finish(StopReason.STOP_TEXT, n_committed=2)
    page.refresh(final=True)
    assert the_header(page).text() == "Reasoning · 2 tokens"
    assert shown_text(page.answer) == ""
    page.set_folded(0, False)
    assert shown_text(page.answer) == "<think>a"


# ---- selecting, pointing -------------------------------------------------------------------------
def test_selecting_and_copying_are_exact(page):
    page.show_traces(None, reasoning_run(20, 5).trace)
    page.set_folded(0, True)
    start = page.answer.layout.hidden
    page.select(start, start + 5)
    assert page.selected_text == "So a1"
    page.copy()
    assert QGuiApplication.clipboard().text() == "So a1"
    page.select_all()
    assert page.selected_text == page.trace.text


def test_nothing_hidden_can_be_hit(page):
    page.show_traces(None, reasoning_run(20, 5).trace)
    page.set_folded(0, True)
    layout = page.answer.layout
    first = layout.item_at(2, 5)
    assert page.answer.token_of(first).text.strip() == "So"
    assert layout.offset_at(-10, -10) == layout.hidden
    assert layout.rects_between(0, layout.hidden) == []


def test_a_step_inside_folded_reasoning_frames_the_header(page):
    page.show_traces(None, reasoning_run(20, 5).trace)
    page.set_folded(0, True)
    before = page.grab().toImage()
    page.mark_step(3, reveal=True)
    assert page.answer.folded
    assert page.grab().toImage() != before


def test_rejected_drafts_stand_on_their_side_of_the_end_mark(page):
    builder = TraceBuilder().step(["<think>", " hm"], 1, "a")
    builder.step(["</think>", " wrong"], 1, "Yes")
    page.show_traces(None, builder.finish())
    page.set_show_rejected(True)
    page.set_folded(0, True)
    assert shown_text(page.answer).strip("\u2005 ") == "wrongYes"


def test_pictures_of_the_page_have_the_header(page, tmp_path):
    from specviz.ui.screenshot import save_conversation_png

    def picture(name):
        (path,) = save_conversation_png(page, tmp_path / name)
        return path.read_bytes()

    page.show_traces(None, reasoning_run(20, 5).trace)
    shown = picture("shown.png")
    page.set_folded(0, True)
    assert picture("folded.png") != shown
    assert picture("again.png") == picture("folded.png")


# ---- lines ---------------------------------------------------------------------------------------
def test_what_is_behind_the_head_begins_a_line(qapp):
    layout = layout_of()
    layout.append("a head</think>and an answer", Style.PLAIN, 0)
    layout.set_head(len("a head</think>"), folded=False)
    layout.settle()
    assert lines(layout) == ["a head</think>", "and an answer"]
    assert layout.shaped(0).runs[0].left == HEAD_INDENT
    assert layout.shaped(1).runs[0].left == 0
    layout.set_head(layout.head, folded=True)
    layout.settle()
    assert lines(layout) == ["and an answer"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(alphabet="ab \nשל", max_size=9), min_size=1, max_size=30),
    st.lists(st.text(alphabet="ab \nשל", max_size=9), max_size=30),
    st.booleans(),
    st.sampled_from([80, 150, 400]),
)
def test_growing_bit_by_bit_gives_the_same_lines_as_all_at_once(
    qapp, inside, behind, folded, width
):
    pieces = ["<think>", *inside, "</think>", *behind, "."]
    grown, whole = Answer(layout_of(width)), Answer(layout_of(width))
    live, done = TraceBuilder(), TraceBuilder()
    done.plain(*pieces)
    grown.set_folded(folded)
    whole.set_folded(folded)
    grown.show(live.trace)
    for piece in pieces:
        live.plain(piece)
        grown.take_new()
    whole.show(done.trace)
    assert lines(grown.layout) == lines(whole.layout)
    assert grown.layout.height == whole.layout.height
    shown = "".join(lines(grown.layout))
    text = done.trace.text
    assert shown == (text[grown.layout.hidden :] if folded else text)
