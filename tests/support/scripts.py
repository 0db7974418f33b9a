"""Scripts for the scripted engine, built from a few words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specviz.trace.config import (
    LoadConfig,
    Message,
    ModelSpec,
    RunConfig,
    RunMode,
)

WORDS = ["Hello", " world", ",", " this", " is", " a", " script", ".", " And", " more"]
PIECES = {str(10 + i): word for i, word in enumerate(WORDS)}
IDS = [int(key) for key in PIECES]


def simple_script(**changes: Any) -> dict[str, Any]:
    """Twenty tokens in seven rounds: two draft tokens accepted, one corrected; the last a bonus."""
    ids = [IDS[i % len(IDS)] for i in range(20)]
    rounds = []
    position = 0
    while position < len(ids):
        left = ids[position : position + 3]
        draft = [[token_id, 0.9, 0.8] for token_id in left[:-1]]
        round_: dict[str, Any] = {
            "draft": draft,
            "accepted": len(draft),
            "target": [left[-1], 0.7],
        }
        if len(left) == 3:
            wrong = IDS[(IDS.index(left[2]) + 1) % len(IDS)]
            draft.append([wrong, 0.4, 0.1])
        rounds.append(
            {**round_, "draft_seconds": 0.003, "verify_seconds": 0.02, "sample_seconds": 0.001}
        )
        position += len(left)
    return {
        "schema": "specviz.script/1",
        "pieces": PIECES,
        "end_tokens": [2],
        "prompt_tokens": 12,
        "prefill_seconds": 0.1,
        "pace": "instant",
        "baseline": {"token_ids": ids, "step_seconds": 0.015},
        "rounds": rounds,
        **changes,
    }


def write_script(path: Path, script: dict[str, Any] | None = None, **changes: Any) -> Path:
    """Write a script; `changes` go on top of `simple_script`."""
    path.write_text(json.dumps(script or simple_script(**changes)), encoding="utf-8")
    return path


def run_config(mode: RunMode = RunMode.SPECULATIVE, **changes: Any) -> RunConfig:
    """A run for the scripted engine; its model path is not looked at."""
    return RunConfig(
        **{
            "mode": mode,
            "load": LoadConfig(target=ModelSpec(path="scripted")),
            "messages": (Message(role="user", text="Go"),),
            **changes,
        }
    )
