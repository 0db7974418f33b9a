"""How much memory a pair will take, told from the files before anything is loaded.

Weights and caches follow llama.cpp's own arithmetic. Compute buffers are an estimate: llama.cpp
finds their size by laying out the whole graph. The formulas here were fitted to what
llama-cpp-python 0.3.36 reports for models of several shapes; see `_compute`.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.models.block_shapes import Entries, block_shapes, keeps_older_states
from specviz.models.model_file import ModelFile
from specviz.models.quantisation import KV_BYTES
from specviz.trace.config import DraftSource, LoadConfig, SpeculationConfig, Switch

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
    config: LoadConfig,
    target: ModelFile,
    draft: ModelFile | None,
    speculation: SpeculationConfig | None = None,
) -> MemoryEstimate:
    """What these settings will take once loaded. The draft gets the target's context size.

    `speculation` adds what drafting sets aside on the target: older versions of its state, and a
    context for its next-token (MTP) block.
    """
    n_ctx = context_size(config, target)
    spec = config.target
    draft_types = (config.draft.type_k, config.draft.type_v) if config.draft else ("f16", "f16")
    n_states = 1 + older_states(target, speculation, config.n_batch)
    target_kv = _attention_cache(target, n_ctx, spec.type_k, spec.type_v)
    target_kv += n_states * recurrent_state_bytes(target)
    compute = _compute(target, config, n_ctx)
    if speculation and DraftSource.DRAFT_MTP in speculation.sources and target.nextn_layers == 1:
        target_kv += _block_cache(target, n_ctx, spec.type_k, spec.type_v)
        compute += _block_compute(target, config, n_ctx)
    draft_kv = 0
    if draft:
        draft_kv = _attention_cache(draft, n_ctx, *draft_types) + recurrent_state_bytes(draft)
        compute += _compute(draft, config, n_ctx)
    return MemoryEstimate(
        target_weights=target.tensor_bytes,
        target_kv=target_kv,
        draft_weights=draft.tensor_bytes if draft else 0,
        draft_kv=draft_kv,
        compute=compute,
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


STATE_BUDGET = 512 * 1024 * 1024
"""Bytes that older versions of a recurrent state may take in all."""

MOST_OLDER_STATES = 8
"""Each costs a little in every pass: 0.8 % for three and 2.8 % for sixteen on a small hybrid."""


def older_states(target: ModelFile, speculation: SpeculationConfig | None, n_batch: int) -> int:
    """How many older states the engine keeps of this target, so that drafts can be undone."""
    if speculation is None or not keeps_older_states(target):
        return 0
    longest = max(map(speculation.longest_draft, speculation.sources), default=0)
    return snapshots_for(longest, recurrent_state_bytes(target), n_batch)


def snapshots_for(longest_draft: int, state_bytes: int, n_batch: int) -> int:
    """How many older states to keep so that drafts of this length can be undone.

    Fewer than the draft is long where the state is large: longer drafts are then undone by a
    checkpoint. llama.cpp wants a batch that is longer than the states kept by two at least.
    """
    if state_bytes <= 0:
        return 0
    affordable = STATE_BUDGET // state_bytes
    return max(min(longest_draft, MOST_OLDER_STATES, affordable, n_batch - 2), 0)


def _attention_cache(model: ModelFile, n_ctx: int, type_k: str, type_v: str) -> int:
    """Keys and values at every position.

    Blocks with a sliding window are kept at full length, which is llama.cpp's default.
    """
    shapes = block_shapes(model)
    n_k, n_v = sum(shape.n_k for shape in shapes), sum(shape.n_v for shape in shapes)
    return _cache(n_k, type_k, n_ctx) + _cache(n_v, type_v, n_ctx)


def _block_cache(model: ModelFile, n_ctx: int, type_k: str, type_v: str) -> int:
    """The same for a next-token block, which attends as the other attending blocks do."""
    n_k, n_v = _widest(model)
    return _cache(n_k, type_k, n_ctx) + _cache(n_v, type_v, n_ctx)


def _cache(n_elements: int, kv_type: str, n_ctx: int) -> int:
    elements, size = KV_BYTES[kv_type]
    return n_elements * n_ctx // elements * size


def _widest(model: ModelFile) -> tuple[int, int]:
    """Elements of K and V of the block with the most of them."""
    shapes = block_shapes(model)
    return max((s.n_k for s in shapes), default=0), max((s.n_v for s in shapes), default=0)


def _compute(model: ModelFile, config: LoadConfig, n_ctx: int) -> int:
    """Compute and output buffers of one context, for a full batch over a full cache.

    Buffers are used again from stage to stage, so the largest stage counts: attention, feed
    forward, or the vocabulary's scores. The attention mask stays through all blocks.
    """
    entries = Entries(model)
    rows, width = _rows(config, n_ctx), entries.one("embedding_length")
    n_query = _query_width(entries)
    mask, attention = _attention_buffers(model, config, n_ctx)
    # The last block works only for the rows whose scores are wanted.
    rows_forward = rows if model.n_layers > 1 else N_OUTPUTS
    per_row = 2 * width + max(width, n_query) + _feed_forward(entries)
    feed_forward = rows_forward * _FLOAT * per_row
    # RWKV mixes every row with the one before it in several ways at once.
    n_widths = 19 if entries.one("wkv.head_size") else 3
    recurrent = rows * _FLOAT * (n_widths * width + 5 * entries.one("ssm.inner_size"))
    vocabulary = _FLOAT * (N_OUTPUTS * model.info.n_vocab + 2 * rows * width)
    blocks = mask + max(attention, feed_forward, recurrent)
    return max(blocks, vocabulary) + _FLOAT * model.info.n_vocab


def _block_compute(model: ModelFile, config: LoadConfig, n_ctx: int) -> int:
    """Buffers for a next-token block: its pass, and two hidden rows for each token of a batch."""
    rows, width = _rows(config, n_ctx), Entries(model).one("embedding_length")
    hidden = 2 * rows * width * _FLOAT
    return sum(_attention_buffers(model, config, n_ctx)) + hidden + _FLOAT * model.info.n_vocab


def _rows(config: LoadConfig, n_ctx: int) -> int:
    return min(max(config.n_batch, N_OUTPUTS), config.n_ctx or n_ctx)


def _query_width(entries: Entries) -> int:
    width, heads = entries.one("embedding_length"), entries.one("attention.head_count")
    return heads * entries.one("attention.key_length", width // heads if heads else 0)


def _attention_buffers(model: ModelFile, config: LoadConfig, n_ctx: int) -> tuple[int, int]:
    """Bytes of the mask, and of the largest attending block's rows."""
    entries = Entries(model)
    rows, heads = _rows(config, n_ctx), entries.one("attention.head_count")
    n_k, n_v = _widest(model)
    flash = config.flash_attention is not Switch.OFF
    mask = rows * n_ctx * (2 if flash else _FLOAT) if n_k else 0
    if entries.one("attention.sliding_window"):
        mask *= 2
    scores = 0 if flash or not n_k else rows * n_ctx * heads * _FLOAT
    width, n_query = entries.one("embedding_length"), _query_width(entries)
    return mask, scores + rows * _FLOAT * (3 * width + 2 * n_query + n_k + n_v)


def _feed_forward(entries: Entries) -> int:
    """Floats for each row: gate, up and their product; with experts, of those in use."""
    used, expert = entries.one("expert_used_count"), entries.one("expert_feed_forward_length")
    if not used:
        return 3 * entries.one("feed_forward_length")
    shared = 3 * entries.one("expert_shared_feed_forward_length")
    return shared + max(3 * used * expert, used * (expert + entries.one("embedding_length")))
