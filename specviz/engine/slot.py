"""A model in memory: its weights, its contexts, its settings, and what it can serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from specviz.engine.llama import next_token
from specviz.engine.llama.context import Context
from specviz.engine.llama.weights import Weights
from specviz.errors import SettingError
from specviz.models.memory import older_states
from specviz.models.model_file import ModelFile
from specviz.trace.config import LoadConfig, ModelSpec, Role, SpeculationConfig
from specviz.trace.events import Scalar


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


def next_token_head(slot: Slot, config: LoadConfig) -> next_token.NextTokenHead:
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
        context = context_of(slot)
        slot.head_context = next_token.HeadContext(
            slot.weights, slot.spec, config, target=context, n_threads=context.n_threads
        )
        slot.head = next_token.NextTokenHead(slot.head_context, slot.weights.n_vocab)
    return slot.head


def context_of(slot: Slot) -> Context:
    assert slot.context is not None
    return slot.context


def depth_of(slot: Slot, speculation: SpeculationConfig | None, n_batch: int) -> Depth:
    """How far checks on this target go with these sources; nothing where they are not known."""
    if speculation is None:
        return Depth()
    longest = max(map(speculation.longest_draft, speculation.sources), default=0)
    return Depth(longest, older_states(slot.file, speculation, n_batch))


def file_stamp(path: str) -> tuple[int, int] | None:
    """Size and time of a file, to notice that another one took its name; None when it is gone."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def serves(slot: Slot, spec: ModelSpec, repack: bool) -> bool:
    """Whether what is loaded is what is asked for; a file deleted since still serves."""
    known = (slot.spec.path, slot.spec.n_gpu_layers, slot.repack)
    return known == (spec.path, spec.n_gpu_layers, repack) and file_stamp(spec.path) in (
        None,
        slot.stamp,
    )


def loaded_settings(slots: Mapping[Role, Slot], safe_mode: bool) -> dict[str, Scalar]:
    """The loaded settings as read back from the engine."""
    settings: dict[str, Scalar] = {}
    for role, slot in slots.items():
        context = context_of(slot)
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
    settings["repack_allowed"] = slots[Role.TARGET].repack
    settings["safe_mode"] = safe_mode
    return settings


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
