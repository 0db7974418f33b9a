"""What a run is asked to do, from settings, slots and conversation, and why it cannot be.

Plain rules; knows neither widgets nor engines.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    RunConfig,
    RunMode,
)
from specviz.trace.validation import problems
from specviz.ui.slots import ModelSlots


def load_of(config: RunConfig, script: Path | None = None) -> LoadConfig:
    """What has to be in memory: no draft file where nothing of the drafting asks one.

    A script stands in for the models.
    """
    load = config.load
    if script is not None:
        stand_in = ModelSpec(path=str(script))
        load = replace(load, target=stand_in, draft=stand_in)
    uses_draft = DraftSource.DRAFT_SIMPLE in config.speculation.sources
    return load if uses_draft else replace(load, draft=None)


def sweep_base(settings: RunConfig, script: Path | None = None) -> RunConfig:
    """What a sweep begins from: its points say which sources draft, and so what is loaded."""
    load = settings.load
    if script is not None:
        stand_in = ModelSpec(path=str(script))
        load = replace(load, target=stand_in, draft=stand_in)
    return replace(settings, mode=RunMode.SPECULATIVE, load=load)


def request(
    settings: RunConfig, messages: Sequence[Message], *, raw: bool, script: Path | None = None
) -> RunConfig:
    """A run of these messages with these settings; a raw prompt has no system prompt."""
    system = () if raw else settings.messages
    return replace(settings, raw=raw, load=load_of(settings, script), messages=(*system, *messages))


def lacks_template(slots: ModelSlots) -> bool:
    """Whether the target brings no chat template, so that its prompts go without one."""
    return slots.target is not None and not slots.target.chat_template


def why_not(config: RunConfig, slots: ModelSlots) -> str:
    """Why this cannot be run with what is in the slots, in a sentence; empty when it can.

    With a script the slots are empty, and nothing in them stands in the way.
    """
    if config.mode is RunMode.SPECULATIVE:
        reason = cannot_draft(config.speculation.sources, slots)
        if reason:
            return reason
    found = problems(config)
    return found[0] if found else ""


def cannot_draft(sources: Collection[DraftSource], slots: ModelSlots) -> str:
    """Why what is in the slots cannot draft with these sources; empty when it can."""
    target = slots.target
    if target is None:
        return ""
    unfit = slots.verdict is not None and not slots.verdict.fits
    if DraftSource.DRAFT_SIMPLE in sources and unfit:
        return "This draft does not fit the target. N-grams or the baseline can run."
    if DraftSource.DRAFT_MTP in sources and not target.nextn_layers:
        return "This target brings no MTP blocks. Choose another way to draft."
    return ""
