"""The settings of a run as they are in effect, flat, under the names that exports use."""

from __future__ import annotations

from dataclasses import fields

from specviz.trace.config import (
    DraftSource,
    NgramModConfig,
    NgramSizes,
    RunConfig,
    RunMode,
    SpeculationConfig,
)
from specviz.trace.events import Scalar


def run_settings(config: RunConfig) -> dict[str, Scalar]:
    """Sampling, limits and drafting; loaded settings are read back from the engine itself."""
    sampling = config.sampling
    settings: dict[str, Scalar] = {
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "seed": sampling.seed,
        "max_tokens": config.max_tokens,
        "stop": "\n".join(config.stop) or None,
        "raw": config.raw,
        "reasoning": config.reasoning.value,
        "acceptance_rule": "exact_match",
    }
    if config.mode is RunMode.SPECULATIVE:
        settings |= drafting_settings(config.speculation)
    return settings


def drafting_settings(speculation: SpeculationConfig) -> dict[str, Scalar]:
    """What the draft sources in use look at, by llama.cpp's option names with underscores."""
    sources = [source for source in DraftSource if source in speculation.sources]
    settings: dict[str, Scalar] = {"spec_type": ",".join(source.value for source in sources)}
    for source in sources:
        match source:
            case DraftSource.NGRAM_SIMPLE:
                settings |= _named(source, speculation.ngram_simple)
            case DraftSource.NGRAM_MAP_K:
                settings |= _named(source, speculation.ngram_map_k)
            case DraftSource.NGRAM_MAP_K4V:
                settings |= _named(source, speculation.ngram_map_k4v)
            case DraftSource.NGRAM_MOD:
                settings |= _named(source, speculation.ngram_mod)
            case DraftSource.NGRAM_CACHE:
                settings |= {
                    "lookup_cache_static": speculation.ngram_cache.static_path,
                    "lookup_cache_dynamic": speculation.ngram_cache.dynamic_path,
                }
            case DraftSource.DRAFT_SIMPLE | DraftSource.DRAFT_MTP:
                settings |= {
                    "spec_draft_n_max": speculation.n_max,
                    "spec_draft_n_min": speculation.n_min,
                    "spec_draft_p_min": speculation.p_min,
                }
    return settings


def _named(source: DraftSource, sizes: NgramSizes | NgramModConfig) -> dict[str, Scalar]:
    prefix = f"spec_{source.value.replace('-', '_')}_"
    return {prefix + field.name: getattr(sizes, field.name) for field in fields(sizes)}
