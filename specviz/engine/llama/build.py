"""What this build of llama.cpp is and can use, and its conversion of files."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp
from llama_cpp import llama_cpp as lib

from specviz import __version__
from specviz.engine.llama.native_log import start
from specviz.engine.llama.weights import path_bytes
from specviz.errors import EngineError
from specviz.trace.events import Environment

DEVICE_KINDS = ("cpu", "gpu", "igpu", "accel", "meta")
FTYPE_Q8_0 = 7


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
