"""The summary that scripts rely on: every field of `specviz.summary/1`."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.random_runs import folded, runs
from support.traces import TraceBuilder, baseline_of, explanation, run_config, token_id_of

from specviz.trace import codec
from specviz.trace.comparison import compare
from specviz.trace.config import DraftSource, RunMode
from specviz.trace.events import RunEvent
from specviz.trace.lossless import LosslessCheck, Mismatch
from specviz.trace.summary import comparison_summary, pair_of, run_summary, summary
from specviz.trace.trace import Trace

RUN_FIELDS = {
    "run_id", "mode", "spec_type", "effective", "stop_reason", "committed", "steps", "drafted",
    "tested", "accepted", "rejected", "dropped", "recovered", "bonus", "sampled",
    "acceptance_rate", "mean_accepted_length", "tau", "accepted_by_position", "tested_by_position",
    "drafted_lengths", "accepted_lengths", "dropped_drafts", "settings", "differences",
    "reasoning_tokens",
    "prefill_tokens", "reused_tokens", "prefill_seconds", "time_to_first_token_seconds",
    "decode_seconds", "tokens_per_second", "time", "sources", "text", "token_ids",
}  # fmt: skip


def test_all_fields_are_there() -> None:
    trace = explanation().trace
    values = summary([baseline_of(trace), trace])
    assert set(values) == {
        "schema", "specviz_version", "engine", "target", "draft", "prompt_tokens", "runs",
        "comparison",
    }  # fmt: skip
    assert values["schema"] == "specviz.summary/1"
    assert set(values["engine"]) == {
        "llama_cpp_python", "llama_cpp", "system_info", "safe_mode",
    }  # fmt: skip
    assert set(values["target"]) == set(values["draft"]) == {
        "path", "name", "architecture", "quantisation", "n_params", "n_vocab", "n_ctx_train",
        "file_size",
    }  # fmt: skip
    assert [set(run) for run in values["runs"]] == [RUN_FIELDS] * 2
    assert set(values["runs"][0]["time"]) == {
        "draft_seconds", "verify_seconds", "sample_seconds", "restore_seconds", "other_seconds",
    }  # fmt: skip
    assert set(values["comparison"]) == {
        "speedup", "speedup_spread", "repeats", "identical", "compared", "first_divergence",
        "divergence", "fork", "check", "verdict", "reasons",
    }  # fmt: skip


def test_a_fork_and_a_check_are_told_in_full() -> None:
    base = TraceBuilder(run_config(RunMode.BASELINE), run_id="base").plain("x")
    base.step(target="a", runner_up=("b", 0.03)).plain("z")
    spec = TraceBuilder().plain("x", "b").finish()
    pair = base.finish(), spec
    fork = comparison_summary(compare(*pair))["fork"]
    assert fork == {
        "position": 1,
        "baseline": {"token_id": token_id_of("a"), "text": "a"},
        "speculative": {"token_id": token_id_of("b"), "text": "b"},
        "margins": [{"shape": "one_row", "n_rows": 1, "margin": 0.03}],
        "checked": False,
        "finding": "The output is identical for one token; then a near-tie (margin 0.03 logits), "
        "“b” in place of “a”: rounding, not an error.",
    }
    fault = Mismatch(position=1, recorded=2, found=3, margin=4.0)
    values = comparison_summary(
        compare(*pair, LosslessCheck(n_rechecked=2, n_drafts_rechecked=1, mismatch=fault))
    )
    assert values["divergence"] == "unexplained"
    assert values["check"] == {
        "rechecked": 2,
        "mismatch": {"position": 1, "recorded": 2, "found": 3, "margin": 4.0},
        "drafts_rechecked": 1,
        "draft_mismatch": None,
        "finding": "After one token fresh memory gives another token, id 3 in place of 2, by 4.00 "
        "logits: not explained by rounding.",
    }
    ended = TraceBuilder().plain("x").finish()
    values = comparison_summary(compare(pair[0], ended))
    assert values["fork"]["speculative"] == {"token_id": None, "text": None}
    codec.dumps(values)


SOURCE_FIELDS = {
    "source", "begin_calls", "draft_calls", "accept_calls", "drafts", "accepted_drafts", "drafted",
    "tested", "accepted", "dropped", "accepted_by_position", "tested_by_position",
    "mean_accepted_length",
    "begin_seconds", "draft_seconds", "accept_seconds",
}  # fmt: skip


def test_each_source_has_its_fields_and_they_add_up_to_the_run() -> None:
    config = run_config(sources=[DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_MOD])
    builder = TraceBuilder(config)
    builder.step(["a", "b"], 1, "x", drafter=DraftSource.NGRAM_MOD, n_dropped=3)
    builder.step(["c"], 1, "y", drafter=DraftSource.DRAFT_SIMPLE).plain("z")
    run = run_summary(builder.finish())
    assert [set(source) for source in run["sources"]] == [SOURCE_FIELDS] * 2
    assert [source["source"] for source in run["sources"]] == ["ngram-mod", "draft-simple"]
    for name in ("drafted", "tested", "accepted", "dropped"):
        assert sum(source[name] for source in run["sources"]) == run[name]


def test_a_baseline_has_no_sources() -> None:
    assert run_summary(baseline_of(explanation().trace))["sources"] == []


def test_what_was_reused_of_the_prompt_is_told() -> None:
    run = run_summary(TraceBuilder(n_prompt=12, n_reused=8).finish())
    assert (run["prefill_tokens"], run["reused_tokens"]) == (3, 8)
    assert run_summary(Trace())["prefill_tokens"] is None


def test_reasoning_tokens_are_counted_apart_and_stay_in_the_rate() -> None:
    trace = TraceBuilder().plain("<think>", "Hm", "</think>", "Yes", ".", seconds=0.1).finish()
    run = run_summary(trace)
    assert (run["reasoning_tokens"], run["committed"]) == (3, 5)
    assert run["tokens_per_second"] == pytest.approx(10)


def test_the_values_of_a_pair() -> None:
    trace = explanation().trace
    values = summary([baseline_of(trace, seconds=0.2), trace])
    base, spec = values["runs"]
    assert (base["mode"], spec["mode"]) == ("baseline", "speculative")
    assert (base["spec_type"], spec["spec_type"]) == ([], ["draft-simple"])
    assert spec["text"] == base["text"] == trace.text
    assert spec["token_ids"] == [token.token_id for token in trace.tokens]
    assert spec["committed"] == len(spec["token_ids"])
    assert values["comparison"]["identical"] is True
    assert values["comparison"]["speedup"] == pytest.approx(
        spec["tokens_per_second"] / base["tokens_per_second"]
    )
    assert values["comparison"]["verdict"] == "faster"
    assert values["prompt_tokens"] == 12


@given(runs())
def test_any_run_makes_a_summary_that_adds_up(events: list[RunEvent]) -> None:
    run = run_summary(folded(events))
    assert run["accepted"] + run["rejected"] == run["tested"]
    assert run["tested"] + run["dropped"] == run["drafted"]
    assert run["accepted"] + run["recovered"] + run["bonus"] + run["sampled"] == run["committed"]
    assert run["committed"] == len(run["token_ids"])
    assert sum(run["time"].values()) == pytest.approx(run["decode_seconds"], rel=0.01, abs=1e-9)
    if run["acceptance_rate"] is not None:
        assert run["acceptance_rate"] == run["accepted"] / run["tested"]
    assert sum(run["drafted_lengths"]) == sum(run["accepted_lengths"]) == run["steps"]
    assert _weighted(run["drafted_lengths"]) == sum(run["tested_by_position"]) == run["tested"]
    assert _weighted(run["accepted_lengths"]) == run["accepted"]
    assert len(run["tested_by_position"]) == len(run["accepted_by_position"])
    codec.dumps(run)


def _weighted(counts: list[int]) -> int:
    return sum(length * n for length, n in enumerate(counts))


def test_settings_as_asked_for_stand_beside_those_in_effect() -> None:
    builder = TraceBuilder()
    assert builder.trace.started is not None
    builder.trace.started.effective["n_ctx"] = 2048
    run = run_summary(builder.finish())
    assert run["differences"] == ["n_ctx"]
    assert run["settings"][0] == {
        "key": "n_ctx", "words": "Context", "requested": "4096 tokens",
        "effective": "2048 tokens", "differs": True,
    }  # fmt: skip


def test_several_methods_are_listed_in_order() -> None:
    config = run_config(sources=[DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE])
    trace = TraceBuilder(config).step(target="a").finish()
    assert run_summary(trace)["spec_type"] == ["ngram-mod", "draft-simple"]


def test_undefined_numbers_are_null() -> None:
    run = run_summary(TraceBuilder().trace)
    undefined = {
        "stop_reason", "acceptance_rate", "mean_accepted_length", "tau",
        "time_to_first_token_seconds", "tokens_per_second",
    }  # fmt: skip
    assert {name for name, value in run.items() if value is None} == undefined


def test_nothing_to_sum_up() -> None:
    values = summary([])
    assert (values["runs"], values["comparison"], values["target"]) == ([], None, None)
    assert summary([Trace()])["runs"][0]["committed"] == 0


def test_one_run_is_not_compared() -> None:
    assert summary([explanation().trace])["comparison"] is None


def test_the_newest_pair_of_one_task_is_compared() -> None:
    trace = explanation().trace
    old, new = baseline_of(trace), baseline_of(trace)
    stranger = TraceBuilder(run_config(RunMode.BASELINE, prompt="Another.")).plain("x").finish()
    assert pair_of([old, new, trace, stranger]) == (new, trace)
    assert pair_of([stranger, trace]) is None
    assert pair_of([trace]) is None
    assert pair_of([]) is None
