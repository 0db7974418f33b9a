"""Settings that cannot work are found before anything is loaded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    NgramModConfig,
    NgramSizes,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.trace.presets import NGRAM_PRESETS, NgramPreset
from specviz.trace.sources import NGRAM_SOURCES
from specviz.trace.validation import LARGEST_SEED, problems

TARGET, DRAFT = ModelSpec(path="t.gguf"), ModelSpec(path="d.gguf")
GOOD = RunConfig(
    mode=RunMode.SPECULATIVE,
    load=LoadConfig(target=TARGET, draft=DRAFT),
    messages=(Message(role="system", text="Be short."), Message(role="user", text="Hello.")),
)


CONVERSATION = (
    *GOOD.messages,
    Message(role="assistant", text="Hi.", reasoning="A greeting."),
    Message(role="user", text="And now?"),
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
        changed(messages=CONVERSATION),
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
        (changed(raw=True, messages=CONVERSATION), "no place for earlier turns"),
        (changed(messages=CONVERSATION[:-1]), "newest turn is not the user's"),
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


def ngram(*sources: DraftSource, n_batch: int = 512, **parts: object) -> RunConfig:
    """A run that drafts from n-grams and has no draft model."""
    config = drafted(sources=sources or (DraftSource.NGRAM_MOD,), **parts)
    return replace(config, load=replace(GOOD.load, draft=None, n_batch=n_batch))


SIMPLE, MAP_K, MAP_K4V = (
    DraftSource.NGRAM_SIMPLE,
    DraftSource.NGRAM_MAP_K,
    DraftSource.NGRAM_MAP_K4V,
)


@pytest.mark.parametrize("source", [source for source in DraftSource if source in NGRAM_SOURCES])
def test_drafting_from_ngrams_needs_no_draft_model(source: DraftSource) -> None:
    assert problems(ngram(source)) == []


def test_drafting_with_mtp_blocks_needs_no_draft_model() -> None:
    assert problems(ngram(DraftSource.DRAFT_MTP)) == []


@pytest.mark.parametrize("preset", NGRAM_PRESETS, ids=lambda preset: preset.key)
def test_every_preset_works_for_every_source(preset: NgramPreset) -> None:
    config = ngram(*NGRAM_SOURCES)
    assert problems(replace(config, speculation=preset.applied_to(config.speculation))) == []


@pytest.mark.parametrize(
    "config",
    [
        ngram(ngram_mod=NgramModConfig(n_match=1, n_min=0, n_max=1)),
        ngram(ngram_mod=NgramModConfig(n_match=1024, n_min=1024, n_max=1024), n_batch=2048),
        ngram(SIMPLE, ngram_simple=NgramSizes(size_n=1, size_m=1, min_hits=9999)),
        ngram(SIMPLE, ngram_simple=NgramSizes(size_n=1024, size_m=1024), n_batch=2048),
        ngram(MAP_K, ngram_map_k=NgramSizes(size_n=12, size_m=1)),
    ],
)
def test_the_ends_of_the_ranges_work(config: RunConfig) -> None:
    assert problems(config) == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (ngram(ngram_mod=NgramModConfig(n_min=48, n_max=4)), "minimum of 48 .* maximum of 4"),
        (ngram(ngram_mod=NgramModConfig(n_match=0)), "ngram-mod is to match 0 tokens"),
        (ngram(ngram_mod=NgramModConfig(n_match=1025)), "match 1025 tokens"),
        (ngram(ngram_mod=NgramModConfig(n_min=-1)), "shortest draft of ngram-mod is -1"),
        (ngram(ngram_mod=NgramModConfig(n_max=1025)), "longest draft of ngram-mod is 1025"),
        (ngram(ngram_mod=NgramModConfig(n_min=0, n_max=0)), "never drafts"),
        (ngram(SIMPLE, ngram_simple=NgramSizes(size_n=0)), "ngram-simple is to match 0"),
        (ngram(SIMPLE, ngram_simple=NgramSizes(size_n=12, size_m=8)), "means no drafting"),
        (ngram(MAP_K, ngram_map_k=NgramSizes(size_m=0)), "ngram-map-k is to copy up to 0"),
        (ngram(MAP_K, ngram_map_k=NgramSizes(size_m=1025)), "copy up to 1025"),
        (ngram(MAP_K4V, ngram_map_k4v=NgramSizes(min_hits=0)), "ngram-map-k4v .* 0 occurrences"),
        (
            ngram(SIMPLE, MAP_K, ngram_map_k=NgramSizes(size_m=64), n_batch=64),
            "64 draft tokens from ngram-map-k .* batch of 64",
        ),
        (
            ngram(ngram_mod=NgramModConfig(n_max=512)),
            "512 draft tokens from ngram-mod .* batch of 512",
        ),
        (ngram(DraftSource.NGRAM_CACHE, n_batch=8), "8 draft tokens from ngram-cache"),
    ],
)
def test_ngram_settings_that_cannot_work_are_one_sentence(config: RunConfig, words: str) -> None:
    test_what_cannot_work_is_one_sentence(config, words)


def test_settings_that_no_source_in_use_looks_at_are_not_judged() -> None:
    odd = NgramSizes(size_n=0, size_m=0, min_hits=0)
    config = ngram(n_max=0, n_min=9, p_min=7.0, ngram_simple=odd, ngram_map_k=odd)
    assert problems(config) == []
    assert problems(drafted(ngram_mod=NgramModConfig(n_min=5, n_max=4))) == []
