"""Settings that cannot work are found before anything is loaded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.trace.validation import LARGEST_SEED, problems

TARGET, DRAFT = ModelSpec(path="t.gguf"), ModelSpec(path="d.gguf")
GOOD = RunConfig(
    mode=RunMode.SPECULATIVE,
    load=LoadConfig(target=TARGET, draft=DRAFT),
    messages=(Message(role="system", text="Be short."), Message(role="user", text="Hello.")),
)


def changed(**parts: object) -> RunConfig:
    return replace(GOOD, **parts)


def loaded(**parts: object) -> RunConfig:
    return replace(GOOD, load=replace(GOOD.load, **parts))


def sampled(**parts: object) -> RunConfig:
    return replace(GOOD, sampling=SamplingConfig(**parts))


def drafted(**parts: object) -> RunConfig:
    return replace(GOOD, speculation=SpeculationConfig(**parts))


def test_the_defaults_work() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    "config",
    [
        changed(max_tokens=-1), changed(max_tokens=1), changed(stop=("\n",)),
        changed(raw=True, messages=(Message(role="user", text=" "),)),
        loaded(n_ctx=0), loaded(target=replace(TARGET, n_threads=1)),
        loaded(flash_attention=Switch.OFF), loaded(target=replace(TARGET, type_v="q8_0")),
        sampled(temperature=0.0), sampled(top_k=0, top_p=0.0, min_p=1.0), sampled(top_p=1.0),
        sampled(seed=0), sampled(seed=LARGEST_SEED),
        drafted(n_max=48, n_min=48), drafted(p_min=1.0), drafted(n_max=511),
    ],
)  # fmt: skip
def test_what_looks_odd_and_works(config: RunConfig) -> None:
    assert problems(config) == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (drafted(n_max=4, n_min=48), "minimum of 48 .* above the maximum of 4"),
        (drafted(n_min=-1), "minimum .* is -1"),
        (drafted(n_max=0), "At most 0 draft tokens"),
        (drafted(n_max=512), "512 draft tokens .* batch of 512"),
        (drafted(p_min=1.5), "is 1.5"),
        (drafted(p_min=-0.1), "is -0.1"),
        (drafted(p_min=float("nan")), "is nan"),
        (drafted(sources=()), "No drafting method"),
        (loaded(draft=None), "needs a draft model"),
        (sampled(temperature=-1.0), "temperature is -1"),
        (sampled(temperature=float("nan")), "temperature is nan"),
        (sampled(temperature=float("inf")), "temperature is inf"),
        (sampled(top_k=-1), "Top-k is -1"),
        (sampled(top_p=1.01), "Top-p is 1.01"),
        (sampled(min_p=float("nan")), "Min-p is nan"),
        (sampled(seed=-1), "seed is -1"),
        (sampled(seed=LARGEST_SEED + 1), "seed is"),
        (loaded(n_ctx=-1), "context size is -1"),
        (loaded(n_batch=0), "batch size is 0"),
        (loaded(target=replace(TARGET, n_threads=0)), "target is given 0 threads"),
        (loaded(draft=replace(DRAFT, n_threads=-2)), "draft is given -2 threads"),
        (loaded(target=replace(TARGET, type_k="q3_x")), "target's K cache type q3_x"),
        (loaded(draft=replace(DRAFT, type_v="")), "draft's V cache type"),
        (
            loaded(draft=replace(DRAFT, type_v="q8_0"), flash_attention=Switch.OFF),
            "draft's V cache can be q8_0 only with flash attention",
        ),
        (changed(max_tokens=0), "limit of 0 tokens"),
        (changed(stop=("a", "")), "stop text is empty"),
        (changed(messages=()), "prompt is empty"),
        (changed(messages=(Message(role="user", text=" \n"),)), "prompt is empty"),
        (changed(raw=True), "no place for a system prompt"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_one_sentence(config: RunConfig, words: str) -> None:
    found = problems(config)
    assert len(found) == 1
    assert found[0].endswith(".")
    with pytest.raises(ValueError, match=words):
        raise ValueError(found[0])


def test_a_baseline_does_not_care_about_drafting() -> None:
    config = drafted(n_max=4, n_min=48, p_min=7.0, sources=())
    assert problems(replace(config, mode=RunMode.BASELINE)) == []


def test_all_problems_are_told_at_once() -> None:
    config = replace(drafted(n_min=9, p_min=2.0), max_tokens=0)
    assert len(problems(config)) == 3


def test_drafting_without_a_draft_model_needs_none() -> None:
    config = replace(drafted(sources=(DraftSource.NGRAM_MOD,)), load=replace(GOOD.load, draft=None))
    assert problems(config) == []
