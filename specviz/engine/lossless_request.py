"""What a lossless check is asked for, and whether it makes sense. Pure.

The recorded steps may come from a file, so they are untrusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.errors import SettingError
from specviz.worker.protocol import CheckLossless, RecordedStep

AGAIN = "Run it again and check that run."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """The first differing token: `row` of step `step` decided it, at `position` of the output."""

    position: int
    step: int
    row: int
    token_id: int
    baseline_id: int


def fork_of(command: CheckLossless) -> Fork | None:
    """Where the two runs part, None where they do not; raises SettingError for nonsense."""
    if command.config.sampling.temperature > 0:
        raise SettingError(
            "Only greedy output can be checked token by token.",
            "Set the temperature to 0 and run again.",
        )
    check_steps(command.steps)
    if command.fork is None:
        return None
    before = 0
    for index, step in enumerate(command.steps):
        row = command.fork - before
        if 0 <= row < len(step.emitted):
            if command.baseline_id is None or command.baseline_id == step.emitted[row]:
                break
            return Fork(
                position=command.fork,
                step=index,
                row=row,
                token_id=step.emitted[row],
                baseline_id=command.baseline_id,
            )
        before += len(step.emitted)
    raise SettingError(f"The runs do not part at token {command.fork}.", AGAIN)


def check_steps(steps: Sequence[RecordedStep]) -> None:
    """Raise SettingError for steps that cannot have happened."""
    for index, step in enumerate(steps):
        accepted = step.emitted[:-1]
        if len(step.emitted) > len(step.draft) + 1 or accepted != step.draft[: len(accepted)]:
            raise SettingError(f"The recorded step {index} contradicts itself.", AGAIN)
