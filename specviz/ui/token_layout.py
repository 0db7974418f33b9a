"""Line layout of an answer: spans of text to lines, and places on the page back to spans.

Only what is new is broken into lines, and only the lines asked for are shaped for painting, so
that neither cost grows with the length of the answer. A head of the text has lines of its own, set
in a little, or is folded away. Knows nothing of colours or traces.
"""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QGlyphRun,
    QTextCharFormat,
    QTextLayout,
    QTextLine,
    QTextOption,
)

CACHED_LINES = 256
_UNBOUNDED = 1.0e6


@dataclass(frozen=True, slots=True)
class Spacing:
    """In pixels: height of a line and of an empty one, and how far down the baseline is."""

    line: int
    blank: int
    baseline: int


ANSWER_SPACING = Spacing(line=31, blank=14, baseline=20)
"""Twice the text size: room for underlines and rejected tokens, so that no line ever jumps."""

HEAD_INDENT = 16
EVERYTHING = 1 << 60
"""As the length of a head: all there is, and all that will come."""


class Style(IntEnum):
    """How a span is drawn."""

    PLAIN = 0
    ACCEPTED = 1
    COPIED = 2
    RECOVERED = 3
    BONUS = 4
    REJECTED = 5


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of one style on a line. `left` and `right` leave trailing blanks out."""

    style: Style
    left: float
    right: float
    glyphs: list[QGlyphRun]
    first_item: int
    after_item: int


class _Units:
    """Python counts characters, Qt counts UTF-16 units; this converts inside one line."""

    def __init__(self, text: str) -> None:
        wide = not text.isascii() and max(text) > "\uffff"
        self._sums = [0, *accumulate(2 if c > "\uffff" else 1 for c in text)] if wide else None

    def to_qt(self, offset: int) -> int:
        return offset if self._sums is None else self._sums[offset]

    def from_qt(self, offset: int) -> int:
        if self._sums is None:
            return offset
        return max(bisect_right(self._sums, offset) - 1, 0)


class ShapedLine:
    """One line, shaped as a whole, so that colours never break a ligature or a joined script."""

    def __init__(
        self, text: str, layout: QTextLayout, line: QTextLine, units: _Units, shift: float
    ) -> None:
        self.text = text
        self.shift = shift
        self.width = line.naturalTextWidth()
        self.runs: list[Run] = []
        self._layout = layout  # owns the line
        self._line = line
        self._units = units
        self._both_ways = not text.isascii() and any(
            unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text
        )

    def _x(self, offset: int, edge: QTextLine.Edge) -> float:
        x: Any = self._line.cursorToX(self._units.to_qt(min(offset, len(self.text))), edge)
        # the binding returns the position beside the place
        return self.shift + float(x[0] if isinstance(x, tuple) else x)

    def extent(self, start: int, end: int) -> tuple[float, float]:
        """Left and right edge of the characters from `start` to `end` of the line."""
        leading, trailing = QTextLine.Edge.Leading, QTextLine.Edge.Trailing
        if not self._both_ways or start >= end:
            return self._x(start, leading), self._x(end, leading)
        edges = [self._x(i, edge) for i in range(start, end) for edge in (leading, trailing)]
        return min(edges), max(edges)

    def offset_at(self, x: float, *, between: bool = True) -> int:
        """Offset of the gap nearest to `x`, or (not `between`) of the character under it."""
        kind = (
            QTextLine.CursorPosition.CursorBetweenCharacters
            if between
            else QTextLine.CursorPosition.CursorOnCharacter
        )
        return self._units.from_qt(self._line.xToCursor(x - self.shift, kind))

    def glyphs(self, start: int, end: int) -> list[QGlyphRun]:
        first = self._units.to_qt(start)
        return self._line.glyphRuns(first, self._units.to_qt(end) - first)


class TokenLayout:
    """Spans of text, one after the other, in lines of a given width.

    A span (item) has a text, a style and a number of the caller's own (`refs`). Offsets count
    characters of all spans together. Call `settle` after a batch of `append`.

    Attributes:
        head: so many characters at the beginning are the head; what is behind it begins a line.
        folded: the head has no place on the page.
        n_broken: characters ever given to the line breaker; tells whether work is incremental.
    """

    def __init__(
        self, font: QFont, small: QFont, width: float, spacing: Spacing = ANSWER_SPACING
    ) -> None:
        self.spacing = spacing
        self._font = font
        self._small = QTextCharFormat()
        self._small.setFont(small)
        self.width = width
        self.head = 0
        self.folded = False
        self.n_broken = 0
        self._settled = 0
        self._tab = QFontMetricsF(font).horizontalAdvance(" ") * 4
        self._cache: OrderedDict[int, ShapedLine] = OrderedDict()
        self.clear()

    # Spans ---------------------------------------------------------------------------------
    def clear(self) -> None:
        """Forget all spans. Whether a head is folded stays."""
        self.head = 0
        self.texts: list[str] = []
        self.styles = bytearray()
        self.refs = array("q")
        self._starts = array("Q")
        self._length = 0
        self._has_small = False
        self._drop_lines()

    def append(self, text: str, style: Style, ref: int) -> None:
        """Add a span of text that may be drawn (see pieces.py)."""
        self._starts.append(self._length)
        self.texts.append(text)
        self.styles.append(style)
        self.refs.append(ref)
        self._length += len(text)
        self._has_small |= style is Style.REJECTED

    def truncate(self, n_items: int) -> None:
        """Keep the first `n_items` spans. Lines are made anew at the next `settle`."""
        if n_items >= len(self.texts):
            return
        self._length = self._starts[n_items]
        del self.texts[n_items:]
        del self.styles[n_items:]
        del self.refs[n_items:]
        del self._starts[n_items:]
        keep = bisect_right(self._line_starts, self._length) - 1
        self._drop_lines(max(keep, 0))

    @property
    def n_items(self) -> int:
        return len(self.texts)

    @property
    def length(self) -> int:
        return self._length

    def start_of(self, item: int) -> int:
        """Offset at which a span begins; the end of all for the number of spans."""
        return self._starts[item] if item < len(self._starts) else self._length

    def item_at_offset(self, offset: int) -> int:
        """The span that holds the character at `offset`; the last one behind the end."""
        return max(bisect_right(self._starts, offset) - 1, 0)

    def text_between(self, start: int, end: int) -> str:
        """The characters from `start` to `end`."""
        if start >= end:
            return ""
        first, last = self.item_at_offset(start), self.item_at_offset(end - 1)
        text = "".join(self.texts[first : last + 1])
        base = self._starts[first]
        return text[start - base : end - base]

    # Lines ---------------------------------------------------------------------------------
    def set_width(self, width: float) -> None:
        """Break every line anew for another width."""
        if width != self.width:
            self.width = width
            self._drop_lines()
            self.settle()

    def set_head(self, length: int, *, folded: bool) -> None:
        """Make the first `length` characters a head. Its lines are made at the next `settle`."""
        before, was_folded = self.head, self.folded
        if (length, folded) == (before, was_folded):
            return
        self.head, self.folded = length, folded
        first = min(before, length)
        if folded or was_folded:
            self._drop_lines()
        elif first < self._length:
            # a word cut by the end of the head may fit on the line before
            self._drop_lines(max(self.line_of(first) - 1, 0))

    @property
    def hidden(self) -> int:
        """So many characters at the beginning have no place on the page."""
        return min(self.head, self._length) if self.folded else 0

    def settle(self) -> None:
        """Break into lines what was appended since the last call.

        The last two lines are made anew: the words at their end may have grown.
        """
        self._drop_lines(max(len(self._line_starts) - 2, 0))
        start = max(self._settled, self.hidden)
        middle = min(max(start, self.head), self._length)
        self._break_text(start, middle)
        self._break_text(middle, self._length)
        self._settled = self._length

    def _break_text(self, start: int, end: int) -> None:
        text = self.text_between(start, end)
        self.n_broken += len(text)
        paragraphs = text.split("\n")
        for i, paragraph in enumerate(paragraphs):
            is_last = i + 1 == len(paragraphs)
            self._break_paragraph(paragraph, start, has_newline=not is_last)
            start += len(paragraph) + 1

    def _break_paragraph(self, text: str, start: int, *, has_newline: bool) -> None:
        if not text:
            if has_newline:
                self._add_line(start, self.spacing.blank, False)
            return
        rtl = self._reads_from_the_right(text, start)
        units = _Units(text)
        layout = self._text_layout(text, start, units, rtl, wrap=True)
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(self.width - self._indent_at(start))
            self._add_line(start + units.from_qt(line.textStart()), self.spacing.line, rtl)
        layout.endLayout()

    def _indent_at(self, offset: int) -> int:
        return HEAD_INDENT if offset < self.head else 0

    def _reads_from_the_right(self, text: str, start: int) -> bool:
        n = len(self._line_starts)
        if n and start and start != self.head and self._character_at(start - 1) != "\n":
            return bool(self._line_rtl[n - 1])  # goes on with a paragraph begun before
        if text.isascii():
            return False
        for character in text:
            kind = unicodedata.bidirectional(character)
            if kind in ("L", "R", "AL"):
                return kind != "L"
        return False

    def _character_at(self, offset: int) -> str:
        item = self.item_at_offset(offset)
        return self.texts[item][offset - self._starts[item]]

    def _add_line(self, start: int, height: int, rtl: bool) -> None:
        self._line_starts.append(start)
        self._line_tops.append(self.height)
        self._line_rtl.append(rtl)
        self.height += height

    def _drop_lines(self, keep: int = 0) -> None:
        if keep == 0:
            self._line_starts = array("Q")
            self._line_tops = array("d")
            self._line_rtl = bytearray()
            self._settled = 0
            self.height = 0.0
            self._cache.clear()
            return
        if keep >= len(self._line_starts):
            return
        self._settled = self._line_starts[keep]
        self.height = self._line_tops[keep]
        for lines in (self._line_starts, self._line_tops, self._line_rtl):
            del lines[keep:]
        for i in [i for i in self._cache if i >= keep - 1]:
            del self._cache[i]

    def _text_layout(
        self, text: str, start: int, units: _Units, rtl: bool, *, wrap: bool
    ) -> QTextLayout:
        layout = QTextLayout(text, self._font)
        option = QTextOption()
        option.setWrapMode(
            QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
            if wrap
            else QTextOption.WrapMode.NoWrap
        )
        option.setTextDirection(
            Qt.LayoutDirection.RightToLeft if rtl else Qt.LayoutDirection.LeftToRight
        )
        option.setTabStopDistance(self._tab)
        layout.setTextOption(option)
        if self._has_small:
            layout.setFormats(self._small_ranges(start, start + len(text), units))
        return layout

    def _small_ranges(self, start: int, end: int, units: _Units) -> list[QTextLayout.FormatRange]:
        ranges = []
        for item in range(self.item_at_offset(start), self.item_at_offset(end - 1) + 1):
            if self.styles[item] != Style.REJECTED:
                continue
            first = units.to_qt(max(self.start_of(item) - start, 0))
            after = units.to_qt(min(self.start_of(item + 1), end) - start)
            small = QTextLayout.FormatRange()
            small.start, small.length, small.format = first, after - first, self._small
            ranges.append(small)
        return ranges

    # Places --------------------------------------------------------------------------------
    @property
    def n_lines(self) -> int:
        return len(self._line_starts)

    def line_at(self, y: float) -> int:
        """The line at height `y`; the first or last one outside."""
        return min(max(bisect_right(self._line_tops, y) - 1, 0), max(self.n_lines - 1, 0))

    def top_of(self, line: int) -> float:
        return self._line_tops[line]

    def height_of(self, line: int) -> float:
        after = self._line_tops[line + 1] if line + 1 < self.n_lines else self.height
        return after - self._line_tops[line]

    def bounds_of(self, line: int) -> tuple[int, int]:
        """Offsets of the first character of a line and of the first behind it."""
        after = self._line_starts[line + 1] if line + 1 < self.n_lines else self._length
        return self._line_starts[line], after

    def line_of(self, offset: int) -> int:
        """The line that holds the character at `offset`."""
        return min(max(bisect_right(self._line_starts, offset) - 1, 0), max(self.n_lines - 1, 0))

    def shaped(self, line: int) -> ShapedLine:
        """A line ready for painting; the ones used last are kept."""
        known = self._cache.get(line)
        if known is not None:
            self._cache.move_to_end(line)
            return known
        made = self._cache[line] = self._shape(line)
        if len(self._cache) > CACHED_LINES:
            self._cache.popitem(last=False)
        return made

    def _shape(self, number: int) -> ShapedLine:
        start, end = self.bounds_of(number)
        text = self.text_between(start, end).rstrip("\n")
        rtl = bool(self._line_rtl[number])
        units = _Units(text)
        layout = self._text_layout(text, start, units, rtl, wrap=False)
        layout.beginLayout()
        line = layout.createLine()
        line.setLineWidth(_UNBOUNDED)
        line.setPosition(QPointF(0.0, self.spacing.baseline - line.ascent()))
        layout.endLayout()
        shift = self.width - line.naturalTextWidth() if rtl else float(self._indent_at(start))
        shaped = ShapedLine(text, layout, line, units, shift)
        if text:
            shaped.runs = self._runs(shaped, start)
        return shaped

    def _runs(self, line: ShapedLine, start: int) -> list[Run]:
        visible = start + len(line.text.rstrip())
        after_all = start + len(line.text)
        runs = []
        item, last = self.item_at_offset(start), self.item_at_offset(after_all - 1)
        while item <= last:
            first, style = item, self.styles[item]
            while item <= last and self.styles[item] == style:
                item += 1
            a = max(self.start_of(first), start) - start
            b = min(self.start_of(item), after_all) - start
            if a == b:
                continue
            if style == Style.REJECTED:
                a += len(line.text[a:b]) - len(line.text[a:b].lstrip())
            left, right = line.extent(a, max(min(b, visible - start), a))
            runs.append(Run(Style(style), left, right, line.glyphs(a, b), first, item))
        return runs

    def rects_between(self, start: int, end: int) -> list[QRectF]:
        """One rectangle for each line that the characters from `start` to `end` touch."""
        rects: list[QRectF] = []
        start = max(start, self.hidden)
        if start >= end or not self.n_lines:
            return rects
        for number in range(self.line_of(start), self.line_of(end - 1) + 1):
            first, after = self.bounds_of(number)
            line = self.shaped(number)
            a, b = max(start, first) - first, min(end, after) - first
            left, right = line.extent(a, min(b, len(line.text)))
            top = self._line_tops[number]
            rects.append(QRectF(left, top, right - left, self.height_of(number)))
        return rects

    def offset_at(self, x: float, y: float) -> int:
        """Offset of the gap between characters nearest to a place."""
        if not self.n_lines or y < 0:
            return self.hidden
        number = self.line_at(y)
        if y >= self.height:
            return self._length
        return self.bounds_of(number)[0] + self.shaped(number).offset_at(x)

    def item_at(self, x: float, y: float) -> int | None:
        """The span drawn at a place, or None."""
        if not self.n_lines or not 0 <= y < self.height:
            return None
        number = self.line_at(y)
        line = self.shaped(number)
        if not line.text or not any(run.left <= x < run.right for run in line.runs):
            return None
        return self.item_at_offset(self.bounds_of(number)[0] + line.offset_at(x, between=False))
