"""The scale of a sweep's chart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specviz.ui.sweep_scale import LEAST_SPAN, scale_for


def test_nothing_measured_has_a_scale_around_the_baseline():
    scale = scale_for(())
    assert scale.low < LEAST_SPAN[0] and scale.high > LEAST_SPAN[1]
    assert 1.0 in scale.ticks


@given(st.lists(st.floats(0.01, 200), max_size=20))
def test_everything_is_in_sight_and_the_baseline_is_named(speedups):
    scale = scale_for(speedups)
    assert all(0 < scale.share(value) < 1 for value in (*speedups, 1.0))
    assert 1.0 in scale.ticks
    assert 1 <= len(scale.ticks) <= 12
    assert all(0 <= scale.share(tick) <= 1 for tick in scale.ticks)
    assert list(scale.ticks) == sorted(set(scale.ticks))
