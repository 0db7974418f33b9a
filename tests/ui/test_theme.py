"""Palettes, style sheet, fonts and icons."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QFontDatabase, QFontInfo, QPalette, QRawFont
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from specviz.resources import resource
from specviz.ui import theme
from specviz.ui.appearance import apply_palette
from specviz.ui.fonts import FONT_FILES
from specviz.ui.icons import APPLICATION_ICON_SIZES, application_icon, icon, pixmap
from specviz.ui.theme import DARK, LIGHT, PALETTES, contrast, palette_for, tint
from specviz.ui.typefaces import display_font, interface_font, mono_font

COLOURS = ("text", "quiet", "accepted", "recovered", "bonus", "rejected", "slower")
MARKS = "\u2009\u202f→✓×÷␣⎵▾�…·–"


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
@pytest.mark.parametrize("role", COLOURS)
def test_every_colour_can_be_read_on_ground_panel_and_its_own_tint(palette, role):
    colour = getattr(palette, role)
    grounds = (palette.ground, palette.panel, palette.card, tint(colour, palette.ground))
    assert all(contrast(colour, ground) >= 4.5 for ground in grounds)


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
def test_the_words_on_the_run_button_can_be_read(palette):
    assert contrast(palette.on_accent, palette.accent) >= 4.5


def test_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#123456", "#123456") == pytest.approx(1)


def test_colour_blind_palettes_keep_their_grounds_and_change_the_tokens():
    for plain, other in ((DARK, palette_for("dark", True)), (LIGHT, palette_for("light", True))):
        assert other.ground == plain.ground
        assert other.is_dark == plain.is_dark
        assert other.accepted != plain.accepted
        assert other.rejected != plain.rejected
    assert len({palette.name for palette in PALETTES}) == 4


def test_the_desktop_decides_where_the_user_left_it_to_it(monkeypatch):
    monkeypatch.setattr(theme, "_desktop_is_light", lambda: True)
    assert palette_for("system") == LIGHT
    assert palette_for("dark") == DARK
    monkeypatch.setattr(theme, "_desktop_is_light", lambda: False)
    assert palette_for("system") == DARK


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
def test_the_style_sheet_is_filled_in_and_names_files_that_are_there(palette):
    sheet = theme.stylesheet(palette)
    assert "$" not in sheet
    assert palette.accent in sheet
    files = re.findall(r'url\("([^"]+)"\)', sheet)
    assert files and all(Path(name).is_file() for name in files)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=["dark", "light"])
def test_coloured_copies_of_icons_have_the_colours_of_the_theme(palette):
    folder = resource(f"icons/style/{palette.name}")
    arrow = (folder / "chevron-down.svg").read_text(encoding="utf-8")
    master = resource("icons/chevron-down.svg").read_text(encoding="utf-8")
    assert arrow == master.replace("currentColor", palette.quiet)


def test_dressing_reaches_palette_font_and_widgets(qapp, qtbot):
    button = QPushButton("Run")
    qtbot.addWidget(button)
    for palette in (LIGHT, DARK):
        apply_palette(qapp, palette)
        button.ensurePolished()
        assert QApplication.palette().color(QPalette.ColorRole.Window) == QColor(palette.panel)
        assert button.palette().buttonText().color() == QColor(palette.text)
    assert qapp.font().pixelSize() == theme.INTERFACE_PX


def test_section_labels_are_small_spaced_and_half_bold(qtbot, dressed):
    section = QLabel("DRAFTING")
    section.setProperty("role", "section")
    qtbot.addWidget(section)
    section.ensurePolished()
    assert section.font().pixelSize() == 11
    assert section.font().weight() == 600
    assert section.font().letterSpacing() > 0


def test_the_bundled_fonts_are_the_ones_in_use(dressed):
    families = QFontDatabase.families()
    for family in (theme.INTERFACE_FONT, theme.DISPLAY_FONT, theme.MONO_FONT):
        assert family in families
    for font, family in (
        (interface_font(), theme.INTERFACE_FONT),
        (display_font(), theme.DISPLAY_FONT),
        (mono_font(), theme.MONO_FONT),
    ):
        assert QFontInfo(font).family() == family


@pytest.mark.parametrize("name", FONT_FILES)
def test_every_font_has_the_signs_the_window_uses(qapp, name):
    raw = QRawFont(str(resource(f"fonts/{name}")), 13)
    assert [sign for sign in MARKS if not raw.supportsCharacter(ord(sign))] == []


def test_fonts_are_light_enough_to_be_shipped():
    folder = resource("fonts")
    assert sum(path.stat().st_size for path in folder.glob("*.ttf")) < 3_000_000
    assert {"OFL-Inter.txt", "OFL-JetBrainsMono.txt"} <= {p.name for p in folder.iterdir()}


@pytest.mark.parametrize("path", sorted(resource("icons").glob("*.svg")), ids=lambda p: p.stem)
def test_every_icon_draws_something_in_the_colour_asked_for(qapp, path):
    image = pixmap(path.stem, "#ff0000", 32).toImage()
    seen = [image.pixelColor(x, y) for x in range(32) for y in range(32)]
    assert any(colour.alpha() > 128 for colour in seen)
    if path.stem != "specviz":
        assert all(colour.red() > 200 for colour in seen if colour.alpha() > 200)
    assert not icon(path.stem, "#ff0000").isNull()


def test_the_application_icon_has_all_its_sizes(qapp):
    sizes = {size.width() for size in application_icon().availableSizes()}
    assert sizes == set(APPLICATION_ICON_SIZES)
