"""The acceptance rule, row by row."""

from __future__ import annotations

import pytest

from specviz.engine.verify import Verdict, verify

END = 99


@pytest.mark.parametrize(
    ("draft", "rows", "expected"),
    [
        ([], [7], Verdict(0, 7, None, 1)),
        ([1, 2], [1, 2, 3], Verdict(2, 3, None, 3)),
        ([1, 2], [5], Verdict(0, 5, None, 1)),
        ([1, 2, 3], [1, 9], Verdict(1, 9, None, 2)),
        ([], [END], Verdict(0, None, END, 1)),
        ([1, END, 3], [1, END], Verdict(1, None, END, 2)),
        ([1, END], [1, END], Verdict(1, None, END, 2)),
        ([1], [1, END], Verdict(1, None, END, 2)),
        ([1, 2], [END], Verdict(0, None, END, 1)),
    ],
)
def test_walk_over_the_rows(draft, rows, expected):
    asked = []

    def sample(row):
        asked.append(row)
        return rows[row]

    assert verify(draft, sample, lambda token_id: token_id == END) == expected
    # rows behind the first difference must not touch the sampler
    assert asked == list(range(len(rows)))
