"""What a file says of its tokenizer, with llama.cpp's defaults where it says nothing.

The rules are those of `llama_vocab::impl::load` in llama-vocab.cpp (llama-cpp-python 0.3.36).
Splits no text into tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TOKENIZER_KINDS = {
    "llama": "SentencePiece",
    "gpt2": "byte-level BPE",
    "hybriddna": "byte-level BPE",
    "whitespace": "byte-level BPE",
    "gemma4": "byte-level BPE",
    "bert": "WordPiece",
    "t5": "Unigram",
    "rwkv": "RWKV",
    "plamo2": "PLaMo-2",
    "test": "test",
}
"""llama.cpp's vocabulary type (`llama_vocab_type`) for each `tokenizer.ggml.model`."""

NO_TOKENIZER = ("", "no_vocab", "none")

# Begin and end ids where the file names none; None stands for "no such token".
_DEFAULT_IDS: dict[str, tuple[int | None, int | None]] = {
    "llama": (1, 2),
    "gpt2": (11, 11),
    "hybriddna": (11, 11),
    "whitespace": (11, 11),
    "bert": (101, None),
    "t5": (None, 1),
    "plamo2": (1, 2),
}
_WITHOUT_BOS = frozenset({"chatglm-bpe", "glm4", "glm5"})
_WITH_BOS = frozenset({
    "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
    "jina-v5-nano", "tekken", "chameleon",
})  # fmt: skip
_ALWAYS_BOS = frozenset({"gemma4", "granite-embed-multi-311m"})


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """`model` and `pre` are the file's words, ids are None where there is no such token."""

    model: str
    pre: str
    n_tokens: int
    bos_id: int | None
    eos_id: int | None
    add_bos: bool
    add_eos: bool

    @property
    def kind(self) -> str:
        """llama.cpp's vocabulary type in words; tokenizers of one kind can be compared."""
        return TOKENIZER_KINDS.get(self.model, self.model)


def read_tokenizer(metadata: Mapping[str, object], n_tokens: int) -> Tokenizer:
    """The tokenizer as llama.cpp would set it up from these entries."""
    model = _text(metadata, "tokenizer.ggml.model")
    pre = "gemma4" if model == "gemma4" else _text(metadata, "tokenizer.ggml.pre")
    is_bpe = TOKENIZER_KINDS.get(model) == "byte-level BPE"
    bos_id, eos_id = _DEFAULT_IDS.get(model, (None, None))
    if is_bpe and pre in _WITHOUT_BOS:
        bos_id = None
    add_bos = _flag(metadata, "tokenizer.ggml.add_bos_token", _adds_bos(model, pre, is_bpe=is_bpe))
    return Tokenizer(
        model=model,
        pre=pre,
        n_tokens=n_tokens,
        bos_id=_token_id(metadata, "tokenizer.ggml.bos_token_id", bos_id, n_tokens),
        eos_id=_token_id(metadata, "tokenizer.ggml.eos_token_id", eos_id, n_tokens),
        add_bos=add_bos or (is_bpe and pre in _ALWAYS_BOS),
        add_eos=_flag(metadata, "tokenizer.ggml.add_eos_token", model == "t5"),
    )


def texts_as_loaded(tokens: Sequence[bytes]) -> tuple[bytes, ...]:
    """Token texts as llama.cpp holds them: an empty one gets a name of its own."""
    if b"" not in tokens:
        return tuple(tokens)
    return tuple(text or b"[EMPTY_%d]" % index for index, text in enumerate(tokens))


def _adds_bos(model: str, pre: str, *, is_bpe: bool) -> bool:
    return model in ("llama", "bert") or (is_bpe and pre in _WITH_BOS)


def _text(metadata: Mapping[str, object], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def _flag(metadata: Mapping[str, object], key: str, default: bool) -> bool:
    value = metadata.get(key)
    return value if isinstance(value, bool) else default


def _token_id(
    metadata: Mapping[str, object], key: str, default: int | None, n_tokens: int
) -> int | None:
    """The id the file names, if it is in the vocabulary, else the default, if that is."""
    value = metadata.get(key)
    for candidate in (value, default):
        if isinstance(candidate, int) and not isinstance(candidate, bool):
            if 0 <= candidate < n_tokens:
                return candidate
    return None
