"""One verify step in full: who drafted, each draft token, what replaced it, times."""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from specviz.trace.events import StepVerified
from specviz.trace.sources import NGRAM_SOURCES, sources_in_use
from specviz.trace.trace import Trace
from specviz.ui import figures
from specviz.ui.pieces import visible
from specviz.ui.source_words import NAMES
from specviz.ui.step_strip import step_seconds
from specviz.ui.theme import DARK, Palette
from specviz.ui.token_layout import Style
from specviz.ui.token_paint import ink
from specviz.ui.typefaces import Weight, interface_font, mono_font

LINE = 21
TEXT_PX = 12
NOTHING_CHOSEN = "Choose a step in the strip, or a token in the text, to see what was drafted."


class StepInspector(QTextEdit):
    """Read-only plain text in our formats; pieces are inserted as text, never as markup."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("step-inspector")
        self.setAccessibleName("Chosen step")
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        self.setStyleSheet(
            "QTextEdit#step-inspector { background: transparent; border: none;"
            " padding: 12px 8px 8px 18px; }"
        )
        self._palette = DARK
        self._shown: tuple[Trace | None, int | None, bool] = (None, None, False)
        self._fill()

    def apply_palette(self, palette: Palette) -> None:
        """Write with these colours from now on."""
        self._palette = palette
        self._fill()

    def show_step(self, trace: Trace | None, step: int | None) -> None:
        """Show a step by its index; an invitation where there is none."""
        if trace is None or step is None or not 0 <= step < len(trace.steps):
            trace = step = None
        # the end of a run may cut its last step
        shown = (trace, step, trace is not None and trace.closed)
        if shown != self._shown:
            self._shown = shown
            self._fill()

    def text(self) -> str:
        """All of it as plain text."""
        return self.toPlainText()

    # Writing ---------------------------------------------------------------------------------
    def _fill(self) -> None:
        self.clear()
        trace, index, _ = self._shown
        if trace is None or index is None:
            self._words(NOTHING_CHOSEN)
        else:
            self._title(trace, index)
            self._origin(trace, index)
            self._tokens(trace, index)
            self._footer(trace, index)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _format(self, colour: str, font: QFont) -> QTextCharFormat:
        made = QTextCharFormat()
        made.setFont(font)
        made.setForeground(QColor(colour))
        return made

    def _put(self, text: str, colour: str, font: QFont) -> None:
        cursor = self.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.End)
        block = QTextBlockFormat()
        block.setLineHeight(LINE, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        cursor.setBlockFormat(block)
        cursor.insertText(text, self._format(colour, font))
        self.setTextCursor(cursor)

    def _new_line(self) -> None:
        cursor = self.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertBlock()
        self.setTextCursor(cursor)

    def _words(self, text: str, *, strong: bool = False) -> None:
        weight = Weight.DemiBold if strong else Weight.Normal
        colour = self._palette.text if strong else self._palette.quiet
        self._put(text, colour, interface_font(TEXT_PX, weight))

    def _mono(self, text: str, style: Style) -> None:
        self._put(text, ink(style, self._palette), mono_font(TEXT_PX))

    def _title(self, trace: Trace, index: int) -> None:
        step = trace.steps[index]
        self._words("Step ")
        self._words(figures.count(index + 1), strong=True)
        if step.draft:
            self._words(f" · {len(step.draft)} drafted, ")
            self._words(f"{trace.accepted_of_step(index)} accepted", strong=True)
        else:
            self._words(" · the target alone")
        self._words(f" · {figures.short_time(step_seconds(trace, index))}")

    def _origin(self, trace: Trace, index: int) -> None:
        """Who drafted, where that is not told by itself: above the tokens, which may be many."""
        words = origin_words(trace, index)
        if words:
            self._new_line()
            self._words(words)

    def _tokens(self, trace: Trace, index: int) -> None:
        step = trace.steps[index]
        kept = trace.accepted_of_step(index)
        has_draft_probs = _has_draft_probs(step)
        for i, token in enumerate(step.draft):
            self._new_line()
            style = Style.ACCEPTED if i < kept else Style.REJECTED
            probs = figures.probability(token.target_prob)
            if has_draft_probs:
                probs = f"{figures.probability(token.draft_prob)} / {probs}"
            self._mono(f"{visible(token.piece)} {probs}", style)
            if i == step.n_accepted:
                self._replacement(step)
        if step.target is not None and step.n_accepted == len(step.draft):
            self._new_line()
            style = Style.BONUS if step.draft else Style.PLAIN
            self._mono(_own(step), style)
            if step.draft:
                self._words("  bonus")
        elif step.end_token is not None and step.n_accepted == len(step.draft):
            self._new_line()
            self._words("Here the model ended its answer.")

    def _replacement(self, step: StepVerified) -> None:
        if step.target is not None:
            self._words(" → ")
            self._mono(_own(step), Style.RECOVERED)
        elif step.end_token is not None:
            self._words(" → end of the answer")

    def _footer(self, trace: Trace, index: int) -> None:
        step = trace.steps[index]
        if step.draft:
            self._new_line()
            self._words("draft p / target p" if _has_draft_probs(step) else "target p")
        for line in _notes(step):
            self._new_line()
            self._words(line)


def _has_draft_probs(step: StepVerified) -> bool:
    """Copies have no probability of the draft's; of models an unknown one is a dash."""
    is_copied = any(token.copied_from is not None for token in step.draft)
    from_text = is_copied or step.drafter in NGRAM_SOURCES
    return not from_text or any(token.draft_prob is not None for token in step.draft)


def origin_words(trace: Trace, index: int) -> str:
    """Who drafted a step and what it copied; who looked in vain; nothing where only one could."""
    step = trace.steps[index]
    in_use = sources_in_use(trace.started.config) if trace.started else ()
    if not step.draft:
        searched = [call.source for call in step.calls if call.source in NGRAM_SOURCES]
        return "nothing found to copy" if searched and not step.n_dropped else ""
    name = NAMES[step.drafter] if step.drafter is not None else ""
    copied = [token.copied_from for token in step.draft if token.copied_from is not None]
    if copied:
        copies = f"copied {_place(copied, trace)}"
        return f"{name}: {copies}" if name else copies
    return name if len(in_use) > 1 or step.drafter in NGRAM_SOURCES else ""


def _place(copied: list[int], trace: Trace) -> str:
    """`tokens 35 to 50 of the prompt`, counted from 1."""
    n_prompt = trace.started.n_prompt if trace.started else 0
    first, last = copied[0], copied[-1]
    of, before = ("the prompt", 0) if first < n_prompt else ("the answer", n_prompt)
    start = figures.count(first - before + 1)
    if len(copied) == 1:
        return f"token {start} of {of}"
    if any(after - at != 1 for at, after in pairwise(copied)):
        return f"from several places, token {start} of {of} first"
    if first < n_prompt <= last:
        return f"from token {start} of {of} on"
    return f"tokens {start} to {figures.count(last - before + 1)} of {of}"


def _own(step: StepVerified) -> str:
    assert step.target is not None
    return f"{visible(step.target.piece)} {figures.probability(step.target.target_prob)}"


def _notes(step: StepVerified) -> list[str]:
    notes = []
    if step.target is not None and step.target.runner_up is not None:
        other = step.target.runner_up
        notes.append(
            f"runner-up {visible(other.piece)}, {figures.decimal(other.margin, 2)} behind in logits"
        )
    if step.n_dropped:
        what = "more token" if step.draft else "token"
        notes.append(f"{figures.counted(step.n_dropped, what)} drafted, dropped unchecked")
    times = [
        ("draft", step.draft_seconds),
        ("check", step.verify_seconds),
        ("sampling", step.sample_seconds),
        ("save and restore", step.restore_seconds),
        ("other", step.other_seconds),
    ]
    spent = [f"{name} {figures.short_time(seconds)}" for name, seconds in times if seconds > 0]
    if spent:
        notes.append(" · ".join(spent))
    return notes
