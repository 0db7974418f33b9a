"""The legend under the conversation: what the colours mean, how many tokens of each there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QToolTip, QWidget

from specviz.trace import metrics
from specviz.trace.sources import (
    MODEL_SOURCES,
    NGRAM_SOURCES,
    SourceStatistics,
    SourceTally,
    sources_in_use,
)
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.answer import SOURCE_WORDS
from specviz.ui.plain_text import tooltip
from specviz.ui.reading_column import reading_column
from specviz.ui.theme import DARK, Palette, tint
from specviz.ui.token_layout import Style
from specviz.ui.token_paint import ink
from specviz.ui.typefaces import figure_font

HEIGHT = 30
TEXT_PX = 12
SWATCH = 11
GAP = 13


@dataclass(frozen=True, slots=True)
class Entry:
    """One colour of the legend; `n` is None where nothing is counted yet."""

    style: Style
    words: str
    short: str
    n: int | None

    def label(self, short: int) -> str:
        """With its count; `short` 1 leaves words out except of what drafts gave, 2 of all.

        3 is the bare count: the tooltip has the words.
        """
        if short > 2 and self.n is not None:
            return figures.count(self.n)
        is_drafted = self.style in (Style.ACCEPTED, Style.COPIED)
        words = self.short if short > (1 if is_drafted else 0) else self.words
        return words if self.n is None else f"{words} {figures.count(self.n)}"


class RejectedToggle(QAbstractButton):
    """Shows or hides rejected drafts in the text: struck-through letters, a word, a count."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("rejected-toggle")
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("Show rejected drafts")
        self.setAccessibleDescription(
            "Shows what the draft proposed and the target refused, before what replaced it."
        )
        self.setToolTip(self.accessibleDescription())
        self._palette = DARK
        self.setText("rejected")

    def apply_palette(self, palette: Palette) -> None:
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        small, words = self._fonts()
        width = QFontMetricsF(small).horizontalAdvance("abc")
        width += 6 + QFontMetricsF(words).horizontalAdvance(self.text())
        return QSize(int(width) + 14, 22)

    def _fonts(self) -> tuple[QFont, QFont]:
        return figure_font(11), figure_font(TEXT_PX)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self._palette
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        if self.isChecked() or self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            share = 0.15 if self.isChecked() else 0.08
            painter.setBrush(QColor(tint(palette.rejected, palette.ground, share)))
            painter.drawRoundedRect(frame, 6, 6)
        if self.hasFocus():
            painter.setPen(QPen(QColor(palette.accent), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(frame, 6, 6)
        small, words = self._fonts()
        colour = QColor(palette.rejected)
        x, baseline = 7.0, self.height() / 2 + 4
        width = QFontMetricsF(small).horizontalAdvance("abc")
        painter.setPen(QPen(colour, 1.5))
        painter.setFont(small)
        painter.drawText(QPointF(x, baseline), "abc")
        painter.drawLine(QLineF(x - 1, baseline - 3.5, x + width + 1, baseline - 3.5))
        painter.setFont(words)
        painter.drawText(QPointF(x + width + 6, baseline), self.text())


class Legend(QWidget):
    """Colours with their counts on the left, tokens and time to the first one on the right.

    Signals:
        show_rejected_changed: the reader wants to see rejected drafts, or not any more.
    """

    show_rejected_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("legend")
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Legend")
        self._palette = DARK
        self._trace: Trace | None = None
        self._baseline: Trace | None = None
        self._tally: SourceTally | None = None
        self._sources: tuple[SourceStatistics, ...] = ()
        self._seen: tuple[int, bool] | None = None
        self._entries: list[Entry] = []
        self._right: tuple[str, ...] = ("",)
        self._short = 0
        self._boxes: list[tuple[QRectF, Entry]] = []
        self._toggle = RejectedToggle(self)
        self._toggle.toggled.connect(self.show_rejected_changed)
        self.show_trace(None)

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self._palette = palette
        self._toggle.apply_palette(palette)
        self.update()

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Count the tokens of the run whose answer is shown."""
        self._baseline = baseline if speculative is not None else None
        self.show_trace(speculative if speculative is not None else baseline)

    def show_trace(self, trace: Trace | None) -> None:
        """Count the tokens of one run."""
        self._trace = trace
        self._tally = SourceTally(trace) if trace is not None else None
        self._seen = None
        self.refresh()

    def set_show_rejected(self, show: bool) -> None:
        """Have the switch say what the conversation does."""
        self._toggle.setChecked(show)

    def refresh(self, final: bool = False) -> None:
        """Count anew where anything came in."""
        trace = self._trace
        state = (len(trace.steps), trace.closed) if trace is not None else (-1, False)
        if state == self._seen:
            return
        self._seen = state
        self._entries = _entries(trace)
        self._sources = self._tally.extend() if self._tally is not None else ()
        self._right = _summary(trace)
        n = None if trace is None else trace.counts.rejected
        self._toggle.setText("rejected" if n is None else f"rejected {figures.count(n)}")
        self._arrange()

    @property
    def entries(self) -> list[Entry]:
        """What is shown, in order."""
        return list(self._entries)

    def text(self) -> str:
        """All of it as plain text."""
        labels = [entry.label(0) for entry in self._entries]
        return " · ".join([*labels, self._toggle.text(), self._right[0]])

    def spoken(self) -> str:
        """What is read aloud: all of it, and of how many tested draft tokens what was accepted."""
        shares = (of_tested(entry, self._sources) for entry in self._entries)
        return "\n".join([self.text(), *filter(None, shares)])

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()
        super().resizeEvent(event)

    def _arrange(self) -> None:
        left, width = reading_column(self.width())
        measure = QFontMetricsF(figure_font(TEXT_PX))
        toggle = self._toggle.sizeHint()
        right = measure.horizontalAdvance(self._right[0])
        # what stands on the right goes before the words do
        for short, beside in ((0, right), (1, right), (2, right), (2, 0.0), (3, 0.0)):
            self._short = short
            self._boxes, x = [], float(left)
            for entry in self._entries:
                w = SWATCH + 6 + measure.horizontalAdvance(entry.label(short))
                self._boxes.append((QRectF(x, 0, w, HEIGHT), entry))
                x += w + GAP
            gap = GAP if beside else 0
            if x + toggle.width() + gap + beside <= left + width:
                break
        self._toggle.setGeometry(
            int(x) - 7, (HEIGHT - toggle.height()) // 2, toggle.width(), toggle.height()
        )
        self.setAccessibleDescription(self.spoken())
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self._palette
        left, width = reading_column(self.width())
        painter.setFont(figure_font(TEXT_PX))
        baseline = HEIGHT / 2 + 4
        for box, entry in self._boxes:
            colour = palette.quiet if entry.style is Style.PLAIN else ink(entry.style, palette)
            swatch = QRectF(box.left(), (HEIGHT - SWATCH) / 2, SWATCH, SWATCH)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colour))
            painter.drawRoundedRect(swatch, 2.5, 2.5)
            if entry.style is Style.COPIED:
                painter.setBrush(QColor(palette.ground))
                painter.drawRect(QRectF(swatch.left(), swatch.center().y() - 1, SWATCH, 2))
            painter.setPen(QColor(palette.quiet))
            painter.drawText(QPointF(swatch.right() + 6, baseline), entry.label(self._short))
        end = QRectF(left, 0, width, HEIGHT)
        room = left + width - self._toggle.geometry().right() - GAP
        measure = QFontMetricsF(painter.font())
        fitting = (text for text in self._right if measure.horizontalAdvance(text) <= room)
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(end, flags, next(fitting, ""))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            text = self.tooltip_at(event.pos().toPointF())
            if text:
                QToolTip.showText(event.globalPos(), tooltip(text), self)
                return True
        return super().event(event)

    def tooltip_at(self, at: QPointF) -> str:
        """What there is to say of the place under the mouse."""
        for box, entry in self._boxes:
            if box.contains(at):
                words, share = SOURCE_WORDS[entry.style], of_tested(entry, self._sources)
                return f"{words}\n{share}" if share else words
        if self._trace is None or at.x() <= self._toggle.geometry().right():
            return ""
        return first_token_words(self._trace, self._baseline)


def _entries(trace: Trace | None) -> list[Entry]:
    counts = trace.counts if trace is not None else None
    copied = _n_copied(trace)
    accepted = None if counts is None else counts.accepted - copied
    copies, models = _drafts_by(trace)
    entries = [
        Entry(
            Style.RECOVERED, "corrected", "corrected", None if counts is None else counts.recovered
        ),
        Entry(Style.BONUS, "bonus", "bonus", None if counts is None else counts.bonus),
        Entry(Style.PLAIN, "target alone", "target", None if counts is None else counts.sampled),
    ]
    # entries stay from the first step to the last, so that nothing moves while text streams
    if copies or copied:
        entries.insert(0, Entry(Style.COPIED, "accepted copy", "copied", copied))
    if models or accepted:
        entries.insert(0, Entry(Style.ACCEPTED, "accepted from the draft", "accepted", accepted))
    return entries


def _drafts_by(trace: Trace | None) -> tuple[bool, bool]:
    """Whether the run drafts by copying, and by a model; what is not known counts as a model."""
    sources = sources_in_use(trace.started.config) if trace and trace.started else ()
    copies = not NGRAM_SOURCES.isdisjoint(sources)
    return copies, not copies or not MODEL_SOURCES.isdisjoint(sources)


def of_tested(entry: Entry, sources: Sequence[SourceStatistics]) -> str:
    """Of how many tested draft tokens an entry's were accepted, in a sentence.

    Empty for colours that are not of drafts, before anything was tested, and where it is not known
    which of the sources an accepted token came from.
    """
    kinds = {Style.ACCEPTED: MODEL_SOURCES, Style.COPIED: NGRAM_SOURCES}
    kind = [each for each in sources if each.source in kinds.get(entry.style, ())]
    accepted = sum(each.n_accepted for each in kind)
    tested = sum(each.n_tested for each in kind)
    if not tested or accepted != entry.n:
        return ""
    share = figures.percent(metrics.ratio(accepted, tested))
    tokens = figures.counted(tested, "tested draft token")
    return f"{figures.count(accepted)} of {tokens} accepted, {share}."


def _n_copied(trace: Trace | None) -> int:
    if trace is None:
        return 0
    return sum(1 for token in trace.tokens if token.copied_from is not None)


def _summary(trace: Trace | None) -> tuple[str, ...]:
    """Count and time to the first token, from the whole of it to what fits anywhere."""
    if trace is None or not trace.tokens:
        return ("",)
    n = figures.counted(len(trace.tokens), "token")
    first = f"first {figures.seconds(metrics.time_to_first_token(trace))}"
    reused, evaluated = metrics.reused_tokens(trace), metrics.prefill_tokens(trace)
    if not reused or evaluated is None:
        return f"{n} · {first}", n
    # without these words it would read like the time of a whole prompt
    again = "reused" if evaluated * 10 <= reused else "partly reused"
    return f"{n} · {first}, prompt {again}", f"{n} · {first}, {again}", f"{first}, {again}", n


def first_token_words(trace: Trace, baseline: Trace | None = None) -> str:
    """What the time to the first token is made of, and how it compares to the baseline's."""
    if not trace.tokens:
        return ""
    words = [
        f"The first token came {figures.seconds(metrics.time_to_first_token(trace))} after the "
        f"start of the run. {_prompt_words(trace)}"
    ]
    if baseline is not None and baseline.tokens:
        theirs = figures.seconds(metrics.time_to_first_token(baseline))
        words.append(f"In the baseline it came after {theirs}. {_prompt_words(baseline)}")
        if metrics.reused_tokens(trace) != metrics.reused_tokens(baseline):
            words.append("So the two times cannot be compared; tokens per second can.")
    return "\n".join(words)


def _prompt_words(trace: Trace) -> str:
    reused, evaluated = metrics.reused_tokens(trace), metrics.prefill_tokens(trace)
    if reused is None or evaluated is None:
        return ""
    whole = figures.counted(reused + evaluated, "prompt token")
    if not reused:
        return f"All {whole} were read for it."
    if not evaluated:
        return f"All {whole} were still in memory from before."
    return (
        f"Of {whole}, {figures.count(reused)} were still in memory from before, and "
        f"{figures.count(evaluated)} read for it."
    )
