"""What the views call the draft sources. The setting rows have the words for those of n-grams."""

from __future__ import annotations

from specviz.trace.config import DraftSource
from specviz.ui.setting_catalogue import NGRAM_METHODS

NAMES: dict[DraftSource, str] = {
    **{DraftSource(choice.value): choice.word for choice in NGRAM_METHODS},
    DraftSource.DRAFT_SIMPLE: "draft model",
    DraftSource.DRAFT_MTP: "MTP blocks",
}


def full_name(source: DraftSource) -> str:
    """With llama.cpp's name beside it: `token chain (ngram-mod)`."""
    return f"{NAMES[source]} ({source.value})"
