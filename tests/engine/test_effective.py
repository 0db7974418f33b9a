"""The settings of a run, by the names that exports use."""

from __future__ import annotations

import pytest
from support.traces import run_config

from specviz.engine.effective import drafting_settings, run_settings
from specviz.trace.config import (
    DraftSource,
    NgramCacheConfig,
    NgramModConfig,
    NgramSizes,
    RunMode,
    SpeculationConfig,
)

MODEL = {"spec_draft_n_max": 3, "spec_draft_n_min": 0, "spec_draft_p_min": 0.0}


@pytest.mark.parametrize(
    ("source", "settings"),
    [
        (DraftSource.DRAFT_SIMPLE, MODEL),
        (DraftSource.DRAFT_MTP, MODEL),
        (
            DraftSource.NGRAM_MOD,
            {
                "spec_ngram_mod_n_match": 24,
                "spec_ngram_mod_n_min": 48,
                "spec_ngram_mod_n_max": 64,
            },
        ),
        (
            DraftSource.NGRAM_MAP_K4V,
            {
                "spec_ngram_map_k4v_size_n": 12,
                "spec_ngram_map_k4v_size_m": 48,
                "spec_ngram_map_k4v_min_hits": 2,
            },
        ),
        (
            DraftSource.NGRAM_CACHE,
            {"lookup_cache_static": "counts.bin", "lookup_cache_dynamic": None},
        ),
    ],
)
def test_a_source_tells_what_it_looks_at_and_no_more(
    source: DraftSource, settings: dict[str, object]
) -> None:
    speculation = SpeculationConfig(
        sources=(source,),
        ngram_map_k4v=NgramSizes(size_n=12, size_m=48, min_hits=2),
        ngram_mod=NgramModConfig(n_match=24, n_min=48, n_max=64),
        ngram_cache=NgramCacheConfig(static_path="counts.bin"),
    )
    assert drafting_settings(speculation) == {"spec_type": source.value, **settings}


def test_sources_are_named_in_order_of_precedence() -> None:
    sources = (DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_MOD, DraftSource.NGRAM_SIMPLE)
    assert drafting_settings(SpeculationConfig(sources=sources))["spec_type"] == (
        "ngram-simple,ngram-mod,draft-simple"
    )


def test_a_baseline_has_no_drafting_settings() -> None:
    names = run_settings(run_config(RunMode.BASELINE))
    assert not any(name.startswith("spec_") for name in names)
    assert names["temperature"] == 0.0
