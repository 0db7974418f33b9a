"""What the drafts of a run knew of its text, place by place, and how shorter ones would have gone.

With the same text and the same draft source, another draft length only moves the borders between
the steps: whether the draft is right about a token depends on the text before it. So a run can be
walked through again with another length. Knows no durations: see costs.py and break_even.py.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise

from specviz.trace.config import DraftSource
from specviz.trace.events import StopReason, TokenSource
from specviz.trace.metrics import ratio
from specviz.trace.sources import sources_in_use
from specviz.trace.trace import Trace


class Guess(Enum):
    """What a draft says at a place of the text. UNKNOWN: no draft got as far as this one."""

    RIGHT = auto()
    WRONG = auto()
    NOTHING = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Place:
    """One token of the text.

    Where the guess is wrong, the draft went on to `n_off` tokens that were not accepted, this one
    included, and `ended` there by itself or was cut.
    """

    guess: Guess
    n_off: int = 0
    ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftPath:
    """A run's text as its drafts saw it, an end token included.

    `n_off_end`: draft tokens behind the last place, where the answer ended inside a draft.
    `is_budgeted`: a token limit ended the run, which also cuts the last drafts. `going_on`: how
    likely a draft goes on for another token.
    """

    places: tuple[Place, ...]
    n_off_end: int = 0
    is_budgeted: bool = False
    going_on: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The steps that a draft length makes of a path; numbers are expectations.

    `steps`: how many there are of each (draft tokens, draft ended by itself). A step without a
    draft is (0, True).
    """

    n_tokens: int
    n_accepted: float
    steps: Mapping[tuple[int, bool], float]

    @property
    def n_steps(self) -> float:
        return sum(self.steps.values())

    @property
    def n_tested(self) -> float:
        return sum(n_draft * n for (n_draft, _), n in self.steps.items())


def ended_by_themselves(trace: Trace) -> list[bool]:
    """For each step, whether its draft ended before any limit.

    A model ends it at a token below `p_min`, an n-gram source where it finds nothing more.
    """
    limits: dict[DraftSource | None, int] = defaultdict(int)
    max_tokens = -1
    if trace.started is not None:
        config = trace.started.config
        max_tokens = config.max_tokens
        limits |= {source: config.speculation.longest_draft(source) for source in DraftSource}
    for step in trace.steps:
        limits[step.drafter] = max(limits[step.drafter], len(step.draft))
    limits[None] = max((limits[source] for source in _sources(trace)), default=0)
    return [
        len(step.draft) < limits[step.drafter]
        and (max_tokens < 0 or len(step.draft) < max_tokens - n_committed - 1)
        for step, n_committed in zip(trace.steps, trace.first_token_of_step, strict=True)
    ]


def longest_of(trace: Trace) -> int:
    """The longest draft that the settings of a run allow, or that it had in spite of them."""
    seen = len(trace.counts.tested_by_position)
    if trace.started is None:
        return seen
    speculation = trace.started.config.speculation
    return max(seen, *(speculation.longest_draft(source) for source in _sources(trace)))


def _sources(trace: Trace) -> Sequence[DraftSource]:
    in_use = sources_in_use(trace.started.config) if trace.started else ()
    return in_use or (DraftSource.DRAFT_SIMPLE,)


def path_of(trace: Trace) -> DraftPath:
    """The text of a run as its drafts saw it."""
    places: list[Place] = []
    n_off_end = 0
    endings = ended_by_themselves(trace)
    for index, (step, ended) in enumerate(zip(trace.steps, endings, strict=True)):
        n_accepted = trace.accepted_of_step(index)
        n_off = len(step.draft) - n_accepted
        places += [Place(Guess.RIGHT)] * n_accepted
        own = trace.target_of_step(index) or step.end_token
        if own is None:
            n_off_end = n_off
        elif own.source is TokenSource.RECOVERED:
            places.append(Place(Guess.WRONG, n_off, ended))
        elif own.source is TokenSource.BONUS and not ended:
            places.append(Place(Guess.UNKNOWN))
        else:
            places.append(Place(Guess.NOTHING))
    reason = trace.finished.reason if trace.finished else None
    return DraftPath(
        places=tuple(places),
        n_off_end=n_off_end,
        is_budgeted=reason is StopReason.MAX_TOKENS,
        going_on=_going_on(trace, endings),
    )


def walk(path: DraftPath, n_draft: int) -> Walk:
    """The steps that drafts of `n_draft` tokens at most would have made of a path.

    What no draft has said is taken to be right, wrong or nothing as often as it was behind an
    accepted token.
    """
    places, n_places = path.places, len(path.places)
    rates = _rates(places)
    steps: dict[tuple[int, bool], float] = defaultdict(float)
    cut: dict[tuple[int, int], float] = defaultdict(float)
    starts = [0.0] * (n_places + 1)
    starts[0] = 1.0
    ended_inside = 0.0
    for start in range(n_places):
        likely = starts[start]
        if not likely:
            continue
        most = min(n_draft, n_places - start - 1) if path.is_budgeted else n_draft
        for at in range(start, min(start + most, n_places)):
            place, length = places[at], at - start
            if place.guess is Guess.RIGHT:
                continue
            if place.guess is Guess.WRONG:
                length += place.n_off
                if place.ended and length < most:
                    steps[length, True] += likely
                else:
                    cut[min(length, most), most] += likely
            elif place.guess is Guess.NOTHING:
                steps[length, True] += likely
            else:
                cut[length + 1, most] += likely * rates[Guess.WRONG]
                steps[length, True] += likely * rates[Guess.NOTHING]
                starts[at + 1] += likely * (1 - rates[Guess.RIGHT])
                likely *= rates[Guess.RIGHT]
                continue
            starts[at + 1] += likely
            likely = 0.0
            break
        if start + most < n_places:
            steps[most, most == 0] += likely
            starts[start + most + 1] += likely
        else:
            steps[min(most, n_places - start + path.n_off_end), False] += likely
            ended_inside += likely
    for (length, most), likely in cut.items():
        _go_on(steps, likely, length, most, path.going_on)
    found = {kind: likely for kind, likely in steps.items() if likely > 0}
    n_accepted = n_places - sum(found.values()) + ended_inside
    return Walk(n_tokens=n_places, n_accepted=n_accepted, steps=found)


def _go_on(
    steps: dict[tuple[int, bool], float], likely: float, length: int, most: int, going_on: float
) -> None:
    """Drafts known to have `length` tokens, spread over the lengths at which they may end."""
    for n in range(length, most):
        steps[n, True] += likely * (1 - going_on)
        likely *= going_on
    steps[most, False] += likely


def _rates(places: Sequence[Place]) -> dict[Guess, float]:
    """How often a guess behind an accepted token is what; anywhere, where none of them is known."""
    behind = Counter(b.guess for a, b in pairwise(places) if a.guess is Guess.RIGHT)
    del behind[Guess.UNKNOWN]
    if not behind:
        behind = Counter(place.guess for place in places if place.guess is not Guess.UNKNOWN)
    total = sum(behind.values())
    if not total:
        return {Guess.RIGHT: 0.0, Guess.WRONG: 1.0, Guess.NOTHING: 0.0}
    return {guess: behind[guess] / total for guess in Guess}


def _going_on(trace: Trace, endings: Sequence[bool]) -> float:
    """Drafted tokens behind the first of a draft ÷ chances for one; all of them, without one."""
    n_first = n_further = n_ended = n_empty = 0
    for step, ended in zip(trace.steps, endings, strict=True):
        n_first += bool(step.draft)
        n_further += max(len(step.draft) - 1, 0)
        n_ended += ended and bool(step.draft)
        n_empty += ended and not step.draft
    rate = ratio(n_further, n_further + n_ended)
    if rate is None:
        rate = ratio(n_first, n_first + n_empty)
    return 1.0 if rate is None else rate
