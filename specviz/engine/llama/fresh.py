"""Memory that no drafting has touched, on weights that are loaded: what a lossless check goes by.

It shares the settings of the context whose work is checked, and as little code as possible:
rejected rows are dropped, or the whole memory is put back, with none of the shortcuts of
context.py. Slower, and simple enough to be trusted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib

from specviz.engine.llama.abort import AbortSwitch
from specviz.engine.llama.context import FLASH_ATTENTION, GGML_TYPES, Context, check
from specviz.engine.llama.weights import Weights
from specviz.engine.sampling import Row
from specviz.errors import EngineError, SettingError
from specviz.trace.config import LoadConfig, ModelSpec


class FreshMemory:
    """See lossless.Memory. `like`: the context whose batch size and threads it takes on."""

    def __init__(
        self,
        weights: Weights,
        spec: ModelSpec,
        config: LoadConfig,
        *,
        like: Context,
    ) -> None:
        parameters = lib.llama_context_default_params()
        parameters.n_ctx = config.n_ctx
        parameters.n_batch = parameters.n_ubatch = like.n_batch
        parameters.n_outputs_max = like.n_outputs
        parameters.n_threads = parameters.n_threads_batch = like.n_threads
        parameters.flash_attn_type = FLASH_ATTENTION[config.flash_attention]
        parameters.type_k = GGML_TYPES[spec.type_k]
        parameters.type_v = GGML_TYPES[spec.type_v]
        self._handle: Any = lib.llama_init_from_model(weights.handle, parameters)
        if not self._handle:
            raise EngineError(
                f"There is no memory left to check {Path(spec.path).name} on.",
                "A shorter context may help.",
            )
        self.n_vocab = weights.n_vocab
        self.n_batch = int(lib.llama_n_batch(self._handle))
        self.n_rows_most = like.n_outputs
        self._n_ctx = int(lib.llama_n_ctx(self._handle))
        self._memory: Any = lib.llama_get_memory(self._handle)
        self._switch = AbortSwitch(self._handle)
        self._batch: Any = lib.llama_batch_init(self.n_batch, 0, 1)
        self._saved: Any = None
        self.trims = self._find_out_whether_it_trims(max(weights.bos_id, 0))

    def close(self) -> None:
        """Return the memory."""
        if self._handle:
            lib.llama_batch_free(self._batch)
            lib.llama_free(self._handle)
            self._handle = self._saved = None

    def abort(self) -> None:
        """Make a running evaluation return early; callable from any thread."""
        self._switch.abort()

    def _find_out_whether_it_trims(self, token_id: int) -> bool:
        self.evaluate([token_id, token_id], 0)
        trims = bool(lib.llama_memory_seq_rm(self._memory, 0, 1, -1))
        self.clear()
        return trims

    @property
    def n_past(self) -> int:
        """Positions in memory, as the memory itself has it."""
        return int(lib.llama_memory_seq_pos_max(self._memory, 0)) + 1

    def clear(self) -> None:
        """Forget everything."""
        lib.llama_memory_clear(self._memory, True)

    def evaluate(self, token_ids: Sequence[int], n_rows: int) -> Row:
        """Evaluate tokens behind what is there; the scores of the last `n_rows`, until the next.

        Raises Cancelled when aborted, SettingError for what cannot be evaluated.
        """
        begin, count = self.n_past, len(token_ids)
        self._refuse_impossible(token_ids, begin, n_rows)
        batch = self._batch
        for i, token_id in enumerate(token_ids):
            batch.token[i] = token_id
            batch.pos[i] = begin + i
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = 0
            batch.logits[i] = i >= count - n_rows
        batch.n_tokens = count
        check(int(lib.llama_decode(self._handle, batch)), "The text could not be evaluated anew")
        lib.llama_synchronize(self._handle)
        self._expect(begin + count)
        if n_rows == 0:
            return np.empty((0, self.n_vocab), dtype=np.float32)
        return np.ctypeslib.as_array(lib.llama_get_logits(self._handle), (n_rows, self.n_vocab))

    def _refuse_impossible(self, token_ids: Sequence[int], begin: int, n_rows: int) -> None:
        # llama.cpp would end the process; a recorded run may be of another model
        count = len(token_ids)
        fits = 0 < count <= self.n_batch and begin + count <= self._n_ctx
        if not fits or n_rows > min(count, self.n_rows_most):
            raise SettingError("The recorded run does not fit into this context.")
        if min(token_ids) < 0 or max(token_ids) >= self.n_vocab:
            raise SettingError("The recorded run has tokens that this model does not have.")

    def drop(self, n_past: int) -> None:
        """Forget all positions from `n_past` on, and make sure that just they are gone."""
        if not lib.llama_memory_seq_rm(self._memory, 0, n_past, -1):
            raise EngineError("Rejected tokens could not be forgotten.")
        self._expect(n_past)

    def save(self) -> None:
        """Keep the whole memory as it is."""
        size = int(lib.llama_state_seq_get_size_ext(self._handle, 0, 0))
        if self._saved is None or len(self._saved) != size:
            self._saved = (ctypes.c_uint8 * size)()
        if lib.llama_state_seq_get_data_ext(self._handle, self._saved, size, 0, 0) != size:
            raise EngineError("The state of the model could not be saved.")

    def put_back(self) -> None:
        """Have the memory as it was saved."""
        lib.llama_memory_clear(self._memory, False)
        size = len(self._saved)
        if lib.llama_state_seq_set_data_ext(self._handle, self._saved, size, 0, 0) == 0:
            raise EngineError("The saved state of the model could not be restored.")

    def _expect(self, n_past: int) -> None:
        if self.n_past != n_past:
            raise EngineError(
                f"The model's memory holds {self.n_past} positions in place of {n_past}."
            )
