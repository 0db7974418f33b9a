"""The verdict in one line, its reasons in two or three; of fixed height, so that nothing jumps."""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
)
from PySide6.QtWidgets import QLabel, QMenu, QPushButton, QSizePolicy, QWidget

from specviz.trace.comparison import Comparison
from specviz.trace.trace import Trace
from specviz.ui import verdict_words
from specviz.ui.plain_text import describe
from specviz.ui.reading_column import reading_column
from specviz.ui.theme import DARK, Palette
from specviz.ui.typefaces import Weight, display_font, interface_font
from specviz.ui.verdict_words import Parts, Tone, Words, plain

HEIGHT = 102
HEADLINE_TOP = 17
SENTENCES_TOP = 28
GAP = 22
LINE = 20
MOST_LINES = 3
SMALLEST_HEADLINE_PX = 18
CHECK = "Check output…"
CHECK_TOP = 60
LEAST_HEADLINE = 118


def tone_colour(tone: Tone, palette: Palette) -> str:
    """Green only when faster."""
    return {
        Tone.FASTER: palette.accepted,
        Tone.FLAT: palette.recovered,
        Tone.SLOWER: palette.slower,
        Tone.QUIET: palette.quiet,
        Tone.PLAIN: palette.text,
    }[tone]


def _units(text: str) -> int:
    """Length as Qt counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class _Sentences(QWidget):
    """Up to three lines of text in which figures stand out. What does not fit is left out whole,
    and told by the tooltip."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._words = Words("", Tone.QUIET)
        self._lines: list[QTextLayout] = []
        self._shown_for: tuple[Words, int] | None = None
        self._palette = DARK

    def set_words(self, words: Words, palette: Palette) -> None:
        self._words, self._palette = words, palette
        self._shown_for = None
        self.update()

    def _formatted(self, parts: Parts) -> QTextLayout:
        layout = QTextLayout(plain(parts), interface_font())
        bold = QTextCharFormat()
        bold.setFontWeight(Weight.DemiBold)
        ranges, at = [], 0
        for part in parts:
            if part.is_figure:
                span = QTextLayout.FormatRange()
                span.start, span.length, span.format = at, _units(part.text), bold
                ranges.append(span)
            at += _units(part.text)
        layout.setFormats(ranges)
        return layout

    def _break(self, parts: Parts) -> QTextLayout:
        layout = self._formatted(parts)
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(self.width())
        layout.endLayout()
        return layout

    def _shortened(self, text: str, layout: QTextLayout, room: int) -> QTextLayout:
        """The beginning of a text that would be too long, in whole words."""
        while layout.lineCount() > room and " " in text:
            text = text.removesuffix("…").rsplit(" ", 1)[0].rstrip(" ,;:·") + "…"
            layout = self._break((verdict_words.Part(text),))
        return layout

    def _arrange(self) -> None:
        """Choose as many sentences, from the first, as three lines have room for."""
        words = self._words
        first = [self._break(words.first)] if words.first else []
        room = MOST_LINES - sum(layout.lineCount() for layout in first)
        rest = list(words.rest)
        while rest:
            flowing: list[verdict_words.Part] = []
            for parts in rest:
                flowing += [verdict_words.Part(" "), *parts] if flowing else parts
            layout = self._break(tuple(flowing))
            if len(rest) == 1 and room > 0:
                layout = self._shortened(plain(tuple(flowing)), layout, room)
            if layout.lineCount() <= room:
                first.append(layout)
                break
            rest.pop()
        self._lines = first
        self._shown_for = (words, self.width())
        whole = room >= 0 and len(rest) == len(words.rest)
        self.setToolTip("" if whole else words.text)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._shown_for != (self._words, self.width()):
            self._arrange()
        painter = QPainter(self)
        painter.setPen(QColor(self._palette.quiet))
        number = 0
        for layout in self._lines:
            for i in range(layout.lineCount()):
                if number == MOST_LINES:
                    return
                line = layout.lineAt(i)
                self._draw(painter, layout, i, QPointF(0, number * LINE - line.y()))
                number += 1

    def _draw(self, painter: QPainter, layout: QTextLayout, i: int, at: QPointF) -> None:
        line = layout.lineAt(i)
        bold = [(r.start, r.start + r.length) for r in layout.formats()]
        start, end = line.textStart(), line.textStart() + line.textLength()
        cuts = sorted({start, end, *(c for pair in bold for c in pair if start < c < end)})
        for a, b in pairwise(cuts):
            is_figure = any(x <= a and b <= y for x, y in bold)
            painter.setPen(QColor(self._palette.text if is_figure else self._palette.quiet))
            for glyphs in line.glyphRuns(a, b - a):
                painter.drawGlyphRun(at, glyphs)


class VerdictBar(QWidget):
    """What the runs come to. The text can be copied with Ctrl+C or from the context menu.

    `offers_check`: a link below the headline leads to the lossless check.

    Signals:
        check_requested(): more is to be said of whether the output is the baseline's.
    """

    check_requested = Signal()

    def __init__(self, parent: QWidget | None = None, *, offers_check: bool = False) -> None:
        super().__init__(parent)
        self.setObjectName("verdict")
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._palette = DARK
        self._headline = QLabel(self)
        self._headline.setObjectName("verdict-headline")
        self._headline.setTextFormat(Qt.TextFormat.PlainText)
        self._sentences = _Sentences(self)
        self._check = self._check_link() if offers_check else None
        self._words = Words("", Tone.QUIET)
        self.show_idle("")

    def _check_link(self) -> QPushButton:
        link = QPushButton(CHECK, self)
        link.setObjectName("check-output-button")
        link.setProperty("kind", "link")
        link.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        link.clicked.connect(self.check_requested)
        describe(
            link,
            "Check output",
            "Tells whether the output is the baseline's, what explains a fork, and can evaluate "
            "every step anew.",
        )
        link.hide()
        return link

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self._show(self._words)

    def show_idle(self, sentence: str, headline: str = "No run yet") -> None:
        """Before a run."""
        self._show(verdict_words.idle(sentence, headline))

    def show_running(self, trace: Trace, baseline: Trace | None = None) -> None:
        """While a run is on; call it as often as digits can be read."""
        self._show(verdict_words.running(trace, baseline))

    def show_result(
        self, baseline: Trace | None, speculative: Trace | None, comparison: Comparison | None
    ) -> None:
        """After the runs, whichever of them there are, however they ended."""
        self._show(verdict_words.result(baseline, speculative, comparison))

    def show_words(self, words: Words) -> None:
        """Anything else there is to say."""
        self._show(words)

    def show_check(self, shown: bool) -> None:
        """Whether there is an output that can be looked into."""
        if self._check is not None:
            self._check.setVisible(shown)

    def show_checking(self, under_way: bool) -> None:
        """Whether the output is being evaluated anew at the moment."""
        if self._check is not None:
            self._check.setText("Checking…" if under_way else CHECK)

    @property
    def words(self) -> Words:
        """What is shown, also where it is too long for the bar."""
        return self._words

    def text(self) -> str:
        """Headline and sentences as plain text."""
        return self._words.text

    @property
    def headline_colour(self) -> str:
        return tone_colour(self._words.tone, self._palette)

    def _show(self, words: Words) -> None:
        self._words = words
        self._headline.setText(words.headline)
        style = f"color: {self.headline_colour}; background: transparent;"
        if style != self._headline.styleSheet():
            self._headline.setStyleSheet(style)
        self._sentences.set_words(words, self._palette)
        self.setAccessibleName("Verdict")
        self.setAccessibleDescription(words.text)
        self._place()

    def _place(self) -> None:
        left, width = reading_column(self.width())
        font = display_font()
        wanted = QFontMetricsF(font).horizontalAdvance(self._words.headline)
        if wanted > width * 0.45:
            font = display_font(max(int(28 * width * 0.45 / wanted), SMALLEST_HEADLINE_PX))
            wanted = QFontMetricsF(font).horizontalAdvance(self._words.headline)
        if self._words.tone is Tone.QUIET and self._words.first:
            # live digits change in place: leave room so that the sentences stand still
            wanted = max(wanted, 120)
        self._headline.setFont(font)
        self._headline.setGeometry(QRect(left, HEADLINE_TOP, int(wanted) + 4, 36))
        x = left + int(wanted) + GAP
        if self._check is not None:
            # the link stands below the headline and must not run into the sentences
            self._check.setGeometry(QRect(left - 4, CHECK_TOP, 100, 22))
            x = max(x, left + LEAST_HEADLINE)
        self._sentences.setGeometry(QRect(x, SENTENCES_TOP, left + width - x, LINE * MOST_LINES))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()
        super().resizeEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(640, HEIGHT)

    def copy(self) -> None:
        """Copy headline and sentences."""
        QGuiApplication.clipboard().setText(self.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.addAction("Copy verdict").triggered.connect(self.copy)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())
