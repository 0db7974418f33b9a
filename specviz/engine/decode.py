"""The decode loop, for both modes: a baseline is a run whose drafts are empty.

Yields the events of a run. Knows nothing of weights, processes, templates or files. Times are
taken here, around the calls they belong to; what is left of a step is booked as "other", so that
the parts add up to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.limits import StopMatch, StopScanner, context_is_full, draft_limit
from specviz.engine.model import Cancellation, Cancelled, Clock, Observation, TargetModel
from specviz.engine.verify import Verdict, verify
from specviz.trace.config import DraftSource, Role
from specviz.trace.events import (
    DraftCall,
    DrafterBegun,
    DraftToken,
    Prefilled,
    RunEvent,
    RunFinished,
    RunnerUp,
    StepVerified,
    StopReason,
    TargetToken,
    TokenSource,
)

PrefillProgress = Callable[[Role, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to decode, and how long. `start` is the clock's reading when the run began."""

    run_id: str
    prompt: Sequence[int]
    max_tokens: int
    stop: Sequence[str]
    start: float


class DecodeLoop:
    """One run. `events()` may be abandoned at any yield; the next run begins by itself."""

    def __init__(
        self,
        job: Job,
        target: TargetModel,
        drafters: DrafterChain | None,
        clock: Clock,
        cancelled: Cancellation,
        on_prefill: PrefillProgress,
    ) -> None:
        self._job = job
        self._target = target
        self._drafters = drafters
        self._clock = clock
        self._cancelled = cancelled
        self._on_prefill = on_prefill
        self._scanner = StopScanner(job.stop)
        self._history = list(job.prompt[:-1])
        self._pending = job.prompt[-1]
        self._n_committed = 0
        self._match: StopMatch | None = None
        self._n_recorded = 0
        self._mark = 0.0

    def events(self) -> Iterator[RunEvent]:
        """Prefill, then verify steps, then the closing event."""
        reason: StopReason | None = None
        try:
            yield from self._prefill()
            index = 0
            while reason is None:
                reason = self._reason_to_stop()
                if reason is None:
                    step, reason = self._step(index)
                    yield step
                    index += 1
        except Cancelled:
            reason = StopReason.CANCELLED
        yield self._closing(reason)

    def _prefill(self) -> Iterator[RunEvent]:
        """The prompt without its last token, which is the first step's pending token."""
        tokens = self._history

        def reporter(role: Role) -> Callable[[int, int], None]:
            return lambda done, total: self._on_prefill(role, done, total)

        begin = self._clock()
        reused = self._target.begin(tokens, self._cancelled, reporter(Role.TARGET))
        yield self._prefilled(Role.TARGET, reused, begin)
        for drafter in self._drafters.drafters if self._drafters else ():
            begin = self._clock()
            assert self._drafters is not None
            reused = self._drafters.begin(drafter, tokens, self._cancelled, reporter(Role.DRAFT))
            if drafter.source is DraftSource.DRAFT_SIMPLE:
                yield self._prefilled(Role.DRAFT, reused, begin)
            now = self._mark = self._clock()
            yield DrafterBegun(
                run_id=self._job.run_id,
                t=now - self._job.start,
                source=drafter.source,
                seconds=now - begin,
            )

    def _prefilled(self, role: Role, reused: int, begin: float) -> Prefilled:
        now = self._mark = self._clock()
        return Prefilled(
            run_id=self._job.run_id,
            t=now - self._job.start,
            role=role,
            n_tokens=len(self._history) - reused,
            n_reused=reused,
            seconds=now - begin,
        )

    def _reason_to_stop(self) -> StopReason | None:
        target, job = self._target, self._job
        if self._cancelled.is_set():
            return StopReason.CANCELLED
        if 0 <= job.max_tokens <= self._n_committed:
            return StopReason.MAX_TOKENS
        if context_is_full(target.n_ctx, target.n_past):
            return StopReason.CONTEXT_FULL
        if target.exhausted():
            return StopReason.END_OF_GENERATION
        return None

    def _step(self, index: int) -> tuple[StepVerified, StopReason | None]:
        """Propose, check, accept, correct: one verify step."""
        clock, target, pending = self._clock, self._target, self._pending
        started = clock()
        proposal = self._propose()
        draft = proposal.token_ids
        drafted = clock()
        target.verify(pending, draft)
        verified = clock()
        saved = target.take_restore_seconds()
        verdict = verify(draft, target.sample, target.ends_generation)
        sampled = clock()
        # without a token of the target's own, the last accepted one is pending again
        says_nothing = verdict.target is None and verdict.end_token is None
        target.keep(1 + verdict.n_accepted - says_nothing)
        restored = target.take_restore_seconds()
        told = clock()
        if draft and self._drafters is not None:
            self._drafters.accept(verdict.n_accepted)
        accepting = clock() - told
        seen = self._observe(draft, verdict)
        kept, match = self._commit(draft, verdict)
        step = self._describe(proposal, verdict, seen, kept)
        now = clock()
        drafting = drafted - started + accepting
        parts = (drafting, verified - drafted - saved, sampled - verified)
        restoring = saved + restored
        other = now - self._mark - sum(parts) - restoring
        self._mark = now
        event = StepVerified(
            run_id=self._job.run_id,
            t=now - self._job.start,
            step=index,
            n_past=target.n_past,
            accept_seconds=accepting,
            draft_seconds=drafting,
            verify_seconds=max(parts[1], 0.0),
            sample_seconds=parts[2],
            restore_seconds=restoring,
            other_seconds=max(other, 0.0),
            **step,
        )
        if match is not None:
            return event, StopReason.STOP_TEXT
        return event, StopReason.END_OF_GENERATION if verdict.end_token is not None else None

    def _propose(self) -> Proposal:
        if self._drafters is None:
            return NOTHING
        limit = draft_limit(
            self._target.n_ctx, self._target.n_past, self._n_committed, self._job.max_tokens
        )
        # a limit of 0 means "no limit" to llama.cpp's sources; nothing to gain from asking here
        if limit == 0:
            return NOTHING
        return self._drafters.draft(self._history, self._pending, limit, self._clock)

    def _observe(self, draft: Sequence[int], verdict: Verdict) -> Observation:
        own = verdict.target if verdict.end_token is None else verdict.end_token
        sampled = [*draft[: verdict.n_accepted]]
        asked = [*enumerate(draft)]
        if own is not None:
            sampled.append(own)
            asked.append((verdict.n_accepted, own))
        return self._target.observe(asked, sampled)

    def _commit(self, draft: Sequence[int], verdict: Verdict) -> tuple[int, StopMatch | None]:
        """Take the step's tokens into the answer; how many stand, and the stop text they met."""
        new = [*draft[: verdict.n_accepted]]
        if verdict.target is not None:
            new.append(verdict.target)
        before = self._n_recorded = self._n_committed
        for token_id in new:
            self._n_committed += 1
            match = self._scanner.feed(self._target.piece(token_id))
            if match is not None:
                self._match = match
                self._n_committed = match.n_tokens
                return max(match.n_tokens - before, 0), match
        if new:
            self._history += [self._pending, *new[:-1]]
            self._pending = new[-1]
        return len(new), None

    def _describe(
        self, proposal: Proposal, verdict: Verdict, seen: Observation, kept: int
    ) -> _StepParts:
        """The step as it is recorded; only the first `kept` of its tokens are in the answer."""
        draft, piece = proposal.token_ids, self._target.piece
        runners_up = [self._runner_up(entry) for entry in seen.runners_up]
        tokens = tuple(
            DraftToken(
                token_id=token_id,
                piece=piece(token_id),
                draft_prob=proposal.probs[i],
                target_prob=seen.target_probs[i],
                copied_from=proposal.copied_from[i],
                runner_up=runners_up[i] if i < verdict.n_accepted else None,
            )
            for i, token_id in enumerate(draft)
        )
        own = None
        own_id = verdict.target if verdict.end_token is None else verdict.end_token
        if own_id is not None:
            own = TargetToken(
                token_id=own_id,
                piece=piece(own_id),
                source=_source(len(draft), verdict),
                target_prob=seen.target_probs[len(draft)],
                runner_up=runners_up[verdict.n_accepted],
            )
        ended = verdict.end_token is not None
        return _StepParts(
            draft=tokens,
            n_accepted=min(kept, verdict.n_accepted),
            target=own if not ended and kept > verdict.n_accepted else None,
            end_token=own if ended else None,
            drafter=proposal.source,
            n_dropped=proposal.n_dropped,
            n_held=self._n_held(kept),
            calls=proposal.calls,
        )

    def _n_held(self, kept: int) -> int:
        """How many of the newest tokens a stop text may cut, or will when the run ends."""
        match = self._match
        if match is None:
            return self._scanner.n_held
        n_recorded = self._n_recorded + kept
        return n_recorded - match.n_tokens + (match.last_piece is not None)

    def _runner_up(self, entry: tuple[int, float] | None) -> RunnerUp | None:
        if entry is None:
            return None
        token_id, margin = entry
        return RunnerUp(token_id=token_id, piece=self._target.piece(token_id), margin=margin)

    def _closing(self, reason: StopReason) -> RunFinished:
        return RunFinished(
            run_id=self._job.run_id,
            t=self._clock() - self._job.start,
            reason=reason,
            n_committed=self._n_committed,
            last_piece=self._match.last_piece if self._match else None,
        )


class _StepParts(TypedDict):
    draft: tuple[DraftToken, ...]
    n_accepted: int
    target: TargetToken | None
    end_token: TargetToken | None
    drafter: DraftSource | None
    n_dropped: int
    n_held: int
    calls: tuple[DraftCall, ...]


def _source(n_draft: int, verdict: Verdict) -> TokenSource:
    if not n_draft:
        return TokenSource.SAMPLED
    return TokenSource.BONUS if verdict.n_accepted == n_draft else TokenSource.RECOVERED
