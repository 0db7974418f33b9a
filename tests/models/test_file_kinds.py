"""Files that cannot be target or draft are recognised by their metadata, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as TensorType
from support.tiny_gguf import make_vocabulary, write_gguf, write_llama, write_qwen35

from specviz.models.file_kinds import FileKind
from specviz.models.model_file import ModelFile, inspect_model

VOCABULARY = make_vocabulary().metadata()
WEIGHT = [("token_embd.weight", np.zeros((4, 32), np.float32), TensorType.F32)]


def inspect(
    folder: Path,
    architecture: str,
    metadata: dict[str, Any] | None = None,
    tensors: Any = WEIGHT,
) -> ModelFile:
    entries = {**VOCABULARY, **(metadata or {})}
    return inspect_model(write_gguf(folder / "file.gguf", architecture, entries, tensors))


@pytest.mark.parametrize(
    ("architecture", "metadata", "kind", "words"),
    [
        ("clip", {}, FileKind.PROJECTOR, "projector for pictures or sound"),
        ("llama", {"general.type": "mmproj"}, FileKind.PROJECTOR, "projector"),
        ("llama", {"general.type": "adapter"}, FileKind.ADAPTER, "an adapter (LoRA)"),
        ("controlvector", {}, FileKind.ADAPTER, "a control vector"),
        ("gemma4-assistant", {}, FileKind.ASSISTANT_HEAD, "MTP head: it needs the target's hidden"),
        ("eagle3", {}, FileKind.EAGLE_HEAD, "an EAGLE draft head"),
        ("dflash", {}, FileKind.DFLASH_HEAD, "a DFlash draft head"),
        ("bert", {}, FileKind.OTHER, "vectors (embeddings)"),
        ("qwen3", {"qwen3.pooling_type": 3}, FileKind.OTHER, "vectors (embeddings)"),
        ("llama", {"llama.attention.causal": False}, FileKind.OTHER, "vectors (embeddings)"),
        ("dream", {}, FileKind.OTHER, "a diffusion model"),
        ("t5", {}, FileKind.OTHER, "encoder-decoder"),
        ("wavtokenizer-dec", {}, FileKind.OTHER, "writes sound"),
        ("llama", {"general.type": "imatrix"}, FileKind.OTHER, "importance matrix"),
        ("llama", {"tokenizer.ggml.model": "no_vocab"}, FileKind.NO_VOCABULARY, "no text"),
        ("llama", {"tokenizer.ggml.model": None}, FileKind.NO_VOCABULARY, "without a vocabulary"),
        ("llama", {"tokenizer.ggml.tokens": None}, FileKind.NO_VOCABULARY, "without a vocabulary"),
        ("llama", {"llama.block_count": 0}, FileKind.OTHER, "claims 0 blocks"),
        ("llama", {"llama.block_count": 513}, FileKind.OTHER, "claims 513 blocks"),
        ("hunyuan-dense", {"hunyuan-dense.expert_count": 1}, FileKind.MODEL, ""),
        ("llama", {"llama.expert_count": 8}, FileKind.OTHER, "of its 8 experts it would use 0"),
        ("llama", {"llama.expert_used_count": 2}, FileKind.OTHER, "of its 0 experts"),
        (
            "llama",
            {"llama.expert_count": 8, "llama.expert_used_count": [0, 2]},
            FileKind.MODEL,
            "",
        ),
        ("llama", {"llama.pooling_type": 0}, FileKind.MODEL, ""),
        ("qwen35", {"qwen35.nextn_predict_layers": 0}, FileKind.MODEL, ""),
        ("an-architecture-of-tomorrow", {}, FileKind.MODEL, ""),
    ],
)
def test_kinds_are_told_by_metadata(
    tmp_path: Path, architecture: str, metadata: dict[str, Any], kind: FileKind, words: str
) -> None:
    model = inspect(tmp_path, architecture, metadata)
    assert model.kind is kind and words in model.explanation
    assert bool(model.explanation) is (kind is not FileKind.MODEL)


def test_heads_say_what_to_choose_instead(tmp_path: Path) -> None:
    model = inspect(tmp_path, "gemma4-assistant")
    assert "this build cannot pass on" in model.explanation
    assert "Choose an ordinary small model" in model.explanation


def test_dspark_is_dflash_with_a_markov_head(tmp_path: Path) -> None:
    tensors = [*WEIGHT, ("markov_w1.weight", np.zeros((1, 32), np.float32), TensorType.F32)]
    model = inspect(tmp_path, "dflash", tensors=tensors)
    assert model.kind is FileKind.DFLASH_HEAD and "DSpark" in model.explanation


def test_an_mtp_head_without_its_model(tmp_path: Path) -> None:
    tensors = [*WEIGHT, ("blk.4.nextn.eh_proj.weight", np.zeros((1, 32), "f"), TensorType.F32)]
    metadata = {"qwen35.block_count": 5, "qwen35.nextn_predict_layers": 1}
    model = inspect(tmp_path, "qwen35", metadata, tensors)
    assert model.kind is FileKind.MTP_HEAD
    assert "part of the target's own file" in model.explanation


def test_a_model_that_has_an_mtp_block_is_a_model(tmp_path: Path) -> None:
    assert inspect_model(write_qwen35(tmp_path / "a.gguf", mtp=1)).kind is FileKind.MODEL


def test_more_mtp_blocks_than_blocks(tmp_path: Path) -> None:
    path = write_qwen35(tmp_path / "a.gguf", metadata={"qwen35.nextn_predict_layers": 9})
    model = inspect_model(path)
    assert model.kind is FileKind.OTHER and "more MTP blocks than blocks" in model.explanation


def test_a_head_that_is_all_mtp_blocks(tmp_path: Path) -> None:
    tensors = [*WEIGHT, ("blk.0.nextn.eh_proj.weight", np.zeros((1, 32), "f"), TensorType.F32)]
    metadata = {"llama.block_count": 1, "llama.nextn_predict_layers": 1}
    assert inspect(tmp_path, "llama", metadata, tensors).kind is FileKind.MTP_HEAD


def test_a_vocabulary_alone(tmp_path: Path) -> None:
    model = inspect(tmp_path, "llama", tensors=[])
    assert model.kind is FileKind.VOCABULARY_ONLY
    assert model.info.n_vocab == 320 and model.info.quantisation == "none"


def test_metadata_alone(tmp_path: Path) -> None:
    model = inspect_model(write_gguf(tmp_path / "a.gguf", "llama", {}))
    assert model.kind is FileKind.OTHER and "metadata only" in model.explanation


def test_a_file_without_architecture(tmp_path: Path) -> None:
    model = inspect_model(write_gguf(tmp_path / "a.gguf", "", VOCABULARY, WEIGHT))
    assert model.kind is FileKind.OTHER and "does not name its architecture" in model.explanation
    assert model.info.architecture == "unknown"


def test_the_file_name_does_not_matter(tmp_path: Path) -> None:
    for name in ("model-mtp.gguf", "mmproj-f16.gguf", "eagle3.gguf"):
        assert inspect_model(write_llama(tmp_path / name)).kind is FileKind.MODEL
