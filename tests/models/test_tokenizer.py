"""Tokenizer settings that a file leaves out are filled in as llama.cpp fills them in."""

from __future__ import annotations

from typing import Any

import pytest

from specviz.models.tokenizer import Tokenizer, read_tokenizer, texts_as_loaded


def read(model: str, n_tokens: int = 200, **entries: Any) -> Tokenizer:
    keys = {f"tokenizer.ggml.{key}": value for key, value in entries.items()}
    return read_tokenizer({"tokenizer.ggml.model": model, **keys}, n_tokens)


@pytest.mark.parametrize(
    ("model", "pre", "bos", "eos", "add_bos", "add_eos"),
    [
        ("llama", "default", 1, 2, True, False),
        ("gpt2", "qwen2", 11, 11, False, False),
        ("gpt2", "llama-bpe", 11, 11, True, False),
        ("gpt2", "tekken", 11, 11, True, False),
        ("gpt2", "glm4", None, 11, False, False),
        ("gpt2", "gemma4", 11, 11, True, False),
        ("gemma4", "", None, None, True, False),
        ("bert", "", 101, None, True, False),
        ("t5", "", None, 1, False, True),
        ("rwkv", "", None, None, False, False),
        ("plamo2", "", 1, 2, False, False),
        ("no_vocab", "", None, None, False, False),
    ],
)
def test_defaults(
    model: str, pre: str, bos: int | None, eos: int | None, add_bos: bool, add_eos: bool
) -> None:
    tokenizer = read(model, pre=pre)
    assert (tokenizer.bos_id, tokenizer.eos_id) == (bos, eos)
    assert (tokenizer.add_bos, tokenizer.add_eos) == (add_bos, add_eos)


def test_what_the_file_says_comes_first() -> None:
    tokenizer = read("llama", bos_token_id=7, eos_token_id=8, add_bos_token=False,
                     add_eos_token=True)  # fmt: skip
    assert (tokenizer.bos_id, tokenizer.eos_id) == (7, 8)
    assert (tokenizer.add_bos, tokenizer.add_eos) == (False, True)


def test_ids_outside_the_vocabulary_fall_back() -> None:
    assert read("llama", bos_token_id=200).bos_id == 1
    assert read("llama", n_tokens=2).eos_id is None


def test_gemma_4_adds_its_begin_token_whatever_the_file_says() -> None:
    assert read("gemma4", add_bos_token=False).add_bos


def test_kinds_group_the_tokenizer_models() -> None:
    assert read("gpt2").kind == read("gemma4").kind == "byte-level BPE"
    assert read("llama").kind == "SentencePiece"
    assert read("martian").kind == "martian"


def test_empty_texts_get_names() -> None:
    assert texts_as_loaded([b"a", b"", b"b"]) == (b"a", b"[EMPTY_1]", b"b")
