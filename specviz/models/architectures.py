"""What can be told from `general.architecture` alone, by llama.cpp's names.

From llama-arch.cpp and llama-model.cpp of the llama.cpp in llama-cpp-python 0.3.36.
"""

from __future__ import annotations

RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
"""No attention cache at all (`llm_arch_is_recurrent`)."""

HYBRID = frozenset({
    "bailingmoe3", "deepseek4", "falcon-h1", "glm5-next", "granitehybrid", "jamba", "kimi-k3",
    "kimi-linear", "lfm2", "lfm2moe", "minimax-01", "nemotron_h", "nemotron_h_moe", "plamo2",
    "qwen35", "qwen35moe", "qwen3next", "qwen4exp",
})  # fmt: skip
"""Some blocks attend, others carry a state (`llm_arch_is_hybrid`)."""

DIFFUSION = frozenset({"dream", "llada", "llada-moe", "rnd1"})
"""Write many tokens at once, in any order (`llm_arch_is_diffusion`)."""

EMBEDDING = frozenset({
    "bert", "eurobert", "gemma-embedding", "jina-bert-v2", "jina-bert-v3", "llama-embed",
    "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe",
})  # fmt: skip
"""Turn a text into a vector."""

ENCODER_DECODER = frozenset({"t5", "t5encoder"})

SPEECH = frozenset({"pockettts", "qwen3tts", "wavtokenizer-dec"})
"""Write sound."""


def can_trim(architecture: str) -> bool:
    """Whether the newest positions alone can be removed from the model's memory."""
    return architecture not in RECURRENT and architecture not in HYBRID
