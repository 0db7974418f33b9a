"""Measuring costs and checking outputs: what is asked of the engine, what is kept, and why not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.traces import TraceBuilder, baseline_of, explanation, run_config

from specviz.errors import EngineError
from specviz.trace.comparison import compare
from specviz.trace.config import DraftSource, ModelSpec, Role, RunMode, SpeculationConfig
from specviz.trace.costs import CheckCost, DraftCost
from specviz.trace.lossless import LosslessCheck
from specviz.ui.break_even_measuring import CostMeasuring, rows_to_measure, text_to_measure_with
from specviz.ui.lossless_checking import LosslessChecking, wants_a_look, why_not_check
from specviz.ui.lossless_words import DRAWN
from specviz.worker.protocol import Checking, CostMeasured, Done, LosslessChecked


class Engine:
    """Answers what it was given, and remembers what it was asked."""

    def __init__(self, *answers, error=None):
        self.answers, self.error = answers, error
        self.asked = []
        self.safe_mode = False

    async def _stream(self):
        for answer in self.answers:
            yield answer
        if self.error is not None:
            raise self.error

    def measure_costs(self, config, n_rows, token_ids=()):
        self.asked.append((config, n_rows, tuple(token_ids)))
        return self._stream()

    def check_lossless(self, config, steps, **more):
        self.asked.append((config, steps, more))
        return self._stream()


def check_cost(n_rows, seconds=0.05):
    return CheckCost(n_rows=n_rows, seconds=seconds, n_samples=5)


def measured(*widths, draft=None, seconds=0.05):
    found = [
        CostMeasured(check=check_cost(n, seconds), n_done=i + 1, n_total=len(widths))
        for i, n in enumerate(widths)
    ]
    if draft:
        cost = DraftCost(n_tokens=draft, seconds=0.02, n_samples=5)
        found.append(CostMeasured(draft=cost, n_done=len(widths), n_total=len(widths)))
    return found


def measure(measuring, config, newest=None):
    heard = []
    done = asyncio.run(measuring.measure(config, newest, heard.append))
    return done, heard


# Costs -------------------------------------------------------------------------------------------
def test_what_was_measured_is_kept_with_what_it_is_true_of():
    measuring = CostMeasuring(Engine(*measured(1, 2, 4, draft=3)))
    config = run_config()
    done, heard = measure(measuring, config)
    assert done and len(heard) == 4
    assert [each.n_rows for each in measuring.measured.checks] == [1, 2, 4]
    assert [each.n_tokens for each in measuring.measured.drafts] == [3]
    assert measuring.measured.load == config.load


def test_what_came_before_a_cancellation_or_a_fault_is_kept():
    measuring = CostMeasuring(Engine(*measured(1, 2), Done(cancelled=True)))
    assert measure(measuring, run_config())[0] is False
    assert [each.n_rows for each in measuring.measured.checks] == [1, 2]
    broken = CostMeasuring(Engine(*measured(1), error=EngineError("It broke.", "")))
    with pytest.raises(EngineError):
        measure(broken, run_config())
    assert [each.n_rows for each in broken.measured.checks] == [1]


def test_a_second_measurement_adds_to_the_first_and_replaces_its_widths():
    engine = Engine(*measured(1, 2, 4))
    measuring = CostMeasuring(engine)
    measure(measuring, run_config())
    engine.answers = measured(2, 8, seconds=0.07)
    measure(measuring, run_config())
    found = {each.n_rows: each.seconds for each in measuring.measured.checks}
    assert found == {1: 0.05, 2: 0.07, 4: 0.05, 8: 0.07}


@pytest.mark.parametrize(
    "change",
    [
        lambda load: replace(load, n_ctx=8192),
        lambda load: replace(load, repack=False),
        lambda load: replace(load, target=ModelSpec(path="other.gguf")),
        lambda load: replace(load, target=replace(load.target, n_threads=3)),
        lambda load: replace(load, target=replace(load.target, type_k="q8_0")),
    ],
)
def test_other_models_or_settings_discard_the_costs(change):
    measuring = CostMeasuring(Engine(*measured(1, 2, draft=2)))
    load = run_config().load
    measure(measuring, run_config())
    assert not measuring.keep_what_is_true_of(load)
    assert measuring.keep_what_is_true_of(change(load))
    assert measuring.measured is None
    assert not measuring.keep_what_is_true_of(load)


def test_another_draft_discards_the_drafts_alone_and_none_discards_nothing():
    measuring = CostMeasuring(Engine(*measured(1, 2, draft=2)))
    load = run_config().load
    measure(measuring, run_config())
    assert not measuring.keep_what_is_true_of(replace(load, draft=None))
    assert measuring.measured.drafts
    assert measuring.keep_what_is_true_of(replace(load, draft=ModelSpec(path="other.gguf")))
    assert measuring.measured.checks and not measuring.measured.drafts


def test_safe_mode_makes_the_costs_others():
    engine = Engine(*measured(1, 2))
    measuring = CostMeasuring(engine)
    measure(measuring, run_config())
    engine.safe_mode = True
    assert measuring.keep_what_is_true_of(run_config().load)
    assert measuring.measured is None


def test_as_many_rows_as_settings_and_what_if_may_ask_for():
    config = run_config(n_max=4)
    assert rows_to_measure(config) == 17
    assert rows_to_measure(run_config(n_max=24)) == 25
    huge = replace(config, speculation=SpeculationConfig(n_max=500))
    assert rows_to_measure(huge) == 65
    assert rows_to_measure(run_config(sources=[DraftSource.NGRAM_MOD])) == 17


def test_the_text_is_the_answer_where_it_is_longer_than_the_prompt():
    trace = explanation().trace
    config = trace.started.config
    assert text_to_measure_with(config, trace) == tuple(t.token_id for t in trace.tokens)
    short = TraceBuilder(n_prompt=500).plain(" a", " b").finish()
    assert text_to_measure_with(config, short) == ()
    assert text_to_measure_with(config, None) == ()
    elsewhere = replace(config, load=replace(config.load, target=ModelSpec(path="other.gguf")))
    assert text_to_measure_with(elsewhere, trace) == (), "ids of another model mean nothing"


# Outputs -----------------------------------------------------------------------------------------
def forked():
    trace = explanation().trace
    other = TraceBuilder(run_config(RunMode.BASELINE), run_id="run-0")
    other.plain(*(token.piece for token in trace.tokens[:7]), " elsewhere", " then")
    return other.finish(), trace


def check(checking, baseline, speculative, fork, whole=True):
    heard = []
    done = asyncio.run(checking.check(baseline, speculative, fork, heard.append, whole))
    return done, heard


def test_a_check_asks_for_the_fork_and_is_kept_for_its_run():
    baseline, trace = forked()
    shown = LosslessCheck(fork=7, n_rechecked=12)
    engine = Engine(Checking(n_done=3, n_total=12), LosslessChecked(check=shown))
    checking = LosslessChecking(engine)
    done, heard = check(checking, baseline, trace, 7)
    assert done and heard == [Checking(n_done=3, n_total=12)]
    config, steps, more = engine.asked[0]
    assert config == trace.started.config and len(steps) == len(trace.steps)
    assert more == {"fork": 7, "baseline_id": baseline.tokens[7].token_id, "whole": True}
    assert checking.known(trace) is shown
    assert checking.known(explanation().trace) is None and checking.known(None) is None


def test_a_check_that_was_stopped_leaves_nothing():
    baseline, trace = forked()
    checking = LosslessChecking(Engine(Checking(n_done=1, n_total=9), Done(cancelled=True)))
    assert check(checking, baseline, trace, 7)[0] is False
    assert checking.known(trace) is None


def test_a_run_without_its_baseline_is_checked_without_a_fork():
    _, trace = forked()
    engine = Engine(LosslessChecked(check=LosslessCheck(n_rechecked=5)))
    check(LosslessChecking(engine), None, trace, None)
    assert engine.asked[0][2] == {"fork": None, "baseline_id": None, "whole": True}


def test_only_forks_between_greedy_runs_are_looked_at_unasked():
    baseline, trace = forked()
    assert wants_a_look(trace, compare(baseline, trace))
    assert not wants_a_look(trace, compare(baseline_of(trace), trace))
    assert not wants_a_look(trace, None) and not wants_a_look(None, None)
    warm = TraceBuilder(run_config(temperature=0.8)).step([" a"], 1, " b").finish()
    assert not wants_a_look(warm, compare(baseline, warm))


def slots(**paths):
    return SimpleNamespace(
        files={Role(role): SimpleNamespace(path=path) for role, path in paths.items()}
    )


def test_why_a_run_cannot_be_checked():
    trace = explanation().trace
    load = trace.started.config.load
    both = slots(target=load.target.path, draft=load.draft.path)
    assert why_not_check(trace, both, None) == ""
    assert why_not_check(None, both, None) == "There is no run with drafts to check."
    assert why_not_check(trace, slots(), None).startswith("The target of this run is not")
    assert why_not_check(trace, slots(target=load.target.path, draft="x"), None).startswith(
        "The draft of this run is not"
    )
    warm = TraceBuilder(run_config(temperature=0.8)).step([" a"], 1, " b").finish()
    assert why_not_check(warm, both, None) == DRAWN
    assert why_not_check(trace, slots(), Path("script.json")) != ""
