"""The events of a run: frozen, plain, and all that is ever known about it.

A run is exactly one `RunStarted`, then `Prefilled` for each model and `DrafterBegun` for each
draft source, then `StepVerified` for each verify step, then one `RunFinished` or `RunFailed` (none
when the engine died). `t` is in seconds since the run began, on the engine's monotonic clock, and
never decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from specviz.trace.config import DraftSource, Role, RunConfig

Scalar = bool | int | float | str | None


class TokenSource(StrEnum):
    """Why a committed token is in the output."""

    ACCEPTED = "accepted"
    RECOVERED = "recovered"
    BONUS = "bonus"
    SAMPLED = "sampled"


class StopReason(StrEnum):
    """Why a run ended in good order."""

    END_OF_GENERATION = "end_of_generation"
    STOP_TEXT = "stop_text"
    MAX_TOKENS = "max_tokens"
    CONTEXT_FULL = "context_full"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What a model file says of itself. `file_size` in bytes, over all parts of a split file."""

    path: str
    name: str
    architecture: str
    quantisation: str
    n_params: int
    n_vocab: int
    n_ctx_train: int
    file_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The engine build that ran. `safe_mode`: weight repacking was switched off after a crash."""

    specviz_version: str
    llama_cpp_python: str
    llama_cpp: str
    system_info: str
    safe_mode: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerUp:
    """The best other candidate at a position. `margin`: logit of the token minus its logit."""

    token_id: int
    piece: bytes
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftToken:
    """One proposed token that the target checked.

    `draft_prob`: the draft's probability, softmax over its ten best candidates (llama.cpp's rule
    for `p_min`). `target_prob`: the target's probability given the text and the draft tokens
    before it, softmax over the vocabulary at temperature 1. `copied_from`: position in prompt plus
    output that an n-gram was copied from. None where unknown.
    """

    token_id: int
    piece: bytes
    draft_prob: float | None = None
    target_prob: float | None = None
    copied_from: int | None = None
    runner_up: RunnerUp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetToken:
    """A token of the target's own. `source` is RECOVERED, BONUS or SAMPLED."""

    token_id: int
    piece: bytes
    source: TokenSource
    target_prob: float | None = None
    runner_up: RunnerUp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run as it was asked for (`config`) and as it is in effect (`effective`).

    `config.sampling.seed` is the seed in use, drawn ones included. `n_prompt`: prompt tokens.
    `started_at`: UTC, ISO 8601. `prompt_pieces`: the bytes of each prompt token, empty for marks
    that have no text; positions in it are what `DraftToken.copied_from` counts (empty where
    unknown). `reasoning_open`: the prompt ends inside a reasoning block, as some templates do.
    """

    run_id: str
    t: float
    config: RunConfig
    target: ModelInfo
    draft: ModelInfo | None
    environment: Environment
    effective: dict[str, Scalar]
    n_prompt: int
    started_at: str
    prompt_pieces: tuple[bytes, ...] = ()
    reasoning_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefilled:
    """One model has evaluated the prompt without its last token; `n_reused` came from before."""

    run_id: str
    t: float
    role: Role
    n_tokens: int
    n_reused: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterBegun:
    """A draft source has taken in the prompt, before the first step."""

    run_id: str
    t: float
    source: DraftSource
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftCall:
    """A draft source was asked for a draft, and proposed `n_tokens`, 0 for none.

    `n_dropped`: drafted, and thrown away as too few. `seconds`: what the call took.
    """

    source: DraftSource
    n_tokens: int
    n_dropped: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepVerified:
    """One target pass over the pending token and the draft tokens, and what came of it.

    The step commits `draft[:n_accepted]`, then `target` when there is one. `target` is None when
    generation ended inside or right behind the accepted tokens. `end_token` is the target's
    end-of-generation token, which is never part of the output. Draft tokens behind the end were
    tested, and are not accepted.

    `n_past`: positions of the text evaluated after the step. `drafter` made the draft; `calls` are
    all sources asked, in order. `n_dropped`: drafted, thrown away unchecked. `n_held`: how many of
    the newest committed tokens may still be cut, because they could be the beginning of a stop
    text. The five durations add up to the time since the step before (or since the end of
    prefill); `restore_seconds` is saving and restoring state together, `accept_seconds`, part of
    `draft_seconds`, is telling the drafter of the outcome.
    """

    run_id: str
    t: float
    step: int
    n_past: int
    draft: tuple[DraftToken, ...]
    n_accepted: int
    target: TargetToken | None
    end_token: TargetToken | None = None
    drafter: DraftSource | None = None
    n_dropped: int = 0
    n_held: int = 0
    calls: tuple[DraftCall, ...] = ()
    accept_seconds: float = 0.0
    draft_seconds: float
    verify_seconds: float
    sample_seconds: float
    restore_seconds: float
    other_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The run ended in good order with `n_committed` tokens.

    Fewer than the steps committed when a stop text reached back into earlier steps.
    `last_piece`: the bytes left of the last token where the stop text began inside it.
    """

    run_id: str
    t: float
    reason: StopReason
    n_committed: int
    last_piece: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed:
    """The run could not go on. What was committed stays."""

    run_id: str
    t: float
    kind: str
    message: str
    hint: str = ""


RunEvent = RunStarted | Prefilled | DrafterBegun | StepVerified | RunFinished | RunFailed
