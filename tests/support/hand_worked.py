"""What a hand-worked run consists of: a script to play, and every figure that must come of it.

The figures are written down by a person (support/hand_worked_runs.py); nothing here computes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

FIRST_ID = 1000
WRONG_ID = 900
"""What a draft proposes behind its first mismatch; it is never in an answer."""

THIN = "\u202f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A round in words: so many drafted, so many of them accepted; times in seconds.

    `copied`: ngram-mod has drafted, from the beginning of the prompt on.
    """

    drafted: int = 0
    accepted: int = 0
    dropped: int = 0
    copied: bool = False
    draft: float = 0.0
    verify: float = 0.01
    sample: float = 0.0
    save: float = 0.0
    restore: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the window must show, letter by letter.

    `verdict`: texts that must be in it. `legend`: its counts by their words. `positions`: what is
    told of each position. `time`: the labels of the slices. `sources`: the cells of the table's
    rows without the time per call.
    """

    headline: str
    verdict: tuple[str, ...] = ()
    legend: dict[str, int]
    positions: tuple[str, ...]
    positions_foot: str
    lengths_foot: str
    time: tuple[str, ...]
    time_foot: str
    sources: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A situation: what is played, and the figures of its runs under the names of the summary."""

    name: str
    script: dict[str, Any]
    max_tokens: int = 512
    n_min: int = 0
    stop: tuple[str, ...] = ()
    baseline: dict[str, Any]
    speculative: dict[str, Any]
    comparison: dict[str, Any]
    shown: Shown
    reasons: tuple[str, ...] = field(default=())
    """Texts that must be among the reasons."""


def script_of(
    rounds: Sequence[Round],
    *,
    step_seconds: float,
    pieces: Sequence[str] = (),
    changes: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A script whose baseline says the words one after the other, and whose rounds lead to the
    same words. `pieces` are the words; where there are too few, made-up ones follow."""
    n = sum(each.accepted + 1 for each in rounds)
    words = [*pieces, *(f" w{i}" for i in range(len(pieces), n))][:n]
    ids = [FIRST_ID + words.index(word) for word in words]
    played, at = [], 0
    for each in rounds:
        right = ids[at : at + each.accepted]
        wrong = [WRONG_ID] * (each.drafted - each.accepted)
        played.append(
            {
                "draft": [[token_id, 0.5, 0.5] for token_id in (*right, *wrong)],
                "accepted": each.accepted,
                "target": [ids[at + each.accepted], 0.5],
                "dropped": each.dropped,
                "drafter": "ngram-mod" if each.copied else "draft-simple",
                "copied_from": list(range(each.drafted)) if each.copied else [],
                "draft_seconds": each.draft,
                "verify_seconds": each.verify,
                "sample_seconds": each.sample,
                "save_seconds": each.save,
                "restore_seconds": each.restore,
            }
        )
        at += each.accepted + 1
    return {
        "schema": "specviz.script/1",
        "pieces": {str(FIRST_ID + i): word for i, word in enumerate(words)} | {str(WRONG_ID): " x"},
        "end_tokens": [2],
        "prompt_tokens": 12,
        "prefill_seconds": 0.1,
        "pace": "instant",
        "baseline": {"token_ids": ids, "step_seconds": step_seconds},
        "rounds": played,
        **(changes or {}),
    }
