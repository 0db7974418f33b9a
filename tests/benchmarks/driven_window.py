"""The real window in this process, put together as specviz.app does, with somebody at the controls.

Paints offscreen unless QT_QPA_PLATFORM says otherwise (under Xvfb: xcb). Settings go to a folder
that is thrown away.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import qasync

from specviz.app import make_application
from specviz.errors import EngineError
from specviz.preferences import Preferences
from specviz.trace.config import RunConfig, RunMode
from specviz.trace.trace import Trace
from specviz.ui.controller import Controller
from specviz.ui.states import State
from specviz.window_options import WindowOptions

T = TypeVar("T")

WINDOW_SIZE = (1440, 900)
POLL_SECONDS = 0.1


def in_window(options: WindowOptions, scenario: Callable[[Controller], Awaitable[T]]) -> T:
    """Open the window, play the scenario in it, close it in good order."""
    application = make_application()

    async def main(folder: str) -> T:
        controller = Controller(options, Preferences(Path(folder) / "settings.json"))
        controller.window.resize(*WINDOW_SIZE)
        controller.show()
        try:
            return await scenario(controller)
        finally:
            await controller.close()
            await controller.finished

    with (
        tempfile.TemporaryDirectory() as folder,
        asyncio.Runner(loop_factory=lambda: qasync.QEventLoop(application)) as runner,
    ):
        return runner.run(main(folder))


async def ready(controller: Controller) -> None:
    """Wait until a run can be started, and the engine process is there."""
    await _until(
        controller,
        lambda: (
            controller.state is State.READY
            and controller.session.ready is not None
            and not controller.clock.running
        ),
    )


async def run(
    controller: Controller, prompt: str, change: Callable[[RunConfig], RunConfig], mode: RunMode
) -> Trace:
    """Run a prompt as a user would, with the settings in the panel changed; the run of `mode`."""
    setup = controller.window.setup
    config = setup.config()
    setup.apply_config(change(replace(config, mode=mode)))
    controller.window.set_mode(mode)
    controller.run(prompt)
    await asyncio.sleep(0)
    await _until(controller, lambda: controller.state is not State.READY)
    await _until(
        controller, lambda: controller.state is State.READY and not controller.clock.running
    )
    runner = controller.runner
    trace = runner.baseline if mode is RunMode.BASELINE else runner.speculative
    if trace is None or trace.finished is None:
        raise EngineError("The run in the window did not come to its end.")
    return trace


async def _until(controller: Controller, condition: Callable[[], bool]) -> None:
    while not condition():
        if controller.state is State.FAULTED:
            raise EngineError("The engine ended during the measurement.")
        await asyncio.sleep(POLL_SECONDS)
