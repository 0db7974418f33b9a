"""An engine that plays a script (schema `specviz.script/1`): for tests and demonstrations.

It replaces only model arithmetic and time. Worker process, decode loop, limits, stop rules,
metrics, window and exports are the real ones. A script that contradicts itself is refused with its
place in the file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from specviz import __version__
from specviz.engine.decode import DecodeLoop, Job
from specviz.engine.drafting.base import NOTHING, Proposal
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.effective import run_settings
from specviz.engine.engine import Report
from specviz.engine.model import Cancellation, Cancelled, Observation, Progress
from specviz.engine.rollback import Rollback
from specviz.errors import ScriptError, SettingError, TraceError
from specviz.trace import codec
from specviz.trace.config import DraftSource, LoadConfig, RunMode
from specviz.trace.events import Environment, ModelInfo, RunEvent, RunStarted, Scalar
from specviz.worker.protocol import Device, Loaded, Prefilling, Run

SCHEMA = "specviz.script/1"
FAULT_KINDS = ("exit", "abort", "segv", "sigill", "hang", "garbage")
MAX_FILE_BYTES = 256 * 1024 * 1024
FIRST_PROMPT_ID = 1_000_000_000
"""Prompt tokens of a script have no text; their ids lie far from those of its pieces."""


# The script --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Round:
    """One verify step of the speculative run."""

    draft: tuple[tuple[int, float | None, float | None], ...]
    accepted: int
    target: tuple[int, float | None] | None
    dropped: int
    drafter: DraftSource
    copied_from: tuple[int | None, ...]
    draft_seconds: float
    verify_seconds: float
    sample_seconds: float
    save_seconds: float
    restore_seconds: float


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, in which run, after how many rounds. A `run` of None means: while loading.

    `unless_safe_mode`: the fault does not happen in safe mode, as with a native kernel that
    crashes at the default settings.
    """

    run: RunMode | None
    after_round: int
    kind: str
    message: str
    unless_safe_mode: bool


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script, checked."""

    pieces: dict[int, bytes]
    end_tokens: frozenset[int]
    prompt_tokens: int
    prefill_seconds: float
    can_remove_partial: bool
    baseline_ids: tuple[int, ...]
    step_seconds: float
    baseline_probs: tuple[float | None, ...]
    baseline_runners_up: tuple[tuple[int, float] | None, ...]
    rounds: tuple[Round, ...]
    instant: bool
    repeat_rounds: int
    fault: Fault | None


class _Reader:
    """Reads fields of a JSON object, with the place for error sentences."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise ScriptError(f"{place} should be an object.")
        self.value, self.place = value, place

    def fault(self, name: str, wanted: str) -> ScriptError:
        return ScriptError(f"{self.place}.{name} should be {wanted}.")

    def number(self, name: str, default: float | None = None) -> float:
        value = self.value.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
            raise self.fault(name, "a number of zero or more")
        return float(value)

    def whole(self, name: str, default: int | None = None) -> int:
        value = self.value.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
            raise self.fault(name, "a whole number of zero or more")
        return value

    def items(self, name: str, default: list[Any] | None = None) -> list[Any]:
        value = self.value.get(name, default)
        if not isinstance(value, list):
            raise self.fault(name, "a list")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.value.get(name, default)
        if not isinstance(value, bool):
            raise self.fault(name, "true or false")
        return value

    def one_of(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        value = self.value.get(name, default)
        if value not in choices:
            raise self.fault(name, "one of " + ", ".join(choices))
        return str(value)


def read_script(path: Path) -> Script:
    """Read and check a script; raises ScriptError naming the place of the first fault."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScriptError(f"{path.name} is too large for a script.")
        data = path.read_bytes()
    except OSError as error:
        raise ScriptError(f"The script {path.name} cannot be read: {error.strerror}.") from None
    try:
        return parse_script(codec.loads(data))
    except TraceError as error:
        raise ScriptError(f"The script {path.name} is not valid: {error.message}") from None
    except ScriptError as error:
        raise ScriptError(f"The script {path.name} is not valid: {error.message}") from None


def parse_script(value: Any) -> Script:
    """Check the JSON values of a script."""
    root = _Reader(value, "script")
    if root.value.get("schema") != SCHEMA:
        raise ScriptError(f"script.schema should be {SCHEMA}.")
    pieces = _pieces(root)
    end_tokens = frozenset(_ids(root.items("end_tokens", []), "script.end_tokens"))
    known = pieces.keys() | end_tokens
    baseline = _Reader(root.value.get("baseline", {"token_ids": []}), "script.baseline")
    ids = _ids(baseline.items("token_ids"), "script.baseline.token_ids", known)
    rounds = tuple(
        _round(_Reader(item, f"script.rounds[{i}]"), known)
        for i, item in enumerate(root.items("rounds", []))
    )
    return Script(
        pieces=pieces,
        end_tokens=end_tokens,
        prompt_tokens=max(root.whole("prompt_tokens", 1), 1),
        prefill_seconds=root.number("prefill_seconds", 0.0),
        can_remove_partial=root.flag("can_remove_partial", True),
        baseline_ids=ids,
        step_seconds=baseline.number("step_seconds", 0.01),
        baseline_probs=_probs(baseline.items("probs", []), "script.baseline.probs"),
        baseline_runners_up=_runners_up(baseline.items("runner_up", []), known),
        rounds=rounds,
        instant=root.one_of("pace", ("real", "instant"), "real") == "instant",
        repeat_rounds=max(root.whole("repeat_rounds", 1), 1),
        fault=_fault(root.value.get("fault")),
    )


def _pieces(root: _Reader) -> dict[int, bytes]:
    value = root.value.get("pieces")
    if not isinstance(value, dict):
        raise root.fault("pieces", "an object")
    pieces: dict[int, bytes] = {}
    for key, piece in value.items():
        place = f"script.pieces[{key[:20]!r}]"
        if not key.isdecimal() or len(key) > 9:
            raise ScriptError(f"{place} should be numbered by a token id.")
        if isinstance(piece, str):
            pieces[int(key)] = piece.encode("utf-8", "replace")
        elif isinstance(piece, dict) and isinstance(piece.get("hex"), str):
            try:
                pieces[int(key)] = bytes.fromhex(piece["hex"])
            except ValueError:
                raise ScriptError(f"{place}.hex is not hexadecimal.") from None
        else:
            raise ScriptError(f'{place} should be text or {{"hex": ...}}.')
    return pieces


def _id(value: Any, place: str, known: frozenset[int] | set[int] | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ScriptError(f"{place} should be a token id.")
    if known is not None and value not in known:
        raise ScriptError(f"{place} names token {value}, which has no piece.")
    return value


def _ids(
    values: list[Any], place: str, known: frozenset[int] | set[int] | None = None
) -> tuple[int, ...]:
    return tuple(_id(value, f"{place}[{i}]", known) for i, value in enumerate(values))


def _prob(value: Any, place: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ScriptError(f"{place} should be a probability from 0 to 1.")
    return float(value)


def _probs(values: list[Any], place: str) -> tuple[float | None, ...]:
    return tuple(_prob(value, f"{place}[{i}]") for i, value in enumerate(values))


def _runners_up(
    values: list[Any], known: frozenset[int] | set[int]
) -> tuple[tuple[int, float] | None, ...]:
    found: list[tuple[int, float] | None] = []
    for i, value in enumerate(values):
        place = f"script.baseline.runner_up[{i}]"
        if value is None:
            found.append(None)
            continue
        if not isinstance(value, list) or len(value) != 2:
            raise ScriptError(f"{place} should be [id, margin].")
        margin = value[1]
        if isinstance(margin, bool) or not isinstance(margin, (int, float)):
            raise ScriptError(f"{place}[1] should be a margin in logits.")
        found.append((_id(value[0], f"{place}[0]", known), float(margin)))
    return tuple(found)


def _round(item: _Reader, known: frozenset[int] | set[int]) -> Round:
    place = item.place
    draft = []
    for i, entry in enumerate(item.items("draft", [])):
        where = f"{place}.draft[{i}]"
        if not isinstance(entry, list) or not 1 <= len(entry) <= 3:
            raise ScriptError(f"{where} should be [id, draft_prob, target_prob].")
        draft.append(
            (
                _id(entry[0], f"{where}[0]", known),
                _prob(entry[1] if len(entry) > 1 else None, f"{where}[1]"),
                _prob(entry[2] if len(entry) > 2 else None, f"{where}[2]"),
            )
        )
    accepted = item.whole("accepted", 0)
    if accepted > len(draft):
        raise ScriptError(f"{place}.accepted is {accepted}, but only {len(draft)} are drafted.")
    target = item.value.get("target")
    own: tuple[int, float | None] | None = None
    if target is not None:
        if not isinstance(target, list) or not 1 <= len(target) <= 2:
            raise ScriptError(f"{place}.target should be [id, target_prob] or null.")
        own = (
            _id(target[0], f"{place}.target[0]", known),
            _prob(target[1] if len(target) > 1 else None, f"{place}.target[1]"),
        )
        if accepted < len(draft) and own[0] == draft[accepted][0]:
            raise ScriptError(f"{place}.target is the draft token that it is to replace.")
    elif accepted == 0:
        raise ScriptError(f"{place} commits nothing: no token accepted and no target.")
    copied = item.items("copied_from", [])
    if copied and len(copied) != len(draft):
        raise ScriptError(f"{place}.copied_from should have one position for each draft token.")
    return Round(
        draft=tuple(draft),
        accepted=accepted,
        target=own,
        dropped=item.whole("dropped", 0),
        drafter=DraftSource(
            item.one_of("drafter", [s.value for s in DraftSource], DraftSource.DRAFT_SIMPLE.value)
        ),
        copied_from=tuple(
            None if at is None else _id(at, f"{place}.copied_from[{i}]")
            for i, at in enumerate(copied)
        )
        or (None,) * len(draft),
        draft_seconds=item.number("draft_seconds", 0.0),
        verify_seconds=item.number("verify_seconds", 0.0),
        sample_seconds=item.number("sample_seconds", 0.0),
        save_seconds=item.number("save_seconds", 0.0),
        restore_seconds=item.number("restore_seconds", 0.0),
    )


def _fault(value: Any) -> Fault | None:
    if value is None:
        return None
    item = _Reader(value, "script.fault")
    run = item.one_of("run", ["load", *(mode.value for mode in RunMode)], "speculative")
    return Fault(
        run=None if run == "load" else RunMode(run),
        after_round=item.whole("after_round", 0),
        kind=item.one_of("kind", FAULT_KINDS),
        message=str(item.value.get("message", ""))[:1000],
        unless_safe_mode=item.flag("unless_safe_mode", False),
    )


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
        self._check_fault(None, 0)
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
            lambda done: self._check_fault(config.mode, done),
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

    def _check_fault(self, mode: RunMode | None, done: int) -> None:
        fault = self._script.fault
        if fault is None or fault.run is not mode or fault.after_round != done:
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
