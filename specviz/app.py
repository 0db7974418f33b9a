"""Composition root: the only place that joins window, controller and engine session."""

from __future__ import annotations

import asyncio
import logging
import sys

import qasync
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QApplication

from specviz import __version__
from specviz.preferences import Preferences
from specviz.ui.garbage import MainThreadCollector
from specviz.window_options import WindowOptions

log = logging.getLogger(__name__)


def run_window(options: WindowOptions) -> int:
    """Open the window and stay until it is closed; returns the exit code."""
    application = make_application()
    MainThreadCollector(application)
    preferences = Preferences()

    async def main() -> int:
        from specviz.ui.controller import Controller
        from specviz.ui.signals import closing_on_signals

        controller = Controller(options, preferences)
        with closing_on_signals(controller.window.close):
            controller.show()
            return await controller.finished

    with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(application)) as runner:
        return runner.run(main())


def make_application() -> QApplication:
    """The Qt application with name and fonts set up; the one there is, when there is one."""
    QCoreApplication.setApplicationName("SpecViz")
    QCoreApplication.setApplicationVersion(__version__)
    QCoreApplication.setOrganizationName("SpecViz")
    existing = QApplication.instance()
    application = existing if isinstance(existing, QApplication) else QApplication(sys.argv[:1])
    application.setAttribute(Qt.ApplicationAttribute.AA_DontShowIconsInMenus)
    application.setQuitOnLastWindowClosed(False)
    from specviz.ui.fonts import load_fonts

    load_fonts()
    return application
