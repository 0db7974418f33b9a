"""Settings that cannot work, in words, before anything is loaded.

Judges the configuration alone: whether files exist, models fit or memory suffices is not known
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from specviz.trace.config import (
    KV_TYPES,
    DraftSource,
    LoadConfig,
    ModelSpec,
    NgramModConfig,
    NgramSizes,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.trace.sources import MODEL_SOURCES

LARGEST_SEED = 2**32 - 2
"""llama.cpp takes the next number up for "draw one"."""

UNQUANTISED = ("f32", "f16", "bf16")

LARGEST_NGRAM = 1024
"""llama.cpp's limit for every n-gram size, and for the length of ngram-mod's drafts."""

NGRAM_SIZES = {
    DraftSource.NGRAM_SIMPLE: "ngram_simple",
    DraftSource.NGRAM_MAP_K: "ngram_map_k",
    DraftSource.NGRAM_MAP_K4V: "ngram_map_k4v",
}
"""The sources with sizes of this kind, and where `SpeculationConfig` has them."""


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
    elif config.messages[-1].role != "user":
        yield "The newest turn is not the user's, so there is nothing to answer."
    if config.raw and len(config.messages) > 1:
        earlier = {message.role for message in config.messages[:-1]}
        what = "a system prompt" if earlier == {"system"} else "earlier turns"
        yield f"A raw prompt goes without a chat template, so it has no place for {what}."


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
    """Judges the sources in use only: nobody looks at the settings of the others."""
    sources = [source for source in DraftSource if source in speculation.sources]
    if not sources:
        yield "No drafting method is chosen."
    if DraftSource.DRAFT_SIMPLE in sources and load.draft is None:
        yield "Drafting with a draft model needs a draft model."
    if any(source in MODEL_SOURCES for source in sources):
        yield from _model_drafts(speculation)
    for source in sources:
        if source in NGRAM_SIZES:
            yield from _ngram_sizes(source, getattr(speculation, NGRAM_SIZES[source]))
    if DraftSource.NGRAM_MOD in sources:
        yield from _ngram_mod(speculation.ngram_mod)
    yield from _batch(speculation, sources, load.n_batch)


def _model_drafts(speculation: SpeculationConfig) -> Iterator[str]:
    n_max, n_min = speculation.n_max, speculation.n_min
    if n_max < 1:
        yield f"At most {n_max} draft tokens per step means no drafting; choose 1 or more."
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


def _ngram_sizes(source: DraftSource, sizes: NgramSizes) -> Iterator[str]:
    size_n, size_m = sizes.size_n, sizes.size_m
    if not 1 <= size_n <= LARGEST_NGRAM:
        yield (
            f"{source.value} is to match {size_n} tokens; it should be between 1 and "
            f"{LARGEST_NGRAM}."
        )
    elif not 1 <= size_m <= LARGEST_NGRAM:
        yield (
            f"{source.value} is to copy up to {size_m} tokens; it should be between 1 and "
            f"{LARGEST_NGRAM}."
        )
    elif source is DraftSource.NGRAM_SIMPLE and size_m < size_n:
        # common_ngram_simple_draft gives up where it could copy fewer tokens than it matched
        yield (
            f"ngram-simple copies no fewer tokens than it matches, so up to {size_m} tokens "
            f"after a match of {size_n} means no drafting."
        )
    if sizes.min_hits < 1:
        yield (
            f"{source.value} is to wait for {sizes.min_hits} occurrences of a match; it should be "
            "1 or more."
        )


def _ngram_mod(mod: NgramModConfig) -> Iterator[str]:
    if not 1 <= mod.n_match <= LARGEST_NGRAM:
        yield (
            f"ngram-mod is to match {mod.n_match} tokens; it should be between 1 and "
            f"{LARGEST_NGRAM}."
        )
    if not 0 <= mod.n_max <= LARGEST_NGRAM:
        yield (
            f"The longest draft of ngram-mod is {mod.n_max} tokens; it should be at most "
            f"{LARGEST_NGRAM}."
        )
    elif not 0 <= mod.n_min <= LARGEST_NGRAM:
        yield (
            f"The shortest draft of ngram-mod is {mod.n_min} tokens; it should be between 0 and "
            f"{LARGEST_NGRAM}."
        )
    elif mod.n_min > mod.n_max:
        yield (
            f"The minimum of {mod.n_min} draft tokens of ngram-mod is above its maximum of "
            f"{mod.n_max}, so it would never draft."
        )
    elif mod.n_max == 0:
        yield "A longest draft of 0 tokens means that ngram-mod never drafts; choose 1 or more."


def _batch(
    speculation: SpeculationConfig, sources: Sequence[DraftSource], n_batch: int
) -> Iterator[str]:
    """The longest draft and the pending token are evaluated at once."""
    longest = {source: speculation.longest_draft(source) for source in sources}
    too_long = [
        n
        for source, n in longest.items()
        if n >= n_batch >= 1 and (n <= LARGEST_NGRAM or source in MODEL_SOURCES)
    ]
    if too_long:
        n_draft = max(too_long)
        (source, *_) = (source for source, n in longest.items() if n == n_draft)
        whose = "" if source in MODEL_SOURCES else f" from {source.value}"
        yield (
            f"{n_draft} draft tokens{whose} and the pending one do not fit in a batch of "
            f"{n_batch} rows."
        )
