"""The only module that knows llama_cpp: weights, contexts, samplers, devices, logs.

Works on the low-level bindings and checks every precondition before the call, because llama.cpp
aborts the process on many of them. Knows nothing of drafting, limits or events.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from llama_cpp import llama_cpp as lib
from numpy.typing import NDArray

from specviz import __version__
from specviz.engine.model import Cancellation, Cancelled, Observation, Progress
from specviz.engine.sampling import draft_candidate, most_likely, runner_up, token_probability
from specviz.errors import EngineError, SettingError
from specviz.trace.config import LoadConfig, ModelSpec, SamplingConfig, Switch
from specviz.trace.events import Environment

log = logging.getLogger(__name__)

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
FTYPE_Q8_0 = 7
DEVICE_KINDS = ("cpu", "gpu", "igpu", "accel", "meta")
MIN_OUTPUTS = 32
"""Rows of scores a context is prepared for; a longer draft rebuilds the context."""

MAX_PIECE_BYTES = 1 << 20


# Logs --------------------------------------------------------------------------------------------
class NativeLog:
    """llama.cpp's log lines: written to standard error and kept while somebody listens.

    The callback of the package has the levels mixed up, so ours replaces it.
    """

    LEVELS = (logging.DEBUG, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)

    def __init__(self) -> None:
        self._lines: list[str] | None = None
        self._partial = ""
        # the reference keeps the callback alive as long as llama.cpp may call it
        self._callback = lib.llama_log_callback(self._receive)
        lib.llama_log_set(self._callback, ctypes.c_void_p(0))

    def _receive(self, level: int, text: bytes, _: object) -> None:
        self._partial += text.decode("utf-8", "replace")
        *whole, self._partial = self._partial.split("\n")
        for line in whole:
            if level != 1:
                sys.stderr.write(line + "\n")
            if self._lines is not None:
                self._lines.append(line)

    @contextlib.contextmanager
    def listening(self) -> Iterator[list[str]]:
        """Collects the lines of the calls inside the block."""
        lines: list[str] = []
        self._lines = lines
        try:
            yield lines
        finally:
            self._lines = None
            sys.stderr.flush()


_native_log: NativeLog | None = None


def start() -> NativeLog:
    """Bring the library up once for this process; returns its log."""
    global _native_log
    if _native_log is None:
        _native_log = NativeLog()
        lib.llama_backend_init()
    return _native_log


def last_error(lines: Sequence[str]) -> str:
    """The telling line of a failed load, without its function prefix."""
    telling = [line for line in lines if re.search(r"error|fail|invalid|unknown|missing", line)]
    line = (telling or list(lines) or [""])[0]
    return re.sub(r"^\w+: ", "", line).strip()[:240]


# The build ---------------------------------------------------------------------------------------
def environment(safe_mode: bool) -> Environment:
    """Versions and features of the engine build."""
    return Environment(
        specviz_version=__version__,
        llama_cpp_python=llama_cpp.__version__,
        llama_cpp=lib.llama_version().decode("utf-8", "replace"),
        system_info=lib.llama_print_system_info().decode("utf-8", "replace").strip(),
        safe_mode=safe_mode,
    )


def supports_gpu() -> bool:
    """Whether this build can put layers on a GPU."""
    return bool(lib.llama_supports_gpu_offload())


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A ggml device; memory in bytes."""

    name: str
    description: str
    kind: str
    memory_free: int
    memory_total: int


def devices() -> list[DeviceInfo]:
    """What ggml can compute on; empty where its functions cannot be reached by name."""
    start()
    from llama_cpp._ggml import libggml

    def function(name: str, result: Any, *arguments: Any) -> Any:
        found = getattr(libggml, name)
        found.restype, found.argtypes = result, list(arguments)
        return found

    try:
        count = function("ggml_backend_dev_count", ctypes.c_size_t)
        get = function("ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
        name = function("ggml_backend_dev_name", ctypes.c_char_p, ctypes.c_void_p)
        describe = function("ggml_backend_dev_description", ctypes.c_char_p, ctypes.c_void_p)
        kind = function("ggml_backend_dev_type", ctypes.c_int, ctypes.c_void_p)
        memory = function(
            "ggml_backend_dev_memory",
            None,
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_size_t),
            ctypes.POINTER(ctypes.c_size_t),
        )
    except AttributeError:
        return []
    found = []
    for index in range(count()):
        device = get(index)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        memory(device, ctypes.byref(free), ctypes.byref(total))
        number = kind(device)
        found.append(
            DeviceInfo(
                name=(name(device) or b"").decode("utf-8", "replace"),
                description=(describe(device) or b"").decode("utf-8", "replace"),
                kind=DEVICE_KINDS[number] if number < len(DEVICE_KINDS) else "other",
                memory_free=free.value,
                memory_total=total.value,
            )
        )
    return found


def requantise(source: Path, destination: Path) -> None:
    """Write `source` as Q8_0; the destination appears only when it is complete."""
    start()
    parameters = lib.llama_model_quantize_default_params()
    parameters.ftype = FTYPE_Q8_0
    parameters.allow_requantize = True
    destination.parent.mkdir(parents=True, exist_ok=True)
    partial = destination.with_suffix(".partial")
    try:
        code = lib.llama_model_quantize(
            path_bytes(source), path_bytes(partial), ctypes.byref(parameters)
        )
        if code != 0:
            raise EngineError(
                f"{source.name} could not be converted to Q8_0.",
                "There may be too little room for it in the cache folder.",
            )
        partial.replace(destination)
    finally:
        partial.unlink(missing_ok=True)


def path_bytes(path: Path | str) -> bytes:
    """A path as llama.cpp wants it: UTF-8 on Windows, the system's bytes elsewhere."""
    text = str(path)
    return (
        text.encode("utf-8")
        if sys.platform == "win32"
        else text.encode(sys.getfilesystemencoding(), "surrogateescape")
    )


# Weights -----------------------------------------------------------------------------------------
class Weights:
    """A loaded model file, its vocabulary and what the loader said of it."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        repack: bool,
        on_progress: Callable[[float], None],
        cancelled: Cancellation,
    ) -> None:
        native_log = start()
        parameters = lib.llama_model_default_params()
        parameters.n_gpu_layers = spec.n_gpu_layers
        parameters.use_extra_bufts = repack

        def progress(fraction: float, _: object) -> bool:
            on_progress(fraction)
            return not cancelled.is_set()

        callback = lib.llama_progress_callback(progress)
        parameters.progress_callback = callback
        with native_log.listening() as lines:
            self.handle: Any = lib.llama_model_load_from_file(path_bytes(spec.path), parameters)
        if not self.handle:
            if cancelled.is_set():
                raise Cancelled
            why = last_error(lines)
            raise EngineError(
                f"{Path(spec.path).name} could not be loaded" + (f": {why}." if why else "."),
                "The file may be damaged or too new for this llama.cpp, or memory may be short.",
            )
        self.vocab: Any = lib.llama_model_get_vocab(self.handle)
        self.n_vocab: int = lib.llama_vocab_n_tokens(self.vocab)
        self.n_layers_on_gpu = _layers_on_gpu(lines)
        self.repacked = any(
            "REPACK" in line or "AMX" in line for line in lines if "buffer size" in line
        )
        self._pieces: dict[int, bytes] = {}

    def close(self) -> None:
        if self.handle:
            lib.llama_model_free(self.handle)
            self.handle = None

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Token ids of a text."""
        data = text.encode("utf-8", "replace")
        capacity = len(data) + 8
        while True:
            ids = (lib.llama_token * capacity)()
            count = lib.llama_tokenize(
                self.vocab, data, len(data), ids, capacity, add_special, parse_special
            )
            if count >= 0:
                return list(ids[:count])
            if -count <= capacity:
                raise SettingError("The prompt is too long to be tokenised.")
            capacity = -count

    def piece(self, token_id: int) -> bytes:
        """Bytes of a token; control tokens give none."""
        found = self._pieces.get(token_id)
        if found is None:
            found = self._pieces[token_id] = self._read_piece(token_id, special=False)
        return found

    def _read_piece(self, token_id: int, *, special: bool) -> bytes:
        # ids outside the vocabulary end the process inside llama.cpp
        if not 0 <= token_id < self.n_vocab:
            return b""
        capacity = 64
        while capacity <= MAX_PIECE_BYTES:
            buffer = ctypes.create_string_buffer(capacity)
            size = lib.llama_token_to_piece(self.vocab, token_id, buffer, capacity, 0, special)
            if size >= 0:
                return buffer.raw[:size]
            capacity = -size
        return b""

    def special_text(self, token_id: int) -> str:
        """Text of a special token such as BOS; empty when the model has none."""
        if token_id < 0:
            return ""
        return self._read_piece(token_id, special=True).decode("utf-8", "replace")

    @property
    def bos_id(self) -> int:
        return int(lib.llama_vocab_bos(self.vocab))

    @property
    def eos_id(self) -> int:
        return int(lib.llama_vocab_eos(self.vocab))

    def ends_generation(self, token_id: int) -> bool:
        return bool(lib.llama_vocab_is_eog(self.vocab, token_id))

    @property
    def chat_template(self) -> str | None:
        source = lib.llama_model_chat_template(self.handle, None)
        return source.decode("utf-8", "replace") if source else None

    @property
    def n_ctx_train(self) -> int:
        return int(lib.llama_model_n_ctx_train(self.handle))

    @property
    def has_encoder(self) -> bool:
        return bool(lib.llama_model_has_encoder(self.handle))

    @property
    def has_decoder(self) -> bool:
        return bool(lib.llama_model_has_decoder(self.handle))


def _layers_on_gpu(lines: Sequence[str]) -> int:
    for line in lines:
        found = re.search(r"offloaded (\d+)/\d+ layers to GPU", line)
        if found:
            return int(found.group(1))
    return 0


# Contexts ----------------------------------------------------------------------------------------
class Context:
    """The memory and compute buffers of one sequence on loaded weights, with its batch.

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
        self.n_past = 0
        self._abort = ctypes.create_string_buffer(2)
        self._set_abort_callback()
        self._batch: Any = lib.llama_batch_init(self.n_batch, 0, 1)
        capacity = (self.n_batch,)
        self._tokens = np.ctypeslib.as_array(self._batch.token, capacity)
        self._positions = np.ctypeslib.as_array(self._batch.pos, capacity)
        self._outputs = np.ctypeslib.as_array(self._batch.logits, capacity)
        np.ctypeslib.as_array(self._batch.n_seq_id, capacity)[:] = 1
        for i in range(self.n_batch):
            self._batch.seq_id[i][0] = 0
        self._count_up = np.arange(self.n_batch, dtype=np.int32)
        self._scores_at: int | None = None
        self._views: dict[int, NDArray[np.float32]] = {}

    def close(self) -> None:
        if self.handle:
            lib.llama_batch_free(self._batch)
            lib.llama_free(self.handle)
            self.handle = None

    def _set_abort_callback(self) -> None:
        """Let `abort` reach into a running graph without taking the interpreter lock.

        libc's strlen serves as the callback: it returns 0 until the first byte of its argument is
        set. Where libc is not at hand a decode runs to the end of its batch.
        """
        if sys.platform == "win32":
            return
        strlen = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
        self._abort_callback = lib.ggml_abort_callback(strlen)
        lib.llama_set_abort_callback(
            self.handle, self._abort_callback, ctypes.c_void_p(ctypes.addressof(self._abort))
        )

    def abort(self) -> None:
        """Make a running decode return early; callable from any thread."""
        self._abort[0] = b"\x01"

    def rearm(self) -> None:
        self._abort[0] = b"\x00"

    def set_threads(self, n_threads: int) -> None:
        lib.llama_set_n_threads(self.handle, n_threads, n_threads)

    @property
    def n_threads(self) -> int:
        return int(lib.llama_n_threads(self.handle))

    def clear(self) -> None:
        """Forget everything."""
        lib.llama_memory_clear(self.memory, True)
        self.n_past = 0

    def truncate(self, n_past: int) -> None:
        """Forget all positions from `n_past` on."""
        if n_past >= self.n_past:
            return
        if not lib.llama_memory_seq_rm(self.memory, 0, n_past, -1):
            raise EngineError(
                "This model cannot forget rejected tokens.", "Run it without a draft."
            )
        self.n_past = n_past

    def decode(self, token_ids: Sequence[int], *, outputs: str) -> int:
        """Evaluate tokens at the end of the memory; `outputs` is all, last or none.

        Returns llama_decode's code: 0 is done, 1 no room, 2 aborted.
        """
        count = len(token_ids)
        if not 0 < count <= self.n_batch or self.n_past + count > self.n_ctx_allocated:
            raise EngineError(f"A batch of {count} tokens does not fit.", "Make the draft shorter.")
        if outputs == "all" and count > self.n_outputs:
            raise EngineError(f"A draft of {count - 1} tokens is longer than prepared for.")
        if min(token_ids) < 0 or max(token_ids) >= self.weights.n_vocab:
            raise EngineError("A token is outside the model's vocabulary.")
        self._tokens[:count] = token_ids
        self._positions[:count] = self._count_up[:count] + self.n_past
        self._outputs[:count] = outputs == "all"
        if outputs == "last":
            self._outputs[count - 1] = 1
        self._batch.n_tokens = count
        code = int(lib.llama_decode(self.handle, self._batch))
        if code == 0:
            lib.llama_synchronize(self.handle)
            self.n_past += count
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

    def prefill(
        self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress
    ) -> None:
        """Evaluate a prompt from an empty memory, in batches; raises Cancelled."""
        self.clear()
        total = len(token_ids)
        for begin in range(0, total, self.n_batch):
            if cancelled.is_set():
                raise Cancelled
            progress(begin, total)
            code = self.decode(token_ids[begin : begin + self.n_batch], outputs="none")
            if code == 2 or cancelled.is_set():
                raise Cancelled
            if code != 0:
                raise EngineError(f"The prompt could not be evaluated (code {code}).")
        progress(total, total)


def _flash_attention(lines: Sequence[str], asked: Switch) -> bool:
    for line in lines:
        found = re.search(r"[Ff]lash [Aa]ttention was auto, set to (enabled|disabled)", line)
        if found:
            return found.group(1) == "enabled"
    return asked is not Switch.OFF


def can_truncate(context: Context) -> bool:
    """Whether any suffix can be forgotten: llama.cpp's own two-token test. Clears the memory."""
    context.clear()
    if not context.memory:
        return False
    token = max(context.weights.bos_id, 0)
    works = context.decode([token, token], outputs="none") == 0
    forgets = works and bool(lib.llama_memory_seq_rm(context.memory, 0, 1, -1))
    context.clear()
    return forgets


def warm_up(context: Context, widths: Sequence[int]) -> None:
    """Evaluate batches of these widths once, unrecorded, and forget them."""
    token = max(context.weights.bos_id, 0)
    for width in widths:
        context.clear()
        code = context.decode([token] * min(width, context.n_outputs), outputs="all")
        if code not in (0, 2):
            raise EngineError(f"A first test of the model failed (code {code}).")
    context.clear()


# Sampling ----------------------------------------------------------------------------------------
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

    def sample(self, context: Context, rows: NDArray[np.float32], row: int) -> int:
        """Draw from a row and advance by the drawn token."""
        if self.greedy:
            return most_likely(rows[row])
        return int(lib.llama_sampler_sample(self._chain, context.handle, row))

    def close(self) -> None:
        if self._chain:
            lib.llama_sampler_free(self._chain)
            self._chain = None


# The roles ---------------------------------------------------------------------------------------
class LlamaTarget:
    """A context in the role of the target; see model.TargetModel."""

    def __init__(self, context: Context, sampler: Sampler) -> None:
        self._context = context
        self._sampler = sampler
        self._rows: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._scratch = np.empty(context.weights.n_vocab, dtype=np.float32)
        self._before = 0

    @property
    def n_ctx(self) -> int:
        return self._context.n_ctx

    @property
    def n_past(self) -> int:
        return self._context.n_past

    def begin(self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        self._context.prefill(token_ids, cancelled, progress)
        return 0

    def verify(self, pending: int, draft: Sequence[int]) -> None:
        self._before = self._context.n_past
        code = self._context.decode([pending, *draft], outputs="all")
        if code == 2:
            raise Cancelled
        if code != 0:
            raise EngineError(f"The target could not evaluate a step (code {code}).")
        self._rows = self._context.rows(1 + len(draft))

    def sample(self, row: int) -> int:
        return self._sampler.sample(self._context, self._rows, row)

    def keep(self, n_rows: int) -> None:
        self._context.truncate(self._before + n_rows)

    def observe(self, asked: Sequence[tuple[int, int]], sampled: Sequence[int]) -> Observation:
        rows, n_vocab = self._rows, self._context.weights.n_vocab
        probs: list[float | None] = []
        done_row, done_total, best = -1, 0.0, 0.0
        for row, token_id in asked:
            if not 0 <= token_id < n_vocab:
                probs.append(None)
            elif row == done_row:
                probs.append(min(float(np.exp(rows[row][token_id] - best)) / done_total, 1.0))
            else:
                prob, best, done_total = token_probability(rows[row], token_id, self._scratch)
                done_row = row
                probs.append(prob)
        runners = tuple(runner_up(rows[row], token_id) for row, token_id in enumerate(sampled))
        return Observation(tuple(probs), runners)

    def take_restore_seconds(self) -> float:
        return 0.0

    def piece(self, token_id: int) -> bytes:
        return self._context.weights.piece(token_id)

    def ends_generation(self, token_id: int) -> bool:
        return self._context.weights.ends_generation(token_id)

    def exhausted(self) -> bool:
        return False


class LlamaDraft:
    """A context in the role of the draft; see drafting.draft_model.DraftModel."""

    def __init__(self, context: Context, n_vocab_target: int) -> None:
        self._context = context
        self._n_vocab_target = n_vocab_target

    @property
    def n_past(self) -> int:
        return self._context.n_past

    @property
    def n_ctx(self) -> int:
        return self._context.n_ctx

    def begin(self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        self._context.prefill(self._known(token_ids), cancelled, progress)
        return 0

    def truncate(self, n_past: int) -> None:
        self._context.truncate(n_past)

    def propose(self, token_ids: Sequence[int]) -> tuple[int, float] | None:
        code = self._context.decode(self._known(token_ids), outputs="last")
        if code == 2:
            raise Cancelled
        if code != 0:
            return None
        token_id, prob = draft_candidate(self._context.rows(1)[0])
        return (token_id, prob) if token_id < self._n_vocab_target else None

    def _known(self, token_ids: Sequence[int]) -> Sequence[int]:
        """Padding ids of the target that the draft lacks stand in as token 0: llama.cpp would
        refuse the batch, and nothing but the quality of the next drafts depends on it."""
        limit = self._context.weights.n_vocab
        if max(token_ids, default=0) < limit:
            return token_ids
        return [token_id if token_id < limit else 0 for token_id in token_ids]


now = time.perf_counter
