"""What a run is asked to do. A trace carries the configuration that produced it.

Knows nothing of files being present, models fitting or settings being honoured: what was in
effect is reported by the engine in `RunStarted.effective`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
"""Element types of the KV cache, by llama.cpp's names."""


class RunMode(StrEnum):
    """Baseline: the target alone. Speculative: the same loop with draft tokens."""

    BASELINE = "baseline"
    SPECULATIVE = "speculative"


class Switch(StrEnum):
    """A three-way setting: `auto` leaves the decision to engine or template."""

    ON = "on"
    OFF = "off"
    AUTO = "auto"


class Role(StrEnum):
    """Which of the two models is meant."""

    TARGET = "target"
    DRAFT = "draft"


class DraftSource(StrEnum):
    """Who proposes draft tokens; values are llama.cpp's `--spec-type` names.

    The order of definition is llama.cpp's order of precedence.
    """

    NGRAM_SIMPLE = "ngram-simple"
    NGRAM_MAP_K = "ngram-map-k"
    NGRAM_MAP_K4V = "ngram-map-k4v"
    NGRAM_MOD = "ngram-mod"
    NGRAM_CACHE = "ngram-cache"
    DRAFT_SIMPLE = "draft-simple"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """One model file and how to place it.

    `n_gpu_layers` below zero means all layers. `n_threads` of None means the number of physical
    cores. `type_k` and `type_v` are KV cache types, see `KV_TYPES`.
    """

    path: str
    n_gpu_layers: int = -1
    n_threads: int | None = None
    type_k: str = "f16"
    type_v: str = "f16"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadConfig:
    """What has to be in memory for a run. A change here means a reload.

    `n_ctx` is the context in tokens (0: as trained), `n_batch` the rows evaluated at once in
    prefill. `repack` allows the engine's repacked (and AMX) weight layouts.
    """

    target: ModelSpec
    draft: ModelSpec | None = None
    n_ctx: int = 4096
    n_batch: int = 512
    flash_attention: Switch = Switch.AUTO
    repack: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingConfig:
    """The target's sampler. `temperature` 0 takes the most likely token.

    `seed` of None means: draw one at the start; the run then records the one that was drawn.
    """

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculationConfig:
    """How draft tokens are proposed. Names follow llama.cpp's `--spec-draft-*` options.

    `n_max`: draft tokens per step at most. `n_min`: a shorter draft is dropped unchecked.
    `p_min`: drafting stops at the first token that the draft gives a lower probability.
    """

    sources: tuple[DraftSource, ...] = (DraftSource.DRAFT_SIMPLE,)
    n_max: int = 3
    n_min: int = 0
    p_min: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of the conversation; `role` is system, user or assistant."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """One run. `raw` passes the last message's text on without a chat template.

    `max_tokens` below zero means: until the context is full.
    """

    mode: RunMode
    load: LoadConfig
    messages: tuple[Message, ...]
    raw: bool = False
    reasoning: Switch = Switch.AUTO
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    sampling: SamplingConfig = SamplingConfig()
    speculation: SpeculationConfig = SpeculationConfig()

    @property
    def prompt(self) -> str:
        """The text of the newest user turn."""
        return self.messages[-1].text if self.messages else ""
