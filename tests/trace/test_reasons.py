"""Why a run came out as it did, in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from support.random_runs import folded, runs
from support.traces import TraceBuilder, baseline_of, run_config

from specviz.trace import metrics
from specviz.trace.comparison import Comparison, Verdict, compare, compare_repeated
from specviz.trace.config import (
    DraftSource,
    NgramModConfig,
    RunConfig,
    RunMode,
    SpeculationConfig,
)
from specviz.trace.events import (
    DraftCall,
    DraftToken,
    RunEvent,
    Scalar,
    StepVerified,
    TargetToken,
    TokenSource,
)
from specviz.trace.reasons import match_length
from specviz.trace.terms import terms_of
from specviz.trace.trace import Trace

MOD, MODEL = DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE
FOUND_NOTHING = DraftCall(source=MOD, n_tokens=0, n_dropped=0, seconds=0.0)


def ngram_config(**mod: int) -> RunConfig:
    config = run_config(sources=[MOD])
    speculation = replace(config.speculation, ngram_mod=NgramModConfig(**mod))
    return replace(config, speculation=speculation)


def searching(n: int, builder: TraceBuilder | None = None, n_dropped: int = 0) -> TraceBuilder:
    """Steps of 0.1 s in which ngram-mod is asked in vain."""
    builder = builder or TraceBuilder(ngram_config())
    call = DraftCall(source=MOD, n_tokens=0, n_dropped=n_dropped, seconds=0.0)
    for i in range(n):
        builder.step(target=f"p{i}", calls=[call], n_dropped=n_dropped)
    return builder


def copying(builder: TraceBuilder, n: int, accepted: int, seconds: float) -> TraceBuilder:
    """Steps that check eight copied tokens, of which so many are accepted."""
    for i in range(n):
        draft = [f"c{i}.{j}" for j in range(8)]
        builder.step(draft, accepted, f"t{i}", seconds=seconds, copied_from=3, draft_share=0.0)
    return builder


def told(speculative: Trace, step_seconds: float = 0.1) -> tuple[Verdict, tuple[str, ...]]:
    """Verdict and reasons, but for the one that the answer is short: these runs are."""
    result = compare(baseline_of(speculative, seconds=step_seconds), speculative)
    return result.verdict, tuple(each for each in result.reasons if "too short for" not in each)


# Copies ------------------------------------------------------------------------------------------
def test_no_matches_are_told_with_what_was_searched_for() -> None:
    verdict, reasons = told(searching(9).finish())
    assert verdict is Verdict.SPECULATION_NEVER_RAN
    assert reasons == (
        "No matches: the text was searched 9 times for the last 6 tokens, and nothing was found "
        "to copy.",
        "Both runs did the same work.",
    )


def test_a_long_match_in_vain_comes_with_advice() -> None:
    builder = searching(9, TraceBuilder(ngram_config(n_match=24)))
    _, reasons = told(builder.finish())
    assert "for the last 24 tokens" in reasons[0]
    assert reasons[1] == "Fewer matching tokens find more; 6 suit short texts."


def test_matches_below_the_minimum_are_not_called_no_matches() -> None:
    verdict, reasons = told(searching(9, n_dropped=3).finish())
    assert verdict is Verdict.SPECULATION_NEVER_RAN
    assert reasons == (
        "All 27 drafted tokens were thrown away unchecked: what was found to copy, 9 times, was "
        "shorter than the shortest draft allowed.",
    )


def test_matches_that_do_not_pay_are_told_with_their_price() -> None:
    # eight steps of 0.5 s against target steps of 0.1 s, for 3 tokens each
    verdict, reasons = told(copying(searching(4), 8, accepted=2, seconds=0.5).finish())
    assert verdict is Verdict.SLOWER
    assert reasons[0] == (
        "Something to copy was found in 8 of 12 steps, but checking it is too dear here: such a "
        "step checks 9 tokens at once, costs 5.00 target steps and yields 3.00 tokens."
    )


def test_matches_that_pay_and_are_too_few_are_told_so() -> None:
    verdict, reasons = told(copying(searching(60), 1, accepted=2, seconds=0.2).finish())
    assert verdict is Verdict.NO_REAL_GAIN
    assert reasons[0] == (
        "Something to copy was found in only 1 of 61 steps; such a step checks 9 tokens at "
        "once, costs 2.00 target steps and yields 3.00 tokens."
    )


def test_matches_that_pay_are_told_when_it_is_faster() -> None:
    # tokens of a step beyond its own: 8 in 8 of 12 steps from copies, 76 / 12 - 1 in all
    verdict, reasons = told(copying(searching(4), 8, accepted=8, seconds=0.2).finish())
    assert verdict is Verdict.FASTER
    assert reasons == (
        "Something to copy was found in 8 of 12 steps; such a step checks 9 tokens at once, costs "
        "2.00 target steps and yields 9.00 tokens.",
        "Each step yields 6.33 tokens in the time of 1.67 target steps.",
    )


def test_a_wide_check_of_copies_that_saves_nothing_is_blamed_on_the_weights() -> None:
    # 0.89 x 1 s against 0.1 s: 8.9 target steps for 9 tokens
    _, reasons = told(copying(searching(4), 8, accepted=8, seconds=1.0).finish())
    assert (
        "Checking 9 tokens at once costs 8.90 target steps, nearly as much as one by one: a wide "
        "check is dear here with Q4_K_M weights."
    ) in reasons


def test_finds_thrown_away_beside_copies_are_told_when_they_are_many() -> None:
    builder = copying(searching(9, n_dropped=1), 2, accepted=1, seconds=0.3)
    _, reasons = told(builder.finish())
    assert "Another 9 finds were shorter than the shortest draft allowed." in reasons


def test_with_a_model_beside_them_each_is_told_for_itself() -> None:
    builder = TraceBuilder(run_config(sources=[MOD, MODEL]))
    drafted = DraftCall(source=MODEL, n_tokens=2, n_dropped=0, seconds=0.03)
    for i in range(6):
        calls = [FOUND_NOTHING, drafted]
        builder.step([f"m{i}", "n"], 2, "x", drafter=MODEL, seconds=0.2, calls=calls)
    _, reasons = told(builder.finish())
    # 0.74 x 0.2 s against 0.1 s; drafting 0.15 x 0.2 s for two tokens
    assert reasons == (
        "Each step yields 3.00 tokens in the time of 2.00 target steps.",
        "Checking 3 tokens at once costs 1.48 target steps.",
        "Drafting a token costs 0.15 target steps.",
        "In 6 searches nothing was found to copy.",
    )


def test_a_model_that_never_drafted_is_not_blamed_on_the_text() -> None:
    builder = TraceBuilder(run_config(sources=[MOD, MODEL])).plain(*"abcdef")
    assert told(builder.finish())[1] == (
        "Not a single token was drafted.", "Both runs did the same work.",
    )  # fmt: skip


# Measured terms ----------------------------------------------------------------------------------
STEP_SECONDS = 0.015


def exact(builder: TraceBuilder, n_draft: int, accepted: int, **seconds: float) -> None:
    """A step of exact durations; what is not given took no time."""
    trace = builder.trace
    durations = {
        f"{part}_seconds": seconds.get(part, 0.0)
        for part in ("draft", "verify", "sample", "restore", "other")
    }
    builder.t += sum(durations.values())
    index, n_drafted = len(trace.steps), n_draft + int(seconds.get("dropped", 0))
    source = TokenSource.SAMPLED
    if n_draft:
        source = TokenSource.BONUS if accepted == n_draft else TokenSource.RECOVERED
    trace.append(
        StepVerified(
            run_id=builder.run_id,
            t=builder.t,
            step=index,
            n_past=builder.n_prompt + len(trace.tokens) + accepted,
            draft=tuple(
                DraftToken(token_id=100 * index + i, piece=f"{index}.{i} ".encode())
                for i in range(n_draft)
            ),
            n_accepted=accepted,
            target=TargetToken(
                token_id=100 * index + 99, piece=f"{index}t ".encode(), source=source
            ),
            drafter=MODEL if n_draft else None,
            n_dropped=n_drafted - n_draft,
            **durations,
        )
    )


def exact_baseline(
    speculative: Trace, prefill_seconds: float = 0.001, seconds: Iterable[float] = ()
) -> Trace:
    """The same tokens in steps of exactly so many `seconds`, or `STEP_SECONDS` each."""
    builder = TraceBuilder(
        run_config(RunMode.BASELINE), run_id="base", prefill_seconds=prefill_seconds
    )
    each = list(seconds) or [STEP_SECONDS] * len(speculative.tokens)
    for token, step_seconds in zip(speculative.tokens, each, strict=True):
        builder.t += step_seconds
        trace = builder.trace
        trace.append(
            StepVerified(
                run_id="base",
                t=builder.t,
                step=len(trace.steps),
                n_past=builder.n_prompt + len(trace.tokens),
                draft=(),
                n_accepted=0,
                target=TargetToken(
                    token_id=token.token_id, piece=token.piece, source=TokenSource.SAMPLED
                ),
                draft_seconds=0,
                verify_seconds=step_seconds,
                sample_seconds=0,
                restore_seconds=0,
                other_seconds=0,
            )
        )
    return builder.finish()


def run_of(
    *steps: tuple[int, int, dict[str, float]],
    config: RunConfig | None = None,
    effective: dict[str, Scalar] | None = None,
) -> Trace:
    builder = TraceBuilder(config, prefill_seconds=0.001)
    assert builder.trace.started is not None
    builder.trace.started.effective.update(effective or {})
    for n_draft, accepted, seconds in steps:
        exact(builder, n_draft, accepted, **seconds)
    return builder.finish()


def reasons_of(speculative: Trace) -> Comparison:
    return compare(exact_baseline(speculative), speculative)


def test_a_target_too_cheap_for_its_draft_is_told_by_its_three_numbers() -> None:
    # 50 steps, 69 of 150 accepted: 119 tokens, 2.38 a step; 3 x 4 ms + 26 ms = 38 ms = 2.53 steps
    times = {"draft": 0.012, "verify": 0.026}
    lengths = [0] * 12 + [1] * 15 + [2] * 15 + [3] * 8
    assert sum(lengths) == 69
    result = reasons_of(run_of(*((3, n, times) for n in lengths)))
    assert result.verdict is Verdict.SLOWER
    assert result.speedup == pytest.approx(0.94, abs=0.001)
    assert result.reasons == (
        "Each step yields only 2.38 tokens in the time of 2.53 target steps.",
        "Drafting a token costs 0.27 target steps.",
        "Checking 4 tokens at once costs 1.73 target steps.",
    )


def test_a_check_that_is_dearer_than_single_steps_comes_first_at_full_acceptance() -> None:
    # three tokens for 5 target steps
    result = reasons_of(run_of(*[(2, 2, {"verify": 5 * STEP_SECONDS})] * 20))
    assert result.verdict is Verdict.SLOWER
    assert result.speedup == pytest.approx(0.6)
    assert result.reasons[0] == (
        "Checking 3 tokens at once costs 5.00 target steps, more than one by one: a wide check is "
        "dear here with Q4_K_M weights."
    )


def test_an_unknown_or_strange_name_of_the_weights_is_left_out() -> None:
    trace = run_of(*[(2, 2, {"verify": 5 * STEP_SECONDS})] * 20)
    assert trace.started is not None
    trace.started = replace(
        trace.started, target=replace(trace.started.target, quantisation="<b>\n")
    )
    assert reasons_of(trace).reasons[0].endswith("a wide check is dear here.")


def test_a_draft_nearly_as_slow_as_the_target_is_the_bottleneck() -> None:
    # four tokens of 9 ms against a step of 15 ms, and a check of 17 ms: 36 of 53 ms
    times = {"draft": 0.036, "verify": 0.017}
    result = reasons_of(run_of(*[(4, 1, times)] * 20))
    assert result.verdict is Verdict.SLOWER
    assert result.reasons[0] == (
        "The draft is the bottleneck: drafting takes 68 % of the time, 0.60 target steps a token; "
        "fewer draft tokens per step or a draft that runs on the GPU would cost less."
    )


@pytest.mark.parametrize(
    ("effective", "told_of", "advice"),
    [
        (
            {"target_n_gpu_layers": 33, "draft_n_gpu_layers": 0},
            "drafting on the CPU, beside a target on the GPU, takes 68 % of the time", True,
        ),
        ({"target_n_gpu_layers": 33, "draft_n_gpu_layers": 25}, "drafting takes 68 %", False),
        ({"target_n_gpu_layers": 0, "draft_n_gpu_layers": 0}, "drafting takes 68 %", False),
    ],
)  # fmt: skip
def test_the_gpu_is_suggested_where_there_is_one_to_move_to(
    effective: dict[str, Scalar], told_of: str, advice: bool
) -> None:
    times = {"draft": 0.036, "verify": 0.017}
    first = reasons_of(run_of(*[(4, 1, times)] * 20, effective=effective)).reasons[0]
    assert told_of in first
    assert ("runs on the GPU" in first) is advice
    assert "fewer draft tokens per step" in first


def test_a_draft_left_on_the_cpu_is_told_even_when_it_pays() -> None:
    times = {"draft": 0.008, "verify": 0.017}
    placed: dict[str, Scalar] = {"target_n_gpu_layers": 33, "draft_n_gpu_layers": 0}
    result = reasons_of(run_of(*[(4, 4, times)] * 20, effective=placed))
    assert result.verdict is Verdict.FASTER
    assert (
        "Drafting costs 0.13 target steps a token; the draft runs on the CPU while the target is "
        "on the GPU."
    ) in result.reasons


def test_a_single_dear_draft_token_is_not_told_to_be_fewer() -> None:
    result = reasons_of(run_of(*[(1, 0, {"draft": 0.02, "verify": 0.016})] * 40))
    assert "a draft that runs on the GPU would cost less" in result.reasons[0]
    assert "fewer" not in result.reasons[0]


def test_saving_and_restoring_is_named_when_it_is_much() -> None:
    # 60 ms draft, 600 ms saving and restoring, 165 ms check
    times = {"draft": 0.06, "restore": 0.6, "verify": 0.165}
    steps = [(3, 1, times)] * 20
    unable = run_of(*steps, effective={"rollback": "checkpoint"})
    assert reasons_of(unable).reasons[0] == (
        "Saving and restoring the target's state takes 73 % of the time, because it cannot forget "
        "single tokens."
    )
    able = run_of(*steps, effective={"rollback": "trim"})
    assert reasons_of(able).reasons[0] == "Forgetting rejected tokens takes 73 % of the time."
    little = run_of(*[(3, 1, {**times, "restore": 0.02})] * 20)
    assert not any("restoring" in reason for reason in reasons_of(little).reasons)


def test_almost_nothing_drafted_is_told_with_tokens_per_step() -> None:
    # 19 drafts of one token in 100 steps, 18 accepted: 118 tokens
    with_draft = (1, 1, {"draft": 0.003, "verify": 0.017})
    steps = [*[(0, 0, {"verify": 0.015})] * 81, *[with_draft] * 18, (1, 0, with_draft[2])]
    result = reasons_of(run_of(*steps))
    # (81 x 15 + 19 x 20) / 100 = 15.95 ms = 1.06 target steps
    assert result.verdict is Verdict.FASTER
    assert "Each step yields 1.18 tokens in the time of 1.06 target steps." in result.reasons
    slow = [*[(0, 0, {"verify": 0.018})] * 81, *steps[81:]]
    # (81 x 18 + 19 x 20) / 100 = 18.38 ms = 1.23
    assert reasons_of(run_of(*slow)).reasons[0] == (
        "Only 19 tokens were drafted and checked in 100 steps, so a step yields 1.18 tokens in the "
        "time of 1.23 target steps."
    )


def test_sampling_and_what_lies_between_are_named_when_they_are_much() -> None:
    result = reasons_of(run_of(*[(3, 1, {"verify": 0.02, "sample": 0.008, "other": 0.01})] * 20))
    assert (
        "Sampling takes 21 % of the time: the target draws a token for each one that it checks."
    ) in result.reasons
    assert "What lies between the passes takes 26 % of the time." in result.reasons
    few = reasons_of(run_of(*[(3, 1, {"verify": 0.03, "sample": 0.001, "other": 0.001})] * 20))
    assert not any("Sampling" in each or "between" in each for each in few.reasons)


def test_a_prompt_that_takes_most_of_the_run_is_told_first() -> None:
    speculative = run_of(*[(3, 2, {"draft": 0.002, "verify": 0.018})] * 20)
    # 60 tokens in 0.9 s behind 3.6 s of prefill, which the second run found in memory
    result = compare(exact_baseline(speculative, prefill_seconds=3.6), speculative)
    assert result.verdict is Verdict.FASTER
    assert result.reasons[0] == (
        "Reading the prompt takes 80 % of the whole run (3.6 s of 4.5 s), and speculative decoding "
        "does not shorten it."
    )
    assert not any("prompt" in each for each in reasons_of(speculative).reasons)


def test_where_tokens_are_drawn_the_rule_in_use_is_named() -> None:
    config = run_config(temperature=0.8)
    trace = run_of(*[(2, 0, {"draft": 0.01, "verify": 0.025})] * 40, config=config)
    assert reasons_of(trace).reasons[-1] == (
        "A draft token is accepted only where the target draws the very same one, which gets rarer "
        "with temperature."
    )


def test_short_drafts_are_told_with_what_stops_them() -> None:
    config = run_config(n_max=8)
    config = replace(config, speculation=replace(config.speculation, p_min=0.6))
    trace = run_of(*[(2, 1, {"draft": 0.01, "verify": 0.025})] * 20, config=config)
    assert (
        "Drafts are short, 2 of at most 8 tokens on average, because the draft stops below a "
        "probability of 0.6."
    ) in reasons_of(trace).reasons


def test_drafts_thrown_away_are_told_when_they_are_many() -> None:
    step = {"draft": 0.006, "verify": 0.016}
    steps = [(4, 1, step), (0, 0, {**step, "dropped": 2})] * 20
    assert (
        "Of 120 drafted tokens 40 were thrown away unchecked, because the draft was shorter than "
        "its minimum."
    ) in reasons_of(run_of(*steps)).reasons


def test_a_short_answer_is_told_unless_repeats_make_up_for_it() -> None:
    short = run_of(*[(3, 2, {"verify": 0.018})] * 4)
    base = exact_baseline(short)
    caveat = "With 12 tokens the answer is too short for a stable figure."
    assert caveat in compare(base, short).reasons
    assert caveat not in compare_repeated([base] * 3, [short] * 3).reasons


@pytest.mark.parametrize(
    ("slow_seconds", "n_slow", "n", "is_told"),
    [(0.15, 20, 60, True), (0.15, 3, 60, False), (0.02, 20, 60, False), (0.15, 10, 30, False)],
)
def test_a_baseline_of_a_busy_machine_is_told_before_all_else(
    slow_seconds: float, n_slow: int, n: int, *, is_told: bool
) -> None:
    fast = run_of(*[(2, 2, {"verify": 0.018})] * (n // 3))
    seconds = [slow_seconds] * n_slow + [0.01] * (n - n_slow)
    told = compare(exact_baseline(fast, seconds=seconds), fast).reasons[0]
    assert told.startswith("Do not trust the speed-up yet") is is_told
    if is_told:
        assert "from 10 ms to 150 ms, as on a busy machine" in told


def test_a_text_that_grows_makes_no_machine_busy() -> None:
    fast = run_of(*[(2, 2, {"verify": 0.018})] * 20)
    growing = [0.01 * (1 + i / 5) for i in range(60)]
    assert growing[-1] > 12 * growing[0]
    told = compare(exact_baseline(fast, seconds=growing), fast).reasons
    assert not any("busy" in each for each in told)
    # the same with the machine's time taken away for a while in the middle
    growing[20:30] = [0.4] * 10
    told = compare(exact_baseline(fast, seconds=growing), fast).reasons
    assert "busy" in told[0]


def test_the_weightiest_come_first_and_there_are_not_too_many() -> None:
    times = {"draft": 0.05, "verify": 0.1, "restore": 0.2, "sample": 0.06, "other": 0.07}
    config = run_config(n_max=16)
    short = run_of(*[(2, 0, times)] * 8, config=config)
    reasons = compare(exact_baseline(short, prefill_seconds=30), short).reasons
    assert len(reasons) == 5
    assert reasons[0].startswith("Reading the prompt")
    assert reasons[1].startswith("Saving and restoring")
    assert reasons[2].startswith("With 8 tokens")


@given(runs(closed=True))
def test_the_parts_of_a_step_add_up_to_its_cost(events: list[RunEvent]) -> None:
    trace = folded(events)
    terms = terms_of(baseline_of(trace), trace)
    if terms is None:
        return
    shares = terms.shares
    parts = (shares.draft, shares.verify, shares.sample, shares.restore, shares.other)
    assert sum(map(terms.in_steps, parts)) == pytest.approx(terms.step_cost, rel=0.01)
    speedup = compare(baseline_of(trace), trace).speedup
    per_step = metrics.tau(trace)
    if speedup is not None and per_step is not None:
        # the terms of a run explain its speed-up
        assert per_step / terms.step_cost == pytest.approx(speedup, rel=0.01)


def test_without_a_target_step_there_is_nothing_to_measure_in() -> None:
    assert terms_of(TraceBuilder(run_config(RunMode.BASELINE)).trace, run_of((1, 1, {}))) is None


def test_each_source_says_how_much_must_match() -> None:
    lengths = [match_length(SpeculationConfig(), source) for source in DraftSource]
    assert lengths == [6, 6, 6, 6, None, None, None]


@given(runs(closed=True))
def test_any_run_gets_whole_sentences(events: list[RunEvent]) -> None:
    trace = folded(events)
    for reason in compare(baseline_of(trace), trace).reasons:
        assert reason.endswith(".") and reason[0].isupper()
        assert "nan" not in reason and "inf " not in reason and "None" not in reason


@pytest.mark.parametrize("n", [1, 2])
def test_one_is_not_written_as_many(n: int) -> None:
    _, reasons = told(searching(n, n_dropped=2).plain("a", "b", "c").finish())
    assert ("1 times" in reasons[0]) is False
