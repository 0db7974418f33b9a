"""What the engine tells beside its runs: loading, what was loaded, reading the prompt, safe mode.

Keeps what is in memory, against what was asked for, and says so where it stands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from specviz.trace.config import LoadConfig, Role, RunMode
from specviz.trace.events import Prefilled
from specviz.ui import figures
from specviz.ui.conversation import Conversation
from specviz.ui.main_window import MainWindow
from specviz.ui.messages import Severity, ShownMessage
from specviz.ui.pending import pending_rows
from specviz.ui.run_orders import RunOrders
from specviz.ui.states import State
from specviz.worker.client import Message
from specviz.worker.protocol import Loaded, Loading, Prefilling, SafeMode
from specviz.worker.session import EngineSession

KEEPS_STATE = (
    "This model keeps a running state; rejected tokens are undone by saving and restoring it, "
    "which costs time (its own part of the time chart)."
)


class Host(Protocol):
    """What notices need of the window around them."""

    @property
    def state(self) -> State:
        """Where the program stands."""

    def set_state(self, state: State) -> None:
        """The program stands elsewhere."""


class Notices:
    """Takes in what the engine tells.

    Attributes:
        asked: what the work under way needs in memory, whatever is set meanwhile; else None.
        loaded: what is in memory, as far as it is known.
    """

    def __init__(
        self,
        window: MainWindow,
        conversation: Conversation,
        session: EngineSession,
        orders: RunOrders,
        host: Host,
    ) -> None:
        self.asked: LoadConfig | None = None
        self.loaded: LoadConfig | None = None
        self._window, self._conversation = window, conversation
        self._session, self._orders = session, orders
        self._host = host
        self._keeps_state_untold = False

    def on_notice(self, message: Message) -> None:
        """See runner.Listener."""
        if self._host.state is State.CANCELLING:
            # the wish came before there was a command to stop, while the engine was starting
            self._session.cancel()
        match message:
            case Loading():
                self._show_loading(message)
            case Loaded():
                self.on_loaded(message)
            case Prefilling():
                self._show_prefill(message)
            case SafeMode():
                self._window.setup.set_safe_mode(True)
                self._window.messages.show_message(
                    ShownMessage(
                        sentence=message.message, severity=Severity.WARNING, key="safe-mode"
                    )
                )

    # Loading -----------------------------------------------------------------------------------
    def _show_loading(self, message: Loading) -> None:
        name = Path(message.path).name
        self._conversation.show_progress(
            f"Loading the {message.role.value}, {name}…", message.fraction
        )

    def on_loaded(self, message: Loaded) -> None:
        """The models are in memory."""
        load = self._orders.load()
        # a check loads what its run was asked to have, whatever is set now
        self.loaded = self.asked or load
        self.show_pending(load)
        self._keeps_state_untold = message.rollback != "trim"
        self.tell_of_state()
        if message.reasons:
            self._window.messages.show_message(
                ShownMessage(
                    sentence=f"Loaded again, because of: {', '.join(message.reasons)}.",
                    key="reload",
                )
            )

    def show_pending(self, wanted: LoadConfig) -> None:
        """Mark the settings that wait for the models to be loaded again."""
        rows = pending_rows(self.loaded, wanted) if self.loaded is not None else ()
        self._window.setup.mark_pending(rows)

    def tell_of_state(self) -> None:
        """Once for each load, where drafts are undone at a price."""
        if self._keeps_state_untold and self._window.mode is RunMode.SPECULATIVE:
            self._keeps_state_untold = False
            self._window.messages.show_message(ShownMessage(sentence=KEEPS_STATE, key="rollback"))

    # The prompt --------------------------------------------------------------------------------
    def _show_prefill(self, message: Prefilling) -> None:
        if self._host.state is State.LOADING:
            self._host.set_state(State.RUNNING)
        who = "" if message.role is Role.TARGET else " with the draft"
        done, total = figures.count(message.n_done), figures.count(message.n_total)
        share = message.n_done / message.n_total if message.n_total else None
        self._conversation.show_progress(
            f"Reading the prompt{who}… {done} of {total} tokens", share
        )

    def on_prefilled(self, event: Prefilled) -> None:
        """See runner.Listener. Says it where most of the prompt was there from an earlier run."""
        if event.n_reused:
            who = "" if event.role is Role.TARGET else " with the draft"
            new, total = figures.count(event.n_tokens), event.n_tokens + event.n_reused
            self._conversation.show_progress(
                f"Read the prompt{who}: {new} of {figures.counted(total, 'token')} were new"
            )
