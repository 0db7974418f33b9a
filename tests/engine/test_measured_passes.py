"""Measuring costs on tiny models: every width and length, and nothing of it left behind."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.equality import DRAFTINGS, MODELS, Table, scores, token_ids

from specviz.engine.cost_measurement import measured_sizes
from specviz.engine.llama.context import MIN_OUTPUTS, Context
from specviz.engine.measured_passes import passage
from specviz.engine.model import Cancelled
from specviz.errors import SettingError
from specviz.trace.config import Role
from specviz.worker.protocol import CostMeasured, MeasureCosts, Prefilling

MAX_TOKENS = 40


@given(
    n_text=st.integers(1, 300), n_rows=st.integers(1, 80), n_ctx=st.sampled_from([96, 256, 1024])
)
def test_the_rows_are_the_text_behind_what_is_held(n_text, n_rows, n_ctx):
    text = [*range(n_text)]
    found = passage(text, n_rows, n_ctx)
    assert len(found.rows) == n_rows
    assert len(found.held) >= 1 and len(found.held) + n_rows <= max(n_ctx, n_rows + 1)
    assert found.held == text[: len(found.held)]
    n_real = min(n_rows, min(n_text, n_ctx) - len(found.held))
    assert found.rows[:n_real] == text[len(found.held) : len(found.held) + n_real]


def test_rows_that_do_not_fit_are_a_sentence():
    for n_rows in (0, 64, 100):
        with pytest.raises(SettingError, match="cannot be measured in a context of 64"):
            passage([1, 2, 3], n_rows, 64)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    table = Table(tmp_path_factory.mktemp("costs"), max_tokens=MAX_TOKENS, small=True)
    yield table
    table.close()


def measured(engine, config, n_rows, *, cancelled=None, on_notice=None, **asked):
    notices = []

    def report(notice):
        notices.append(notice)
        if on_notice:
            on_notice(notice)

    command = MeasureCosts(config=config, n_rows=n_rows, **asked)
    engine.measure_costs(command, report, cancelled or threading.Event())
    return [notice for notice in notices if isinstance(notice, CostMeasured)]


pairs = [
    ("llama", "draft-simple"),
    ("llama", "draft-simple-hybrid"),
    ("qwen3moe", "draft-simple"),
    ("qwen35", "draft-simple"),
    ("qwen35", "draft-mtp"),
    ("mamba", "draft-simple-hybrid"),
]


@pytest.mark.model
@pytest.mark.parametrize(("name", "drafting"), pairs)
def test_every_width_and_length_has_a_cost_and_the_next_run_is_the_same(table, name, drafting):
    model, way = MODELS[name], DRAFTINGS[drafting]
    before = table.speculative(model, way, "greedy")
    n_rows = 12
    notices = measured(table.engine, before.started.config, n_rows)
    checks = [notice.check for notice in notices if notice.check]
    drafts = [notice.draft for notice in notices if notice.draft]
    assert [cost.n_rows for cost in checks] == measured_sizes(n_rows)
    assert [cost.n_tokens for cost in drafts] == measured_sizes(n_rows - 1)
    assert all(cost.seconds > 0 and cost.n_samples >= 2 for cost in (*checks, *drafts))
    assert notices[-1].n_done == notices[-1].n_total
    after = table.speculative(model, way, "greedy")
    assert token_ids(after) == token_ids(before)
    assert scores(after) == scores(before)
    target = after.prefilled[Role.TARGET]
    # nothing of what was measured is taken for the prompt
    assert (target.n_reused, target.n_tokens) == (0, after.started.n_prompt - 1)


@pytest.mark.model
def test_n_grams_take_no_passes_of_a_model(table):
    trace = table.speculative(MODELS["llama"], DRAFTINGS["ngram-mod"], "greedy")
    notices = measured(table.engine, trace.started.config, 3)
    assert [notice.check.n_rows for notice in notices if notice.check] == [1, 2, 3]
    assert not [notice for notice in notices if notice.draft]


@pytest.mark.model
def test_wider_checks_than_prepared_for_get_a_context_that_holds_them(table):
    trace = table.speculative(MODELS["llama"], DRAFTINGS["draft-simple"], "greedy")
    notices = measured(table.engine, trace.started.config, MIN_OUTPUTS + 8)
    assert max(n.check.n_rows for n in notices if n.check) == MIN_OUTPUTS + 8


@pytest.mark.model
@pytest.mark.parametrize("name", ["llama", "mamba"])
def test_the_rows_follow_the_text_and_are_forgotten_each_time(table, name, monkeypatch):
    trace = table.speculative(MODELS[name], DRAFTINGS["ngram-mod"], "greedy")
    text = tuple(range(30, 100))
    seen = set()
    genuine = Context.decode

    def watched(context, token_ids, *, n_outputs):
        if n_outputs:
            seen.add((tuple(context.held), tuple(token_ids)))
        return genuine(context, token_ids, n_outputs=n_outputs)

    monkeypatch.setattr(Context, "decode", watched)
    measured(table.engine, trace.started.config, 6, token_ids=text)
    assert seen == {(text[:64], text[64 : 64 + width]) for width in range(1, 7)}


@pytest.mark.model
def test_it_can_be_stopped_and_the_next_run_works(table):
    model, way = MODELS["qwen35"], DRAFTINGS["draft-simple"]
    before = table.speculative(model, way, "greedy")
    for kind, after in ((Prefilling, 1), (CostMeasured, 5)):
        stop, left = threading.Event(), [after]

        def count(notice, kind=kind, stop=stop, left=left):
            left[0] -= isinstance(notice, kind)
            if left[0] == 0:
                stop.set()
                table.engine.abort()

        with pytest.raises(Cancelled):
            config = before.started.config
            measured(table.engine, config, 8, cancelled=stop, on_notice=count)
        again = table.speculative(model, way, "greedy")
        assert scores(again) == scores(before)


@pytest.mark.model
def test_texts_of_another_model_are_refused(table):
    trace = table.speculative(MODELS["llama"], DRAFTINGS["ngram-mod"], "greedy")
    for token_id in (-1, 10**6):
        with pytest.raises(SettingError, match="does not have"):
            measured(table.engine, trace.started.config, 3, token_ids=(1, 2, token_id))
