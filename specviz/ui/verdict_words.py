"""The verdict in words: a headline, and sentences that give its reasons. Knows nothing of Qt.

The headline is the measured speed-up and nothing else decides its tone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from specviz.trace import metrics
from specviz.trace.comparison import Comparison, Verdict
from specviz.trace.config import RunMode
from specviz.trace.events import StopReason
from specviz.trace.fork import (
    Candidate,
    Fork,
    is_drawn,
    largest_margin,
    recheck_finding,
    recheck_sentence,
)
from specviz.trace.lossless import Divergence
from specviz.trace.reasons import never_ran
from specviz.trace.sources import NGRAM_SOURCES, sources_in_use
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.pieces import visible


class Tone(StrEnum):
    """How the headline is coloured."""

    FASTER = "faster"
    FLAT = "flat"
    SLOWER = "slower"
    QUIET = "quiet"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a sentence; figures stand out."""

    text: str
    is_figure: bool = False


Parts = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """`first` has a line of its own; the sentences of `rest` follow in order of importance."""

    headline: str
    tone: Tone
    first: Parts = ()
    rest: tuple[Parts, ...] = field(default=())

    @property
    def text(self) -> str:
        """All of it as plain text, for copying and reading aloud."""
        lines = [self.headline, plain(self.first), " ".join(plain(parts) for parts in self.rest)]
        return "\n".join(line for line in lines if line)


def plain(parts: Parts) -> str:
    return "".join(part.text for part in parts)


def _say(*pieces: str | Part) -> Parts:
    return tuple(p if isinstance(p, Part) else Part(p) for p in pieces)


def _figure(text: str) -> Part:
    return Part(text, is_figure=True)


def idle(sentence: str, headline: str = "No run yet") -> Words:
    """Before the first run."""
    return Words(headline, Tone.QUIET, _say(sentence))


def running(trace: Trace, baseline: Trace | None) -> Words:
    """While tokens arrive: speeds, and no judgement."""
    headline = figures.speed(metrics.tokens_per_second(trace)) if trace.tokens else "Starting"
    n = _figure(figures.counted(len(trace.tokens), "token"))
    if trace.mode is RunMode.BASELINE:
        return Words(
            headline,
            Tone.QUIET,
            _say("The target alone: ", n, " so far."),
            (_say("This is the baseline that drafting is measured against."),),
        )
    first = [*_against(baseline), *_acceptance(trace)]
    counts = trace.counts
    rest = [_say("Running with drafts: ", n, " so far. The verdict comes at the end.")]
    if counts.steps >= 8 and counts.tested == 0:
        rest.insert(0, _say(_nothing_yet(trace)))
    return Words(headline, Tone.QUIET, _joined(first), tuple(rest))


def _nothing_yet(trace: Trace) -> str:
    if trace.counts.drafted:
        return "So far every draft was too short, and thrown away."
    sources = sources_in_use(trace.started.config) if trace.started else ()
    if sources and NGRAM_SOURCES.issuperset(sources):
        return "Nothing to copy has been found so far."
    return "Nothing has been drafted so far."


def _against(baseline: Trace | None) -> list[Parts]:
    base = metrics.tokens_per_second(baseline) if baseline is not None else None
    if base is None:
        return []
    return [_say("against ", _figure(figures.rate(base)), " baseline")]


def _acceptance(trace: Trace) -> list[Parts]:
    return [
        _say(
            _figure(figures.percent(metrics.acceptance_rate(trace))),
            f" of {figures.count(trace.counts.tested)} accepted",
        ),
        _say(_figure(figures.decimal(metrics.tau(trace))), " tokens per step"),
    ]


def _joined(facts: list[Parts]) -> Parts:
    parts: list[Part] = []
    for fact in facts:
        if parts:
            parts.append(Part(" · "))
        parts += fact
    return tuple(parts)


def result(
    baseline: Trace | None, speculative: Trace | None, comparison: Comparison | None
) -> Words:
    """After the runs, whichever of them there are."""
    if speculative is None:
        return _alone(baseline) if baseline is not None else idle("There is nothing to compare.")
    if speculative.failed is not None or speculative.incomplete:
        return _broken(speculative)
    if baseline is None or comparison is None:
        return _without_baseline(speculative)
    return _compared(baseline, speculative, comparison)


def _broken(trace: Trace) -> Words:
    kept = figures.counted(len(trace.tokens), "token")
    if trace.failed is None:
        return Words(
            "Not finished",
            Tone.QUIET,
            _say("The run broke off after ", _figure(kept), "."),
            (_say("What had arrived is kept and can be exported."),),
        )
    failed = trace.failed
    rest = [_say(failed.hint)] if failed.hint else []
    rest.append(_say(_figure(kept), " was kept." if len(trace.tokens) == 1 else " were kept."))
    return Words("The run failed", Tone.SLOWER, _say(failed.message), tuple(rest))


def _alone(trace: Trace) -> Words:
    if trace.failed is not None or trace.incomplete:
        return _broken(trace)
    facts = [
        _say("The target alone"),
        _say(_figure(figures.counted(len(trace.tokens), "token"))),
        _say("decoded in ", _figure(figures.seconds(metrics.decode_seconds(trace)))),
    ]
    rest = [_say("Run with drafts to see whether they pay.")]
    return Words(
        figures.speed(metrics.tokens_per_second(trace)),
        Tone.PLAIN,
        _joined(facts),
        tuple(_stopped(trace) + rest),
    )


def _without_baseline(trace: Trace) -> Words:
    rest = _stopped(trace)
    if trace.counts.tested == 0 and trace.counts.steps:
        first, *others = [_say(reason) for reason in never_ran(trace)]
        return Words(_NEVER_RAN, Tone.FLAT, first, (*rest, *others))
    rest.append(_say("Without a baseline there is nothing to measure the gain against."))
    return Words(
        figures.speed(metrics.tokens_per_second(trace)),
        Tone.PLAIN,
        _joined(_acceptance(trace)),
        tuple(rest),
    )


_NEVER_RAN = "speculation never ran"


def _headline(comparison: Comparison) -> tuple[str, Tone]:
    ratio = figures.speedup(comparison.speedup)
    match comparison.verdict:
        case Verdict.FASTER:
            return f"{ratio} faster", Tone.FASTER
        case Verdict.SLOWER:
            return f"{ratio} slower", Tone.SLOWER
        case Verdict.NO_REAL_GAIN:
            return "no real gain", Tone.FLAT
        case Verdict.SPECULATION_NEVER_RAN:
            return _NEVER_RAN, Tone.FLAT
        case Verdict.OUTPUT_REPEATING:
            return "output is repeating", Tone.FLAT
        case Verdict.NOT_MEASURED:
            return "not measured", Tone.QUIET


def _compared(baseline: Trace, speculative: Trace, comparison: Comparison) -> Words:
    headline, tone = _headline(comparison)
    speeds = [
        _figure(figures.rate(metrics.tokens_per_second(speculative))),
        Part(f"{figures.THIN}tok/s against "),
        _figure(figures.rate(metrics.tokens_per_second(baseline))),
        Part(" baseline"),
    ]
    if comparison.verdict is Verdict.NO_REAL_GAIN:
        speeds += [Part(", "), _figure(figures.speedup(comparison.speedup))]
    facts: list[Parts] = [tuple(speeds)]
    if comparison.verdict is not Verdict.SPECULATION_NEVER_RAN:
        facts += _acceptance(speculative)
    rest = _stopped(speculative)
    withheld = comparison.verdict in (
        Verdict.OUTPUT_REPEATING,
        Verdict.SPECULATION_NEVER_RAN,
        Verdict.NOT_MEASURED,
    )
    reasons = [with_figures(reason) for reason in comparison.reasons]
    same = _sameness(speculative, comparison)
    rest += [_recheck(comparison), *_spread(comparison)]
    # what took the verdict away comes before the text check; a fork comes before what explains a
    # speed, and that the text is the same behind the weightiest reason
    n_before = len(reasons) if withheld else int(comparison.identical)
    rest += [*reasons[:n_before], same, *reasons[n_before:]]
    rest.append(_tie(comparison))
    return Words(headline, tone, _joined(facts), tuple(parts for parts in rest if parts))


def with_figures(sentence: str) -> Parts:
    """A sentence whose measured numbers stand out; counts stay quiet."""
    parts: list[str | Part] = []
    for i, piece in enumerate(_MEASURED.split(sentence.replace(" %", f"{figures.THIN}%"))):
        if piece:
            parts.append(_figure(piece) if i % 2 else piece)
    return _say(*parts)


_MEASURED = re.compile(rf"(\d+\.\d+|\d+{figures.THIN}%|\d+(?= ms\b))")


def _spread(comparison: Comparison) -> list[Parts]:
    if comparison.speedup_spread is None:
        return []
    low, high = (figures.speedup(value) for value in comparison.speedup_spread)
    repeats = f" in {figures.count(comparison.n_repeats)} repeats."
    return [_say("From ", _figure(low), " to ", _figure(high), repeats)]


def _stopped(trace: Trace) -> list[Parts]:
    if trace.finished is None or trace.finished.reason is not StopReason.CANCELLED:
        return []
    return [_say(f"Stopped by you after {figures.counted(len(trace.tokens), 'token')}.")]


def _sameness(speculative: Trace, comparison: Comparison) -> Parts:
    fork, n = comparison.fork, comparison.n_compared
    if fork is None:
        if not n:
            return ()
        if n == 1:
            return _say("Output identical to the baseline in its one token.")
        return _say(f"Output identical to the baseline for all {figures.counted(n, 'token')}.")
    same = f"Output identical to the baseline for {figures.counted(fork.position, 'token')}, then "
    if not fork.position:
        same = "The outputs differ from the first token on: "
    if is_drawn(speculative):
        return _say(
            f"{same}{_replaced(fork)}. Above temperature 0 two runs are not comparable token by"
            " token, because rounding can change what is drawn."
        )
    lead = largest_margin(fork)
    margin = "" if lead is None else f" (margin {abs(lead):.2f})"
    if fork.divergence is Divergence.NEAR_TIE:
        return _say(f"{same}a near-tie{margin}: rounding, not an error.")
    return _say(f"{same}{_replaced(fork)}{margin}, not explained by rounding.")


def _recheck(comparison: Comparison) -> Parts:
    """A fault that evaluating the tokens anew has found."""
    if recheck_finding(comparison.check) is not Divergence.UNEXPLAINED:
        return ()
    assert comparison.check is not None
    return _say(recheck_sentence(comparison.check) or "")


def _tie(comparison: Comparison) -> Parts:
    """Between which tokens the target was undecided, for who wants to know."""
    fork = comparison.fork
    if fork is None or fork.divergence is not Divergence.NEAR_TIE:
        return ()
    return _say(f"The near-tie is {_replaced(fork)}.")


def _replaced(fork: Fork) -> str:
    return f"{_named(fork.speculative)} in place of {_named(fork.baseline)}"


def _named(candidate: Candidate) -> str:
    return "the end" if candidate.is_end else f"“{visible(candidate.piece, 24)}”"
