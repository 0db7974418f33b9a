"""Settings as asked for beside settings in effect."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces import TraceBuilder, run_config

from specviz.engine.effective import run_settings
from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    ModelSpec,
    RunConfig,
    RunMode,
    Switch,
)
from specviz.trace.events import Scalar
from specviz.trace.settings_in_effect import (
    SAFE_MODE,
    SettingRow,
    difference_sentence,
    differences,
    settings_in_effect,
)
from specviz.trace.trace import Trace

READ_BACK: dict[str, Scalar] = {
    "n_ctx": 4096, "n_ctx_allocated": 4096, "n_batch": 512, "flash_attention": True,
    "rollback": "trim", "n_rs_seq": 0, "target_n_gpu_layers": 0, "target_n_threads": 2,
    "target_type_k": "f16", "target_type_v": "f16", "target_repacked": False,
    "draft_n_gpu_layers": 0, "draft_n_threads": 2, "draft_type_k": "f16", "draft_type_v": "f16",
    "draft_repacked": True, "repack_allowed": True, "safe_mode": False, "template": "model",
}  # fmt: skip
"""What the engine reads back on a machine without a GPU, all left to it."""


def started(
    config: RunConfig | None = None, system_info: str = "CPU : AVX2 = 1", **effective: Scalar
) -> Trace:
    config = config or run_config()
    trace = TraceBuilder(config).trace
    assert trace.started is not None
    trace.started = replace(
        trace.started,
        environment=replace(trace.started.environment, system_info=system_info),
        effective={**READ_BACK, **run_settings(config), **effective},
    )
    return trace


def load(**changes: object) -> RunConfig:
    config = run_config()
    return replace(config, load=replace(config.load, **changes))


def row(trace: Trace, key: str) -> SettingRow:
    found = {row.key: row for row in settings_in_effect(trace)}
    return found[key]


def told(trace: Trace) -> list[str]:
    return [difference_sentence(row) for row in differences(trace)]


def test_what_was_left_to_the_engine_is_shown_and_is_no_difference() -> None:
    trace = started()
    assert told(trace) == []
    flash = row(trace, "flash_attention")
    assert (flash.requested, flash.effective) == ("auto", "on")
    threads = row(trace, "target_n_threads")
    assert (threads.requested, threads.effective) == ("auto", "2")
    layers = row(trace, "target_n_gpu_layers")
    assert (layers.requested, layers.effective) == ("all", "0")
    context = row(started(load(n_ctx=0)), "n_ctx")
    assert (context.requested, context.effective) == ("as trained", "4096 tokens")
    assert told(started(load(n_ctx=0))) == []


@pytest.mark.parametrize(
    ("config", "effective", "sentence"),
    [
        (
            load(n_ctx=1000), {"n_ctx": 1000, "n_ctx_allocated": 1024},
            "Context memory: asked for 1000 tokens, in effect 1024 tokens.",
        ),
        (
            load(flash_attention=Switch.ON), {"flash_attention": False},
            "Flash attention: asked for on, in effect off.",
        ),
        (
            load(target=ModelSpec(path="t", n_gpu_layers=20)), {"target_n_gpu_layers": 12},
            "Target layers on the GPU: asked for 20, in effect 12.",
        ),
        (
            load(draft=ModelSpec(path="d", type_k="q8_0")), {},
            "Draft K cache: asked for q8_0, in effect f16.",
        ),
        (
            load(draft=ModelSpec(path="d", n_threads=4)), {},
            "Draft threads: asked for 4, in effect 2.",
        ),
        (
            run_config(), {"repack_allowed": False, "safe_mode": True},
            f"Repacked weights: asked for allowed, in effect {SAFE_MODE}.",
        ),
        (
            run_config(), {"template": "none"},
            "Chat template: asked for the model's, in effect none in the file.",
        ),
        (
            run_config(n_max=8), {"spec_draft_n_max": 4},
            "Draft tokens per step: asked for 8 at most, in effect 4 at most.",
        ),
        (run_config(), {"seed": 7}, "Seed: asked for 42, in effect 7."),
    ],
)  # fmt: skip
def test_each_difference_is_told(
    config: RunConfig, effective: dict[str, Scalar], sentence: str
) -> None:
    assert told(started(config, **effective)) == [sentence]


def test_all_layers_left_on_the_cpu_of_a_machine_with_a_gpu_are_a_difference() -> None:
    trace = started(system_info="CUDA : ARCHS = 890 | CPU : AVX2 = 1", target_n_gpu_layers=33)
    assert told(trace) == ["Draft layers on the GPU: asked for all, in effect 0."]


def test_a_setting_that_was_not_read_back_is_not_called_different() -> None:
    trace = TraceBuilder(load(flash_attention=Switch.ON, n_ctx=4096)).trace
    assert told(trace) == []
    flash = row(trace, "flash_attention")
    assert (flash.requested, flash.effective) == ("on", None)


def test_a_baseline_has_no_drafting_settings() -> None:
    keys = {row.key for row in settings_in_effect(started(run_config(RunMode.BASELINE)))}
    assert not any(key.startswith("spec_") for key in keys)
    assert {"temperature", "n_ctx"} <= keys


def test_what_only_the_engine_knows_is_not_left_out() -> None:
    trace = started(made_up_later=3)
    assert row(trace, "made_up_later") == SettingRow(
        key="made_up_later", words="Made up later", requested=None, effective="3"
    )
    assert row(trace, "rollback").effective == "the end of the memory is dropped"


def test_before_the_start_there_is_nothing() -> None:
    assert settings_in_effect(Trace()) == ()


@given(
    st.lists(st.sampled_from(DraftSource), unique=True),
    st.dictionaries(
        st.sampled_from([*READ_BACK, "seed", "stop", "spec_type", "x"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    ),
)
def test_every_entry_in_effect_has_one_row(
    sources: list[DraftSource], effective: dict[str, Scalar]
) -> None:
    trace = started(run_config(sources=sources), **effective)
    rows = settings_in_effect(trace)
    keys = [row.key for row in rows]
    assert len(keys) == len(set(keys))
    assert trace.started is not None
    assert set(trace.started.effective) - {"raw"} <= set(keys)
    for each in rows:
        assert each.words and each.effective != "" and each.requested != ""
        assert not each.differs or (each.requested is not None and each.effective is not None)


def test_all_that_is_loaded_can_be_told_apart() -> None:
    """A field that is added to what is loaded wants a row."""
    assert {field.name for field in fields(LoadConfig)} == {
        "target", "draft", "n_ctx", "n_batch", "flash_attention", "repack",
    }  # fmt: skip
    assert {field.name for field in fields(ModelSpec)} == {
        "path", "n_gpu_layers", "n_threads", "type_k", "type_v",
    }  # fmt: skip
