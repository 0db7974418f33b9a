"""The tables agree with the gguf package; those of the engine are compared behind a mark."""

from __future__ import annotations

import gguf

from specviz.models.quantisation import (
    DROPPED_TENSOR_TYPES,
    FILE_TYPES,
    TENSOR_TYPES,
    quantisation_label,
)


def test_tensor_types_agree_with_the_gguf_package() -> None:
    for kind, sizes in gguf.GGML_QUANT_SIZES.items():
        if kind.name == "Q8_1":
            continue  # never in files; the package has it four bytes too large
        ours = TENSOR_TYPES[kind.value]
        assert (ours.name, ours.n_elements, ours.n_bytes) == (kind.name, *sizes)


def test_dropped_types_have_no_size() -> None:
    assert not DROPPED_TENSOR_TYPES & TENSOR_TYPES.keys()


def test_file_types_agree_with_the_gguf_package() -> None:
    for kind in gguf.LlamaFileType:
        if kind.name != "GUESSED":
            name = kind.name.removeprefix("MOSTLY_").removeprefix("ALL_").removesuffix("_MOE")
            assert FILE_TYPES[kind.value] == name


def test_the_dominating_type_decides_where_the_file_is_silent() -> None:
    assert quantisation_label(None, [(0, 10), (8, 100), (14, 60), (14, 60)]) == "Q6_K"
    assert quantisation_label(None, []) == "none"
    assert quantisation_label(True, [(8, 1)]) == "Q8_0"
