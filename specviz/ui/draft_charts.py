"""Two charts of what became of the drafts in one place: by position, or by length.

The heading is the switch, so that the panel has no more rows than it has charts.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from specviz.trace.trace import Trace
from specviz.ui.length_chart import LengthChart
from specviz.ui.position_chart import HEIGHT, PositionChart
from specviz.ui.segments import Segment, SegmentedControl
from specviz.ui.theme import Palette

HEADING = 22
GAP = 7
BY_POSITION, BY_LENGTH = "position", "length"
_CHARTS = (
    Segment(
        BY_POSITION,
        "ACCEPTED BY POSITION, %",
        "Shows how often the draft token at each position was accepted, of times it was tested.",
        "by-position",
    ),
    Segment(
        BY_LENGTH,
        "LENGTHS",
        "Shows in how many steps the draft had each length, and how much of it was accepted.",
        "by-length",
    ),
)
_NAMES = ("Accepted by draft position, percent of tested", "Draft lengths")
"""What is read aloud instead of the capitals."""


class DraftCharts(QWidget):
    """A heading of two words, of which the chosen one has its chart below.

    Signals:
        chart_chosen(str): the reader wants to see the other chart, `position` or `length`.
    """

    chart_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("draft-charts")
        self.by_position = PositionChart()
        self.by_length = LengthChart()
        self.switch = SegmentedControl(_CHARTS)
        self.switch.setProperty("kind", "heading-tabs")
        self.switch.setFixedHeight(HEADING)
        self.switch.setAccessibleName("Chart of the drafts")
        row = self.switch.layout()
        assert row is not None
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(14)
        for button, name in zip(self.switch.buttons(), _NAMES, strict=True):
            button.setProperty("kind", "heading-tab")
            button.setAccessibleName(name)
        self._stack = QStackedWidget()
        self._stack.setFixedHeight(HEIGHT)
        self._stack.addWidget(self.by_position)
        self._stack.addWidget(self.by_length)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self.switch, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self._stack)
        self.setFixedHeight(HEADING + GAP + HEIGHT)
        self.switch.chosen.connect(self._on_chosen)

    def apply_palette(self, palette: Palette) -> None:
        """Paint with these colours from now on."""
        for chart in (self.by_position, self.by_length):
            chart.apply_palette(palette)

    def show_traces(self, baseline: Trace | None, speculative: Trace | None) -> None:
        """Show the speculative run; a baseline drafts nothing."""
        for chart in (self.by_position, self.by_length):
            chart.show_traces(baseline, speculative)

    def refresh(self, final: bool = False) -> None:
        """Take in new steps."""
        for chart in (self.by_position, self.by_length):
            chart.refresh(final)

    @property
    def chart(self) -> str:
        """Which chart is shown, `position` or `length`."""
        return self.switch.value

    def set_chart(self, chart: object) -> None:
        """Show one of the charts without announcing it; anything odd is ignored."""
        if isinstance(chart, str):
            self.switch.set_value(chart)
            self._show()

    def _on_chosen(self, chart: str) -> None:
        self._show()
        self.chart_chosen.emit(chart)

    def _show(self) -> None:
        wanted = self.by_length if self.chart == BY_LENGTH else self.by_position
        self._stack.setCurrentWidget(wanted)
