"""How spans of an answer look: ink, tinted ground and a second cue for each source.

Knows nothing of traces; paints the lines of a `TokenLayout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from specviz.ui.theme import Palette, tint
from specviz.ui.token_layout import ANSWER_SPACING, Run, Style, TokenLayout

BASELINE = ANSWER_SPACING.baseline
GROUND_ABOVE = 15
GROUND_BELOW = 2
CUE_HEIGHT = 2
DOT_PITCH = 4
CORNER = 3.0
"""Of a line: the ground reaches from above to below the baseline; the underline follows."""


def ink(style: Style, palette: Palette) -> str:
    """Text colour of a style."""
    return {
        Style.PLAIN: palette.text,
        Style.ACCEPTED: palette.accepted,
        Style.COPIED: palette.accepted,
        Style.RECOVERED: palette.recovered,
        Style.BONUS: palette.bonus,
        Style.REJECTED: palette.rejected,
    }[style]


def ground(style: Style, palette: Palette, over: str | None = None) -> str | None:
    """Tinted ground of a style, or None where it has none."""
    if style in (Style.PLAIN, Style.REJECTED):
        return None
    return tinted(ink(style, palette), palette, over)


def tinted(colour: str, palette: Palette, over: str | None = None) -> str:
    """A tint of at most 15 % that keeps its hue.

    On a light ground the dark inks would all come out grey, so warm ones are brightened first.
    """
    over = over or palette.ground
    if palette.is_dark:
        return tint(colour, over, 0.14)
    mixed = QColor(colour)
    hue, saturation, value = mixed.hue(), mixed.saturation(), mixed.value()
    if 0 <= hue < 70:
        mixed.setHsv(hue + 7, saturation, max(value, 230))
        return tint(mixed.name(), over, 0.15)
    return tint(colour, over, 0.12)


@dataclass(slots=True)
class Inks:
    """The colours of one palette, made once. `selection` lies under selected text."""

    palette: Palette
    text: dict[Style, QColor] = field(default_factory=dict)
    grounds: dict[Style, QColor | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for style in Style:
            self.text[style] = QColor(ink(style, self.palette))
            tinted_ground = ground(style, self.palette)
            self.grounds[style] = QColor(tinted_ground) if tinted_ground else None

    @property
    def selection(self) -> QColor:
        return QColor(tint(self.palette.bonus, self.palette.ground, 0.32))


def selection_rect(rect: QRectF) -> QRectF:
    """The part of a line's rectangle that stands for its text."""
    top = rect.top() + BASELINE - GROUND_ABOVE
    return QRectF(rect.left(), top, rect.width(), GROUND_ABOVE + GROUND_BELOW + CUE_HEIGHT)


def paint_lines(
    painter: QPainter,
    layout: TokenLayout,
    inks: Inks,
    first: int,
    after: int,
    selected: tuple[int, int] | None = None,
    mixed_inks: Callable[[int], tuple[QColor, QColor] | None] = lambda item: None,
) -> None:
    """Paint lines `first` to `after` with the layout's corner at the painter's origin.

    `mixed_inks` tells, for a span whose characters have several sources, the two colours of its
    mark.
    """
    for number in range(first, after):
        top = layout.top_of(number)
        line = layout.shaped(number)
        for run in line.runs:
            _paint_ground(painter, run, top, inks)
        if selected is not None:
            start, end = layout.bounds_of(number)
            a, b = max(selected[0], start), min(selected[1], end)
            for rect in layout.rects_between(a, b):
                painter.fillRect(selection_rect(rect), inks.selection)
        origin = QPointF(line.shift, top)
        for run in line.runs:
            painter.setPen(inks.text[run.style])
            for glyphs in run.glyphs:
                painter.drawGlyphRun(origin, glyphs)
            _paint_cue(painter, run, top, inks)
        _paint_mixed(painter, layout, number, inks, mixed_inks)


def _paint_ground(painter: QPainter, run: Run, top: float, inks: Inks) -> None:
    colour = inks.grounds[run.style]
    if colour is None or run.right <= run.left:
        return
    above, below = top + BASELINE - GROUND_ABOVE, top + BASELINE + GROUND_BELOW
    corner = min(CORNER, (run.right - run.left) / 2)
    path = QPainterPath(QPointF(run.left, below))
    path.lineTo(run.left, above + corner)
    path.quadTo(run.left, above, run.left + corner, above)
    path.lineTo(run.right - corner, above)
    path.quadTo(run.right, above, run.right, above + corner)
    path.lineTo(run.right, below)
    painter.fillPath(path, colour)


def _paint_cue(painter: QPainter, run: Run, top: float, inks: Inks) -> None:
    width = run.right - run.left
    colour = inks.text[run.style]
    y = top + BASELINE + GROUND_BELOW
    if width <= 0 or run.style is Style.PLAIN:
        return
    if run.style is Style.REJECTED:
        painter.setPen(QPen(colour, 1.5))
        middle = top + BASELINE - 4.0
        painter.drawLine(QLineF(run.left, middle, run.right, middle))
    elif run.style is Style.RECOVERED:
        x = float(round(run.left))
        while x < run.right - 0.5:
            painter.fillRect(QRectF(x, y, min(CUE_HEIGHT, run.right - x), CUE_HEIGHT), colour)
            x += DOT_PITCH
    elif run.style is Style.COPIED:
        painter.fillRect(QRectF(run.left, y, width, 1), colour)
        painter.fillRect(QRectF(run.left, y + 2, width, 1), colour)
    else:
        painter.fillRect(QRectF(run.left, y, width, CUE_HEIGHT), colour)


def _paint_mixed(
    painter: QPainter,
    layout: TokenLayout,
    number: int,
    inks: Inks,
    mixed_inks: Callable[[int], tuple[QColor, QColor] | None],
) -> None:
    start, end = layout.bounds_of(number)
    if start == end:
        return
    for item in range(layout.item_at_offset(start), layout.item_at_offset(end - 1) + 1):
        colours = mixed_inks(item)
        if colours is None:
            continue
        a = max(layout.start_of(item), start)
        # the spanning character is the first one of the span that completes it
        for rect in layout.rects_between(a, min(a + 1, end)):
            mark_mixed(painter, rect, colours, inks)


def mark_mixed(painter: QPainter, rect: QRectF, colours: tuple[QColor, QColor], inks: Inks) -> None:
    """The mark of a character that spans tokens of two sources: a bracket in both colours."""
    left, right = rect.left() + 0.5, rect.right() - 0.5
    y = rect.top() + BASELINE + GROUND_BELOW + 1
    middle = (left + right) / 2
    painter.fillRect(
        QRectF(rect.left(), y - 1, rect.width(), CUE_HEIGHT), QColor(inks.palette.ground)
    )
    for colour, x0, x1, outer in (
        (colours[0], left, middle - 1, left),
        (colours[1], middle + 1, right, right),
    ):
        painter.setPen(QPen(colour, CUE_HEIGHT))
        painter.drawLine(QLineF(x0, y, x1, y))
        painter.drawLine(QLineF(outer, y, outer, y - 4))


def text_frame(rect: QRectF) -> QRectF:
    """A frame around the text of a line's rectangle, its underline included."""
    return selection_rect(rect).adjusted(-0.5, -2.5, 0.5, 2.5)


def outline(
    painter: QPainter,
    frames: Iterable[QRectF],
    colour: QColor,
    pen_style: Qt.PenStyle = Qt.PenStyle.SolidLine,
) -> None:
    """Rounded frames around spans, one for each line they touch."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(colour, 1.25, pen_style))
    for frame in frames:
        painter.drawRoundedRect(frame, 4, 4)
