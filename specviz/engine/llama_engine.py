"""The real engine: loads models once, keeps them between runs, and runs the decode loop on them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from specviz.engine import chat_template, llama
from specviz.engine.decode import DecodeLoop, Job
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.drafting.draft_model import DraftModelDrafter
from specviz.engine.effective import run_settings
from specviz.engine.engine import Report
from specviz.engine.hardware import physical_cores
from specviz.engine.model import Cancellation
from specviz.errors import EngineError, PairError, SettingError, SpecvizError
from specviz.models.compatibility import check_pair
from specviz.models.model_file import FileKind, ModelFile, inspect_model
from specviz.trace.config import DraftSource, LoadConfig, ModelSpec, Role, RunConfig, RunMode
from specviz.trace.events import Environment, RunEvent, RunStarted, Scalar
from specviz.worker.protocol import Device, Loaded, Loading, Prefilling, Run


@dataclass(slots=True)
class Slot:
    """One model in memory, with the settings it was loaded by."""

    spec: ModelSpec
    repack: bool
    stamp: tuple[int, int] | None
    file: ModelFile
    weights: llama.Weights
    context: llama.Context | None = None
    context_key: tuple[object, ...] = ()
    can_truncate: bool = False

    def close(self) -> None:
        self.close_context()
        self.weights.close()

    def close_context(self) -> None:
        if self.context:
            self.context.close()
            self.context = None
            self.context_key = ()


class LlamaEngine:
    """See engine.Engine. `safe_mode` overrules every wish for repacked weights."""

    def __init__(self, *, safe_mode: bool) -> None:
        llama.start()
        self._safe_mode = safe_mode
        self._slots: dict[Role, Slot] = {}
        self._config: LoadConfig | None = None

    @property
    def environment(self) -> Environment:
        return llama.environment(self._safe_mode)

    @property
    def gpu_offload(self) -> bool:
        return llama.supports_gpu()

    def devices(self) -> tuple[Device, ...]:
        return tuple(
            Device(
                name=d.name,
                description=d.description,
                kind=d.kind,
                memory_free=d.memory_free,
                memory_total=d.memory_total,
            )
            for d in llama.devices()
        )

    def abort(self) -> None:
        for slot in list(self._slots.values()):
            if slot.context:
                slot.context.abort()

    def unload(self) -> None:
        for role in (Role.DRAFT, Role.TARGET):
            slot = self._slots.pop(role, None)
            if slot:
                slot.close()
        self._config = None

    # Loading -------------------------------------------------------------------------------------
    def load(
        self, config: LoadConfig, report: Report, cancelled: Cancellation, n_rows: int = 0
    ) -> None:
        reasons = change_reasons(self._config, config)
        self._config = None
        if config.draft is None:
            self._drop(Role.DRAFT)
        self._load_role(Role.TARGET, config.target, config, report, cancelled, n_rows)
        if config.draft is not None:
            self._load_draft(config.draft, config, report, cancelled, n_rows)
        self._config = config
        target = self._slots[Role.TARGET]
        draft = self._slots.get(Role.DRAFT)
        report(
            Loaded(
                target=target.file.info,
                draft=draft.file.info if draft else None,
                effective=self._load_settings(),
                can_speculate=target.can_truncate,
                reasons=tuple(reasons),
            )
        )

    def _load_draft(
        self,
        spec: ModelSpec,
        config: LoadConfig,
        report: Report,
        cancelled: Cancellation,
        n_rows: int,
    ) -> None:
        """The target stays loaded and usable whatever becomes of the draft."""
        target = self._slots[Role.TARGET].file
        file = _inspect(spec, Role.DRAFT)
        verdict = check_pair(target, file)
        if not verdict.fits:
            raise _about(Role.DRAFT, PairError(verdict.message, "Choose another draft."))
        self._load_role(Role.DRAFT, spec, config, report, cancelled, n_rows)
        slot = self._slots[Role.DRAFT]
        if not slot.can_truncate:
            self._drop(Role.DRAFT)
            raise _about(
                Role.DRAFT,
                PairError(
                    f"{file.info.name} cannot serve as a draft: its memory cannot forget "
                    "the tokens that the target rejects.",
                    "Choose a draft of an architecture with attention only.",
                ),
            )

    def _drop(self, role: Role) -> None:
        slot = self._slots.pop(role, None)
        if slot:
            slot.close()

    def _load_role(
        self,
        role: Role,
        spec: ModelSpec,
        config: LoadConfig,
        report: Report,
        cancelled: Cancellation,
        n_rows: int,
    ) -> None:
        repack = config.repack and not self._safe_mode
        slot = self._slots.get(role)
        if slot is None or not _serves(slot, spec, repack):
            self._drop(role)
            slot = self._read_weights(role, spec, repack, report, cancelled)
            self._slots[role] = slot
        try:
            self._set_up_context(slot, spec, config, n_rows)
        except SpecvizError as error:
            self._drop(role)
            raise _about(role, error) from None
        slot.spec = spec

    def _read_weights(
        self, role: Role, spec: ModelSpec, repack: bool, report: Report, cancelled: Cancellation
    ) -> Slot:
        stamp = _stamp(spec.path)
        file = _inspect(spec, role)
        if file.kind is not FileKind.MODEL:
            raise _about(role, PairError(file.explanation, "Choose another file."))
        resolved = replace(spec, path=str(file.path))
        progress = _whole_percents(
            lambda fraction: report(Loading(role=role, path=spec.path, fraction=fraction))
        )
        try:
            weights = llama.Weights(
                resolved, repack=repack, on_progress=progress, cancelled=cancelled
            )
        except EngineError as error:
            raise _about(role, error) from None
        if not weights.has_decoder or weights.has_encoder:
            weights.close()
            raise _about(
                role,
                PairError(
                    f"{file.info.name} is not a model that writes on from a prompt.",
                    "Choose a decoder-only language model.",
                ),
            )
        return Slot(spec, repack, stamp, file, weights)

    def _set_up_context(self, slot: Slot, spec: ModelSpec, config: LoadConfig, n_rows: int) -> None:
        n_threads = spec.n_threads or physical_cores()
        n_outputs = max(llama.MIN_OUTPUTS, n_rows)
        if slot.context and slot.context.n_outputs >= n_outputs:
            n_outputs = slot.context.n_outputs
        key = (
            config.n_ctx,
            config.n_batch,
            config.flash_attention,
            spec.type_k,
            spec.type_v,
            n_outputs,
        )
        if slot.context is None or slot.context_key != key:
            slot.close_context()
            slot.context = llama.Context(
                slot.weights, spec, config, n_outputs=n_outputs, n_threads=n_threads
            )
            slot.context_key = key
            slot.can_truncate = llama.can_truncate(slot.context)
            llama.warm_up(slot.context, (1, 4))
        if slot.context.n_threads != n_threads:
            slot.context.set_threads(n_threads)

    def _load_settings(self) -> dict[str, Scalar]:
        """The loaded settings as read back from the engine."""
        settings: dict[str, Scalar] = {}
        for role, slot in self._slots.items():
            context = slot.context
            assert context is not None
            if role is Role.TARGET:
                settings["n_ctx"] = context.n_ctx
                settings["n_ctx_allocated"] = context.n_ctx_allocated
                settings["n_batch"] = context.n_batch
                settings["flash_attention"] = context.flash_attention
            settings[f"{role}_n_gpu_layers"] = slot.weights.n_layers_on_gpu
            settings[f"{role}_n_threads"] = context.n_threads
            settings[f"{role}_type_k"] = slot.spec.type_k
            settings[f"{role}_type_v"] = slot.spec.type_v
            settings[f"{role}_repacked"] = slot.weights.repacked
        settings["repack_allowed"] = self._slots[Role.TARGET].repack
        settings["safe_mode"] = self._safe_mode
        return settings

    # Running -------------------------------------------------------------------------------------
    def run(self, run: Run, report: Report, cancelled: Cancellation) -> Iterator[RunEvent]:
        config = run.config
        self._load_for(config, report, cancelled)
        start = llama.now()
        target, draft = self._slots[Role.TARGET], self._slots.get(Role.DRAFT)
        assert target.context is not None
        for slot in self._slots.values():
            if slot.context:
                slot.context.rearm()
        prompt, template = self._prompt(config, target)
        _check_prompt(len(prompt), target.context.n_ctx)
        config = _with_seed(config)
        drafters = self._drafters(config, target, draft)
        yield RunStarted(
            run_id=run.run_id,
            t=llama.now() - start,
            config=config,
            target=target.file.info,
            draft=draft.file.info if drafters and draft else None,
            environment=self.environment,
            effective={**self._load_settings(), **run_settings(config), "template": template},
            n_prompt=len(prompt),
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        job = Job(
            run_id=run.run_id,
            prompt=prompt,
            max_tokens=config.max_tokens,
            stop=config.stop,
            start=start,
        )
        sampler = llama.Sampler(config.sampling)
        try:
            loop = DecodeLoop(
                job,
                llama.LlamaTarget(target.context, sampler),
                drafters,
                llama.now,
                cancelled,
                lambda role, done, total: report(
                    Prefilling(run_id=run.run_id, role=role, n_done=done, n_total=total)
                ),
            )
            yield from loop.events()
        finally:
            sampler.close()

    def _load_for(self, config: RunConfig, report: Report, cancelled: Cancellation) -> None:
        n_rows = 1 + (config.speculation.n_max if _wants_draft(config) else 0)
        target = self._slots.get(Role.TARGET)
        prepared = target.context.n_outputs if target and target.context else 0
        same = self._config == config.load and all(
            _serves(slot, slot.spec, slot.repack) for slot in self._slots.values()
        )
        if not same or n_rows > prepared:
            self.load(config.load, report, cancelled, n_rows)

    def _prompt(self, config: RunConfig, target: Slot) -> tuple[list[int], str]:
        """Token ids of the prompt, and which template made it."""
        weights = target.weights
        source = weights.chat_template
        bos = weights.special_text(weights.bos_id)
        if config.raw or not source:
            text, template = config.prompt, "raw" if config.raw else "none"
        else:
            text = chat_template.render(
                source,
                config.messages,
                bos=bos,
                eos=weights.special_text(weights.eos_id),
                reasoning=config.reasoning,
            )
            template = "model"
        add_special = not (template == "model" and bos and text.startswith(bos))
        return weights.tokenize(text, add_special=add_special, parse_special=True), template

    def _drafters(self, config: RunConfig, target: Slot, draft: Slot | None) -> DrafterChain | None:
        if not _wants_draft(config):
            return None
        if not target.can_truncate:
            raise SettingError(
                f"{target.file.info.name} keeps a running state that cannot forget rejected "
                "tokens, so drafting is not possible with it in this version.",
                "It can run as a baseline.",
            )
        if draft is None or draft.context is None:
            raise SettingError("There is no draft model to draft with.", "Choose a draft file.")
        speculation = config.speculation
        model = llama.LlamaDraft(draft.context, target.weights.n_vocab)
        return DrafterChain(
            [DraftModelDrafter(model, speculation.n_max, speculation.n_min, speculation.p_min)]
        )


def _wants_draft(config: RunConfig) -> bool:
    return (
        config.mode is RunMode.SPECULATIVE
        and DraftSource.DRAFT_SIMPLE in config.speculation.sources
    )


def _with_seed(config: RunConfig) -> RunConfig:
    if config.sampling.seed is not None:
        return config
    # 0xFFFFFFFF means "random" to llama.cpp and could not be used again
    seed = secrets.randbelow(0xFFFFFFFF)
    return replace(config, sampling=replace(config.sampling, seed=seed))


def _check_prompt(n_prompt: int, n_ctx: int) -> None:
    if n_prompt == 0:
        raise SettingError("The prompt is empty.", "Write something first.")
    if n_prompt >= n_ctx:
        raise SettingError(
            f"The prompt has {n_prompt} tokens and the context holds {n_ctx}.",
            "Shorten the prompt or choose a larger context.",
        )


def _stamp(path: str) -> tuple[int, int] | None:
    """Size and time of a file, to notice that another one took its name; None when it is gone."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _serves(slot: Slot, spec: ModelSpec, repack: bool) -> bool:
    """Whether what is loaded is what is asked for; a file deleted since still serves."""
    known = (slot.spec.path, slot.spec.n_gpu_layers, slot.repack)
    return known == (spec.path, spec.n_gpu_layers, repack) and _stamp(spec.path) in (
        None,
        slot.stamp,
    )


def _inspect(spec: ModelSpec, role: Role) -> ModelFile:
    try:
        return inspect_model(Path(spec.path))
    except SpecvizError as error:
        raise _about(role, error) from None


def _about(role: Role, error: SpecvizError) -> SpecvizError:
    error.role = role.value
    return error


def _whole_percents(report: Callable[[float], None]) -> Callable[[float], None]:
    """The loader calls back for every tensor; a report for each whole percent is plenty."""
    last = -1

    def on_progress(fraction: float) -> None:
        nonlocal last
        percent = int(fraction * 100)
        if percent != last:
            last = percent
            report(min(max(fraction, 0.0), 1.0))

    return on_progress


def change_reasons(old: LoadConfig | None, new: LoadConfig) -> list[str]:
    """In words, what differs between what was loaded and what is asked for."""
    if old is None:
        return []
    reasons = []
    pairs = (
        (old.n_ctx, new.n_ctx, "context"),
        (old.n_batch, new.n_batch, "prefill batch"),
        (old.flash_attention, new.flash_attention, "flash attention"),
        (old.repack, new.repack, "repacked weights"),
    )
    reasons += [name for before, after, name in pairs if before != after]
    for role, before, after in (
        ("target", old.target, new.target),
        ("draft", old.draft, new.draft),
    ):
        if before is None or after is None:
            if before is not after:
                reasons.append(f"{role} added" if before is None else f"{role} removed")
            continue
        details = (
            (before.path, after.path, f"{role} file"),
            (before.n_gpu_layers, after.n_gpu_layers, f"{role} layers on GPU"),
            ((before.type_k, before.type_v), (after.type_k, after.type_v), f"{role} KV types"),
        )
        reasons += [name for was, now, name in details if was != now]
    return reasons
