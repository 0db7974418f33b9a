"""What n-gram drafts came to, in sentences: nothing found, too little found, or too dear to check.

Also why no draft token of any source was ever checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from specviz.trace.config import DraftSource, SpeculationConfig
from specviz.trace.sources import NGRAM_SOURCES, SourceStatistics, source_statistics
from specviz.trace.terms import Terms
from specviz.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence, and its weight in target steps for each step of the run."""

    size: float
    sentence: str


def copy_reasons(trace: Trace, terms: Terms, *, is_faster: bool) -> Iterator[Reason]:
    """Tells apart that little was found to copy, and that checking what was found is too dear."""
    ngrams = [source for source in source_statistics(trace) if source.source in NGRAM_SOURCES]
    n_searches = max((source.n_draft_calls for source in ngrams), default=0)
    if not n_searches:
        return
    checks = terms.copies
    if checks is None:
        size = 1.0 if terms.models is None else 0.0
        searches = _counted(n_searches, "search", "searches")
        yield Reason(size, f"In {searches} nothing was found to copy.")
        return
    n_steps = len(trace.steps)
    cost = checks.all_seconds / checks.n / terms.step_seconds
    gain = checks.n_committed / checks.n
    met, missed = checks.n / n_steps, 1 - checks.n / n_steps
    found = f"Something to copy was found in {checks.n} of {n_steps} steps"
    check = (
        f"such a step checks {number(checks.width)} tokens at once, costs {cost:.2f} target steps "
        f"and yields {gain:.2f} tokens"
    )
    if gain <= cost:
        size = max((cost - 1) * met, missed)
        yield Reason(size, f"{found}, but checking it is too dear here: {check}.")
    elif is_faster:
        yield Reason((gain - 1) * met, f"{found}; {check}.")
    else:
        yield Reason(missed, f"{found.replace('found in', 'found in only')}; {check}.")
    n_short = sum(source.n_dropped_drafts for source in ngrams)
    if n_short >= checks.n and not is_faster:
        finds = f"Another {n_short} finds were" if n_short > 1 else "Another find was"
        yield Reason(n_short / n_steps, f"{finds} shorter than the shortest draft allowed.")


def never_ran(speculative: Trace) -> list[str]:
    """Why no draft token was ever checked."""
    sources = source_statistics(speculative)
    ngrams = [source for source in sources if source.source in NGRAM_SOURCES]
    dropped = speculative.counts.dropped
    if dropped:
        which = (
            "The one drafted token was" if dropped == 1 else f"All {dropped} drafted tokens were"
        )
        return [f"{which} thrown away unchecked{_too_short(ngrams)}."]
    n_searches = max((source.n_draft_calls for source in ngrams), default=0)
    if n_searches == 0 or len(ngrams) < len(sources) or speculative.started is None:
        return ["Not a single token was drafted."]
    return _no_matches(n_searches, speculative.started.config.speculation, ngrams)


def _too_short(ngrams: Collection[SourceStatistics]) -> str:
    n_matches = sum(source.n_dropped_drafts for source in ngrams)
    if not n_matches:
        return ", so the draft only cost time"
    if n_matches == 1:
        return ": what was found to copy was shorter than the shortest draft allowed"
    return (
        f": what was found to copy, {n_matches} times, was shorter than the shortest draft allowed"
    )


def _no_matches(
    n_searches: int, speculation: SpeculationConfig, ngrams: Collection[SourceStatistics]
) -> list[str]:
    lengths = [n for source in ngrams if (n := match_length(speculation, source.source))]
    shortest = min(lengths, default=0)
    times = "once" if n_searches == 1 else f"{n_searches} times"
    which = f"the last {shortest} tokens" if shortest > 1 else "the last tokens"
    found = [
        f"No matches: the text was searched {times} for {which}, and nothing was found to copy."
    ]
    usual = SpeculationConfig().ngram_mod.n_match
    if shortest > usual:
        found.append(f"Fewer matching tokens find more; {usual} suit short texts.")
    return found


def match_length(speculation: SpeculationConfig, source: DraftSource) -> int | None:
    """How many tokens must match before a source copies; None where it is not one number."""
    match source:
        case DraftSource.NGRAM_SIMPLE:
            return speculation.ngram_simple.size_n
        case DraftSource.NGRAM_MAP_K:
            return speculation.ngram_map_k.size_n
        case DraftSource.NGRAM_MAP_K4V:
            return speculation.ngram_map_k4v.size_n
        case DraftSource.NGRAM_MOD:
            return speculation.ngram_mod.n_match
        case _:
            return None


def number(value: float) -> str:
    """A mean of whole numbers: `4`, `3.8`."""
    return f"{value:.1f}".removesuffix(".0")


def _counted(n: int, singular: str, plural: str) -> str:
    return f"{n} {singular if n == 1 else plural}"
