"""Any part of a split model stands for the set, and a missing part is named."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from support.tiny_gguf import part_paths, write_gguf, write_llama

from specviz.errors import FileError
from specviz.models.model_file import inspect_model
from specviz.models.split_files import first_files, part_of, parts_of, stem_of


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, ...]:
    write_llama(tmp_path / "model.gguf", split=3)
    return part_paths(tmp_path / "model.gguf", 3)


@pytest.mark.parametrize("picked", [0, 1, 2])
def test_any_part_stands_for_the_set(parts: tuple[Path, ...], picked: int) -> None:
    model = inspect_model(parts[picked])
    assert model.path == parts[0] and model.parts == parts
    assert model.info.path == str(parts[0])
    assert model.info.name == "model"


def test_sizes_and_parameters_are_summed(parts: tuple[Path, ...], tmp_path: Path) -> None:
    whole = inspect_model(write_llama(tmp_path / "whole.gguf"))
    model = inspect_model(parts[1])
    assert model.info.n_params == whole.info.n_params
    assert model.tensor_bytes == whole.tensor_bytes
    assert model.info.file_size == sum(part.stat().st_size for part in parts)
    assert model.tokenizer == whole.tokenizer


def test_a_missing_part_is_named(parts: tuple[Path, ...]) -> None:
    parts[1].unlink()
    with pytest.raises(FileError, match=r"Part 2 of 3 is missing: model-00002-of-00003\.gguf\."):
        inspect_model(parts[2])


def test_several_missing_parts_are_counted(parts: tuple[Path, ...]) -> None:
    parts[0].unlink()
    parts[2].unlink()
    with pytest.raises(FileError, match=r"Part 1 of 3 is missing: .*, and 1 more part too\."):
        inspect_model(parts[1])


def test_a_truncated_part_is_named(parts: tuple[Path, ...]) -> None:
    parts[2].write_bytes(parts[2].read_bytes()[:-1000])
    with pytest.raises(FileError, match=r"model-00003-of-00003\.gguf is incomplete"):
        inspect_model(parts[0])


def test_a_renamed_part_is_refused_with_the_name_it_needs(
    parts: tuple[Path, ...], tmp_path: Path
) -> None:
    renamed = parts[1].rename(tmp_path / "second.gguf")
    with pytest.raises(FileError, match="part 2 of a model in 3 files") as caught:
        inspect_model(renamed)
    assert "-00002-of-00003.gguf" in caught.value.hint


def test_parts_of_different_models_are_refused(parts: tuple[Path, ...], tmp_path: Path) -> None:
    write_llama(tmp_path / "other" / "model.gguf", n_layers=5, split=3)
    shutil.copy(tmp_path / "other" / parts[2].name, parts[2])
    with pytest.raises(FileError, match="do not belong together"):
        inspect_model(parts[0])


def test_parts_in_the_wrong_places_are_refused(parts: tuple[Path, ...]) -> None:
    shutil.copy(parts[1], parts[2])
    with pytest.raises(FileError, match=r"00003-of-00003\.gguf does not belong .* not part 3 of 3"):
        inspect_model(parts[0])


def test_a_whole_file_may_be_named_like_a_part(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "model-00001-of-00002.gguf")
    assert inspect_model(path).parts == (path,)


def test_odd_split_entries_do_not_matter(tmp_path: Path) -> None:
    for metadata in ({"split.count": "3"}, {"split.count": 3, "split.no": 9}, {"split.no": 5}):
        assert parts_of(tmp_path / "a.gguf", metadata) == (tmp_path / "a.gguf",)


@pytest.mark.skipif(sys.platform == "win32", reason="links need privileges on Windows")
def test_links_are_kept_so_that_parts_in_a_cache_are_found(
    parts: tuple[Path, ...], tmp_path: Path
) -> None:
    # As in the cache of Hugging Face: names are links to blobs named by their hash.
    snapshot = tmp_path / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    for index, part in enumerate(parts):
        part.rename(blobs / f"hash{index}")
        (snapshot / part.name).symlink_to(blobs / f"hash{index}")
    model = inspect_model(snapshot / parts[1].name)
    assert [part.parent for part in model.parts] == [snapshot] * 3


def test_spaces_and_other_scripts_in_paths(tmp_path: Path) -> None:
    folder = tmp_path / "Модели" / "模型 é"
    write_llama(folder / "grün 3.gguf", split=2)
    model = inspect_model(part_paths(folder / "grün 3.gguf", 2)[1])
    assert model.info.name == "grün 3" and len(model.parts) == 2


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("a-00002-of-00003.gguf", ("a", 2, 3)),
        ("a-00000-of-00003.gguf", None),
        ("a-00004-of-00003.gguf", None),
        ("a-2-of-3.gguf", None),
        ("-00001-of-00003.gguf", None),
        ("a-00001-of-00003.GGUF", None),
        ("a.gguf", None),
    ],
)
def test_parts_are_known_by_their_names(name: str, part: tuple[str, int, int] | None) -> None:
    assert part_of(Path(name)) == part
    assert stem_of(Path(name)) == (part[0] if part else Path(name).stem)


def test_a_folder_lists_each_set_once(tmp_path: Path) -> None:
    names = ["b-00002-of-00002.gguf", "b-00001-of-00002.gguf", "a.gguf", "notes.txt", "C.GGUF"]
    files = first_files(tmp_path / name for name in names)
    assert [file.name for file in files] == ["C.GGUF", "a.gguf", "b-00001-of-00002.gguf"]


def test_the_count_of_tensors_must_agree(tmp_path: Path) -> None:
    first, second = part_paths(tmp_path / "m.gguf", 2)
    write_gguf(tmp_path / "m.gguf", "llama", {}, split=2)
    assert inspect_model(second).path == first
