"""Lookup caches from files: read as llama.cpp reads them, refused where it would abort."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest
from support.lookup_files import lookup_file, record

from specviz.engine.drafting import ngram_count_file
from specviz.engine.drafting.ngram_count_file import CountFile
from specviz.errors import FileError

GOOD = record([1, 2], [(7, 3), (8, 1)])


def opened(tmp_path, data):
    path = tmp_path / "counts.bin"
    path.write_bytes(data)
    return CountFile(path)


def test_followers_are_found_by_their_n_gram(tmp_path):
    path = tmp_path / "counts.bin"
    lookup_file(path, [([1, 2], [(7, 3), (8, 1)]), ([2], [(9, 4)]), ([1, 2, 3, 4], [(5, 6)])])
    file = CountFile(path)
    followers = file.behind((1, 2))
    assert followers is not None
    assert followers.counts == {7: 3, 8: 1}
    assert file.behind((2,)).counts == {9: 4}
    assert file.behind((1, 2, 3, 4)).counts == {5: 6}
    assert file.behind((1,)) is None
    assert file.behind((1, 2, 3)) is None
    assert file.largest_token == 9


def test_the_tokens_of_n_grams_count_for_the_largest(tmp_path):
    assert opened(tmp_path, record([1, 900], [(7, 3)])).largest_token == 900


def test_an_empty_file_knows_nothing(tmp_path):
    file = opened(tmp_path, b"")
    assert file.behind((1, 2)) is None
    assert file.largest_token == -1


def test_of_a_repeated_n_gram_the_first_record_stands(tmp_path):
    others = [record([token_id % 7], [(1, 1)]) for token_id in range(200)]
    file = opened(tmp_path, b"".join([GOOD, *others, *40 * [record([1, 2], [(9, 9)])]]))
    assert file.behind((1, 2)).counts == {7: 3, 8: 1}


def test_equal_hashes_are_told_apart(tmp_path, monkeypatch):
    def no_hashes(ngrams):
        return np.zeros(len(ngrams), dtype=np.uint64)

    monkeypatch.setattr(ngram_count_file, "_hashes", no_hashes)
    file = opened(tmp_path, record([5], [(1, 1)]) + GOOD + record([6], [(9, 9)]))
    assert file.behind((1, 2)).counts == {7: 3, 8: 1}
    assert file.behind((6,)).counts == {9: 9}
    assert file.behind((7,)) is None


def test_of_a_repeated_follower_the_first_count_stands(tmp_path):
    assert opened(tmp_path, record([1], [(7, 3), (7, 5)])).behind((1,)).counts == {7: 3}


def numbers(*values):
    return struct.pack(f"<{len(values)}i", *values)


@pytest.mark.parametrize(
    "data",
    [
        GOOD[:-1],
        GOOD[:-4],
        GOOD[:16],
        GOOD + GOOD[:8],
        b"GGUF" + bytes(60),
        numbers(1, 2, -1, -1, 0),
        numbers(1, 2, -1, -1, -1),
        numbers(1, 2, -1, -1, 2**31 - 1, 7, 3),
        numbers(1, 2, -1, -1, 1, 7, 0),
        numbers(1, 2, -1, -1, 1, 7, -3),
        numbers(1, 2, -1, -1, 1, -7, 3),
        numbers(-1, 2, -1, -1, 1, 7, 3),
        numbers(1, -1, 2, -1, 1, 7, 3),
        numbers(1, -5, -1, -1, 1, 7, 3),
        numbers(-1, -1, -1, -1, 1, 7, 3),
    ],
    ids=lambda data: f"{len(data)} bytes",
)
def test_what_is_not_whole_and_sound_is_refused_in_a_sentence(tmp_path, data):
    with pytest.raises(FileError, match=r"^counts\.bin is .* no lookup cache\. Make it"):
        opened(tmp_path, data)


def test_a_large_file_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "counts.bin"
    with path.open("wb") as file:
        os.truncate(file.fileno(), ngram_count_file.MAX_FILE_BYTES + 4)
    monkeypatch.setattr(type(path), "open", None)
    with pytest.raises(FileError, match="too large for a lookup cache: it has 256 MiB"):
        CountFile(path)


def test_a_follower_for_every_number_is_refused(tmp_path):
    n = ngram_count_file.MAX_FOLLOWERS + 1
    with pytest.raises(FileError, match="no lookup cache"):
        opened(tmp_path, numbers(1, 2, -1, -1, n) + numbers(7, 1) * n)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(FileError, match="cannot be read: no such file"):
        CountFile(tmp_path / "missing.bin")
    with pytest.raises(FileError, match="is not a file"):
        CountFile(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="is not a file"):
        CountFile(tmp_path / "pipe")
