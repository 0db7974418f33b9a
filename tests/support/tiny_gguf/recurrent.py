"""Writers of models that carry a state: hybrids, recurrent ones, and next-token (MTP) blocks.

Some keep older versions of their state on request (qwen35, qwen35moe, lfm2, nemotron_h), the
others have to be saved and restored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from support.tiny_gguf.blocks import (
    DELTA_KEYS,
    DENSE_KEYS,
    EXPERT_KEYS,
    RWKV7_KEYS,
    attention,
    delta_net,
    experts,
    feed_forward,
    head_size,
    layer_norm,
    mamba1,
    mamba1_keys,
    mamba2,
    mamba2_keys,
    rwkv7,
    shared_expert,
    short_convolution,
)
from support.tiny_gguf.weights import Options, Weights

Head = Literal["random", "hidden", "token"]
"""What a next-token block predicts: anything; what its hidden row predicts, so that its first draft
token is the pending token again; or what its token alone makes likely, so that it agrees with the
target the more often, the smaller `mix` is."""

SPARSE_KEYS: dict[str, Any] = {
    **{key: value for key, value in DENSE_KEYS.items() if key != "feed_forward_length"},
    **EXPERT_KEYS,
    "expert_shared_feed_forward_length": 64,
}
SECTIONS: dict[str, Any] = {"rope.dimension_sections": [3, 3, 2, 0]}


def write_qwen35(path: Path, **options: Any) -> Path:
    """Hybrid: linear and full attention in turn, plus `mtp` next-token blocks (0 or 1).

    Options as in `write_llama`, and `n_layers`, `mtp`, and `head`, see `Head`.
    """
    return _write_qwen(path, "qwen35", feed_forward, {**DENSE_KEYS, **SECTIONS}, **options)


def write_qwen35moe(path: Path, **options: Any) -> Path:
    """As `write_qwen35`, with experts, one of them always in use."""
    return _write_qwen(path, "qwen35moe", _sparse, {**SPARSE_KEYS, **SECTIONS}, **options)


def write_qwen3next(path: Path, **options: Any) -> Path:
    """As `write_qwen35moe`, but llama.cpp keeps no older states for it."""
    return _write_qwen(path, "qwen3next", _sparse, SPARSE_KEYS, **options)


def _sparse(weights: Weights, block: int, n_embd: int) -> None:
    experts(weights, block, n_embd)
    shared_expert(weights, block, n_embd)


def _write_qwen(
    path: Path,
    architecture: str,
    feed: Callable[[Weights, int, int], None],
    keys: dict[str, Any],
    *,
    n_layers: int = 4,
    mtp: int = 0,
    head: Head = "random",
    **options: Any,
) -> Path:
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        _norms(weights, block, width)
        feed(weights, block, width)
        if block % 2:
            # The query projection carries an output gate, hence twice the width.
            attention(weights, block, width, norms=True, query_factor=2)
        else:
            delta_net(weights, block, width, fused=architecture == "qwen3next")
    for block in range(n_layers, n_layers + mtp):
        # A head with a task of its own adds nothing to the residual; the list of tensors is shared.
        drawn = weights if head == "random" else replace(weights, mix=0.0)
        _norms(drawn, block, width)
        feed(drawn, block, width)
        attention(drawn, block, width, norms=True, query_factor=2)
        _next_token_head(weights, f"blk.{block}.nextn.", width, head)
    described = {
        **head_size(n_layers + mtp, keys),
        **DELTA_KEYS,
        "rope.dimension_count": 16,
        "full_attention_interval": 2,
        "nextn_predict_layers": mtp or None,
    }
    return chosen.finish(path, architecture, described, weights)


def _norms(weights: Weights, block: int, width: int) -> None:
    weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
    weights.vector(f"blk.{block}.post_attention_norm.weight", width, mean=1.0)


def _next_token_head(weights: Weights, prefix: str, width: int, head: Head) -> None:
    spread = 0.1 if head == "random" else 0.0
    for norm in ("enorm", "hnorm"):
        weights.vector(f"{prefix}{norm}.weight", width, mean=1.0, spread=spread)
    if head == "random":
        weights.matrix(prefix + "eh_proj.weight", 2 * width, width, gain=1.0)
    else:
        weights.half_identity(prefix + "eh_proj.weight", width, 1 if head == "hidden" else 0)
    # Without this norm the model's last one is used: right for a row that has not seen it yet.
    if head != "token":
        weights.vector(prefix + "shared_head_norm.weight", width, mean=1.0, spread=spread)


def write_lfm2(path: Path, *, n_layers: int = 4, **options: Any) -> Path:
    """Hybrid: short convolutions and attention in turn, KV heads given block by block."""
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("token_embd_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        if block % 2:
            attention(weights, block, width, norms=True)
        else:
            short_convolution(weights, block, width)
        weights.vector(f"blk.{block}.ffn_norm.weight", width, mean=1.0)
        feed_forward(weights, block, width)
    keys: dict[str, Any] = {
        "block_count": n_layers,
        **DENSE_KEYS,
        "attention.head_count_kv": [2 if block % 2 else 0 for block in range(n_layers)],
        "shortconv.l_cache": 3,
    }
    return chosen.finish(path, "lfm2", keys, weights)


def write_mamba(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """Recurrent throughout: nothing can be removed from its memory."""
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        mamba1(weights, block, width)
    keys: dict[str, Any] = {
        "block_count": n_layers,
        "feed_forward_length": 0,
        "attention.head_count": 0,
        "attention.layer_norm_rms_epsilon": 1e-6,
        **mamba1_keys(width),
    }
    return chosen.finish(path, "mamba", keys, weights)


def write_jamba(path: Path, *, n_layers: int = 4, **options: Any) -> Path:
    """Hybrid: Mamba and attention in turn."""
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        if block % 2:
            attention(weights, block, width, norms=False)
        else:
            mamba1(weights, block, width, norms=True)
        weights.vector(f"blk.{block}.ffn_norm.weight", width, mean=1.0)
        feed_forward(weights, block, width)
    keys: dict[str, Any] = {
        **head_size(n_layers, DENSE_KEYS),
        "attention.head_count_kv": [2 if block % 2 else 0 for block in range(n_layers)],
        **mamba1_keys(width),
    }
    return chosen.finish(path, "jamba", keys, weights)


def write_nemotron_h(path: Path, *, n_layers: int = 6, **options: Any) -> Path:
    """Hybrid: every block is one of Mamba-2, attention and feed forward, in turn."""
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        if block % 3 == 0:
            mamba2(weights, block, width, n_groups=2, norm=True)
        elif block % 3 == 1:
            attention(weights, block, width, norms=False)
        else:
            feed_forward(weights, block, width, gate=False)
    keys: dict[str, Any] = {
        **head_size(n_layers, DENSE_KEYS),
        "feed_forward_length": [256 if block % 3 == 2 else 0 for block in range(n_layers)],
        "attention.head_count_kv": [2 if block % 3 == 1 else 0 for block in range(n_layers)],
        "attention.layer_norm_epsilon": 1e-6,
        **mamba2_keys(2),
    }
    return chosen.finish(path, "nemotron_h", keys, weights)


def write_falcon_h1(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """Hybrid: attention and Mamba-2 side by side in every block."""
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    weights.vector("output_norm.weight", width, mean=1.0)
    for block in range(n_layers):
        weights.vector(f"blk.{block}.attn_norm.weight", width, mean=1.0)
        attention(weights, block, width, norms=False)
        mamba2(weights, block, width, n_groups=1, norm=False)
        weights.vector(f"blk.{block}.ffn_norm", width, mean=1.0)  # has no suffix in such files
        feed_forward(weights, block, width)
    keys = {**head_size(n_layers, DENSE_KEYS), **mamba2_keys(1)}
    return chosen.finish(path, "falcon-h1", keys, weights)


def write_rwkv7(path: Path, *, n_layers: int = 3, **options: Any) -> Path:
    """Recurrent throughout."""
    chosen = Options(**options)
    weights, width = chosen.start(), chosen.n_embd
    layer_norm(weights, "token_embd_norm", width)
    layer_norm(weights, "output_norm", width)
    for block in range(n_layers):
        rwkv7(weights, block, width)
    keys = {"block_count": n_layers, **RWKV7_KEYS}
    return chosen.finish(path, "rwkv7", keys, weights)
