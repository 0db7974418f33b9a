"""Decodes with the native library alone, in a process of its own, to learn about a tiny model.

Run as a script it answers on standard output; the first decode of an odd file may end that process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

N_TOKENS = 48


def decode_greedily(path: Path, *, n_tokens: int = N_TOKENS) -> dict[str, Any]:
    """What two contexts make of the same prompt: `ids` of each, and facts about the memory.

    `same_rows`: whether all rows of scores are bit for bit the same. `n_rs_seq`: older states kept
    when four are asked for. `trims`: whether one of two tokens can be removed. `partial_state` and
    `whole_state`: bytes of the saved state.
    """
    done = subprocess.run(
        [sys.executable, __file__, str(path), str(n_tokens)],
        capture_output=True,
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, (done.returncode, done.stderr.decode("utf-8", "replace")[-2000:])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _context(lib: Any, model: Any, n_snapshots: int) -> Any:
    parameters = lib.llama_context_default_params()
    parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = 512, 63, 63
    parameters.n_threads = parameters.n_threads_batch = 1
    parameters.flash_attn_type = 1
    parameters.n_rs_seq = n_snapshots
    context = lib.llama_init_from_model(model, parameters)
    assert context
    return context


def _decode(lib: Any, context: Any, token_ids: list[int]) -> int:
    array = (lib.llama_token * len(token_ids))(*token_ids)
    return int(lib.llama_decode(context, lib.llama_batch_get_one(array, len(token_ids))))


def _greedy(lib: Any, context: Any, prompt: list[int], n_vocab: int, n_tokens: int) -> Any:
    import numpy as np

    ids, rows = [], []
    batch = prompt
    for _ in range(n_tokens):
        assert _decode(lib, context, batch) == 0
        row = np.ctypeslib.as_array(lib.llama_get_logits_ith(context, -1), (n_vocab,)).copy()
        assert np.isfinite(row).all(), "scores that are not numbers"
        rows.append(row)
        ids.append(int(row.argmax()))
        batch = [ids[-1]]
    return ids, np.array(rows)


def _answer(path: str, n_tokens: int) -> dict[str, Any]:
    from llama_cpp import llama_cpp as lib

    lib.llama_backend_init()
    parameters = lib.llama_model_default_params()
    parameters.use_extra_bufts = False
    model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
    assert model
    n_vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
    prompt = list(b"the thin inn and the thing in the end")
    first, second = _context(lib, model, 0), _context(lib, model, 4)
    ids, rows = _greedy(lib, first, prompt, n_vocab, n_tokens)
    ids_again, rows_again = _greedy(lib, second, prompt, n_vocab, n_tokens)
    memory = lib.llama_get_memory(first)
    sizes = [lib.llama_state_seq_get_size_ext(first, 0, flags) for flags in (1, 0)]
    lib.llama_memory_clear(memory, True)
    assert _decode(lib, first, prompt[:2]) == 0
    return {
        "ids": [ids, ids_again],
        "same_rows": bool((rows == rows_again).all()),
        "n_rs_seq": lib.llama_n_rs_seq(second),
        "trims": bool(lib.llama_memory_seq_rm(memory, 0, 1, -1)),
        "partial_state": sizes[0],
        "whole_state": sizes[1],
    }


if __name__ == "__main__":
    json.dump(_answer(sys.argv[1], int(sys.argv[2])), sys.stdout)
