"""The next-token (MTP) blocks that some files carry: a draft that reads the target's hidden rows.

The block predicts the token after next from a token and the hidden row before it. It keeps a
memory of its own, in a context of its own on the target's weights. The functions it needs are not
part of llama.cpp's public interface; a build without them says so.

Source of the procedure: `common_speculative_impl_draft_mtp` in llama.cpp's common/speculative.cpp.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib
from numpy.typing import NDArray

from specviz.engine.llama.context import Context, check
from specviz.engine.llama.weights import Weights
from specviz.engine.model import Cancelled
from specviz.engine.sampling import draft_candidate
from specviz.errors import EngineError
from specviz.trace.config import LoadConfig, ModelSpec

try:
    from llama_cpp import llama_cpp_ext as extension
except (ImportError, AttributeError, OSError):  # it is experimental, and says so
    extension = None

Rows = NDArray[np.float32]


def available() -> bool:
    """Whether this build lets hidden rows be read."""
    return extension is not None


def give_hidden_rows(context: Context, on: bool) -> None:
    """Have the target keep a hidden row for each token it evaluates, or no longer."""
    if extension is not None:
        extension.llama_set_embeddings_nextn(context.handle, on, False)


class HeadContext(Context):
    """The memory of the next-token block. Its batches carry a hidden row for each token."""

    def __init__(
        self,
        weights: Weights,
        spec: ModelSpec,
        config: LoadConfig,
        *,
        target: Context,
        n_threads: int,
    ) -> None:
        self._target = target
        self.width = int(lib.llama_model_n_embd(weights.handle))
        super().__init__(weights, spec, config, n_outputs=1, n_threads=n_threads)
        extension.llama_set_embeddings_nextn(self.handle, True, True)

    def _adjust(self, parameters: Any) -> None:
        parameters.ctx_type = lib.LLAMA_CONTEXT_TYPE_MTP
        parameters.ctx_other = self._target.handle

    def _make_batch(self) -> None:
        # with a width, llama.cpp gives the batch room for rows and none for token ids
        self._batch = lib.llama_batch_init(self.n_batch, self.width, 1)
        self._token_store = (lib.llama_token * self.n_batch)()
        self._batch.token = ctypes.cast(self._token_store, ctypes.POINTER(lib.llama_token))
        self._tokens = np.ctypeslib.as_array(self._token_store)
        self._hidden: Rows = np.ctypeslib.as_array(self._batch.embd, (self.n_batch, self.width))
        self._hidden[:] = 0
        self._prepare_batch()

    def close(self) -> None:
        if self.handle:
            # the ids are ours to free
            self._batch.token = ctypes.POINTER(lib.llama_token)()
        super().close()

    def decode_with(self, token_ids: Sequence[int], hidden: Rows, *, n_outputs: int) -> int:
        """Like `decode`, with the hidden rows that belong to the tokens, (n_tokens, width)."""
        self._hidden[: len(token_ids)] = hidden
        return self.decode(token_ids, n_outputs=n_outputs)

    def hidden_of_target(self, n_rows: int) -> Rows:
        """The hidden rows of the target's last batch, (n_rows, width): a view, until the next."""
        pointer = extension.llama_get_embeddings_nextn(self._target.handle)
        if not pointer:
            raise EngineError("The target gave no hidden rows to draft from.")
        return np.ctypeslib.as_array(pointer, (n_rows, self.width))

    def own_hidden(self) -> Rows:
        """The hidden row of the block's last output, (width,): a view, until the next."""
        pointer = extension.llama_get_embeddings_nextn_ith(self.handle, -1)
        if not pointer:
            raise EngineError("The next-token block gave no hidden row.")
        return np.ctypeslib.as_array(pointer, (self.width,))


class NextTokenHead:
    """Follows the target (see target.Follower) and proposes (see drafting.next_token.Head).

    Tokens that stand are queued with the hidden row before them, and evaluated together with the
    next pending token: one pass fewer than llama.cpp's own two.
    """

    def __init__(self, context: HeadContext, n_vocab: int) -> None:
        self._context = context
        self._n_vocab = n_vocab
        self._todo: list[int] = []
        self._todo_hidden: list[Rows] = []
        self._n_followed = 0
        self._last = np.zeros(context.width, dtype=np.float32)
        self._chain = self._last
        self._prompt_end = (0, self._last)

    # Following -----------------------------------------------------------------------------------
    def resume(self, token_ids: Sequence[int], n_shared: int) -> int:
        # the hidden row before the next token is known in two places only
        end, row = self._prompt_end
        if end > min(n_shared, self._context.shared_with(token_ids)):
            end, row = self._prompt_end = 0, np.zeros_like(row)
        self._todo, self._todo_hidden = [], []
        self._n_followed, self._last = self._context.rewind(end), row
        return end

    def follow(self, token_ids: Sequence[int], first_row: int) -> None:
        count = len(token_ids)
        rows = self._context.hidden_of_target(first_row + count)[first_row:]
        before = np.empty_like(rows)
        before[0] = self._last
        before[1:] = rows[:-1]
        self._last = rows[-1].copy()
        self._todo += token_ids
        self._todo_hidden.append(before)
        self._n_followed += count
        if len(self._todo) >= self._context.n_batch:
            self._flush()

    def end_prompt(self) -> None:
        self._flush()
        self._prompt_end = (self._n_followed, self._last)

    def _flush(self) -> None:
        """Evaluate what stands."""
        self._context.forget(self._n_followed - len(self._todo))
        if not self._todo:
            return
        hidden = np.concatenate(self._todo_hidden)
        tokens, size = self._todo, self._context.n_batch
        for begin in range(0, len(tokens), size):
            part = slice(begin, begin + size)
            code = self._context.decode_with(tokens[part], hidden[part], n_outputs=0)
            check(code, "The next-token block could not follow the target")
        self._todo, self._todo_hidden = [], []

    # Drafting ------------------------------------------------------------------------------------
    @property
    def n_ctx(self) -> int:
        return self._context.n_ctx

    def start(self, pending: int) -> tuple[int, float] | None:
        """Forget the last draft; what may follow `pending`."""
        self._context.forget(self._n_followed - len(self._todo))
        if len(self._todo) + 1 > self._context.n_batch:
            self._flush()
        tokens = [*self._todo, pending]
        hidden = np.concatenate([*self._todo_hidden, self._last[None]])
        self._todo, self._todo_hidden = [], []
        return self._evaluate(tokens, hidden)

    def go_on(self, token_id: int) -> tuple[int, float] | None:
        """What may follow the token that was proposed last."""
        return self._evaluate([token_id], self._chain[None])

    def _evaluate(self, tokens: Sequence[int], hidden: Rows) -> tuple[int, float] | None:
        code = self._context.decode_with(tokens, hidden, n_outputs=1)
        if code == 2:
            raise Cancelled
        if code != 0:
            return None
        self._chain = self._context.own_hidden().copy()
        token_id, prob = draft_candidate(self._context.rows(1)[0])
        return (token_id, prob) if token_id < self._n_vocab else None
