"""Whether a window can be opened here, asked before Qt is: it would abort the process.

Only Linux and the BSDs need asking. Knows the system's libraries by name and nothing of Qt itself.
"""

from __future__ import annotations

import ctypes
import os
import sys

from specviz.errors import SpecvizError

WITHOUT_WINDOW = "Commands like specviz run work without a display; specviz -h lists them."


def check() -> None:
    """Raise SpecvizError, with what to do, when no window can be opened."""
    if sys.platform in ("win32", "darwin"):
        return
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if platform.partition(":")[0] not in ("", "xcb", "wayland"):
        return
    if os.environ.get("WAYLAND_DISPLAY") and platform != "xcb":
        return
    if not os.environ.get("DISPLAY"):
        raise SpecvizError("There is no display to open a window on.", WITHOUT_WINDOW)
    _check_x11()


def _check_x11() -> None:
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
        ctypes.CDLL("libxcb-cursor.so.0")
    except OSError as error:
        library = str(error).partition(":")[0]
        raise SpecvizError(
            f"The window needs the system library {library}.",
            "On Debian and Ubuntu: sudo apt install libxcb-cursor0.",
        ) from None
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    refused = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    if refused:
        display = os.environ["DISPLAY"]
        raise SpecvizError(f"The display {display} cannot be reached.", WITHOUT_WINDOW)


def cannot_open(error: ImportError) -> SpecvizError:
    """The error for a window whose libraries cannot be loaded."""
    if error.name is not None and error.name.partition(".")[0] == "specviz":
        raise error
    return SpecvizError(
        f"The window's libraries cannot be loaded: {error}.",
        "Install SpecViz again; on Debian and Ubuntu also: sudo apt install libegl1 libxkbcommon0. "
        + WITHOUT_WINDOW,
    )
