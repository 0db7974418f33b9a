"""The real engine: loads models once, keeps them between runs, and runs the decode loop on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from specviz.engine import chat_template
from specviz.engine.cost_measurement import measure
from specviz.engine.decode import DecodeLoop, Job
from specviz.engine.drafting.base import Drafter
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.effective import run_settings
from specviz.engine.engine import Report
from specviz.engine.fresh_check import check_anew
from specviz.engine.hardware import physical_cores
from specviz.engine.llama import build, next_token
from specviz.engine.llama.context import MIN_OUTPUTS, Context, warm_up
from specviz.engine.llama.fresh import FreshMemory
from specviz.engine.llama.native_log import start as start_library
from specviz.engine.llama.sampler import Sampler
from specviz.engine.llama.target import LlamaTarget
from specviz.engine.llama.weights import Weights
from specviz.engine.lossless_request import fork_of
from specviz.engine.measured_passes import check_text, passage, passes
from specviz.engine.model import Cancellation, Progress
from specviz.engine.new_drafter import new_drafter
from specviz.engine.prompt import check_prompt, prompt_ids, prompt_text, token_ids_of, with_seed
from specviz.engine.slot import (
    Slot,
    change_reasons,
    context_of,
    depth_of,
    file_stamp,
    loaded_settings,
    serves,
)
from specviz.errors import EngineError, PairError, SpecvizError
from specviz.models.compatibility import check_pair
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
from specviz.trace.events import Environment, RunEvent, RunStarted
from specviz.worker.protocol import (
    CheckLossless,
    Device,
    Loaded,
    Loading,
    LosslessChecked,
    MeasureCosts,
    Prefilling,
    Run,
)


class LlamaEngine:
    """See engine.Engine. `safe_mode` overrules every wish for repacked weights."""

    def __init__(self, *, safe_mode: bool) -> None:
        start_library()
        self._safe_mode = safe_mode
        self._slots: dict[Role, Slot] = {}
        self._config: LoadConfig | None = None
        self._fresh: FreshMemory | None = None

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
        if (fresh := self._fresh) is not None:
            fresh.abort()

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
                effective=loaded_settings(self._slots, self._safe_mode),
                reasons=tuple(reasons),
                rollback=context_of(target).rollback.value,
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
        if slot is None or not serves(slot, spec, repack):
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
        n_rows: int = 1,
    ) -> None:
        try:
            self._set_up_context(self._slots[role], spec, config, speculation, n_rows)
        except SpecvizError as error:
            self._drop(role)
            self._config = None
            raise _about(role, error) from None

    def _read_weights(
        self, role: Role, spec: ModelSpec, repack: bool, report: Report, cancelled: Cancellation
    ) -> Slot:
        stamp = file_stamp(spec.path)
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
        n_rows: int,
    ) -> None:
        n_threads = spec.n_threads or physical_cores()
        depth = depth_of(slot, speculation, config.n_batch)
        n_outputs = max(MIN_OUTPUTS, 1 + depth.longest_draft, n_rows)
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

    # Running -------------------------------------------------------------------------------------
    def run(self, run: Run, report: Report, cancelled: Cancellation) -> Iterator[RunEvent]:
        config = run.config
        self._load_for(config, report, cancelled)
        start = perf_counter()
        target, draft = self._slots[Role.TARGET], self._slots.get(Role.DRAFT)
        context = context_of(target)
        self._rearm()
        text, template = prompt_text(config, target.weights)
        prompt = token_ids_of(target.weights, text, template)
        check_prompt(len(prompt), context.n_ctx)
        config = with_seed(config)
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
            effective={
                **loaded_settings(self._slots, self._safe_mode),
                **run_settings(config),
                "template": template,
            },
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

    def _rearm(self) -> None:
        for slot in self._slots.values():
            for context in slot.contexts:
                context.rearm()

    def measure_costs(self, command: MeasureCosts, report: Report, cancelled: Cancellation) -> None:
        config, n_rows = command.config, command.n_rows
        self._load_for(config, report, cancelled)
        self._rearm()
        target, draft = self._slots[Role.TARGET], self._slots.get(Role.DRAFT)
        text = command.token_ids or token_ids_of(
            target.weights, *prompt_text(config, target.weights)
        )
        check_text(text, target.weights.n_vocab)
        text_and_rows = passage(text, n_rows, context_of(target).n_ctx)
        if context_of(target).n_outputs < n_rows:
            load, speculation = config.load, config.speculation
            self._prepare_context(Role.TARGET, load.target, load, speculation, n_rows)

        def progress(role: Role) -> Progress:
            return lambda done, total: report(
                Prefilling(run_id="", role=role, n_done=done, n_total=total)
            )

        try:
            measured = passes(target, draft, config, text_and_rows, progress, cancelled)
            measure(measured, report, cancelled)
        finally:
            # the next run evaluates its prompt in the batches that it always does
            for slot in self._slots.values():
                for context in slot.contexts:
                    context.clear()

    def check_lossless(
        self, command: CheckLossless, report: Report, cancelled: Cancellation
    ) -> None:
        fork = fork_of(command)
        self._load_for(command.config, report, cancelled)
        self._rearm()
        target, draft = self._slots[Role.TARGET], self._slots.get(Role.DRAFT)
        prompt = prompt_ids(command.config, target.weights)
        check_prompt(len(prompt), context_of(target).n_ctx)
        check = check_anew(command, fork, prompt, target, draft, report, cancelled, self._watch)
        report(LosslessChecked(check=check))

    def _watch(self, memory: FreshMemory | None) -> None:
        self._fresh = memory

    def _load_for(self, config: RunConfig, report: Report, cancelled: Cancellation) -> None:
        """Reload where models or settings differ; a new context where checks may go further.

        The baseline gets the very context that its speculative run will use.
        """
        same = self._config == config.load and all(
            serves(slot, slot.spec, slot.repack) for slot in self._slots.values()
        )
        if not same:
            self._load(config.load, config.speculation, report, cancelled)
        elif not self._reaches(config):
            self._prepare_context(Role.TARGET, config.load.target, config.load, config.speculation)

    def _reaches(self, config: RunConfig) -> bool:
        target = self._slots[Role.TARGET]
        context = context_of(target)
        depth = depth_of(target, config.speculation, config.load.n_batch)
        asked_snapshots = target.context_key[-1]
        return context.n_outputs > depth.longest_draft and asked_snapshots == depth.n_snapshots

    def _drafters(self, config: RunConfig, target: Slot, draft: Slot | None) -> DrafterChain | None:
        if config.mode is RunMode.BASELINE or not config.speculation.sources:
            return None
        return DrafterChain(
            [self._drafter(source, config, target, draft) for source in config.speculation.sources]
        )

    def _drafter(
        self, source: DraftSource, config: RunConfig, target: Slot, draft: Slot | None
    ) -> Drafter:
        return new_drafter(source, config, target, draft)


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
