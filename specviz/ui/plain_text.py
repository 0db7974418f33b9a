"""Words on widgets, never taken for markup: names and paths from files are untrusted."""

from __future__ import annotations

import html
import textwrap

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

TOOLTIP_COLUMNS = 58


def tooltip(text: str) -> str:
    """A text as a tooltip shows it literally, wrapped to a readable width."""
    wrapped = "\n".join(
        "\n".join(textwrap.wrap(line, TOOLTIP_COLUMNS, break_on_hyphens=False)) or ""
        for line in text.splitlines()
    )
    if not any(sign in wrapped for sign in "<&"):
        return wrapped  # nothing that Qt could take for markup
    return f"<span>{html.escape(wrapped).replace(chr(10), '<br>')}</span>"


def describe(widget: QWidget, name: str, effect: str) -> None:
    """Give a control its accessible name, and one sentence on what it does."""
    widget.setAccessibleName(name)
    widget.setAccessibleDescription(effect)
    widget.setToolTip(tooltip(effect))


def label(text: str = "", role: str = "", *, wrap: bool = False) -> QLabel:
    """A label that shows its text literally; `role` is a role of the style sheet."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    if role:
        made.setProperty("role", role)
    made.setWordWrap(wrap)
    return made


def set_role(widget: QWidget, role: str, name: str = "role") -> None:
    """Change a property that the style sheet asks for, and style the widget anew."""
    if widget.property(name) != role:
        widget.setProperty(name, role)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class ElidedLabel(QLabel):
    """One line of literal text; what does not fit is left out of its middle."""

    def __init__(self, text: str = "", role: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        if role:
            self.setProperty("role", role)
        self._full = ""
        self.setText(text)

    def setText(self, text: str) -> None:
        self._full = text
        super().setText(text)
        self.setAccessibleName(text)
        self.update()

    def shown_text(self) -> str:
        """The text as it fits at present."""
        return self.fontMetrics().elidedText(
            self._full, Qt.TextElideMode.ElideMiddle, self.contentsRect().width()
        )

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.StyleChange:
            self.updateGeometry()
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        rect = QRect(self.contentsRect())
        self.style().drawItemText(
            painter,
            rect,
            int(self.alignment() | Qt.AlignmentFlag.AlignVCenter),
            self.palette(),
            self.isEnabled(),
            self.shown_text(),
            self.foregroundRole(),
        )
