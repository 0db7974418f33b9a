"""The break-even section: one sentence, the best length, and a what-if with two sliders.

Shows what break_even_facts.py has put together. What is predicted is never coloured: green is for
what was measured.
"""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QSlider, QVBoxLayout, QWidget

from specviz.ui import figures
from specviz.ui.break_even_facts import LONGEST_WHAT_IF, USUAL_LENGTH, BreakEvenFacts
from specviz.ui.break_even_words import (
    NOT_YET,
    RUNNING,
    best_sentence,
    help_text,
    sentence,
    what_if_words,
)
from specviz.ui.figure_label import FigureLabel
from specviz.ui.plain_text import describe, label, tooltip
from specviz.ui.theme import Palette

USUAL_PERCENT = 60
"""Where the sliders stand while there is no run to follow."""


class BreakEven(QWidget):
    """Sentence and what-if.

    Signals:
        length_changed(int): the what-if looks at another draft length.
    """

    length_changed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("break-even")
        self.setAccessibleName("Break-even")
        self._facts: BreakEvenFacts | None = None
        self._follows = True
        self.sentence = FigureLabel(2)
        self.best = FigureLabel(2)
        for line in (self.sentence, self.best):
            line.setToolTip(tooltip(help_text()))
        self.length = self._slider("what-if-length", 1, LONGEST_WHAT_IF)
        self.acceptance = self._slider("what-if-acceptance", 0, 100)
        self.length.setPageStep(4)
        self.acceptance.setPageStep(10)
        describe(self.length, "Draft tokens per step", "Shows what another draft length comes to.")
        describe(
            self.acceptance,
            "Share of tested tokens that is accepted",
            "Shows what another acceptance comes to. It follows the prediction for the draft "
            "length until you move it.",
        )
        self._length_words = label(role="mono-value")
        self._acceptance_words = label(role="mono-value")
        self._result = label(role="what-if")
        self._result.setObjectName("what-if-speedup")
        self._result_words = label(role="quiet")
        self._small_print = label(role="small", wrap=True)
        self.reset_button = QPushButton("Reset")
        self.reset_button.setObjectName("what-if-reset")
        self.reset_button.setProperty("kind", "link")
        self.reset_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        describe(
            self.reset_button, "Reset the what-if", "Brings back the values of the run on show."
        )
        self.length.valueChanged.connect(self._on_length)
        self.acceptance.valueChanged.connect(self._on_acceptance)
        self.reset_button.clicked.connect(self.reset)
        self._build()
        self.show_facts(None)

    def _slider(self, name: str, lowest: int, highest: int) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setObjectName(name)
        slider.setRange(lowest, highest)
        slider.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        # a wheel turned to scroll the panel must not move it
        slider.wheelEvent = lambda event: event.ignore()  # type: ignore[method-assign]
        return slider

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.sentence)
        layout.addSpacing(4)
        layout.addWidget(self.best)
        layout.addSpacing(8)
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        for row, (words, slider, value) in enumerate(
            (
                ("Draft tokens", self.length, self._length_words),
                ("Accepted", self.acceptance, self._acceptance_words),
            )
        ):
            name = label(words, "quiet")
            name.setFixedHeight(26)
            grid.addWidget(name, row, 0)
            grid.addWidget(slider, row, 1)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            value.setFixedWidth(52)
            grid.addWidget(value, row, 2)
        layout.addLayout(grid)
        layout.addSpacing(2)
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        self._result.setFixedHeight(34)
        line.addWidget(self._result, 0, Qt.AlignmentFlag.AlignBottom)
        self._result_words.setFixedHeight(26)
        line.addWidget(self._result_words, 0, Qt.AlignmentFlag.AlignBottom)
        line.addStretch(1)
        line.addWidget(self.reset_button, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addLayout(line)
        self._small_print.setMinimumHeight(18)
        layout.addWidget(self._small_print)

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self.sentence.apply_palette(palette)
        self.best.apply_palette(palette)

    # What is shown ---------------------------------------------------------------------------
    def show_facts(self, facts: BreakEvenFacts | None, running: bool = False) -> None:
        """Show what is known; None while nothing is, `running` while it is still coming."""
        fresh = facts is None or self._facts is None or facts.shape != self._facts.shape
        self._facts = facts
        self.sentence.set_parts(
            (RUNNING if running else NOT_YET) if facts is None else sentence(facts)
        )
        self.best.set_parts(best_sentence(facts))
        with QSignalBlocker(self.length):
            self.length.setMaximum(facts.longest if facts is not None else LONGEST_WHAT_IF)
        for widget in (self.length, self.acceptance):
            widget.setEnabled(facts is not None)
        if fresh:
            self.reset()
        else:
            self._show_what_if()
        self.setAccessibleDescription(self.text())

    def text(self) -> str:
        """The section in words."""
        parts = (self.sentence.text(), self.best.text())
        return "\n".join(part for part in parts if part)

    @property
    def facts(self) -> BreakEvenFacts | None:
        """What is shown."""
        return self._facts

    @property
    def result(self) -> str:
        """The speed-up that the what-if comes to, as shown."""
        return self._result.text()

    def reset(self) -> None:
        """Bring the sliders back to the run's own values."""
        self._follows = True
        facts = self._facts
        with QSignalBlocker(self.length):
            self.length.setValue(facts.n_max if facts is not None and facts.n_max else USUAL_LENGTH)
        self._follow()
        self._show_what_if()
        self.length_changed.emit(self.length.value())

    def _on_length(self) -> None:
        if self._follows:
            self._follow()
        self._show_what_if()
        self.length_changed.emit(self.length.value())

    def _on_acceptance(self) -> None:
        self._follows = False
        self._show_what_if()

    def _follow(self) -> None:
        """Put the acceptance where it is predicted for the draft length."""
        facts = self._facts
        prediction = facts.at(self.length.value()) if facts is not None else None
        rate = prediction.acceptance if prediction is not None else None
        with QSignalBlocker(self.acceptance):
            self.acceptance.setValue(USUAL_PERCENT if rate is None else round(rate * 100))

    def _show_what_if(self) -> None:
        facts, n, percent = self._facts, self.length.value(), self.acceptance.value()
        speedup, words, small = None, "", ""
        if facts is not None:
            found = facts.at(n) if self._follows else None
            speedup = found.speedup if found else facts.what_if(n, percent / 100)
            words = (
                f"if {percent}{figures.THIN}% were accepted"
                if found is None
                else "measured"
                if found is facts.own
                else "predicted"
            )
            small = what_if_words(facts, n)
        nothing = facts is None
        self._length_words.setText(figures.DASH if nothing else figures.count(n))
        self._acceptance_words.setText(figures.DASH if nothing else f"{percent}{figures.THIN}%")
        self._result.setText(figures.speedup(speedup))
        self._result_words.setText(words)
        self._small_print.setText(small)
        self.reset_button.setEnabled(not nothing and self._is_moved())
        self._describe_values(n, percent, speedup)

    def _is_moved(self) -> bool:
        own = self._facts.n_max if self._facts is not None else 0
        return not self._follows or self.length.value() != (own or USUAL_LENGTH)

    def _describe_values(self, n: int, percent: int, speedup: float | None) -> None:
        """What a screen reader says of the sliders: their value, and what it comes to."""
        outcome = f"The speed-up comes to {figures.speedup(speedup)}." if speedup else ""
        self.length.setAccessibleDescription(
            f"{figures.counted(n, 'draft token')} per step. {outcome}".strip()
        )
        self.acceptance.setAccessibleDescription(
            f"{percent}{figures.THIN}% of tested tokens. {outcome}".strip()
        )
