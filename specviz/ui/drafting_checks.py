"""Which drafting rows hold values that cannot work together, and what is said there. No Qt.

Marks the controls; whether a run may start is judged by trace/validation.py, by the same rules.
Only what the chosen sources use can be wrong: nobody looks at the other rows.
"""

from __future__ import annotations

from specviz.trace.config import (
    DraftSource,
    NgramModConfig,
    NgramSizes,
    SpeculationConfig,
)
from specviz.trace.sources import MODEL_SOURCES
from specviz.trace.validation import NGRAM_SIZES
from specviz.ui import figures

CHANCE_MATCH = 4
"""Fewer tokens than this are often the same by chance. llama.cpp warns below 16 already."""


def sizes_of(speculation: SpeculationConfig, source: DraftSource) -> NgramSizes:
    """The sizes of ngram-simple, ngram-map-k or ngram-map-k4v."""
    sizes: NgramSizes = getattr(speculation, NGRAM_SIZES[source])
    return sizes


def row_problems(speculation: SpeculationConfig, n_batch: int) -> dict[str, str]:
    """By key of the row: why no run can start with its value. A check has `n_batch` rows."""
    found: dict[str, str] = {}
    sources = set(speculation.sources)
    if sources & MODEL_SOURCES:
        found |= _batch("draft-tokens", speculation.n_max, n_batch)
        found |= _minimum("draft-tokens", "n-min", speculation.n_max, speculation.n_min)
    for source in NGRAM_SIZES:
        if source in sources:
            found |= _sizes(source, sizes_of(speculation, source), n_batch)
    if DraftSource.NGRAM_MOD in sources:
        found |= _mod(speculation.ngram_mod, n_batch)
    return found


def _sizes(source: DraftSource, sizes: NgramSizes, n_batch: int) -> dict[str, str]:
    match, copied = f"{source.value}-match", f"{source.value}-copied"
    found = _batch(copied, sizes.size_m, n_batch)
    if source is DraftSource.NGRAM_SIMPLE and sizes.size_m < sizes.size_n:
        found[match] = found[copied] = (
            "This method copies no fewer tokens than it matches, so it would never draft."
        )
    return found


def _mod(mod: NgramModConfig, n_batch: int) -> dict[str, str]:
    shortest, longest = "ngram-mod-shortest", "ngram-mod-longest"
    if mod.n_max == 0:
        return {longest: "A longest draft of 0 tokens means no drafting."}
    found = _batch(longest, mod.n_max, n_batch)
    return found | _minimum(longest, shortest, mod.n_max, mod.n_min)


def _minimum(key_max: str, key_min: str, n_max: int, n_min: int) -> dict[str, str]:
    if n_min <= n_max:
        return {}
    return {
        key_max: f"The maximum of {figures.count(n_max)} is below the shortest draft of "
        f"{figures.count(n_min)}.",
        key_min: f"No draft can have {figures.count(n_min)} tokens, so every draft would be "
        "thrown away.",
    }


def _batch(key: str, n_draft: int, n_batch: int) -> dict[str, str]:
    if n_draft < n_batch:
        return {}
    return {
        key: f"{figures.count(n_draft)} draft tokens and the pending one do not fit in a batch of "
        f"{figures.count(n_batch)} rows."
    }


def row_advice(speculation: SpeculationConfig) -> dict[str, str]:
    """By key of the row: what its value is likely to bring, where that is little."""
    matches = {s: sizes_of(speculation, s).size_n for s in NGRAM_SIZES}
    matches[DraftSource.NGRAM_MOD] = speculation.ngram_mod.n_match
    return {
        f"{source.value}-match": "So few tokens are often the same by chance, and every chance "
        "match costs a check."
        for source, n_match in matches.items()
        if source in speculation.sources and n_match < CHANCE_MATCH
    }
