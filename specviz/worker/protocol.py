"""Commands to the engine process and its notices, as frozen dataclasses.

They cross the pipe as JSON (trace/codec.py). Run events (trace/events.py) travel the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from specviz.trace.config import DraftSource, LoadConfig, Role, RunConfig
from specviz.trace.costs import CheckCost, DraftCost
from specviz.trace.events import Environment, ModelInfo, RunEvent, Scalar
from specviz.trace.lossless import LosslessCheck


# Commands ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Have these models in memory; keeps what is already loaded the same way."""

    config: LoadConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Run once. Loads first when something else, or nothing, is in memory."""

    run_id: str
    config: RunConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop the command that is under way, within one step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unload:
    """Forget the models and return their memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDevices:
    """Answer with `Devices`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requantise:
    """Write `source` anew as Q8_0 to `destination`."""

    source: str
    destination: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureCosts:
    """Measure passes of 1 to `n_rows` rows, and drafts up to `n_rows` - 1 tokens, behind this text.

    Loads first where needed. `token_ids`: text to measure behind and with, such as prompt and
    answer of a run; where empty, the prompt of `config` is taken. Nothing is recorded or kept.
    Answers with `CostMeasured`, one for each width and length.
    """

    config: RunConfig
    n_rows: int
    token_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """A verify step as it was recorded. `emitted`: all that the target drew, an end token too."""

    draft: tuple[int, ...]
    emitted: tuple[int, ...]
    drafter: DraftSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLossless:
    """Evaluate a speculative run anew on memory of its own. Answers with `LosslessChecked`.

    `fork`: position of the first committed token that differs from the baseline's, where there is
    one, and `baseline_id` the baseline's token there. `whole`: decide every token and every draft
    of the draft model anew, in the same partition; else only the fork is looked at.
    """

    config: RunConfig
    steps: tuple[RecordedStep, ...]
    fork: int | None = None
    baseline_id: int | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """Leave in good order."""


Command = (
    Load
    | Run
    | Cancel
    | Unload
    | ListDevices
    | Requantise
    | MeasureCosts
    | CheckLossless
    | Shutdown
)


# Notices ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReady:
    """The engine process is up and has its libraries loaded."""

    environment: Environment
    n_physical_cores: int
    gpu_offload: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """Weights of one model are being read. `fraction` runs from 0 to 1."""

    role: Role
    path: str
    fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What is in memory now, the settings in effect, and how drafts are rolled back.

    `rollback` is how the target forgets rejected tokens: trim, snapshots or checkpoint (see
    engine/rollback.py). `reasons`: in words, which changes made a reload necessary; empty at the
    first load, and when nothing had to be reloaded.
    """

    target: ModelInfo
    draft: ModelInfo | None
    effective: dict[str, Scalar]
    reasons: tuple[str, ...]
    rollback: str = "trim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefilling:
    """Progress of evaluating the prompt."""

    run_id: str
    role: Role
    n_done: int
    n_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Something llama.cpp can compute on. Memory in bytes; `kind` is cpu, gpu, igpu or accel."""

    name: str
    description: str
    kind: str
    memory_free: int
    memory_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The devices of this build."""

    devices: tuple[Device, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostMeasured:
    """Progress in passes; where one finished a width or length, `check` or `draft` has its cost."""

    check: CheckCost | None = None
    draft: DraftCost | None = None
    n_done: int
    n_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """Progress of `CheckLossless`, in tokens."""

    n_done: int
    n_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LosslessChecked:
    """What evaluating the run anew has shown."""

    check: LosslessCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeMode:
    """The engine crashed and was started again without repacked weights; told by the session."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The command ended in good order. `cancelled` when it was stopped before its end."""

    cancelled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The command could not be done; the engine lives.

    `kind` is one of setting, pair, file, engine; `role` tells which model it was about.
    """

    kind: str
    message: str
    hint: str = ""
    role: Role | None = None


Notice = (
    EngineReady
    | Loading
    | Loaded
    | Prefilling
    | Devices
    | CostMeasured
    | Checking
    | LosslessChecked
    | SafeMode
    | Done
    | Failed
)

COMMAND_KINDS: dict[str, type] = {kind.__name__: kind for kind in get_args(Command)}
NOTICE_KINDS: dict[str, type] = {
    kind.__name__: kind for kind in (*get_args(Notice), *get_args(RunEvent))
}
