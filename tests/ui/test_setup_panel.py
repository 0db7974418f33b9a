"""The setup panel: rows to a configuration and back, what it marks, what it lets through."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QPlainTextEdit, QWidget
from support.shell import READY_DRAFT, READY_TARGET, Heard, verdict

from specviz.models.memory import MemoryEstimate
from specviz.trace.config import (
    KV_TYPES,
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    NgramCacheConfig,
    NgramModConfig,
    NgramSizes,
    Role,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.ui.drafting_choice import MODELS, NGRAMS
from specviz.ui.figures import THIN
from specviz.ui.model_card import empty_card
from specviz.ui.setup_panel import START_CONFIG, SetupPanel, stop_lines, stop_texts

FULL = RunConfig(
    mode=RunMode.BASELINE,
    load=LoadConfig(
        target=ModelSpec(
            path="/m/t.gguf", n_gpu_layers=12, n_threads=6, type_k="q8_0", type_v="bf16"
        ),
        draft=ModelSpec(path="/m/d.gguf", n_gpu_layers=0, n_threads=2, type_k="f32", type_v="q8_0"),
        n_ctx=8192,
        n_batch=256,
        flash_attention=Switch.ON,
        repack=False,
    ),
    messages=(Message(role="system", text="Be brief.\nBe kind."),),
    reasoning=Switch.OFF,
    max_tokens=-1,
    stop=("\n\n", "END", "a\\b", " "),
    sampling=SamplingConfig(temperature=0.7, top_k=0, top_p=1.0, min_p=0.02, seed=4294967294),
    speculation=SpeculationConfig(
        sources=(DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE), n_max=9, n_min=2, p_min=0.125
    ),
)


def edit(qtbot, panel: SetupPanel, name: str, text: str) -> None:
    """Type a value into a field and press Enter."""
    field = panel.findChild(QLineEdit, name)
    assert field is not None, name
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


@pytest.mark.parametrize("config", [START_CONFIG, FULL, replace(FULL, raw=True, messages=())])
def test_a_configuration_comes_back_as_it_was(panel, config):
    panel.apply_config(config)
    assert panel.config() == config


def specs(path):
    return st.builds(
        ModelSpec,
        path=st.just(path),
        n_gpu_layers=st.integers(-1, 200),
        n_threads=st.none() | st.integers(1, 256),
        type_k=st.sampled_from(KV_TYPES),
        type_v=st.sampled_from(KV_TYPES),
    )


sizes = st.builds(
    NgramSizes,
    size_n=st.integers(1, 1024),
    size_m=st.integers(1, 1024),
    min_hits=st.integers(1, 1024),
)


@given(
    config=st.builds(
        RunConfig,
        mode=st.sampled_from(RunMode),
        load=st.builds(
            LoadConfig,
            target=specs("/t"),
            draft=st.none() | specs("/d"),
            n_ctx=st.integers(0, 1 << 20),
            n_batch=st.integers(1, 4096),
            flash_attention=st.sampled_from(Switch),
            repack=st.booleans(),
        ),
        messages=st.just(()),
        max_tokens=st.just(-1) | st.integers(1, 10**6),
        stop=st.lists(st.text("ab\\\n\t\r ", min_size=1)).map(tuple),
        sampling=st.builds(
            SamplingConfig,
            temperature=st.floats(0, 5),
            top_k=st.integers(0, 1000),
            top_p=st.floats(0, 1),
            min_p=st.floats(0, 1),
            seed=st.none() | st.integers(0, 2**32 - 2),
        ),
        speculation=st.builds(
            SpeculationConfig,
            sources=st.tuples(st.sets(st.sampled_from(NGRAMS)), st.none() | st.sampled_from(MODELS))
            .filter(any)
            .map(lambda some: tuple(s for s in DraftSource if s in some[0] or s is some[1])),
            n_max=st.integers(1, 64),
            n_min=st.integers(0, 64),
            p_min=st.floats(0, 1),
            ngram_simple=sizes,
            ngram_map_k=sizes,
            ngram_map_k4v=sizes,
            ngram_mod=st.builds(
                NgramModConfig,
                n_match=st.integers(1, 1024),
                n_min=st.integers(0, 1024),
                n_max=st.integers(0, 1024),
            ),
            ngram_cache=st.builds(
                NgramCacheConfig,
                static_path=st.none() | st.just("/c/static.lcs"),
                dynamic_path=st.none() | st.just("/c/dynamic.lcd"),
            ),
        ),
    )
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_configuration_comes_back_as_it_was(panel, config):
    panel.apply_config(config)
    assert panel.config() == config


def test_applying_and_telling_announce_nothing(panel):
    heard = Heard()
    panel.settings_changed.connect(lambda: heard("changed"))
    panel.apply_config(FULL)
    panel.set_path(Role.TARGET, "/m/other.gguf")
    panel.set_mode(RunMode.SPECULATIVE)
    panel.show_card(Role.TARGET, READY_TARGET)
    assert heard.said == []


@pytest.mark.parametrize(
    ("name", "typed", "read"),
    [
        ("draft-tokens", "8", lambda c: c.speculation.n_max == 8),
        ("p-min", "0.3", lambda c: c.speculation.p_min == 0.3),
        ("n-min", "2", lambda c: c.speculation.n_min == 2),
        ("temperature", "0.8", lambda c: c.sampling.temperature == 0.8),
        ("seed", "7", lambda c: c.sampling.seed == 7),
        ("max-tokens", "no limit", lambda c: c.max_tokens == -1),
        ("top-k", "off", lambda c: c.sampling.top_k == 0),
        ("top-p", "0.9", lambda c: c.sampling.top_p == 0.9),
        ("min-p", "0.1", lambda c: c.sampling.min_p == 0.1),
        ("context", "16k", lambda c: c.load.n_ctx == 16384),
        ("gpu-layers-target", "10", lambda c: c.load.target.n_gpu_layers == 10),
        ("gpu-layers-draft", "0", lambda c: c.load.draft.n_gpu_layers == 0),
        ("threads-target", "4", lambda c: c.load.target.n_threads == 4),
        ("threads-draft", "3", lambda c: c.load.draft.n_threads == 3),
    ],
)
def test_every_number_can_be_set_by_keyboard(qtbot, panel, name, typed, read):
    panel.set_path(Role.TARGET, Path("/m/t.gguf"))
    panel.set_path(Role.DRAFT, Path("/m/d.gguf"))
    with qtbot.waitSignal(panel.settings_changed):
        edit(qtbot, panel, name, typed)
    assert read(panel.config())


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("kv-target-k", lambda c: c.load.target.type_k == "bf16"),
        ("kv-target-v", lambda c: c.load.target.type_v == "bf16"),
        ("kv-draft-k", lambda c: c.load.draft.type_k == "bf16"),
        ("kv-draft-v", lambda c: c.load.draft.type_v == "bf16"),
        ("flash-attention", lambda c: c.load.flash_attention is Switch.ON),
        ("reasoning", lambda c: c.reasoning is Switch.ON),
    ],
)
def test_every_choice_can_be_stepped_by_keyboard(qtbot, panel, name, read):
    panel.set_path(Role.DRAFT, "/m/d.gguf")
    button = panel.findChild(QAbstractButton, name)
    with qtbot.waitSignal(panel.settings_changed):
        qtbot.keyClick(button, Qt.Key.Key_Down)
    assert read(panel.config())


@pytest.mark.parametrize(
    ("name", "read"), [("raw-prompt", lambda c: c.raw), ("repack", lambda c: not c.load.repack)]
)
def test_every_switch_can_be_switched_by_keyboard(qtbot, panel, name, read):
    with qtbot.waitSignal(panel.settings_changed):
        qtbot.keyClick(panel.findChild(QAbstractButton, name), Qt.Key.Key_Space)
    assert read(panel.config())


def test_texts_are_written_below_their_rows(qtbot, panel):
    panel.rows["system-prompt"].unfold()
    qtbot.keyClicks(panel.findChild(QPlainTextEdit, "system-prompt-edit"), "Be brief.")
    panel.rows["stop-texts"].unfold()
    editor = panel.findChild(QPlainTextEdit, "stop-texts-edit")
    qtbot.keyClicks(editor, r"END")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.keyClicks(editor, r"\n\n")
    assert panel.config().messages == (Message(role="system", text="Be brief."),)
    assert panel.config().stop == ("END", "\n\n")


def test_an_editor_that_opens_below_the_edge_is_scrolled_into_view(qtbot, panel):
    panel.resize(296, 500)
    row = panel.rows["stop-texts"]
    row.unfold()
    editor = panel.findChild(QPlainTextEdit, "stop-texts-edit")
    qtbot.waitUntil(lambda: editor.visibleRegion().boundingRect() == editor.rect())


def test_stop_texts_are_spelt_so_that_nothing_is_lost():
    texts = ("\n", "a\\n", "\t", "\\", " x ")
    assert stop_lines(texts).count("\n") == len(texts) - 1
    assert stop_texts(stop_lines(texts)) == texts
    assert stop_texts("\n\n") == ()


# ---- marks and advice --------------------------------------------------------------------------
def test_a_minimum_above_the_maximum_marks_both_rows_and_says_why(qtbot, panel):
    panel.set_path(Role.DRAFT, "/m/d.gguf")
    assert panel.problem() is None
    with qtbot.waitSignal(panel.validity_changed):
        edit(qtbot, panel, "n-min", "48")
    assert "minimum of 48" in panel.problem() and "maximum of 3" in panel.problem()
    for key in ("draft-tokens", "n-min"):
        assert panel.rows[key].has_problem and panel.rows[key].note()
        assert panel.findChild(QLineEdit, key).property("wrong") == "true"
    edit(qtbot, panel, "draft-tokens", "64")
    assert panel.problem() is None
    assert not panel.rows["n-min"].has_problem and panel.rows["n-min"].note() == ""


def test_a_stored_minimum_above_the_maximum_is_marked_too(panel):
    panel.apply_config(replace(FULL, speculation=SpeculationConfig(n_max=4, n_min=48)))
    assert panel.rows["draft-tokens"].has_problem and panel.rows["n-min"].has_problem
    panel.set_mode(RunMode.SPECULATIVE)
    assert panel.problem() is not None
    panel.set_mode(RunMode.BASELINE)
    assert panel.problem() is None, "a baseline does not draft"


def test_speculation_without_a_draft_is_a_problem(panel):
    assert panel.problem() == "Drafting with a draft model needs a draft model."
    panel.set_path(Role.DRAFT, "/m/d.gguf")
    assert panel.problem() is None


def test_a_quantised_value_cache_without_flash_attention_marks_the_rows(panel):
    load = LoadConfig(
        target=ModelSpec(path="/t", type_v="q8_0"), flash_attention=Switch.OFF, draft=None
    )
    panel.apply_config(replace(FULL, load=load))
    assert "flash attention" in panel.problem()
    assert panel.rows["kv-target"].has_problem and panel.rows["flash-attention"].has_problem
    assert not panel.rows["kv-draft"].has_problem


def test_a_coarse_draft_cache_is_advised_against(panel):
    for kind, advised in (("f16", False), ("q8_0", False), ("q4_0", True)):
        load = replace(FULL.load, draft=ModelSpec(path="/d", type_k=kind))
        panel.apply_config(replace(FULL, load=load))
        assert ("q8_0" in panel.rows["kv-draft"].note()) is advised
    assert panel.problem() is None


def test_a_raw_prompt_leaves_the_system_prompt_out_and_says_so(panel):
    panel.apply_config(FULL)
    panel.findChild(QAbstractButton, "raw-prompt").click()
    assert panel.config().messages == ()
    assert "no place for a system prompt" in panel.rows["system-prompt"].note()
    panel.findChild(QAbstractButton, "raw-prompt").click()
    assert panel.config().messages == FULL.messages


def test_changes_that_wait_for_a_reload_are_marked(panel):
    panel.mark_pending({"context", "draft"})
    assert panel.rows["context"].note() == "applies after reload"
    assert panel.rows["seed"].note() == ""
    panel.mark_pending(())
    assert panel.rows["context"].note() == ""


def test_going_to_the_settings_opens_what_hides_the_problem(panel):
    load = LoadConfig(target=ModelSpec(path="/t", type_v="q4_0"), flash_attention=Switch.OFF)
    panel.apply_config(replace(FULL, load=load))
    panel.folds["runtime-more"].set_unfolded(False)
    panel.focus_first()
    assert panel.folds["runtime-more"].unfolded
    assert panel.findChild(QWidget, "kv-target-k").hasFocus()


# ---- cards and estimates -----------------------------------------------------------------------
def test_reasoning_is_offered_where_the_template_has_the_switch(panel):
    row = panel.rows["reasoning"]
    assert not row.isVisible()
    panel.show_card(Role.TARGET, READY_TARGET)
    assert row.isVisible()
    panel.show_card(Role.TARGET, empty_card())
    assert not row.isVisible()


def test_layers_go_as_far_as_the_model_does(qtbot, panel):
    panel.show_card(Role.TARGET, READY_TARGET)
    edit(qtbot, panel, "gpu-layers-target", "42")
    assert "from 0 to 41" in panel.rows["gpu-layers"].note()
    edit(qtbot, panel, "gpu-layers-target", "41")
    assert panel.config().load.target.n_gpu_layers == 41


def test_the_pair_is_judged_on_the_draft_card(panel):
    panel.show_card(Role.DRAFT, READY_DRAFT)
    panel.show_pair(verdict(True, "same vocabulary, 100 tokens"))
    chip = panel.findChild(QWidget, "draft-chip")
    assert chip.isVisible() and chip.text() == "✓ same vocabulary, 100 tokens"
    assert not panel.findChild(QWidget, "target-chip").isVisible()


def test_memory_is_told_in_sum_and_in_five_parts(qtbot, panel):
    panel.show_memory(
        MemoryEstimate(
            target_weights=9 * 10**9,
            target_kv=10**9,
            draft_weights=639 * 10**6,
            draft_kv=10**8,
            compute=5 * 10**8,
        )
    )
    button = panel.findChild(QAbstractButton, "memory")
    assert button.text() == f"11.2{THIN}GB"
    assert button.accessibleName() == f"Memory needed: 11.2{THIN}GB"
    for words in ("Target weights", "Target cache", "Draft weights", "Draft cache", "Working"):
        assert words in button.toolTip()
    parts = panel.findChild(QWidget, "memory-parts")
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert parts.isVisible()
    panel.show_memory(None)
    assert button.text() == "–" and not parts.isVisible()


def test_the_last_seed_can_be_used_again(qtbot, panel):
    button = panel.findChild(QAbstractButton, "reuse-seed")
    assert not button.isVisible()
    panel.set_last_seed(1234)
    assert button.isVisible()
    with qtbot.waitSignal(panel.settings_changed):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert panel.config().sampling.seed == 1234
    assert not button.isVisible(), "it is in use now"


def test_locked_nothing_can_be_changed_and_everything_can_be_read(qtbot, panel):
    panel.apply_config(FULL)
    panel.set_locked(True)
    heard = Heard()
    panel.settings_changed.connect(lambda: heard("changed"))
    field = panel.findChild(QLineEdit, "draft-tokens")
    qtbot.keyClick(field, Qt.Key.Key_Up)
    assert heard.said == [] and field.text() == "9"
    assert panel.locked and not panel.findChild(QWidget, "target-choose").isEnabled()
    panel.set_locked(False)
    qtbot.keyClick(field, Qt.Key.Key_Up)
    assert heard.said == ["changed"] and panel.config().speculation.n_max == 10


def test_folds_are_remembered(panel):
    panel.folds["sampling-more"].set_unfolded(False)
    state = panel.state()
    panel.folds["sampling-more"].set_unfolded(True)
    panel.restore_state(state)
    assert not panel.folds["sampling-more"].unfolded
    assert not panel.rows["top-k"].isVisible()
    panel.restore_state({"sampling-more": "yes", "unknown": 3})
    panel.restore_state(["odd"])


# ---- for everybody -----------------------------------------------------------------------------
def controls(parent: QWidget) -> list[QWidget]:
    """Everything that can be reached by keyboard."""
    return [
        widget
        for widget in parent.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not widget.objectName().startswith("qt_")
    ]


def test_every_control_is_named_described_and_explains_itself(panel):
    panel.show_card(Role.TARGET, READY_TARGET)
    found = controls(panel)
    assert len(found) > 25
    for widget in found:
        name = widget.objectName()
        assert name and name == name.lower() and " " not in name, widget
        assert widget.accessibleName(), name
        assert widget.accessibleDescription().strip().endswith("."), name
        assert widget.toolTip(), name


def test_every_setting_says_its_effect_on_speed(panel):
    words = ("speed", "time", "fast", "slow", "longer", "rate", "cost", "accepted", "bring")
    for key, row in panel.rows.items():
        for field in row.fields:
            description = field.accessibleDescription()
            assert any(word in description for word in words), (key, description)


def test_names_are_unique(panel):
    names = [widget.objectName() for widget in controls(panel)]
    assert len(names) == len(set(names))


def test_values_end_where_the_cards_end(panel):
    """The right edge of the figures is the right edge of the cards, whatever kind of field."""
    right = panel.cards[Role.TARGET].mapTo(panel, panel.cards[Role.TARGET].rect().topRight()).x()
    for key in ("draft-tokens", "flash-attention", "memory"):
        field = panel.rows[key].fields[-1]
        edge = field.mapTo(panel, field.rect().topRight()).x()
        assert edge - right == 5, key


def test_the_panel_does_not_scroll_sideways(panel):
    panel.setFixedWidth(264)
    panel.apply_config(replace(FULL, speculation=SpeculationConfig(n_max=4, n_min=48)))
    panel.show_card(Role.DRAFT, replace(READY_DRAFT, name="x" * 200, details="y" * 200))
    panel.show_pair(verdict(False, "Z" * 20 + " differs. " * 20))
    panel.widget().layout().activate()
    assert panel.widget().minimumSizeHint().width() <= 264
