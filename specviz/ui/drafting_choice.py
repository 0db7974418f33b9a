"""Which way of drafting is chosen: by the user, or by itself from what is in the slots.

Knows neither widgets nor files; it is told what the slots hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from specviz.trace.config import DraftSource
from specviz.trace.sources import MODEL_SOURCES, NGRAM_SOURCES

NGRAMS = tuple(source for source in DraftSource if source in NGRAM_SOURCES)
MODELS = tuple(source for source in DraftSource if source in MODEL_SOURCES)
"""Sources without and with a model, in llama.cpp's order of precedence."""


class Method(StrEnum):
    """The three ways to draft that the window offers."""

    MODEL = "model"
    NGRAM = "ngram"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """What the slots hold. `nextn_layers`: MTP blocks of the target, None while not known."""

    has_target: bool = False
    has_draft: bool = False
    nextn_layers: int | None = None


class _Shown(NamedTuple):
    """What is in use, picked or not."""

    method: Method
    ngrams: tuple[DraftSource, ...]


class DraftingChoice:
    """The chosen method, the n-gram sources and the model source behind it.

    Until the user picks a method, the slots decide: a draft file means to use it, a target without
    one copies n-grams unless it brings MTP blocks along. A pick outlasts every change of models,
    and so does the pick between draft file and MTP blocks where a target has both.
    """

    def __init__(self) -> None:
        self.method = Method.MODEL
        self.ngrams: tuple[DraftSource, ...] = (DraftSource.NGRAM_MOD,)
        self.drafted_by = DraftSource.DRAFT_SIMPLE
        self.slots = Slots()
        self._picked = False
        self._wanted_by: DraftSource | None = None
        self._before_example: _Shown | None = None

    @property
    def uses_model(self) -> bool:
        return self.method is not Method.NGRAM

    @property
    def uses_ngrams(self) -> bool:
        return self.method is not Method.MODEL

    @property
    def sources(self) -> tuple[DraftSource, ...]:
        """What a run would be asked to use, in llama.cpp's order of precedence."""
        ngrams = self.ngrams if self.uses_ngrams else ()
        return (*ngrams, *((self.drafted_by,) if self.uses_model else ()))

    @property
    def offers_mtp(self) -> bool:
        """Whether there is anything to choose between draft file and MTP blocks."""
        return bool(self.slots.nextn_layers)

    @property
    def lacks_draft(self) -> bool:
        """Whether the method needs a draft file and there is none."""
        by_file = self.uses_model and self.drafted_by is DraftSource.DRAFT_SIMPLE
        return by_file and not self.slots.has_draft

    # ---- what happens to it ---------------------------------------------------------------------
    def see(self, slots: Slots) -> None:
        """The slots hold something else now."""
        if slots == self.slots:
            return
        self.slots = slots
        self._settle_drafted_by()
        if not self._picked:
            self._before_example = None
            self.method = self._natural_method()

    def pick_method(self, method: Method) -> None:
        """The user picked a method; it stays whatever is put into the slots."""
        self._before_example = None
        self.method = method
        self._picked = True

    def pick_drafted_by(self, source: DraftSource) -> None:
        """The user picked between draft file and MTP blocks."""
        self._before_example = None
        self._wanted_by = source
        self.drafted_by = source

    def pick_ngrams(self, sources: Iterable[DraftSource]) -> None:
        """The user picked n-gram sources; none at all is no pick."""
        self._before_example = None
        self.ngrams = _in_order(NGRAMS, sources) or self.ngrams

    def take(self, sources: Iterable[DraftSource]) -> None:
        """A configuration says what to use. This is not a pick of the user."""
        self._before_example = None
        self._use(sources)

    def lend(self, sources: Iterable[DraftSource]) -> None:
        """An example says what to use. With the next one that says nothing, all is as before."""
        before = self._before_example or _Shown(self.method, self.ngrams)
        wanted = tuple(sources)
        if wanted:
            self._use(wanted)
            self._before_example = before
        else:
            self.method, self.ngrams = before
            self._settle_drafted_by()
            self._before_example = None

    def _use(self, sources: Iterable[DraftSource]) -> None:
        sources = tuple(sources)
        ngrams, models = _in_order(NGRAMS, sources), _in_order(MODELS, sources)
        if ngrams:
            self.ngrams = ngrams
        if models:
            self.drafted_by = models[0] if self._possible(models[0]) else DraftSource.DRAFT_SIMPLE
        if ngrams or models:
            self.method = (
                Method.BOTH if ngrams and models else Method.NGRAM if ngrams else Method.MODEL
            )

    # ---- remembering ----------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """What is remembered between starts: the picks, and the n-gram sources behind them."""
        own = self._before_example or _Shown(self.method, self.ngrams)
        return {
            "method": own.method.value if self._picked else None,
            "drafted_by": self._wanted_by.value if self._wanted_by else None,
            "ngrams": [source.value for source in own.ngrams],
        }

    def restore_state(self, state: object) -> None:
        """Take up a remembered state; anything odd in it is ignored."""
        if not isinstance(state, dict):
            return
        ngrams = state.get("ngrams")
        self.pick_ngrams(s for s in NGRAMS if isinstance(ngrams, list) and s.value in ngrams)
        for source in MODELS:
            if source.value == state.get("drafted_by"):
                self._wanted_by = source
        self._settle_drafted_by()
        for method in Method:
            if method.value == state.get("method"):
                self.pick_method(method)

    # ---- rules ----------------------------------------------------------------------------------
    def _natural_method(self) -> Method:
        slots = self.slots
        if slots.has_draft or not slots.has_target or self.drafted_by is DraftSource.DRAFT_MTP:
            return Method.MODEL
        # a target that is still being read may turn out to have MTP blocks
        return self.method if slots.nextn_layers is None else Method.NGRAM

    def _settle_drafted_by(self) -> None:
        slots = self.slots
        if self._wanted_by is not None and self._possible(self._wanted_by):
            self.drafted_by = self._wanted_by
        elif slots.has_draft or slots.nextn_layers == 0:
            self.drafted_by = DraftSource.DRAFT_SIMPLE
        elif slots.nextn_layers:
            self.drafted_by = DraftSource.DRAFT_MTP

    def _possible(self, source: DraftSource) -> bool:
        return source is not DraftSource.DRAFT_MTP or self.slots.nextn_layers != 0


def _in_order(
    order: tuple[DraftSource, ...], sources: Iterable[DraftSource]
) -> tuple[DraftSource, ...]:
    wanted = set(sources)
    return tuple(source for source in order if source in wanted)
