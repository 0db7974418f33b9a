"""What each block of a model keeps in memory for the text so far, from the model's metadata.

Follows llama-hparams.cpp and llama-model.cpp of the llama.cpp in llama-cpp-python 0.3.36.
Knows sizes in elements; bytes and contexts belong to memory.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.models.architectures import RECURRENT
from specviz.models.file_kinds import MAX_BLOCKS
from specviz.models.gguf_header import MetadataValue
from specviz.models.model_file import ModelFile, number_of

_EVERY_FEW_ATTEND = frozenset({"minimax-01", "qwen35", "qwen35moe", "qwen3next", "qwen4exp"})
_KEEP_OLDER_STATES = frozenset({
    "bailingmoe3", "deepseek4", "glm5-next", "kimi-k3", "lfm2", "lfm2moe", "nemotron_h",
    "nemotron_h_moe", "qwen35", "qwen35moe", "qwen4exp",
})  # fmt: skip
_PLAIN_FEED_FORWARD_BLOCKS = frozenset({"nemotron_h", "nemotron_h_moe"})
_SHARED_FROM = {"gemma3n": 20}  # blocks with a cache of their own, where it is not in the file


@dataclass(frozen=True, slots=True)
class BlockShape:
    """Elements of K and of V for each position, and floats of recurrent state in all."""

    n_k: int
    n_v: int
    n_state: int


class Entries:
    """The numbers of one architecture, single or given block by block."""

    def __init__(self, model: ModelFile) -> None:
        self.architecture = model.info.architecture
        self.n_layers = min(model.n_layers, MAX_BLOCKS)
        self._metadata = model.metadata

    def value(self, key: str) -> MetadataValue | None:
        """The entry as it is in the file."""
        return self._metadata.get(f"{self.architecture}.{key}")

    def one(self, key: str, default: int = 0) -> int:
        """A single number, or the largest of an array."""
        return max(self.each(key, default), default=default)

    def each(self, key: str, default: int = 0) -> list[int]:
        """The number for each block."""
        value = self.value(key)
        if isinstance(value, tuple):
            numbers = [int(n) if isinstance(n, int) and n >= 0 else 0 for n in value]
            return (numbers + [default] * self.n_layers)[: self.n_layers]
        key = f"{self.architecture}.{key}"
        return [number_of(self._metadata, key, default)] * self.n_layers


def block_shapes(model: ModelFile) -> list[BlockShape]:
    """One shape for each block of the model proper; MTP blocks keep nothing in an ordinary run."""
    entries = Entries(model)
    state = _state_floats(entries)
    attends, recurs = _block_kinds(entries)
    widths = _attention_widths(entries)
    return [
        BlockShape(
            n_k=widths[block][0] if attends[block] else 0,
            n_v=widths[block][1] if attends[block] else 0,
            n_state=state if recurs[block] else 0,
        )
        for block in range(entries.n_layers)
    ]


def keeps_older_states(model: ModelFile) -> bool:
    """Whether llama.cpp keeps older versions of this model's state on request (`n_rs_seq`)."""
    return model.info.architecture in _KEEP_OLDER_STATES


def _block_kinds(entries: Entries) -> tuple[list[bool], list[bool]]:
    """Which blocks keep keys and values, and which carry a state."""
    architecture, n_layers = entries.architecture, entries.n_layers
    if architecture in RECURRENT:
        return [False] * n_layers, [True] * n_layers
    if architecture == "falcon-h1":
        return [True] * n_layers, [True] * n_layers
    if architecture in _EVERY_FEW_ATTEND:
        recurs = _recurrent_blocks(entries)
        return [not recurrent for recurrent in recurs], recurs
    attends = [heads > 0 for heads in _kv_heads(entries)]
    recurs = [not attending for attending in attends]
    if architecture in _PLAIN_FEED_FORWARD_BLOCKS:
        widths = entries.each("feed_forward_length")
        attends = [
            attending and not width for attending, width in zip(attends, widths, strict=True)
        ]
        recurs = [recurrent and not width for recurrent, width in zip(recurs, widths, strict=True)]
    n_own = _SHARED_FROM.get(architecture, n_layers - entries.one("attention.shared_kv_layers"))
    attends = [attending and block < n_own for block, attending in enumerate(attends)]
    return attends, recurs


def _recurrent_blocks(entries: Entries) -> list[bool]:
    if isinstance(entries.value("attention.recurrent_layers"), tuple):
        return [bool(flag) for flag in entries.each("attention.recurrent_layers")]
    interval = max(entries.one("full_attention_interval", 4), 1)
    return [(block + 1) % interval != 0 for block in range(entries.n_layers)]


def _kv_heads(entries: Entries) -> list[int]:
    heads = entries.each("attention.head_count")
    if entries.value("attention.head_count_kv") is None:
        return heads
    return entries.each("attention.head_count_kv")


def _attention_widths(entries: Entries) -> list[tuple[int, int]]:
    """Elements of K and V for each position and block."""
    n_heads = entries.one("attention.head_count")
    usual = entries.one("embedding_length") // n_heads if n_heads else 0
    k_full = entries.one("attention.key_length", usual)
    v_full = entries.one("attention.value_length", usual)
    if entries.one("attention.key_length_mla") and entries.one("attention.value_length_mla"):
        v_full = 0  # latent attention reads V out of the same rows as K
    k_window = entries.one("attention.key_length_swa", k_full)
    v_window = entries.one("attention.value_length_swa", v_full)
    windowed = _windowed_blocks(entries)
    return [
        (heads * (k_window if window else k_full), heads * (v_window if window else v_full))
        for heads, window in zip(_kv_heads(entries), windowed, strict=True)
    ]


def _windowed_blocks(entries: Entries) -> list[bool]:
    """Blocks with a sliding window, where the file says which; they matter only for head sizes."""
    pattern = entries.value("attention.sliding_window_pattern")
    if isinstance(pattern, tuple):
        return [bool(flag) for flag in entries.each("attention.sliding_window_pattern")]
    return [False] * entries.n_layers


def _state_floats(entries: Entries) -> int:
    """Floats of a block's convolution and recurrent state (`n_embd_r` + `n_embd_s`)."""
    width, n_heads = entries.one("embedding_length"), entries.one("attention.head_count")
    if head := entries.one("wkv.head_size"):
        return width * (entries.one("token_shift_count", 2) + head)
    if length := entries.one("shortconv.l_cache"):
        return width * (length - 1)
    kernel, inner = entries.one("ssm.conv_kernel"), entries.one("ssm.inner_size")
    if head := entries.one("kda.head_dim"):
        return n_heads * head * (3 * (max(kernel - 1, 0) or 3) + head)
    if entries.architecture == "minimax-01":
        head = entries.one("attention.key_length", width // n_heads if n_heads else 0)
        return head * head * n_heads
    state, groups = entries.one("ssm.state_size"), entries.one("ssm.group_count")
    return max(kernel - 1, 0) * (inner + 2 * groups * state) + state * inner
