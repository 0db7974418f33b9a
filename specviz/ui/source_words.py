"""What the views call the draft sources: llama.cpp's names for n-grams, words for models."""

from __future__ import annotations

from specviz.trace.config import DraftSource
from specviz.ui.setting_catalogue import NGRAM_METHODS

_WORDS = {DraftSource(choice.value): choice.beside for choice in NGRAM_METHODS}

NAMES: dict[DraftSource, str] = {
    **{source: source.value for source in _WORDS},
    DraftSource.DRAFT_SIMPLE: "draft model",
    DraftSource.DRAFT_MTP: "MTP blocks",
}


def full_name(source: DraftSource) -> str:
    """Both names: `ngram-mod (token chain)`, `draft model (draft-simple)`."""
    return f"{NAMES[source]} ({_WORDS.get(source, source.value)})"
