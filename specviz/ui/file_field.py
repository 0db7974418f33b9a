"""A setting that is a file: its name is shown, a dialog chooses another, a menu takes it away.

Whether the file is there and what it holds is not known here.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QMenu, QSizePolicy

from specviz.ui.icons import IconButton
from specviz.ui.menus import make_action, plain_menu_text, rounded_menu
from specviz.ui.plain_text import describe, tooltip
from specviz.ui.setting_fields import ValueButton

PADDING = 10
"""Frame and padding of the field beside its text."""
LEAST_WIDTH = 64


class FileField(ValueButton):
    """A path, or none. A click or Enter chooses a file; with one chosen, it opens a menu.

    Delete takes the file away, and so does the button `clear`, which belongs beside the field.
    """

    def __init__(self, name: str, effect: str, object_name: str) -> None:
        super().__init__(name, effect, object_name)
        self._effect = effect
        self._path: str | None = None
        self._shown = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.dialog: QFileDialog | None = None
        self.clear = IconButton("close", quiet=True, size=12)
        self.clear.setObjectName(f"{object_name}-clear")
        self.clear.setProperty("kind", "tiny")
        describe(
            self.clear,
            f"Clear {name[0].lower()}{name[1:]}",
            "Takes the file away: the counts in it bring nothing to the next run.",
        )
        self.clear.clicked.connect(lambda: self._take(None))
        self._show()

    @property
    def value(self) -> str | None:
        return self._path

    def set_value(self, path: str | None) -> None:
        """Show another file without announcing it."""
        self._path = path
        self._show()

    def begin_edit(self) -> None:
        """Choose a file, or offer what can be done with the one there is."""
        if not self.isEnabled():
            return
        if self._path is None:
            self.choose()
        else:
            self.open_menu()

    def make_menu(self) -> QMenu:
        """Choose another, or none."""
        menu = rounded_menu(self)
        name = self.objectName()
        menu.addAction(make_action(menu, "Choose file…", self.choose, name=f"{name}-choose-action"))
        menu.addAction(
            make_action(menu, "Clear", lambda: self._take(None), name=f"{name}-clear-action")
        )
        return menu

    def choose(self) -> None:
        """Open the dialog; the program goes on meanwhile."""
        dialog = QFileDialog(self.window(), f"Choose {self._name[0].lower()}{self._name[1:]}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        if self._path is not None and Path(self._path).parent.is_dir():
            dialog.setDirectory(str(Path(self._path).parent))
        dialog.fileSelected.connect(self._take)
        dialog.finished.connect(self._forget_dialog)
        self.dialog = dialog
        dialog.open()

    def _forget_dialog(self) -> None:
        self.dialog = None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self._take(None)
        else:
            super().keyPressEvent(event)

    def _take(self, path: str | None) -> None:
        path = path or None
        if path != self._path:
            self.set_value(path)
            self.value_changed.emit(path)

    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(self._shown) + PADDING + 1
        return QSize(width, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.sizeHint().width(), LEAST_WIDTH), super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.updateGeometry()
            self._fit()

    def _show(self) -> None:
        name = Path(self._path).name if self._path else ""
        self._shown = name or "none"
        self.show_text(self._shown)
        self._fit()
        self.clear.setVisible(bool(name))
        path = f"\n\n{self._path}" if self._path else ""
        self.setToolTip(tooltip(f"{self._effect}{path}"))

    def _fit(self) -> None:
        """Leave out the middle of a name that is too long."""
        elided = self.fontMetrics().elidedText(
            self._shown, Qt.TextElideMode.ElideMiddle, max(self.width() - PADDING, 0)
        )
        self.setText(plain_menu_text(elided))
