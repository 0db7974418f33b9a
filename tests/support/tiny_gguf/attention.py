"""Writers of models with attention only: any suffix of their memory can be dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.tiny_gguf.blocks import (
    DENSE_KEYS,
    EXPERT_KEYS,
    attention,
    experts,
    feed_forward,
    head_size,
)
from support.tiny_gguf.weights import Options


def write_llama(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """A llama-architecture model; returns the path to load (the first part of a split file).

    Options of all writers: `seed`; `mix` scales what blocks add to the residual; `n_vocab`;
    `n_embd`; `wtype` of the matrices; `n_ctx_train`; `name`; `chat_template`; `eos_live` lets the
    end tokens win now and then; `ascii_only` lets no other text be written; `tokens` maps ids to
    other texts; `vocabulary` replaces all of it; `metadata` adds, replaces or (with None) removes
    entries; `split` is a number of parts.
    """
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        attention(weights, block, width, norms=False)
        weights.vector(f"blk.{block}.ffn_norm.weight", width, mean=1.0)
        feed_forward(weights, block, width)
    return chosen.finish(path, "llama", head_size(n_layers, DENSE_KEYS), weights)


def write_qwen3(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """Dense, with query and key norms. Options as in `write_llama`."""
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        attention(weights, block, width, norms=True)
        weights.vector(f"blk.{block}.ffn_norm.weight", width, mean=1.0)
        feed_forward(weights, block, width)
    return chosen.finish(path, "qwen3", head_size(n_layers, DENSE_KEYS), weights)


def write_qwen3moe(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """Eight experts, two in use. Options as in `write_llama`."""
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        attention(weights, block, width, norms=True)
        weights.vector(f"blk.{block}.ffn_norm.weight", width, mean=1.0)
        experts(weights, block, width)
    keys = head_size(n_layers, {**DENSE_KEYS, **EXPERT_KEYS})
    return chosen.finish(path, "qwen3moe", keys, weights)


def write_gemma3(path: Path, *, n_layers: int = 4, window: int = 32, **options: Any) -> Path:
    """Every second block sees only the last `window` tokens. Options as in `write_llama`."""
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    # Post norms of about 6: gemma scales the embedding up, and smaller ones end in a short cycle.
    post = {"mean": 6.0 * chosen.mix, "spread": 0.3 * chosen.mix}
    for block in range(n_layers):
        prefix = f"blk.{block}."
        weights.vector(prefix + "attn_norm.weight", width, mean=1.0)
        attention(weights, block, width, norms=True)
        weights.vector(prefix + "post_attention_norm.weight", width, **post)
        weights.vector(prefix + "ffn_norm.weight", width, mean=1.0)
        feed_forward(weights, block, width)
        weights.vector(prefix + "post_ffw_norm.weight", width, **post)
    sliding = {"attention.sliding_window": window, "attention.sliding_window_pattern": 2}
    return chosen.finish(path, "gemma3", head_size(n_layers, {**DENSE_KEYS, **sliding}), weights)
