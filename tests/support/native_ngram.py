"""llama.cpp's own n-gram drafting, out of the installed libllama-common.

The library exports C++ only. The structures below are its own as they lie in memory in the release
named here, on 64-bit x86 Linux with GNU's C++ library; they are checked against what the library
reads from them. A mistake ends the process, so this belongs in one of its own
(native_ngram_process.py).
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import platform
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specviz.trace.config import DraftSource, NgramModConfig, NgramSizes, SpeculationConfig

RELEASE = "0.3.36"
LIBRARY = "libllama-common.so.0"
TYPES = {
    DraftSource.NGRAM_SIMPLE: 6,
    DraftSource.NGRAM_MAP_K: 7,
    DraftSource.NGRAM_MAP_K4V: 8,
    DraftSource.NGRAM_MOD: 9,
    DraftSource.NGRAM_CACHE: 10,
}
CACHE_DRAFT = 8


class NativeError(Exception):
    """llama.cpp's code cannot be asked; the message says why."""


# Structures --------------------------------------------------------------------------------------
class Vector(ctypes.Structure):
    """A std::vector of plain elements."""

    _fields_ = (
        ("begin", ctypes.c_void_p),
        ("end", ctypes.c_void_p),
        ("end_of_storage", ctypes.c_void_p),
    )

    def point_at(self, array: NDArray[Any], count: int) -> None:
        """Hold the first `count` elements of an array that outlives this."""
        self.begin = array.ctypes.data
        self.end = array.ctypes.data + count * array.itemsize
        self.end_of_storage = array.ctypes.data + array.nbytes

    def read(self) -> list[int]:
        """The elements, of 4 bytes each."""
        if not self.begin:
            return []
        count = (self.end - self.begin) // 4
        return list((ctypes.c_int32 * count).from_address(self.begin))


class String(ctypes.Structure):
    """A std::string."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("here", ctypes.c_char * 16),
    )


class DraftModelParameters(ctypes.Structure):
    """common_params_speculative_draft; of interest for its size and its strings only."""

    _fields_ = (
        ("limits", ctypes.c_uint32 * 6),
        ("model", String * 5),
        ("contexts", ctypes.c_void_p * 2),
        ("placement", ctypes.c_uint32 * 3),
        ("threads", ctypes.c_uint32 * 133 * 2),
        ("devices", Vector),
        ("buffers", Vector),
    )


class ModParameters(ctypes.Structure):
    """common_params_speculative_ngram_mod."""

    _fields_ = (("n_match", ctypes.c_int32), ("n_max", ctypes.c_int32), ("n_min", ctypes.c_int32))


class MapParameters(ctypes.Structure):
    """common_params_speculative_ngram_map."""

    _fields_ = (
        ("size_n", ctypes.c_uint16),
        ("size_m", ctypes.c_uint16),
        ("min_hits", ctypes.c_uint16),
    )


class Parameters(ctypes.Structure):
    """common_params_speculative."""

    _fields_ = (
        ("types", Vector),
        ("synth_len", ctypes.c_double),
        ("synth_rates", Vector),
        ("draft", DraftModelParameters),
        ("ngram_mod", ModParameters),
        ("ngram_simple", MapParameters),
        ("ngram_map_k", MapParameters),
        ("ngram_map_k4v", MapParameters),
        ("lookup_cache_static", String),
        ("lookup_cache_dynamic", String),
    )


class Request(ctypes.Structure):
    """common_speculative_draft_params."""

    _fields_ = (
        ("drafting", ctypes.c_bool),
        ("n_max", ctypes.c_int32),
        ("pos0", ctypes.c_int32),
        ("id_last", ctypes.c_int32),
        ("prompt", ctypes.POINTER(Vector)),
        ("result", ctypes.POINTER(Vector)),
    )


class _Filled:
    """Parameters with all that they point at."""

    def __init__(self, speculation: SpeculationConfig) -> None:
        self.parameters = parameters = Parameters(synth_len=-1.0)
        types = [TYPES[source] for source in speculation.sources]
        self._types = np.array(types, dtype=np.int32)
        parameters.types.point_at(self._types, len(self._types))
        for string in parameters.draft.model:
            self._write(string, "")
        mod = speculation.ngram_mod
        parameters.ngram_mod = ModParameters(mod.n_match, mod.n_max, mod.n_min)
        for name in ("ngram_simple", "ngram_map_k", "ngram_map_k4v"):
            sizes: NgramSizes = getattr(speculation, name)
            setattr(parameters, name, MapParameters(sizes.size_n, sizes.size_m, sizes.min_hits))
        self._texts = [
            self._write(parameters.lookup_cache_static, speculation.ngram_cache.static_path or ""),
            self._write(
                parameters.lookup_cache_dynamic, speculation.ngram_cache.dynamic_path or ""
            ),
        ]

    def _write(self, string: String, text: str) -> Any:
        data = text.encode()
        buffer = ctypes.create_string_buffer(data)
        string.size = len(data)
        # a string of no more than 15 bytes is taken to lie in the structure itself
        if len(data) < 16:
            string.here = data
            string.data = ctypes.addressof(string) + String.here.offset
        else:
            string.data = ctypes.addressof(buffer)
            ctypes.c_size_t.from_address(ctypes.addressof(string) + String.here.offset).value = len(
                data
            )
        return buffer


# The library -------------------------------------------------------------------------------------
class NativeLibrary:
    """The functions of common/speculative.h. Raises NativeError where they cannot be called."""

    def __init__(self) -> None:
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise NativeError("The structures are known for 64-bit x86 Linux only.")
        release = importlib.metadata.version("llama-cpp-python")
        if release != RELEASE:
            raise NativeError(f"The structures are known for {RELEASE} only; this is {release}.")
        # maps libllama and libggml, which the library needs and does not know the place of
        import llama_cpp.llama_cpp

        path = Path(llama_cpp.llama_cpp.__file__).parents[1] / "lib" / LIBRARY
        if not path.exists():
            raise NativeError(f"{LIBRARY} is not installed; it comes with builds from source only.")
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise NativeError(f"{LIBRARY} cannot be loaded: {error}.") from None
        speculative, tokens = "P18common_speculative", "RKSt6vectorIiSaIiEE"
        pointer, number = ctypes.c_void_p, ctypes.c_int32

        def function(name: str, arguments: str, types: Sequence[Any], answer: Any = None) -> Any:
            found = library[f"_Z{len(name)}{name}{arguments}"]
            found.argtypes, found.restype = types, answer
            return found

        self.n_max = function("common_speculative_n_max", "PK25common_params_speculative",
                              [ctypes.POINTER(Parameters)], number)  # fmt: skip
        self.init = function("common_speculative_init", "R25common_params_speculativej",
                             [ctypes.POINTER(Parameters), number], pointer)  # fmt: skip
        self.free = function("common_speculative_free", speculative, [pointer])
        self.begin = function("common_speculative_begin", speculative + "i" + tokens,
                              [pointer, number, ctypes.POINTER(Vector)])  # fmt: skip
        self.request = function("common_speculative_get_draft_params", speculative + "i",
                                [pointer, number], ctypes.POINTER(Request))  # fmt: skip
        self.draft = function("common_speculative_draft", speculative, [pointer])
        self.accept = function("common_speculative_accept", speculative + "it",
                               [pointer, number, ctypes.c_uint16])  # fmt: skip
        function("common_log_set_verbosity_thold", "i", [number])(-1)
        self._check_structures()

    def _check_structures(self) -> None:
        """The library must read from the structures what was written into them."""
        sizes = [NgramSizes(size_n=3, size_m=m) for m in (101, 103, 107)]
        speculation = SpeculationConfig(
            ngram_simple=sizes[0],
            ngram_map_k=sizes[1],
            ngram_map_k4v=sizes[2],
            ngram_mod=NgramModConfig(n_max=109),
        )
        for source in TYPES:
            filled = _Filled(replace(speculation, sources=(source,)))
            # what it may draft at most; of ngram-cache it says nothing there
            expected = speculation.longest_draft(source)
            found = self.n_max(ctypes.byref(filled.parameters))
            if source is not DraftSource.NGRAM_CACHE and found != expected:
                raise NativeError(f"The structures are others here: {found} for {expected}.")


class NativePlayer:
    """llama.cpp's drafters for these settings, asked as llama-server asks them."""

    def __init__(self, library: NativeLibrary, speculation: SpeculationConfig) -> None:
        self._library = library
        self._filled = _Filled(speculation)
        self._handle = library.init(ctypes.byref(self._filled.parameters), 1)
        self._request = library.request(self._handle, 0).contents
        self._tokens = np.zeros(4096, dtype=np.int32)
        self._n_tokens = 0
        self._history, self._result = Vector(), Vector()

    def close(self) -> None:
        """The result's memory is llama.cpp's and is left to the end of the process."""
        self._library.free(self._handle)

    def begin(self, history: list[int]) -> None:
        self.restart(history)
        self.run_begin()

    def draft(self, history: list[int], pending: int, limit: int) -> Sequence[int]:
        self.follow(history)
        self.prepare(pending, limit)
        self.run()
        return self.drafted()

    def accept(self, n_accepted: int) -> None:
        self._library.accept(self._handle, 0, n_accepted)

    # In parts, to measure llama.cpp's own: `run_begin` behind `restart`, `run` behind `follow` and
    # `prepare`, then `drafted`
    def restart(self, history: list[int]) -> None:
        """Copy a text that has nothing to do with the one before."""
        self._n_tokens = 0
        self.follow(history)

    def run_begin(self) -> None:
        """Begin with the text that was copied."""
        self._library.begin(self._handle, 0, ctypes.byref(self._history))

    def follow(self, history: list[int]) -> None:
        """Copy what is new of the text."""
        new = np.array(history[self._n_tokens :], dtype=np.int32)
        if len(history) > len(self._tokens):
            self._tokens = np.concatenate([self._tokens, np.zeros(len(history), dtype=np.int32)])
        self._tokens[self._n_tokens : len(history)] = new
        self._n_tokens = len(history)
        self._history.point_at(self._tokens, self._n_tokens)

    def prepare(self, pending: int, limit: int) -> None:
        """Say what is wanted from the next `run`."""
        request = self._request
        self._result.end = self._result.begin
        request.drafting, request.n_max, request.id_last = True, limit, pending
        request.prompt, request.result = ctypes.pointer(self._history), ctypes.pointer(self._result)

    def run(self) -> None:
        """Draft what was prepared."""
        self._library.draft(self._handle)

    def drafted(self) -> list[int]:
        """What came of it."""
        return self._result.read()
