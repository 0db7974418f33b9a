"""The parts that blocks of a tiny model are made of: tensors, and the keys that describe them.

Ranges of values are such that states stay finite and texts lively.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.tiny_gguf.weights import Weights

DENSE_KEYS: dict[str, Any] = {
    "feed_forward_length": 256,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.layer_norm_rms_epsilon": 1e-6,
}
EXPERT_KEYS: dict[str, Any] = {
    "expert_count": 8,
    "expert_used_count": 2,
    "expert_feed_forward_length": 64,
}


def head_size(n_layers: int, keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys and the number of blocks; heads are 32 wide whatever the embedding's width."""
    return {
        "block_count": n_layers,
        **keys,
        "attention.key_length": 32,
        "attention.value_length": 32,
    }


def attention(
    weights: Weights, block: int, n_embd: int, *, norms: bool, query_factor: int = 1
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


def feed_forward(weights: Weights, block: int, n_embd: int, *, gate: bool = True) -> None:
    """256 wide, with or without a gate."""
    prefix = f"blk.{block}."
    if gate:
        weights.matrix(prefix + "ffn_gate.weight", n_embd, 256)
    weights.matrix(prefix + "ffn_up.weight", n_embd, 256)
    weights.matrix(prefix + "ffn_down.weight", 256, n_embd, residual=True)


def experts(weights: Weights, block: int, n_embd: int) -> None:
    """Eight experts, 64 wide each."""
    prefix = f"blk.{block}."
    weights.matrix(prefix + "ffn_gate_inp.weight", n_embd, 8)
    weights.matrix(prefix + "ffn_gate_exps.weight", n_embd, 64, 8)
    weights.matrix(prefix + "ffn_up_exps.weight", n_embd, 64, 8)
    weights.matrix(prefix + "ffn_down_exps.weight", 64, n_embd, 8, residual=True)


def shared_expert(weights: Weights, block: int, n_embd: int) -> None:
    """One that is always used, 64 wide."""
    prefix = f"blk.{block}."
    weights.vector(prefix + "ffn_gate_inp_shexp.weight", n_embd)
    weights.matrix(prefix + "ffn_gate_shexp.weight", n_embd, 64)
    weights.matrix(prefix + "ffn_up_shexp.weight", n_embd, 64)
    weights.matrix(prefix + "ffn_down_shexp.weight", 64, n_embd, residual=True)


DELTA_KEYS: dict[str, Any] = {
    "ssm.conv_kernel": 4,
    "ssm.state_size": 32,
    "ssm.group_count": 2,
    "ssm.time_step_rank": 4,
    "ssm.inner_size": 128,
}


def delta_net(weights: Weights, block: int, n_embd: int, *, fused: bool = False) -> None:
    """Gated delta net: state 32, two key groups, four value heads; `fused`: one `ssm_ba`."""
    prefix, width, value = f"blk.{block}.", 256, 128
    weights.matrix(prefix + "attn_qkv.weight", n_embd, width)
    weights.matrix(prefix + "attn_gate.weight", n_embd, value)
    weights.vector(prefix + "ssm_conv1d.weight", 4, width, spread=0.5)
    weights.vector(prefix + "ssm_dt.bias", 4, spread=0.5)
    weights.negative(prefix + "ssm_a", 4, low=0.02, high=0.3)
    if fused:
        weights.matrix(prefix + "ssm_ba.weight", n_embd, 8, gain=1.0)
    else:
        weights.matrix(prefix + "ssm_beta.weight", n_embd, 4, gain=1.0)
        weights.matrix(prefix + "ssm_alpha.weight", n_embd, 4, gain=1.0)
    weights.vector(prefix + "ssm_norm.weight", 32, mean=1.0)
    weights.matrix(prefix + "ssm_out.weight", value, n_embd, residual=True)


def mamba1_keys(n_embd: int) -> dict[str, Any]:
    """The inner size has to be twice the embedding's width."""
    return {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 2 * n_embd,
        "ssm.state_size": 16,
        "ssm.time_step_rank": 32,
    }


def mamba1(weights: Weights, block: int, n_embd: int, *, norms: bool = False) -> None:
    """State 16, rank 32; `norms`: Jamba's of time step, B and C."""
    prefix, inner, state, rank = f"blk.{block}.", 2 * n_embd, 16, 32
    weights.matrix(prefix + "ssm_in.weight", n_embd, 2 * inner, gain=1.0)
    weights.vector(prefix + "ssm_conv1d.weight", 4, inner, spread=0.5)
    weights.vector(prefix + "ssm_conv1d.bias", inner)
    weights.matrix(prefix + "ssm_x.weight", inner, rank + 2 * state)
    weights.matrix(prefix + "ssm_dt.weight", rank, inner)
    weights.vector(prefix + "ssm_dt.bias", inner, mean=-1.0, spread=0.5)
    weights.negative(prefix + "ssm_a", state, inner, low=0.1, high=2.0)
    weights.vector(prefix + "ssm_d", inner, spread=0.5)
    weights.matrix(prefix + "ssm_out.weight", inner, n_embd, residual=True)
    if norms:
        weights.vector(prefix + "ssm_dt_norm.weight", rank, mean=1.0)
        weights.vector(prefix + "ssm_b_norm.weight", state, mean=1.0)
        weights.vector(prefix + "ssm_c_norm.weight", state, mean=1.0)


def mamba2_keys(n_groups: int) -> dict[str, Any]:
    """256 inner, state 32, eight heads."""
    return {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 256,
        "ssm.state_size": 32,
        "ssm.time_step_rank": 8,
        "ssm.group_count": n_groups,
    }


def mamba2(weights: Weights, block: int, n_embd: int, *, n_groups: int, norm: bool) -> None:
    """See `mamba2_keys`."""
    prefix, inner, state, heads = f"blk.{block}.", 256, 32, 8
    width = inner + 2 * n_groups * state
    weights.matrix(prefix + "ssm_in.weight", n_embd, inner + width + heads, gain=1.0)
    weights.vector(prefix + "ssm_conv1d.weight", 4, width, spread=0.5)
    weights.vector(prefix + "ssm_conv1d.bias", width)
    weights.vector(prefix + "ssm_dt.bias", heads, mean=-1.0, spread=0.5)
    weights.negative(prefix + "ssm_a", 1, heads, low=0.05, high=1.0)
    weights.vector(prefix + "ssm_d", 1, heads, spread=0.5)
    if norm:
        weights.vector(prefix + "ssm_norm.weight", inner // n_groups, n_groups, mean=1.0)
    weights.matrix(prefix + "ssm_out.weight", inner, n_embd, residual=True)


def short_convolution(weights: Weights, block: int, n_embd: int) -> None:
    """A gated convolution over three positions."""
    prefix = f"blk.{block}."
    weights.vector(prefix + "shortconv.conv.weight", 3, n_embd, spread=0.6)
    weights.matrix(prefix + "shortconv.in_proj.weight", n_embd, 3 * n_embd)
    weights.matrix(prefix + "shortconv.out_proj.weight", n_embd, n_embd, residual=True)


def layer_norm(weights: Weights, name: str, n_embd: int) -> None:
    """A norm with a bias."""
    weights.vector(f"{name}.weight", n_embd, mean=1.0)
    weights.vector(f"{name}.bias", n_embd)


RWKV_RANK = 32
RWKV7_KEYS: dict[str, Any] = {
    "feed_forward_length": 256,
    # With heads of 32 the AVX-512 kernel reads and writes behind the row.
    "wkv.head_size": 64,
    "attention.head_count": 0,
    "attention.layer_norm_epsilon": 1e-5,
    "attention.decay_lora_rank": RWKV_RANK,
    "attention.iclr_lora_rank": RWKV_RANK,
    "attention.value_residual_mix_lora_rank": RWKV_RANK,
    "attention.gate_lora_rank": RWKV_RANK,
}


def rwkv7(weights: Weights, block: int, n_embd: int) -> None:
    """Time mix and channel mix."""
    prefix, rank = f"blk.{block}.", RWKV_RANK
    for name in ("attn_norm", "attn_norm_2", "time_mix_ln"):
        layer_norm(weights, prefix + name, n_embd)
    for letter in "wav":
        weights.vector(prefix + f"time_mix_{letter}0.weight", n_embd, spread=0.5)
        weights.matrix(prefix + f"time_mix_{letter}1.weight", n_embd, rank, gain=1.0)
        weights.matrix(prefix + f"time_mix_{letter}2.weight", rank, n_embd, gain=1.0)
    weights.matrix(prefix + "time_mix_g1.weight", n_embd, rank, gain=1.0)
    weights.matrix(prefix + "time_mix_g2.weight", rank, n_embd)
    weights.uniform(prefix + "time_mix_lerp_fused.weight", n_embd, 1, 1, 6)
    weights.vector(prefix + "time_mix_k_k.weight", n_embd, mean=0.8)
    weights.vector(prefix + "time_mix_k_a.weight", n_embd, mean=1.0)
    weights.vector(prefix + "time_mix_r_k.weight", n_embd)
    for name in ("key", "value", "receptance"):
        weights.matrix(prefix + f"time_mix_{name}.weight", n_embd, n_embd)
    weights.matrix(prefix + "time_mix_output.weight", n_embd, n_embd, residual=True)
    weights.uniform(prefix + "channel_mix_lerp_k.weight", n_embd, 1, 1)
    weights.matrix(prefix + "channel_mix_key.weight", n_embd, 256)
    weights.matrix(prefix + "channel_mix_value.weight", 256, n_embd, residual=True)
