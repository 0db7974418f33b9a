"""The real engine: loads models once, keeps them between runs, and runs the decode loop on them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from specviz.engine import chat_template
from specviz.engine.decode import DecodeLoop, Job
from specviz.engine.drafting.base import Drafter
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.drafting.draft_model import DraftModelDrafter
from specviz.engine.drafting.next_token import NextTokenDrafter
from specviz.engine.drafting.ngram_cache import NgramCacheDrafter
from specviz.engine.drafting.ngram_map import NgramMapDrafter
from specviz.engine.drafting.ngram_mod import NgramModDrafter
from specviz.engine.drafting.ngram_simple import NgramSimpleDrafter
from specviz.engine.effective import run_settings
from specviz.engine.engine import Report
from specviz.engine.hardware import physical_cores
from specviz.engine.llama import build, next_token
from specviz.engine.llama.context import MIN_OUTPUTS, Context, warm_up
from specviz.engine.llama.draft import LlamaDraft
from specviz.engine.llama.native_log import start as start_library
from specviz.engine.llama.sampler import Sampler
from specviz.engine.llama.target import LlamaTarget
from specviz.engine.llama.weights import Weights
from specviz.engine.model import Cancellation
from specviz.errors import EngineError, PairError, SettingError, SpecvizError
from specviz.models.compatibility import check_pair
from specviz.models.memory import older_states
from specviz.models.model_file import FileKind, ModelFile, inspect_model
from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    ModelSpec,
    Role,
    RunConfig,
    RunMode,
    SpeculationConfig,
)
from specviz.trace.events import Environment, RunEvent, RunStarted, Scalar
from specviz.worker.protocol import Device, Loaded, Loading, Prefilling, Run


@dataclass(slots=True)
class Slot:
    """One model in memory, with the settings it was loaded by."""

    spec: ModelSpec
    repack: bool
    stamp: tuple[int, int] | None
    file: ModelFile
    weights: Weights
    context: Context | None = None
    context_key: tuple[object, ...] = ()
    head_context: next_token.HeadContext | None = None
    head: next_token.NextTokenHead | None = None

    def close(self) -> None:
        self.close_context()
        self.weights.close()

    def close_context(self) -> None:
        self.head = None
        if self.head_context:
            self.head_context.close()
            self.head_context = None
        if self.context:
            self.context.close()
            self.context = None
            self.context_key = ()

    @property
    def contexts(self) -> list[Context]:
        return [context for context in (self.context, self.head_context) if context is not None]


@dataclass(frozen=True, slots=True)
class Depth:
    """How far a check may go: draft tokens at most, and older states to keep for undoing them."""

    longest_draft: int = 0
    n_snapshots: int = 0


class LlamaEngine:
    """See engine.Engine. `safe_mode` overrules every wish for repacked weights."""

    def __init__(self, *, safe_mode: bool) -> None:
        start_library()
        self._safe_mode = safe_mode
        self._slots: dict[Role, Slot] = {}
        self._config: LoadConfig | None = None

    @property
    def environment(self) -> Environment:
        return build.environment(self._safe_mode)

    @property
    def gpu_offload(self) -> bool:
        return build.supports_gpu()

    def devices(self) -> tuple[Device, ...]:
        return tuple(
            Device(
                name=d.name,
                description=d.description,
                kind=d.kind,
                memory_free=d.memory_free,
                memory_total=d.memory_total,
            )
            for d in build.devices()
        )

    def abort(self) -> None:
        for slot in list(self._slots.values()):
            for context in slot.contexts:
                context.abort()

    def unload(self) -> None:
        for role in (Role.DRAFT, Role.TARGET):
            slot = self._slots.pop(role, None)
            if slot:
                slot.close()
        self._config = None

    # Loading -------------------------------------------------------------------------------------
    def load(self, config: LoadConfig, report: Report, cancelled: Cancellation) -> None:
        self._load(config, None, report, cancelled)

    def _load(
        self,
        config: LoadConfig,
        speculation: SpeculationConfig | None,
        report: Report,
        cancelled: Cancellation,
    ) -> None:
        """Have these models in memory, fit for drafting as `speculation` says where it is known."""
        reasons = change_reasons(self._config, config)
        self._config = None
        if config.draft is None:
            self._drop(Role.DRAFT)
        self._load_role(Role.TARGET, config.target, config, speculation, report, cancelled)
        if config.draft is not None:
            self._load_draft(config.draft, config, report, cancelled)
        self._config = config
        target = self._slots[Role.TARGET]
        draft = self._slots.get(Role.DRAFT)
        report(
            Loaded(
                target=target.file.info,
                draft=draft.file.info if draft else None,
                effective=self._load_settings(),
                reasons=tuple(reasons),
                rollback=_context_of(target).rollback.value,
            )
        )

    def _load_draft(
        self,
        spec: ModelSpec,
        config: LoadConfig,
        report: Report,
        cancelled: Cancellation,
    ) -> None:
        """The target stays loaded and usable whatever becomes of the draft."""
        target = self._slots[Role.TARGET].file
        file = _inspect(spec, Role.DRAFT)
        verdict = check_pair(target, file)
        if not verdict.fits:
            raise _about(Role.DRAFT, PairError(verdict.message, "Choose another draft."))
        self._load_role(Role.DRAFT, spec, config, None, report, cancelled)

    def _drop(self, role: Role) -> None:
        slot = self._slots.pop(role, None)
        if slot:
            slot.close()

    def _load_role(
        self,
        role: Role,
        spec: ModelSpec,
        config: LoadConfig,
        speculation: SpeculationConfig | None,
        report: Report,
        cancelled: Cancellation,
    ) -> None:
        repack = config.repack and not self._safe_mode
        slot = self._slots.get(role)
        if slot is None or not _serves(slot, spec, repack):
            self._drop(role)
            slot = self._read_weights(role, spec, repack, report, cancelled)
            self._slots[role] = slot
        self._prepare_context(role, spec, config, speculation)
        slot.spec = spec

    def _prepare_context(
        self,
        role: Role,
        spec: ModelSpec,
        config: LoadConfig,
        speculation: SpeculationConfig | None,
    ) -> None:
        try:
            self._set_up_context(self._slots[role], spec, config, speculation)
        except SpecvizError as error:
            self._drop(role)
            self._config = None
            raise _about(role, error) from None

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
            weights = Weights(
                resolved,
                repack=repack,
                # the block is small beside the rest, and drafting with it needs no reload then
                next_token=file.nextn_layers > 0 and next_token.available(),
                on_progress=progress,
                cancelled=cancelled,
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

    def _set_up_context(
        self,
        slot: Slot,
        spec: ModelSpec,
        config: LoadConfig,
        speculation: SpeculationConfig | None,
    ) -> None:
        n_threads = spec.n_threads or physical_cores()
        depth = _depth(slot, speculation, config.n_batch)
        n_outputs = max(MIN_OUTPUTS, 1 + depth.longest_draft)
        if slot.context and slot.context.n_outputs >= n_outputs:
            n_outputs = slot.context.n_outputs
        key = (
            config.n_ctx,
            config.n_batch,
            config.flash_attention,
            spec.type_k,
            spec.type_v,
            n_outputs,
            depth.n_snapshots,
        )
        if slot.context is None or slot.context_key != key:
            slot.close_context()
            slot.context = Context(
                slot.weights,
                spec,
                config,
                n_outputs=n_outputs,
                n_threads=n_threads,
                n_snapshots=depth.n_snapshots,
            )
            slot.context_key = key
            warm_up(slot.context, (1, 4))
        for context in slot.contexts:
            if context.n_threads != n_threads:
                context.set_threads(n_threads)

    def _load_settings(self) -> dict[str, Scalar]:
        """The loaded settings as read back from the engine."""
        settings: dict[str, Scalar] = {}
        for role, slot in self._slots.items():
            context = _context_of(slot)
            if role is Role.TARGET:
                settings["n_ctx"] = context.n_ctx
                settings["n_ctx_allocated"] = context.n_ctx_allocated
                settings["n_batch"] = context.n_batch
                settings["flash_attention"] = context.flash_attention
                settings["rollback"] = context.rollback.value
                settings["n_rs_seq"] = context.n_snapshots
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
        start = perf_counter()
        target, draft = self._slots[Role.TARGET], self._slots.get(Role.DRAFT)
        context = _context_of(target)
        for slot in self._slots.values():
            for each in slot.contexts:
                each.rearm()
        text, template = self._prompt(config, target)
        prompt = _token_ids(target.weights, text, template)
        _check_prompt(len(prompt), context.n_ctx)
        config = _with_seed(config)
        drafters = self._drafters(config, target, draft)
        with_head = drafters is not None and any(
            drafter.source is DraftSource.DRAFT_MTP for drafter in drafters.drafters
        )
        next_token.give_hidden_rows(context, with_head)
        yield RunStarted(
            run_id=run.run_id,
            t=perf_counter() - start,
            config=config,
            target=target.file.info,
            draft=draft.file.info if drafters and draft else None,
            environment=self.environment,
            effective={**self._load_settings(), **run_settings(config), "template": template},
            n_prompt=len(prompt),
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            prompt_pieces=tuple(target.weights.piece(token_id) for token_id in prompt),
            reasoning_open=chat_template.opens_reasoning(text),
        )
        job = Job(
            run_id=run.run_id,
            prompt=prompt,
            max_tokens=config.max_tokens,
            stop=config.stop,
            start=start,
        )
        sampler = Sampler(config.sampling)
        try:
            loop = DecodeLoop(
                job,
                LlamaTarget(context, sampler, target.head if with_head else None),
                drafters,
                perf_counter,
                cancelled,
                lambda role, done, total: report(
                    Prefilling(run_id=run.run_id, role=role, n_done=done, n_total=total)
                ),
            )
            yield from loop.events()
        finally:
            sampler.close()

    def _load_for(self, config: RunConfig, report: Report, cancelled: Cancellation) -> None:
        """Reload where models or settings differ; a new context where checks may go further.

        The baseline gets the very context that its speculative run will use.
        """
        same = self._config == config.load and all(
            _serves(slot, slot.spec, slot.repack) for slot in self._slots.values()
        )
        if not same:
            self._load(config.load, config.speculation, report, cancelled)
        elif not self._reaches(config):
            self._prepare_context(Role.TARGET, config.load.target, config.load, config.speculation)

    def _reaches(self, config: RunConfig) -> bool:
        target = self._slots[Role.TARGET]
        context = _context_of(target)
        depth = _depth(target, config.speculation, config.load.n_batch)
        asked_snapshots = target.context_key[-1]
        return context.n_outputs > depth.longest_draft and asked_snapshots == depth.n_snapshots

    def _prompt(self, config: RunConfig, target: Slot) -> tuple[str, str]:
        """The text of the prompt, and which template made it."""
        weights = target.weights
        source = weights.chat_template
        if config.raw or not source:
            return config.prompt, "raw" if config.raw else "none"
        text = chat_template.render(
            source,
            config.messages,
            bos=weights.special_text(weights.bos_id),
            eos=weights.special_text(weights.eos_id),
            reasoning=config.reasoning,
        )
        return text, "model"

    def _drafters(self, config: RunConfig, target: Slot, draft: Slot | None) -> DrafterChain | None:
        if config.mode is RunMode.BASELINE or not config.speculation.sources:
            return None
        return DrafterChain(
            [self._drafter(source, config, target, draft) for source in config.speculation.sources]
        )

    def _drafter(
        self, source: DraftSource, config: RunConfig, target: Slot, draft: Slot | None
    ) -> Drafter:
        """A fresh drafter: nothing of an earlier run is known to it."""
        speculation = config.speculation
        rules = (speculation.n_max, speculation.n_min, speculation.p_min)
        match source:
            case DraftSource.NGRAM_SIMPLE:
                return NgramSimpleDrafter(speculation.ngram_simple)
            case DraftSource.NGRAM_MAP_K:
                return NgramMapDrafter(speculation.ngram_map_k, source)
            case DraftSource.NGRAM_MAP_K4V:
                return NgramMapDrafter(speculation.ngram_map_k4v, source)
            case DraftSource.NGRAM_MOD:
                return NgramModDrafter(speculation.ngram_mod)
            case DraftSource.NGRAM_CACHE:
                return NgramCacheDrafter(speculation.ngram_cache, target.weights.n_vocab)
            case DraftSource.DRAFT_SIMPLE:
                if draft is None or draft.context is None:
                    raise SettingError(
                        "There is no draft model to draft with.", "Choose a draft file."
                    )
                model = LlamaDraft(draft.context, target.weights.n_vocab)
                return DraftModelDrafter(model, *rules)
            case DraftSource.DRAFT_MTP:
                return NextTokenDrafter(self._head(target, config.load), *rules)

    def _head(self, slot: Slot, config: LoadConfig) -> next_token.NextTokenHead:
        """The target's next-token block, with a context of its own."""
        name, n_blocks = slot.file.info.name, slot.file.nextn_layers
        if n_blocks != 1:
            raise SettingError(
                f"{name} has no next-token (MTP) block to draft with."
                if n_blocks == 0
                else f"{name} has {n_blocks} next-token (MTP) blocks; only one can be used.",
                "Choose another drafting method.",
            )
        if not slot.weights.next_token:
            raise SettingError(
                "This build of llama-cpp-python cannot draft with next-token (MTP) blocks.",
                "Choose another drafting method.",
            )
        if slot.head is None:
            context = _context_of(slot)
            slot.head_context = next_token.HeadContext(
                slot.weights, slot.spec, config, target=context, n_threads=context.n_threads
            )
            slot.head = next_token.NextTokenHead(slot.head_context, slot.weights.n_vocab)
        return slot.head


def _context_of(slot: Slot) -> Context:
    assert slot.context is not None
    return slot.context


def _depth(slot: Slot, speculation: SpeculationConfig | None, n_batch: int) -> Depth:
    """How far checks on this target go with these sources; nothing where they are not known."""
    if speculation is None:
        return Depth()
    longest = max(map(speculation.longest_draft, speculation.sources), default=0)
    return Depth(longest, older_states(slot.file, speculation, n_batch))


def _token_ids(weights: Weights, text: str, template: str) -> list[int]:
    bos = weights.special_text(weights.bos_id)
    add_special = not (template == "model" and bos and text.startswith(bos))
    return weights.tokenize(text, add_special=add_special, parse_special=True)


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
