"""The fonts that come with the program, so that pictures are the same everywhere."""

from __future__ import annotations

import logging
from functools import cache

from PySide6.QtGui import QFontDatabase

from specviz.errors import FileError
from specviz.resources import resource

log = logging.getLogger(__name__)

FONT_FILES = (
    "Inter-Regular.ttf",
    "Inter-Medium.ttf",
    "Inter-SemiBold.ttf",
    "Inter-Bold.ttf",
    "InterDisplay-SemiBold.ttf",
    "JetBrainsMono-Regular.ttf",
    "JetBrainsMono-Medium.ttf",
    "JetBrainsMono-Bold.ttf",
)


@cache
def load_fonts() -> None:
    """Make the bundled fonts known to Qt; once, and after the application object exists.

    A font that cannot be used is logged: the system's fonts take its place.
    """
    for name in FONT_FILES:
        try:
            path = resource(f"fonts/{name}")
        except FileError as error:
            log.warning("%s", error)
            continue
        if QFontDatabase.addApplicationFont(str(path)) < 0:
            log.warning("the font %s cannot be used", path)
