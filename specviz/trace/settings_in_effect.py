"""What a run was asked for, beside what was in effect, setting by setting.

Requested is the configuration of the run, effective what the engine read back. Where the engine was
left to choose (`auto`, `all`, `as trained`), what it chose is no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specviz.trace.config import (
    DraftSource,
    ModelSpec,
    NgramSizes,
    Role,
    RunConfig,
    RunMode,
    SpeculationConfig,
)
from specviz.trace.events import Environment, RunStarted, Scalar
from specviz.trace.sources import MODEL_SOURCES, sources_in_use
from specviz.trace.trace import Trace

GPU_BACKENDS = ("CUDA", "ROCm", "HIP", "MUSA", "Metal", "MTL", "Vulkan", "SYCL", "OpenCL", "CANN")
"""Names under which llama.cpp's system information lists what can compute beside the CPU."""

ROLLBACKS = {
    "trim": "the end of the memory is dropped",
    "snapshots": "an older snapshot of the state is taken",
    "checkpoint": "the state is saved and restored",
}
TEMPLATES = {"model": "the model's", "raw": "none, raw prompt", "none": "none in the file"}
RULES = {"exact_match": "the target's own choice must be the draft token"}
SAFE_MODE = "off, because the engine had crashed with it"
ONLY_IN_EFFECT = {
    "n_rs_seq": "Snapshots of the state",
    "target_repacked": "Target weights repacked",
    "draft_repacked": "Draft weights repacked",
    "safe_mode": "Safe mode",
}
"""What nobody asks for, and what it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One setting as plain values.

    `key` is its name in `RunStarted.effective`. `requested` is None for what cannot be asked for,
    `effective` is None where the engine did not tell; neither of these differs.
    """

    key: str
    words: str
    requested: str | None
    effective: str | None
    differs: bool = False


def settings_in_effect(trace: Trace) -> tuple[SettingRow, ...]:
    """All settings of a run; empty before it has started."""
    if trace.started is None:
        return ()
    return tuple(_Rows(trace.started).all())


def differences(trace: Trace) -> tuple[SettingRow, ...]:
    """The settings that are in effect in another way than they were asked for."""
    return tuple(row for row in settings_in_effect(trace) if row.differs)


def difference_sentence(row: SettingRow) -> str:
    """One difference in words."""
    return f"{row.words}: asked for {row.requested}, in effect {row.effective}."


def lists_gpu(environment: Environment) -> bool:
    """Whether the engine build names anything beside the CPU to compute on."""
    return any(name in environment.system_info for name in GPU_BACKENDS)


class _Rows:
    """Builds the rows, and remembers which entries of `effective` they have told of."""

    def __init__(self, started: RunStarted) -> None:
        self._config: RunConfig = started.config
        self._effective = started.effective
        self._has_gpu = lists_gpu(started.environment)
        self._told: set[str] = set()

    def all(self) -> Iterator[SettingRow]:
        yield from self._loaded()
        yield from self._asked()
        yield from self._drafting()
        for key, value in self._effective.items():
            if key not in self._told:
                words = ONLY_IN_EFFECT.get(key, key.replace("_", " ").capitalize())
                yield SettingRow(key=key, words=words, requested=None, effective=_plain(value))

    def _row(
        self,
        key: str,
        words: str,
        requested: Scalar,
        *,
        unit: str = "",
        free: bool = False,
        names: dict[Scalar, str] | None = None,
    ) -> SettingRow:
        """`free`: the engine was left to choose. `names`: words for special values."""
        self._told.add(key)
        names = names or {}
        asked = names.get(requested) or _plain(requested, unit)
        if key not in self._effective:
            return SettingRow(key=key, words=words, requested=asked, effective=None)
        value = self._effective[key]
        return SettingRow(
            key=key,
            words=words,
            requested=asked,
            effective=names.get(value) or _plain(value, unit),
            differs=not free and value != requested,
        )

    def _loaded(self) -> Iterator[SettingRow]:
        load = self._config.load
        as_trained: dict[Scalar, str] = {0: "as trained"}
        free = load.n_ctx == 0
        yield self._row("n_ctx", "Context", load.n_ctx, unit="tokens", free=free, names=as_trained)
        yield self._row(
            "n_ctx_allocated",
            "Context memory",
            load.n_ctx,
            unit="tokens",
            free=free,
            names=as_trained,
        )
        yield self._row("n_batch", "Rows evaluated at once", load.n_batch)
        yield self._flash_attention()
        yield from self._model(Role.TARGET, load.target)
        if load.draft is not None and self._uses_draft():
            yield from self._model(Role.DRAFT, load.draft)
        yield self._repacking()
        yield self._told_only("rollback", "Forgetting rejected tokens", ROLLBACKS)

    def _uses_draft(self) -> bool:
        return any(key.startswith("draft_") for key in self._effective) or (
            DraftSource.DRAFT_SIMPLE in sources_in_use(self._config)
        )

    def _flash_attention(self) -> SettingRow:
        key, asked = "flash_attention", self._config.load.flash_attention.value
        self._told.add(key)
        value = self._effective.get(key)
        effective = None if value is None else _plain(value)
        differs = asked != "auto" and effective is not None and effective != asked
        return SettingRow(
            key=key, words="Flash attention", requested=asked, effective=effective, differs=differs
        )

    def _model(self, role: Role, spec: ModelSpec) -> Iterator[SettingRow]:
        name = role.value.capitalize()
        yield self._layers(role, spec.n_gpu_layers)
        yield self._row(
            f"{role}_n_threads",
            f"{name} threads",
            spec.n_threads,
            free=spec.n_threads is None,
            names={None: "auto"},
        )
        yield self._row(f"{role}_type_k", f"{name} K cache", spec.type_k)
        yield self._row(f"{role}_type_v", f"{name} V cache", spec.type_v)

    def _layers(self, role: Role, asked: int) -> SettingRow:
        """All is what there is a place for: without a GPU in the build that is none."""
        key = f"{role}_n_gpu_layers"
        row = self._row(key, f"{role.value.capitalize()} layers on the GPU", asked, free=asked < 0)
        if asked >= 0:
            return row
        left_out = self._effective.get(key) == 0 and self._has_gpu
        return SettingRow(
            key=key, words=row.words, requested="all", effective=row.effective, differs=left_out
        )

    def _repacking(self) -> SettingRow:
        key, asked = "repack_allowed", self._config.load.repack
        row = self._row(key, "Repacked weights", asked, names={True: "allowed", False: "off"})
        if row.differs and self._effective.get("safe_mode"):
            return SettingRow(
                key=key,
                words=row.words,
                requested=row.requested,
                effective=SAFE_MODE,
                differs=True,
            )
        return row

    def _told_only(self, key: str, words: str, names: dict[str, str]) -> SettingRow:
        self._told.add(key)
        value = self._effective.get(key)
        return SettingRow(
            key=key,
            words=words,
            requested=None,
            effective=None if value is None else names.get(str(value), _plain(value)),
        )

    def _asked(self) -> Iterator[SettingRow]:
        config, sampling = self._config, self._config.sampling
        yield self._row("temperature", "Temperature", sampling.temperature)
        yield self._row("top_k", "Top-k", sampling.top_k, names={0: "off"})
        yield self._row("top_p", "Top-p", sampling.top_p, names={1: "off"})
        yield self._row("min_p", "Min-p", sampling.min_p, names={0: "off"})
        yield self._row(
            "seed", "Seed", sampling.seed, free=sampling.seed is None, names={None: "random"}
        )
        yield self._row(
            "max_tokens",
            "Longest answer",
            config.max_tokens,
            unit="tokens",
            names={-1: "until the context is full"},
        )
        yield self._row("stop", "Stop texts", "\n".join(config.stop) or None, names={None: "none"})
        yield self._template()
        yield self._row("reasoning", "Reasoning", config.reasoning.value)
        yield self._told_only("acceptance_rule", "Draft tokens are accepted when", RULES)

    def _template(self) -> SettingRow:
        self._told |= {"template", "raw"}
        asked = "raw" if self._config.raw else "model"
        value = self._effective.get("template")
        return SettingRow(
            key="template",
            words="Chat template",
            requested=TEMPLATES[asked],
            effective=None if value is None else TEMPLATES.get(str(value), _plain(value)),
            differs=value is not None and value != asked,
        )

    def _drafting(self) -> Iterator[SettingRow]:
        if self._config.mode is RunMode.BASELINE:
            return
        speculation = self._config.speculation
        sources = sources_in_use(self._config)
        methods = ",".join(source.value for source in sources)
        yield self._row("spec_type", "Drafted by", methods, names={"": "nothing"})
        if MODEL_SOURCES.intersection(sources):
            yield self._row(
                "spec_draft_n_max", "Draft tokens per step", speculation.n_max, unit="at most"
            )
            yield self._row("spec_draft_n_min", "Shortest draft", speculation.n_min)
            yield self._row("spec_draft_p_min", "Stop drafting below", speculation.p_min)
        for source in sources:
            yield from self._ngram(source, speculation)

    def _ngram(self, source: DraftSource, speculation: SpeculationConfig) -> Iterator[SettingRow]:
        prefix = f"spec_{source.value.replace('-', '_')}_"
        match source:
            case DraftSource.NGRAM_SIMPLE:
                yield from self._sizes(source, prefix, speculation.ngram_simple)
            case DraftSource.NGRAM_MAP_K:
                yield from self._sizes(source, prefix, speculation.ngram_map_k)
            case DraftSource.NGRAM_MAP_K4V:
                yield from self._sizes(source, prefix, speculation.ngram_map_k4v)
            case DraftSource.NGRAM_MOD:
                mod = speculation.ngram_mod
                yield self._row(f"{prefix}n_match", f"{source}: matching tokens", mod.n_match)
                yield self._row(f"{prefix}n_min", f"{source}: shortest draft", mod.n_min)
                yield self._row(f"{prefix}n_max", f"{source}: longest draft", mod.n_max)
            case DraftSource.NGRAM_CACHE:
                cache = speculation.ngram_cache
                for kind in ("static", "dynamic"):
                    yield self._row(
                        f"lookup_cache_{kind}",
                        f"{source}: {kind} file",
                        getattr(cache, f"{kind}_path"),
                        names={None: "none"},
                    )

    def _sizes(self, source: DraftSource, prefix: str, sizes: NgramSizes) -> Iterator[SettingRow]:
        yield self._row(f"{prefix}size_n", f"{source}: matching tokens", sizes.size_n)
        yield self._row(f"{prefix}size_m", f"{source}: copied at most", sizes.size_m)
        yield self._row(f"{prefix}min_hits", f"{source}: least hits", sizes.min_hits)


def _plain(value: Scalar, unit: str = "") -> str:
    """A value without ornament, true and false as on and off."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{text} {unit}" if unit else text
