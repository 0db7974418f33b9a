"""What a sweep runs: points of a grid of drafting settings, prompts, repeats.

Judges settings by `trace.validation` and loads nothing.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from specviz.errors import SettingError
from specviz.sweep.axes import (
    DRAFT_TYPE_K,
    DRAFT_TYPE_V,
    METHOD,
    SETTINGS,
    Axis,
    Value,
    applied,
    label_of,
)
from specviz.trace.config import (
    DraftSource,
    Message,
    RunConfig,
    RunMode,
    SpeculationConfig,
)
from specviz.trace.validation import LARGEST_SEED, problems

MOST_POINTS = 1000
"""More combinations than this are a mistake in a list rather than a sweep."""


@dataclass(frozen=True, slots=True)
class SweepPrompt:
    """A prompt with a short name. `shows`: what can be seen with it, in a sentence."""

    name: str
    text: str
    shows: str = ""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One combination of settings.

    `values`: setting and value (see `axes.SETTINGS`) of what was varied and is looked at here;
    the draft sources always. `speculation` is complete. `draft_type_k` and `draft_type_v` are set
    where the draft's KV cache was varied.
    """

    label: str
    speculation: SpeculationConfig
    values: tuple[tuple[str, Value], ...] = ()
    draft_type_k: str | None = None
    draft_type_v: str | None = None

    def value_of(self, setting: str) -> Value | None:
        """The value of a varied setting; None where this point does not look at it."""
        return dict(self.values).get(setting)

    def applied_to(self, config: RunConfig) -> RunConfig:
        """A speculative run with the settings of this point."""
        config = replace(config, mode=RunMode.SPECULATIVE, speculation=self.speculation)
        for setting, value in (
            (DRAFT_TYPE_K, self.draft_type_k),
            (DRAFT_TYPE_V, self.draft_type_v),
        ):
            if value is not None:
                config = applied(config, setting, value)
        return config


@dataclass(frozen=True, slots=True)
class Dropped:
    """A combination that cannot work, and why, in a sentence."""

    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class Grid:
    """The points of a grid, and what of it was left out."""

    points: tuple[SweepPoint, ...]
    dropped: tuple[Dropped, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What was left out and why, a sentence for each reason, most frequent first."""
        n_all = len(self.points) + len(self.dropped)
        reasons = Counter(dropped.reason for dropped in self.dropped)
        return [
            f"{n} of {n_all} settings {'is' if n == 1 else 'are'} left out: {reason}"
            for reason, n in reasons.most_common()
        ]


def grid(base: RunConfig, axes: Sequence[Axis]) -> Grid:
    """Every combination of the axes' values on top of `base`, each once.

    An axis counts for the draft sources that look at its setting; for others it is as if it were
    not there. Combinations that cannot work are left out and told. Points with the same draft
    cache types stand together. Raises SettingError for more than `MOST_POINTS` combinations.
    """
    varied = {axis.setting: axis for axis in axes if axis.values}
    methods = varied.pop(METHOD, Axis(METHOD, (base.speculation.sources,))).values
    named = {axis.setting for axis in varied.values() if len(set(axis.values)) > 1}
    if len({frozenset(sources) for sources in methods if isinstance(sources, tuple)}) > 1:
        named.add(METHOD)
    named = named or set(varied)
    points: dict[object, SweepPoint] = {}
    dropped: dict[str, Dropped] = {}
    for values in _combinations(methods, varied):
        point, reason = _point(base, values, named)
        if reason:
            dropped[point.label] = Dropped(point.label, reason)
        else:
            points.setdefault((point.speculation, _draft_types(point)), point)
    types = [_draft_types(point) for point in points.values()]
    ordered = sorted(points.values(), key=lambda point: types.index(_draft_types(point)))
    return Grid(tuple(ordered), tuple(dropped.values()))


def _combinations(
    methods: Sequence[Value], varied: dict[str, Axis]
) -> Iterator[tuple[tuple[str, Value], ...]]:
    per_method: list[tuple[tuple[DraftSource, ...], list[Axis]]] = []
    for sources in methods:
        assert isinstance(sources, tuple)
        ordered = tuple(source for source in DraftSource if source in sources)
        axes = [varied[name] for name in SETTINGS if name in varied]
        per_method.append((ordered, [axis for axis in axes if axis.applies_to(ordered)]))
    n_points = sum(prod(len(axis.values) for axis in axes) for _, axes in per_method)
    if n_points > MOST_POINTS:
        raise SettingError(
            f"That is {n_points} combinations; a sweep takes {MOST_POINTS} at most.",
            "Vary fewer settings, or give fewer values.",
        )
    for sources, axes in per_method:
        names = [axis.setting for axis in axes]
        for values in product(*(axis.values for axis in axes)):
            yield ((METHOD, sources), *zip(names, values, strict=True))


def _point(
    base: RunConfig, values: tuple[tuple[str, Value], ...], named: set[str]
) -> tuple[SweepPoint, str]:
    """The point, and why it cannot work; empty when it can."""
    config = replace(base, mode=RunMode.SPECULATIVE, raw=False, messages=_ANY_PROMPT)
    for setting, value in values:
        config = applied(config, setting, value)
    given = dict(values)
    point = SweepPoint(
        label=label_of(values, named),
        speculation=config.speculation,
        values=values,
        draft_type_k=_text(given.get(DRAFT_TYPE_K)),
        draft_type_v=_text(given.get(DRAFT_TYPE_V)),
    )
    return point, next(iter(problems(config)), "")


_ANY_PROMPT = (Message(role="user", text="?"),)


def _text(value: Value | None) -> str | None:
    return value if isinstance(value, str) else None


def _draft_types(point: SweepPoint) -> tuple[str | None, str | None]:
    return point.draft_type_k, point.draft_type_v


def numeric_setting(points: Sequence[SweepPoint]) -> str | None:
    """The setting that alone tells the points apart, where it is a number; else None."""
    varied = {
        setting
        for setting in SETTINGS
        if len({repr(point.value_of(setting)) for point in points}) > 1
    }
    if len(varied) != 1:
        return None
    (setting,) = varied
    numbers = (point.value_of(setting) for point in points)
    return setting if all(isinstance(value, int | float) for value in numbers) else None


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What to run. `base`: models, limits, sampling and system prompt of every run.

    Each prompt is run once without drafting and once at each point, and all that `n_repeats`
    times.
    """

    base: RunConfig
    prompts: tuple[SweepPrompt, ...]
    points: tuple[SweepPoint, ...]
    n_repeats: int = 1

    @property
    def n_runs(self) -> int:
        """All runs, baselines included."""
        return len(self.prompts) * self.n_repeats * (len(self.points) + 1)

    def runs(self) -> Iterator[tuple[int, int | None]]:
        """Prompt and point of each run in order; the point is None for a baseline.

        Prompt by prompt. Baseline and points take turns, so that a machine growing warm slows all.
        """
        for prompt in range(len(self.prompts)):
            for _ in range(self.n_repeats):
                yield prompt, None
                for point in range(len(self.points)):
                    yield prompt, point

    def config(self, prompt: int, point: int | None) -> RunConfig:
        """The configuration of a run; all of them ask for the same files in memory.

        A baseline carries the settings of the longest drafts, so that the context it makes serves
        the runs after it.
        """
        system = tuple(message for message in self.base.messages if message.role == "system")
        turn = Message(role="user", text=self.prompts[prompt].text)
        messages = (turn,) if self.base.raw else (*system, turn)
        load = self.base.load if self._needs_draft else replace(self.base.load, draft=None)
        config = replace(self.base, load=load, messages=messages)
        if point is not None:
            return self.points[point].applied_to(config)
        first = self.points[0].applied_to(config).load if self.points else load
        return replace(config, load=first, mode=RunMode.BASELINE, speculation=self._longest())

    @property
    def _needs_draft(self) -> bool:
        return any(DraftSource.DRAFT_SIMPLE in p.speculation.sources for p in self.points)

    def _longest(self) -> SpeculationConfig:
        configs = [point.speculation for point in self.points] or [self.base.speculation]
        return max(configs, key=lambda each: max(map(each.longest_draft, each.sources), default=0))

    def problems(self) -> list[str]:
        """One sentence for each thing that stands in the way; empty when the sweep can run."""
        found = []
        if not self.prompts:
            found.append("No prompt is chosen.")
        if not self.points:
            found.append("No setting is left to try.")
        if self.n_repeats < 1:
            found.append(f"{self.n_repeats} repeats leave nothing to do; choose 1 or more.")
        if found:
            return found
        for index in range(len(self.prompts)):
            found += [each for each in problems(self.config(index, 0)) if each not in found]
        return found

    def with_seed(self) -> SweepPlan:
        """The plan with a seed that all runs share, drawn where none is set."""
        sampling = self.base.sampling
        if sampling.seed is not None:
            return self
        drawn = replace(sampling, seed=secrets.randbelow(LARGEST_SEED + 1))
        return replace(self, base=replace(self.base, sampling=drawn))
