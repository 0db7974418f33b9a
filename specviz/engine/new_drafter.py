"""The drafters of a run, by its settings."""

from __future__ import annotations

from specviz.engine.drafting.base import Drafter
from specviz.engine.drafting.draft_model import DraftModelDrafter
from specviz.engine.drafting.next_token import NextTokenDrafter
from specviz.engine.drafting.ngram_cache import NgramCacheDrafter
from specviz.engine.drafting.ngram_map import NgramMapDrafter
from specviz.engine.drafting.ngram_mod import NgramModDrafter
from specviz.engine.drafting.ngram_simple import NgramSimpleDrafter
from specviz.engine.llama.draft import LlamaDraft
from specviz.engine.slot import Slot, next_token_head
from specviz.errors import SettingError
from specviz.trace.config import DraftSource, RunConfig


def new_drafter(
    source: DraftSource, config: RunConfig, target: Slot, draft: Slot | None
) -> Drafter:
    """A fresh drafter: nothing of an earlier run is known to it."""
    speculation = config.speculation
    rules = (speculation.n_max, speculation.n_min, speculation.p_min)
    match source:
        case DraftSource.NGRAM_SIMPLE:
            return NgramSimpleDrafter(speculation.ngram_simple)
        case DraftSource.NGRAM_MAP_K:
            return NgramMapDrafter(speculation.ngram_map_k, source)
        case DraftSource.NGRAM_MAP_K4V:
            return NgramMapDrafter(speculation.ngram_map_k4v, source)
        case DraftSource.NGRAM_MOD:
            return NgramModDrafter(speculation.ngram_mod)
        case DraftSource.NGRAM_CACHE:
            return NgramCacheDrafter(speculation.ngram_cache, target.weights.n_vocab)
        case DraftSource.DRAFT_SIMPLE:
            if draft is None or draft.context is None:
                raise SettingError("There is no draft model to draft with.", "Choose a draft file.")
            model = LlamaDraft(draft.context, target.weights.n_vocab)
            return DraftModelDrafter(model, *rules)
        case DraftSource.DRAFT_MTP:
            return NextTokenDrafter(next_token_head(target, config.load), *rules)
