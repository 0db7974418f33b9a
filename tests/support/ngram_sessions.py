"""Sessions of n-gram drafting that anybody who drafts can play: ours, or llama.cpp's own code.

A session is what one drafter (or several in their order of precedence) lives through: generations
one after the other, each a text of which the first part is the prompt. How many tokens of a draft
are accepted follows from how the text really goes on. Knows nothing of who drafts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, TypeVar

from specviz.engine.drafting.base import Drafter, Proposal
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.drafting.ngram_cache import NgramCacheDrafter
from specviz.engine.drafting.ngram_map import NgramMapDrafter
from specviz.engine.drafting.ngram_mod import NgramModDrafter
from specviz.engine.drafting.ngram_simple import NgramSimpleDrafter
from specviz.trace.config import (
    DraftSource,
    NgramCacheConfig,
    NgramModConfig,
    NgramSizes,
    SpeculationConfig,
)


@dataclass(frozen=True)
class Generation:
    """`text[:n_prompt]` is there at the start; the token behind it is the first pending one.

    `limits` and `asked` are gone through in turn, step by step: how many tokens a draft may have,
    and whether anybody is asked for one. A step without a draft moves on by one token.
    """

    text: tuple[int, ...]
    n_prompt: int
    limits: tuple[int, ...] = (1000,)
    asked: tuple[bool, ...] = (True,)


@dataclass(frozen=True)
class Session:
    """What is played. `speculation` names the sources, and its n-gram settings count."""

    speculation: SpeculationConfig
    generations: tuple[Generation, ...]


class Player(Protocol):
    """Who drafts."""

    def begin(self, history: list[int]) -> None: ...

    def draft(self, history: list[int], pending: int, limit: int) -> Sequence[int]: ...

    def accept(self, n_accepted: int) -> None: ...


def play(player: Player, generations: Sequence[Generation]) -> list[list[int]]:
    """What was drafted in each step in which somebody was asked."""
    drafts = []
    for generation in generations:
        text, n = generation.text, generation.n_prompt
        history = list(text[:n])
        player.begin(history)
        step = 0
        while n < len(text):
            n_accepted = 0
            if generation.asked[step % len(generation.asked)]:
                limit = generation.limits[step % len(generation.limits)]
                draft = player.draft(history, text[n], limit)
                drafts.append(list(draft))
                n_accepted = agreement(draft, text[n + 1 :])
                # as llama-server does: a step without a draft is nothing to learn from
                if draft:
                    player.accept(n_accepted)
            history += text[n : n + 1 + n_accepted]
            n += 1 + n_accepted
            step += 1
    return drafts


def agreement(draft: Sequence[int], text: Sequence[int]) -> int:
    """How many tokens of the draft the text begins with."""
    for i, (drafted, token_id) in enumerate(zip(draft, text, strict=False)):
        if drafted != token_id:
            return i
    return min(len(draft), len(text))


class OurPlayer:
    """Our drafters, behind the chain that asks them in order; keeps their proposals."""

    def __init__(self, speculation: SpeculationConfig) -> None:
        self.chain = DrafterChain([drafter_of(each, speculation) for each in speculation.sources])
        self.proposals: list[tuple[list[int], int, Proposal]] = []

    def begin(self, history: list[int]) -> None:
        for drafter in self.chain.drafters:
            begun(drafter, history)

    def draft(self, history: list[int], pending: int, limit: int) -> Sequence[int]:
        proposal = self.chain.draft(history, pending, limit, time.perf_counter)
        self.proposals.append((list(history), pending, proposal))
        return proposal.token_ids

    def accept(self, n_accepted: int) -> None:
        self.chain.accept(n_accepted)


D = TypeVar("D", bound=Drafter)


def begun(drafter: D, history: Sequence[int]) -> D:
    """The drafter, told that a generation starts behind this text."""
    drafter.begin(history, threading.Event(), lambda done, total: None)
    return drafter


def drafter_of(source: DraftSource, speculation: SpeculationConfig) -> Drafter:
    """A fresh drafter of an n-gram source."""
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
            return NgramCacheDrafter(speculation.ngram_cache)
    raise AssertionError(f"{source} is no n-gram source")


def with_sizes(source: DraftSource, sizes: NgramSizes) -> SpeculationConfig:
    """Settings for one of the three sources that have sizes."""
    field = source.value.replace("-", "_")
    return replace(SpeculationConfig(sources=(source,)), **{field: sizes})


# As JSON -----------------------------------------------------------------------------------------
def to_json(session: Session) -> dict[str, Any]:
    """The session as plain data."""
    generations = [asdict(generation) for generation in session.generations]
    return {"speculation": asdict(session.speculation), "generations": generations}


def from_json(data: dict[str, Any]) -> Session:
    """The session again."""
    known = dict(data["speculation"])
    known["sources"] = tuple(DraftSource(source) for source in known["sources"])
    for name in ("ngram_simple", "ngram_map_k", "ngram_map_k4v"):
        known[name] = NgramSizes(**known[name])
    known["ngram_mod"] = NgramModConfig(**known["ngram_mod"])
    known["ngram_cache"] = NgramCacheConfig(**known["ngram_cache"])
    return Session(
        SpeculationConfig(**known),
        tuple(
            Generation(
                tuple(each["text"]),
                each["n_prompt"],
                tuple(each["limits"]),
                tuple(each["asked"]),
            )
            for each in data["generations"]
        ),
    )
