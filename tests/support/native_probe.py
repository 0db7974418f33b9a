"""Asks the native library about a model file, in a process of its own.

Run as a script it answers on standard output; loading an odd file may end that process.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any


def ask(question: str, path: Path, **settings: Any) -> dict[str, Any]:
    """The native library's answer to `vocabulary`, `memory` or `names`."""
    done = subprocess.run(
        [sys.executable, __file__, question, str(path), json.dumps(settings)],
        capture_output=True,
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _vocabulary(path: str, settings: dict[str, Any]) -> dict[str, Any]:
    from llama_cpp import llama_cpp as lib

    model = _load(path, vocab_only=True)
    vocab = lib.llama_model_get_vocab(model)
    count = lib.llama_vocab_n_tokens(vocab)
    return {
        "n_tokens": count,
        "texts": [lib.llama_vocab_get_text(vocab, index).hex() for index in range(count)],
        "type": lib.llama_vocab_type(vocab),
        "bos": lib.llama_vocab_bos(vocab),
        "eos": lib.llama_vocab_eos(vocab),
        "add_bos": lib.llama_vocab_get_add_bos(vocab),
        "add_eos": lib.llama_vocab_get_add_eos(vocab),
        "is_recurrent": lib.llama_model_is_recurrent(model),
        "is_hybrid": lib.llama_model_is_hybrid(model),
    }


def _memory(path: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Bytes as the library logs them when a context is made the way the engine makes it."""
    from llama_cpp import llama_cpp as lib

    model = _load(path)
    parameters = lib.llama_context_default_params()
    parameters.n_ctx = settings["n_ctx"]
    parameters.n_batch = parameters.n_ubatch = settings["n_batch"]
    parameters.n_outputs_max = 32
    parameters.n_threads = parameters.n_threads_batch = 1
    parameters.flash_attn_type = settings["flash_attention"]
    parameters.type_k, parameters.type_v = settings["type_k"], settings["type_v"]
    _LINES.clear()
    context = lib.llama_init_from_model(model, parameters)
    assert context, _LINES
    sizes = [
        (name, float(mebibytes) * 2**20)
        for name, mebibytes in re.findall(r"(\w+) buffer size =\s*([\d.]+) MiB", "".join(_LINES))
    ]
    return {
        "weights": lib.llama_model_size(model),
        "n_params": lib.llama_model_n_params(model),
        "kv": sum(size for name, size in sizes if name in ("KV", "RS")),
        "compute": sum(size for name, size in sizes if name in ("compute", "output")),
    }


def _names(path: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Name, elements and bytes of a block of each tensor type."""
    import ctypes

    import llama_cpp  # noqa: F401 - loads the library that is asked
    from llama_cpp._ggml import libggml

    libggml.ggml_type_name.restype = ctypes.c_char_p
    libggml.ggml_blck_size.restype = ctypes.c_int64
    libggml.ggml_type_size.restype = ctypes.c_size_t
    return {
        str(index): [
            libggml.ggml_type_name(index).decode(),
            libggml.ggml_blck_size(index),
            libggml.ggml_type_size(index),
        ]
        for index in range(settings["count"])
    }


_LINES: list[str] = []


def _load(path: str, *, vocab_only: bool = False) -> Any:
    from llama_cpp import llama_cpp as lib

    parameters = lib.llama_model_default_params()
    parameters.use_extra_bufts = False
    parameters.vocab_only = vocab_only
    model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
    assert model, "".join(_LINES)
    return model


def _answer() -> None:
    from llama_cpp import llama_cpp as lib

    callback = lib.llama_log_callback(lambda level, line, data: _LINES.append(line.decode()))
    lib.llama_log_set(callback, None)
    lib.llama_backend_init()
    questions = {"vocabulary": _vocabulary, "memory": _memory, "names": _names}
    question, path, settings = sys.argv[1:]
    json.dump(questions[question](path, json.loads(settings)), sys.stdout)


if __name__ == "__main__":
    _answer()
