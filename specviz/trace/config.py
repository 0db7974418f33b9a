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
    DRAFT_MTP = "draft-mtp"


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
class NgramSizes:
    """Of ngram-simple, ngram-map-k and ngram-map-k4v: llama.cpp's `size-n`, `size-m`, `min-hits`.

    `size_n`: tokens that must match. `size_m`: tokens copied from behind the match at most.
    `min_hits`: how often the match must have been met; only ngram-map-k4v looks at it.
    """

    size_n: int = 6
    size_m: int = 12
    min_hits: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramModConfig:
    """Of ngram-mod: `n_match` tokens must match; drafts have `n_min` to `n_max` tokens."""

    n_match: int = 6
    n_min: int = 2
    n_max: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramCacheConfig:
    """Of ngram-cache: files with counts from elsewhere, llama.cpp's `-lcs` and `-lcd`."""

    static_path: str | None = None
    dynamic_path: str | None = None


NGRAM_CACHE_DRAFT = 8
"""ngram-cache drafts so many tokens at most; llama.cpp fixes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculationConfig:
    """How draft tokens are proposed, by which sources, under the names of llama.cpp's options.

    For drafts by a model (draft-simple, draft-mtp): `n_max` draft tokens per step at most; a draft
    shorter than `n_min` is dropped unchecked; drafting stops at the first token that the draft
    gives a lower probability than `p_min`. N-gram sources have sizes of their own; the defaults
    suit short texts.
    """

    sources: tuple[DraftSource, ...] = (DraftSource.DRAFT_SIMPLE,)
    n_max: int = 3
    n_min: int = 0
    p_min: float = 0.0
    ngram_simple: NgramSizes = NgramSizes()
    ngram_map_k: NgramSizes = NgramSizes()
    ngram_map_k4v: NgramSizes = NgramSizes()
    ngram_mod: NgramModConfig = NgramModConfig()
    ngram_cache: NgramCacheConfig = NgramCacheConfig()

    def longest_draft(self, source: DraftSource) -> int:
        """Draft tokens per step that a source may propose at most."""
        match source:
            case DraftSource.NGRAM_SIMPLE:
                return self.ngram_simple.size_m
            case DraftSource.NGRAM_MAP_K:
                return self.ngram_map_k.size_m
            case DraftSource.NGRAM_MAP_K4V:
                return self.ngram_map_k4v.size_m
            case DraftSource.NGRAM_MOD:
                return self.ngram_mod.n_max
            case DraftSource.NGRAM_CACHE:
                return NGRAM_CACHE_DRAFT
            case DraftSource.DRAFT_SIMPLE | DraftSource.DRAFT_MTP:
                return self.n_max


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of the conversation; `role` is system, user or assistant.

    `reasoning`: what an assistant thought before `text`, without its marks. The chat template
    decides whether a model gets to see it again.
    """

    role: str
    text: str
    reasoning: str = ""


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
