"""The section on costs: the curve, what a draft token costs, and the button that measures more."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from specviz.trace.costs import CurvePoint, curve
from specviz.ui import figures
from specviz.ui.break_even_facts import WIDEST_CURVE, BreakEvenFacts
from specviz.ui.break_even_words import draft_cost
from specviz.ui.cost_chart import CostChart
from specviz.ui.figure_label import FigureLabel
from specviz.ui.plain_text import describe, label
from specviz.ui.theme import Palette

OFFER = "Fills in the widths that no run has met. It takes a few seconds."


class CostPanel(QWidget):
    """Curve, button and progress.

    Signals:
        measure_requested(): the costs are to be measured.
        cancel_requested(): the measurement under way is to be stopped.
    """

    measure_requested = Signal()
    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("cost-panel")
        self.setAccessibleName("Costs")
        self.chart = CostChart()
        self.draft_cost = FigureLabel(1)
        self.measure_button = QPushButton("Measure costs")
        self.measure_button.setObjectName("measure-costs-button")
        self.measure_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.measure_button.clicked.connect(self._on_button)
        self.progress = QProgressBar()
        self.progress.setObjectName("measure-costs-progress")
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress of the measurement")
        policy = self.progress.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.progress.setSizePolicy(policy)
        self.status = label(role="small", wrap=True)
        self.status.setObjectName("measure-costs-status")
        self._busy = False
        self._told = ""
        self._reason = ""
        self._build()
        self._show()

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.chart)
        layout.addSpacing(6)
        layout.addWidget(self.draft_cost)
        layout.addSpacing(8)
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(12)
        self.measure_button.setFixedWidth(124)
        line.addWidget(self.measure_button)
        line.addWidget(self.progress, 1, Qt.AlignmentFlag.AlignVCenter)
        line.addStretch()
        layout.addLayout(line)
        layout.addSpacing(4)
        # room for two lines, so that what is told next moves nothing
        self.status.setFixedHeight(34)
        self.status.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.status)

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        self.chart.apply_palette(palette)
        self.draft_cost.apply_palette(palette)

    # What is shown ---------------------------------------------------------------------------
    def show_facts(self, facts: BreakEvenFacts | None) -> None:
        """Show these costs, at least as far as drafts may go."""
        costs = facts.costs if facts is not None else None
        points: Sequence[CurvePoint] = ()
        if facts is not None and costs is not None:
            widest = max((each.n_rows for each in costs.checks), default=1)
            n_rows = max(min(facts.n_max + 1, WIDEST_CURVE), min(widest, WIDEST_CURVE), 9)
            points = curve(costs, n_rows)
        self.chart.show_points(points)
        self.draft_cost.set_parts(draft_cost(facts))

    def show_length(self, n_draft: int) -> None:
        """Point out the width that a draft of this length needs."""
        self.chart.mark(n_draft + 1)

    def show_progress(self, n_done: int, n_total: int) -> None:
        """A measurement is under way."""
        self._busy = True
        self.progress.setRange(0, max(n_total, 0))
        self.progress.setValue(n_done)
        self._told = (
            f"{figures.count(n_done)} of {figures.count(n_total)} measured"
            if n_total
            else "The models are made ready."
        )
        self._show()

    def show_rest(self, told: str = "") -> None:
        """No measurement is under way; `told` says how the last one ended."""
        self._busy, self._told = False, told
        self._show()

    def set_blocked(self, reason: str) -> None:
        """Why nothing can be measured now, in a sentence; empty when it can."""
        self._reason = reason
        self._show()

    @property
    def busy(self) -> bool:
        """Whether a measurement is shown to be under way."""
        return self._busy

    def _show(self) -> None:
        blocked = bool(self._reason) and not self._busy
        self.measure_button.setText("Cancel" if self._busy else "Measure costs")
        self.measure_button.setEnabled(not blocked)
        self.progress.setVisible(self._busy)
        words = self._told if self._busy else self._reason or self._told or OFFER
        self.status.setText(words)
        if self._busy:
            describe(self.measure_button, "Cancel", "Stops measuring; what was measured is kept.")
        else:
            describe(self.measure_button, "Measure costs", self._reason or _EFFECT)

    def _on_button(self) -> None:
        if self._busy:
            self.cancel_requested.emit()
        else:
            self.measure_requested.emit()


_EFFECT = (
    "Measures checks of each width, and drafts of each length, with the models and settings as "
    "they are. It takes a few seconds and can be cancelled."
)
