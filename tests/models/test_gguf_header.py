"""The reader takes good files as they are, and refuses every other one in a sentence."""

from __future__ import annotations

import os
import struct
import sys
import tracemalloc
from pathlib import Path

import pytest
from support.raw_gguf import (
    ARRAY,
    BOOL,
    Q8_0,
    STRING,
    UINT32,
    UINT64,
    RawGguf,
    array_entry,
    entry,
    number_entry,
    string_entry,
    strings_entry,
    tensor,
    text,
)
from support.tiny_gguf import write_gguf, write_llama

from specviz.errors import FileError
from specviz.models import gguf_header
from specviz.models.gguf_header import Omitted, read_header

TOKENS = "tokenizer.ggml.tokens"


def put(folder: Path, content: bytes | RawGguf, name: str = "model.gguf") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.to_bytes())
    return path


def refusal(path: Path) -> str:
    with pytest.raises(FileError) as caught:
        read_header(path)
    message = caught.value.message
    assert message.endswith((".", "?")) and "\n" not in message
    return message


# Good files --------------------------------------------------------------------------------------
def test_every_kind_of_value_is_read(tmp_path: Path) -> None:
    entries = [
        entry("a.uint8", 0, b"\xff"),
        entry("a.int8", 1, b"\xff"),
        entry("a.uint16", 2, b"\x01\x02"),
        entry("a.int16", 3, b"\xfe\xff"),
        number_entry("a.uint32", 7),
        entry("a.int32", 5, struct.pack("<i", -7)),
        entry("a.float32", 6, struct.pack("<f", 0.5)),
        entry("a.bool", BOOL, b"\x01"),
        string_entry("a.text", "grün"),
        entry("a.uint64", UINT64, struct.pack("<Q", 2**63)),
        entry("a.int64", 11, struct.pack("<q", -1)),
        entry("a.float64", 12, struct.pack("<d", 0.25)),
        array_entry("a.list", UINT32, 3, struct.pack("<3I", 1, 2, 3)),
        array_entry("a.flags", BOOL, 2, b"\x00\x01"),
        array_entry("a.nothing", UINT32, 0, b""),
    ]
    header = read_header(put(tmp_path, RawGguf(entries)))
    assert list(header.metadata.values()) == [
        255, -1, 513, -2, 7, -7, 0.5, True, "grün", 2**63, -1, 0.25, (1, 2, 3), (False, True), (),
    ]  # fmt: skip
    assert header.tokens is None and header.tensors == ()


def test_token_texts_stay_raw_bytes(tmp_path: Path) -> None:
    header = read_header(put(tmp_path, RawGguf([strings_entry(TOKENS, [b"\xff\x00", "a", ""])])))
    assert header.tokens == (b"\xff\x00", b"a", b"")


def test_version_two_is_read(tmp_path: Path) -> None:
    assert read_header(put(tmp_path, RawGguf(version=struct.pack("<I", 2)))).version == 2


def test_long_values_are_passed_over(tmp_path: Path) -> None:
    entries = [
        strings_entry("tokenizer.ggml.merges", ["a b"] * 2000),
        array_entry("tokenizer.ggml.scores", 6, 5000, bytes(20000)),
        string_entry("tokenizer.huggingface.json", "x" * 2**20),
        number_entry("after", 1),
    ]
    metadata = read_header(put(tmp_path, RawGguf(entries))).metadata
    assert metadata["tokenizer.ggml.merges"] == Omitted("string", 2000)
    assert metadata["tokenizer.ggml.scores"] == Omitted("float32", 5000)
    assert metadata["tokenizer.huggingface.json"] == Omitted("byte", 2**20)
    assert metadata["after"] == 1


def test_texts_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    metadata = read_header(put(tmp_path, RawGguf([string_entry("name", b"a\xff")]))).metadata
    assert metadata["name"] == "a\ufffd"


def test_a_header_larger_than_the_first_read_is_read_whole(tmp_path: Path) -> None:
    texts: list[str | bytes] = [b"%d" % index * 8 for index in range(60_000)]
    path = put(tmp_path, RawGguf([strings_entry(TOKENS, texts), number_entry("after", 1)]))
    assert path.stat().st_size > 2 * 2**20
    header = read_header(path)
    assert header.tokens == tuple(texts) and header.metadata["after"] == 1


def test_tensors_are_listed_with_their_sizes(tmp_path: Path) -> None:
    tensors = [tensor("a", (64, 2), type_id=Q8_0), tensor("b", (3,), offset=160)]
    header = read_header(put(tmp_path, RawGguf(tensors=tensors, data=bytes(160 + 12))))
    assert [(t.name, t.n_elements, t.n_bytes) for t in header.tensors] == [
        ("a", 128, 136),
        ("b", 3, 12),
    ]


def test_files_of_the_gguf_package_are_read(tmp_path: Path) -> None:
    header = read_header(write_llama(tmp_path / "model.gguf", n_layers=2))
    assert header.metadata["general.architecture"] == "llama"
    assert header.tokens is not None and len(header.tokens) == 320
    assert len(header.tensors) == 3 + 2 * 9


# Files that are something else -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (bytes(5000), "nothing but zeros"),
        (struct.pack("<Q", 20) + b'{"__metadata__":{}}   ' + bytes(30), "safetensors"),
        (b"<!DOCTYPE html>\n<html><body>404</body></html>", "a web page"),
        (b"\n  <HTML><head>", "a web page"),
        (b"PK\x03\x04" + bytes(40), "PyTorch"),
        (b"\x80\x02}q\x00", "pickled PyTorch"),
        (b"tjgg\x03\0\0\0", "old formats (GGJT)"),
        (b"lmgg", "oldest format"),
        (b"FUGG\0\0\0\x03", "big-endian"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "Git LFS"),
        (b"\x1f\x8b\x08", "gzip"),
        (b'{"error": "not found"}', "JSON"),
        (b"Repository not found\n", "a text file"),
        (b"GG", "ends inside its first word"),
        (b"\x7fELF\x02\x01\x01" + bytes(60) + b"\xff\xfe", "is not a GGUF file"),
    ],
)
def test_other_files_are_named_for_what_they_are(
    tmp_path: Path, content: bytes, words: str
) -> None:
    message = refusal(put(tmp_path, content))
    assert message.startswith("model.gguf ") and words in message


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "is not there" in refusal(tmp_path / "gone.gguf")


@pytest.mark.skipif(sys.platform == "win32", reason="links need privileges on Windows")
def test_a_dangling_link_is_told_apart_from_a_missing_file(tmp_path: Path) -> None:
    link = tmp_path / "model.gguf"
    link.symlink_to(tmp_path / "blob")
    assert "a link to a file that is no longer there" in refusal(link)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert "a device or a pipe" in refusal(tmp_path / "pipe.gguf")


def test_a_file_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tests may run as root, who may read everything; so the refusal is played.
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = put(tmp_path, RawGguf())
    monkeypatch.setattr(gguf_header, "open", refuse, raising=False)
    assert "may not be read with your permissions" in refusal(path)


def test_an_input_output_error_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    path = put(tmp_path, RawGguf())
    monkeypatch.setattr(gguf_header, "open", fail, raising=False)
    assert refusal(path) == "model.gguf cannot be read: Input/output error."


def test_a_name_with_a_null_character_is_refused() -> None:
    assert "cannot be read" in refusal(Path("a\0b.gguf"))
    refusal(Path("a\ud800.gguf"))


def test_odd_file_names_stay_on_one_line(tmp_path: Path) -> None:
    name = "a\nb\u202e\udcff.gguf" if sys.platform != "win32" else "a\u202e.gguf"
    message = refusal(tmp_path / name)
    assert "\n" not in message and "\u202e" not in message
    message.encode()


# Wrong versions ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("version", "words"),
    [
        (struct.pack("<I", 0), "GGUF version 0"),
        (struct.pack("<I", 1), "version 1, which llama.cpp no longer reads"),
        (struct.pack("<I", 4), "GGUF version 4"),
        (struct.pack(">I", 3), "big-endian"),
        (struct.pack(">I", 2), "big-endian"),
    ],
)
def test_other_versions_are_refused(tmp_path: Path, version: bytes, words: str) -> None:
    assert words in refusal(put(tmp_path, RawGguf(version=version)))


# Damaged files -----------------------------------------------------------------------------------
HUGE = 2**62
F16_ONE = tensor("a", (4,), type_id=1)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (RawGguf(n_entries=HUGE), "impossible number of entries"),
        (RawGguf(n_tensors=HUGE), "impossible number of entries"),
        (RawGguf(n_entries=3, alignment=1), "ends inside its own header"),
        (RawGguf(n_tensors=3), "ends inside its own header"),
        (RawGguf([number_entry("a", 1), number_entry("a", 2)]), "the entry a twice"),
        (RawGguf([number_entry("", 1)]), "an entry without a name"),
        (RawGguf([entry("a", 13, b"")]), "unknown type 13"),
        (RawGguf([entry("a", STRING, struct.pack("<Q", HUGE))]), "impossible length"),
        (RawGguf([entry("a", STRING, struct.pack("<Q", 99))]), "ends inside its own header"),
        (RawGguf([struct.pack("<Q", HUGE)], n_entries=1), "impossible length"),
        (RawGguf([array_entry("a", UINT32, HUGE, b"")]), "ends inside its own header"),
        (RawGguf([array_entry("a", STRING, HUGE, b"")]), "impossible length"),
        (RawGguf([array_entry("a", STRING, 100, b"")]), "impossible length"),
        (RawGguf([array_entry("a", 99, 1, b"")]), "unknown type 99"),
        (
            RawGguf([array_entry("a", ARRAY, 1, struct.pack("<IQ", ARRAY, 1) * 2000)]),
            "an array of arrays",
        ),
        (RawGguf([array_entry(TOKENS, UINT32, 1, bytes(4))]), "not a list of texts"),
        (RawGguf([number_entry("general.alignment", 0)]), "not a power of two"),
        (RawGguf([number_entry("general.alignment", 24)]), "not a power of two"),
        (RawGguf([string_entry("general.alignment", "x")]), "not a power of two"),
        (RawGguf([entry("general.alignment", 10, struct.pack("<Q", HUGE))]), "a power of two"),
        (RawGguf(tensors=[F16_ONE, F16_ONE], data=bytes(99)), "the tensor a twice"),
        (RawGguf(tensors=[tensor("a", (4, 0))], data=bytes(99)), "impossible shape"),
        (RawGguf(tensors=[tensor("a", (HUGE, 4, HUGE))]), "impossible shape"),
        (RawGguf(tensors=[tensor("a", (33,), type_id=Q8_0)]), "impossible shape"),
        (RawGguf(tensors=[tensor("a", (1, 1, 1, 1, 1))]), "list of its tensors"),
        (RawGguf(tensors=[tensor("a" * 64, (1,))]), "list of its tensors"),
        (RawGguf(tensors=[tensor("a", (4,), type_id=31)]), "llama.cpp has dropped"),
        (RawGguf(tensors=[tensor("a", (4,), type_id=77)]), "does not know"),
        (RawGguf(tensors=[tensor("a", (4,), offset=32)], data=bytes(99)), "a is misplaced"),
        (RawGguf(tensors=[tensor("a", (4,), offset=HUGE)], data=bytes(99)), "a is misplaced"),
    ],
)
def test_damage_is_told_in_a_sentence(tmp_path: Path, raw: RawGguf, words: str) -> None:
    assert words in refusal(put(tmp_path, raw))


def test_missing_bytes_are_counted(tmp_path: Path) -> None:
    whole = write_llama(tmp_path / "whole.gguf").read_bytes()
    last = read_header(tmp_path / "whole.gguf").tensors[-1]
    padding = -last.n_bytes % 32
    cut = put(tmp_path, whole[: len(whole) - padding - 12_345])
    assert refusal(cut) == "model.gguf is incomplete: 12\u202f345 bytes are missing at its end."
    cut = put(tmp_path, whole[: len(whole) - padding - 1])
    assert refusal(cut) == "model.gguf is incomplete: 1 byte is missing at its end."


def test_padding_at_the_end_may_be_missing(tmp_path: Path) -> None:
    raw = RawGguf(tensors=[tensor("a", (3,))], data=bytes(12))
    assert read_header(put(tmp_path, raw)).tensors[0].n_bytes == 12


def test_a_header_without_end_is_refused_early(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    with open(path, "wb") as file:
        long = entry("a", STRING, struct.pack("<Q", 100 * 2**20))
        file.write(RawGguf([long], alignment=1).to_bytes())
        file.truncate(2**30)  # a sparse file: large only by name
    tracemalloc.start()
    try:
        assert "impossible length" in refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()


def test_a_header_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf_header, "MAX_HEADER_BYTES", 2**20)
    path = put(tmp_path, RawGguf([array_entry("a", 0, 2**21, bytes(2**21))]))
    assert "a header of more than 1\u202fMiB" in refusal(path)


def test_a_huge_vocabulary_is_refused_before_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    with open(path, "wb") as file:
        file.write(RawGguf([array_entry(TOKENS, STRING, 2**21, b"")], alignment=1).to_bytes())
        file.truncate(2**30)
    assert "impossible length" in refusal(path)


def test_a_file_that_shrinks_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write_llama(tmp_path / "model.gguf").read_bytes()
    put(tmp_path, whole[:100])
    monkeypatch.setattr(gguf_header, "_size_of_regular_file", lambda path: len(whole))
    assert "became shorter" in refusal(tmp_path / "model.gguf")


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = write_gguf(tmp_path / "whole.gguf", "llama", {"a.b": [1, 2], "c": "d"}).read_bytes()
    for length in range(len(whole) - 31):  # the end is padding
        refusal(put(tmp_path, whole[:length]))


def test_text_is_the_only_place_for_a_long_key(tmp_path: Path) -> None:
    raw = RawGguf([text("k" * (2**18 + 1)) + struct.pack("<I", 0) + b"\0"])
    assert "impossible length" in refusal(put(tmp_path, raw))
