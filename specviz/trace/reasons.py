"""Why a speculative run came out as it did, in sentences built from measured terms.

Times are given in target steps: what one step of the baseline takes. Knows the verdict and does
not make it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from specviz.trace import metrics
from specviz.trace.config import DraftSource, SpeculationConfig
from specviz.trace.sources import (
    MODEL_SOURCES,
    NGRAM_SOURCES,
    SourceStatistics,
    source_statistics,
)
from specviz.trace.trace import Trace

LARGE_SHARE = 0.15
"""Saving and restoring is worth a sentence from this share of the decode time on."""


def explain(baseline: Trace, speculative: Trace, *, is_faster: bool) -> list[str]:
    """What made a run of drafts faster, or kept it from it."""
    step = _target_step(baseline)
    sources = source_statistics(speculative)
    found = [
        *_saving(speculative),
        *_copies(speculative, sources, step, is_faster),
        *_model_drafts(speculative, step),
    ]
    if not is_faster:
        found += _drafting_is_dear(speculative)
    per_step = metrics.tau(speculative)
    if per_step is not None:
        found.append(f"Each step yields {per_step:.2f} tokens.")
    return found


def never_ran(speculative: Trace) -> list[str]:
    """Why no draft token was ever checked."""
    sources = source_statistics(speculative)
    ngrams = [source for source in sources if source.source in NGRAM_SOURCES]
    dropped = speculative.counts.dropped
    if dropped:
        return [f"All {dropped} drafted tokens were thrown away unchecked{_too_short(ngrams)}."]
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


# Measured terms ----------------------------------------------------------------------------------
@dataclass(slots=True)
class _Checks:
    """The steps that checked drafts of some sources, added up."""

    n: int = 0
    n_rows: int = 0
    n_committed: int = 0
    verify_seconds: float = 0.0
    all_seconds: float = 0.0


def _checks(trace: Trace, sources: Collection[DraftSource]) -> _Checks:
    checks = _Checks()
    for index, step in enumerate(trace.steps):
        if not step.draft or (step.drafter or DraftSource.DRAFT_SIMPLE) not in sources:
            continue
        checks.n += 1
        checks.n_rows += len(step.draft) + 1
        checks.n_committed += trace.kept_of_step(index)
        checks.verify_seconds += step.verify_seconds
        checks.all_seconds += (
            step.draft_seconds + step.verify_seconds + step.sample_seconds + step.restore_seconds
        )
    return checks


def _target_step(baseline: Trace) -> float | None:
    """Seconds of one step of the target alone; None where there is no such figure."""
    counts = baseline.counts
    return metrics.ratio(counts.verify_seconds + counts.sample_seconds, counts.steps) or None


# Sentences ---------------------------------------------------------------------------------------
def _saving(trace: Trace) -> Iterator[str]:
    shares = metrics.time_shares(trace)
    share = metrics.ratio(shares.restore, shares.total)
    can_trim = trace.started is not None and trace.started.effective.get("rollback") == "trim"
    if share is not None and share >= LARGE_SHARE and not can_trim:
        yield (
            f"Saving and restoring the target's state takes {_percent(share)} of the time, because "
            "it cannot forget single tokens."
        )


def _copies(
    trace: Trace, sources: Collection[SourceStatistics], step: float | None, is_faster: bool
) -> Iterator[str]:
    """Tells apart that little was found to copy, and that checking what was found is too dear."""
    ngrams = [source for source in sources if source.source in NGRAM_SOURCES]
    n_searches = max((source.n_draft_calls for source in ngrams), default=0)
    if not n_searches:
        return
    checks = _checks(trace, NGRAM_SOURCES)
    if not checks.n:
        yield f"In {n_searches} searches nothing was found to copy."
        return
    found = f"Something to copy was found in {checks.n} of {len(trace.steps)} steps"
    if step is None:
        yield f"{found}."
        return
    width = checks.n_rows / checks.n
    cost = checks.all_seconds / checks.n / step
    gain = checks.n_committed / checks.n
    check = (
        f"a check of {width:.1f} tokens costs {cost:.2f} target steps and yields {gain:.2f} tokens"
    )
    if gain <= cost:
        yield f"{found}, but checking it is too dear here: {check}."
    elif is_faster:
        yield f"{found}; {check}."
    else:
        yield f"{found.replace('found in', 'found in only')}; {check}."
    n_short = sum(source.n_dropped_drafts for source in ngrams)
    if n_short >= checks.n and not is_faster:
        finds = f"Another {n_short} finds were" if n_short > 1 else "Another find was"
        yield f"{finds} shorter than the shortest draft allowed."


def _model_drafts(trace: Trace, step: float | None) -> Iterator[str]:
    checks = _checks(trace, MODEL_SOURCES)
    if step is None or not checks.n:
        return
    width, cost = checks.n_rows / checks.n, checks.verify_seconds / checks.n / step
    sentence = f"A check of {width:.1f} tokens on average costs {cost:.2f} target steps"
    per_token = _seconds_per_drafted_token(trace)
    if per_token:
        sentence += f", drafting a token {per_token / step:.2f}"
    yield f"{sentence}."


def _seconds_per_drafted_token(trace: Trace) -> float | None:
    models = [source for source in source_statistics(trace) if source.source in MODEL_SOURCES]
    spent = sum(source.draft_seconds for source in models)
    return metrics.ratio(spent, sum(source.n_drafted for source in models))


def _drafting_is_dear(trace: Trace) -> Iterator[str]:
    shares = metrics.time_shares(trace)
    largest = max(shares.verify, shares.sample, shares.restore, shares.other)
    share = metrics.ratio(shares.draft, shares.total)
    if share is None or shares.draft <= largest:
        return
    advice = "fewer draft tokens per step would cost less"
    if DraftSource.DRAFT_SIMPLE in {step.drafter for step in trace.steps}:
        advice += ", and so would a draft that runs on the GPU"
    yield f"Drafting is the largest part of the time, {_percent(share)}: {advice}."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
