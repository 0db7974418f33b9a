"""What is said of the first token that differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_runs import folded, runs
from support.traces import TraceBuilder, run_config, token_id_of

from specviz.trace.config import RunMode
from specviz.trace.events import RunEvent
from specviz.trace.fork import (
    Fork,
    fork_of,
    fork_sentence,
    margins_sentence,
    recheck_sentence,
)
from specviz.trace.lossless import BatchShape, LosslessCheck, Mismatch, ShapeMargin
from specviz.trace.text import quoted


def forked(n: int, margin: float | None, temperature: float = 0.0) -> Fork:
    """Equal for `n` tokens; then the baseline says “yes” and the other run “ no”."""
    hot = {"temperature": temperature}
    base = TraceBuilder(run_config(RunMode.BASELINE, **hot), run_id="base")
    spec = TraceBuilder(run_config(**hot), run_id="spec")
    for i in range(n):
        base.plain(f"w{i}")
        spec.plain(f"w{i}")
    base.step(target="yes", runner_up=None if margin is None else (" no", margin)).plain("x")
    spec.step(["a"], 0, " no").plain("x")
    fork = fork_of(base.finish(), spec.finish())
    assert fork is not None
    return fork


def test_a_near_tie_is_called_rounding() -> None:
    # logits of 24.2500 and 24.2188
    assert fork_sentence(forked(40, 24.25 - 24.2188)) == (
        "The output is identical for 40 tokens; then a near-tie (margin 0.03 logits), “ no” in "
        "place of “yes”: rounding, not an error."
    )


def test_a_wide_margin_is_not_explained_by_rounding() -> None:
    assert fork_sentence(forked(40, 4.0)) == (
        "The output is identical for 40 tokens; then “ no” in place of “yes” (margin 4.00 logits): "
        "not explained by rounding."
    )
    assert fork_sentence(forked(40, None)).endswith(
        "then “ no” in place of “yes”: not explained by rounding."
    )


def test_above_temperature_zero_it_is_no_failure() -> None:
    sentence = fork_sentence(forked(40, 4.0, temperature=0.8))
    assert "not comparable token by token" in sentence
    assert "error" not in sentence and "explained" not in sentence


@pytest.mark.parametrize(
    ("n", "beginning"),
    [
        (0, "The outputs differ from the first token on: “ no” in place of “yes”"),
        (1, "The output is identical for one token; then “ no” in place of “yes”"),
    ],
)
def test_short_beginnings_are_counted_in_words(n: int, beginning: str) -> None:
    assert fork_sentence(forked(n, 4.0)).startswith(beginning)


def test_the_candidates_and_recorded_margins_are_kept() -> None:
    fork = forked(3, 0.5)
    assert (fork.position, fork.baseline.text, fork.speculative.text) == (3, "yes", " no")
    assert fork.speculative.token_id == token_id_of(" no")
    assert fork.margins == (ShapeMargin(shape=BatchShape.ONE_ROW, n_rows=1, margin=0.5),)
    assert not fork.is_checked
    assert margins_sentence(fork) == (
        "As the runs recorded it, “yes” leads “ no” by +0.50 logits in a pass over one row."
    )
    assert margins_sentence(forked(3, None)) is None


def test_an_answer_that_ended_is_named_so() -> None:
    base = TraceBuilder(run_config(RunMode.BASELINE)).plain("a", "b").finish()
    spec = TraceBuilder().plain("a").finish()
    fork = fork_of(base, spec)
    assert fork is not None
    assert (fork.speculative.is_end, fork.speculative.token_id) == (True, None)
    assert "the end in place of “b”" in fork_sentence(fork)


def test_a_check_tells_each_batch_shape() -> None:
    base = TraceBuilder(run_config(RunMode.BASELINE)).plain("a", "b").finish()
    spec = TraceBuilder().plain("a", "c").finish()
    margins = [
        ShapeMargin(shape=shape, n_rows=n, margin=m)
        for shape, n, m in zip(BatchShape, (1, 4, 37), (0.031, -0.02, 0.5), strict=True)
    ]
    fork = fork_of(base, spec, LosslessCheck(fork=1, margins=tuple(margins)))
    assert fork is not None and fork.is_checked
    assert margins_sentence(fork) == (
        "Evaluated anew on fresh memory, “b” leads “c” by +0.03 logits in a pass over one row, "
        "−0.02 in the check of 4 rows and +0.50 in prefill of 37 rows."
    )


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (LosslessCheck(fork=3), None),
        (LosslessCheck(n_rechecked=1), "The one token was confirmed on fresh memory."),
        (LosslessCheck(n_rechecked=14), "All 14 tokens were confirmed on fresh memory."),
        (
            LosslessCheck(n_rechecked=214, n_drafts_rechecked=341),
            "All 214 tokens and 341 draft tokens were confirmed on fresh memory.",
        ),
        (
            LosslessCheck(
                n_rechecked=9, mismatch=Mismatch(position=4, recorded=7, found=8, margin=3.5)
            ),
            "After 4 tokens fresh memory gives another token, id 8 in place of 7, by 3.50 logits: "
            "not explained by rounding.",
        ),
        (
            LosslessCheck(
                n_rechecked=9, draft_mismatch=Mismatch(position=4, recorded=7, found=8, margin=0.1)
            ),
            "After 4 tokens fresh memory gives another draft token, id 8 in place of 7, by 0.10 "
            "logits: rounding, not an error.",
        ),
    ],
)
def test_a_recheck_in_one_sentence(check: LosslessCheck, sentence: str | None) -> None:
    assert recheck_sentence(check) == sentence


@given(st.binary(max_size=40))
def test_any_piece_can_be_quoted(piece: bytes) -> None:
    text = quoted(piece)
    assert text.isprintable()
    assert len(text) <= 26


@given(runs(), runs())
def test_any_two_runs_can_be_told_apart(one: list[RunEvent], other: list[RunEvent]) -> None:
    fork = fork_of(folded(one), folded(other))
    if fork is not None:
        assert fork_sentence(fork).endswith(".")
