"""The memory and compute buffers of one sequence, and how positions are taken back in it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib
from numpy.typing import NDArray

from specviz.engine.llama.abort import AbortSwitch
from specviz.engine.llama.native_log import last_error, start
from specviz.engine.llama.weights import Weights
from specviz.engine.model import Cancellation, Cancelled, Progress
from specviz.engine.rollback import Rollback
from specviz.errors import EngineError
from specviz.trace.config import LoadConfig, ModelSpec, Switch

GGML_TYPES = {
    "f32": 0,
    "f16": 1,
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "iq4_nl": 20,
    "bf16": 30,
}
FLASH_ATTENTION = {Switch.AUTO: -1, Switch.OFF: 0, Switch.ON: 1}
MIN_OUTPUTS = 32
"""Rows of scores a context is prepared for; a longer draft rebuilds the context."""

_RECURRENT_ONLY = lib.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
_ON_DEVICE = lib.LLAMA_STATE_SEQ_FLAGS_ON_DEVICE

Evaluated = Callable[[Sequence[int]], None]
"""Called with the tokens of a batch right after it was evaluated."""


@dataclass(slots=True)
class SavedState:
    """The recurrent state as it was at `n_past` positions. The buffer is used again and again.

    `on_device`: the numbers stay where the context computes; a newer such state replaces this one.
    """

    on_device: bool
    n_past: int = -1
    data: Any = None
    size: int = 0

    @property
    def flags(self) -> int:
        return int(_RECURRENT_ONLY | (_ON_DEVICE if self.on_device else 0))


class Context:
    """One sequence on loaded weights, with its batch. `held` are the token ids in its memory.

    One preallocated batch: constant fields are written once, token and position through cached
    numpy views.
    """

    def __init__(
        self,
        weights: Weights,
        spec: ModelSpec,
        config: LoadConfig,
        *,
        n_outputs: int,
        n_threads: int,
        n_snapshots: int = 0,
    ) -> None:
        self.weights = weights
        parameters = lib.llama_context_default_params()
        parameters.n_ctx = config.n_ctx
        parameters.n_batch = max(config.n_batch, n_outputs)
        parameters.n_ubatch = parameters.n_batch
        parameters.n_outputs_max = n_outputs
        parameters.n_threads = parameters.n_threads_batch = n_threads
        parameters.flash_attn_type = FLASH_ATTENTION[config.flash_attention]
        parameters.type_k = GGML_TYPES[spec.type_k]
        parameters.type_v = GGML_TYPES[spec.type_v]
        parameters.n_rs_seq = n_snapshots
        self._adjust(parameters)
        with start().listening() as lines:
            self.handle: Any = lib.llama_init_from_model(weights.handle, parameters)
        if not self.handle:
            why = last_error(lines)
            raise EngineError(
                f"No memory could be set up for {Path(spec.path).name}"
                + (f": {why}." if why else "."),
                "A shorter context, or f16 for the KV cache, may help.",
            )
        self.memory: Any = lib.llama_get_memory(self.handle)
        self.flash_attention = _flash_attention(lines, config.flash_attention)
        self.n_ctx_allocated = int(lib.llama_n_ctx(self.handle))
        asked = config.n_ctx or weights.n_ctx_train
        # llama.cpp rounds up to a multiple of 256; what was asked for is what is used
        self.n_ctx = min(asked, self.n_ctx_allocated) if asked else self.n_ctx_allocated
        self.n_outputs = n_outputs
        self.n_batch = int(lib.llama_n_batch(self.handle))
        # architectures without snapshots ignore the wish
        self.n_snapshots = int(lib.llama_n_rs_seq(self.handle))
        self.held: list[int] = []
        self.rollback = Rollback.TRIM
        self._n_removable = 0
        self._spoiled = False
        self._end_of_prompt = SavedState(on_device=False)
        self._abort = AbortSwitch(self.handle)
        self._make_batch()
        self._count_up = np.arange(self.n_batch, dtype=np.int32)
        self._scores_at: int | None = None
        self._views: dict[int, NDArray[np.float32]] = {}
        self.rollback = self._find_rollback()

    def _adjust(self, parameters: Any) -> None:
        """A place for other kinds of context to ask for more."""

    def _make_batch(self) -> None:
        self._batch: Any = lib.llama_batch_init(self.n_batch, 0, 1)
        self._tokens: NDArray[np.int32] = np.ctypeslib.as_array(self._batch.token, (self.n_batch,))
        self._prepare_batch()

    def _prepare_batch(self) -> None:
        capacity = (self.n_batch,)
        self._positions = np.ctypeslib.as_array(self._batch.pos, capacity)
        self._outputs = np.ctypeslib.as_array(self._batch.logits, capacity)
        np.ctypeslib.as_array(self._batch.n_seq_id, capacity)[:] = 1
        for i in range(self.n_batch):
            self._batch.seq_id[i][0] = 0

    def close(self) -> None:
        if self.handle:
            lib.llama_batch_free(self._batch)
            lib.llama_free(self.handle)
            self.handle = None

    def abort(self) -> None:
        """Make a running decode return early; callable from any thread."""
        self._abort.abort()

    def rearm(self) -> None:
        self._abort.rearm()

    def set_threads(self, n_threads: int) -> None:
        lib.llama_set_n_threads(self.handle, n_threads, n_threads)

    @property
    def n_threads(self) -> int:
        return int(lib.llama_n_threads(self.handle))

    # Positions -----------------------------------------------------------------------------------
    @property
    def n_past(self) -> int:
        """Positions in memory."""
        return len(self.held)

    def clear(self) -> None:
        """Forget everything."""
        lib.llama_memory_clear(self.memory, True)
        self.held.clear()
        self._n_removable = 0
        self._spoiled = False
        self._end_of_prompt.n_past = -1

    def _find_rollback(self) -> Rollback:
        """llama.cpp's own test, with two tokens. Clears the memory."""
        if not self.memory:
            raise EngineError("This model keeps no memory of a text, so it cannot write one.")
        if self.n_snapshots > 0:
            return Rollback.SNAPSHOTS
        token = max(self.weights.bos_id, 0)
        works = self.decode([token, token], n_outputs=0) == 0
        trims = works and bool(lib.llama_memory_seq_rm(self.memory, 0, 1, -1))
        self.clear()
        return Rollback.TRIM if trims or not works else Rollback.CHECKPOINT

    def forget(self, n_past: int) -> bool:
        """Drop all positions from `n_past` on. False, with nothing changed, where that is too deep.

        With snapshots the depth is counted here: llama.cpp says yes to more than it has kept, and
        then goes on from a wrong state. A decode of b tokens can be undone by b - 1 of them at
        most, once.
        """
        depth = self.n_past - n_past
        if depth <= 0:
            return True
        if n_past == 0:
            self.clear()
            return True
        if self.rollback is not Rollback.TRIM and depth > self._n_removable:
            return False
        if not lib.llama_memory_seq_rm(self.memory, 0, n_past, -1):
            return False
        self._n_removable = 0
        self._cut(n_past)
        return True

    def _cut(self, n_past: int) -> None:
        del self.held[n_past:]
        if self._end_of_prompt.n_past > n_past:
            self._end_of_prompt.n_past = -1

    def save(self, state: SavedState) -> None:
        """Keep the recurrent state of this moment in `state`."""
        size = int(lib.llama_state_seq_get_size_ext(self.handle, 0, state.flags))
        if state.data is None or len(state.data) < size:
            state.data = (ctypes.c_uint8 * size)()
        written = lib.llama_state_seq_get_data_ext(self.handle, state.data, size, 0, state.flags)
        if size == 0 or written != size:
            raise EngineError("The state of the model could not be saved.")
        state.size, state.n_past = size, self.n_past

    def restore(self, state: SavedState) -> None:
        """Back to the moment of `state`, which stays good for another time.

        Everything before that moment must still be in memory.
        """
        if not 0 <= state.n_past <= self.n_past:
            raise EngineError("There is no saved state to go back to.")
        read = lib.llama_state_seq_set_data_ext(self.handle, state.data, state.size, 0, state.flags)
        if read == 0 or not lib.llama_memory_seq_rm(self.memory, 0, state.n_past, -1):
            raise EngineError("The saved state of the model could not be restored.")
        # a restored state has no older versions of itself, though llama.cpp would say it has
        self._n_removable = 0
        self._cut(state.n_past)

    def rewind(self, n_past: int) -> int:
        """Go back to `n_past` positions, or further where the model can only go there."""
        if self._spoiled:
            self.clear()
        if not self.forget(n_past):
            if 0 < self._end_of_prompt.n_past <= n_past:
                self.restore(self._end_of_prompt)
            else:
                self.clear()
        return self.n_past

    # Evaluating ----------------------------------------------------------------------------------
    def decode(self, token_ids: Sequence[int], *, n_outputs: int) -> int:
        """Evaluate tokens at the end of the memory, with scores for the last `n_outputs`.

        Returns llama_decode's code: 0 is done, 1 no room, 2 aborted.
        """
        count = len(token_ids)
        if not 0 < count <= self.n_batch or self.n_past + count > self.n_ctx_allocated:
            raise EngineError(f"A batch of {count} tokens does not fit.", "Make the draft shorter.")
        if n_outputs > self.n_outputs:
            raise EngineError(f"A draft of {n_outputs - 1} tokens is longer than prepared for.")
        if min(token_ids) < 0 or max(token_ids) >= self.weights.n_vocab:
            raise EngineError("A token is outside the model's vocabulary.")
        self._tokens[:count] = token_ids
        self._positions[:count] = self._count_up[:count] + len(self.held)
        self._outputs[: count - n_outputs] = 0
        self._outputs[count - n_outputs : count] = 1
        self._batch.n_tokens = count
        code = int(lib.llama_decode(self.handle, self._batch))
        if code == 0:
            lib.llama_synchronize(self.handle)
            self.held += token_ids
            self._n_removable = min(self.n_snapshots, count - 1)
        elif code != 1:
            # part of the batch may have been evaluated
            self._spoiled = True
        return code

    def rows(self, count: int) -> NDArray[np.float32]:
        """The score rows of the last decode, shape (count, n_vocab): a view, until the next."""
        pointer = lib.llama_get_logits(self.handle)
        if not pointer:
            raise EngineError("The engine gave no scores.")
        # the buffer stays where it is until it has to grow, and views are slow to make
        address = ctypes.addressof(pointer.contents)
        if address != self._scores_at:
            self._scores_at = address
            self._views.clear()
        view = self._views.get(count)
        if view is None:
            view = np.ctypeslib.as_array(pointer, (count, self.weights.n_vocab))
            self._views[count] = view
        return view

    def shared_with(self, token_ids: Sequence[int]) -> int:
        """How many tokens at the beginning of the memory are those of this text."""
        if self._spoiled:
            return 0
        for i, (held, token_id) in enumerate(zip(self.held, token_ids, strict=False)):
            if held != token_id:
                return i
        return min(len(self.held), len(token_ids))

    def prefill(
        self,
        token_ids: Sequence[int],
        cancelled: Cancellation,
        progress: Progress,
        evaluated: Evaluated | None = None,
    ) -> None:
        """Evaluate what of this prompt is not in memory, in batches; raises Cancelled.

        What is in memory has to be a beginning of it; see `rewind`.
        """
        begin, total = self.n_past, len(token_ids)
        for at in range(begin, total, self.n_batch):
            if cancelled.is_set():
                raise Cancelled
            progress(at - begin, total - begin)
            batch = token_ids[at : at + self.n_batch]
            code = self.decode(batch, n_outputs=0)
            if cancelled.is_set():
                raise Cancelled
            check(code, "The prompt could not be evaluated")
            if evaluated is not None:
                evaluated(batch)
        if self.rollback is not Rollback.TRIM and self.n_past > 0:
            if self._end_of_prompt.n_past != self.n_past:
                self.save(self._end_of_prompt)
        progress(total - begin, total - begin)

    @property
    def end_of_prompt(self) -> int:
        """Where a model that cannot trim can go back to; -1 for nowhere."""
        return self._end_of_prompt.n_past


def check(code: int, what: str) -> None:
    """Raise for a code of `Context.decode` that is not 0: Cancelled when aborted, EngineError."""
    if code == 2:
        raise Cancelled
    if code != 0:
        raise EngineError(f"{what} (code {code}).")


def _flash_attention(lines: Sequence[str], asked: Switch) -> bool:
    for line in lines:
        found = re.search(r"[Ff]lash [Aa]ttention was auto, set to (enabled|disabled)", line)
        if found:
            return found.group(1) == "enabled"
    return asked is not Switch.OFF


def warm_up(context: Context, widths: Sequence[int]) -> None:
    """Evaluate batches of these widths once, unrecorded, and forget them."""
    token = max(context.weights.bos_id, 0)
    for width in widths:
        context.clear()
        n_rows = min(width, context.n_outputs)
        code = context.decode([token] * n_rows, n_outputs=n_rows)
        if code not in (0, 2):
            raise EngineError(f"A first test of the model failed (code {code}).")
    context.clear()
