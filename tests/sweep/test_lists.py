"""Lists as people type them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.sweep.lists import LONGEST_LIST, numbers, whole_numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("4", (4,)), ("1,2,4", (1, 2, 4)), (" 1, 2 ,4 ", (1, 2, 4)), ("1:4", (1, 2, 3, 4)),
        ("1:8:3", (1, 4, 7)), ("1:3,8,16:32:8", (1, 2, 3, 8, 16, 24, 32)), ("4,2,4", (4, 2)),
        ("0", (0,)), ("-1", (-1,)), ("3:3", (3,)),
    ],
)  # fmt: skip
def test_whole_numbers(text: str, values: tuple[int, ...]) -> None:
    assert whole_numbers(text) == values


def test_numbers_have_no_dust() -> None:
    assert numbers("0:0.5:0.1") == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert numbers("0,0.5,.75") == (0.0, 0.5, 0.75)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"), ("1,,2", "between two commas"), ("a", "a is not a number"),
        ("1:", "Nothing is not a number"), ("8:1", "runs backwards; write 1:8"),
        ("1:8:0", "step of 1:8:0"), ("1:8:-1", "step of"), ("1:2:3:4", "is no range"),
        ("1.5", "1.5 is not a whole number"), ("nan", "nan"), ("inf", "inf"), ("1e99", "1e99"),
        ("1:1000000", "more than"), ("0:1:0.000001", "more than"), ("1e-999999", "1e-999999"),
        ("1:600,700:1300", "more than"),
    ],
)  # fmt: skip
def test_what_is_no_list_is_told_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", "\\(")) as caught:
        whole_numbers(text)
    assert str(caught.value).endswith(".")


@given(st.lists(st.integers(-(2**31) + 1, 2**31 - 1), min_size=1, max_size=50))
def test_a_written_list_is_read_back(values: list[int]) -> None:
    assert whole_numbers(",".join(map(str, values))) == tuple(dict.fromkeys(values))


@given(st.text(max_size=30))
def test_anything_else_is_refused_or_a_list(text: str) -> None:
    with suppress(ValueError):
        assert len(numbers(text)) <= LONGEST_LIST
