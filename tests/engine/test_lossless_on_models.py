"""The lossless check on tiny models: healthy runs are confirmed, planted bugs are unexplained."""

from __future__ import annotations

import threading

import pytest
from support import tiny_gguf
from support.equality import (
    DRAFTINGS,
    MODELS,
    OPENING,
    Table,
    exact_load,
    raw_run,
    run,
    token_ids,
)
from support.planted_bugs import BUGS

from specviz.engine.llama.fresh import FreshMemory
from specviz.engine.llama_engine import LlamaEngine
from specviz.engine.model import Cancelled
from specviz.errors import SettingError
from specviz.trace.comparison import compare, first_divergence
from specviz.trace.config import RunMode, SpeculationConfig, Switch
from specviz.trace.events import StopReason
from specviz.trace.lossless import BatchShape, Divergence, finding
from specviz.worker.protocol import Checking, CheckLossless, LosslessChecked, RecordedStep
from specviz.worker.recorded import recorded_steps, token_at

pytestmark = pytest.mark.model

MAX_TOKENS = 80
CLASSES = ("llama", "qwen35", "mamba")
"""One for each way to forget: trim, snapshots, checkpoint."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    table = Table(tmp_path_factory.mktemp("lossless"), max_tokens=MAX_TOKENS, small=True)
    yield table
    table.close()


def checked(engine, trace, baseline=None, *, whole, cancelled=None, on_notice=None, steps=None):
    fork = first_divergence(baseline, trace) if baseline is not None else None
    notices = []

    def report(notice):
        notices.append(notice)
        if on_notice:
            on_notice(notice)

    command = CheckLossless(
        config=trace.started.config,
        steps=recorded_steps(trace) if steps is None else steps,
        fork=fork,
        baseline_id=token_at(baseline, fork) if fork is not None else None,
        whole=whole,
    )
    engine.check_lossless(command, report, cancelled or threading.Event())
    progress = [notice for notice in notices if isinstance(notice, Checking)]
    assert progress[0].n_done == 0 and progress[-1].n_done == progress[-1].n_total
    assert [notice.n_done for notice in progress] == sorted(notice.n_done for notice in progress)
    assert isinstance(notices[-1], LosslessChecked)
    return notices[-1].check


@pytest.mark.parametrize(
    ("name", "drafting"),
    [
        *((name, "noisy-long") for name in MODELS),
        *((name, "draft-simple") for name in CLASSES),
        *((name, "draft-simple-hybrid") for name in ("llama", "mamba")),
        ("qwen35", "draft-mtp-long"),
        ("qwen3next", "draft-mtp"),
    ],
)
def test_healthy_runs_are_confirmed_token_by_token(table, name, drafting):
    model, way = MODELS[name], DRAFTINGS[drafting]
    trace = table.speculative(model, way, "greedy")
    assert trace.counts.rejected > 10
    check = checked(table.engine, trace, table.baseline(model, "greedy"), whole=True)
    assert finding(check) is None
    assert (check.fork, check.mismatch, check.draft_mismatch) == (None, None, None)
    assert check.n_rechecked == MAX_TOKENS == len(trace.tokens)
    # a next-token block's drafts and those of n-grams are not asked for again
    assert check.n_drafts_rechecked == (trace.counts.tested if way.draft else 0)


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("name", CLASSES)
def test_planted_bugs_are_unexplained(table, name, bug, monkeypatch):
    model, way = MODELS[name], DRAFTINGS["draft-simple"]
    baseline = table.baseline(model, "greedy")
    BUGS[bug].plant(monkeypatch)
    trace = table.speculative(model, way, "greedy")
    monkeypatch.undo()
    assert (token_ids(trace) != token_ids(baseline)) == BUGS[bug].in_output
    whole = checked(table.engine, trace, baseline, whole=True)
    assert finding(whole) is Divergence.UNEXPLAINED
    assert (whole.mismatch is not None) == BUGS[bug].in_output
    assert (whole.draft_mismatch is not None) == (not BUGS[bug].in_output)
    if BUGS[bug].in_output:
        quick = checked(table.engine, trace, baseline, whole=False)
        assert finding(quick) is Divergence.UNEXPLAINED
        assert (quick.n_rechecked, quick.mismatch) == (0, None)
        shown = compare(baseline, trace, check=quick)
        assert shown.divergence is Divergence.UNEXPLAINED


def test_a_memory_that_only_says_it_forgot_is_caught(table, monkeypatch):
    trace = table.speculative(MODELS["llama"], DRAFTINGS["noisy"], "greedy")
    monkeypatch.setattr(FreshMemory, "n_past", property(lambda self: 7))
    with pytest.raises(Exception, match="7 positions"):
        checked(table.engine, trace, whole=True)


@pytest.fixture(scope="module")
def rounding(tmp_path_factory):
    """An engine with two models that round differently in wide passes: no flash attention."""
    folder = tmp_path_factory.mktemp("rounding")
    draft = tiny_gguf.write_llama(folder / "draft.gguf", mix=0.1, ascii_only=True, n_layers=1)
    engine = LlamaEngine(safe_mode=True)

    def pair(name, seed):
        file = MODELS[name].file(folder, seed=seed)
        load = exact_load(file, draft, n_batch=512, flash_attention=Switch.OFF)
        settings = {
            "prompt": OPENING,
            "max_tokens": 300,
            "speculation": SpeculationConfig(n_max=5),
        }
        runs = [run(engine, raw_run(mode, load, **settings)) for mode in RunMode]
        return engine, *runs

    yield pair
    engine.unload()


@pytest.mark.parametrize("name", ["llama", "qwen3moe", "qwen35"])
def test_genuine_near_ties_are_explained_and_the_run_is_confirmed(rounding, name):
    for seed in (0, 1, 2, 3):
        engine, baseline, trace = rounding(name, seed)
        if first_divergence(baseline, trace) is not None:
            break
    else:
        pytest.skip("this processor rounds alike in passes of any width")
    quick = checked(engine, trace, baseline, whole=False)
    whole = checked(engine, trace, baseline, whole=True)
    for check in (quick, whole):
        assert finding(check) is Divergence.NEAR_TIE
        assert {each.shape for each in check.margins} == set(BatchShape)
        assert all(abs(each.margin) < 1 for each in check.margins)
    assert whole.mismatch is None and whole.draft_mismatch is None
    assert whole.n_rechecked == len(trace.tokens)


def test_an_end_token_is_decided_anew_and_not_counted(tmp_path):
    table = Table(tmp_path, max_tokens=400, seed=1, small=True, eos_live=True)
    trace = table.baseline(MODELS["llama"], "greedy")
    assert trace.finished.reason is StopReason.END_OF_GENERATION
    check = checked(table.engine, trace, whole=True)
    assert check.n_rechecked == len(trace.tokens)
    assert check.mismatch is None
    # had it ended earlier, fresh memory would not confirm that
    steps, end = recorded_steps(trace), trace.steps[-1].end_token.token_id
    early = (*steps[:20], RecordedStep(draft=(), emitted=(end,)))
    check = checked(table.engine, trace, whole=True, steps=early)
    table.close()
    assert (check.mismatch.position, check.mismatch.recorded) == (20, end)
    assert check.n_rechecked == 20


def test_a_check_can_be_stopped_and_leaves_everything_in_order(table):
    model, way = MODELS["qwen35"], DRAFTINGS["draft-simple"]
    trace = table.speculative(model, way, "greedy")
    stop = threading.Event()

    def stop_at_forty(notice):
        if isinstance(notice, Checking) and notice.n_done > 40:
            stop.set()
            table.engine.abort()

    with pytest.raises(Cancelled):
        checked(table.engine, trace, whole=True, cancelled=stop, on_notice=stop_at_forty)
    again = table.speculative(model, way, "greedy")
    assert token_ids(again) == token_ids(trace)
    assert checked(table.engine, again, whole=True).n_rechecked == MAX_TOKENS


def test_memory_returns_after_a_check(table, monkeypatch):
    made, closed = [], []
    genuine = FreshMemory.close
    monkeypatch.setattr(
        FreshMemory, "close", lambda self: (closed.append(id(self)), genuine(self))[0]
    )
    monkeypatch.setattr(FreshMemory, "clear", lambda self: made.append(id(self)) or _clear(self))
    trace = table.speculative(MODELS["llama"], DRAFTINGS["draft-simple"], "greedy")
    checked(table.engine, trace, whole=True)
    assert set(made) <= set(closed) and closed
    assert table.engine._fresh is None


_clear = FreshMemory.clear


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((RecordedStep(draft=(), emitted=(10**6,)),), "tokens that this model does not have"),
        ((RecordedStep(draft=(-5,), emitted=(1,)),), "tokens that this model does not have"),
        ((RecordedStep(draft=(1,) * 200, emitted=(1,)),), "does not fit"),
        ((RecordedStep(draft=(), emitted=(1,)),) * 1200, "does not fit"),
    ],
)
def test_recordings_of_something_else_are_sentences(table, steps, words):
    trace = table.speculative(MODELS["llama"], DRAFTINGS["noisy"], "greedy")
    with pytest.raises(SettingError, match=words):
        checked(table.engine, trace, whole=True, steps=steps)
