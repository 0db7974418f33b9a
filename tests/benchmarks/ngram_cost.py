"""What drafting from n-grams costs in a text of 32 000 tokens: ours and llama.cpp's compiled code.

Both sides live through the same session, and each draft of ours has to be llama.cpp's. Knows
nothing of models; what a draft is worth is not measured here.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Protocol

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import (
    MeasuringError,
    Repeats,
    Result,
    Spread,
    look_at_machine,
    order,
    report,
    spread,
)
from support.native_ngram import NativeError, NativeLibrary, NativePlayer
from support.ngram_sessions import agreement, begun, drafter_of
from support.random_ngrams import SOURCES

from specviz.engine.drafting.base import Drafter
from specviz.engine.drafting.ngram_mod import N_ENTRIES
from specviz.trace.config import DraftSource, SpeculationConfig
from specviz.trace.presets import LLAMA_CPP, SHORT_TEXTS

LIMIT = 1000
"""Tokens that a call asks for: more than any source gives."""

PROMPT_GOAL = 30.0
"""Milliseconds until the first draft is there."""

DRAFT_GOAL = 100.0
DRAFT_GOALS = {DraftSource.NGRAM_MOD: 36.0}
"""Microseconds."""

MIB = 2**20


# A text ------------------------------------------------------------------------------------------
def session_text(n_prompt: int, n_answer: int) -> list[int]:
    """Python's own source code, and an answer: pieces of it with slight changes, and new code."""
    known = _source_tokens(n_prompt + n_answer)
    text, new = known[:n_prompt], known[n_prompt:]
    rng = random.Random(1)
    while len(text) < n_prompt + n_answer:
        if rng.random() < 0.6:
            start, length = rng.randrange(n_prompt - 400), rng.randint(60, 400)
            copy = text[start : start + length]
            text += [token if rng.random() < 0.97 else rng.choice(new) for token in copy]
        else:
            start = rng.randrange(len(new))
            text += new[start : start + rng.randint(40, 200)]
    return text[: n_prompt + n_answer]


def _source_tokens(count: int) -> list[int]:
    """As many pieces of source code as asked for, about as long as a tokeniser's."""
    ids: dict[str, int] = {}
    tokens: list[int] = []
    for path in sorted(Path(argparse.__file__).parent.glob("*.py")):
        code = path.read_text(encoding="utf-8", errors="replace")
        for piece in re.findall(r" {2,}| ?[A-Za-z]{1,6}|\d|\n+|[^\sA-Za-z\d]{1,2}|\s", code):
            tokens.append(ids.setdefault(piece, len(ids)))
        if len(tokens) >= count:
            return tokens[:count]
    raise MeasuringError("This Python has too little source code of its own to draft from.")


# A side ------------------------------------------------------------------------------------------
class Side(Protocol):
    """Who drafts, and how long it takes."""

    def begin(self, history: list[int]) -> float:
        """Seconds to take in a prompt."""
        ...

    def draft(self, history: list[int], pending: int) -> tuple[Sequence[int], float]:
        """What is drafted, and the seconds that took."""
        ...

    def accept(self, n_accepted: int) -> None: ...

    def close(self) -> None: ...


class OurSide:
    """One of our drafters, as the decode loop calls it."""

    def __init__(self, speculation: SpeculationConfig) -> None:
        self._drafter = _drafter(speculation)

    def begin(self, history: list[int]) -> float:
        started = perf_counter()
        begun(self._drafter, history)
        return perf_counter() - started

    def draft(self, history: list[int], pending: int) -> tuple[Sequence[int], float]:
        started = perf_counter()
        proposal = self._drafter.draft(history, pending, LIMIT)
        return proposal.token_ids, perf_counter() - started

    def accept(self, n_accepted: int) -> None:
        self._drafter.accept(n_accepted)

    def close(self) -> None:
        """Nothing to release."""


class TheirSide:
    """llama.cpp's code alone: what it needs to be called from Python is left out of the time."""

    def __init__(self, library: NativeLibrary, speculation: SpeculationConfig) -> None:
        self._player = NativePlayer(library, speculation)

    def begin(self, history: list[int]) -> float:
        self._player.restart(history)
        started = perf_counter()
        self._player.run_begin()
        return perf_counter() - started

    def draft(self, history: list[int], pending: int) -> tuple[Sequence[int], float]:
        self._player.follow(history)
        self._player.prepare(pending, LIMIT)
        started = perf_counter()
        self._player.run()
        seconds = perf_counter() - started
        return self._player.drafted(), seconds

    def accept(self, n_accepted: int) -> None:
        self._player.accept(n_accepted)

    def close(self) -> None:
        self._player.close()


def _drafter(speculation: SpeculationConfig) -> Drafter:
    return drafter_of(speculation.sources[0], speculation)


# A session ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Cost:
    """Times of one session, and what was drafted in it.

    A source takes in its prompt in `begin` or in the first draft call: `prompt_ms` is the sum of
    both. `draft_us` is the average of all draft calls, the first one included.
    """

    prompt_ms: float
    draft_us: float
    drafts: list[list[int]]


def cost_of(side: Side, text: list[int], n_prompt: int) -> Cost:
    """Go through the text, of which the first part is the prompt, by what is accepted."""
    history = text[:n_prompt]
    begin = side.begin(history)
    seconds: list[float] = []
    drafts: list[list[int]] = []
    n = n_prompt
    while n < len(text):
        draft, taken = side.draft(history, text[n])
        seconds.append(taken)
        drafts.append(list(draft))
        n_accepted = agreement(draft, text[n + 1 : n + 1 + len(draft)])
        # as llama-server does: a step without a draft is nothing to learn from
        if draft:
            side.accept(n_accepted)
        history += text[n : n + 1 + n_accepted]
        n += 1 + n_accepted
    side.close()
    return Cost((begin + seconds[0]) * 1e3, sum(seconds) / len(seconds) * 1e6, drafts)


def memory_of(speculation: SpeculationConfig, text: list[int], n_prompt: int) -> float:
    """MiB that our drafter holds behind the first draft."""
    history = text[:n_prompt]
    tracemalloc.start()
    drafter = begun(_drafter(speculation), history)
    drafter.draft(history, text[n_prompt], LIMIT)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / MIB


# The table ---------------------------------------------------------------------------------------
def settings() -> Iterator[tuple[str, SpeculationConfig]]:
    """Each source with the sizes of two presets; ngram-cache has none."""
    for source in SOURCES:
        for preset in (SHORT_TEXTS, LLAMA_CPP):
            if source is not DraftSource.NGRAM_CACHE:
                name = f"{source.value}, {preset.key}"
                yield name, preset.applied_to(SpeculationConfig(sources=(source,)))
    yield DraftSource.NGRAM_CACHE.value, SpeculationConfig(sources=(DraftSource.NGRAM_CACHE,))


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one source. Ratios are ours / llama.cpp's."""

    name: str
    draft: Result
    prompt: Result
    draft_ratio: Spread
    prompt_ratio: Spread


def race(
    name: str,
    speculation: SpeculationConfig,
    library: NativeLibrary,
    text: list[int],
    options: argparse.Namespace,
) -> Row:
    """Measure one source. Raises MeasuringError when the two sides draft differently."""

    def session(side: str) -> Cost:
        player = OurSide(speculation) if side == "ours" else TheirSide(library, speculation)
        return cost_of(player, text, options.tokens)

    ours: list[Cost] = []
    peer: list[Cost] = []
    repeats = Repeats(options.repeats, options.keep_disturbed)
    for attempt in repeats:
        pair = {side: session(side) for side in order(attempt, ("ours", "peer"))}
        if pair["ours"].drafts != pair["peer"].drafts:
            raise MeasuringError(f"{name}: ours drafts other tokens than llama.cpp.")
        if repeats.counts():
            ours.append(pair["ours"])
            peer.append(pair["peer"])
    row = _row(name, speculation.sources[0], ours, peer)
    drafts = ours[0].drafts
    print(
        f"{name}: {len(drafts)} calls, {sum(map(bool, drafts))} drafts of "
        f"{sum(map(len, drafts))} tokens, all alike; ours / llama.cpp: draft call "
        f"{row.draft_ratio}, prompt {row.prompt_ratio}; ours holds "
        f"{memory_of(speculation, text, options.tokens):.1f} MiB"
    )
    return row


def _row(name: str, source: DraftSource, ours: Sequence[Cost], peer: Sequence[Cost]) -> Row:
    pairs = list(zip(ours, peer, strict=True))
    return Row(
        name,
        Result(
            f"{name}: draft call",
            spread([cost.draft_us for cost in ours]),
            DRAFT_GOALS.get(source, DRAFT_GOAL),
            at_least=False,
            unit="us",
            ours=median(cost.draft_us for cost in ours),
            peer=median(cost.draft_us for cost in peer),
        ),
        Result(
            f"{name}: prompt",
            spread([cost.prompt_ms for cost in ours]),
            PROMPT_GOAL,
            at_least=False,
            unit="ms",
            ours=median(cost.prompt_ms for cost in ours),
            peer=median(cost.prompt_ms for cost in peer),
        ),
        spread([mine.draft_us / theirs.draft_us for mine, theirs in pairs]),
        spread([mine.prompt_ms / theirs.prompt_ms for mine, theirs in pairs]),
    )


def measure(library: NativeLibrary, options: argparse.Namespace) -> None:
    """All sources."""
    machine = look_at_machine()
    text = session_text(options.tokens, options.answer)
    rows = [race(name, speculation, library, text, options) for name, speculation in settings()]
    table = N_ENTRIES * 4 / MIB
    print(f"ngram-mod's tables: tokens {table:.0f} MiB, as llama.cpp's; positions {table:.0f} MiB")
    report(
        "ngram_cost",
        machine,
        [result for row in rows for result in (row.draft, row.prompt)],
        draft_ratios={row.name: asdict(row.draft_ratio) for row in rows},
        prompt_ratios={row.name: asdict(row.prompt_ratio) for row in rows},
        n_prompt=options.tokens,
        n_answer=options.answer,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=32_000, help="of the prompt")
    parser.add_argument("--answer", type=int, default=4_000, help="tokens of the answer")
    parser.add_argument("--repeats", type=int, default=5, help="measured sessions of each side")
    parser.add_argument("--keep-disturbed", action="store_true", help="count all repeats")
    options = parser.parse_args()
    try:
        measure(NativeLibrary(), options)
    except (NativeError, MeasuringError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
