"""Settings that cannot work, in words, before anything is loaded.

Judges the configuration alone: whether files exist, models fit or memory suffices is not known
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from specviz.trace.config import (
    KV_TYPES,
    DraftSource,
    LoadConfig,
    ModelSpec,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)

LARGEST_SEED = 2**32 - 2
"""llama.cpp takes the next number up for "draw one"."""

UNQUANTISED = ("f32", "f16", "bf16")


def problems(config: RunConfig) -> list[str]:
    """One sentence for each setting that cannot work; empty when all can."""
    found = [
        *_prompt(config),
        *_limits(config),
        *_load(config.load),
        *_sampling(config.sampling),
    ]
    if config.mode is RunMode.SPECULATIVE:
        found += _speculation(config.speculation, config.load)
    return found


def _prompt(config: RunConfig) -> Iterator[str]:
    if not config.prompt.strip() and not (config.raw and config.prompt):
        yield "The prompt is empty."
    if config.raw and len(config.messages) > 1:
        yield "A raw prompt goes without a chat template, so it has no place for a system prompt."


def _limits(config: RunConfig) -> Iterator[str]:
    if config.max_tokens == 0:
        yield "A limit of 0 tokens leaves nothing to do."
    if any(not text for text in config.stop):
        yield "A stop text is empty, which would stop every answer before it begins."


def _load(load: LoadConfig) -> Iterator[str]:
    if load.n_ctx < 0:
        yield f"The context size is {load.n_ctx}; it should be 0 (as trained) or more."
    if load.n_batch < 1:
        yield f"The batch size is {load.n_batch}; it should be at least 1."
    yield from _model(load.target, "target", load.flash_attention)
    if load.draft is not None:
        yield from _model(load.draft, "draft", load.flash_attention)


def _model(model: ModelSpec, whose: str, flash_attention: Switch) -> Iterator[str]:
    if model.n_threads is not None and model.n_threads < 1:
        yield f"The {whose} is given {model.n_threads} threads; it needs at least 1."
    for name, value in (("K", model.type_k), ("V", model.type_v)):
        if value not in KV_TYPES:
            yield (
                f"The {whose}'s {name} cache type {value} is unknown; "
                f"choose one of {', '.join(KV_TYPES)}."
            )
    if flash_attention is Switch.OFF and model.type_v in set(KV_TYPES) - set(UNQUANTISED):
        yield f"The {whose}'s V cache can be {model.type_v} only with flash attention."


def _sampling(sampling: SamplingConfig) -> Iterator[str]:
    temperature = sampling.temperature
    if not math.isfinite(temperature) or temperature < 0:
        yield f"The temperature is {temperature:g}; it should be 0 or more."
    if sampling.top_k < 0:
        yield f"Top-k is {sampling.top_k}; it should be 0 (off) or more."
    for name, share in (("Top-p", sampling.top_p), ("Min-p", sampling.min_p)):
        if not 0 <= share <= 1:
            yield f"{name} is {share:g}; it should be between 0 and 1."
    if sampling.seed is not None and not 0 <= sampling.seed <= LARGEST_SEED:
        yield f"The seed is {sampling.seed}; it should be between 0 and {LARGEST_SEED}."


def _speculation(speculation: SpeculationConfig, load: LoadConfig) -> Iterator[str]:
    if not speculation.sources:
        yield "No drafting method is chosen."
    if DraftSource.DRAFT_SIMPLE in speculation.sources and load.draft is None:
        yield "Drafting with a draft model needs a draft model."
    n_max, n_min = speculation.n_max, speculation.n_min
    if n_max < 1:
        yield f"At most {n_max} draft tokens per step means no drafting; choose 1 or more."
    elif n_max >= load.n_batch >= 1:
        yield (
            f"{n_max} draft tokens and the pending one do not fit in a batch of "
            f"{load.n_batch} rows."
        )
    if n_min < 0:
        yield f"The minimum of draft tokens is {n_min}; it should be 0 or more."
    elif n_min > n_max >= 1:
        yield (
            f"The minimum of {n_min} draft tokens is above the maximum of {n_max}, so every "
            "draft would be thrown away."
        )
    if not 0 <= speculation.p_min <= 1:
        yield (
            f"The least probability of a draft token is {speculation.p_min:g}; it should be "
            "between 0 and 1."
        )
