"""Pictures of the window, and of a whole conversation however long it is, as PNG files."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QImage, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from specviz.errors import FileError
from specviz.ui.token_view import TokenView
from specviz.ui.typefaces import dots_per_inch

TALLEST = 16_000
"""Pixels of height that every viewer opens."""

MOST_PIXELS = 64_000_000


def save_window_png(window: QWidget, path: Path) -> list[Path]:
    """Write a picture of a window as it is on the screen. Raises FileError."""
    _write(_png(window.grab()), path)
    return [path]


def save_conversation_png(conversation: TokenView, path: Path) -> list[Path]:
    """Write the whole conversation, in sight or not. Raises FileError.

    Where it is too tall for one picture it is cut between lines into several: `name-1.png`,
    `name-2.png` and so on. Returns what was written, in order.
    """
    cuts = _cuts(conversation)
    if len(cuts) == 1:
        _write(_png(_page(conversation, *cuts[0])), path)
        return [path]
    digits = len(str(len(cuts)))
    written = []
    for number, (top, bottom) in enumerate(cuts, start=1):
        part = path.with_name(f"{path.stem}-{number:0{digits}}{path.suffix}")
        _write(_png(_page(conversation, top, bottom)), part)
        written.append(part)
    return written


def _cuts(conversation: TokenView) -> list[tuple[int, int]]:
    """The heights between which each picture reaches."""
    scale = conversation.devicePixelRatioF()
    width = max(conversation.viewport().width() * scale, 1)
    tallest = int(min(TALLEST, MOST_PIXELS / width) / scale)
    end = max(conversation.content_height, 1)
    cuts, top = [], 0
    while end - top > tallest:
        bottom = conversation.break_before(top + tallest)
        if bottom <= top:
            bottom = top + tallest
        cuts.append((top, bottom))
        top = bottom
    cuts.append((top, end))
    return cuts


def _page(conversation: TokenView, top: int, bottom: int) -> QImage:
    scale = conversation.devicePixelRatioF()
    width = conversation.viewport().width()
    image = QImage(round(width * scale), round((bottom - top) * scale), QImage.Format.Format_RGB32)
    if image.isNull():
        raise FileError(
            "There is not enough memory for a picture of this size.",
            "Make the window smaller, or export the text.",
        )
    image.setDevicePixelRatio(scale)
    # point sizes are converted with the canvas's resolution, which must be the screen's
    per_metre = round(dots_per_inch() / 0.0254 * scale)
    image.setDotsPerMeterX(per_metre)
    image.setDotsPerMeterY(per_metre)
    painter = QPainter(image)
    conversation.paint_page(painter, top, bottom)
    painter.end()
    return image


def _png(picture: QImage | QPixmap) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    # declared as bytes, takes only text
    if not picture.save(buffer, "PNG"):  # type: ignore[call-overload]
        raise FileError("The picture cannot be made.", "Make the window smaller and try again.")
    return bytes(buffer.data().data())


def _write(data: bytes, path: Path) -> None:
    """Write beside the file and put it in place whole, so that no broken picture is left."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise _explained(error, path) from error


def _explained(error: OSError, path: Path) -> FileError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FileError(
            f"The disk is full, so {path.name} could not be written.",
            "Make room, or choose another folder.",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return FileError(
            f"The folder {path.parent} may not be written to.", "Choose another folder."
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return FileError(f"The folder {path.parent} does not exist.", "Choose another folder.")
    reason = error.strerror or str(error)
    return FileError(f"{path.name} could not be written: {reason}.", "Choose another folder.")
