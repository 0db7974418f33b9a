"""What a sweep is to vary, as the page's form has it, and the plan that comes of it.

Knows neither widgets nor engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from specviz.sweep.axes import METHOD, Axis
from specviz.sweep.plan import Grid, SweepPlan, SweepPrompt, grid
from specviz.trace.config import DraftSource, RunConfig
from specviz.trace.validation import LARGEST_NGRAM, NGRAM_SIZES
from specviz.ui.sweep_lists import ListFormat

MOST_REPEATS = 9


class PromptsFrom(StrEnum):
    """Where the prompts come from."""

    BUILTIN = "builtin"
    FIELD = "field"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariedValue:
    """A setting that can be varied: its key, the sources that heed it, what it may be.

    `setting`: its name among `sweep.axes.SETTINGS`. `start`: what the field holds at the first
    time; empty means as in the setup.
    """

    key: str
    setting: str
    sources: tuple[DraftSource, ...]
    wanted: ListFormat
    effect: str
    start: str = ""


AS_IN_SETUP = "Left empty, the value of the setup is taken."
_MODELS = (DraftSource.DRAFT_SIMPLE, DraftSource.DRAFT_MTP)
_MATCH = f"So many tokens must stand as they stood before until anything is copied. {AS_IN_SETUP}"
_COPIED = f"At most so many tokens are copied in one step. {AS_IN_SETUP}"


def _ngram(source: DraftSource) -> tuple[VariedValue, ...]:
    mod = source is DraftSource.NGRAM_MOD
    part = "ngram_mod" if mod else NGRAM_SIZES[source]
    matching = ListFormat(
        label="Matching tokens", minimum=1, maximum=LARGEST_NGRAM, example="4, 6, 12"
    )
    longest = ListFormat(
        label="Longest draft" if mod else "Copied at most",
        minimum=1,
        maximum=LARGEST_NGRAM,
        example="8, 12, 24",
    )
    return (
        VariedValue(
            key=f"{source.value}-match",
            setting=f"{part}.{'n_match' if mod else 'size_n'}",
            sources=(source,),
            wanted=matching,
            effect=_MATCH,
        ),
        VariedValue(
            key=f"{source.value}-{'longest' if mod else 'copied'}",
            setting=f"{part}.{'n_max' if mod else 'size_m'}",
            sources=(source,),
            wanted=longest,
            effect=_COPIED,
        ),
    )


VARIED = (
    VariedValue(
        key="draft-tokens",
        setting="n_max",
        sources=_MODELS,
        wanted=ListFormat(label="Draft tokens", minimum=1, maximum=511),
        effect="So many tokens are drafted per step at most; each value is measured. "
        + AS_IN_SETUP,
        start="1:8",
    ),
    VariedValue(
        key="p-min",
        setting="p_min",
        sources=_MODELS,
        wanted=ListFormat(
            label="Stop below", minimum=0, maximum=1, decimals=2, example="0, 0.5, 0.7"
        ),
        effect="Drafting stops at the first token that the draft gives a lower probability. "
        + AS_IN_SETUP,
    ),
    *(
        value
        for source in (
            DraftSource.NGRAM_SIMPLE,
            DraftSource.NGRAM_MAP_K,
            DraftSource.NGRAM_MAP_K4V,
            DraftSource.NGRAM_MOD,
        )
        for value in _ngram(source)
    ),
)
"""In the order in which the form shows them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepChoice:
    """What is ticked and typed. `values` by key of `VARIED`; a key that is missing or empty is not
    varied. `builtin` holds the names of the ticked built-in prompts."""

    sources: tuple[DraftSource, ...] = (DraftSource.DRAFT_SIMPLE,)
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    prompts_from: PromptsFrom = PromptsFrom.BUILTIN
    builtin: tuple[str, ...] = ()
    n_repeats: int = 1


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and what was left out of it and why, in words.

    `why_none`: where that left nothing to try, the first reason.
    """

    plan: SweepPlan
    note: str = ""
    why_none: str = ""


def plan_of(base: RunConfig, choice: SweepChoice, prompts: Sequence[SweepPrompt]) -> Planned:
    """What comes of a choice on top of the setup's settings. Raises SettingError for too much.

    Each ticked source drafts alone, in turn.
    """
    if not choice.sources:
        return Planned(SweepPlan(base, tuple(prompts), (), choice.n_repeats))
    axes = [Axis(METHOD, tuple((source,) for source in choice.sources))]
    axes += [
        Axis(value.setting, tuple(choice.values[value.key]))
        for value in VARIED
        if choice.values.get(value.key)
    ]
    found = grid(base, axes)
    plan = SweepPlan(base, tuple(prompts), found.points, choice.n_repeats)
    why_none = found.dropped[0].reason if found.dropped and not found.points else ""
    return Planned(plan, _left_out(found), why_none)


def _left_out(found: Grid) -> str:
    if len(found.notes) < 2:
        return "".join(found.notes)
    n, n_all = len(found.dropped), len(found.dropped) + len(found.points)
    return f"{n} of {n_all} settings are left out. The first: {found.dropped[0].reason}"
