"""The painted answer: text, styles, lines, selection, hovering, and that its cost stays flat."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtGui import Qt as GuiQt
from support.traces import RunMode, TraceBuilder, explanation, long_run, run_config

from specviz.trace.events import StopReason
from specviz.ui.pieces import displayed, visible
from specviz.ui.theme import PALETTES, contrast
from specviz.ui.token_layout import Style, TokenLayout
from specviz.ui.token_paint import ground, ink
from specviz.ui.token_view import TokenView
from specviz.ui.token_words import tooltip
from specviz.ui.typefaces import answer_font, interface_font


@pytest.fixture
def view(qtbot):
    view = TokenView()
    qtbot.addWidget(view)
    view.resize(600, 400)
    view.show()
    return view


def styles(view: TokenView) -> list[tuple[str, Style]]:
    layout = view.answer.layout
    return [(text, Style(style)) for text, style in zip(layout.texts, layout.styles, strict=True)]


def lines(layout: TokenLayout) -> list[str]:
    return [layout.text_between(*layout.bounds_of(i)) for i in range(layout.n_lines)]


def layout_of(width: float = 300.0) -> TokenLayout:
    return TokenLayout(answer_font(), interface_font(12), width)


def colours_in(image: QImage) -> set[str]:
    return {
        image.pixelColor(x, y).name().upper()
        for x in range(image.width())
        for y in range(image.height())
    }


# Text and styles ---------------------------------------------------------------------------------
def test_every_source_has_its_style(view):
    builder = TraceBuilder()
    builder.step(target="Spec")
    builder.step(["ulative", " speeds"], 1, " lets")
    builder.step([" a"], 1, " small")
    builder.step([" copy"], 1, " end", copied_from=13)
    view.set_trace(builder.finish())
    assert styles(view) == [
        ("Spec", Style.PLAIN),
        ("ulative", Style.ACCEPTED),
        (" lets", Style.RECOVERED),
        (" a", Style.ACCEPTED),
        (" small", Style.BONUS),
        (" copy", Style.COPIED),
        (" end", Style.BONUS),
    ]
    assert view.toPlainText() == "Speculative lets a small copy end"


def test_a_baseline_is_plain(view):
    view.set_trace(TraceBuilder(run_config(RunMode.BASELINE)).plain("a", " b").finish())
    assert {style for _, style in styles(view)} == {Style.PLAIN}


def test_rejected_drafts_stand_before_what_replaced_them_and_only_on_demand(view):
    builder = TraceBuilder().step(["one", " two", " three"], 1, " four")
    view.set_trace(builder.finish())
    assert [text for text, _ in styles(view)] == ["one", " four"]
    view.set_show_rejected(True)
    assert [(text.strip(), style) for text, style in styles(view)] == [
        ("one", Style.ACCEPTED),
        ("two", Style.REJECTED),
        ("three", Style.REJECTED),
        ("four", Style.RECOVERED),
    ]
    assert view.toPlainText() == "one four"


def test_drafts_rejected_behind_the_end_are_shown_too(view):
    view.set_show_rejected(True)
    view.set_trace(TraceBuilder().step(["one", " two"], 1, end="<end>").finish())
    assert [text.strip() for text, _ in styles(view)] == ["one", "two"]


def test_held_back_tokens_are_not_shown_until_they_are_safe(view):
    builder = TraceBuilder().plain("safe")
    builder.step(target=" ST", n_held=1)
    view.set_trace(builder.trace)
    assert view.toPlainText() == "safe"
    builder.step(target=" more")
    view.take_new()
    assert view.toPlainText() == "safe ST more"


def test_a_stop_text_that_reaches_back_is_cut_away(view):
    builder = TraceBuilder().plain("one", " two", " three")
    view.set_trace(builder.trace)
    builder.finish(StopReason.STOP_TEXT, n_committed=2, last_piece=b" t")
    view.take_new()
    assert view.toPlainText() == "one t" == builder.trace.text
    assert lines(view.answer.layout) == ["one t"]


def test_an_unfinished_character_at_the_end_is_flushed(view):
    builder = TraceBuilder().plain("ab", b"\xf0\x9f")
    view.set_trace(builder.trace)
    assert view.toPlainText() == "ab"
    builder.finish()
    view.take_new()
    assert view.toPlainText() == "ab\ufffd"


def test_a_character_of_several_sources_is_marked(view):
    builder = TraceBuilder()
    builder.step([b"\xf0", b"\x9f", b"x"], 2, b"\x98\x80")
    view.set_trace(builder.finish())
    assert view.toPlainText() == "😀"
    assert view.answer.sources_of_mixed(2) == (Style.ACCEPTED, Style.RECOVERED)
    assert [view.answer.sources_of_mixed(i) for i in (0, 1)] == [None, None]
    assert "several sources" in tooltip(view.answer, 2)


def test_markup_controls_and_overrides_are_only_text():
    assert displayed("<b>x</b> \x1b[31m") == "<b>x</b> ␛[31m"
    neutral = displayed("a\u202eb\u2066c")
    assert not set(neutral) & {"\u202e", "\u2066"}
    assert [neutral[0], neutral[2], neutral[4]] == list("abc")


@given(st.text())
def test_what_is_drawn_has_a_character_for_each_character(text):
    shown = displayed(text)
    assert len(shown) == len(text)
    assert not any(c < " " and c not in "\n\t" for c in shown)


def test_pieces_are_visible():
    assert visible(b" the\n") == "␣the↵"
    assert visible(b"\xf0\x9f") == "‹f0 9f›"
    assert len(visible(b"x" * 500)) == 40


# Looks -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
def test_inks_can_be_read_on_their_own_grounds(palette):
    for style in Style:
        colour = ink(style, palette)
        under = ground(style, palette)
        assert contrast(colour, palette.ground) >= 4.5
        if under is not None:
            assert contrast(colour, under) >= 4.5


def test_the_colours_of_every_source_are_painted(view):
    palette = PALETTES[0]
    view.apply_palette(palette)
    view.set_trace(explanation().trace)
    view.set_show_rejected(True)
    found = colours_in(view.grab().toImage())
    for style in (Style.ACCEPTED, Style.RECOVERED, Style.BONUS):
        assert ink(style, palette) in found
        assert ground(style, palette) in found


def test_selected_text_is_seen_to_be(view):
    view.set_trace(explanation().trace)
    before = view.grab().toImage()
    view.select_all()
    assert view.grab().toImage() != before


def test_marking_a_step_frames_its_tokens(view):
    view.set_trace(explanation().trace)
    before = view.grab().toImage()
    view.mark_step(2)
    assert view.grab().toImage() != before
    start, end = view.answer.offsets_of_step(2)
    assert view.answer.exact_text(start, end) == " a small draft"
    view.mark_step(None)
    assert view.grab().toImage() == before


def test_marking_includes_the_rejected_drafts_of_the_step(view):
    view.set_trace(explanation().trace)
    view.set_show_rejected(True)
    start, end = view.answer.offsets_of_step(1)
    assert view.answer.layout.text_between(start, end).split() == [
        "ulative",
        "decoding",
        "speeds",
        "lets",
    ]


# Lines -------------------------------------------------------------------------------------------
def test_lines_hold_the_whole_text_in_order(qtbot):
    layout = layout_of()
    layout.append(
        "Some words that go over a line or two, and then\n\nanother paragraph.\n", Style.PLAIN, 0
    )
    layout.settle()
    assert "".join(lines(layout)) == layout.texts[0]
    assert layout.n_lines >= 4
    assert layout.height_of(lines(layout).index("\n")) < layout.height_of(0)


def test_a_word_longer_than_the_line_is_broken(qtbot):
    layout = layout_of(200)
    layout.append("x" * 400, Style.PLAIN, 0)
    layout.settle()
    assert layout.n_lines > 5
    assert all(layout.shaped(i).width <= 200 for i in range(layout.n_lines))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.text(alphabet="ab ,\n\t😀é中文שלאب", max_size=8), min_size=1, max_size=60),
    st.sampled_from([80, 150, 400]),
)
def test_growing_bit_by_bit_gives_the_same_lines_as_all_at_once(qapp, pieces, width):
    grown, whole = layout_of(width), layout_of(width)
    for i, piece in enumerate(pieces):
        grown.append(piece, Style.PLAIN, i)
        grown.settle()
        whole.append(piece, Style.PLAIN, i)
    whole.settle()
    assert lines(grown) == lines(whole)
    assert grown.height == whole.height
    assert grown.length == sum(map(len, pieces))


def test_offsets_and_places_agree(qtbot):
    layout = layout_of()
    layout.append("Round trips between places and characters 😀 of wrapped lines.", Style.PLAIN, 0)
    layout.settle()
    for offset in range(layout.length):
        for rect in layout.rects_between(offset, offset + 1):
            if rect.width() > 0:
                assert layout.offset_at(rect.left() + 0.2, rect.center().y()) == offset


def test_joined_scripts_are_shaped_across_tokens(qtbot):
    whole, split = layout_of(), layout_of()
    whole.append("السلام", Style.ACCEPTED, 0)
    split.append("السـ"[:3], Style.ACCEPTED, 0)
    split.append("لام", Style.BONUS, 1)
    for layout in (whole, split):
        layout.settle()
    assert abs(whole.shaped(0).width - split.shaped(0).width) < 0.1


# Streaming ---------------------------------------------------------------------------------------
def test_growing_with_a_run_equals_showing_it_whole(qtbot, view):
    builder = explanation(close=False, repeat=1)
    live = TraceBuilder(run_config(prompt="x"))
    view.set_show_rejected(True)
    view.set_trace(live.trace)
    for event in builder.trace.steps:
        live.trace.append(event)
        view.take_new()
    live.t = builder.t
    live.finish()
    view.take_new()
    other = TokenView()
    qtbot.addWidget(other)
    other.resize(600, 400)
    other.show()
    other.set_show_rejected(True)
    other.set_trace(builder.finish())
    assert styles(view) == styles(other)
    assert lines(view.answer.layout) == lines(other.answer.layout)
    assert view.grab().toImage() == other.grab().toImage()


def test_work_per_refresh_does_not_grow_with_the_answer(view):
    """Counts characters given to the line breaker, which is where time could go."""
    builder = TraceBuilder()
    view.set_trace(builder.trace)
    work = []
    while len(builder.trace.tokens) < 20_000:
        goal = len(builder.trace.tokens) + 200
        i = len(builder.trace.tokens)
        while len(builder.trace.tokens) < goal:
            builder.step([" draft", " token", " here"], 3, f" end{i % 7}", seconds=0.002)
        before = view.answer.layout.n_broken
        assert view.take_new()
        work.append(view.answer.layout.n_broken - before)
    assert view.answer.n_taken == 20_000
    assert sum(work[-10:]) <= 1.2 * sum(work[5:15])
    assert view.toPlainText() == builder.trace.text


def test_only_lines_in_sight_are_shaped(view):
    view.set_trace(long_run(20_000, close=True).trace)
    view.grab()
    assert view.answer.layout.n_lines > 1000
    assert len(view.answer.layout._cache) < 30


def test_nothing_new_costs_nothing(view):
    view.set_trace(long_run(500).trace)
    before = view.answer.layout.n_broken
    assert not view.take_new()
    assert view.answer.layout.n_broken == before


# Selecting, copying, pointing --------------------------------------------------------------------
def test_copying_gives_the_exact_text(view):
    builder = TraceBuilder()
    builder.step(["\u202eodd\x07", " rejected"], 1, " <b>&amp;</b>\t😀")
    view.set_trace(builder.finish())
    view.set_show_rejected(True)
    view.select_all()
    view.copy()
    assert QGuiApplication.clipboard().text() == "\u202eodd\x07 <b>&amp;</b>\t😀"
    assert view.selected_text == view.toPlainText()


def test_part_of_a_token_can_be_selected(view):
    view.set_trace(TraceBuilder().plain("Hello", " world").finish())
    view.select(3, 8)
    assert view.selected_text == "lo wo"


def test_keys_copy_and_select_all(qtbot, view):
    view.set_trace(TraceBuilder().plain("Hello", " world").finish())
    qtbot.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert view.selected_text == "Hello world"
    view.select(0, 5)
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Hello"


def test_the_context_menu_copies(view):
    view.set_trace(TraceBuilder().plain("Hello", " world").finish())
    actions = {action.text(): action for action in view.context_menu().actions()}
    assert not actions["Copy"].isEnabled()
    actions["Copy answer"].trigger()
    assert QGuiApplication.clipboard().text() == "Hello world"
    actions["Show rejected drafts"].trigger()
    assert view.answer.show_rejected


def middle_of(view: TokenView, item: int) -> QPoint:
    layout = view.answer.layout
    start = layout.start_of(item)
    rect = layout.rects_between(start, layout.start_of(item + 1))[0]
    x, y = view.answer_corner()
    return (rect.center() + QPointF(x, y)).toPoint()


def test_a_click_chooses_the_step_of_a_token(qtbot, view):
    view.set_trace(explanation().trace)
    item = view.answer.item_of(5)
    with qtbot.waitSignal(view.step_chosen) as chosen:
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, item))
    assert chosen.args == [view.answer.token_of(item).step]


def test_dragging_selects_and_chooses_no_step(qtbot, view):
    view.set_trace(TraceBuilder().plain("Hello", " brave", " world").finish())
    chosen = []
    view.step_chosen.connect(chosen.append)
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, 0))
    qtbot.mouseMove(view.viewport(), middle_of(view, 2))
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, 2))
    assert " brave" in view.selected_text
    assert chosen == []


def test_a_double_click_selects_a_word(qtbot, view):
    view.set_trace(TraceBuilder().plain("Hello", " brave", " world").finish())
    qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=middle_of(view, 1))
    assert view.selected_text == "brave"


def test_tooltips_tell_source_and_probabilities(view):
    builder = TraceBuilder()
    builder.step([" a", " b"], 1, " c", probs=[(0.71, 0.64), (0.41, 0.02)], target_prob=0.88)
    view.set_trace(builder.finish())
    view.set_show_rejected(True)
    tips = [tooltip(view.answer, i).split("\n") for i in range(view.answer.layout.n_items)]
    assert tips[0] == [
        "Accepted from the draft",
        "␣a",
        "draft p 0.71 · target p 0.64",
        "step 1, draft position 1",
    ]
    assert tips[1][:3] == ["Rejected draft token", "␣b", "draft p 0.41 · target p 0.02"]
    assert tips[2] == ["The target’s correction", "␣c", "target p 0.88", "in place of ␣b", "step 1"]


def test_unknown_probabilities_are_a_dash(view):
    view.set_trace(TraceBuilder().step([" a"], 1, " c").finish())
    assert "draft p – · target p –" in tooltip(view.answer, 0)


@pytest.mark.parametrize("piece", ["<b>bold</b>", "&lt;i&gt;", "\n<img src=x>"])
def test_tooltips_are_never_taken_for_markup(view, piece):
    view.set_trace(TraceBuilder().step([piece, piece], 1, piece).finish())
    view.set_show_rejected(True)
    for item in range(view.answer.layout.n_items):
        tip = tooltip(view.answer, item)
        assert not GuiQt.mightBeRichText(tip)
        assert piece.strip().replace(" ", "␣") in tip


def test_a_copy_knows_where_it_was_copied_from(view):
    builder = TraceBuilder(n_prompt=12).plain("one", " two", " three", " ")
    builder.step(["one", " two"], 2, " four", copied_from=12)
    view.set_trace(builder.finish())
    assert "copied from token 1 of the answer" in tooltip(view.answer, 4)
    assert view.answer.copy_source_of(4).in_answer == ((0, len("one two")),)


def test_a_copy_from_the_prompt_says_so(view):
    view.set_trace(TraceBuilder(n_prompt=12).step(["one"], 1, " two", copied_from=3).finish())
    assert "copied from the prompt" in tooltip(view.answer, 0)
    source = view.answer.copy_source_of(0)
    assert (source.in_prompt, source.in_answer) == (((3, 4),), ())
    assert view.page.copy_sources(0, 0) == []  # the text of the prompt is not known


def test_the_ground_is_the_palettes(view):
    view.apply_palette(PALETTES[1])
    corner = view.grab().toImage().pixelColor(2, 2)
    assert corner == QColor(PALETTES[1].ground)
