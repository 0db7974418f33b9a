"""What the scripted engine answers when costs are to be measured, or a fork is to be looked at."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from specviz.engine.lossless_request import fork_of
from specviz.engine.script import Script
from specviz.trace.config import DraftSource
from specviz.trace.costs import CheckCost, DraftCost
from specviz.trace.lossless import BatchShape, LosslessCheck, ShapeMargin
from specviz.worker.protocol import CheckLossless

MODEL_SOURCES = (DraftSource.DRAFT_SIMPLE, DraftSource.DRAFT_MTP)


def script_costs(script: Script, n_rows: int) -> tuple[list[CheckCost], list[DraftCost]]:
    """The widths and lengths that the script's own rounds have, up to `n_rows` rows."""
    checks: dict[int, list[float]] = defaultdict(list)
    drafts: dict[int, list[float]] = defaultdict(list)
    if script.baseline_ids:
        checks[1] = [script.step_seconds]
    for played in script.rounds:
        n_draft = len(played.draft)
        if not 0 < n_draft < n_rows:
            continue
        checks[1 + n_draft].append(played.verify_seconds)
        if played.drafter in MODEL_SOURCES:
            drafts[n_draft].append(played.draft_seconds)
    return (
        [
            CheckCost(n_rows=width, seconds=median(seconds), n_samples=len(seconds))
            for width, seconds in sorted(checks.items())
        ],
        [
            DraftCost(n_tokens=length, seconds=median(seconds), n_samples=len(seconds))
            for length, seconds in sorted(drafts.items())
        ],
    )


def script_check(script: Script, command: CheckLossless) -> LosslessCheck:
    """The script knows the baseline's own margin at a fork, and can evaluate nothing anew."""
    fork = fork_of(command)
    if fork is None:
        return LosslessCheck()
    told = script.baseline_runners_up[fork.position : fork.position + 1]
    margins = tuple(
        ShapeMargin(shape=BatchShape.ONE_ROW, n_rows=1, margin=entry[1])
        for entry in told
        if entry is not None and entry[0] == fork.token_id
    )
    return LosslessCheck(fork=fork.position, margins=margins)
