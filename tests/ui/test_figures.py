"""Numbers as the window writes them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.ui import figures

T = figures.THIN


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (1024, f"1{T}024"), (151936, f"151{T}936"), (None, "–")],
)
def test_thousands_are_grouped_by_thin_spaces(value, text):
    assert figures.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (24.13, "24.1"),
        (0.837, "0.84"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.96, "100"),
        (1234.5, f"1{T}234"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_rates_have_three_digits(value, text):
    assert figures.rate(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, f"0{T}%"),
        (0.001, f"<{T}1{T}%"),
        (0.684, f"68{T}%"),
        (0.9999, f">{T}99{T}%"),
        (1.0, f"100{T}%"),
        (None, "–"),
    ],
)
def test_only_the_whole_is_called_a_hundred_percent(value, text):
    assert figures.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.41, f"0.41{T}s"),
        (12.34, f"12.3{T}s"),
        (59.96, f"1{T}min 00{T}s"),
        (125, f"2{T}min 05{T}s"),
        (3725, f"1{T}h 02{T}min"),
        (None, "–"),
    ],
)
def test_times(value, text):
    assert figures.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0008, f"0.8{T}ms"), (0.133, f"133{T}ms"), (1.5, f"1.50{T}s"), (0.0, f"0{T}ms")],
)
def test_times_of_steps(value, text):
    assert figures.short_time(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, f"0{T}B"),
        (639_446_688, f"639{T}MB"),
        (9_001_752_960, f"9.0{T}GB"),
        (999_900_000, f"1.0{T}GB"),
        (1500, f"2{T}kB"),
    ],
)
def test_sizes(value, text):
    assert figures.file_size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(135_000_000, f"135{T}M"), (14_770_000_000, f"14.8{T}B"), (0, "–"), (512, "512")],
)
def test_parameters(value, text):
    assert figures.parameters(value) == text


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8))
def test_shares_add_up_to_a_hundred(parts):
    shares = figures.shares_in_percent(parts)
    assert sum(shares) == (100 if sum(parts) > 0 else 0)
    assert all(share >= 0 for share in shares)
