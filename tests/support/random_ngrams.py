"""Random sessions of n-gram drafting: texts that repeat themselves, conversations that shorten."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st
from support.ngram_sessions import Generation, Session

from specviz.trace.config import (
    DraftSource,
    NgramCacheConfig,
    NgramModConfig,
    NgramSizes,
    SpeculationConfig,
)
from specviz.trace.sources import NGRAM_SOURCES

SOURCES = tuple(source for source in DraftSource if source in NGRAM_SOURCES)
SIZES = st.builds(
    NgramSizes, size_n=st.integers(1, 9), size_m=st.integers(1, 16), min_hits=st.integers(1, 3)
)


@st.composite
def mod_settings(draw: st.DrawFn) -> NgramModConfig:
    """Matches on both sides of a chunk of 32, and drafts of few or many tokens."""
    n_min = draw(st.integers(0, 6))
    return NgramModConfig(
        n_match=draw(st.integers(1, 8) | st.sampled_from([24, 31, 32, 33, 40])),
        n_min=n_min,
        n_max=draw(st.integers(max(n_min, 1), 24)),
    )


@st.composite
def sessions(
    draw: st.DrawFn, sources: Sequence[DraftSource], files: NgramCacheConfig | None = None
) -> Session:
    """Up to four generations of one drafter; the sizes are drawn, and so is a seed for the rest."""
    speculation = SpeculationConfig(
        sources=tuple(sources),
        ngram_simple=draw(SIZES),
        ngram_map_k=draw(SIZES),
        ngram_map_k4v=draw(SIZES),
        ngram_mod=draw(mod_settings()),
        ngram_cache=files or NgramCacheConfig(),
    )
    rng = random.Random(draw(st.integers(0, 2**32)))
    count = draw(st.integers(1, 4))
    longest = draw(st.sampled_from([40, 150, 600]))
    return Session(speculation, conversation(rng, count, longest))


def conversation(rng: random.Random, n_generations: int, longest: int) -> tuple[Generation, ...]:
    """Generations whose texts share a beginning, or nothing, with the one before."""
    generations: list[Generation] = []
    text: list[int] = []
    for _ in range(n_generations):
        kept = rng.choice([0, len(text), rng.randint(0, len(text))])
        alphabet = rng.choice([1, 2, 3, 5, 40, 30_000])
        text = text[:kept]
        write(rng, text, kept + rng.randint(8, longest), alphabet, rng.choice([0.0, 0.3, 0.8]))
        generations.append(
            Generation(
                text=tuple(text),
                n_prompt=rng.randint(4, len(text) - 1),
                limits=tuple(rng.choice([1, 2, 5, 20, 1000]) for _ in range(3)),
                asked=(True, *(rng.random() < 0.8 for _ in range(4))),
            )
        )
    return tuple(generations)


def write(rng: random.Random, text: list[int], length: int, alphabet: int, copying: float) -> None:
    """Let the text grow by new tokens and, as often as `copying` says, by pieces of itself."""
    while len(text) < length:
        if text and rng.random() < copying:
            start = rng.randrange(len(text))
            text += text[start : start + rng.randint(1, 60)]
        else:
            text += [rng.randrange(alphabet) for _ in range(rng.randint(1, 10))]
    del text[length:]
