"""The target's sampler."""

from __future__ import annotations

from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib
from numpy.typing import NDArray

from specviz.engine.llama.context import Context
from specviz.engine.sampling import most_likely
from specviz.trace.config import SamplingConfig


class Sampler:
    """llama.cpp's sampler chain: top-k, top-p, min-p, temperature, seeded draw."""

    def __init__(self, config: SamplingConfig) -> None:
        self.greedy = config.temperature <= 0
        self._chain: Any = None
        if self.greedy:
            return
        self._chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        seed = (config.seed or 0) & 0xFFFFFFFF
        for part in (
            lib.llama_sampler_init_top_k(config.top_k),
            lib.llama_sampler_init_top_p(config.top_p, 1),
            lib.llama_sampler_init_min_p(config.min_p, 1),
            lib.llama_sampler_init_temp(config.temperature),
            lib.llama_sampler_init_dist(seed),
        ):
            lib.llama_sampler_chain_add(self._chain, part)

    def sample(self, context: Context, rows: NDArray[np.float32], row: int, n_without: int) -> int:
        """Draw from a row and advance by the drawn token.

        `n_without`: tokens of the batch before the first row, which have no scores.
        """
        if self.greedy:
            return most_likely(rows[row])
        return int(lib.llama_sampler_sample(self._chain, context.handle, n_without + row))

    def close(self) -> None:
        if self._chain:
            lib.llama_sampler_free(self._chain)
            self._chain = None
