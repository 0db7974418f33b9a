"""Whatever is in a file, inspecting it ends with a description or a sentence, soon and cheaply."""

from __future__ import annotations

import random
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.raw_gguf import RawGguf, entry, tensor, text
from support.tiny_gguf import CHATML, write_gguf, write_llama, write_qwen35

from specviz.errors import FileError
from specviz.models.compatibility import check_pair
from specviz.models.memory import estimate_memory
from specviz.models.model_file import ModelFile, inspect_model
from specviz.trace.config import LoadConfig, ModelSpec

MAX_MEMORY = 64 * 2**20
"""A tiny file must not cost more, whatever it claims."""

LOAD = LoadConfig(target=ModelSpec(path="t"))
FOLDER = Path(tempfile.mkdtemp(prefix="specviz-hostile-"))


@pytest.fixture(scope="module", autouse=True)
def tidy() -> Iterator[None]:
    yield
    for path in FOLDER.iterdir():
        path.unlink()
    FOLDER.rmdir()


@contextmanager
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MAX_MEMORY
    finally:
        tracemalloc.stop()


def survive(content: bytes) -> ModelFile | None:
    """Inspect it, and use what comes of it in every way."""
    path = FOLDER / "hostile.gguf"
    path.write_bytes(content)
    try:
        model = inspect_model(path)
    except FileError as error:
        assert error.message.endswith(".") and "\n" not in error.message
        return None
    assert "\n" not in model.info.name + model.info.architecture + model.explanation
    estimate_memory(LOAD, model, model)
    verdict = check_pair(model, model)
    verdict.message.encode()
    return model


@pytest.fixture(scope="module")
def tiny() -> bytes:
    path = write_llama(FOLDER / "tiny.gguf", n_layers=1, name="Tiny", chat_template=CHATML)
    return path.read_bytes()


@pytest.fixture(scope="module")
def header_length(tiny: bytes) -> int:
    return tiny.rindex(b"ffn_down.weight") + 64


def test_the_undamaged_file_is_a_model(tiny: bytes) -> None:
    model = survive(tiny)
    assert model is not None and model.info.name == "Tiny"


def test_changed_bytes(tiny: bytes, header_length: int) -> None:
    draw = random.Random(1)
    with little_memory():
        for _ in range(400):
            content = bytearray(tiny)
            for _ in range(draw.choice((1, 1, 2, 8))):
                content[draw.randrange(header_length)] = draw.choice(
                    (0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256))
                )
            survive(bytes(content))


def test_changed_numbers(tiny: bytes, header_length: int) -> None:
    """Lengths, counts and offsets, which a change of one byte seldom makes absurd."""
    draw = random.Random(2)
    numbers = (0, 1, 2**16, 2**31 - 1, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1)
    with little_memory():
        for _ in range(400):
            content = bytearray(tiny)
            place, size = draw.randrange(4, header_length), draw.choice((4, 8))
            value = draw.choice(numbers) % 2 ** (8 * size)
            content[place : place + size] = value.to_bytes(size, "little")
            survive(bytes(content))


def test_truncations(tiny: bytes, header_length: int) -> None:
    draw = random.Random(3)
    lengths = {*range(40), *(draw.randrange(header_length) for _ in range(150))}
    lengths |= {draw.randrange(header_length, len(tiny) - 64) for _ in range(30)}
    for length in lengths:
        assert survive(tiny[:length]) is None


def test_inserted_and_removed_bytes(tiny: bytes, header_length: int) -> None:
    draw = random.Random(4)
    for _ in range(200):
        place, count = draw.randrange(header_length), draw.randrange(1, 40)
        survive(tiny[:place] + draw.randbytes(count) + tiny[place:])
        survive(tiny[:place] + tiny[place + count :])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=400))
def test_any_bytes_behind_the_first_word(content: bytes) -> None:
    survive(b"GGUF\x03\0\0\0" + content)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(content: bytes) -> None:
    survive(content)


KEYS = st.sampled_from([
    "general.architecture", "general.name", "general.type", "general.file_type",
    "general.alignment", "split.no", "split.count", "split.tensors.count", "llama.block_count",
    "llama.context_length", "llama.embedding_length", "llama.attention.head_count",
    "llama.attention.head_count_kv", "llama.attention.key_length", "llama.nextn_predict_layers",
    "llama.expert_used_count", "llama.feed_forward_length", "llama.pooling_type",
    "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.add_bos_token", "tokenizer.chat_template",
])  # fmt: skip
VALUES = st.one_of(
    st.integers(0, 2**32 - 1).map(lambda n: (4, n.to_bytes(4, "little"))),
    st.integers(0, 2**64 - 1).map(lambda n: (10, n.to_bytes(8, "little"))),
    st.integers(0, 255).map(lambda n: (7, bytes([n]))),
    st.binary(min_size=8, max_size=8).map(lambda raw: (12, raw)),
    st.sampled_from([b"llama", b"gpt2", b"clip", b"\xff\n", b"", b"a" * 300]).map(
        lambda raw: (8, text(raw))
    ),
    st.lists(st.integers(0, 2**32 - 1), max_size=5).map(
        lambda numbers: (
            9,
            (4).to_bytes(4, "little")
            + len(numbers).to_bytes(8, "little")
            + b"".join(n.to_bytes(4, "little") for n in numbers),
        )
    ),
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=12), st.integers(0, 2))
def test_any_value_under_a_known_key(values: dict[str, tuple[int, bytes]], n_tensors: int) -> None:
    entries = [entry(key, kind, value) for key, (kind, value) in values.items()]
    tensors = [tensor(f"blk.{index}.a", (8,), offset=32 * index) for index in range(n_tensors)]
    survive(RawGguf(entries, tensors, data=bytes(64)).to_bytes())


def test_many_names_in_an_architecture() -> None:
    names = ("../../etc", "a" * 5000, "\x1b[2J", "llama\0", "%s%n", "{0}")
    for name in names:
        write_gguf(FOLDER / "named.gguf", name, {f"{name}.block_count": 3})
        model = survive((FOLDER / "named.gguf").read_bytes())
        assert model is not None and len(model.info.architecture) <= 80


def test_changed_bytes_of_a_hybrid() -> None:
    content = write_qwen35(FOLDER / "hybrid.gguf", mtp=1).read_bytes()
    draw = random.Random(5)
    for _ in range(150):
        changed = bytearray(content)
        changed[draw.randrange(12_000)] = draw.randrange(256)
        survive(bytes(changed))
