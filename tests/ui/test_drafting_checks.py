"""Which drafting rows are marked, and that rows nobody looks at never are."""

from __future__ import annotations

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
    SpeculationConfig,
)
from specviz.trace.presets import NGRAM_PRESETS
from specviz.trace.validation import problems
from specviz.ui.drafting_checks import row_advice, row_problems

WRONG = SpeculationConfig(
    n_max=4,
    n_min=48,
    ngram_simple=NgramSizes(size_n=12, size_m=8),
    ngram_map_k=NgramSizes(size_m=600),
    ngram_map_k4v=NgramSizes(size_n=2, size_m=512),
    ngram_mod=NgramModConfig(n_match=3, n_min=20, n_max=10),
)


def marked(*sources: DraftSource) -> set[str]:
    speculation = SpeculationConfig(**{**fields_of(WRONG), "sources": sources})
    return set(row_problems(speculation, 512))


def fields_of(speculation: SpeculationConfig) -> dict[str, object]:
    return {name: getattr(speculation, name) for name in SpeculationConfig.__slots__}


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        (DraftSource.DRAFT_SIMPLE, {"draft-tokens", "n-min"}),
        (DraftSource.DRAFT_MTP, {"draft-tokens", "n-min"}),
        (DraftSource.NGRAM_SIMPLE, {"ngram-simple-match", "ngram-simple-copied"}),
        (DraftSource.NGRAM_MAP_K, {"ngram-map-k-copied"}),
        (DraftSource.NGRAM_MAP_K4V, {"ngram-map-k4v-copied"}),
        (DraftSource.NGRAM_MOD, {"ngram-mod-shortest", "ngram-mod-longest"}),
        (DraftSource.NGRAM_CACHE, set()),
    ],
)
def test_only_rows_of_sources_in_use_can_be_wrong(source, rows):
    assert marked(source) == rows


@pytest.mark.parametrize("source", DraftSource)
def test_marks_and_reasons_not_to_run_go_together(source):
    """A red row and a Run button that works, or the other way round, would be a riddle."""
    for speculation in (WRONG, *(preset.applied_to(WRONG) for preset in NGRAM_PRESETS)):
        alone = SpeculationConfig(**{**fields_of(speculation), "sources": (source,)})
        config = RunConfig(
            mode=RunMode.SPECULATIVE,
            load=LoadConfig(target=ModelSpec(path="/t"), draft=ModelSpec(path="/d")),
            messages=(Message(role="user", text="?"),),
            speculation=alone,
        )
        assert bool(row_problems(alone, 512)) is bool(problems(config))


def test_a_longest_draft_of_nothing_is_wrong_by_itself():
    mod = SpeculationConfig(
        sources=(DraftSource.NGRAM_MOD,), ngram_mod=NgramModConfig(n_min=0, n_max=0)
    )
    assert list(row_problems(mod, 512)) == ["ngram-mod-longest"]


def test_chance_matches_are_advised_against_where_they_matter():
    speculation = SpeculationConfig(
        **{**fields_of(WRONG), "sources": (DraftSource.NGRAM_MAP_K4V, DraftSource.NGRAM_MOD)}
    )
    assert set(row_advice(speculation)) == {"ngram-map-k4v-match", "ngram-mod-match"}
    plain = SpeculationConfig(sources=(DraftSource.NGRAM_MOD,))
    assert row_advice(plain) == {}, "the preset for short texts is no reason to worry"
