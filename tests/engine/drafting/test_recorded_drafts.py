"""Token for token what llama.cpp was recorded to draft, on every system.

How it was recorded: tests/support/record_ngram_drafts.py.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.lookup_files import lookup_file
from support.ngram_sessions import OurPlayer, from_json, play
from support.random_ngrams import SOURCES

from specviz.trace.config import NgramCacheConfig

PATH = Path(__file__).with_name("vectors") / "drafts.json"
CASES = json.loads(PATH.read_text(encoding="utf-8"))["cases"]


def sources_of(case):
    return "+".join(case["session"]["speculation"]["sources"])


@pytest.mark.parametrize("case", CASES, ids=sources_of)
def test_the_same_is_drafted_as_was_recorded(case, tmp_path):
    session = from_json(case["session"])
    paths = {name: lookup_file(tmp_path / name, each) for name, each in case["files"].items()}
    speculation = replace(session.speculation, ngram_cache=NgramCacheConfig(**paths))
    assert play(OurPlayer(speculation), session.generations) == case["drafts"]


def test_the_recorded_sessions_are_worth_comparing():
    assert PATH.stat().st_size < 300_000
    n_drafts = Counter()
    for case in CASES:
        n_drafts[sources_of(case)] += sum(map(bool, case["drafts"]))
    assert all(n_drafts[source.value] > 100 for source in SOURCES)
    assert any(case["files"] for case in CASES)
    assert any(len(case["session"]["generations"]) > 2 for case in CASES)
