"""The drafting rows of the setup, by mouse and keyboard: methods, presets, files, what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QPushButton, QWidget
from support.shell import READY_DRAFT, READY_TARGET

from specviz.cli.options import run_parser
from specviz.trace.config import (
    DraftSource,
    NgramCacheConfig,
    NgramModConfig,
    NgramSizes,
    Role,
    RunMode,
    SpeculationConfig,
)
from specviz.trace.presets import CODE_REFACTORING, LLAMA_CPP, SHORT_TEXTS
from specviz.ui import setting_catalogue as catalogue
from specviz.ui.examples import Example
from specviz.ui.model_card import CardPhase, CardState, empty_card, error_card, reading_card
from specviz.ui.setup_panel import START_CONFIG, SetupPanel

SIMPLE, MTP, MOD = DraftSource.DRAFT_SIMPLE, DraftSource.DRAFT_MTP, DraftSource.NGRAM_MOD
MODEL_ROWS = {"draft-tokens", "p-min", "n-min"}
MOD_ROWS = {"ngram-mod-match", "ngram-mod-shortest", "ngram-mod-longest"}
NGRAM_ROWS = {"ngram-preset", "ngram-methods"}
PLAIN_TARGET = replace(READY_TARGET, nextn_layers=0)
MTP_TARGET = replace(READY_TARGET, nextn_layers=1)


def put(panel: SetupPanel, role: Role, state: CardState) -> None:
    """What the controller does when something else is in a slot."""
    panel.set_path(role, state.path if state.phase is CardPhase.READY else None)
    panel.show_card(role, state)


def segment(panel: SetupPanel, name: str) -> QPushButton:
    found = panel.findChild(QPushButton, f"drafting-{name}")
    assert found is not None, name
    return found


def chosen(panel: SetupPanel) -> str:
    (name,) = [each for each in ("model", "ngram", "both") if segment(panel, each).isChecked()]
    return name


def shown_rows(panel: SetupPanel) -> set[str]:
    return {key for key, row in panel.rows.items() if row.isVisible()} & {
        *MODEL_ROWS, "drafted-by", *(key for key in panel.rows if key.startswith("ngram"))
    }  # fmt: skip


def hint(panel: SetupPanel) -> str:
    found = panel.findChild(QLabel, "drafting-hint")
    return found.text() if found.isVisible() else ""


def sources(panel: SetupPanel) -> tuple[DraftSource, ...]:
    return panel.config().speculation.sources


def edit(qtbot, panel: SetupPanel, name: str, text: str) -> QLineEdit:
    field = panel.findChild(QLineEdit, name)
    assert field is not None and field.isVisible(), name
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    return field


def choose_methods(panel: SetupPanel, *sources: DraftSource) -> None:
    """Tick exactly these in the menu."""
    field = panel.rows["ngram-methods"].fields[0]
    menu = field.make_menu()
    ticks = dict(zip(catalogue.NGRAM_METHODS, menu.actions(), strict=True))
    wanted = {source.value for source in sources}
    for choice, action in sorted(ticks.items(), key=lambda each: each[0].value not in wanted):
        if action.isChecked() is not (choice.value in wanted):
            action.trigger()
    menu.deleteLater()


# ---- the three methods -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "rows", "asked"),
    [
        ("model", MODEL_ROWS, (SIMPLE,)),
        ("ngram", NGRAM_ROWS | MOD_ROWS, (MOD,)),
        ("both", MODEL_ROWS | NGRAM_ROWS | MOD_ROWS, (MOD, SIMPLE)),
    ],
)
def test_a_segment_shows_what_its_method_needs_and_nothing_else(qtbot, panel, name, rows, asked):
    put(panel, Role.TARGET, PLAIN_TARGET)
    put(panel, Role.DRAFT, READY_DRAFT)
    segment(panel, "ngram" if name != "ngram" else "both").click()
    with qtbot.waitSignal(panel.settings_changed):
        qtbot.mouseClick(segment(panel, name), Qt.MouseButton.LeftButton)
    assert shown_rows(panel) == rows
    assert sources(panel) == asked
    assert panel.problem() is None


def test_arrows_move_between_the_segments(qtbot, panel):
    put(panel, Role.DRAFT, READY_DRAFT)
    segment(panel, "model").setFocus()
    seen = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left):
        qtbot.keyClick(panel.window().focusWidget(), key)
        seen.append((chosen(panel), panel.window().focusWidget().objectName()))
    assert seen == [
        ("ngram", "drafting-ngram"),
        ("both", "drafting-both"),
        ("both", "drafting-both"),
        ("ngram", "drafting-ngram"),
    ]


def test_both_says_who_is_asked_first(panel):
    put(panel, Role.TARGET, MTP_TARGET)
    put(panel, Role.DRAFT, READY_DRAFT)
    segment(panel, "both").click()
    assert hint(panel) == catalogue.NGRAMS_FIRST
    panel.rows["drafted-by"].fields[0]._take(MTP.value)
    assert hint(panel) == catalogue.MTP_FIRST
    for title, shown in (("drafting-model-title", True), ("ngram-mod-title", False)):
        assert panel.findChild(QLabel, title).isVisible() is shown


# ---- chosen by itself --------------------------------------------------------------------------
def test_the_method_follows_the_slots_and_shows_it(panel):
    seen = [chosen(panel)]
    for role, state in (
        (Role.TARGET, PLAIN_TARGET),
        (Role.DRAFT, reading_card("/models/d.gguf", "Reading the file")),
        (Role.DRAFT, READY_DRAFT),
        (Role.DRAFT, empty_card()),
        (Role.DRAFT, error_card("/models/d.gguf", "This is an MTP head without its model.")),
    ):
        put(panel, role, state)
        seen.append(chosen(panel))
    assert seen == ["model", "ngram", "model", "model", "ngram", "ngram"]
    assert panel.config().load.draft is None
    assert panel.problem() is None, "n-grams need no draft"


def test_no_change_of_models_moves_what_the_user_chose(panel):
    put(panel, Role.TARGET, PLAIN_TARGET)
    segment(panel, "both").click()
    for state in (READY_DRAFT, empty_card(), READY_DRAFT):
        put(panel, Role.DRAFT, state)
        assert chosen(panel) == "both"
    put(panel, Role.DRAFT, empty_card())
    assert hint(panel) == catalogue.NEEDS_DRAFT_BESIDE
    assert panel.problem() == "Drafting with a draft model needs a draft model."


def test_a_missing_draft_is_explained_at_the_segments(panel):
    assert hint(panel) == catalogue.NEEDS_DRAFT
    put(panel, Role.TARGET, PLAIN_TARGET)
    assert hint(panel) == ""
    segment(panel, "model").click()
    assert hint(panel) == catalogue.NEEDS_DRAFT
    role = panel.findChild(QLabel, "drafting-hint").property
    assert role("role") == "hint"
    panel.set_mode(RunMode.BASELINE)
    assert role("role") == "small", "a baseline lacks nothing"
    put(panel, Role.DRAFT, READY_DRAFT)
    assert hint(panel) == ""


def test_the_choice_is_remembered_with_its_reason(panel, qtbot):
    put(panel, Role.TARGET, PLAIN_TARGET)
    put(panel, Role.DRAFT, READY_DRAFT)
    segment(panel, "ngram").click()
    choose_methods(panel, DraftSource.NGRAM_SIMPLE, MOD)
    segment(panel, "model").click()
    again = SetupPanel()
    qtbot.addWidget(again)
    again.apply_config(panel.config())
    again.restore_state(panel.state())
    put(again, Role.TARGET, PLAIN_TARGET)
    assert sources(again) == (SIMPLE,), "picked, though there is no draft yet"
    segment(again, "ngram").click()
    assert sources(again) == (DraftSource.NGRAM_SIMPLE, MOD)


def test_what_the_slots_chose_is_not_remembered_as_a_pick(panel, qtbot):
    put(panel, Role.TARGET, PLAIN_TARGET)
    assert chosen(panel) == "ngram"
    again = SetupPanel()
    qtbot.addWidget(again)
    again.apply_config(panel.config())
    again.restore_state(panel.state())
    assert chosen(again) == "ngram", "as it was left"
    put(again, Role.DRAFT, READY_DRAFT)
    assert chosen(again) == "model"


def test_an_example_sets_method_and_sizes_and_the_next_one_gives_the_method_back(panel):
    put(panel, Role.TARGET, PLAIN_TARGET)
    put(panel, Role.DRAFT, READY_DRAFT)
    copying = Example(
        name="x", prompt="x", lesson="x.", sources=(MOD,), preset=CODE_REFACTORING.key, p_min=0.4
    )
    panel.apply_example(copying)
    assert chosen(panel) == "ngram"
    assert panel.rows["ngram-preset"].fields[0].text() == "Code refactoring"
    panel.apply_example(Example(name="y", prompt="y", lesson="y.", n_max=2))
    assert chosen(panel) == "model" and sources(panel) == (SIMPLE,)
    speculation = panel.config().speculation
    assert (speculation.n_max, speculation.p_min) == (2, 0.4)


# ---- MTP blocks --------------------------------------------------------------------------------
def test_mtp_blocks_are_offered_where_the_target_has_them(qtbot, panel):
    put(panel, Role.TARGET, PLAIN_TARGET)
    put(panel, Role.DRAFT, READY_DRAFT)
    assert not panel.rows["drafted-by"].isVisible()
    put(panel, Role.TARGET, MTP_TARGET)
    field = panel.rows["drafted-by"].fields[0]
    assert field.isVisible() and sources(panel) == (SIMPLE,)
    with qtbot.waitSignal(panel.settings_changed):
        qtbot.keyClick(field, Qt.Key.Key_Down)
    assert field.text() == "the target's MTP blocks" and sources(panel) == (MTP,)
    put(panel, Role.DRAFT, empty_card())
    assert sources(panel) == (MTP,) and hint(panel) == "" and panel.problem() is None


def test_mtp_is_the_natural_way_without_a_draft_and_off_stays_off(qtbot, panel):
    put(panel, Role.TARGET, MTP_TARGET)
    assert chosen(panel) == "model" and sources(panel) == (MTP,)
    qtbot.keyClick(panel.rows["drafted-by"].fields[0], Qt.Key.Key_Up)
    assert sources(panel) == (SIMPLE,) and hint(panel) == catalogue.NEEDS_DRAFT_OR_MTP
    put(panel, Role.DRAFT, READY_DRAFT)
    put(panel, Role.TARGET, PLAIN_TARGET)
    put(panel, Role.TARGET, MTP_TARGET)
    assert sources(panel) == (SIMPLE,)


# ---- presets and n-gram methods ----------------------------------------------------------------
def test_a_preset_sets_all_sizes_and_values_by_hand_are_custom(qtbot, panel):
    segment(panel, "ngram").click()
    field = panel.rows["ngram-preset"].fields[0]
    assert field.text() == "Short texts"
    with qtbot.waitSignal(panel.settings_changed):
        qtbot.keyClick(field, Qt.Key.Key_Down)
    assert field.text() == "Code refactoring"
    assert CODE_REFACTORING.is_in(panel.config().speculation)
    assert CODE_REFACTORING.effect in field.accessibleDescription()
    edit(qtbot, panel, "ngram-mod-match", "5")
    assert field.text() == "custom" and field.accessibleName() == "Preset: custom"
    assert not any(action.isChecked() for action in field.make_menu().actions())
    edit(qtbot, panel, "ngram-mod-match", "16")
    assert field.text() == "Code refactoring"


def test_the_presets_explain_themselves_in_the_menu(panel):
    menu = panel.rows["ngram-preset"].fields[0].make_menu()
    told = [(action.text(), action.statusTip()) for action in menu.actions()]
    assert told == [(p.name, p.effect) for p in (SHORT_TEXTS, CODE_REFACTORING, LLAMA_CPP)]
    assert all(action.toolTip() for action in menu.actions())


def test_a_preset_reaches_what_has_no_row(qtbot, panel):
    odd = SpeculationConfig(sources=(MOD,), ngram_map_k=NgramSizes(min_hits=5))
    panel.apply_config(replace(START_CONFIG, speculation=odd))
    field = panel.rows["ngram-preset"].fields[0]
    assert field.text() == "custom"
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert field.text() == "Short texts" and SHORT_TEXTS.is_in(panel.config().speculation)


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        (DraftSource.NGRAM_SIMPLE, {"ngram-simple-match", "ngram-simple-copied"}),
        (DraftSource.NGRAM_MAP_K, {"ngram-map-k-match", "ngram-map-k-copied"}),
        (
            DraftSource.NGRAM_MAP_K4V,
            {"ngram-map-k4v-match", "ngram-map-k4v-copied", "ngram-map-k4v-hits"},
        ),
        (DraftSource.NGRAM_MOD, MOD_ROWS),
        (DraftSource.NGRAM_CACHE, {"ngram-cache-static", "ngram-cache-dynamic"}),
    ],
)
def test_an_n_gram_method_shows_its_own_settings(panel, source, rows):
    segment(panel, "ngram").click()
    choose_methods(panel, source)
    assert sources(panel) == (source,)
    assert shown_rows(panel) == NGRAM_ROWS | rows
    assert not panel.findChild(QLabel, f"{source.value}-title").isVisible()


def test_several_methods_stand_under_titles_that_name_them(panel):
    segment(panel, "ngram").click()
    choose_methods(panel, DraftSource.NGRAM_SIMPLE, DraftSource.NGRAM_CACHE)
    assert panel.rows["ngram-methods"].fields[0].text() == "2 methods"
    for source in (DraftSource.NGRAM_SIMPLE, DraftSource.NGRAM_CACHE):
        title = panel.findChild(QLabel, f"{source.value}-title")
        assert title.isVisible() and title.text() == source.value
        assert len(title.toolTip()) > 100
    assert not panel.findChild(QLabel, "ngram-mod-title").isVisible()
    assert sources(panel) == (DraftSource.NGRAM_SIMPLE, DraftSource.NGRAM_CACHE)


@pytest.mark.parametrize(
    ("source", "name", "typed", "read"),
    [
        (DraftSource.NGRAM_SIMPLE, "match", "4", lambda s: s.ngram_simple.size_n == 4),
        (DraftSource.NGRAM_SIMPLE, "copied", "1024", lambda s: s.ngram_simple.size_m == 1024),
        (DraftSource.NGRAM_MAP_K, "match", "1", lambda s: s.ngram_map_k.size_n == 1),
        (DraftSource.NGRAM_MAP_K, "copied", "9", lambda s: s.ngram_map_k.size_m == 9),
        (DraftSource.NGRAM_MAP_K4V, "match", "7", lambda s: s.ngram_map_k4v.size_n == 7),
        (DraftSource.NGRAM_MAP_K4V, "copied", "8", lambda s: s.ngram_map_k4v.size_m == 8),
        (DraftSource.NGRAM_MAP_K4V, "hits", "2", lambda s: s.ngram_map_k4v.min_hits == 2),
        (DraftSource.NGRAM_MOD, "match", "24", lambda s: s.ngram_mod.n_match == 24),
        (DraftSource.NGRAM_MOD, "shortest", "0", lambda s: s.ngram_mod.n_min == 0),
        (DraftSource.NGRAM_MOD, "longest", "64", lambda s: s.ngram_mod.n_max == 64),
    ],
)
def test_every_size_can_be_typed(qtbot, panel, source, name, typed, read):
    segment(panel, "ngram").click()
    choose_methods(panel, source)
    with qtbot.waitSignal(panel.settings_changed):
        edit(qtbot, panel, f"{source.value}-{name}", typed)
    assert read(panel.config().speculation)


@pytest.mark.parametrize(
    ("name", "typed", "limits"),
    [
        ("ngram-mod-match", "0", "from 1 to"),
        ("ngram-mod-longest", "1025", "from 0 to"),
        ("ngram-mod-shortest", "-1", "from 0 to"),
    ],
)
def test_sizes_outside_the_limits_are_refused_and_escape_gives_up(
    qtbot, panel, name, typed, limits
):
    segment(panel, "ngram").click()
    before = panel.config()
    field = edit(qtbot, panel, name, typed)
    assert field.editing and limits in panel.rows[name].note()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert not field.editing and panel.rows[name].note() == ""
    assert panel.config() == before


def test_cache_files_are_set_and_cleared(qtbot, panel):
    files = NgramCacheConfig(static_path="/data/s.lcs", dynamic_path="/data/d.lcd")
    panel.apply_config(
        replace(
            START_CONFIG,
            speculation=SpeculationConfig(sources=(DraftSource.NGRAM_CACHE,), ngram_cache=files),
        )
    )
    assert panel.config().speculation.ngram_cache == files
    with qtbot.waitSignal(panel.settings_changed):
        qtbot.mouseClick(
            panel.findChild(QWidget, "ngram-cache-static-clear"), Qt.MouseButton.LeftButton
        )
    assert panel.config().speculation.ngram_cache == replace(files, static_path=None)
    panel.set_locked(True)
    assert not panel.findChild(QWidget, "ngram-cache-dynamic-clear").isEnabled()


# ---- what is wrong -----------------------------------------------------------------------------
def test_a_shortest_draft_above_the_longest_marks_both_and_stops_the_run(qtbot, panel):
    segment(panel, "ngram").click()
    assert panel.problem() is None
    with qtbot.waitSignal(panel.validity_changed):
        edit(qtbot, panel, "ngram-mod-shortest", "48")
    assert "48" in panel.problem() and "12" in panel.problem()
    for key in ("ngram-mod-shortest", "ngram-mod-longest"):
        assert panel.rows[key].has_problem and panel.rows[key].note().endswith(".")
        assert panel.findChild(QLineEdit, key).property("wrong") == "true"
    panel.focus_first()
    assert panel.findChild(QLineEdit, "ngram-mod-shortest").hasFocus()
    edit(qtbot, panel, "ngram-mod-longest", "64")
    assert panel.problem() is None
    assert not any(row.has_problem for row in panel.rows.values())


def test_a_loaded_shortest_draft_above_the_longest_is_marked_too(panel):
    wrong = SpeculationConfig(sources=(MOD,), ngram_mod=NgramModConfig(n_min=48, n_max=4))
    panel.apply_config(replace(START_CONFIG, speculation=wrong))
    assert panel.rows["ngram-mod-shortest"].has_problem
    assert panel.rows["ngram-mod-longest"].has_problem
    assert panel.problem() is not None
    panel.set_mode(RunMode.BASELINE)
    assert panel.problem() is None, "a baseline does not draft"


def test_values_of_other_methods_are_never_wrong(panel):
    wrong = SpeculationConfig(
        sources=(MOD,), n_max=4, n_min=48, ngram_simple=NgramSizes(size_n=9, size_m=2)
    )
    panel.apply_config(replace(START_CONFIG, speculation=wrong))
    assert panel.problem() is None
    assert not any(row.has_problem for row in panel.rows.values())
    put(panel, Role.DRAFT, READY_DRAFT)
    segment(panel, "both").click()
    assert {key for key, row in panel.rows.items() if row.has_problem} == {"draft-tokens", "n-min"}


def test_chance_matches_are_remarked_on_quietly(qtbot, panel):
    segment(panel, "ngram").click()
    edit(qtbot, panel, "ngram-mod-match", "3")
    row = panel.rows["ngram-mod-match"]
    assert "by chance" in row.note() and not row.has_problem
    assert panel.findChild(QLabel, "ngram-mod-match-note").property("role") == "small"
    edit(qtbot, panel, "ngram-mod-match", "4")
    assert row.note() == ""


# ---- for everybody -----------------------------------------------------------------------------
def test_every_way_to_draft_has_llama_cpps_name_and_an_explanation(panel):
    for choice in catalogue.NGRAM_METHODS:
        assert choice.word == choice.value
        assert choice.effect.endswith(".") and "ngram" not in choice.beside + choice.effect
    for name in ("model", "ngram", "both"):
        assert segment(panel, name).accessibleDescription().endswith(".")
    assert panel.findChild(QWidget, "drafting-methods").accessibleName() == "Drafting method"


def test_locked_the_method_can_be_read_but_not_changed(qtbot, panel):
    panel.set_locked(True)
    qtbot.mouseClick(segment(panel, "ngram"), Qt.MouseButton.LeftButton)
    assert chosen(panel) == "model" and sources(panel) == (SIMPLE,)
    panel.set_locked(False)
    qtbot.mouseClick(segment(panel, "ngram"), Qt.MouseButton.LeftButton)
    assert chosen(panel) == "ngram"


def test_with_everything_chosen_nothing_is_wider_than_the_panel(panel):
    panel.setFixedWidth(264)
    put(panel, Role.TARGET, MTP_TARGET)
    put(panel, Role.DRAFT, READY_DRAFT)
    everything = SpeculationConfig(
        sources=(*DraftSource,),
        ngram_cache=NgramCacheConfig(static_path="/x/" + "y" * 90, dynamic_path="/x/" + "z" * 90),
    )
    panel.apply_config(replace(panel.config(), speculation=everything))
    panel.rows["drafted-by"].fields[0]._take(MTP.value)
    panel.widget().layout().activate()
    assert panel.widget().minimumSizeHint().width() <= 264
    clear = panel.findChild(QAbstractButton, "ngram-cache-static-clear")
    assert clear.isVisible()


def test_settings_name_the_options_that_the_command_line_takes(panel):
    known = {option for action in run_parser()._actions for option in action.option_strings}
    for key, option in catalogue.OPTIONS.items():
        assert option in known
        [field] = panel.rows[key].fields[:1]
        assert option in field.toolTip() and option in field.accessibleDescription()
