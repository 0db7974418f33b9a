"""Icons in the colours of the theme, and buttons that carry them.

Drawings are in resources/icons. Colours come from the application's palette, so an icon follows a
change of theme by itself.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton, QWidget

from specviz.resources import resource

ICON_PX = 16
APPLICATION_ICON_SIZES = (16, 24, 32, 48, 64, 128, 256, 512)

_PALETTE_CHANGES = (QEvent.Type.PaletteChange, QEvent.Type.ApplicationPaletteChange)


@cache
def icon(name: str, colour: str, size: int = ICON_PX) -> QIcon:
    """The drawing `name` in one colour, sharp at single and double resolution."""
    made = QIcon()
    for scale in (1, 2):
        made.addPixmap(pixmap(name, colour, size * scale))
    return made


def pixmap(name: str, colour: str, px: int) -> QPixmap:
    """The drawing `name` in one colour, `px` device pixels wide and high."""
    from PySide6.QtSvg import QSvgRenderer  # not needed before the first icon

    renderer = QSvgRenderer(QByteArray(_drawing(name).replace("currentColor", colour).encode()))
    image = QPixmap(px, px)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    return image


@cache
def _drawing(name: str) -> str:
    return resource(f"icons/{name}.svg").read_text(encoding="utf-8")


def application_icon() -> QIcon:
    """The program's own icon, for windows, task bars and the About box."""
    made = QIcon()
    for size in APPLICATION_ICON_SIZES:
        made.addFile(str(resource(f"icons/specviz-{size}.png")), QSize(size, size))
    return made


def _role_colour(widget: QWidget, role: QPalette.ColorRole) -> str:
    # not the widget's own palette: a style sheet mixes its colours into that
    group = QPalette.ColorGroup.Normal if widget.isEnabled() else QPalette.ColorGroup.Disabled
    return QGuiApplication.palette().color(group, role).name(QColor.NameFormat.HexRgb)


class _Iconed:
    """A button whose icon is drawn in the palette's text colour, or in its quiet one."""

    def _start(self, name: str, quiet: bool, size: int) -> None:
        self._icon_name = name
        self._icon_role = (
            QPalette.ColorRole.PlaceholderText if quiet else QPalette.ColorRole.ButtonText
        )
        self._icon_px = size
        self.setIconSize(QSize(size, size))  # type: ignore[attr-defined]
        self._draw_icon()

    def set_icon(self, name: str) -> None:
        """Show another drawing."""
        if name != self._icon_name:
            self._icon_name = name
            self._draw_icon()

    def _draw_icon(self) -> None:
        colour = _role_colour(self, self._icon_role)  # type: ignore[arg-type]
        self.setIcon(icon(self._icon_name, colour, self._icon_px))  # type: ignore[attr-defined]


class IconButton(_Iconed, QToolButton):
    """A square button with an icon and no text. Focus comes by keyboard only."""

    def __init__(
        self, name: str, *, quiet: bool = False, size: int = ICON_PX, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._start(name, quiet, size)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (*_PALETTE_CHANGES, QEvent.Type.EnabledChange):
            self._draw_icon()


class MenuButton(_Iconed, QPushButton):
    """A button with a text, then a small triangle: a menu drops down."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the icon behind the text
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._start("triangle-down", False, 12)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (*_PALETTE_CHANGES, QEvent.Type.EnabledChange):
            self._draw_icon()


class IconLabel(QLabel):
    """An icon that is not a button, in a colour of the palette or one of its own."""

    def __init__(
        self,
        name: str,
        *,
        role: QPalette.ColorRole = QPalette.ColorRole.PlaceholderText,
        size: int = ICON_PX,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._name, self.role, self._px = name, role, size
        self.setFixedSize(size, size)
        self._draw()

    def set_icon(self, name: str, role: QPalette.ColorRole) -> None:
        """Show another drawing."""
        self._name, self.role = name, role
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _PALETTE_CHANGES:
            self._draw()

    def _draw(self) -> None:
        scale = self.devicePixelRatioF()
        drawn = pixmap(self._name, _role_colour(self, self.role), round(self._px * scale))
        drawn.setDevicePixelRatio(scale)
        self.setPixmap(drawn)
