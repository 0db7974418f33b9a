"""Faults of a speculative engine, planted into the real one: what a lossless check is there for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from specviz.engine.decode import DecodeLoop
from specviz.engine.drafting.draft_model import DraftModelDrafter
from specviz.engine.limits import StopMatch
from specviz.engine.llama.target import LlamaTarget
from specviz.engine.verify import Verdict


def _rejects(target: LlamaTarget, n_rows: int) -> bool:
    return len(target._batch) - target._n_known > n_rows


def _one_stays(keep: Any, target: LlamaTarget, n_rows: int) -> None:
    """The first rejected position stays in memory."""
    keep(target, n_rows + 1 if _rejects(target, n_rows) else n_rows)


def _one_too_many_goes(keep: Any, target: LlamaTarget, n_rows: int) -> None:
    """The last accepted position is removed with the rejected ones."""
    keep(target, n_rows - 1 if n_rows > 1 and _rejects(target, n_rows) else n_rows)


def _correction_dropped(
    commit: Any, loop: DecodeLoop, draft: Sequence[int], verdict: Verdict
) -> tuple[int, StopMatch | None]:
    """The recovered token never gets into the answer."""
    if verdict.target is not None and 0 < verdict.n_accepted < len(draft):
        verdict = replace(verdict, target=None)
    kept: tuple[int, StopMatch | None] = commit(loop, draft, verdict)
    return kept


def _stale_draft(
    catch_up: Any, drafter: DraftModelDrafter, history: Sequence[int], pending: int
) -> list[int]:
    """The draft's memory keeps what the target has rejected."""
    drafter._held = [*history]
    return [pending]


@dataclass(frozen=True, slots=True)
class Bug:
    """One method of the engine, and what it does wrong. `in_output`: the answer gets it too."""

    owner: type
    method: str
    instead: Callable[..., Any]
    in_output: bool = True

    def plant(self, monkeypatch: Any) -> None:
        """Have the engine do it wrong until the patch is undone."""
        genuine, instead = getattr(self.owner, self.method), self.instead
        monkeypatch.setattr(
            self.owner, self.method, lambda self_, *args: instead(genuine, self_, *args)
        )


BUGS = {
    "a rejected token stays": Bug(LlamaTarget, "keep", _one_stays),
    "an accepted token goes": Bug(LlamaTarget, "keep", _one_too_many_goes),
    "a correction is dropped": Bug(DecodeLoop, "_commit", _correction_dropped),
    "the draft is stale": Bug(DraftModelDrafter, "_catch_up", _stale_draft, in_output=False),
}
