"""Draws the tensors of a tiny model, and what all writers have in common."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as TensorType
from support.tiny_gguf.files import write_gguf
from support.tiny_gguf.vocabularies import (
    END_TOKENS,
    FIRST_SPECIAL_ID,
    Vocabulary,
    is_ascii,
    make_vocabulary,
)

_FILE_TYPES = {
    TensorType.F32: 0,
    TensorType.F16: 1,
    TensorType.Q4_0: 2,
    TensorType.Q4_1: 3,
    TensorType.Q8_0: 7,
    TensorType.Q5_0: 8,
    TensorType.Q5_1: 9,
}


@dataclass
class Weights:
    """Draws tensors. Shapes are in ggml order, row length first; numpy wants them reversed."""

    seed: int
    wtype: TensorType
    mix: float
    tensors: list[tuple[str, np.ndarray, TensorType]] = field(default_factory=list)

    def _generator(self, name: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def _add(self, name: str, values: np.ndarray, *, quantised: bool = False) -> None:
        wtype = self.wtype if quantised else TensorType.F32
        self.tensors.append((name, values.astype(np.float32), wtype))

    def matrix(self, name: str, *shape: int, gain: float = 2.0, residual: bool = False) -> None:
        scale = gain / shape[0] ** 0.5 * (self.mix if residual else 1.0)
        values = self._generator(name).standard_normal(shape[::-1]) * scale
        self._add(name, values, quantised=shape[0] % 32 == 0)

    def vector(self, name: str, *shape: int, mean: float = 0.0, spread: float = 0.1) -> None:
        self._add(name, mean + spread * self._generator(name).standard_normal(shape[::-1]))

    def negative(self, name: str, *shape: int, low: float, high: float) -> None:
        self._add(name, -self._generator(name).uniform(low, high, shape[::-1]))

    def uniform(self, name: str, *shape: int) -> None:
        self._add(name, self._generator(name).uniform(0.0, 1.0, shape[::-1]))

    def half_identity(self, name: str, width: int, half: int) -> None:
        """Takes two vectors one behind the other to one of them, `half` 0 or 1."""
        values = np.zeros((width, 2 * width))
        values[:, half * width : (half + 1) * width] = np.eye(width)
        self._add(name, values, quantised=True)

    def embedding(
        self, n_embd: int, vocabulary: Vocabulary, *, eos_live: bool, ascii_only: bool
    ) -> None:
        """Token embedding and output head; special tokens never win, unless ends are `eos_live`."""
        n_vocab = len(vocabulary.tokens)
        name = "token_embd.weight"
        self._add(name, self._generator(name).standard_normal((n_vocab, n_embd)), quantised=True)
        name = "output.weight"
        head = self._generator(name).standard_normal((n_vocab, n_embd)) * (3.0 / n_embd**0.5)
        wins = [
            (text in END_TOKENS and eos_live)
            if token_id >= FIRST_SPECIAL_ID
            else not ascii_only or is_ascii(text)
            for token_id, text in enumerate(vocabulary.tokens)
        ]
        head[~np.array(wins)] = 0.0
        self._add(name, head, quantised=True)


@dataclass(frozen=True)
class Options:
    """What all writers have in common; see `write_llama`."""

    seed: int = 1
    mix: float = 1.0
    n_vocab: int = 320
    n_embd: int = 128
    wtype: TensorType = TensorType.Q8_0
    n_ctx_train: int = 2048
    name: str | None = None
    chat_template: str | None = None
    eos_live: bool = False
    ascii_only: bool = False
    tokens: Mapping[int, str] | None = None
    vocabulary: Vocabulary | None = None
    metadata: Mapping[str, Any] | None = None
    split: int | None = None

    def resolved_vocabulary(self) -> Vocabulary:
        vocabulary = self.vocabulary or make_vocabulary(self.n_vocab)
        return vocabulary.with_texts(self.tokens or {})

    def start(self) -> Weights:
        weights = Weights(self.seed, self.wtype, self.mix)
        weights.embedding(
            self.n_embd,
            self.resolved_vocabulary(),
            eos_live=self.eos_live,
            ascii_only=self.ascii_only,
        )
        return weights

    def finish(
        self, path: Path, architecture: str, keys: Mapping[str, Any], weights: Weights
    ) -> Path:
        entries: dict[str, Any] = {
            "general.name": self.name,
            "general.file_type": _FILE_TYPES.get(self.wtype),
            **{
                f"{architecture}.{key}": value
                for key, value in {
                    "context_length": self.n_ctx_train,
                    "embedding_length": self.n_embd,
                    **keys,
                }.items()
            },
            **self.resolved_vocabulary().metadata(),
            "tokenizer.chat_template": self.chat_template,
            **(self.metadata or {}),
        }
        return write_gguf(path, architecture, entries, weights.tensors, split=self.split)
