"""Records what llama.cpp's compiled code drafts in some random sessions, for machines without it.

Run by hand, from the folder of the project, when the release of llama.cpp changes:

    PYTHONPATH=tests python -m support.record_ngram_drafts

Writes tests/engine/drafting/vectors/drafts.json, and map_order.json where there is a C++ compiler.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.lookup_files import Record, lookup_file
from support.native_ngram import RELEASE
from support.native_ngram_process import NativeProcess
from support.ngram_sessions import Session, to_json
from support.random_ngrams import SOURCES, conversation

from specviz.trace.config import (
    DraftSource,
    NgramCacheConfig,
    NgramModConfig,
    NgramSizes,
    SpeculationConfig,
)

FOLDER = Path(__file__).parents[1] / "engine" / "drafting" / "vectors"
SESSIONS_EACH = 8
MAX_TOKEN = 1000
MAP_SIZES = (1, 2, 3, 13, 14, 15, 29, 30, 59, 60, 130)
MAP_PROGRAM = """
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_map>
int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream given(line);
        std::unordered_map<int, int> map;
        for (int token; given >> token;) map.emplace(token, 1);
        for (auto & entry : map) std::cout << entry.first << ' ';
        std::cout << std::endl;
    }
}
"""


def _sizes(rng: random.Random) -> NgramSizes:
    return NgramSizes(
        size_n=rng.randint(1, 6), size_m=rng.randint(6, 16), min_hits=rng.randint(1, 2)
    )


def _speculation(rng: random.Random, sources: tuple[DraftSource, ...]) -> SpeculationConfig:
    n_min = rng.randint(0, 4)
    n_match = rng.choice([1, 2, 3, 4, 8, 33])
    return SpeculationConfig(
        sources=sources,
        ngram_simple=_sizes(rng),
        ngram_map_k=_sizes(rng),
        ngram_map_k4v=_sizes(rng),
        ngram_mod=NgramModConfig(n_match=n_match, n_min=n_min, n_max=n_min + rng.randint(1, 12)),
    )


def _records(rng: random.Random, sizes: tuple[int, ...]) -> list[Record]:
    """Counts with many equal products and some too large for 32 bits, in maps of many sizes."""
    return [
        (
            [rng.randrange(4) for _ in range(rng.choice(sizes))],
            [
                (token_id, rng.choice([1, 2, 100, 200, 30_000_000]))
                for token_id in rng.sample(range(40), rng.randint(1, 20))
            ],
        )
        for _ in range(12)
    ]


def _sessions(rng: random.Random) -> Iterator[tuple[Session, dict[str, list[Record]]]]:
    """Endlessly for each source, then for several at once, then with files."""
    several = [(SOURCES[0], SOURCES[3]), SOURCES[1:], SOURCES]
    for sources in [*((source,) for source in SOURCES), *several]:
        for _ in range(SESSIONS_EACH if len(sources) == 1 else 3):
            yield _session(rng, sources), {}
    for _ in range(SESSIONS_EACH):
        files = {"static_path": _records(rng, (2,)), "dynamic_path": _records(rng, (1, 2, 3, 4))}
        yield _session(rng, (DraftSource.NGRAM_CACHE,), 4), files


def _session(
    rng: random.Random, sources: tuple[DraftSource, ...], alphabet: int = MAX_TOKEN
) -> Session:
    generations = conversation(rng, rng.randint(1, 3), 200)
    short = [
        replace(each, text=tuple(token_id % alphabet for token_id in each.text))
        for each in generations
    ]
    return Session(_speculation(rng, sources), tuple(short))


def record() -> None:
    """Write what is drafted now."""
    cases = []
    with NativeProcess() as native, tempfile.TemporaryDirectory() as folder:
        for session, files in _sessions(random.Random(20)):
            paths = {name: lookup_file(Path(folder) / name, each) for name, each in files.items()}
            speculation = replace(session.speculation, ngram_cache=NgramCacheConfig(**paths))
            drafts = native.play(replace(session, speculation=speculation))
            cases.append({"session": to_json(session), "files": files, "drafts": drafts})
    _write("drafts.json", f"what llama.cpp as of llama-cpp-python {RELEASE} drafts", cases)
    if shutil.which("g++"):
        _record_map_order()


def _record_map_order() -> None:
    rng = random.Random(21)
    given = [rng.sample(range(max(n, largest)), n) for n in MAP_SIZES for largest in (40, 49_152)]
    with tempfile.TemporaryDirectory() as folder:
        program, source = Path(folder) / "map_order", Path(folder) / "map_order.cpp"
        source.write_text(MAP_PROGRAM)
        subprocess.run(["g++", str(source), "-o", str(program)], check=True)
        lines = "".join(" ".join(map(str, each)) + "\n" for each in given)
        done = subprocess.run(
            [str(program)], input=lines, capture_output=True, encoding="utf-8", check=True
        )
    orders = [[int(token) for token in line.split()] for line in done.stdout.splitlines()]
    cases = [{"given": each, "order": order} for each, order in zip(given, orders, strict=True)]
    what = "the order in which std::unordered_map<int, int> of libstdc++ yields what was put in"
    _write("map_order.json", what, cases)


def _write(name: str, what: str, cases: list[Any]) -> None:
    """A line for each case."""
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    text = f'{{"what": {json.dumps(what)},\n"cases": [\n{lines}\n]}}\n'
    FOLDER.joinpath(name).write_text(text, encoding="utf-8")
    print(f"{name}: {len(cases)} cases, {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    record()
