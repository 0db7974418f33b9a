"""Work that goes on behind the window, none of which may end it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from specviz.errors import SpecvizError
from specviz.ui.messages import MessageArea, Severity, ShownMessage

log = logging.getLogger(__name__)


class Background:
    """Runs coroutines. A known error goes to `fault`; anything else becomes a message."""

    def __init__(self, messages: MessageArea, fault: Callable[[SpecvizError], None]) -> None:
        self._messages, self._fault = messages, fault
        # the loop itself holds its tasks weakly
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Let a coroutine run by itself."""
        task = asyncio.ensure_future(self.guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Wait for a coroutine, which raises nothing."""
        try:
            await work
        except SpecvizError as error:
            self._fault(error)
        except Exception as error:  # the edge of the window: nothing may end it
            log.exception("an action failed")
            self._messages.show_message(
                ShownMessage(
                    sentence=f"SpecViz met a fault of its own: {type(error).__name__}.",
                    hint="What was measured is kept; please report this with the details.",
                    details=str(error),
                    severity=Severity.ERROR,
                    key="internal",
                )
            )

    def cancel(self) -> None:
        """Cancel everything but the work that asks for it."""
        for task in [t for t in self._tasks if t is not asyncio.current_task()]:
            task.cancel()
