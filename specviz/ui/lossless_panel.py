"""The panel on the lossless check: what is known of the output, and the button that looks again."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLayout,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from specviz.ui import figures
from specviz.ui.icons import IconLabel
from specviz.ui.lossless_words import WHAT_FRESH_MEMORY_IS, MarginRow, Mood, Report, Said
from specviz.ui.plain_text import describe, label

WIDTH = 560
_ROLES = {Mood.PLAIN: "", Mood.GOOD: "", Mood.ODD: "odd", Mood.WRONG: "wrong"}
_ICONS = {Mood.GOOD: "check", Mood.ODD: "info", Mood.WRONG: "error"}


class LosslessPanel(QDialog):
    """Shows a report. Does not hold the window up.

    Signals:
        check_requested(): every step is to be evaluated anew.
        cancel_requested(): the check under way is to be stopped.
    """

    check_requested = Signal()
    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lossless-panel")
        self.setWindowTitle("Lossless check")
        self.setModal(False)
        self._report: Report | None = None
        self._reason = ""
        self._busy = False
        self._told = ""
        self._content = QWidget()
        self._build()

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 20, 24, 20)
        layout.setSpacing(0)
        layout.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)
        self._place = QVBoxLayout()
        layout.addLayout(self._place)
        layout.addSpacing(16)
        self.status = label(role="quiet", wrap=True)
        self.status.setObjectName("check-again-status")
        self.status.setFixedWidth(WIDTH)
        self.status.setMinimumHeight(34)
        layout.addWidget(self.status)
        layout.addSpacing(12)
        self.check_button = QPushButton("Check again")
        self.check_button.setObjectName("check-again-button")
        self.check_button.setFixedWidth(124)
        self.check_button.clicked.connect(self._on_button)
        self.progress = QProgressBar()
        self.progress.setObjectName("check-again-progress")
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress of the check")
        policy = self.progress.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.progress.setSizePolicy(policy)
        copier = QPushButton("Copy")
        copier.setObjectName("lossless-copy")
        describe(copier, "Copy", "Copies what is said here as text.")
        copier.clicked.connect(self.copy)
        closer = QPushButton("Close")
        closer.setObjectName("lossless-close")
        describe(closer, "Close", "Closes this panel; a check that is under way goes on.")
        closer.clicked.connect(self.close)
        buttons = QHBoxLayout()
        buttons.setSpacing(12)
        buttons.addWidget(self.check_button)
        buttons.addWidget(self.progress, 1, Qt.AlignmentFlag.AlignVCenter)
        buttons.addWidget(copier)
        buttons.addWidget(closer)
        layout.addLayout(buttons)
        self._show_button()

    # What is shown ---------------------------------------------------------------------------
    def show_report(self, report: Report) -> None:
        """Show what is known now."""
        if report == self._report:
            return
        self._report = report
        self.setAccessibleDescription(report.text)
        old, self._content = self._content, _content(report)
        self._place.removeWidget(old)
        old.hide()
        old.deleteLater()
        self._place.addWidget(self._content)

    @property
    def report(self) -> Report | None:
        """What is shown."""
        return self._report

    def show_progress(self, n_done: int, n_total: int) -> None:
        """A check is under way; `n_total` is 0 while that is not known."""
        self._busy = True
        self.progress.setRange(0, n_total)
        self.progress.setValue(n_done)
        self._told = (
            f"{figures.count(n_done)} of {figures.counted(n_total, 'token')} checked"
            if n_total
            else "The models are made ready."
        )
        self._show_button()

    def show_rest(self, told: str = "") -> None:
        """No check is under way; `told` says how the last one ended, where that is not plain."""
        self._busy, self._told = False, told
        self._show_button()

    @property
    def busy(self) -> bool:
        """Whether a check is shown to be under way."""
        return self._busy

    def set_blocked(self, reason: str) -> None:
        """Why nothing can be checked, in a sentence; empty when it can."""
        self._reason = reason
        self._show_button()

    def _show_button(self) -> None:
        self.check_button.setText("Cancel" if self._busy else "Check again")
        self.check_button.setEnabled(self._busy or not self._reason)
        self.progress.setVisible(self._busy)
        if self._busy:
            self.status.setText(self._told)
            describe(self.check_button, "Cancel", "Stops the check.")
            return
        self.status.setText(self._reason or self._told or WHAT_FRESH_MEMORY_IS)
        describe(self.check_button, "Check again", self._reason or WHAT_FRESH_MEMORY_IS)

    def _on_button(self) -> None:
        if self._busy:
            self.cancel_requested.emit()
        else:
            self.check_requested.emit()

    def copy(self) -> None:
        """Copy what is said as text."""
        if self._report is not None:
            QGuiApplication.clipboard().setText(self._report.text)


def _content(report: Report) -> QWidget:
    box = QWidget()
    layout = QVBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(12)
    layout.addLayout(_said(report.headline, "strong"))
    if report.candidates:
        layout.addLayout(_candidates(report.candidates))
    if report.margins:
        layout.addWidget(_margins(report.margins, report.margins_are))
    elif report.margins_are:
        layout.addWidget(_line(report.margins_are, "quiet"))
    if report.finding is not None:
        layout.addLayout(_said(report.finding))
    if report.why:
        layout.addWidget(_line(report.why, "quiet"))
    for said in report.fresh:
        layout.addLayout(_said(said))
    return box


def _line(text: str, role: str) -> QWidget:
    line = label(text, role, wrap=True)
    line.setFixedWidth(WIDTH)
    line.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return line


def _said(said: Said, role: str = "") -> QHBoxLayout:
    """A sentence behind the icon of its mood: colour is never the only sign."""
    row = QHBoxLayout()
    row.setSpacing(8)
    words = label(said.text, _ROLES[said.mood] or role, wrap=True)
    words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    drawing = _ICONS.get(said.mood)
    if drawing is not None:
        colour = (
            QPalette.ColorRole.BrightText
            if said.mood is Mood.WRONG
            else QPalette.ColorRole.Accent
            if said.mood is Mood.GOOD
            else QPalette.ColorRole.PlaceholderText
        )
        row.addWidget(IconLabel(drawing, role=colour), 0, Qt.AlignmentFlag.AlignTop)
    words.setFixedWidth(WIDTH - (24 if drawing else 0))
    row.addWidget(words)
    return row


def _candidates(candidates: tuple[tuple[str, str], ...]) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(16)
    grid.setVerticalSpacing(4)
    grid.setColumnStretch(1, 1)
    for row, (who, piece) in enumerate(candidates):
        grid.addWidget(label(who, "quiet"), row, 0)
        grid.addWidget(label(piece, "mono"), row, 1)
    return grid


def _margins(margins: tuple[MarginRow, ...], where_from: str) -> QWidget:
    table = QFrame()
    table.setProperty("kind", "card")
    table.setObjectName("lossless-margins")
    table.setAccessibleName("Margins by batch shape")
    grid = QGridLayout(table)
    grid.setContentsMargins(14, 10, 14, 10)
    grid.setHorizontalSpacing(20)
    grid.setVerticalSpacing(6)
    grid.setColumnStretch(0, 1)
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    for column, words in enumerate((where_from, "Rows", "Margin", "Prefers")):
        head = label(words, "small")
        if column in (1, 2):
            head.setAlignment(right)
        grid.addWidget(head, 0, column)
    for row, each in enumerate(margins, start=1):
        grid.addWidget(label(each.shape), row, 0)
        for column, text in ((1, figures.count(each.n_rows)), (2, each.margin)):
            value = label(text, "mono")
            value.setAlignment(right)
            grid.addWidget(value, row, column)
        grid.addWidget(label(each.prefers, "mono"), row, 3)
    return table
