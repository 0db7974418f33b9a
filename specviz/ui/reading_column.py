"""The column in the middle of the window: verdict, conversation, legend and prompt share it."""

from __future__ import annotations

MARGIN = 26
WIDEST = 980
"""Wider lines are hard to read; on a wide screen the column stands in the middle."""


def reading_column(width: int) -> tuple[int, int]:
    """Left edge and width of the column in a view of this width, in pixels."""
    column = max(min(width - 2 * MARGIN, WIDEST), 120)
    return max((width - column) // 2, MARGIN), column
