"""Writes very small GGUF models with random weights, and deliberately odd files.

A file is 0.1 to 2 MB, loads in well under a second and generates lively text. Every tensor is
drawn from its own name and the seed, so files of one seed share whatever tensors they have in
common: a draft with fewer blocks agrees with its target the more often, the smaller `mix` is.
Knows nothing of our own reader; only the `gguf` package is used.

A missing tensor can end the process at the first decode: load a new kind of file in a process of
its own first, see native_decoding.py.
"""

from support.tiny_gguf.attention import write_gemma3, write_llama, write_qwen3, write_qwen3moe
from support.tiny_gguf.files import part_paths, write_gguf
from support.tiny_gguf.recurrent import (
    write_falcon_h1,
    write_jamba,
    write_lfm2,
    write_mamba,
    write_nemotron_h,
    write_qwen3next,
    write_qwen35,
    write_qwen35moe,
    write_rwkv7,
)
from support.tiny_gguf.vocabularies import (
    CHATML,
    CHATML_WITH_SWITCH,
    SPECIAL_TOKENS,
    Vocabulary,
    make_sentencepiece_vocabulary,
    make_vocabulary,
)

__all__ = [
    "CHATML",
    "CHATML_WITH_SWITCH",
    "SPECIAL_TOKENS",
    "Vocabulary",
    "make_sentencepiece_vocabulary",
    "make_vocabulary",
    "part_paths",
    "write_falcon_h1",
    "write_gemma3",
    "write_gguf",
    "write_jamba",
    "write_lfm2",
    "write_llama",
    "write_mamba",
    "write_nemotron_h",
    "write_qwen3",
    "write_qwen3moe",
    "write_qwen3next",
    "write_qwen35",
    "write_qwen35moe",
    "write_rwkv7",
]
