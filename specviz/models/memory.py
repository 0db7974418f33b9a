"""How much memory a pair will take, told from the files before anything is loaded.

Weights and caches follow llama.cpp's own arithmetic. Compute buffers are an estimate: llama.cpp
finds their size by laying out the whole graph. The formulas here were fitted to what
llama-cpp-python 0.3.36 reports for models of several shapes; see `_compute`.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.models.block_shapes import Entries, block_shapes
from specviz.models.model_file import ModelFile
from specviz.models.quantisation import KV_BYTES
from specviz.trace.config import LoadConfig, Switch

CONTEXT_STEP = 256
"""llama.cpp rounds a context up to a multiple of this."""

N_OUTPUTS = 32
"""Rows of vocabulary scores that the engine prepares for at least."""

_FLOAT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """Bytes, by what they are for. The caches include recurrent state."""

    target_weights: int
    target_kv: int
    draft_weights: int
    draft_kv: int
    compute: int

    @property
    def total(self) -> int:
        """All of it, in bytes."""
        return (
            self.target_weights + self.target_kv + self.draft_weights + self.draft_kv + self.compute
        )


def estimate_memory(
    config: LoadConfig, target: ModelFile, draft: ModelFile | None
) -> MemoryEstimate:
    """What these settings will take once loaded. The draft gets the target's context size."""
    n_ctx = context_size(config, target)
    spec = config.target
    draft_types = (config.draft.type_k, config.draft.type_v) if config.draft else ("f16", "f16")
    return MemoryEstimate(
        target_weights=target.tensor_bytes,
        target_kv=_cache(target, n_ctx, spec.type_k, spec.type_v),
        draft_weights=draft.tensor_bytes if draft else 0,
        draft_kv=_cache(draft, n_ctx, *draft_types) if draft else 0,
        compute=_compute(target, config, n_ctx) + (_compute(draft, config, n_ctx) if draft else 0),
    )


def context_size(config: LoadConfig, target: ModelFile) -> int:
    """Positions that are set aside: as asked for, or as trained, rounded up."""
    wanted = max(config.n_ctx or target.info.n_ctx_train, 1)
    return -(-wanted // CONTEXT_STEP) * CONTEXT_STEP


def recurrent_state_bytes(model: ModelFile) -> int:
    """Bytes of one sequence's recurrent state, the same at any position; 0 with attention only.

    A context that keeps n older states (`n_rs_seq`) holds 1 + n times this.
    """
    return _FLOAT * sum(shape.n_state for shape in block_shapes(model))


def _cache(model: ModelFile, n_ctx: int, type_k: str, type_v: str) -> int:
    """Keys and values at every position, and the recurrent state of one sequence.

    Blocks with a sliding window are kept at full length, which is llama.cpp's default.
    """
    shapes = block_shapes(model)
    k_elements, k_bytes = KV_BYTES[type_k]
    v_elements, v_bytes = KV_BYTES[type_v]
    keys = sum(shape.n_k for shape in shapes) * n_ctx // k_elements * k_bytes
    values = sum(shape.n_v for shape in shapes) * n_ctx // v_elements * v_bytes
    return keys + values + recurrent_state_bytes(model)


def _compute(model: ModelFile, config: LoadConfig, n_ctx: int) -> int:
    """Compute and output buffers of one context, for a full batch over a full cache.

    Buffers are used again from stage to stage, so the largest stage counts: attention, feed
    forward, or the vocabulary's scores. The attention mask stays through all blocks.
    """
    entries = Entries(model)
    rows = min(max(config.n_batch, N_OUTPUTS), config.n_ctx or n_ctx)
    width, heads = entries.one("embedding_length"), entries.one("attention.head_count")
    shapes = block_shapes(model)
    n_k, n_v = max((s.n_k for s in shapes), default=0), max((s.n_v for s in shapes), default=0)
    n_query = heads * entries.one("attention.key_length", width // heads if heads else 0)
    flash = config.flash_attention is not Switch.OFF
    mask = rows * n_ctx * (2 if flash else _FLOAT) if n_k else 0
    if entries.one("attention.sliding_window"):
        mask *= 2
    scores = 0 if flash or not n_k else rows * n_ctx * heads * _FLOAT
    attention = scores + rows * _FLOAT * (3 * width + 2 * n_query + n_k + n_v)
    # The last block works only for the rows whose scores are wanted.
    rows_forward = rows if len(shapes) > 1 else N_OUTPUTS
    per_row = 2 * width + max(width, n_query) + _feed_forward(entries)
    feed_forward = rows_forward * _FLOAT * per_row
    # RWKV mixes every row with the one before it in several ways at once.
    n_widths = 19 if entries.one("wkv.head_size") else 3
    recurrent = rows * _FLOAT * (n_widths * width + 5 * entries.one("ssm.inner_size"))
    vocabulary = _FLOAT * (N_OUTPUTS * model.info.n_vocab + 2 * rows * width)
    blocks = mask + max(attention, feed_forward, recurrent)
    return max(blocks, vocabulary) + _FLOAT * model.info.n_vocab


def _feed_forward(entries: Entries) -> int:
    """Floats for each row: gate, up and their product; with experts, of those in use."""
    used, expert = entries.one("expert_used_count"), entries.one("expert_feed_forward_length")
    if not used:
        return 3 * entries.one("feed_forward_length")
    shared = 3 * entries.one("expert_shared_feed_forward_length")
    return shared + max(3 * used * expert, used * (expert + entries.one("embedding_length")))
