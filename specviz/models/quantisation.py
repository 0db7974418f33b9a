"""llama.cpp's tensor types and file types, by the numbers that GGUF files carry.

From ggml.h (`ggml_type`), ggml.c (`type_traits`) and llama.h (`llama_ftype`) of the llama.cpp in
llama-cpp-python 0.3.36. Numbers that are left out belong to types that llama.cpp has dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class TensorType(NamedTuple):
    """`n_bytes` hold `n_elements` weights of a row."""

    name: str
    n_elements: int
    n_bytes: int


TENSOR_TYPES = {
    0: TensorType("F32", 1, 4),
    1: TensorType("F16", 1, 2),
    2: TensorType("Q4_0", 32, 18),
    3: TensorType("Q4_1", 32, 20),
    6: TensorType("Q5_0", 32, 22),
    7: TensorType("Q5_1", 32, 24),
    8: TensorType("Q8_0", 32, 34),
    9: TensorType("Q8_1", 32, 36),
    10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110),
    12: TensorType("Q4_K", 256, 144),
    13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210),
    15: TensorType("Q8_K", 256, 292),
    16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74),
    18: TensorType("IQ3_XXS", 256, 98),
    19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18),
    21: TensorType("IQ3_S", 256, 110),
    22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136),
    24: TensorType("I8", 1, 1),
    25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),
    27: TensorType("I64", 1, 8),
    28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56),
    30: TensorType("BF16", 1, 2),
    34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66),
    39: TensorType("MXFP4", 32, 17),
    40: TensorType("NVFP4", 64, 36),
    41: TensorType("Q1_0", 128, 18),
    42: TensorType("Q2_0", 64, 18),
}

DROPPED_TENSOR_TYPES = frozenset({4, 5, 31, 32, 33, 36, 37, 38})

FILE_TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4",
    39: "NVFP4",
    40: "Q1_0",
    41: "Q2_0",
}

_GUESSED = 1024  # llama.cpp sets this bit when a file does not name its type

KV_BYTES = {
    name.lower(): (kind.n_elements, kind.n_bytes)
    for name, kind in ((kind.name, kind) for kind in TENSOR_TYPES.values())
}
"""Elements and bytes of a block, by llama.cpp's lower-case names of KV cache types."""


def quantisation_label(file_type: object, weights: Iterable[tuple[int, int]]) -> str:
    """The usual short name, such as Q4_K_M.

    Args:
        file_type: the value of `general.file_type`, or anything else where that is missing.
        weights: tensor type and number of elements of each tensor, for files that do not say.
    """
    if isinstance(file_type, int) and not isinstance(file_type, bool):
        label = FILE_TYPES.get(file_type & ~_GUESSED)
        if label:
            return label
    totals: dict[int, int] = {}
    for type_id, n_elements in weights:
        totals[type_id] = totals.get(type_id, 0) + n_elements
    if not totals:
        return "none"
    return TENSOR_TYPES[max(totals, key=lambda type_id: totals[type_id])].name
