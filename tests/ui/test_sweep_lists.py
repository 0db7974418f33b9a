"""Several numbers as they are typed: lists, ranges, and what cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.ui.sweep_lists import MOST_VALUES, ListFormat

WHOLE = ListFormat(label="Draft tokens", minimum=1, maximum=511)
SHARE = ListFormat(label="Stop below", minimum=0, maximum=1, decimals=2, example="0, 0.5")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", ()),
        ("  ", ()),
        ("4", (4,)),
        ("1, 2, 4", (1, 2, 4)),
        ("4;2 1", (1, 2, 4)),
        ("2, 2,2", (2,)),
        ("1:4", (1, 2, 3, 4)),
        ("1:8:3", (1, 4, 7)),
        ("8, 1:3", (1, 2, 3, 8)),
        ("1,", (1,)),
        ("3:3", (3,)),
    ],
)
def test_lists_and_ranges(text, values):
    assert WHOLE.parse(text) == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0, .5 0.7", (0, 0.5, 0.7)),
        ("0:0.3:0.1", (0, 0.1, 0.2, 0.3)),
        ("0.9:1:0.05", (0.9, 0.95, 1)),
    ],
)
def test_decimals(text, values):
    assert SHARE.parse(text) == values


@pytest.mark.parametrize(
    "text", ["x", "1.5", "0", "512", "-1", "1:", ":", "1:2:3:4", "nan", "inf", "1e999", "1,a"]
)
def test_what_cannot_be_read_is_said_with_the_limits(text):
    with pytest.raises(ValueError, match=r"whole numbers from 1 to 511, such as 1, 2, 4 or 1:8\.$"):
        WHOLE.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("8:1", "begins with its smaller value"),
        ("1:200", f"at most {MOST_VALUES} values"),
        (",".join(map(str, range(1, 70))), f"at most {MOST_VALUES} values"),
    ],
)
def test_ranges_that_go_wrong(text, words):
    with pytest.raises(ValueError, match=words):
        WHOLE.parse(text)


def test_a_range_of_decimals_needs_its_step():
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        SHARE.parse("0:1")
    with pytest.raises(ValueError, match="a step above 0"):
        SHARE.parse("0:1:0")


@given(st.text(max_size=30))
def test_whatever_is_typed_gives_values_within_the_limits_or_a_sentence(text):
    for wanted in (WHOLE, SHARE):
        try:
            values = wanted.parse(text)
        except ValueError as error:
            assert str(error).startswith(wanted.label) and str(error).endswith(".")
        else:
            assert len(values) <= MOST_VALUES
            assert list(values) == sorted(set(values))
            assert all(wanted.minimum <= value <= wanted.maximum for value in values)


@given(st.sets(st.integers(1, 511), max_size=MOST_VALUES))
def test_written_out_they_come_back(values):
    assert WHOLE.parse(", ".join(map(str, values))) == tuple(sorted(values))
