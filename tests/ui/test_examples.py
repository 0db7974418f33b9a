"""The built-in examples and the drafting settings that they bring along."""

from __future__ import annotations

import pytest

from specviz.errors import FileError
from specviz.trace.config import DraftSource, NgramModConfig, SpeculationConfig
from specviz.trace.presets import CODE_REFACTORING, NGRAM_PRESETS, preset_of
from specviz.ui import examples
from specviz.ui.examples import Example, load_examples

MINE = SpeculationConfig(
    sources=(DraftSource.DRAFT_SIMPLE,), n_max=5, p_min=0.3, ngram_mod=NgramModConfig(n_match=9)
)


def example(**settings: object) -> Example:
    return Example(name="x", prompt="x", lesson="x.", **settings)


def test_an_example_without_settings_leaves_them_as_they_are():
    assert example().applied_to(MINE) == MINE


def test_an_example_brings_what_it_names_and_nothing_else():
    brought = example(
        n_max=2, sources=(DraftSource.NGRAM_SIMPLE,), preset=CODE_REFACTORING.key
    ).applied_to(MINE)
    assert brought.sources == (DraftSource.NGRAM_SIMPLE,)
    assert (brought.n_max, brought.p_min) == (2, 0.3)
    assert preset_of(brought) is CODE_REFACTORING


def test_one_example_shows_n_grams_on_a_class_with_one_field_renamed():
    (copying,) = [each for each in load_examples() if each.name.startswith("Rewrite a class")]
    lines = copying.prompt.splitlines()
    assert 30 <= len(lines) <= 60 and any(line.startswith("class ") for line in lines)
    assert copying.prompt.count("self.place") > 1 and "location" in copying.prompt
    assert len(copying.prompt) < 4096, "prompt and answer fit the context of the demo pair"
    assert all(source.value.startswith("ngram") for source in copying.sources)
    assert copying.preset in {preset.key for preset in NGRAM_PRESETS}
    assert "N-gram" in copying.lesson


def test_a_preset_that_does_not_exist_is_a_damaged_installation(monkeypatch, tmp_path):
    path = tmp_path / "prompts.json"
    path.write_text('[{"name": "x", "prompt": "x", "lesson": "x.", "preset": "fast"}]')
    monkeypatch.setattr(examples, "resource", lambda _name: path)
    load_examples.cache_clear()
    try:
        with pytest.raises(FileError):
            load_examples()
    finally:
        load_examples.cache_clear()
