"""What the window says before any model was chosen: one invitation, and one sentence on what
will happen."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from specviz.ui.icons import IconLabel
from specviz.ui.plain_text import describe, label, set_role
from specviz.ui.well import Well

COLUMN_WIDTH = 520

_PURPOSE = (
    "A small draft model proposes tokens, the target checks them all at once. SpecViz runs your "
    "prompt with and without drafting, colours every token by where it came from, and measures "
    "whether it was faster."
)
_DEMO = "SmolLM2 135M with a small draft. It comes with the program, so nothing is downloaded."
_DEMO_ONCE = f"{_DEMO} The first time it is made ready, which takes a few seconds."
_NO_DEMO = "The demo pair is not installed here; the package specviz-llm[demo] brings it."


class FirstLaunch(QScrollArea):
    """The invitation.

    Signals:
        demo_requested(): the demo pair is to be loaded.
        choose_requested(): the user wants to pick a target file.
    """

    demo_requested = Signal()
    choose_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("first-launch")
        self.setAccessibleName("Welcome")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._demo = QPushButton("Try the demo pair")
        self._demo_words = label(_DEMO, "small", wrap=True)
        self._choose = QPushButton("Choose file…")
        self._build()
        self.set_demo(available=True, prepared=True)

    def _build(self) -> None:
        column = QWidget()
        column.setFixedWidth(COLUMN_WIDTH)
        words = QVBoxLayout(column)
        words.setContentsMargins(0, 24, 0, 24)
        words.setSpacing(0)
        title = label("See what drafting does", "title")
        words.addWidget(title)
        words.addSpacing(12)
        words.addWidget(_airy(_PURPOSE))
        words.addSpacing(24)
        words.addWidget(self._demo_card())
        words.addSpacing(16)
        words.addWidget(self._drop_zone())
        content = QWidget()
        content.setProperty("kind", "ground")
        middle = QHBoxLayout()
        middle.addStretch(1)
        middle.addWidget(column)
        middle.addStretch(1)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(16, 0, 16, 0)
        layout.addStretch(2)
        layout.addLayout(middle)
        layout.addStretch(3)
        self.setWidget(content)

    def _demo_card(self) -> QFrame:
        self._demo.setObjectName("demo-button")
        self._demo.setProperty("kind", "accent")
        self._demo.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._demo.setMinimumHeight(36)
        self._demo.clicked.connect(self.demo_requested)
        describe(
            self._demo,
            "Try the demo pair",
            "Loads the small models that come with the program and runs an example.",
        )
        card = QFrame()
        card.setProperty("kind", "card")
        layout = QHBoxLayout(card)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(16)
        layout.addWidget(self._demo_words, 1)
        layout.addWidget(self._demo)
        return card

    def _drop_zone(self) -> QFrame:
        self._choose.setObjectName("first-choose")
        self._choose.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._choose.setMinimumHeight(36)
        self._choose.clicked.connect(self.choose_requested)
        describe(
            self._choose,
            "Choose a target file",
            "Picks the GGUF file of the model whose answer you want.",
        )
        zone = Well("drop-zone")
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(label("Or drop your own models anywhere", "strong"))
        words.addWidget(label("Target and draft as GGUF files, a folder, or a trace.", "small"))
        layout = QHBoxLayout(zone)
        layout.setContentsMargins(16, 20, 16, 20)
        layout.setSpacing(14)
        layout.addWidget(IconLabel("drop", size=24))
        layout.addLayout(words, 1)
        layout.addWidget(self._choose)
        return zone

    def set_demo(self, *, available: bool, prepared: bool) -> None:
        """Say whether the demo pair is here, and whether it still has to be made ready."""
        self._demo.setVisible(available)
        self._demo_words.setText(_NO_DEMO if not available else _DEMO if prepared else _DEMO_ONCE)
        set_role(self._choose, "" if available else "accent", "kind")

    def set_enabled(self, enabled: bool) -> None:
        """Whether a pair can be chosen at the moment."""
        self._demo.setEnabled(enabled)
        self._choose.setEnabled(enabled)


def _airy(text: str) -> QLabel:
    """A paragraph with room between its lines, which only rich text can have; our own words."""
    paragraph = label(role="lead", wrap=True)
    paragraph.setTextFormat(Qt.TextFormat.RichText)
    paragraph.setText(f'<p style="line-height: 145%">{text}</p>')
    return paragraph
