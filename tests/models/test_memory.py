"""The memory estimate, by hand where it is arithmetic; the engine's own report is marked."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import tiny_gguf
from support.native_decoding import decode_greedily
from support.native_probe import ask
from support.tiny_gguf import write_llama

from specviz.models.block_shapes import block_shapes
from specviz.models.memory import (
    STATE_BUDGET,
    MemoryEstimate,
    context_size,
    estimate_memory,
    older_states,
    recurrent_state_bytes,
)
from specviz.models.model_file import ModelFile, inspect_model
from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    ModelSpec,
    RunMode,
    SpeculationConfig,
    Switch,
)

GGML_TYPES = {"f32": 0, "f16": 1, "q8_0": 8, "q4_0": 2}


def load_config(*, n_ctx: int = 2048, draft: ModelSpec | None = None, **options: Any) -> LoadConfig:
    return LoadConfig(target=ModelSpec(path="t"), draft=draft, n_ctx=n_ctx, **options)


@pytest.fixture
def target(tmp_path: Path) -> ModelFile:
    return inspect_model(write_llama(tmp_path / "target.gguf"))


@pytest.fixture
def draft(tmp_path: Path) -> ModelFile:
    return inspect_model(write_llama(tmp_path / "draft.gguf", n_layers=1))


def test_each_part_has_its_line(target: ModelFile, draft: ModelFile) -> None:
    estimate = estimate_memory(load_config(), target, draft)
    assert estimate.target_weights == target.tensor_bytes
    assert estimate.draft_weights == draft.tensor_bytes
    assert estimate.target_kv == 3 * 2048 * (64 + 64) * 2
    assert estimate.draft_kv == 1 * 2048 * (64 + 64) * 2
    assert estimate.compute > 2 * 2048 * 512 * 2  # at least the two attention masks
    assert estimate.total == (
        estimate.target_weights + estimate.target_kv + estimate.draft_weights + estimate.draft_kv
        + estimate.compute
    )  # fmt: skip


def test_no_draft_no_memory_for_it(target: ModelFile, draft: ModelFile) -> None:
    alone = estimate_memory(load_config(), target, None)
    both = estimate_memory(load_config(), target, draft)
    assert (alone.draft_weights, alone.draft_kv) == (0, 0)
    assert alone.compute < both.compute and alone.total < both.total


def test_twice_the_context_is_twice_the_caches(target: ModelFile, draft: ModelFile) -> None:
    once = estimate_memory(load_config(n_ctx=2048), target, draft)
    twice = estimate_memory(load_config(n_ctx=4096), target, draft)
    assert twice.target_kv == 2 * once.target_kv and twice.draft_kv == 2 * once.draft_kv
    assert twice.target_weights == once.target_weights
    assert twice.compute > once.compute


def test_kv_types_count_for_each_model_alone(target: ModelFile, draft: ModelFile) -> None:
    plain = estimate_memory(load_config(), target, draft)
    small = ModelSpec(path="d", type_k="q8_0", type_v="q4_0")
    estimate = estimate_memory(load_config(draft=small), target, draft)
    assert estimate.target_kv == plain.target_kv
    assert estimate.draft_kv == 2048 * 64 // 32 * (34 + 18)


def test_the_context_is_rounded_up(target: ModelFile) -> None:
    assert context_size(load_config(n_ctx=257), target) == 512
    assert context_size(load_config(n_ctx=1), target) == 256
    assert context_size(load_config(n_ctx=0), target) == 2048  # as trained


def test_heads_given_block_by_block(tmp_path: Path) -> None:
    model = inspect_model(tiny_gguf.write_lfm2(tmp_path / "a.gguf"))
    shapes = block_shapes(model)
    assert [shape.n_k for shape in shapes] == [0, 64, 0, 64]
    assert [shape.n_state for shape in shapes] == [256, 0, 256, 0]


def test_hybrids_attend_in_some_blocks(tmp_path: Path) -> None:
    model = inspect_model(tiny_gguf.write_qwen35(tmp_path / "a.gguf", mtp=1))
    shapes = block_shapes(model)
    assert [shape.n_v for shape in shapes] == [0, 64, 0, 64]
    assert shapes[0].n_state == 3 * 256 + 32 * 128 and shapes[1].n_state == 0


def test_recurrent_models_take_the_same_for_any_context(tmp_path: Path) -> None:
    model = inspect_model(tiny_gguf.write_mamba(tmp_path / "a.gguf"))
    short = estimate_memory(load_config(n_ctx=256), model, None)
    long = estimate_memory(load_config(n_ctx=8192), model, None)
    assert short.target_kv == long.target_kv == 3 * 4 * (3 * 256 + 16 * 256)


def test_a_state_is_what_recurrent_blocks_carry(tmp_path: Path) -> None:
    hybrid = inspect_model(tiny_gguf.write_qwen35(tmp_path / "a.gguf", mtp=1))
    assert recurrent_state_bytes(hybrid) == 4 * 2 * (3 * 256 + 32 * 128)
    convolutions = inspect_model(tiny_gguf.write_lfm2(tmp_path / "b.gguf"))
    assert recurrent_state_bytes(convolutions) == 4 * 2 * (2 * 128)
    assert recurrent_state_bytes(inspect_model(write_llama(tmp_path / "c.gguf"))) == 0


@pytest.mark.parametrize(
    ("metadata", "shapes"),
    [
        ({"llama.attention.head_count_kv": None}, [(128, 128)] * 3),
        ({"llama.attention.key_length": None, "llama.attention.value_length": None},
         [(64, 64)] * 3),
        ({"llama.attention.value_length": 16}, [(64, 32)] * 3),
        ({"llama.attention.key_length_mla": 32, "llama.attention.value_length_mla": 32},
         [(64, 0)] * 3),
        ({"llama.attention.shared_kv_layers": 2}, [(64, 64), (0, 0), (0, 0)]),
        ({"llama.attention.sliding_window_pattern": [True, False, True],
          "llama.attention.key_length_swa": 16}, [(32, 64), (64, 64), (32, 64)]),
        ({"llama.attention.head_count_kv": [2]}, [(64, 64), (0, 0), (0, 0)]),
        ({"llama.attention.head_count": 0, "llama.attention.key_length": None}, [(0, 64)] * 3),
        ({"llama.embedding_length": "wide", "llama.attention.key_length": None}, [(0, 64)] * 3),
    ],
)  # fmt: skip
def test_shapes_follow_the_metadata(
    tmp_path: Path, metadata: dict[str, Any], shapes: list[tuple[int, int]]
) -> None:
    model = inspect_model(write_llama(tmp_path / "a.gguf", metadata=metadata))
    assert [(shape.n_k, shape.n_v) for shape in block_shapes(model)] == shapes


def test_absurd_numbers_do_no_harm(tmp_path: Path) -> None:
    metadata = {"llama.block_count": 2**32 - 1, "qwen35.full_attention_interval": 0}
    model = inspect_model(write_llama(tmp_path / "a.gguf", metadata=metadata))
    assert len(block_shapes(model)) == 512
    assert isinstance(estimate_memory(load_config(), model, None), MemoryEstimate)
    hybrid = inspect_model(tiny_gguf.write_qwen35(tmp_path / "b.gguf", metadata=metadata))
    assert len(block_shapes(hybrid)) == 4


@pytest.mark.model
@pytest.mark.parametrize(
    "writer",
    [
        "write_qwen35",
        "write_qwen35moe",
        "write_qwen3next",
        "write_lfm2",
        "write_nemotron_h",
        "write_mamba",
        "write_jamba",
        "write_falcon_h1",
        "write_rwkv7",
    ],
)
def test_a_saved_state_has_the_size_that_was_told(tmp_path: Path, writer: str) -> None:
    path = getattr(tiny_gguf, writer)(tmp_path / "a.gguf")
    model = inspect_model(path)
    saved = decode_greedily(path, n_tokens=1)["partial_state"]
    # one header in all, one for each recurrent block
    headers = 28 + 24 * sum(shape.n_state > 0 for shape in block_shapes(model))
    assert saved == headers + recurrent_state_bytes(model)


SETTINGS: list[dict[str, Any]] = [
    {},
    {"n_ctx": 8192},
    {"n_ctx": 300, "n_batch": 128},
    {"flash_attention": Switch.OFF},
    {"type_k": "q8_0", "type_v": "q8_0"},
    {"type_k": "f32", "n_batch": 1024},
]


@pytest.mark.model
@pytest.mark.parametrize(
    ("writer", "options", "settings"),
    [
        *(("write_llama", {}, settings) for settings in SETTINGS),
        ("write_llama", {"n_layers": 1}, {}),
        ("write_llama", {"n_layers": 12, "n_embd": 512}, {}),
        ("write_llama", {"n_vocab": 20_000}, {"n_batch": 128}),
        ("write_qwen3", {"n_embd": 1024}, {}),
        ("write_qwen3moe", {"n_embd": 512}, {}),
        ("write_gemma3", {}, {"n_ctx": 4096}),
        ("write_qwen35", {"mtp": 1}, {}),
        ("write_lfm2", {}, {}),
        ("write_mamba", {"n_embd": 256}, {}),
        ("write_qwen35moe", {"mtp": 1}, {}),
        ("write_qwen3next", {}, {}),
        ("write_nemotron_h", {}, {}),
        ("write_jamba", {}, {}),
        ("write_falcon_h1", {}, {}),
        ("write_rwkv7", {}, {}),
    ],
)
def test_the_estimate_is_close_to_the_engines_report(
    tmp_path: Path, writer: str, options: dict[str, Any], settings: dict[str, Any]
) -> None:
    path = getattr(tiny_gguf, writer)(tmp_path / "a.gguf", **options)
    spec = ModelSpec(
        path=str(path),
        type_k=settings.get("type_k", "f16"),
        type_v=settings.get("type_v", "f16"),
    )
    load = {key: value for key, value in settings.items() if not key.startswith("type")}
    config = replace(load_config(**load), target=spec)
    estimate = estimate_memory(config, inspect_model(path), None)
    report = ask(
        "memory",
        path,
        n_ctx=config.n_ctx,
        n_batch=config.n_batch,
        flash_attention=0 if config.flash_attention is Switch.OFF else -1,
        type_k=GGML_TYPES[spec.type_k],
        type_v=GGML_TYPES[spec.type_v],
    )
    assert estimate.target_weights == report["weights"]
    assert estimate.target_kv == pytest.approx(report["kv"], abs=20_000)  # logged to 0.01 MiB
    total = report["weights"] + report["kv"] + report["compute"]
    assert estimate.total == pytest.approx(total, rel=0.15)
    assert inspect_model(path).info.n_params == report["n_params"]


@pytest.mark.model
@pytest.mark.parametrize(
    ("writer", "options", "source", "n_max", "n_states"),
    [
        ("write_qwen35", {"mtp": 1}, DraftSource.DRAFT_MTP, 3, 4),
        ("write_qwen35moe", {"mtp": 1, "n_embd": 256}, DraftSource.DRAFT_MTP, 20, 9),
        ("write_qwen3next", {"mtp": 1}, DraftSource.DRAFT_MTP, 3, 1),
        ("write_lfm2", {}, DraftSource.DRAFT_SIMPLE, 5, 6),
        ("write_nemotron_h", {}, DraftSource.DRAFT_SIMPLE, 2, 3),
        ("write_mamba", {}, DraftSource.DRAFT_SIMPLE, 3, 1),
        ("write_llama", {}, DraftSource.DRAFT_SIMPLE, 3, 1),
    ],
)
def test_what_drafting_sets_aside_is_counted(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    writer: str,
    options: dict[str, Any],
    source: DraftSource,
    n_max: int,
    n_states: int,
) -> None:
    """Held against what the library logs while the engine itself sets up the run."""
    from support.equality import exact_load, raw_run, run

    from specviz.engine.llama_engine import LlamaEngine

    target = getattr(tiny_gguf, writer)(tmp_path / "target.gguf", **options)
    draft = None
    if source is DraftSource.DRAFT_SIMPLE:
        draft = tiny_gguf.write_qwen35(tmp_path / "draft.gguf")
    config = exact_load(target, draft, n_batch=512)
    speculation = SpeculationConfig(sources=(source,), n_max=n_max)
    engine = LlamaEngine(safe_mode=True)
    capfd.readouterr()
    mode = RunMode.SPECULATIVE
    trace = run(engine, raw_run(mode, config, max_tokens=2, speculation=speculation))
    engine.unload()
    sizes = buffer_sizes(capfd.readouterr().err)
    target_file = inspect_model(target)
    estimate = estimate_memory(
        config, target_file, inspect_model(draft) if draft else None, speculation
    )
    assert estimate.target_kv + estimate.draft_kv == pytest.approx(
        sizes["KV"] + sizes["RS"], abs=30_000
    )
    compute = sizes["compute"] + sizes["output"]
    assert estimate.compute == pytest.approx(compute, rel=0.3)
    assert trace.started is not None
    assert trace.started.effective["n_rs_seq"] == n_states - 1
    assert older_states(target_file, speculation, config.n_batch) == n_states - 1


def buffer_sizes(log: str) -> dict[str, float]:
    """Bytes by kind of buffer, from the library's log."""
    sizes: dict[str, float] = defaultdict(float)
    for name, mebibytes in re.findall(r"(\w+) buffer size =\s*([\d.]+) MiB", log):
        sizes[name] += float(mebibytes) * 2**20
    return sizes


def test_large_states_are_kept_as_often_as_the_budget_allows(tmp_path: Path) -> None:
    sizes = {"qwen35.ssm.state_size": 2048, "qwen35.ssm.inner_size": 4096}
    model = inspect_model(tiny_gguf.write_qwen35(tmp_path / "a.gguf", metadata=sizes))
    state = recurrent_state_bytes(model)
    assert state > STATE_BUDGET // 8
    long = SpeculationConfig(n_max=16)
    assert older_states(model, long, 512) == STATE_BUDGET // state < 8
    assert older_states(model, replace(long, n_max=1), 512) == 1
    assert older_states(model, None, 512) == 0
    one, more = (estimate_memory(load_config(), model, None, s) for s in (None, long))
    assert more.target_kv - one.target_kv == STATE_BUDGET // state * state
