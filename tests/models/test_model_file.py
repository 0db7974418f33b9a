"""What is told of a model file before it is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf import GGMLQuantizationType as TensorType
from support import tiny_gguf
from support.tiny_gguf import CHATML, CHATML_WITH_SWITCH, make_vocabulary, write_llama

from specviz.errors import FileError
from specviz.models.file_kinds import FileKind
from specviz.models.model_file import inspect_model, tokens_of
from specviz.resources import resource


def test_a_model_is_described(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "tiny.gguf", name="Tiny 1", n_ctx_train=1024)
    model = inspect_model(path)
    assert model.info.name == "Tiny 1"
    assert model.info.architecture == "llama"
    assert model.info.quantisation == "Q8_0"
    assert model.info.n_vocab == 320
    assert model.info.n_ctx_train == 1024
    assert model.info.file_size == path.stat().st_size
    per_block = 2 * 128 + 2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 256
    assert model.info.n_params == 2 * 320 * 128 + 128 + 3 * per_block
    assert (model.kind, model.explanation) == (FileKind.MODEL, "")
    assert model.parts == (path,)
    assert (model.n_layers, model.nextn_layers) == (3, 0)
    assert model.can_trim and model.chat_template is None and not model.has_reasoning_switch


def test_a_file_without_a_name_goes_by_its_own(tmp_path: Path) -> None:
    assert inspect_model(write_llama(tmp_path / "qwen 3.gguf")).info.name == "qwen 3"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\nb\x1b[31m\u202ec", "a b [31m c"),
        ("x" * 500, "x" * 79 + "…"),
        (" \n ", "tiny"),
    ],
)
def test_names_are_fit_to_be_shown(tmp_path: Path, name: str, shown: str) -> None:
    assert inspect_model(write_llama(tmp_path / "tiny.gguf", name=name)).info.name == shown


def test_token_texts_are_given_raw(tmp_path: Path) -> None:
    model = inspect_model(write_llama(tmp_path / "tiny.gguf", tokens={139: "", 140: "\n\n"}))
    tokens = tokens_of(model)
    assert len(tokens) == 320 and tokens[65] == b"A"
    assert tokens[32] == "\u0120".encode()
    assert tokens[139] == b"[EMPTY_139]"  # as llama.cpp names them
    assert tokens[140] == b"\n\n"


def test_the_reasoning_switch_is_found_in_the_template(tmp_path: Path) -> None:
    plain = inspect_model(write_llama(tmp_path / "a.gguf", chat_template=CHATML))
    assert plain.chat_template == CHATML and not plain.has_reasoning_switch
    switched = inspect_model(write_llama(tmp_path / "b.gguf", chat_template=CHATML_WITH_SWITCH))
    assert switched.has_reasoning_switch


@pytest.mark.parametrize(
    ("writer", "can_trim"),
    [
        ("write_qwen3", True),
        ("write_qwen3moe", True),
        ("write_gemma3", True),
        ("write_qwen35", False),
        ("write_lfm2", False),
        ("write_mamba", False),
    ],
)
def test_memory_that_cannot_be_trimmed_is_known(
    tmp_path: Path, writer: str, can_trim: bool
) -> None:
    model = inspect_model(getattr(tiny_gguf, writer)(tmp_path / "tiny.gguf"))
    assert model.can_trim is can_trim and model.kind is FileKind.MODEL


def test_mtp_blocks_are_counted_apart(tmp_path: Path) -> None:
    model = inspect_model(tiny_gguf.write_qwen35(tmp_path / "tiny.gguf", mtp=1))
    assert (model.n_layers, model.nextn_layers) == (4, 1)
    assert model.kind is FileKind.MODEL


@pytest.mark.parametrize(
    ("metadata", "label"),
    [
        ({"general.file_type": 15}, "Q4_K_M"),
        ({"general.file_type": 1024 + 7}, "Q8_0"),
        ({"general.file_type": 999}, "Q4_1"),
        ({"general.file_type": "Q8_0"}, "Q4_1"),
        ({"general.file_type": None}, "Q4_1"),
    ],
)
def test_the_quantisation_is_named(tmp_path: Path, metadata: dict[str, object], label: str) -> None:
    path = write_llama(tmp_path / "a.gguf", wtype=TensorType.Q4_1, metadata=metadata)
    assert inspect_model(path).info.quantisation == label


def test_two_tokens_with_one_text_are_refused(tmp_path: Path) -> None:
    # llama.cpp aborts the whole process over such a file.
    path = write_llama(tmp_path / "a.gguf", tokens={300: "<|extra299|>"})
    with pytest.raises(FileError, match=r'tokens 299 and 300 have the same text "<\|extra299\|>"'):
        inspect_model(path)


def test_odd_values_do_no_harm(tmp_path: Path) -> None:
    metadata = {
        "llama.context_length": "many",
        "llama.block_count": [3, 3],
        "general.name": 7,
        "general.architecture.extra": True,
        "tokenizer.chat_template": 1,
        "tokenizer.ggml.eos_token_id": "x",
        "tokenizer.ggml.add_bos_token": 1,
    }
    model = inspect_model(write_llama(tmp_path / "odd.gguf", metadata=metadata))
    assert model.info.name == "odd" and model.info.n_ctx_train == 0 and model.n_layers == 0
    assert model.chat_template is None and not model.tokenizer.add_bos


def test_a_vocabulary_of_150_000_tokens(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "a.gguf", n_vocab=150_000, n_embd=32, n_layers=1)
    model = inspect_model(path)
    assert model.info.n_vocab == 150_000 and tokens_of(model)[-1] == b"<|extra149999|>"


def test_a_model_file_can_be_hashed_and_printed(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "a.gguf")
    model = inspect_model(path)
    assert hash(model) == hash(inspect_model(path)) and model == inspect_model(path)
    assert len(repr(model)) < 2000


def test_the_bundled_models_are_in_order() -> None:
    drafter = inspect_model(resource("models/smollm2-135m-drafter-q8_0.gguf"))
    assert drafter.kind is FileKind.MODEL and drafter.info.n_vocab == 49_152
    path = resource("models/selftest.gguf")
    selftest = inspect_model(path)
    assert selftest.kind is FileKind.MODEL and selftest.chat_template == CHATML
    assert selftest.tokenizer.n_tokens == len(make_vocabulary().tokens)
    assert path.stat().st_size < 400_000
