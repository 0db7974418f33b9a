"""What a lossless check has shown, in words: same text or fork, margins, finding, fresh memory.

Knows nothing of Qt. Pieces are model output and are quoted literally.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from specviz.trace.comparison import Comparison
from specviz.trace.fork import WHY_WIDTH_TIPS_TIES, Candidate, Fork, is_drawn
from specviz.trace.lossless import (
    NEAR_TIE_LOGITS,
    BatchShape,
    Divergence,
    LosslessCheck,
    Mismatch,
    ShapeMargin,
)
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.pieces import visible

DRAWN = (
    "Above temperature 0 tokens are drawn at random, so the two outputs cannot be compared token "
    "by token."
)
WHAT_FRESH_MEMORY_IS = (
    "Check again evaluates every step anew on fresh memory, in the same batches, and looks whether "
    "each token comes out the same. It takes about as long as the run."
)
LONGEST_PIECE = 24

_SHAPES = {
    BatchShape.ONE_ROW: "One token at a time",
    BatchShape.VERIFY_BATCH: "In the check, as it was",
    BatchShape.PREFILL: "In prefill, as a prompt is",
}


class Mood(StrEnum):
    """How a sentence is to be taken."""

    PLAIN = "plain"
    GOOD = "good"
    ODD = "odd"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, and how it is to be taken."""

    text: str
    mood: Mood = Mood.PLAIN


@dataclass(frozen=True, slots=True)
class MarginRow:
    """How one batch shape decides between the candidates; `margin` has its sign."""

    shape: str
    n_rows: int
    margin: str
    prefers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that the panel shows. `candidates`: who said what at the fork.

    `margins_are`: where the margins come from.
    """

    headline: Said
    candidates: tuple[tuple[str, str], ...] = ()
    margins_are: str = ""
    margins: tuple[MarginRow, ...] = ()
    finding: Said | None = None
    why: str = ""
    fresh: tuple[Said, ...] = ()

    @property
    def text(self) -> str:
        """All of it, for copying and reading aloud."""
        lines = [self.headline.text]
        lines += [f"{who}: {piece}" for who, piece in self.candidates]
        lines += [self.margins_are] if self.margins_are else []
        lines += [
            f"{row.shape}, {figures.counted(row.n_rows, 'row')}: "
            f"margin {row.margin}, prefers {row.prefers}"
            for row in self.margins
        ]
        lines += [self.finding.text] if self.finding else []
        lines += [self.why] if self.why else []
        lines += [said.text for said in self.fresh]
        return "\n".join(lines)


def report(
    baseline: Trace | None,
    speculative: Trace | None,
    comparison: Comparison | None,
    check: LosslessCheck | None,
) -> Report:
    """What is known of the runs on show."""
    if speculative is None or not speculative.steps:
        return Report(headline=Said("There is no run with drafts to check."))
    if is_drawn(speculative):
        return Report(headline=Said(DRAWN))
    fresh = _fresh(baseline, speculative, check)
    if baseline is None or comparison is None:
        return Report(
            headline=Said("There is no baseline beside this run to compare with."), fresh=fresh
        )
    fork = comparison.fork
    if fork is None:
        return Report(headline=Said(_identical(comparison.n_compared), Mood.GOOD), fresh=fresh)
    return Report(
        headline=Said(_fork_words(fork.position)),
        candidates=(
            ("Baseline", _candidate(fork.baseline)),
            ("With drafts", _candidate(fork.speculative)),
        ),
        margins_are=_source(fork),
        margins=tuple(_margin(each, fork) for each in fork.margins),
        finding=_finding(fork),
        why=WHY_WIDTH_TIPS_TIES,
        fresh=fresh,
    )


def _identical(n: int) -> str:
    if n == 1:
        return "Identical to the baseline in its one token."
    return f"Identical to the baseline for all {figures.counted(n, 'token')}."


def _fork_words(fork: int) -> str:
    if not fork:
        return "The outputs differ from the first token on."
    return f"Identical to the baseline for {figures.counted(fork, 'token')}, then the outputs part."


def _quoted(piece: bytes) -> str:
    return f"“{visible(piece, LONGEST_PIECE)}”"


# The fork ----------------------------------------------------------------------------------------
def _candidate(candidate: Candidate) -> str:
    return "the end of the answer" if candidate.is_end else _quoted(candidate.piece)


def _source(fork: Fork) -> str:
    if not fork.margins:
        return "Neither run recorded by how much it preferred its token."
    return "Evaluated anew on fresh memory" if fork.is_checked else "As the runs recorded it"


def _margin(each: ShapeMargin, fork: Fork) -> MarginRow:
    if each.margin == 0:
        prefers = "neither"
    else:
        prefers = _candidate(fork.baseline if each.margin > 0 else fork.speculative)
    return MarginRow(_SHAPES[each.shape], each.n_rows, _signed(each.margin), prefers)


def _signed(margin: float) -> str:
    digits = 2 if abs(margin) >= 0.01 or margin == 0 else 4
    sign = "−" if margin < 0 else "+"
    return f"{sign}{figures.decimal(abs(margin), digits)}"


def _finding(fork: Fork) -> Said | None:
    margins = [each.margin for each in fork.margins]
    agree = bool(margins) and (min(margins) > 0 or max(margins) < 0)
    if fork.divergence is Divergence.NEAR_TIE:
        if not agree:
            why = "the batch shapes do not agree on the token"
        elif fork.is_checked:
            why = "the margin changes by more than its own size with the shape of the batch"
        else:
            why = "the margin is small"
        return Said(f"A near-tie: {why}. Rounding explains it.", Mood.ODD)
    if fork.divergence is Divergence.UNEXPLAINED:
        lead = "Every batch shape clearly prefers the same token. " if agree else ""
        return Said(f"{lead}This is not explained by rounding.", Mood.WRONG)
    return None


# Fresh memory ------------------------------------------------------------------------------------
def _fresh(
    baseline: Trace | None, speculative: Trace, check: LosslessCheck | None
) -> tuple[Said, ...]:
    """What evaluating every step anew has shown; empty where that was not done."""
    if check is None or not (check.n_rechecked or check.mismatch or check.draft_mismatch):
        return ()
    said = []
    pieces = _pieces(baseline, speculative)
    if check.mismatch is None and check.draft_mismatch is None:
        said.append(Said(confirmed(check), Mood.GOOD))
    if check.mismatch is not None:
        said.append(_mismatch("Token", check.mismatch, pieces))
    if check.draft_mismatch is not None:
        said.append(_mismatch("Draft token", check.draft_mismatch, pieces))
    return tuple(said)


def confirmed(check: LosslessCheck) -> str:
    """The sentence on a run of which every token came out the same."""
    n, drafts = check.n_rechecked, check.n_drafts_rechecked
    what = "The one token" if n == 1 else f"All {figures.counted(n, 'token')}"
    if drafts:
        what += f" and {figures.counted(drafts, 'draft token')}"
    was = "was" if n == 1 and not drafts else "were"
    return f"{what} {was} confirmed on fresh memory."


def _mismatch(what: str, mismatch: Mismatch, pieces: dict[int, bytes]) -> Said:
    recorded, found = (
        _quoted(pieces[each]) if each in pieces else f"token number {each}"
        for each in (mismatch.recorded, mismatch.found)
    )
    sentence = (
        f"{what} {figures.count(mismatch.position + 1)} was not confirmed: recorded is {recorded}, "
        f"fresh memory gives {found}, by a margin of {figures.decimal(mismatch.margin, 2)}."
    )
    if mismatch.margin > NEAR_TIE_LOGITS:
        return Said(f"{sentence} This is not explained by rounding.", Mood.WRONG)
    return Said(f"{sentence} That little is explained by rounding.", Mood.ODD)


def _pieces(*traces: Trace | None) -> dict[int, bytes]:
    """Pieces by token id, of all tokens that these runs have met."""
    pieces: dict[int, bytes] = {}
    for trace in traces:
        for step in trace.steps if trace is not None else ():
            for token in (*step.draft, step.target, step.end_token):
                for each in (token, token.runner_up if token is not None else None):
                    if each is not None:
                        pieces.setdefault(each.token_id, each.piece)
    return pieces
