"""What a lossless check may be asked for.

Recorded steps may come from a file, and are not trusted.
"""

from __future__ import annotations

import pytest
from support.scripts import run_config

from specviz.engine.lossless_request import Fork, fork_of
from specviz.errors import SettingError
from specviz.trace.config import SamplingConfig
from specviz.worker.protocol import CheckLossless, RecordedStep

STEPS = (
    RecordedStep(draft=(1, 2, 3), emitted=(1, 2, 9)),
    RecordedStep(draft=(), emitted=(4,)),
    RecordedStep(draft=(5, 6), emitted=(5, 6, 7)),
)


def command(steps=STEPS, sampling=None, **asked):
    config = run_config(sampling=sampling or SamplingConfig())
    return CheckLossless(config=config, steps=steps, **asked)


def test_the_step_and_row_that_decided_the_fork():
    assert fork_of(command(fork=5, baseline_id=8)) == Fork(
        position=5, step=2, row=1, token_id=6, baseline_id=8
    )
    assert fork_of(command(fork=0, baseline_id=8)).row == 0
    assert fork_of(command()) is None


@pytest.mark.parametrize("asked", [{"fork": 7, "baseline_id": 1}, {"fork": -1, "baseline_id": 1}])
def test_a_fork_outside_the_run_is_a_sentence(asked):
    with pytest.raises(SettingError, match="do not part at token"):
        fork_of(command(**asked))


def test_a_fork_without_another_token_is_none():
    for baseline_id in (None, 2):
        with pytest.raises(SettingError, match="do not part at token 1"):
            fork_of(command(fork=1, baseline_id=baseline_id))


def test_drawn_tokens_cannot_be_checked_one_by_one():
    with pytest.raises(SettingError, match="Only greedy output") as caught:
        fork_of(command(sampling=SamplingConfig(temperature=0.8)))
    assert "temperature to 0" in caught.value.hint


@pytest.mark.parametrize(
    "step",
    [
        RecordedStep(draft=(1, 2), emitted=(1, 3, 4)),
        RecordedStep(draft=(1,), emitted=(1, 2, 3)),
        RecordedStep(draft=(), emitted=(1, 2)),
    ],
)
def test_steps_that_cannot_have_happened_are_refused(step):
    with pytest.raises(SettingError, match="step 0 contradicts itself"):
        fork_of(command(steps=(step,)))
