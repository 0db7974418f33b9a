"""Token for token what llama.cpp's compiled code drafts, in random sessions.

The compiled code is the installed libllama-common, with all of its drafters' own bookkeeping.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.lookup_files import lookup_file
from support.native_ngram import NativeError
from support.native_ngram_process import NativeProcess
from support.ngram_sessions import Generation, OurPlayer, Session, play
from support.random_ngrams import SOURCES, conversation, sessions, write

from specviz.trace.config import DraftSource, NgramCacheConfig, NgramModConfig, SpeculationConfig
from specviz.trace.presets import LLAMA_CPP, NGRAM_PRESETS

pytestmark = pytest.mark.model

# one process answers all examples
many = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def native() -> Iterator[NativeProcess]:
    try:
        process = NativeProcess()
    except NativeError as error:
        pytest.skip(f"llama.cpp's own drafters cannot be asked here: {error}")
    with process:
        yield process


def assert_same(native: NativeProcess, session: Session) -> int:
    """Compare all drafts; how many of them were not empty."""
    ours = play(OurPlayer(session.speculation), session.generations)
    theirs = native.play(session)
    for step, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert mine == other, f"draft {step} of {len(ours)}"
    return sum(map(bool, ours))


@pytest.mark.parametrize("source", SOURCES)
@many
@given(data=st.data())
def test_a_source_drafts_the_same(native, source, data):
    assert_same(native, data.draw(sessions([source])))


@many
@given(data=st.data(), sources=st.sets(st.sampled_from(SOURCES), min_size=2))
def test_several_sources_draft_the_same_in_their_order_of_precedence(native, data, sources):
    assert_same(native, data.draw(sessions(sorted(sources, key=SOURCES.index))))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("preset", NGRAM_PRESETS, ids=lambda preset: preset.name)
def test_long_texts_draft_the_same_with_every_preset(native, source, preset):
    rng = random.Random(11)
    text: list[int] = []
    write(rng, text, 6_000, 2_000, copying=0.3)
    first = Generation(tuple(text), n_prompt=4_000)
    write(rng, text, 7_500, 2_000, copying=0.5)
    second = Generation(tuple(text[:4_500] + text[5_000:]), n_prompt=5_500)
    speculation = preset.applied_to(SpeculationConfig(sources=(source,)))
    assert assert_same(native, Session(speculation, (first, second))) > 20


def test_a_table_that_is_cleared_for_being_full_drafts_the_same(native):
    rng = random.Random(12)
    large = tuple(rng.randrange(200_000) for _ in range(1_100_000))
    generations = (
        Generation((*large, *large[:20]), len(large)),
        Generation((*large[:3000], *large[:20]), 3000),
    )
    mod = NgramModConfig(n_match=2, n_min=1, n_max=8)
    speculation = SpeculationConfig(sources=(DraftSource.NGRAM_MOD,), ngram_mod=mod)
    assert assert_same(native, Session(speculation, generations)) > 0


@st.composite
def records(draw, size):
    ngram = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    tokens = draw(st.lists(st.integers(0, 4) | st.integers(0, 90), min_size=1, max_size=40))
    # with the large ones, products and sums do not fit into 32 bits
    counts = st.sampled_from([1, 2, 3, 50, 100, 200]) | st.sampled_from([10**6, 3 * 10**7, 10**9])
    return ngram, [(token_id, draw(counts)) for token_id in tokens]


@many
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_with_files_it_drafts_the_same(native, tmp_path, data, seed):
    sized = st.integers(1, 4).flatmap(records)
    static = data.draw(st.lists(records(2), max_size=20))
    dynamic = data.draw(st.lists(sized, max_size=20))
    files = NgramCacheConfig(
        static_path=lookup_file(tmp_path / "static.bin", static),
        dynamic_path=lookup_file(tmp_path / "dynamic.bin", dynamic),
    )
    speculation = SpeculationConfig(sources=(DraftSource.NGRAM_CACHE,), ngram_cache=files)
    rng = random.Random(seed)
    generations = [
        replace(each, text=tuple(token_id % 5 for token_id in each.text))
        for each in conversation(rng, 2, 80)
    ]
    assert_same(native, Session(speculation, tuple(generations)))


def test_the_comparison_notices_a_difference(native):
    text: list[int] = []
    write(random.Random(13), text, 400, 3, copying=0.5)
    speculation = LLAMA_CPP.applied_to(SpeculationConfig(sources=(DraftSource.NGRAM_MAP_K,)))
    speculation = replace(speculation, ngram_map_k=replace(speculation.ngram_map_k, size_n=4))
    session = Session(speculation, (Generation(tuple(text), 100),))
    theirs = native.play(session)
    other = replace(speculation.ngram_map_k, size_m=47)
    assert theirs != play(OurPlayer(replace(speculation, ngram_map_k=other)), session.generations)
