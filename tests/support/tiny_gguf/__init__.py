"""Writes very small GGUF models with random weights, and deliberately odd files.

A file is 0.1 to 2 MB, loads in well under a second and generates lively text. Every tensor is
drawn from its own name and the seed, so files of one seed share whatever tensors they have in
common: a draft with fewer blocks agrees with its target the more often, the smaller `mix` is.
Knows nothing of our own reader; only the `gguf` package is used.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as TensorType
from gguf.quants import quantize

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHATML_WITH_SWITCH = CHATML.replace(
    "<|im_start|>assistant\n",
    "<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}",
)

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
END_TOKENS = ("<|endoftext|>", "<|im_end|>")
SPACE = "\u0120"
MERGES = ("t h", "th e", f"{SPACE} the", "i n", "a n", "e r")
FIRST_SPECIAL_ID = 256 + len(MERGES)

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4

_FILE_TYPES = {
    TensorType.F32: 0,
    TensorType.F16: 1,
    TensorType.Q4_0: 2,
    TensorType.Q4_1: 3,
    TensorType.Q8_0: 7,
    TensorType.Q5_0: 8,
    TensorType.Q5_1: 9,
}


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer as the file describes it; `None` leaves the key out."""

    tokens: tuple[str, ...]
    kinds: tuple[int, ...]
    merges: tuple[str, ...] = MERGES
    model: str = "gpt2"
    pre: str | None = "qwen2"
    bos_id: int | None = None
    eos_id: int | None = None
    add_bos: bool | None = False
    add_eos: bool | None = None

    def with_texts(self, texts: Mapping[int, str]) -> Vocabulary:
        """The same vocabulary with other texts at some ids."""
        tokens = list(self.tokens)
        for token_id, text in texts.items():
            tokens[token_id] = text
        return replace(self, tokens=tuple(tokens))

    def metadata(self) -> dict[str, Any]:
        """The `tokenizer.ggml.*` entries."""
        is_bpe = self.model in ("gpt2", "gemma4")
        entries: dict[str, Any] = {
            "tokenizer.ggml.model": self.model,
            "tokenizer.ggml.pre": self.pre,
            "tokenizer.ggml.tokens": list(self.tokens),
            "tokenizer.ggml.token_type": list(self.kinds),
            "tokenizer.ggml.merges": list(self.merges) if is_bpe else None,
            "tokenizer.ggml.scores": None if is_bpe else [0.0] * len(self.tokens),
            "tokenizer.ggml.bos_token_id": self.bos_id,
            "tokenizer.ggml.eos_token_id": self.eos_id,
            "tokenizer.ggml.add_bos_token": self.add_bos,
            "tokenizer.ggml.add_eos_token": self.add_eos,
        }
        return {key: value for key, value in entries.items() if value is not None}


def byte_characters() -> tuple[str, ...]:
    """GPT-2's printable stand-in for each of the 256 bytes."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    characters, n_extra = [], 0
    for byte in range(256):
        if byte in printable:
            characters.append(chr(byte))
        else:
            characters.append(chr(256 + n_extra))
            n_extra += 1
    return tuple(characters)


def make_vocabulary(n_vocab: int = 320) -> Vocabulary:
    """256 byte tokens, six merges, five specials, then control tokens up to `n_vocab`."""
    tokens = [*byte_characters(), *(merge.replace(" ", "") for merge in MERGES), *SPECIAL_TOKENS]
    kinds = [NORMAL] * FIRST_SPECIAL_ID + [CONTROL] * 3 + [USER_DEFINED] * 2
    if n_vocab < len(tokens):
        raise ValueError(f"the tiny vocabulary needs {len(tokens)} tokens, not {n_vocab}")
    while len(tokens) < n_vocab:
        tokens.append(f"<|extra{len(tokens)}|>")
        kinds.append(CONTROL)
    return Vocabulary(tuple(tokens), tuple(kinds), eos_id=tokens.index("<|im_end|>"))


def make_sentencepiece_vocabulary(n_vocab: int = 320) -> Vocabulary:
    """A `llama` tokenizer: unknown, begin, end, 256 byte tokens, printable characters, fillers."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [2, CONTROL, CONTROL, *[6] * 256]
    tokens += ["\u2581", *(chr(code) for code in range(97, 123))]
    kinds += [NORMAL] * 27
    while len(tokens) < n_vocab:
        tokens.append(f"<extra{len(tokens)}>")
        kinds.append(CONTROL)
    return Vocabulary(
        tuple(tokens),
        tuple(kinds),
        merges=(),
        model="llama",
        pre=None,
        bos_id=1,
        eos_id=2,
        add_bos=None,
    )


@dataclass
class _Weights:
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

    def embedding(self, n_embd: int, vocabulary: Vocabulary, *, eos_live: bool) -> None:
        """Token embedding and output head; special tokens never win, unless ends are `eos_live`."""
        n_vocab = len(vocabulary.tokens)
        name = "token_embd.weight"
        self._add(name, self._generator(name).standard_normal((n_vocab, n_embd)), quantised=True)
        name = "output.weight"
        head = self._generator(name).standard_normal((n_vocab, n_embd)) * (3.0 / n_embd**0.5)
        silent = np.arange(n_vocab) >= FIRST_SPECIAL_ID
        head[silent & ~self._live(vocabulary, eos_live=eos_live)] = 0.0
        self._add(name, head, quantised=True)

    @staticmethod
    def _live(vocabulary: Vocabulary, *, eos_live: bool) -> np.ndarray:
        return np.array([eos_live and text in END_TOKENS for text in vocabulary.tokens])


def _attention(
    weights: _Weights, block: int, n_embd: int, *, norms: bool, query_factor: int = 1
) -> None:
    """Four query heads and two KV heads of 32."""
    prefix = f"blk.{block}."
    weights.matrix(prefix + "attn_q.weight", n_embd, 128 * query_factor)
    weights.matrix(prefix + "attn_k.weight", n_embd, 64)
    weights.matrix(prefix + "attn_v.weight", n_embd, 64)
    weights.matrix(prefix + "attn_output.weight", 128, n_embd, residual=True)
    if norms:
        weights.vector(prefix + "attn_q_norm.weight", 32, mean=1.7)
        weights.vector(prefix + "attn_k_norm.weight", 32, mean=1.7)


def _feed_forward(weights: _Weights, block: int, n_embd: int) -> None:
    prefix = f"blk.{block}."
    weights.matrix(prefix + "ffn_gate.weight", n_embd, 256)
    weights.matrix(prefix + "ffn_up.weight", n_embd, 256)
    weights.matrix(prefix + "ffn_down.weight", 256, n_embd, residual=True)


def _experts(weights: _Weights, block: int, n_embd: int) -> None:
    prefix = f"blk.{block}."
    weights.matrix(prefix + "ffn_gate_inp.weight", n_embd, 8)
    weights.matrix(prefix + "ffn_gate_exps.weight", n_embd, 64, 8)
    weights.matrix(prefix + "ffn_up_exps.weight", n_embd, 64, 8)
    weights.matrix(prefix + "ffn_down_exps.weight", 64, n_embd, 8, residual=True)


def _delta_net(weights: _Weights, block: int, n_embd: int) -> None:
    """Gated delta net: state 32, two key groups, four value heads."""
    prefix, width, value = f"blk.{block}.", 256, 128
    weights.matrix(prefix + "attn_qkv.weight", n_embd, width)
    weights.matrix(prefix + "attn_gate.weight", n_embd, value)
    weights.vector(prefix + "ssm_conv1d.weight", 4, width, spread=0.5)
    weights.vector(prefix + "ssm_dt.bias", 4, spread=0.5)
    weights.negative(prefix + "ssm_a", 4, low=0.02, high=0.3)
    weights.matrix(prefix + "ssm_beta.weight", n_embd, 4, gain=1.0)
    weights.matrix(prefix + "ssm_alpha.weight", n_embd, 4, gain=1.0)
    weights.vector(prefix + "ssm_norm.weight", 32, mean=1.0)
    weights.matrix(prefix + "ssm_out.weight", value, n_embd, residual=True)


_DENSE_KEYS: dict[str, Any] = {
    "feed_forward_length": 256,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.layer_norm_rms_epsilon": 1e-6,
}


@dataclass(frozen=True)
class _Options:
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
    tokens: Mapping[int, str] | None = None
    vocabulary: Vocabulary | None = None
    metadata: Mapping[str, Any] | None = None
    split: int | None = None

    def resolved_vocabulary(self) -> Vocabulary:
        vocabulary = self.vocabulary or make_vocabulary(self.n_vocab)
        return vocabulary.with_texts(self.tokens or {})

    def start(self) -> _Weights:
        weights = _Weights(self.seed, self.wtype, self.mix)
        weights.embedding(self.n_embd, self.resolved_vocabulary(), eos_live=self.eos_live)
        return weights

    def finish(
        self, path: Path, architecture: str, keys: Mapping[str, Any], weights: _Weights
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


def write_llama(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """A llama-architecture model; returns the path to load (the first part of a split file).

    Options of all writers: `seed`; `mix` scales what blocks add to the residual; `n_vocab`;
    `n_embd`; `wtype` of the matrices; `n_ctx_train`; `name`; `chat_template`; `eos_live` lets the
    end tokens win now and then; `tokens` maps ids to other texts; `vocabulary` replaces all of it;
    `metadata` adds, replaces or (with None) removes entries; `split` is a number of parts.
    """
    chosen = _Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        _attention(weights, block, width, norms=False)
        weights.vector(f"blk.{block}.ffn_norm.weight", width, mean=1.0)
        _feed_forward(weights, block, width)
    return chosen.finish(path, "llama", _head_size(n_layers, _DENSE_KEYS), weights)


def write_qwen3(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """Dense, with query and key norms. Options as in `write_llama`."""
    chosen = _Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        _attention(weights, block, width, norms=True)
        weights.vector(f"blk.{block}.ffn_norm.weight", width, mean=1.0)
        _feed_forward(weights, block, width)
    return chosen.finish(path, "qwen3", _head_size(n_layers, _DENSE_KEYS), weights)


def write_qwen3moe(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """Eight experts, two in use. Options as in `write_llama`."""
    chosen = _Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        _attention(weights, block, width, norms=True)
        weights.vector(f"blk.{block}.ffn_norm.weight", width, mean=1.0)
        _experts(weights, block, width)
    experts = {"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 64}
    return chosen.finish(
        path, "qwen3moe", _head_size(n_layers, {**_DENSE_KEYS, **experts}), weights
    )


def write_gemma3(path: Path, *, n_layers: int = 4, window: int = 32, **options: Any) -> Path:
    """Every second block sees only the last `window` tokens. Options as in `write_llama`."""
    chosen = _Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    # Post norms of about 6: gemma scales the embedding up, and smaller ones end in a short cycle.
    post = {"mean": 6.0 * chosen.mix, "spread": 0.3 * chosen.mix}
    for block in range(n_layers):
        prefix = f"blk.{block}."
        weights.vector(prefix + "attn_norm.weight", width, mean=1.0)
        _attention(weights, block, width, norms=True)
        weights.vector(prefix + "post_attention_norm.weight", width, **post)
        weights.vector(prefix + "ffn_norm.weight", width, mean=1.0)
        _feed_forward(weights, block, width)
        weights.vector(prefix + "post_ffw_norm.weight", width, **post)
    sliding = {"attention.sliding_window": window, "attention.sliding_window_pattern": 2}
    return chosen.finish(path, "gemma3", _head_size(n_layers, {**_DENSE_KEYS, **sliding}), weights)


def write_qwen35(path: Path, *, n_layers: int = 4, mtp: int = 0, **options: Any) -> Path:
    """Hybrid: linear and full attention in turn, plus `mtp` next-token blocks (0 or 1)."""
    chosen = _Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers + mtp):
        prefix = f"blk.{block}."
        weights.vector(prefix + "attn_norm.weight", width, mean=1.0)
        weights.vector(prefix + "post_attention_norm.weight", width, mean=1.0)
        _feed_forward(weights, block, width)
        if block >= n_layers or block % 2:
            # The query projection carries an output gate, hence twice the width.
            _attention(weights, block, width, norms=True, query_factor=2)
        else:
            _delta_net(weights, block, width)
        if block >= n_layers:
            weights.matrix(prefix + "nextn.eh_proj.weight", 2 * width, width, gain=1.0)
            for norm in ("enorm", "hnorm", "shared_head_norm"):
                weights.vector(prefix + f"nextn.{norm}.weight", width, mean=1.0)
    keys: dict[str, Any] = {
        **_head_size(n_layers + mtp, _DENSE_KEYS),
        "rope.dimension_count": 16,
        "rope.dimension_sections": [3, 3, 2, 0],
        "full_attention_interval": 2,
        "ssm.conv_kernel": 4,
        "ssm.state_size": 32,
        "ssm.group_count": 2,
        "ssm.time_step_rank": 4,
        "ssm.inner_size": 128,
        "nextn_predict_layers": mtp or None,
    }
    return chosen.finish(path, "qwen35", keys, weights)


def write_lfm2(path: Path, *, n_layers: int = 4, **options: Any) -> Path:
    """Hybrid: short convolutions and attention in turn, KV heads given block by block."""
    chosen = _Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("token_embd_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        prefix = f"blk.{block}."
        weights.vector(prefix + "attn_norm.weight", width, mean=1.0)
        if block % 2:
            _attention(weights, block, width, norms=True)
        else:
            weights.vector(prefix + "shortconv.conv.weight", 3, width, spread=0.6)
            weights.matrix(prefix + "shortconv.in_proj.weight", width, 3 * width)
            weights.matrix(prefix + "shortconv.out_proj.weight", width, width, residual=True)
        weights.vector(prefix + "ffn_norm.weight", width, mean=1.0)
        _feed_forward(weights, block, width)
    keys: dict[str, Any] = {
        "block_count": n_layers,
        **_DENSE_KEYS,
        "attention.head_count_kv": [2 if block % 2 else 0 for block in range(n_layers)],
        "shortconv.l_cache": 3,
    }
    return chosen.finish(path, "lfm2", keys, weights)


def write_mamba(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """Recurrent throughout: nothing can be removed from its memory."""
    chosen = _Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    inner, state, rank = 2 * width, 16, 32
    for block in range(n_layers):
        prefix = f"blk.{block}."
        weights.vector(prefix + "attn_norm.weight", width, mean=1.0)
        weights.matrix(prefix + "ssm_in.weight", width, 2 * inner)
        weights.vector(prefix + "ssm_conv1d.weight", 4, inner, spread=0.5)
        weights.vector(prefix + "ssm_conv1d.bias", inner)
        weights.matrix(prefix + "ssm_x.weight", inner, rank + 2 * state)
        weights.matrix(prefix + "ssm_dt.weight", rank, inner)
        weights.vector(prefix + "ssm_dt.bias", inner, mean=-1.0, spread=0.5)
        weights.negative(prefix + "ssm_a", state, inner, low=0.1, high=2.0)
        weights.vector(prefix + "ssm_d", inner, spread=0.5)
        weights.matrix(prefix + "ssm_out.weight", inner, width, residual=True)
    keys: dict[str, Any] = {
        "block_count": n_layers,
        "feed_forward_length": 0,
        "attention.head_count": 0,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": rank,
    }
    return chosen.finish(path, "mamba", keys, weights)


def _head_size(n_layers: int, keys: Mapping[str, Any]) -> dict[str, Any]:
    """The heads are 32 wide whatever the embedding's width."""
    return {
        "block_count": n_layers,
        **keys,
        "attention.key_length": 32,
        "attention.value_length": 32,
    }


def write_gguf(
    path: Path,
    architecture: str,
    metadata: Mapping[str, Any],
    tensors: Sequence[tuple[str, np.ndarray, TensorType]] = (),
    *,
    split: int | None = None,
) -> Path:
    """Write entries and tensors as they are; entries of None are left out.

    Ints are written as uint32, floats as float32, lists as arrays. With `split` the file is cut
    into that many parts named as llama.cpp names them; metadata go to the first part.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if split is None:
        _write_part(path, architecture, metadata, tensors)
        return path
    paths = part_paths(path, split)
    for index, part in enumerate(paths):
        entries = dict(metadata) if index == 0 else {}
        entries |= {
            "split.no": np.uint16(index),
            "split.count": np.uint16(split),
            "split.tensors.count": np.int32(len(tensors)),
        }
        _write_part(part, architecture, entries, tensors[index::split])
    return paths[0]


def part_paths(path: Path, split: int) -> tuple[Path, ...]:
    """Names of the parts: `stem-00001-of-00003.gguf` and so on."""
    return tuple(
        path.with_name(f"{path.stem}-{index + 1:05d}-of-{split:05d}.gguf") for index in range(split)
    )


def _write_part(
    path: Path,
    architecture: str,
    metadata: Mapping[str, Any],
    tensors: Sequence[tuple[str, np.ndarray, TensorType]],
) -> None:
    writer = gguf.GGUFWriter(path, architecture)
    adders = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        list: writer.add_array,
        str: writer.add_string,
        np.uint16: writer.add_uint16,
        np.int32: writer.add_int32,
        np.uint64: writer.add_uint64,
    }
    for key, value in metadata.items():
        if value is not None:
            adders[type(value)](key, value.item() if isinstance(value, np.generic) else value)
    for name, values, wtype in tensors:
        if wtype == TensorType.F32:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, quantize(values, wtype), raw_dtype=wtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
