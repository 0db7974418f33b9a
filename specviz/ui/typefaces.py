"""Fonts by use. Sizes are in device-independent pixels and may be fractional."""

from __future__ import annotations

from PySide6.QtGui import QFont, QGuiApplication

from specviz.ui.theme import ANSWER_PX, DISPLAY_FONT, INTERFACE_FONT, INTERFACE_PX, MONO_FONT

Weight = QFont.Weight


def _font(families: list[str], px: float, weight: QFont.Weight) -> QFont:
    font = QFont()
    font.setFamilies(families)
    # a QFont takes whole pixels only; points may be fractional
    if px == int(px):
        font.setPixelSize(int(px))
    else:
        font.setPointSizeF(px * 72 / dots_per_inch())
    font.setWeight(weight)
    # whole-pixel advances would space the letters differently on every platform
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return font


def dots_per_inch() -> float:
    """Logical resolution that Qt converts point sizes with."""
    screen = QGuiApplication.primaryScreen()
    return screen.logicalDotsPerInch() if screen is not None else 96.0


def interface_font(px: float = INTERFACE_PX, weight: QFont.Weight = Weight.Normal) -> QFont:
    """Labels and sentences."""
    return _font([INTERFACE_FONT, "Noto Sans", "Segoe UI", "Sans Serif"], px, weight)


def figure_font(px: float = INTERFACE_PX, weight: QFont.Weight = Weight.Normal) -> QFont:
    """The interface font with digits of equal width, for figures that change in place."""
    font = interface_font(px, weight)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def answer_font(px: float = ANSWER_PX) -> QFont:
    """The model's text."""
    return interface_font(px)


def display_font(px: float = 28, weight: QFont.Weight = Weight.DemiBold) -> QFont:
    """The verdict."""
    return _font([DISPLAY_FONT, INTERFACE_FONT, "Sans Serif"], px, weight)


def mono_font(px: float = INTERFACE_PX, weight: QFont.Weight = Weight.Normal) -> QFont:
    """Figures in columns and the inspector."""
    font = _font([MONO_FONT, "Monospace"], px, weight)
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font
