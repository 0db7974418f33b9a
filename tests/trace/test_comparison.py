"""A speculative run held against its baseline."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.traces import TraceBuilder, run_config, token_id_of

from specviz.trace.comparison import (
    LOOPING_TOKENS,
    Verdict,
    compare,
    compare_repeated,
    first_divergence,
    margin_at,
    repeating_period,
    same_task,
)
from specviz.trace.config import RunConfig, RunMode
from specviz.trace.events import RunnerUp, StopReason, TargetToken, TokenSource
from specviz.trace.lossless import (
    BatchShape,
    Divergence,
    LosslessCheck,
    Mismatch,
    ShapeMargin,
)
from specviz.trace.trace import Trace

WORDS = [f"w{index}" for index in range(12)]


def baseline(
    pieces: list[str] = WORDS,
    *,
    seconds: float = 0.1,
    margins: dict[int, tuple[str, float]] | None = None,
    config: RunConfig | None = None,
    reason: StopReason = StopReason.END_OF_GENERATION,
) -> Trace:
    builder = TraceBuilder(config or run_config(RunMode.BASELINE), run_id="base")
    for position, piece in enumerate(pieces):
        builder.step(target=piece, seconds=seconds, runner_up=(margins or {}).get(position))
    return builder.finish(reason)


def speculative(
    pieces: list[str] = WORDS,
    *,
    per_step: int = 3,
    seconds: float = 0.1,
    config: RunConfig | None = None,
    reason: StopReason = StopReason.END_OF_GENERATION,
    draft: bool = True,
    **step: object,
) -> Trace:
    """All drafts accepted: `per_step` tokens a step, the last of them the bonus token."""
    builder = TraceBuilder(config or run_config(), run_id="spec")
    for at in range(0, len(pieces), per_step):
        *drafted, own = pieces[at : at + per_step]
        if draft:
            builder.step(drafted, len(drafted), own, seconds=seconds, **step)
        else:
            builder.step(target=own, seconds=seconds, **step)
    return builder.finish(reason)


def test_speed_up_is_the_ratio_of_the_speeds() -> None:
    result = compare(baseline(), speculative(seconds=0.2))
    # 12 tokens in 1.2 s against 12 tokens in 0.8 s
    assert result.speedup == pytest.approx(1.5)
    assert result.verdict is Verdict.FASTER
    assert result.identical
    assert (result.n_compared, result.first_divergence, result.divergence) == (12, None, None)
    assert result.speedup_spread is None


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        (0.28, Verdict.FASTER), (0.29, Verdict.NO_REAL_GAIN), (0.31, Verdict.NO_REAL_GAIN),
        (0.32, Verdict.SLOWER), (0.9, Verdict.SLOWER),
    ],
)  # fmt: skip
def test_five_percent_either_way_is_no_real_gain(seconds: float, verdict: Verdict) -> None:
    assert compare(baseline(), speculative(seconds=seconds)).verdict is verdict


def test_full_acceptance_can_still_be_slower() -> None:
    result = compare(baseline(seconds=0.1), speculative(seconds=0.5))
    assert result.verdict is Verdict.SLOWER
    assert result.speedup == pytest.approx(0.6)


def test_reasons_name_the_measured_costs() -> None:
    # steps of 0.2 s against target steps of 0.1 s; a check is 0.74 of one, a draft token 0.03 / 2
    result = compare(baseline(seconds=0.1), speculative(seconds=0.2))
    assert result.reasons == (
        "Each step yields 3.00 tokens in the time of 2.00 target steps.",
        "With 12 tokens the answer is too short for a stable figure.",
        "Checking 3 tokens at once costs 1.48 target steps.",
        "Drafting a token costs 0.15 target steps.",
    )


def test_speculation_that_never_ran_gets_no_speed_up() -> None:
    result = compare(baseline(), speculative(per_step=1, draft=False))
    assert result.verdict is Verdict.SPECULATION_NEVER_RAN
    assert result.speedup is None
    assert "Not a single token was drafted" in result.reasons[0]


def test_drafts_that_were_all_dropped_were_no_speculation_either() -> None:
    result = compare(baseline(), speculative(per_step=1, draft=False, n_dropped=2))
    assert result.verdict is Verdict.SPECULATION_NEVER_RAN
    assert result.speedup is None
    assert "All 24 drafted tokens were thrown away unchecked" in result.reasons[0]


def test_a_loop_withholds_the_verdict() -> None:
    pieces = ["la"] * 200
    result = compare(baseline(pieces), speculative(pieces, per_step=4))
    assert result.verdict is Verdict.OUTPUT_REPEATING
    assert "period 1" in result.reasons[0]


def test_too_few_tokens_make_no_verdict() -> None:
    result = compare(baseline(["a", "b", "c"]), speculative(["a", "b", "c"]))
    assert result.verdict is Verdict.NOT_MEASURED
    assert result.speedup is None
    assert "too short" in result.reasons[0]


def test_a_run_that_died_is_not_measured() -> None:
    builder = TraceBuilder()
    for at in range(0, 12, 3):
        builder.step(WORDS[at : at + 2], 2, WORDS[at + 2])
    result = compare(baseline(), builder.trace)
    assert result.verdict is Verdict.NOT_MEASURED
    assert result.reasons == ()
    assert compare(baseline(), builder.fail()).verdict is Verdict.NOT_MEASURED


# Lossless? ---------------------------------------------------------------------------------------
def forked(at: int, other: str = "other") -> list[str]:
    return [*WORDS[:at], other, *WORDS[at + 1 :]]


def test_a_fork_within_rounding_is_a_near_tie() -> None:
    result = compare(baseline(margins={7: ("other", 0.03)}), speculative(forked(7)))
    assert not result.identical
    assert result.first_divergence == 7
    assert result.divergence is Divergence.NEAR_TIE
    assert result.margin == pytest.approx(0.03)


def test_a_fork_with_a_wide_margin_is_unexplained() -> None:
    result = compare(baseline(margins={7: ("other", 4.0)}), speculative(forked(7)))
    assert result.divergence is Divergence.UNEXPLAINED
    assert result.margin == pytest.approx(4.0)


def test_both_runs_must_have_been_undecided() -> None:
    """A speculative run that was sure of its other token did not see the same text."""
    for margin, divergence in ((0.2, Divergence.NEAR_TIE), (6.0, Divergence.UNEXPLAINED)):
        builder = TraceBuilder(run_id="spec")
        for at in range(0, 6, 3):
            builder.step(WORDS[at : at + 2], 2, WORDS[at + 2])
        builder.step([WORDS[6], "wrong"], 1, "other", runner_up=(WORDS[7], margin))
        builder.plain(*WORDS[8:])
        result = compare(baseline(margins={7: ("other", 0.03)}), builder.finish())
        assert (result.first_divergence, result.divergence) == (7, divergence)
        assert result.fork is not None
        assert [(m.shape, m.n_rows, m.margin) for m in result.fork.margins] == [
            (BatchShape.ONE_ROW, 1, 0.03), (BatchShape.VERIFY_BATCH, 3, -margin),
        ]  # fmt: skip


def checked(*margins: float, fork: int | None = 7, **changes: object) -> LosslessCheck:
    shapes = zip(BatchShape, (1, 3, 20), strict=True)
    return LosslessCheck(
        fork=fork,
        margins=tuple(
            ShapeMargin(shape=shape, n_rows=n, margin=margin)
            for (shape, n), margin in zip(shapes, margins, strict=False)
        ),
        **changes,
    )


@pytest.mark.parametrize(
    ("check", "divergence"),
    [
        (checked(0.4, -0.1, 0.3), Divergence.NEAR_TIE),
        (checked(5.0, 5.1, 5.2), Divergence.UNEXPLAINED),
        # about another position, or about nothing: what was recorded decides
        (checked(5.0, 5.1, 5.2, fork=3), Divergence.NEAR_TIE),
        (checked(), Divergence.NEAR_TIE),
        # a token that fresh memory does not give is a fault, whatever the fork looks like
        (
            checked(
                0.4, -0.1, 0.3,
                mismatch=Mismatch(position=2, recorded=1, found=2, margin=7.0), n_rechecked=12,
            ),
            Divergence.UNEXPLAINED,
        ),
        (
            checked(mismatch=Mismatch(position=2, recorded=1, found=2, margin=7.0), n_rechecked=12),
            Divergence.UNEXPLAINED,
        ),
    ],
)  # fmt: skip
def test_a_check_decides_in_place_of_the_recorded_margins(
    check: LosslessCheck, divergence: Divergence
) -> None:
    result = compare(baseline(margins={7: ("other", 0.03)}), speculative(forked(7)), check)
    assert (result.check, result.divergence) == (check, divergence)
    assert result.fork is not None
    assert result.fork.is_checked is (check.fork == 7 and bool(check.margins))


def test_a_check_may_find_a_fault_behind_equal_outputs() -> None:
    fault = Mismatch(position=4, recorded=1, found=2, margin=3.0)
    clean = LosslessCheck(n_rechecked=12)
    for check, divergence in (
        (clean, None), (replace(clean, draft_mismatch=fault), Divergence.UNEXPLAINED),
    ):  # fmt: skip
        result = compare(baseline(), speculative(), check)
        assert (result.identical, result.fork, result.divergence) == (True, None, divergence)


def test_at_a_temperature_no_check_decides() -> None:
    hot = run_config(RunMode.BASELINE, temperature=0.8)
    result = compare(
        baseline(margins={7: ("other", 4.0)}, config=hot),
        speculative(forked(7), config=run_config(temperature=0.8)),
        checked(5.0, 5.1, 5.2),
    )
    assert result.divergence is None


def test_a_fork_to_neither_candidate_is_unexplained() -> None:
    result = compare(baseline(margins={7: ("third", 0.03)}), speculative(forked(7)))
    assert result.divergence is Divergence.UNEXPLAINED


def test_a_fork_without_a_recorded_margin_is_unexplained() -> None:
    result = compare(baseline(), speculative(forked(0)))
    assert (result.first_divergence, result.margin) == (0, None)
    assert result.divergence is Divergence.UNEXPLAINED


def test_at_a_temperature_a_margin_explains_nothing() -> None:
    hot = run_config(RunMode.BASELINE, temperature=0.8)
    result = compare(
        baseline(margins={7: ("other", 4.0)}, config=hot),
        speculative(forked(7), config=run_config(temperature=0.8)),
    )
    assert not result.identical
    assert result.divergence is None


def ended_by_a_choice(margin: float, other: str) -> Trace:
    """A baseline that chose its end token by this margin before `other`."""
    builder = TraceBuilder(run_config(RunMode.BASELINE), run_id="base").plain(*WORDS)
    runner_up = RunnerUp(token_id=token_id_of(other), piece=other.encode(), margin=margin)
    end = TargetToken(
        token_id=2, piece=b"", source=TokenSource.SAMPLED, runner_up=runner_up
    )  # fmt: skip
    step = TraceBuilder().step(end="x").trace.steps[0]
    builder.trace.append(
        replace(step, run_id="base", step=len(WORDS), t=builder.t + 0.1, end_token=end)
    )
    builder.t += 0.1
    return builder.finish()


@pytest.mark.parametrize(
    ("margin", "other", "divergence"),
    [
        (0.2, "w12", Divergence.NEAR_TIE), (3.0, "w12", Divergence.UNEXPLAINED),
        (0.2, "third", Divergence.UNEXPLAINED),
    ],
)  # fmt: skip
def test_an_answer_that_goes_on_where_the_baseline_ended_is_a_fork(
    margin: float, other: str, divergence: Divergence
) -> None:
    longer = speculative([*WORDS, "w12", "w13", "w14"])
    result = compare(ended_by_a_choice(margin, other), longer)
    assert (result.first_divergence, result.divergence) == (12, divergence)
    assert result.margin == pytest.approx(margin)


def test_an_end_that_the_baseline_passed_by_is_judged_by_the_end_token() -> None:
    ids = {"other": token_id_of("other"), "end": 2}
    for chosen, divergence in (("end", Divergence.NEAR_TIE), ("other", Divergence.UNEXPLAINED)):
        base = baseline(margins={9: ("x", 0.1)})
        decided = base.steps[9].target
        assert decided is not None and decided.runner_up is not None
        runner_up = replace(decided.runner_up, token_id=ids[chosen])
        base.steps[9] = replace(base.steps[9], target=replace(decided, runner_up=runner_up))
        builder = TraceBuilder(run_id="spec")
        for at in range(0, 9, 3):
            builder.step(WORDS[at : at + 2], 2, WORDS[at + 2])
        step = builder.step(end="</s>").trace.steps[-1]
        assert step.end_token is not None
        builder.trace.steps[-1] = replace(step, end_token=replace(step.end_token, token_id=2))
        result = compare(base, builder.finish())
        assert (result.first_divergence, result.divergence) == (9, divergence)


def test_an_answer_that_ends_early_is_a_fork() -> None:
    result = compare(baseline(), speculative(WORDS[:9]))
    assert result.first_divergence == 9
    assert not result.identical


def test_a_stopped_run_is_compared_as_far_as_it_went() -> None:
    result = compare(baseline(), speculative(WORDS[:9], reason=StopReason.CANCELLED))
    assert result.identical
    assert result.n_compared == 9
    result = compare(baseline(WORDS[:6], reason=StopReason.CANCELLED), speculative())
    assert result.identical


def test_first_divergence_counts_missing_tokens() -> None:
    assert first_divergence(baseline(), speculative()) is None
    assert first_divergence(baseline(WORDS[:5]), speculative(WORDS)) == 5
    assert first_divergence(baseline([]), speculative([])) is None


def test_margins_are_found_for_drafted_and_own_tokens() -> None:
    trace = baseline(margins={1: ("x", 0.5)})
    assert margin_at(trace, 1) == pytest.approx(0.5)
    assert margin_at(trace, 0) is None
    assert margin_at(trace, 99) is None
    assert margin_at(Trace(), 0) is None


# Loops -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("period", range(1, 9))
def test_a_cycle_is_found_at_its_period(period: int) -> None:
    cycle = list(range(period)) * LOOPING_TOKENS
    assert repeating_period([7, 7, 9, *cycle]) == period


def test_no_cycle_where_there_is_none() -> None:
    assert repeating_period([1] * (LOOPING_TOKENS - 1)) is None
    assert repeating_period(list(range(LOOPING_TOKENS * 2))) is None
    assert repeating_period([1] * LOOPING_TOKENS + [2]) is None
    assert repeating_period(list(range(9)) * LOOPING_TOKENS) is None
    assert repeating_period([]) is None


# Repeats -----------------------------------------------------------------------------------------
def test_repeats_compare_by_their_medians_and_show_their_spread() -> None:
    baselines = [baseline(seconds=s) for s in (0.10, 0.12, 0.11)]
    speculatives = [speculative(seconds=s) for s in (0.15, 0.20, 0.30)]
    result = compare_repeated(baselines, speculatives)
    # medians: 0.11 s a token against 0.20 s for three; pairs: 2.0, 1.8 and 1.1
    assert result.speedup == pytest.approx(0.11 / (0.20 / 3))
    assert result.speedup_spread == pytest.approx((1.1, 2.0))
    assert result.verdict is Verdict.FASTER


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        ((0.15, 0.20, 0.31), Verdict.NO_REAL_GAIN), ((0.15, 0.20, 0.29), Verdict.FASTER),
        ((0.29, 0.40, 0.50), Verdict.NO_REAL_GAIN), ((0.31, 0.40, 0.50), Verdict.SLOWER),
        ((0.29, 0.292, 0.294), Verdict.NO_REAL_GAIN),
    ],
)  # fmt: skip
def test_repeats_that_disagree_on_the_sign_are_no_real_gain(
    seconds: tuple[float, ...], verdict: Verdict
) -> None:
    result = compare_repeated([baseline()] * 3, [speculative(seconds=s) for s in seconds])
    assert result.verdict is verdict
    assert (result.n_repeats, result.speedup_spread) == (
        3, pytest.approx((0.3 / seconds[2], 0.3 / seconds[0])),
    )  # fmt: skip


def test_a_repeat_that_was_stopped_does_not_count() -> None:
    stopped = speculative(WORDS[:2], per_step=2, seconds=9.0, reason=StopReason.CANCELLED)
    result = compare_repeated([baseline()] * 2, [speculative(seconds=0.2), stopped])
    assert (result.verdict, result.n_repeats) == (Verdict.FASTER, 1)
    assert result.speedup == pytest.approx(1.5)
    alone = compare_repeated([baseline()], [stopped])
    assert alone.verdict is Verdict.NOT_MEASURED


def test_reasons_are_those_of_the_pair_that_is_quoted() -> None:
    result = compare_repeated(
        [baseline()] * 3, [speculative(seconds=s) for s in (0.15, 0.20, 0.25)]
    )
    assert any("in the time of 2.00 target steps." in each for each in result.reasons)


def test_a_fork_in_one_repeat_is_a_fork() -> None:
    result = compare_repeated(
        [baseline()] * 3, [speculative(), speculative(forked(4)), speculative()]
    )
    assert (result.identical, result.first_divergence) == (False, 4)


def test_an_unfinished_repeat_is_left_out() -> None:
    result = compare_repeated([baseline(), baseline()], [speculative()])
    assert result.speedup == pytest.approx(3.0)
    assert result.speedup_spread is None


# What may be compared ----------------------------------------------------------------------------
def test_the_same_task_whatever_drafts() -> None:
    one, other = run_config(RunMode.BASELINE), run_config(n_max=16)
    assert same_task(baseline(config=one), speculative(config=other))
    alone = replace(one, load=replace(one.load, draft=None))
    assert same_task(baseline(config=alone), speculative(config=other))


@pytest.mark.parametrize(
    "change",
    [
        {"messages": run_config(prompt="Another.").messages}, {"max_tokens": 5}, {"raw": True},
        {"stop": ("x",)}, {"load": replace(run_config().load, n_ctx=128)},
        {"load": replace(run_config().load, target=replace(run_config().load.target, n_threads=9))},
        {"sampling": replace(run_config().sampling, temperature=0.5)},
    ],
)  # fmt: skip
def test_another_task_is_not_compared(change: dict[str, object]) -> None:
    assert not same_task(baseline(), speculative(config=replace(run_config(), **change)))


def test_the_seed_matters_only_where_something_is_drawn() -> None:
    def seeded(seed: int, temperature: float) -> RunConfig:
        config = run_config(RunMode.BASELINE, temperature=temperature)
        return replace(config, sampling=replace(config.sampling, seed=seed))

    assert same_task(baseline(config=seeded(1, 0)), baseline(config=seeded(2, 0)))
    assert not same_task(baseline(config=seeded(1, 0.7)), baseline(config=seeded(2, 0.7)))


def test_what_never_started_has_no_task() -> None:
    assert not same_task(Trace(), baseline())
    assert not same_task(baseline(), Trace())
