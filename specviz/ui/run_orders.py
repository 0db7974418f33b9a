"""What the setup, as it stands, asks of the engine.

Joins the rules of run_request.py with the setup panel and the slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from specviz.trace.config import LoadConfig, Message, RunConfig, RunMode
from specviz.ui.run_request import lacks_template, load_of, request, sweep_base, why_not
from specviz.ui.setup_panel import SetupPanel
from specviz.ui.slots import ModelSlots

NO_TARGET = "Choose a target first."


class RunOrders:
    """Makes what is sent to the engine. A script stands in for the models of the slots."""

    def __init__(self, setup: SetupPanel, slots: ModelSlots, script: Path | None) -> None:
        self._setup, self._slots, self._script = setup, slots, script

    @property
    def ready(self) -> bool:
        """Whether there is anything to run."""
        return self._slots.target is not None or self._script is not None

    @property
    def lacks_template(self) -> bool:
        """Whether prompts go without a chat template since the target brings none."""
        return lacks_template(self._slots)

    @property
    def raw(self) -> bool:
        """Whether somebody wants prompts to go without a chat template."""
        return self._setup.config().raw

    def config(
        self, mode: RunMode, messages: Sequence[Message], raw: bool | None = None
    ) -> RunConfig:
        """What a run of these messages is asked to do.

        `raw`: with or without a chat template, where the setting does not decide.
        """
        settings = replace(self._setup.config(), mode=mode)
        if raw is None or self.lacks_template:
            raw = settings.raw
        return request(settings, messages, raw=raw, script=self._script)

    def load(self) -> LoadConfig:
        """What has to be in memory for a run with the settings as they are."""
        return load_of(self._setup.config(), self._script)

    def sweep_base(self) -> RunConfig:
        """What a sweep begins from."""
        return sweep_base(self._setup.config(), self._script)

    def why_not(self, config: RunConfig) -> str:
        """Why this cannot be run, in a sentence; empty when it can."""
        return why_not(config, self._slots) if self.ready else NO_TARGET

    def why_not_run(self, mode: RunMode) -> str:
        """Why nothing can be run in this mode, whatever the prompt; empty when it can."""
        return self.why_not(self.config(mode, (Message(role="user", text="?"),)))
