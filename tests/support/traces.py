"""Traces from hand-written events, for tests and pictures.

`TraceBuilder` keeps the books (step numbers, time, positions), so that a test writes only what it
is about: which pieces were drafted, how many were accepted, what the target said instead.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    Role,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
)
from specviz.trace.events import (
    DraftCall,
    DrafterBegun,
    DraftToken,
    Environment,
    ModelInfo,
    Prefilled,
    RunFailed,
    RunFinished,
    RunnerUp,
    RunStarted,
    StepVerified,
    StopReason,
    TargetToken,
    TokenSource,
)
from specviz.trace.trace import Trace

Piece = str | bytes

TARGET = ModelInfo(
    path="models/Qwen3-14B-Q4_K_M.gguf",
    name="Qwen3 14B",
    architecture="qwen3",
    quantisation="Q4_K_M",
    n_params=14_770_000_000,
    n_vocab=151_936,
    n_ctx_train=40_960,
    file_size=9_001_752_960,
)
DRAFT = ModelInfo(
    path="models/Qwen3-0.6B-Q8_0.gguf",
    name="Qwen3 0.6B",
    architecture="qwen3",
    quantisation="Q8_0",
    n_params=596_000_000,
    n_vocab=151_936,
    n_ctx_train=40_960,
    file_size=639_446_688,
)
ENVIRONMENT = Environment(
    specviz_version="0", llama_cpp_python="0", llama_cpp="test", system_info="", safe_mode=False
)


def _bytes(piece: Piece) -> bytes:
    return piece.encode() if isinstance(piece, str) else piece


def token_id_of(piece: Piece) -> int:
    """A stable id for a piece, so that equal pieces have equal ids."""
    data = _bytes(piece)
    return (int.from_bytes(data[:6], "little") * 31 + len(data)) % 150_000


def run_config(
    mode: RunMode = RunMode.SPECULATIVE,
    prompt: str = "Say something.",
    messages: Sequence[Message] | None = None,
    n_max: int = 4,
    sources: Sequence[DraftSource] = (DraftSource.DRAFT_SIMPLE,),
    max_tokens: int = 512,
    temperature: float = 0.0,
) -> RunConfig:
    """A configuration of the usual kind."""
    return RunConfig(
        mode=mode,
        load=LoadConfig(target=ModelSpec(path=TARGET.path), draft=ModelSpec(path=DRAFT.path)),
        messages=tuple(messages) if messages else (Message(role="user", text=prompt),),
        max_tokens=max_tokens,
        sampling=SamplingConfig(temperature=temperature, seed=42),
        speculation=SpeculationConfig(sources=tuple(sources), n_max=n_max),
    )


class TraceBuilder:
    """A run in the making; `trace` is live, so views can refresh between steps."""

    def __init__(
        self,
        config: RunConfig | None = None,
        *,
        run_id: str = "run-1",
        n_prompt: int = 12,
        n_reused: int = 0,
        prefill_seconds: float = 0.3,
    ) -> None:
        self.trace = Trace()
        self.run_id = run_id
        self.t = 0.0
        self.n_prompt = n_prompt
        config = config or run_config()
        speculative = config.mode is RunMode.SPECULATIVE
        self.trace.append(
            RunStarted(
                run_id=run_id,
                t=0.0,
                config=config,
                target=TARGET,
                draft=DRAFT if speculative else None,
                environment=ENVIRONMENT,
                effective={"n_ctx": 4096},
                n_prompt=n_prompt,
                started_at="2026-01-01T12:00:00+00:00",
            )
        )
        self.t = prefill_seconds
        self.trace.append(
            Prefilled(
                run_id=run_id,
                t=self.t,
                role=Role.TARGET,
                n_tokens=n_prompt - 1 - n_reused,
                n_reused=n_reused,
                seconds=prefill_seconds,
            )
        )

    def begin(self, source: DraftSource, seconds: float = 0.0) -> TraceBuilder:
        """A draft source takes in the prompt."""
        self.t += seconds
        self.trace.append(
            DrafterBegun(run_id=self.run_id, t=self.t, source=source, seconds=seconds)
        )
        return self

    def step(
        self,
        draft: Sequence[Piece] = (),
        accepted: int = 0,
        target: Piece | None = None,
        *,
        end: Piece | None = None,
        seconds: float = 0.1,
        probs: Sequence[tuple] | None = None,
        target_prob: float | None = None,
        runner_up: tuple[Piece, float] | None = None,
        copied_from: int | None = None,
        drafter: DraftSource | None = None,
        n_dropped: int = 0,
        n_held: int = 0,
        calls: Sequence[DraftCall] = (),
        accept_seconds: float = 0.0,
        draft_share: float = 0.15,
        restore_share: float = 0.0,
    ) -> TraceBuilder:
        """One verify step: `draft[:accepted]` and then `target` are committed."""
        source = (
            TokenSource.SAMPLED
            if not draft
            else TokenSource.BONUS
            if accepted == len(draft)
            else TokenSource.RECOVERED
        )
        other = (
            RunnerUp(
                token_id=token_id_of(runner_up[0]), piece=_bytes(runner_up[0]), margin=runner_up[1]
            )
            if runner_up
            else None
        )
        tokens = tuple(
            DraftToken(
                token_id=token_id_of(piece),
                piece=_bytes(piece),
                draft_prob=probs[i][0] if probs else None,
                target_prob=probs[i][1] if probs else None,
                copied_from=None if copied_from is None else copied_from + i,
            )
            for i, piece in enumerate(draft)
        )
        self.t += seconds
        drafting = seconds * draft_share if draft else 0.0
        restoring = seconds * restore_share
        sampling, rest = seconds * 0.04, seconds * 0.07
        trace = self.trace
        committed = len(trace.tokens) + accepted + (target is not None)
        if drafter is None and draft:
            drafter = DraftSource.NGRAM_MOD if copied_from is not None else DraftSource.DRAFT_SIMPLE
        trace.append(
            StepVerified(
                run_id=self.run_id,
                t=self.t,
                step=len(trace.steps),
                n_past=self.n_prompt + committed - 1,
                draft=tokens,
                n_accepted=accepted,
                target=None
                if target is None
                else TargetToken(
                    token_id=token_id_of(target),
                    piece=_bytes(target),
                    source=source,
                    target_prob=target_prob,
                    runner_up=other,
                ),
                end_token=None
                if end is None
                else TargetToken(
                    token_id=token_id_of(end),
                    piece=_bytes(end),
                    source=source,
                ),
                drafter=drafter,
                n_dropped=n_dropped,
                n_held=n_held,
                calls=tuple(calls),
                accept_seconds=accept_seconds,
                draft_seconds=drafting,
                verify_seconds=seconds - drafting - restoring - sampling - rest,
                sample_seconds=sampling,
                restore_seconds=restoring,
                other_seconds=rest,
            )
        )
        return self

    def plain(self, *pieces: Piece, seconds: float = 0.1) -> TraceBuilder:
        """One step without a draft for each piece."""
        for piece in pieces:
            self.step(target=piece, seconds=seconds)
        return self

    def finish(
        self,
        reason: StopReason = StopReason.END_OF_GENERATION,
        n_committed: int | None = None,
        last_piece: bytes | None = None,
    ) -> Trace:
        """Close the run in good order."""
        n = len(self.trace.tokens) if n_committed is None else n_committed
        self.trace.append(
            RunFinished(
                run_id=self.run_id, t=self.t, reason=reason, n_committed=n, last_piece=last_piece
            )
        )
        return self.trace

    def fail(self, message: str = "The engine ran out of memory.", hint: str = "") -> Trace:
        """Close the run as failed."""
        self.trace.append(
            RunFailed(run_id=self.run_id, t=self.t, kind="engine", message=message, hint=hint)
        )
        return self.trace


EXPLANATION: tuple[tuple[Sequence[str], int, str], ...] = (
    ((), 0, "Spec"),
    (("ulative", " decoding", " speeds"), 2, " lets"),
    ((" a", " small"), 2, " draft"),
    ((" model", " propose", " several", " tokens"), 4, " ahead"),
    ((",", " and", " the", " larger"), 3, " target"),
    ((" model", " then"), 1, " checks"),
    ((" them", " all", " in", " one"), 4, " pass"),
    ((".", " If", " the", " draft"), 3, " guess"),
    ((" is",), 0, " was"),
    ((" right", ",", " the"), 2, " several"),
    ((" tokens", " are", " accepted"), 2, " committed"),
    ((" for", " the", " price", " of"), 4, " one"),
    ((".",), 0, ";"),
    ((" if", " not", ",", " the"), 4, " target"),
    ((" model",), 0, "’s"),
    ((" own", " token", " is"), 2, " replaces"),
    ((" it", " and", " the"), 2, " nothing"),
    ((" is", " lost"), 2, "."),
)
"""A short answer of every colour: draft, accepted count, the target's own token."""


def explanation(*, close: bool = True, repeat: int = 1) -> TraceBuilder:
    """A speculative run that explains itself, `repeat` times over."""
    builder = TraceBuilder(
        run_config(prompt="Explain speculative decoding to a colleague in three sentences.")
    )
    for round_ in range(repeat):
        for i, (draft, accepted, target) in enumerate(EXPLANATION):
            if round_ and i == 0:
                target = "\n\n" + target
            probs = [
                (0.93 - 0.07 * j, 0.97 - 0.05 * j if j < accepted else 0.02)
                for j in range(len(draft))
            ]
            builder.step(
                draft,
                accepted,
                target,
                probs=probs,
                target_prob=0.88,
                seconds=0.133,
                runner_up=(" and", 0.4) if accepted < len(draft) else None,
            )
    if close:
        builder.finish()
    return builder


def baseline_of(trace: Trace, *, seconds: float = 0.07, close: bool = True) -> Trace:
    """A baseline run that commits the same tokens one at a time."""
    assert trace.started is not None
    builder = TraceBuilder(
        run_config(RunMode.BASELINE, messages=trace.started.config.messages), run_id="run-0"
    )
    for token in trace.tokens:
        builder.step(target=token.piece, seconds=seconds, runner_up=(" x", 2.5))
    if close:
        builder.finish()
    return builder.trace


def long_run(n_tokens: int, *, close: bool = False) -> TraceBuilder:
    """A speculative run of at least `n_tokens`, four tokens a step, one paragraph per 400."""
    builder = TraceBuilder()
    words = ("stream", "model", "draft", "token", "answer", "target", "check", "pass")
    i = 0
    while len(builder.trace.tokens) < n_tokens:
        draft = [f" {words[(i + j) % 8]}" for j in range(3)]
        end = ".\n\n" if i % 100 == 99 else f" {words[i % 8]}s"
        builder.step(draft, 3 if i % 3 else 2, end, seconds=0.002)
        i += 1
    if close:
        builder.finish()
    return builder


def lively_run(
    n_steps: int = 70, *, n_max: int = 8, close: bool = True, restore_share: float = 0.0
) -> TraceBuilder:
    """A run whose acceptance falls with the draft position and wanders with time."""
    builder = TraceBuilder(run_config(n_max=n_max))
    chance = random.Random(7)
    for i in range(n_steps):
        n = chance.randint(1, n_max)
        ease = 0.72 + 0.2 * math.sin(i / 6)
        accepted = 0
        while accepted < n and chance.random() < ease:
            accepted += 1
        builder.step(
            [f" w{i}.{j}" for j in range(n)],
            accepted,
            f" t{i}",
            seconds=0.1 + 0.006 * n + 0.02 * chance.random(),
            restore_share=restore_share,
        )
    if close:
        builder.finish()
    return builder


def drafted_by(sources: Sequence[DraftSource], n_steps: int = 60) -> TraceBuilder:
    """A run of several sources, each asked in turn until one drafts; the last may find nothing."""
    builder = TraceBuilder(run_config(sources=sources))
    chance = random.Random(3)
    for source in sources:
        builder.begin(source, 0.001)
    for i in range(n_steps):
        calls, drafter, n = [], None, 0
        for source in sources:
            is_model = source in (DraftSource.DRAFT_SIMPLE, DraftSource.DRAFT_MTP)
            n = chance.randint(1, 4 if is_model else 16) * (chance.random() < 0.3 + 0.6 * is_model)
            short = 2 if source is DraftSource.NGRAM_MOD and not n and chance.random() < 0.2 else 0
            seconds = 0.012 if is_model else 0.00002 * chance.random()
            calls.append(DraftCall(source=source, n_tokens=n, n_dropped=short, seconds=seconds))
            if n:
                drafter = source
                break
        builder.step(
            [f" {i}.{j}" for j in range(n)],
            chance.randint(0, n),
            f" t{i}",
            drafter=drafter,
            calls=calls,
            n_dropped=sum(call.n_dropped for call in calls),
            copied_from=None if drafter is None or calls[-1].seconds > 0.01 else 2,
        )
    return builder
