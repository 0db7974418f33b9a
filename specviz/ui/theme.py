"""Colour roles, light and dark, and the type and space values of the window.

Code asks for roles, never for colours. Every foreground role has a contrast of at least 4.5 : 1 on
the window ground and on its own 15 % tint.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by role, as `#RRGGBB`."""

    name: str
    ground: str
    panel: str
    card: str
    line: str
    text: str
    quiet: str
    accepted: str
    recovered: str
    bonus: str
    rejected: str
    on_accent: str
    slower: str

    @property
    def accent(self) -> str:
        """The one accent is the colour of accepted tokens."""
        return self.accepted

    @property
    def is_dark(self) -> bool:
        return QColor(self.ground).lightness() < 128


DARK = Palette(
    name="dark", ground="#15171B", panel="#1C1F25", card="#23272F", line="#2E333D",
    text="#E7EAF0", quiet="#98A1B2", accepted="#34C383", recovered="#F0A83A", bonus="#6AA8FF",
    rejected="#FF6B6B", on_accent="#0B1510", slower="#FF8A5B",
)
LIGHT = Palette(
    name="light", ground="#F6F7F9", panel="#FFFFFF", card="#F1F3F6", line="#DDE1E8",
    text="#1A1D23", quiet="#545C6A", accepted="#086940", recovered="#7F4A00", bonus="#1A54AB",
    rejected="#B02525", on_accent="#FFFFFF", slower="#A63A00",
)

TINT = 0.15
INTERFACE_FONT = "Inter"
DISPLAY_FONT = "Inter Display"
MONO_FONT = "JetBrains Mono"
INTERFACE_PX = 13
ANSWER_PX = 15.5
"""Answer text size in pixels; its line height is twice that."""
GRID = 8
PANEL_PADDING = 16
CARD_RADIUS = 10
LEFT_PANEL_WIDTH = 296
RIGHT_PANEL_WIDTH = 356
STRIP_HEIGHT = 156


def tint(colour: str, over: str, share: float = TINT) -> str:
    """`colour` laid over `over` with the given opacity, as `#RRGGBB`."""
    a, b = QColor(colour), QColor(over)
    mixed = (round(x * share + y * (1 - share)) for x, y in zip(
        (a.red(), a.green(), a.blue()), (b.red(), b.green(), b.blue()), strict=True))
    return "#{:02X}{:02X}{:02X}".format(*mixed)
