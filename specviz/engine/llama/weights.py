"""Loaded model files: weights, vocabulary, and what the loader said of them."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from llama_cpp import llama_cpp as lib

from specviz.engine.llama.native_log import last_error, start
from specviz.engine.model import Cancellation, Cancelled
from specviz.errors import EngineError, SettingError
from specviz.trace.config import ModelSpec
from specviz.trace.reasoning import MARKS

MAX_PIECE_BYTES = 1 << 20
_MARKS = frozenset(mark.encode() for pair in MARKS for mark in pair)


def path_bytes(path: Path | str) -> bytes:
    """A path as llama.cpp wants it: UTF-8 on Windows, the system's bytes elsewhere."""
    text = str(path)
    return (
        text.encode("utf-8")
        if sys.platform == "win32"
        else text.encode(sys.getfilesystemencoding(), "surrogateescape")
    )


class Weights:
    """A loaded model file, its vocabulary and what the loader said of it."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        repack: bool,
        next_token: bool = False,
        on_progress: Callable[[float], None],
        cancelled: Cancellation,
    ) -> None:
        native_log = start()
        parameters = lib.llama_model_default_params()
        parameters.n_gpu_layers = spec.n_gpu_layers
        parameters.use_extra_bufts = repack
        parameters.load_mtp = next_token
        # the file says it has such a block either way, and using one not loaded ends the process
        self.next_token = next_token

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
        """Bytes of a token; control tokens give none, unless they mark reasoning."""
        found = self._pieces.get(token_id)
        if found is None:
            found = self._read_piece(token_id, special=False)
            if not found and (mark := self._read_piece(token_id, special=True)) in _MARKS:
                found = mark
            self._pieces[token_id] = found
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
