"""Which GGUF files are language models by themselves, and what the others are.

Judges by metadata and tensor names only, never by the file's name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from specviz.models.architectures import DIFFUSION, EMBEDDING, ENCODER_DECODER, SPEECH
from specviz.models.readable import grouped, one_line
from specviz.models.tokenizer import NO_TOKENIZER

MAX_BLOCKS = 512
"""As many as llama.cpp allows."""


class FileKind(StrEnum):
    """What a GGUF file is. Only a MODEL can be target or draft."""

    MODEL = "model"
    PROJECTOR = "projector"
    MTP_HEAD = "mtp_head"
    ASSISTANT_HEAD = "assistant_head"
    EAGLE_HEAD = "eagle_head"
    DFLASH_HEAD = "dflash_head"
    ADAPTER = "adapter"
    VOCABULARY_ONLY = "vocabulary_only"
    NO_VOCABULARY = "no_vocabulary"
    OTHER = "other"


_HIDDEN_STATES = (
    "it needs the target's hidden states, which this build cannot pass on. "
    "Choose an ordinary small model with the same vocabulary as the draft, or draft from n-grams, "
    "which need no file."
)


def recognise(
    metadata: Mapping[str, object], tensor_names: Collection[str], n_tokens: int
) -> tuple[FileKind, str]:
    """The kind, and a sentence why the file cannot be used by itself (empty for a model)."""
    architecture = metadata.get("general.architecture")
    architecture = architecture if isinstance(architecture, str) else ""
    for verdict in (
        _companion(metadata, architecture),
        _draft_head(metadata, architecture, tensor_names),
        _other_task(metadata, architecture),
        _incomplete(metadata, architecture, tensor_names, n_tokens),
        _contradictory(metadata, architecture),
    ):
        if verdict:
            return verdict
    return FileKind.MODEL, ""


Verdict = tuple[FileKind, str] | None


def _companion(metadata: Mapping[str, object], architecture: str) -> Verdict:
    """Files that stand beside a model."""
    general_type = metadata.get("general.type")
    if architecture == "clip" or general_type in ("mmproj", "clip-vision"):
        return FileKind.PROJECTOR, (
            "This is a projector for pictures or sound (mmproj): it serves a language model, "
            "and is none itself."
        )
    if general_type == "adapter" or architecture == "controlvector":
        what = "a control vector" if architecture == "controlvector" else "an adapter (LoRA)"
        return FileKind.ADAPTER, (
            f"This is {what}: it changes a model, and is none itself. "
            "Choose a model that has it merged in."
        )
    if general_type == "imatrix":
        return FileKind.OTHER, (
            "This is an importance matrix, made to quantise a model; it holds no model."
        )
    return None


def _draft_head(
    metadata: Mapping[str, object], architecture: str, tensor_names: Collection[str]
) -> Verdict:
    """Draft heads that read the target's hidden states and cannot run by themselves."""
    if architecture.endswith("-assistant"):
        return FileKind.ASSISTANT_HEAD, (
            f"This is an assistant head ({one_line(architecture)}), a form of MTP head: "
            + _HIDDEN_STATES
        )
    if architecture.startswith("eagle"):
        return FileKind.EAGLE_HEAD, f"This is an EAGLE draft head: {_HIDDEN_STATES}"
    if architecture in ("dflash", "dspark"):
        name = "DSpark" if architecture == "dspark" or "markov_w1.weight" in tensor_names else ""
        return FileKind.DFLASH_HEAD, f"This is a {name or 'DFlash'} draft head: {_HIDDEN_STATES}"
    if _is_mtp_only(metadata, architecture, tensor_names):
        return FileKind.MTP_HEAD, (
            "This is an MTP head without its model. SpecViz drafts with MTP blocks where they are "
            "part of the target's own file; choose such a target, an ordinary small draft of the "
            "same family, or draft from n-grams, which need no file."
        )
    return None


def _is_mtp_only(
    metadata: Mapping[str, object], architecture: str, tensor_names: Collection[str]
) -> bool:
    """llama.cpp's own test is the missing `blk.0.attn_norm`; MTP blocks come behind the others."""
    nextn = metadata.get(f"{architecture}.nextn_predict_layers")
    if not isinstance(nextn, int) or nextn < 1 or not tensor_names:
        return False
    if metadata.get(f"{architecture}.block_count") == nextn:
        return True
    return not any(name.startswith("blk.0.") for name in tensor_names)


def _other_task(metadata: Mapping[str, object], architecture: str) -> Verdict:
    """Models that do not write a text from left to right."""
    if architecture in DIFFUSION:
        return FileKind.OTHER, (
            "This is a diffusion model: it writes many tokens at once, in any order, "
            "so speculative decoding does not apply to it."
        )
    if architecture in ENCODER_DECODER:
        return FileKind.OTHER, (
            f"This is an encoder-decoder model ({architecture}); SpecViz runs decoder-only "
            "language models."
        )
    if architecture in SPEECH:
        return FileKind.OTHER, "This model writes sound, not text."
    pooling = metadata.get(f"{architecture}.pooling_type")
    is_causal = metadata.get(f"{architecture}.attention.causal", True)
    if architecture in EMBEDDING or is_causal is False or (isinstance(pooling, int) and pooling):
        return FileKind.OTHER, (
            "This model turns texts into vectors (embeddings) or scores; it does not write text."
        )
    return None


def _incomplete(
    metadata: Mapping[str, object],
    architecture: str,
    tensor_names: Collection[str],
    n_tokens: int,
) -> Verdict:
    """Files that lack a part of what a model is."""
    if not architecture:
        return FileKind.OTHER, "This file does not name its architecture, so it is no model."
    has_tokenizer = metadata.get("tokenizer.ggml.model", "") not in NO_TOKENIZER
    if not tensor_names and n_tokens:
        return FileKind.VOCABULARY_ONLY, "This file holds a vocabulary only; it has no weights."
    if not tensor_names:
        return FileKind.OTHER, "This file holds metadata only; it has no weights."
    if not has_tokenizer or not n_tokens:
        return FileKind.NO_VOCABULARY, (
            "This model comes without a vocabulary, so no text can be given to it."
        )
    return None


def _contradictory(metadata: Mapping[str, object], architecture: str) -> Verdict:
    """Numbers over which llama.cpp would end its whole process instead of refusing the file."""
    n_blocks = _number(metadata, f"{architecture}.block_count")
    if n_blocks is not None and not 1 <= n_blocks <= MAX_BLOCKS:
        return FileKind.OTHER, (
            f"This file is damaged: it claims {grouped(n_blocks)} blocks, and llama.cpp runs "
            f"models of 1 to {MAX_BLOCKS}."
        )
    nextn = _number(metadata, f"{architecture}.nextn_predict_layers") or 0
    if n_blocks is not None and nextn > n_blocks:
        return FileKind.OTHER, "This file is damaged: it claims more MTP blocks than blocks."
    n_experts = _number(metadata, f"{architecture}.expert_count") or 0
    n_used = _largest(metadata.get(f"{architecture}.expert_used_count"))
    if architecture in ("hunyuan-dense", "hunyuan_vl") and n_experts <= 1:
        return None  # dense models that name an expert all the same
    if n_used > n_experts or (n_experts and not n_used):
        return FileKind.OTHER, (
            f"This file is damaged: of its {grouped(n_experts)} experts it would use "
            f"{grouped(n_used)} at a time."
        )
    return None


def _number(metadata: Mapping[str, object], key: str) -> int | None:
    value = metadata.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _largest(value: object) -> int:
    """The largest number of an entry that may be given block by block."""
    values = value if isinstance(value, tuple) else (value,)
    return max((n for n in values if isinstance(n, int)), default=0)
