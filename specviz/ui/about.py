"""The box that says what the program is, and what it stands on."""

from __future__ import annotations

from PySide6.QtCore import Qt, qVersion
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from specviz import __version__
from specviz.ui.icons import application_icon
from specviz.ui.plain_text import describe, label

_ICON_PX = 64


class AboutBox(QDialog):
    """Name, version, purpose, and whose work comes along."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("about-box")
        self.setWindowTitle("About SpecViz")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        icon = QLabel()
        icon.setPixmap(application_icon().pixmap(_ICON_PX, _ICON_PX))
        words = QVBoxLayout()
        words.setSpacing(6)
        words.addWidget(label("SpecViz", "title"))
        words.addWidget(label(f"Version {__version__}", "quiet"))
        words.addSpacing(6)
        for sentence in (
            "Shows speculative decoding at work on your own machine, and whether it pays.",
            f"The engine is llama.cpp; the window is Qt {qVersion()} by way of PySide6, the curves "
            "are drawn by pyqtgraph.",
            "Inter and JetBrains Mono are used under the SIL Open Font License.",
        ):
            line = label(sentence, "quiet", wrap=True)
            line.setFixedWidth(360)
            words.addWidget(line)
        closer = QPushButton("Close")
        closer.setObjectName("about-close")
        closer.clicked.connect(self.accept)
        describe(closer, "Close", "Closes this box.")
        top = QHBoxLayout()
        top.setSpacing(20)
        top.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(words)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 24, 24, 20)
        layout.setSpacing(16)
        layout.addLayout(top)
        layout.addWidget(closer, 0, Qt.AlignmentFlag.AlignRight)
