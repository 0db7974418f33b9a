"""Ctrl+C and the system's request to end close the window in good order.

Qt's event loop is native code: Python's signal handlers would wait for the next event. A socket
that the interpreter writes to wakes it up. Not on Windows, whose console ends the process itself.
"""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QSocketNotifier


@contextmanager
def closing_on_signals(close: Callable[[], object]) -> Iterator[None]:
    """Call `close` in the event loop when SIGINT or SIGTERM arrives, while inside the block."""
    if sys.platform == "win32":
        yield
        return
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    notifier = QSocketNotifier(ours.fileno(), QSocketNotifier.Type.Read)

    def woken() -> None:
        ours.recv(64)
        close()

    notifier.activated.connect(woken)
    before_fd = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    before = {
        number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before_fd)
        notifier.setEnabled(False)
        ours.close()
        theirs.close()
