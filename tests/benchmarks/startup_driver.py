"""Runs a windowed program and tells on standard output when its window was painted first.

usage: startup_driver.py specviz | bare

Does what `python -m specviz` does, or shows an empty QMainWindow. The window is closed as soon as
it has been painted. Imports nothing that the program would not import.
"""

from __future__ import annotations

import runpy
import sys
import time
from typing import Any

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget


class Watcher(QObject):
    """Sees the first window being painted; children are painted in the same go as it is."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and isinstance(watched, QWidget):
            if watched.isWindow():
                QApplication.instance().removeEventFilter(self)
                QTimer.singleShot(0, self._tell)
        return False

    def _tell(self) -> None:
        print(time.time(), flush=True)
        QApplication.closeAllWindows()


class WatchedApplication(QApplication):
    """The application that the program makes, looked on at from its first event."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._watcher = Watcher()
        self.installEventFilter(self._watcher)


def bare() -> int:
    """The least that shows a window."""
    application = WatchedApplication(["bare"])
    window = QMainWindow()
    window.resize(1280, 800)
    window.show()
    return application.exec()


def main() -> int:
    if sys.argv[1] == "bare":
        return bare()
    import PySide6.QtWidgets

    PySide6.QtWidgets.QApplication = WatchedApplication
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
