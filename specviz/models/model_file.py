"""What a model file is, from its header alone: name, size, vocabulary, and whether it can run.

Loads no weights and no native code; safe on any file and from any thread.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from specviz.errors import FileError
from specviz.models.architectures import can_trim
from specviz.models.file_kinds import FileKind, recognise
from specviz.models.gguf_header import GgufHeader, MetadataValue, read_header
from specviz.models.quantisation import quantisation_label
from specviz.models.readable import file_label, grouped, one_line, token_text
from specviz.models.split_files import check_part, parts_of, stem_of
from specviz.models.tokenizer import Tokenizer, read_tokenizer, texts_as_loaded
from specviz.trace.events import ModelInfo

__all__ = ["FileKind", "ModelFile", "Tokenizer", "inspect_model", "tokens_of"]

_REASONING_SWITCH = re.compile(r"\benable_thinking\b")
"""The template variable that switches reasoning on and off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One model, in one file or several parts; `path` is the first of `parts`.

    `explanation`: why it cannot be used by itself, empty for a model. `n_layers` counts the
    blocks of the model proper, `nextn_layers` its MTP blocks. `can_trim`: the newest positions
    alone can be removed from its memory. `metadata` has everything short that the file says of
    itself; `tensor_bytes` is the size of its weights.
    """

    path: Path
    parts: tuple[Path, ...]
    info: ModelInfo
    kind: FileKind
    explanation: str
    tokenizer: Tokenizer
    chat_template: str | None
    has_reasoning_switch: bool
    n_layers: int
    nextn_layers: int
    can_trim: bool
    tensor_bytes: int
    metadata: Mapping[str, MetadataValue] = field(repr=False, compare=False)
    tokens: tuple[bytes, ...] = field(repr=False, compare=False)


def inspect_model(path: Path) -> ModelFile:
    """Read a model's header, and those of its other parts; any part stands for the set.

    Raises FileError, in a sentence, when the file is no complete, readable GGUF file.
    """
    picked = read_header(path)
    parts = parts_of(path, picked.metadata)
    headers = [picked if part == path else read_header(part) for part in parts]
    _check_set(parts, headers)
    return _describe(parts, headers)


def tokens_of(model: ModelFile) -> list[bytes]:
    """The token texts as llama.cpp holds them, by id: raw, in the vocabulary's own spelling."""
    return list(model.tokens)


def _check_set(parts: tuple[Path, ...], headers: list[GgufHeader]) -> None:
    """The parts must belong together, and have each tensor once."""
    if len(parts) == 1:
        return
    for number, (part, header) in enumerate(zip(parts, headers, strict=True), 1):
        check_part(part, header.metadata, number, len(parts))
    names = Counter(tensor.name for header in headers for tensor in header.tensors)
    expected = headers[0].metadata.get("split.tensors.count", len(names))
    if len(names) != expected or max(names.values(), default=1) > 1:
        raise FileError(
            f"The {len(parts)} parts of {file_label(parts[0])} do not belong together: they do "
            "not add up to one set of tensors.",
            "Download the parts again, all from the same place.",
        )


def _describe(parts: tuple[Path, ...], headers: list[GgufHeader]) -> ModelFile:
    first = headers[0]
    metadata = first.metadata
    tensors = [tensor for header in headers for tensor in header.tensors]
    tokens = texts_as_loaded(first.tokens or ())
    _refuse_repeated_texts(parts[0], tokens, metadata)
    kind, explanation = recognise(metadata, {tensor.name for tensor in tensors}, len(tokens))
    architecture = text_of(metadata, "general.architecture")
    template = text_of(metadata, "tokenizer.chat_template") or None
    nextn_layers = number_of(metadata, f"{architecture}.nextn_predict_layers")
    info = ModelInfo(
        path=str(parts[0]),
        name=one_line(text_of(metadata, "general.name")) or one_line(stem_of(parts[0])),
        architecture=one_line(architecture) or "unknown",
        quantisation=quantisation_label(
            metadata.get("general.file_type"), ((t.type_id, t.n_elements) for t in tensors)
        ),
        n_params=sum(tensor.n_elements for tensor in tensors),
        n_vocab=len(tokens) or number_of(metadata, f"{architecture}.vocab_size"),
        n_ctx_train=number_of(metadata, f"{architecture}.context_length"),
        file_size=sum(header.file_size for header in headers),
    )
    return ModelFile(
        path=parts[0],
        parts=parts,
        info=info,
        kind=kind,
        explanation=explanation,
        tokenizer=read_tokenizer(metadata, len(tokens)),
        chat_template=template,
        has_reasoning_switch=bool(template and _REASONING_SWITCH.search(template)),
        n_layers=max(number_of(metadata, f"{architecture}.block_count") - nextn_layers, 0),
        nextn_layers=nextn_layers,
        can_trim=can_trim(architecture),
        tensor_bytes=sum(tensor.n_bytes for tensor in tensors),
        metadata=MappingProxyType(metadata),
        tokens=tokens,
    )


def _refuse_repeated_texts(
    path: Path, tokens: tuple[bytes, ...], metadata: Mapping[str, MetadataValue]
) -> None:
    """llama.cpp ends its whole process over two tokens with one text, so say it before."""
    if len(set(tokens)) == len(tokens):
        return
    seen: dict[bytes, int] = {}
    for token_id, raw in enumerate(tokens):
        if raw in seen:
            text = token_text(raw, text_of(metadata, "tokenizer.ggml.model"))
            raise FileError(
                f"{file_label(path)} has a faulty vocabulary: the tokens {grouped(seen[raw])} and "
                f"{grouped(token_id)} have the same text {text}.",
                "Look for another conversion of this model.",
            )
        seen[raw] = token_id


def text_of(metadata: Mapping[str, MetadataValue], key: str) -> str:
    """A text from the metadata, empty if there is none."""
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def number_of(metadata: Mapping[str, MetadataValue], key: str, default: int = 0) -> int:
    """A whole number that is not negative from the metadata."""
    value = metadata.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return default
