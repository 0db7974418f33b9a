"""Tokenizers for tiny models, as a file describes them, and chat templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

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


def is_ascii(text: str) -> bool:
    """Whether the text of a token stands for printable ASCII."""
    return all(" " < character <= "~" or character == SPACE for character in text)


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
