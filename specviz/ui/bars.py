"""Bars side by side, their labels, and which of them has room for one: for charts of counts.

Knows nothing of what the bars mean.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

from specviz.ui.typefaces import figure_font

LABEL_PX = 12


def labels(pitch: float, widest: str, last: str) -> tuple[QFont, int]:
    """A font in which labels stand apart, and every how many bars have one.

    Goes by the widest value there can be, so that nothing changes while values do.
    """
    rooms = []
    for px in (LABEL_PX, LABEL_PX - 2, LABEL_PX - 3):
        font = figure_font(px)
        measure = QFontMetricsF(font)
        rooms.append(max(measure.horizontalAdvance(widest), measure.horizontalAdvance(last)) + 2)
        if rooms[-1] <= pitch:
            return font, 1
    return figure_font(LABEL_PX - 2), math.ceil(rooms[1] / pitch)


def draw_centred(
    painter: QPainter, centre: float, top: float, height: float, text: str, within: float
) -> None:
    """A label around `centre` that stays between 0 and `within`: a thin first or last bar is
    narrower than its label."""
    half = QFontMetricsF(painter.font()).horizontalAdvance(text) / 2
    x = min(max(centre, half), within - half)
    painter.drawText(QRectF(x - 30, top, 60, height), Qt.AlignmentFlag.AlignCenter, text)


def draw_bar(painter: QPainter, bar: QRectF) -> None:
    """A bar with corners as round as its size allows, in the pen and brush that are set."""
    radius = min(3.0, bar.width() / 3, bar.height() / 2)
    painter.drawRoundedRect(bar, radius, radius)
