"""Dresses the application in a palette: base style, font, Qt's palette, style sheet."""

from __future__ import annotations

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from specviz.ui.fonts import load_fonts
from specviz.ui.theme import Palette, qpalette, stylesheet
from specviz.ui.typefaces import interface_font


def apply_palette(application: QApplication, palette: Palette) -> None:
    """Give every window of the application this look; may be called again for another one."""
    sheet = stylesheet(palette)
    if application.styleSheet() == sheet:
        return  # styling every widget anew takes its time
    load_fonts()
    if application.style().name().lower() != "fusion":
        application.setStyle("Fusion")  # the base that obeys palette and style sheet everywhere
    font = interface_font()
    # without hinting, text looks the same on every system and at every scale
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    application.setFont(font)
    application.setPalette(qpalette(palette))
    application.setStyleSheet(sheet)
