"""What each draft source of a run was asked, proposed and had accepted.

The same counts as llama.cpp keeps for each of its drafting methods, from the events of a run
alone. A trace stored without `StepVerified.calls` yields what its steps tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from specviz.trace.config import DraftSource, RunConfig, RunMode
from specviz.trace.events import DraftCall, StepVerified
from specviz.trace.metrics import ratio
from specviz.trace.trace import Trace

NGRAM_SOURCES = frozenset(
    {
        DraftSource.NGRAM_SIMPLE,
        DraftSource.NGRAM_MAP_K,
        DraftSource.NGRAM_MAP_K4V,
        DraftSource.NGRAM_MOD,
        DraftSource.NGRAM_CACHE,
    }
)
"""Sources that draft from the text so far, without a model."""

MODEL_SOURCES = frozenset(DraftSource) - NGRAM_SOURCES
"""Sources that compute their drafts, and follow `n_max`, `n_min` and `p_min`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatistics:
    """One draft source over a run.

    Drafts thrown away as too short count as calls and as dropped, not as drafts; tested + dropped
    = drafted. `n_accept_calls`: checked drafts, of which the source was told the outcome. The two
    `by_position` count, for each draft position, the drafts that reached it and those that kept
    it.
    """

    source: DraftSource
    n_begin_calls: int = 0
    n_draft_calls: int = 0
    n_accept_calls: int = 0
    n_drafts: int = 0
    n_dropped_drafts: int = 0
    n_accepted_drafts: int = 0
    n_tested: int = 0
    n_accepted: int = 0
    n_dropped: int = 0
    tested_by_position: tuple[int, ...] = ()
    accepted_by_position: tuple[int, ...] = ()
    begin_seconds: float = 0.0
    draft_seconds: float = 0.0
    accept_seconds: float = 0.0

    @property
    def n_drafted(self) -> int:
        """All that was proposed."""
        return self.n_tested + self.n_dropped

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted ÷ tested."""
        return ratio(self.n_accepted, self.n_tested)

    @property
    def mean_accepted_length(self) -> float | None:
        """1 + accepted ÷ checked drafts: llama.cpp's, which counts the target's own token."""
        mean = ratio(self.n_accepted, self.n_accept_calls)
        return None if mean is None else 1 + mean

    @property
    def rates_by_position(self) -> list[float | None]:
        """For each draft position, the share of the drafts reaching it that kept it."""
        return [
            ratio(kept, tested)
            for kept, tested in zip(self.accepted_by_position, self.tested_by_position, strict=True)
        ]

    @property
    def seconds_per_call(self) -> float | None:
        """What asking for a draft took on average."""
        return ratio(self.draft_seconds, self.n_draft_calls)


def sources_in_use(config: RunConfig) -> tuple[DraftSource, ...]:
    """The draft sources that a run is asked to use, in order of precedence."""
    if config.mode is RunMode.BASELINE:
        return ()
    return tuple(source for source in DraftSource if source in config.speculation.sources)


def source_statistics(trace: Trace) -> tuple[SourceStatistics, ...]:
    """One entry for each source in use, in order of precedence, also where it never drafted."""
    return SourceTally(trace).extend()


@dataclass(slots=True)
class _Sums:
    n_draft_calls: int = 0
    n_accept_calls: int = 0
    n_drafts: int = 0
    n_dropped_drafts: int = 0
    n_accepted_drafts: int = 0
    n_tested: int = 0
    n_accepted: int = 0
    n_dropped: int = 0
    draft_seconds: float = 0.0
    accept_seconds: float = 0.0
    tested_by_position: list[int] = field(default_factory=list)
    accepted_by_position: list[int] = field(default_factory=list)

    def add_call(self, call: DraftCall) -> None:
        self.n_draft_calls += 1
        self.n_drafts += call.n_tokens > 0
        self.n_dropped_drafts += call.n_dropped > 0
        self.n_tested += call.n_tokens
        self.n_dropped += call.n_dropped
        self.draft_seconds += call.seconds

    def add_outcome(self, n_draft: int, n_accepted: int, seconds: float) -> None:
        self.n_accept_calls += 1
        self.n_accepted_drafts += n_accepted > 0
        self.n_accepted += n_accepted
        self.accept_seconds += seconds
        missing = n_draft - len(self.tested_by_position)
        self.tested_by_position += [0] * missing
        self.accepted_by_position += [0] * missing
        for i in range(n_draft):
            self.tested_by_position[i] += 1
        for i in range(n_accepted):
            self.accepted_by_position[i] += 1


class SourceTally:
    """The statistics of a run that may still grow, added up step by step."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._sums: dict[DraftSource, _Sums] = {}
        self._n_steps = 0
        self._n_tokens = 0

    def extend(self) -> tuple[SourceStatistics, ...]:
        """Take in the steps that have arrived.

        Starts over when the end of the run took tokens back (a stop text).
        """
        trace = self.trace
        if len(trace.tokens) < self._n_tokens:
            self._sums.clear()
            self._n_steps = 0
        self._n_tokens = len(trace.tokens)
        for index in range(self._n_steps, len(trace.steps)):
            self._add(index)
        self._n_steps = len(trace.steps)
        return tuple(self._statistics(source) for source in DraftSource if self._knows(source))

    def _add(self, index: int) -> None:
        step = self.trace.steps[index]
        for call in step.calls or _calls_told_by(step, self._only_source()):
            self._of(call.source).add_call(call)
        drafter = step.drafter or self._only_source()
        if step.draft and drafter is not None:
            n_accepted = self.trace.accepted_of_step(index)
            self._of(drafter).add_outcome(len(step.draft), n_accepted, step.accept_seconds)

    def _of(self, source: DraftSource) -> _Sums:
        return self._sums.setdefault(source, _Sums())

    def _in_use(self) -> tuple[DraftSource, ...]:
        return sources_in_use(self.trace.started.config) if self.trace.started else ()

    def _only_source(self) -> DraftSource | None:
        in_use = self._in_use()
        return in_use[0] if len(in_use) == 1 else None

    def _knows(self, source: DraftSource) -> bool:
        return source in self._sums or source in self.trace.begun or source in self._in_use()

    def _statistics(self, source: DraftSource) -> SourceStatistics:
        sums = self._sums.get(source, _Sums())
        begun = self.trace.begun.get(source)
        return SourceStatistics(
            source=source,
            n_begin_calls=int(begun is not None),
            n_draft_calls=sums.n_draft_calls,
            n_accept_calls=sums.n_accept_calls,
            n_drafts=sums.n_drafts,
            n_dropped_drafts=sums.n_dropped_drafts,
            n_accepted_drafts=sums.n_accepted_drafts,
            n_tested=sums.n_tested,
            n_accepted=sums.n_accepted,
            n_dropped=sums.n_dropped,
            tested_by_position=tuple(sums.tested_by_position),
            accepted_by_position=tuple(sums.accepted_by_position),
            begin_seconds=begun.seconds if begun else 0.0,
            draft_seconds=sums.draft_seconds,
            accept_seconds=sums.accept_seconds,
        )


def _calls_told_by(step: StepVerified, only: DraftSource | None) -> tuple[DraftCall, ...]:
    """What a step without `calls` tells of them: the one that drafted, or tried to."""
    source = step.drafter or only
    was_asked = step.draft or step.n_dropped or step.draft_seconds > 0
    if source is None or not was_asked:
        return ()
    return (
        DraftCall(
            source=source,
            n_tokens=len(step.draft),
            n_dropped=step.n_dropped,
            seconds=max(step.draft_seconds - step.accept_seconds, 0.0),
        ),
    )


def statistics_line(statistics: SourceStatistics) -> str:
    """One source in the form that llama.cpp logs (`common_speculative_print_stats`).

    Its per-position rates divide by all checked drafts, not by those that reached the position,
    and end with the last position that was ever accepted.
    """
    s = statistics
    line = (
        f"statistics {s.source.value:>16}: "
        f"#calls(b,g,a) = {s.n_begin_calls:4d} {s.n_draft_calls:6d} {s.n_accept_calls:6d}, "
        f"#gen drafts = {s.n_drafts:6d}, #acc drafts = {s.n_accepted_drafts:5d}, "
        f"#gen tokens = {s.n_tested:6d}, #acc tokens = {s.n_accepted:5d}"
    )
    if s.mean_accepted_length is not None:
        kept = [n for n in s.accepted_by_position if n]
        rates = ", ".join(f"{n / s.n_accept_calls:.3f}" for n in kept)
        line += f", #mean acc len = {s.mean_accepted_length:.2f}, #acc rate/pos = ({rates})"
    spent = ", ".join(
        f"{seconds * 1000:.3f}" for seconds in (s.begin_seconds, s.draft_seconds, s.accept_seconds)
    )
    return f"{line}, dur(b,g,a) = {spent} ms"
