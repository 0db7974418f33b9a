"""What `specviz sweep` is asked to do, checked as far as that goes without reading weights."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.cli import drafting_options, options
from specviz.cli.request import (
    Note,
    check_caches,
    check_files,
    check_models,
    check_mtp,
    demo_pair,
    model_paths,
    read_text,
)
from specviz.cli.sweep_options import BUILTIN, alternatives, sweep_parser, take_axes
from specviz.errors import SettingError
from specviz.export.atomic import make_folder
from specviz.models.demo_pair import DemoPair
from specviz.models.model_file import inspect_model
from specviz.sweep.axes import Axis
from specviz.sweep.plan import SweepPlan, SweepPrompt, grid
from specviz.sweep.prompts import builtin_prompts, prompt_of, read_prompts
from specviz.trace.config import DraftSource, RunConfig, RunMode
from specviz.trace.validation import LARGEST_SEED


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What to run, and where the result goes.

    `demo`: the demo pair is used, and may still have to be prepared.
    """

    plan: SweepPlan
    script: Path | None
    demo: DemoPair | None
    csv: Path | None
    json: bool
    quiet: bool


def read_sweep(argv: Sequence[str], note: Note) -> SweepRequest:
    """The sweep that `argv` asks for. `note` is told what the user should know but not mend.

    Raises SettingError, FileError or PairError.
    """
    values = sweep_parser().parse_args(argv)
    is_demo = check_models(values)
    has_draft = values.draft is not None or values.engine is not None or is_demo
    methods = alternatives(values, has_draft)
    used = tuple(source for source in DraftSource if any(source in each for each in methods))
    drafting_options.take_old_names(values, used)
    for sentence in (*values.notes, *drafting_options.unused_options(values, used)):
        note(sentence)
    prompts = _prompts(values)
    axes = take_axes(values, methods)
    demo = demo_pair() if is_demo else None
    target, draft = model_paths(values, demo, used)
    plan = _plan(values, axes, used, prompts, target, draft, note)
    if values.csv is not None:
        make_folder(values.csv)
    if DraftSource.NGRAM_CACHE in used:
        check_caches(values)
    if demo is not None:
        # the target may still have to be made; what it is made from has the same blocks
        check_mtp(inspect_model(demo.source), used)
    elif values.engine is None:
        files = check_files(target, draft, used)
        plan = _plan(values, axes, used, prompts, *files, lambda _: None)
    return SweepRequest(
        plan=plan,
        script=values.engine,
        demo=demo,
        csv=values.csv,
        json=values.json,
        quiet=values.quiet,
    )


def _plan(
    values: argparse.Namespace,
    axes: Sequence[Axis],
    used: Collection[DraftSource],
    prompts: tuple[SweepPrompt, ...],
    target: Path,
    draft: Path | None,
    note: Note,
) -> SweepPlan:
    base = _base(values, used, prompts[0], target, draft)
    found = grid(base, axes)
    if not found.points:
        raise SettingError(
            found.dropped[0].reason, "" if len(found.dropped) == 1 else "So it is with all others."
        )
    for sentence in found.notes:
        note(sentence)
    plan = SweepPlan(base, prompts, found.points, values.repeat)
    problems = plan.problems()
    if problems:
        raise SettingError(problems[0], " ".join(problems[1:]))
    return plan


def _base(
    values: argparse.Namespace,
    used: Collection[DraftSource],
    prompt: SweepPrompt,
    target: Path,
    draft: Path | None,
) -> RunConfig:
    if values.seed is None:
        # drawn once, so that the plan is the same however often it is made
        values.seed = secrets.randbelow(LARGEST_SEED + 1)
    return options.run_config(
        values,
        RunMode.SPECULATIVE,
        options.load_config(values, target, draft),
        options.messages(values.system_prompt, prompt.text),
        tuple(used),
        values.seed,
    )


def _prompts(values: argparse.Namespace) -> tuple[SweepPrompt, ...]:
    if values.prompt is not None:
        return (prompt_of(values.prompt),)
    if values.file is not None:
        return (prompt_of(read_text(values.file), values.file.stem),)
    if values.prompts == BUILTIN:
        return builtin_prompts()
    return read_prompts(Path(values.prompts))
