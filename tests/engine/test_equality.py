"""Every way to draft on every class of model gives exactly the baseline's tokens.

And their very probabilities and margins, bit for bit, in the configuration of support/equality.py.
tests/benchmarks/equality_table.py prints the same with longer runs and several seeds.
"""

from __future__ import annotations

import pytest
from support.equality import DRAFTINGS, LONG, MODELS, Table, cells, compare

from specviz.engine.llama.context import Context
from specviz.engine.llama.target import LlamaTarget
from specviz.engine.rollback import Rollback
from specviz.trace.events import StopReason

pytestmark = pytest.mark.model

MAX_TOKENS = 60
SHORT_TABLE = ("greedy", "seeded")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    table = Table(tmp_path_factory.mktemp("equality"), max_tokens=MAX_TOKENS, small=True)
    yield table
    table.close()


@pytest.mark.parametrize("sampling", SHORT_TABLE)
@pytest.mark.parametrize(
    ("model", "drafting"),
    [pytest.param(*cell, id=f"{cell[0].name}-{cell[1].name}") for cell in cells()],
)
def test_the_speculative_run_is_its_baseline(table, model, drafting, sampling):
    outcome = table.outcome(model, drafting, sampling)
    assert outcome.difference is None
    assert outcome.n_tokens == MAX_TOKENS
    if drafting.noise:
        assert outcome.n_partial >= 2
        assert outcome.longest_draft > drafting.noise // 2


# Without rejections nothing would have been forgotten, and equality would prove nothing. Where a
# random model is sure of itself for a while a single cell can do without; rows and columns cannot.


def n_partial(table, models, draftings):
    return sum(
        table.outcome(model, drafting, sampling).n_partial
        for model, drafting in cells()
        for sampling in SHORT_TABLE
        if model in models and drafting in draftings
    )


@pytest.mark.parametrize("drafting", DRAFTINGS.values(), ids=list(DRAFTINGS))
def test_each_way_to_draft_was_partly_wrong_many_times(table, drafting):
    assert n_partial(table, MODELS.values(), [drafting]) >= 20


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_each_model_had_to_forget_many_times(table, model):
    natural = [drafting for drafting in DRAFTINGS.values() if not drafting.noise]
    assert n_partial(table, [model], natural) >= 15


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_each_model_forgets_in_the_way_of_its_class(table, model):
    started = table.speculative(model, DRAFTINGS["noisy"], "greedy").started
    assert started.effective["rollback"] == model.rollback
    assert (started.effective["n_rs_seq"] > 0) == (model.rollback == "snapshots")


@pytest.mark.parametrize("sampling", SHORT_TABLE)
@pytest.mark.parametrize("name", ["llama", "gemma3", "qwen35", "qwen3next", "mamba"])
def test_texts_that_fill_the_context_end_alike(tmp_path, name, sampling):
    table = Table(tmp_path, max_tokens=-1, n_ctx=512, small=True)
    outcome = table.outcome(MODELS[name], DRAFTINGS["noisy-long"], sampling)
    baseline = table.baseline(MODELS[name], sampling)
    table.close()
    assert outcome.difference is None
    assert baseline.finished.reason is StopReason.CONTEXT_FULL
    assert outcome.n_partial > 0


@pytest.mark.parametrize("name", ["llama", "qwen35", "qwen3next", "mamba"])
def test_texts_that_the_model_ends_end_alike(tmp_path, name):
    for seed in range(8):
        table = Table(tmp_path, max_tokens=160, seed=seed, eos_live=True)
        baseline = table.baseline(MODELS[name], "seeded")
        if baseline.finished.reason is StopReason.END_OF_GENERATION:
            break
    assert baseline.finished.reason is StopReason.END_OF_GENERATION
    for drafting in ("draft-simple", "noisy-long"):
        assert table.outcome(MODELS[name], DRAFTINGS[drafting], "seeded").difference is None
    table.close()


# Proof that these tests can fail: one single call is left out or spoiled. -------------------------


class Fault:
    """Spoils the first call of a method that meets a condition, in one run of the table."""

    def __init__(self, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
        self._table = table
        self._monkeypatch = monkeypatch
        self._happened = False

    def is_noticed(self, name, owner, method, when, instead) -> bool:
        model, drafting = MODELS[name], DRAFTINGS["noisy-long"]
        baseline = self._table.baseline(model, "greedy")
        genuine = getattr(owner, method)

        def spoiled(self_, *args):
            if self._happened or not when(self_, *args):
                return genuine(self_, *args)
            self._happened = True
            return instead(genuine, self_, *args)

        self._monkeypatch.setattr(owner, method, spoiled)
        speculative = self._table.speculative(model, drafting, "greedy")
        assert self._happened
        return compare(baseline, speculative).difference is not None


@pytest.fixture
def fault(table, monkeypatch):
    return Fault(table, monkeypatch)


def rejects(target, n_rows):
    return len(target._batch) - target._n_known > n_rows


@pytest.mark.parametrize("name", list(MODELS))
def test_a_rejected_token_that_stays_is_noticed(fault, name):
    def keep_one_more(keep, target, n_rows):
        keep(target, n_rows + 1)

    assert fault.is_noticed(name, LlamaTarget, "keep", rejects, keep_one_more)


@pytest.mark.parametrize("name", ["llama", "gemma3", "qwen3moe", "qwen35", "nemotron_h"])
def test_a_removal_that_is_left_out_is_noticed(fault, name):
    def within_a_check(context, n_past):
        most = LONG if context.rollback is Rollback.TRIM else context._n_removable
        return 0 < context.n_past - n_past <= most

    assert fault.is_noticed(name, Context, "forget", within_a_check, lambda *_: True)


@pytest.mark.parametrize("name", ["qwen35", "lfm2", "qwen3next", "falcon-h1", "mamba", "rwkv7"])
def test_a_restore_that_is_left_out_is_noticed(fault, name):
    assert fault.is_noticed(name, Context, "restore", lambda *_: True, lambda *_: None)


@pytest.mark.parametrize("name", ["qwen3next", "mamba"])
def test_a_backlog_that_is_lost_is_noticed(fault, name):
    def lose(keep, target, n_rows):
        keep(target, n_rows)
        target._backlog = []

    assert fault.is_noticed(name, LlamaTarget, "keep", rejects, lose)
