"""Which widths are measured, how often and in which order; with passes that take what they say."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.engine.cost_measurement import (
    DENSE,
    FEWEST_ROUNDS,
    MOST_ROUNDS,
    measure,
    measured_sizes,
    n_rounds,
)
from specviz.engine.model import Cancelled
from specviz.trace.costs import CheckCost, DraftCost


class FakePass:
    """Takes the given seconds, the last of them from then on, and notes when it was done."""

    def __init__(self, size, seconds, log, *, draft=False):
        self._size, self._seconds, self._log, self._draft = size, list(seconds), log, draft

    def seconds(self):
        self._log.append(self._size)
        return self._seconds.pop(0) if len(self._seconds) > 1 else self._seconds[0]

    def cost(self, seconds, n_samples):
        if self._draft:
            return DraftCost(n_tokens=self._size, seconds=seconds, n_samples=n_samples)
        return CheckCost(n_rows=self._size, seconds=seconds, n_samples=n_samples)


def measured(passes, cancelled=None):
    notices = []
    measure(passes, notices.append, cancelled or threading.Event())
    return notices


@given(st.integers(1, 2000))
def test_common_widths_are_dense_and_the_widest_is_there(longest):
    sizes = measured_sizes(longest)
    assert sizes == sorted(set(sizes))
    assert sizes[: min(longest, DENSE)] == list(range(1, min(longest, DENSE) + 1))
    assert sizes[-1] == longest
    assert len(sizes) <= 22


def test_nothing_is_measured_of_no_length():
    assert measured_sizes(0) == []
    assert measured_sizes(1) == [1]


@pytest.mark.parametrize(
    ("first", "wanted"),
    [(0.0, MOST_ROUNDS), (0.001, MOST_ROUNDS), (0.9, 3), (2.0, FEWEST_ROUNDS), (60.0, 2)],
)
def test_slow_machines_measure_less_often(first, wanted):
    assert n_rounds(first) == wanted


def test_widths_take_turns_and_the_warm_up_is_left_out():
    log = []
    notices = measured([FakePass(1, [0.9, 0.01, 0.02, 0.03], log), FakePass(2, [0.1, 0.04], log)])
    # the first round took a second, so three are affordable
    assert log == [1, 2] * 3
    costs = [notice.check for notice in notices if notice.check]
    assert costs == [
        CheckCost(n_rows=1, seconds=0.015, n_samples=2),
        CheckCost(n_rows=2, seconds=0.04, n_samples=2),
    ]


def test_of_two_rounds_both_count():
    notices = measured([FakePass(4, [5.0, 3.0], [])])
    assert notices[-1].check == CheckCost(n_rows=4, seconds=4.0, n_samples=2)


def test_every_pass_is_progress():
    log = []
    notices = measured([FakePass(1, [0.5], log), FakePass(3, [0.2], log, draft=True)])
    assert [notice.n_done for notice in notices] == list(range(1, len(log) + 1))
    assert notices[-1].n_done == notices[-1].n_total
    assert [notice for notice in notices if notice.check and notice.draft] == []
    assert notices[-1].draft.n_tokens == 3


def test_a_draft_that_never_came_about_has_no_cost():
    notices = measured([FakePass(1, [0.01], []), FakePass(2, [None], [], draft=True)])
    assert notices[-1].draft is None and notices[-1].check is None
    assert [notice.check.n_rows for notice in notices if notice.check] == [1]


def test_cancelling_takes_effect_between_passes():
    stop, log = threading.Event(), []

    def stop_at_three(notice):
        if notice.n_done == 3:
            stop.set()

    with pytest.raises(Cancelled):
        measure([FakePass(1, [0.01], log), FakePass(2, [0.01], log)], stop_at_three, stop)
    assert len(log) == 3
