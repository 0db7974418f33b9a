"""The first token in which a speculative run differs from its baseline, and what explains it.

With greedy sampling the two agree but for near-ties. A check on fresh memory (lossless.py) tells
them from faults; without one the margins that both runs recorded have to do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specviz.trace.lossless import (
    NEAR_TIE_LOGITS,
    BatchShape,
    Divergence,
    LosslessCheck,
    Mismatch,
    ShapeMargin,
    finding,
)
from specviz.trace.text import quoted
from specviz.trace.trace import Trace

WHY_WIDTH_TIPS_TIES = (
    "A pass over several rows adds up in another order than a pass over one, and a tie can tip "
    "either way."
)
NOT_COMPARABLE = (
    "above temperature 0 two runs are not comparable token by token, because rounding can change "
    "what is drawn"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What a run said at a fork. `is_end`: it ended there; `token_id` None: without an end token.

    `piece`: the bytes of the token, empty at the end.
    """

    token_id: int | None
    piece: bytes
    is_end: bool = False

    @property
    def text(self) -> str:
        """Its text; empty at the end."""
        return self.piece.decode("utf-8", "replace")

    @property
    def words(self) -> str:
        """How a sentence names it."""
        return "the end" if self.is_end else quoted(self.piece)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """The first `position` that differs, counted from 0; so many tokens before it are identical.

    `margins`: logit of the baseline's token minus logit of the speculative run's, in each batch
    shape: those of a check, or else those that the runs recorded (`is_checked` tells which).
    `divergence` is None where tokens are drawn at random.
    """

    position: int
    baseline: Candidate
    speculative: Candidate
    margins: tuple[ShapeMargin, ...]
    is_checked: bool
    divergence: Divergence | None


def first_divergence(baseline: Trace, speculative: Trace) -> int | None:
    """Position of the first differing token; a missing token differs. None when all are equal."""
    ours, theirs = speculative.tokens, baseline.tokens
    for position, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a.token_id != b.token_id:
            return position
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def fork_position(baseline: Trace, speculative: Trace) -> int | None:
    """The first differing position, leaving out that one run was stopped before its end."""
    fork = first_divergence(baseline, speculative)
    if fork == min(len(baseline.tokens), len(speculative.tokens)):
        if _cut_short(baseline) or _cut_short(speculative):
            return None
    return fork


def fork_of(baseline: Trace, speculative: Trace, check: LosslessCheck | None = None) -> Fork | None:
    """Where the outputs part and what explains it; None where they agree.

    A check decides when it evaluated this very position in more shapes than one: a single margin
    says nothing of what rounding does to it.
    """
    position = fork_position(baseline, speculative)
    if position is None:
        return None
    margins = recorded_margins(baseline, speculative, position)
    is_checked = check is not None and check.fork == position and len(check.margins) > 1
    if check is not None and is_checked:
        margins = check.margins
    if is_drawn(speculative) or is_drawn(baseline):
        divergence = None
    elif check is not None and is_checked:
        divergence = finding(check)
    elif recheck_finding(check) is Divergence.UNEXPLAINED:
        divergence = Divergence.UNEXPLAINED
    else:
        divergence = _judge_recorded(baseline, speculative, position)
    return Fork(
        position=position,
        baseline=_candidate(baseline, position),
        speculative=_candidate(speculative, position),
        margins=margins,
        is_checked=is_checked,
        divergence=divergence,
    )


def recheck_finding(check: LosslessCheck | None) -> Divergence | None:
    """What deciding the tokens anew has found, leaving the fork aside."""
    return None if check is None else finding(replace(check, fork=None, margins=()))


def is_drawn(trace: Trace) -> bool:
    """Whether tokens were drawn at random: then no margin explains anything."""
    return trace.started is not None and trace.started.config.sampling.temperature > 0


def margin_at(trace: Trace, position: int) -> float | None:
    """Margin of the decision at `position`, in logits; None where it was not recorded."""
    decision = _decision(trace, position)
    return decision[1] if decision else None


def recorded_margins(baseline: Trace, speculative: Trace, position: int) -> tuple[ShapeMargin, ...]:
    """The margins between the two contested tokens that the runs recorded themselves.

    Only where a run's second choice was the token of the other.
    """
    theirs, ours = _choice(baseline, position), _choice(speculative, position)
    found = []
    for trace, other, sign in ((baseline, ours, 1), (speculative, theirs, -1)):
        decision = _decision(trace, position)
        if decision is not None and other is not None and decision[0] == other:
            n_rows = _rows_at(trace, position)
            shape = BatchShape.ONE_ROW if n_rows == 1 else BatchShape.VERIFY_BATCH
            found.append(ShapeMargin(shape=shape, n_rows=n_rows, margin=sign * decision[1]))
    return tuple(found)


def _judge_recorded(baseline: Trace, speculative: Trace, position: int) -> Divergence:
    """A near-tie if each run that recorded its margin was undecided between these two tokens."""
    theirs, ours = _choice(baseline, position), _choice(speculative, position)
    explained = [
        decision[1] <= NEAR_TIE_LOGITS and other in (None, decision[0])
        for trace, other in ((baseline, ours), (speculative, theirs))
        if (decision := _decision(trace, position)) is not None
    ]
    return Divergence.NEAR_TIE if explained and all(explained) else Divergence.UNEXPLAINED


def _cut_short(trace: Trace) -> bool:
    return trace.finished is None or trace.finished.reason.value == "cancelled"


def _decision(trace: Trace, position: int) -> tuple[int, float] | None:
    """Runner-up id and margin where the token at `position` was decided."""
    if position < len(trace.tokens):
        token = trace.tokens[position]
        step = trace.steps[token.step]
        if token.draft_position is not None:
            runner_up = step.draft[token.draft_position].runner_up
        else:
            runner_up = step.target.runner_up if step.target else None
    else:
        last = trace.steps[-1].end_token if trace.steps else None
        runner_up = last.runner_up if last else None
    return (runner_up.token_id, runner_up.margin) if runner_up else None


def _rows_at(trace: Trace, position: int) -> int:
    """Rows of the pass in which the token at `position` was decided."""
    at_end = position >= len(trace.tokens)
    step = trace.steps[-1 if at_end else trace.tokens[position].step]
    return len(step.draft) + 1


def _choice(trace: Trace, position: int) -> int | None:
    """The token chosen at `position`; behind the last one that is the end token, if any."""
    return _candidate(trace, position).token_id


def _candidate(trace: Trace, position: int) -> Candidate:
    if position < len(trace.tokens):
        token = trace.tokens[position]
        return Candidate(token_id=token.token_id, piece=token.piece)
    end = trace.steps[-1].end_token if trace.steps else None
    return Candidate(token_id=end.token_id if end else None, piece=b"", is_end=True)


# In words ----------------------------------------------------------------------------------------
def fork_sentence(fork: Fork) -> str:
    """The fork and its finding, with both candidates."""
    pair = f"{fork.speculative.words} in place of {fork.baseline.words}"
    lead = largest_margin(fork)
    margin = "" if lead is None else f" (margin {abs(lead):.2f} logits)"
    if fork.divergence is Divergence.NEAR_TIE:
        what = f"a near-tie{margin}, {pair}: rounding, not an error"
    elif fork.divergence is Divergence.UNEXPLAINED:
        what = f"{pair}{margin}: not explained by rounding"
    else:
        what = f"{pair}; {NOT_COMPARABLE}"
    if not fork.position:
        return f"The outputs differ from the first token on: {what}."
    same = "one token" if fork.position == 1 else f"{fork.position} tokens"
    return f"The output is identical for {same}; then {what}."


def largest_margin(fork: Fork) -> float | None:
    """The margin that a sentence quotes: the one over a single row, or else the first recorded."""
    alone = [each for each in fork.margins if each.shape is BatchShape.ONE_ROW]
    first = (*alone, *fork.margins)[:1]
    return first[0].margin if first else None


def margins_sentence(fork: Fork) -> str | None:
    """What each batch shape makes of the two candidates; None where nothing was recorded."""
    if not fork.margins:
        return None
    unit = " logits"
    parts = []
    for each in fork.margins:
        number = f"{each.margin:+.2f}".replace("-", "−")
        parts.append(f"{number}{unit} {shape_words(each)}")
        unit = ""
    source = "Evaluated anew on fresh memory" if fork.is_checked else "As the runs recorded it"
    said = " and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)
    return f"{source}, {fork.baseline.words} leads {fork.speculative.words} by {said}."


def shape_words(margin: ShapeMargin) -> str:
    """How a position was evaluated."""
    match margin.shape:
        case BatchShape.ONE_ROW:
            return "in a pass over one row"
        case BatchShape.VERIFY_BATCH:
            return f"in the check of {margin.n_rows} rows"
        case BatchShape.PREFILL:
            return f"in prefill of {margin.n_rows} rows"


def recheck_sentence(check: LosslessCheck) -> str | None:
    """What deciding the whole run anew has shown; None where only the fork was looked at."""
    if not check.n_rechecked and not check.n_drafts_rechecked:
        return None
    first = check.mismatch or check.draft_mismatch
    if first is None:
        drafts = check.n_drafts_rechecked
        more = f" and {drafts} draft {'token' if drafts == 1 else 'tokens'}" if drafts else ""
        whole = "The one token" if check.n_rechecked == 1 else f"All {check.n_rechecked} tokens"
        verb = "was" if check.n_rechecked == 1 and not drafts else "were"
        return f"{whole}{more} {verb} confirmed on fresh memory."
    return _mismatch_sentence(first, "token" if check.mismatch else "draft token")


def _mismatch_sentence(mismatch: Mismatch, kind: str) -> str:
    n = mismatch.position
    where = "At the very start" if not n else "After one token" if n == 1 else f"After {n} tokens"
    explained = mismatch.margin <= NEAR_TIE_LOGITS
    judgement = "rounding, not an error" if explained else "not explained by rounding"
    return (
        f"{where} fresh memory gives another {kind}, id {mismatch.found} in place of "
        f"{mismatch.recorded}, by {mismatch.margin:.2f} logits: {judgement}."
    )
