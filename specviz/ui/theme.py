"""Colour roles, light and dark, and the type and space values of the window.

Code asks for roles, never for colours. Every foreground role has a contrast of at least 4.5 : 1 on
the window ground and on its own 15 % tint. Knows no widget of ours: the style sheet speaks of Qt's
classes and of the dynamic properties `role` (labels) and `kind` (buttons, frames).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from string import Template
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette

from specviz.resources import resource

ThemeName = Literal["dark", "light", "system"]


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
    name="dark",
    ground="#15171B",
    panel="#1C1F25",
    card="#23272F",
    line="#2E333D",
    text="#E7EAF0",
    quiet="#98A1B2",
    accepted="#34C383",
    recovered="#F0A83A",
    bonus="#6AA8FF",
    rejected="#FF6B6B",
    on_accent="#0B1510",
    slower="#FF8A5B",
)
LIGHT = Palette(
    name="light",
    ground="#F6F7F9",
    panel="#FFFFFF",
    card="#F1F3F6",
    line="#DDE1E8",
    text="#1A1D23",
    quiet="#545C6A",
    accepted="#086940",
    recovered="#7F4A00",
    bonus="#1A54AB",
    rejected="#B02525",
    on_accent="#FFFFFF",
    slower="#A63A00",
)
# Okabe and Ito's bluish green, orange, sky blue and vermillion, moved in lightness until each
# has the contrast that the roles promise
DARK_COLOUR_BLIND = replace(
    DARK,
    name="dark-colour-blind",
    accepted="#14B88A",
    recovered="#E69F00",
    bonus="#56B4E9",
    rejected="#F2703D",
    slower="#F2703D",
)
LIGHT_COLOUR_BLIND = replace(
    LIGHT,
    name="light-colour-blind",
    accepted="#00684C",
    recovered="#7A5200",
    bonus="#00639C",
    rejected="#A34400",
    slower="#A34400",
)
PALETTES = (DARK, LIGHT, DARK_COLOUR_BLIND, LIGHT_COLOUR_BLIND)

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
TOP_BAR_HEIGHT = 52
NARROW_WIDTH = 1180
"""Below this width of the window there is room for one side panel."""
MINIMUM_SIZE = (1024, 640)


def palette_for(theme: ThemeName, colour_blind: bool = False) -> Palette:
    """The palette to use; `system` follows the desktop, dark where it does not say."""
    light = theme == "light" or (theme == "system" and _desktop_is_light())
    if colour_blind:
        return LIGHT_COLOUR_BLIND if light else DARK_COLOUR_BLIND
    return LIGHT if light else DARK


def _desktop_is_light() -> bool:
    hints = QGuiApplication.styleHints()
    return hints is not None and hints.colorScheme() == Qt.ColorScheme.Light


@cache
def tint(colour: str, over: str, share: float = TINT) -> str:
    """`colour` laid over `over` with the given opacity, as `#RRGGBB`."""
    a, b = QColor(colour), QColor(over)
    mixed = (
        round(x * share + y * (1 - share))
        for x, y in zip((a.red(), a.green(), a.blue()), (b.red(), b.green(), b.blue()), strict=True)
    )
    return "#{:02X}{:02X}{:02X}".format(*mixed)


def contrast(colour: str, ground: str) -> float:
    """Contrast ratio of two colours by the WCAG's formula, 1 to 21."""
    lighter, darker = sorted((_luminance(colour), _luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    c = QColor(colour)
    red, green, blue = (
        x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4
        for x in (c.redF(), c.greenF(), c.blueF())
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@cache
def stylesheet(palette: Palette) -> str:
    """The style sheet of the whole application, with the palette's colours filled in."""
    template = Template(resource("style.qss").read_text(encoding="utf-8"))
    return template.substitute(_style_values(palette))


def _style_values(palette: Palette) -> dict[str, str]:
    p = palette
    return {
        **{name: getattr(p, name) for name in Palette.__dataclass_fields__ if name != "name"},
        "accent": p.accent,
        "accent_hover": tint(p.text if p.is_dark else "#FFFFFF", p.accent, 0.12),
        "accent_pressed": tint(p.ground if p.is_dark else "#000000", p.accent, 0.18),
        "hover": tint(p.text, p.panel, 0.05),
        "pressed": tint(p.text, p.panel, 0.10),
        "card_hover": tint(p.text, p.card, 0.05),
        "disabled": tint(p.quiet, p.panel, 0.55),
        "handle": tint(p.quiet, p.panel, 0.25),
        "handle_hover": tint(p.quiet, p.panel, 0.60),
        "segment_line": p.card if p.is_dark else p.line,
        "segment_shadow": p.card if p.is_dark else tint(p.text, p.line, 0.14),
        "accepted_tint": tint(p.accepted, p.card),
        "slower_tint": tint(p.slower, p.card),
        "rejected_tint": tint(p.rejected, p.panel, 0.10),
        "rejected_line": tint(p.rejected, p.panel, 0.45),
        "selection": tint(p.accent, p.card, 0.35),
        "interface_font": INTERFACE_FONT,
        "mono_font": MONO_FONT,
        "icons": resource(f"icons/style/{'dark' if p.is_dark else 'light'}").as_posix(),
    }


def qpalette(palette: Palette) -> QPalette:
    """Qt's own roles, for whatever the style sheet does not reach."""
    p = palette
    made = QPalette()
    role = QPalette.ColorRole
    for which, colour in (
        (role.Window, p.panel),
        (role.WindowText, p.text),
        (role.Base, p.card),
        (role.AlternateBase, p.panel),
        (role.Text, p.text),
        (role.PlaceholderText, p.quiet),
        (role.Button, p.panel),
        (role.ButtonText, p.text),
        (role.BrightText, p.rejected),
        (role.ToolTipBase, p.card),
        (role.ToolTipText, p.text),
        (role.Highlight, tint(p.accent, p.panel, 0.35)),
        (role.HighlightedText, p.text),
        (role.Link, p.bonus),
        (role.LinkVisited, p.bonus),
        (role.Accent, p.accent),
        (role.Light, p.card),
        (role.Midlight, p.card),
        (role.Mid, p.line),
        (role.Dark, p.line),
        (role.Shadow, p.ground),
    ):
        made.setColor(which, QColor(colour))
    disabled = QColor(tint(p.quiet, p.panel, 0.55))
    for which in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, which, disabled)
    return made
