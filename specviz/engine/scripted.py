"""An engine that plays a script (see script.py): for tests and demonstrations.

It replaces only model arithmetic and time. Worker process, decode loop, limits, stop rules,
metrics, window and exports are the real ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from specviz import __version__
from specviz.engine.decode import DecodeLoop, Job
from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.effective import run_settings
from specviz.engine.engine import Report
from specviz.engine.model import Cancellation, Cancelled, Observation, Progress
from specviz.engine.rollback import Rollback
from specviz.engine.script import Fault, Round, Script
from specviz.engine.scripted_checks import script_check, script_costs
from specviz.errors import SettingError
from specviz.trace.config import DraftSource, LoadConfig, RunMode
from specviz.trace.costs import CheckCost, DraftCost
from specviz.trace.events import Environment, ModelInfo, RunEvent, RunStarted, Scalar
from specviz.worker.protocol import (
    Checking,
    CheckLossless,
    CostMeasured,
    Device,
    Loaded,
    LosslessChecked,
    MeasureCosts,
    Prefilling,
    Run,
)

FIRST_PROMPT_ID = 1_000_000_000
"""Prompt tokens of a script have no text; their ids lie far from those of its pieces."""


# Time --------------------------------------------------------------------------------------------
class ScriptClock:
    """Time as the script tells it. At real pace it is slept through as well, against absolute
    deadlines, so that small sleeps do not add up to a drift."""

    def __init__(self, instant: bool, cancelled: Cancellation) -> None:
        self._told = 0.0
        self._instant = instant
        self._cancelled = cancelled
        self._begin = time.perf_counter()

    def __call__(self) -> float:
        return self._told

    def advance(self, seconds: float) -> None:
        self._told += seconds
        if self._instant:
            return
        while not self._cancelled.is_set():
            left = self._begin + self._told - time.perf_counter()
            if left <= 0:
                return
            time.sleep(min(left, 0.05))


# The roles ---------------------------------------------------------------------------------------
class ScriptedTarget:
    """Plays the target's part; the baseline is a list of rounds without drafts."""

    def __init__(
        self,
        script: Script,
        rounds: Sequence[Round],
        clock: ScriptClock,
        n_ctx: int,
        on_round: Callable[[int], None],
        baseline: bool,
    ) -> None:
        self._script = script
        self._rounds = rounds
        self._clock = clock
        self._n_ctx = n_ctx
        self._on_round = on_round
        self._baseline = baseline
        self._next = 0
        self._before = 0
        self._restore_seconds = 0.0
        self.n_past = 0
        self._n_draft = 0

    @property
    def n_ctx(self) -> int:
        return self._n_ctx

    @property
    def _round(self) -> Round:
        """The round under way: the drafter's before `verify`, the target's after it."""
        return self._rounds[self._next - 1]

    def upcoming(self) -> Round | None:
        """The round that the next step plays."""
        return self._rounds[self._next] if self._next < len(self._rounds) else None

    def begin(self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        self.n_past = 0
        parts = 1 if self._script.instant else 10
        for part in range(parts):
            if cancelled.is_set():
                raise Cancelled
            progress(len(token_ids) * part // parts, len(token_ids))
            self._clock.advance(self._script.prefill_seconds / parts)
        progress(len(token_ids), len(token_ids))
        self.n_past = len(token_ids)
        return 0

    def exhausted(self) -> bool:
        self._on_round(self._next)
        return self._next >= len(self._rounds)

    def verify(self, pending: int, draft: Sequence[int]) -> None:
        self._next += 1
        self._n_draft = len(draft)
        self._before = self.n_past
        self.n_past += 1 + len(draft)
        # saving happens inside the checked call, as it does in the real target
        self._clock.advance(self._round.save_seconds + self._round.verify_seconds)
        self._restore_seconds += self._round.save_seconds

    def sample(self, row: int) -> int | None:
        current = self._round
        if row == 0:
            self._clock.advance(current.sample_seconds)
        if row < min(current.accepted, len(current.draft)):
            return current.draft[row][0]
        return current.target[0] if current.target is not None else None

    def keep(self, n_rows: int) -> None:
        self.n_past = self._before + n_rows
        self._clock.advance(self._round.restore_seconds)
        self._restore_seconds += self._round.restore_seconds

    def observe(self, asked: Sequence[tuple[int, int]], sampled: Sequence[int]) -> Observation:
        probs = tuple(self._prob(row, token_id) for row, token_id in asked)
        runners = tuple(self._runner_up(row) for row in range(len(sampled)))
        return Observation(probs, runners)

    def _prob(self, row: int, token_id: int) -> float | None:
        current = self._round
        if row < len(current.draft) and current.draft[row][0] == token_id:
            return current.draft[row][2]
        return current.target[1] if current.target and current.target[0] == token_id else None

    def _runner_up(self, row: int) -> tuple[int, float] | None:
        if not self._baseline or self._next - 1 >= len(self._script.baseline_runners_up):
            return None
        return self._script.baseline_runners_up[self._next - 1]

    def take_restore_seconds(self) -> float:
        taken, self._restore_seconds = self._restore_seconds, 0.0
        return taken

    def piece(self, token_id: int) -> bytes:
        return self._script.pieces.get(token_id, b"")

    def ends_generation(self, token_id: int) -> bool:
        return token_id in self._script.end_tokens


class ScriptedDrafter:
    """Proposes what the script drafts, each round in the name of its own source.

    Only the loop's own limits cut it.
    """

    def __init__(self, target: ScriptedTarget, clock: ScriptClock) -> None:
        self._target = target
        self._clock = clock
        first = target.upcoming()
        self.source = first.drafter if first else DraftSource.DRAFT_SIMPLE

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        """The script has one prefill time, which the target has taken."""
        return 0

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        current = self._target.upcoming()
        if current is None:
            return NOTHING
        self.source = current.drafter
        self._clock.advance(current.draft_seconds)
        draft = current.draft[:limit]
        return Proposal(
            token_ids=tuple(token_id for token_id, _, _ in draft),
            probs=tuple(prob for _, prob, _ in draft),
            copied_from=current.copied_from[: len(draft)],
            n_dropped=current.dropped,
            source=current.drafter,
        )

    def accept(self, n_accepted: int) -> None:
        """A script does not learn."""


# The engine --------------------------------------------------------------------------------------
class ScriptedEngine:
    """See engine.Engine. `on_fault` makes the fault of the script happen."""

    def __init__(
        self, script: Script, *, path: Path, safe_mode: bool, on_fault: Callable[[Fault], None]
    ) -> None:
        self._script = script
        self._path = path
        self._safe_mode = safe_mode
        self._on_fault = on_fault

    @property
    def environment(self) -> Environment:
        return Environment(
            specviz_version=__version__,
            llama_cpp_python="none",
            llama_cpp="scripted",
            system_info="scripted run",
            safe_mode=self._safe_mode,
        )

    gpu_offload = False

    def devices(self) -> tuple[Device, ...]:
        return ()

    def abort(self) -> None:
        """Sleeps look at the cancellation themselves."""

    def unload(self) -> None:
        """There is nothing in memory."""

    def _info(self, name: str) -> ModelInfo:
        return ModelInfo(
            path=str(self._path),
            name=name,
            architecture="scripted",
            quantisation="none",
            n_params=0,
            n_vocab=len(self._script.pieces),
            n_ctx_train=0,
            file_size=0,
        )

    def load(self, config: LoadConfig, report: Report, cancelled: Cancellation) -> None:
        self._check_fault("load", 0)
        report(
            Loaded(
                target=self._info("Scripted target"),
                draft=self._info("Scripted draft"),
                effective=self._effective(config),
                reasons=(),
                rollback=self._rollback,
            )
        )

    def _effective(self, config: LoadConfig) -> dict[str, Scalar]:
        return {
            "n_ctx": config.n_ctx,
            "safe_mode": self._safe_mode,
            "rollback": self._rollback,
        }

    @property
    def _rollback(self) -> str:
        trims = self._script.can_remove_partial
        return (Rollback.TRIM if trims else Rollback.CHECKPOINT).value

    def run(self, run: Run, report: Report, cancelled: Cancellation) -> Iterator[RunEvent]:
        script, config = self._script, run.config
        baseline = config.mode is RunMode.BASELINE
        if script.prompt_tokens >= config.load.n_ctx > 0:
            raise SettingError(
                f"The prompt has {script.prompt_tokens} tokens and the context holds "
                f"{config.load.n_ctx}.",
                "Choose a larger context.",
            )
        if config.sampling.seed is None:
            config = replace(config, sampling=replace(config.sampling, seed=0))
        clock = ScriptClock(script.instant, cancelled)
        rounds = _baseline_rounds(script) if baseline else script.rounds * script.repeat_rounds
        target = ScriptedTarget(
            script,
            rounds,
            clock,
            config.load.n_ctx or 1 << 30,
            lambda done: self._check_fault(config.mode.value, done),
            baseline,
        )
        drafters = None if baseline else DrafterChain([ScriptedDrafter(target, clock)])
        prompt = range(FIRST_PROMPT_ID, FIRST_PROMPT_ID + script.prompt_tokens)
        yield RunStarted(
            run_id=run.run_id,
            t=0.0,
            config=config,
            target=self._info("Scripted target"),
            draft=None if baseline else self._info("Scripted draft"),
            environment=self.environment,
            effective={**self._effective(config.load), **run_settings(config)},
            n_prompt=script.prompt_tokens,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        job = Job(
            run_id=run.run_id,
            prompt=prompt,
            max_tokens=config.max_tokens,
            stop=config.stop,
            start=0.0,
        )
        yield from DecodeLoop(
            job,
            target,
            drafters,
            clock,
            cancelled,
            lambda role, done, total: report(
                Prefilling(run_id=run.run_id, role=role, n_done=done, n_total=total)
            ),
        ).events()

    def measure_costs(self, command: MeasureCosts, report: Report, cancelled: Cancellation) -> None:
        clock = ScriptClock(self._script.instant, cancelled)
        checks, drafts = script_costs(self._script, command.n_rows)
        costs: list[CheckCost | DraftCost] = [*checks, *drafts]
        for done, cost in enumerate(costs):
            self._check_fault("measure", done)
            clock.advance(cost.seconds * cost.n_samples)
            if cancelled.is_set():
                raise Cancelled
            report(
                CostMeasured(
                    check=cost if isinstance(cost, CheckCost) else None,
                    draft=cost if isinstance(cost, DraftCost) else None,
                    n_done=done + 1,
                    n_total=len(costs),
                )
            )

    def check_lossless(
        self, command: CheckLossless, report: Report, cancelled: Cancellation
    ) -> None:
        check = script_check(self._script, command)
        total = sum(len(step.emitted) for step in command.steps)
        for n_done in (0, total):
            self._check_fault("check", n_done > 0)
            if cancelled.is_set():
                raise Cancelled
            report(Checking(n_done=n_done, n_total=total))
        report(LosslessChecked(check=check))

    def _check_fault(self, place: str, done: int) -> None:
        fault = self._script.fault
        if fault is None or fault.run != place or fault.after_round != done:
            return
        if not (fault.unless_safe_mode and self._safe_mode):
            self._on_fault(fault)


def _baseline_rounds(script: Script) -> list[Round]:
    probs = script.baseline_probs
    return [
        Round(
            draft=(),
            accepted=0,
            target=(token_id, probs[i] if i < len(probs) else None),
            dropped=0,
            drafter=DraftSource.DRAFT_SIMPLE,
            copied_from=(),
            draft_seconds=0.0,
            verify_seconds=script.step_seconds,
            sample_seconds=0.0,
            save_seconds=0.0,
            restore_seconds=0.0,
        )
        for i, token_id in enumerate(script.baseline_ids)
    ]
