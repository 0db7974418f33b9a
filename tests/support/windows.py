"""The whole program in a test: real window, real child process, one event loop for both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import qasync

from specviz.app import make_application
from specviz.preferences import Preferences
from specviz.ui.controller import Controller
from specviz.ui.states import State
from specviz.window_options import WindowOptions

PATIENCE_SECONDS = 60


async def until(condition: Callable[[], Any], what: str = "") -> None:
    """Let the program go on until `condition` holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what or condition}"
        await asyncio.sleep(0.01)


async def resting(controller: Controller) -> None:
    """Let the program go on until nothing is under way any more."""
    await asyncio.sleep(0)
    await until(
        lambda: (
            controller.state in (State.READY, State.FAULTED, State.EMPTY)
            and not controller.clock.running
        ),
        "a state of rest",
    )
    # the clock's last tick
    await asyncio.sleep(0.05)


def drive(
    home: Path,
    body: Callable[[Controller], Awaitable[None]],
    *,
    script: Path | None = None,
    target: Path | None = None,
    draft: Path | None = None,
    trace: Path | None = None,
) -> None:
    """Open the window, let `body` use it, close it; nothing may be left behind."""
    application = make_application()
    options = WindowOptions(target=target, draft=draft, trace=trace, script=script)

    async def main() -> None:
        controller = Controller(options, Preferences(home / "settings.json"))
        controller.window.resize(1440, 900)
        controller.show()
        try:
            await until(lambda: controller.session.ready is not None, "the engine")
            await body(controller)
        finally:
            await controller.close()
        assert await controller.finished == 0
        assert controller.session.pid is None
        controller.window.deleteLater()

    with asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(application)) as runner:
        runner.run(main())
