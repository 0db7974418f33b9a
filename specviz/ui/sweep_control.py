"""A sweep as the window makes it: from the form to a plan, its run, and what becomes of it.

Joins page and bar with a sweep on the engine. The window's state belongs to the controller, which
is told what happens.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from PySide6.QtGui import QGuiApplication

from specviz.errors import FileError, SettingError
from specviz.sweep.plan import SweepPrompt
from specviz.sweep.prompts import prompt_of, read_prompts
from specviz.sweep.report import write_report, write_table
from specviz.sweep.results import SweepResults
from specviz.sweep.runner import Progress, Sweep
from specviz.trace.config import LoadConfig, RunConfig
from specviz.trace.server_command import LLAMA_CPP_RELEASE, not_covered, server_command
from specviz.ui import figures
from specviz.ui.messages import Severity, ShownMessage
from specviz.ui.run_request import cannot_draft
from specviz.ui.slots import ModelSlots
from specviz.ui.sweep_bar import SweepBar
from specviz.ui.sweep_choice import Planned, PromptsFrom, SweepChoice, plan_of
from specviz.ui.sweep_page import SweepPage
from specviz.ui.sweep_words import plan_words
from specviz.worker.client import Message
from specviz.worker.protocol import Loaded, Loading
from specviz.worker.session import EngineSession


class Host(Protocol):
    """What a sweep needs of the window around it."""

    slots: ModelSlots

    def sweep_base(self) -> RunConfig:
        """The setup's settings, with the models that a run would load."""

    def on_sweep_notice(self, message: Message) -> None:
        """The engine told something that is not part of a run."""

    def on_sweep_step(self, failure: ShownMessage | None) -> None:
        """A run has begun, or the last one has failed, which `failure` tells."""


class SweepControl:
    """Owns the plan and the newest sweep with its results, which stay until the next one."""

    def __init__(
        self,
        page: SweepPage,
        bar: SweepBar,
        session: EngineSession,
        host: Host,
        builtin: Sequence[SweepPrompt],
    ) -> None:
        self.page, self.bar = page, bar
        self.sweep: Sweep | None = None
        self.running = False
        self.reason = ""
        self._session = session
        self._host = host
        self._builtin = tuple(builtin)
        self._field = ""
        self._from_file: tuple[SweepPrompt, ...] = ()
        self._file_problem = ""
        self._planned: Planned | None = None
        self._planned_for: object = None

    @property
    def results(self) -> SweepResults | None:
        """What the newest sweep has come to."""
        return self.sweep.results if self.sweep is not None else None

    @property
    def next_load(self) -> LoadConfig | None:
        """What the next sweep has in memory."""
        planned = self._planned
        if planned is None or not planned.plan.prompts:
            return None
        return planned.plan.config(0, None).load

    # The plan ----------------------------------------------------------------------------------
    def show_plan(self, *, ready: bool) -> None:
        """Work out what the form and the setup come to; `ready`: there are models."""
        base, choice = self._host.sweep_base(), self.page.form.choice()
        prompts, problem = self._prompts(choice)
        key = (base, choice, prompts)
        if key != self._planned_for:
            self._planned_for = key
            try:
                self._planned = plan_of(base, choice, prompts)
                self._too_much = ""
            except SettingError as error:
                self._planned, self._too_much = None, str(error)
        self.reason = self._why_not(choice, problem, ready)
        planned = self._planned
        note = planned.note if planned is not None else ""
        words = plan_words(planned.plan) if planned is not None else ""
        self.bar.show_plan(words, blocked=self.reason, note=note)
        self.page.set_summary(self.page.form.summary())
        self.page.set_stale(self._stale(base))

    def _why_not(self, choice: SweepChoice, problem: str, ready: bool) -> str:
        if not ready:
            return "Choose a target first."
        if not choice.sources:
            return "Tick at least one method."
        reason = cannot_draft(choice.sources, self._host.slots)
        if reason or self.page.form.problem() or problem:
            return reason or self.page.form.problem() or problem
        if self._planned is None:
            return self._too_much
        if self._planned.why_none:
            return self._planned.why_none
        found = self._planned.plan.problems()
        return found[0] if found else ""

    def _prompts(self, choice: SweepChoice) -> tuple[tuple[SweepPrompt, ...], str]:
        """The prompts that are chosen, and why there are none."""
        match choice.prompts_from:
            case PromptsFrom.BUILTIN:
                chosen = tuple(p for p in self._builtin if p.name in choice.builtin)
                return chosen, "" if chosen else "Tick at least one prompt."
            case PromptsFrom.FIELD:
                if not self._field.strip():
                    return (), "Write a prompt in one of the other modes first."
                return (prompt_of(self._field),), ""
            case PromptsFrom.FILE:
                problem = self._file_problem or "Choose a file of prompts."
                return self._from_file, "" if self._from_file else problem

    def set_field_prompt(self, text: str) -> None:
        """The prompt that is written in the other modes."""
        self._field = text
        self.page.form.show_field_prompt(text)

    async def take_file(self, path: str | None) -> None:
        """Read a file of prompts; what is wrong with it is said at the form."""
        self._from_file, self._file_problem = (), ""
        if path:
            try:
                self._from_file = await asyncio.to_thread(read_prompts, Path(path))
            except FileError as error:
                self._file_problem = str(error)
        n = len(self._from_file)
        self.page.form.show_file(
            path, self._file_problem or (figures.counted(n, "prompt") if n else "")
        )

    def _stale(self, base: RunConfig) -> str:
        """Whether the setup says something else than what was measured, drafting apart."""
        results = self.results
        if results is None or self.running:
            return ""
        before = results.plan.base
        seed = base.sampling.seed if base.sampling.seed is not None else before.sampling.seed
        now = replace(base, sampling=replace(base.sampling, seed=seed))
        same = replace(now, speculation=before.speculation) == before
        if same:
            return ""
        models = [m.name for m in (results.target, results.draft) if m is not None and m.name]
        measured = f"Measured with {' and '.join(models)}" if models else "Measured before"
        return f"{measured}; the setup has changed since."

    # Running -----------------------------------------------------------------------------------
    async def run(self) -> bool:
        """Run the plan; False when it was cancelled. Raises what ends a sweep; results stay."""
        assert self._planned is not None
        self.sweep = Sweep(self._session, self._planned.plan, self)
        self.running = True
        self.page.set_folded(True)
        self.page.show_results(self.sweep.results, running=True)
        self.page.area.verticalScrollBar().setValue(0)
        try:
            return await self.sweep.run()
        finally:
            self.running = False
            self.page.set_running(False)

    def cancel(self) -> None:
        """Stop within a step; what was measured stays."""
        if self.sweep is not None:
            self.sweep.cancel()

    def on_sweep_progress(self, progress: Progress) -> None:
        """See sweep.runner.SweepListener."""
        self.bar.show_progress(progress)
        self._host.on_sweep_step(None)

    def on_sweep_result(self, prompt: int, point: int | None) -> None:
        """See sweep.runner.SweepListener."""
        self.page.note_change()
        result = self.results.result(prompt, point) if self.results is not None else None
        if result is not None and result.error and self.sweep is not None:
            plan = self.sweep.plan
            label = "baseline" if point is None else plan.points[point].label
            self._host.on_sweep_step(
                ShownMessage(
                    sentence="A run of the sweep failed; the others go on.",
                    hint=f"{plan.prompts[prompt].name}, {label}: {result.error}",
                    severity=Severity.WARNING,
                    key="sweep-run",
                )
            )

    def on_notice(self, message: Message) -> None:
        """See sweep.runner.SweepListener."""
        if isinstance(message, Loading):
            self.bar.show_loading(f"Loading the {message.role.value}, {Path(message.path).name}…")
        elif isinstance(message, Loaded):
            self.bar.show_loading("")
        self._host.on_sweep_notice(message)

    # Results -----------------------------------------------------------------------------------
    def copy_command(self) -> ShownMessage | None:
        """Copy the llama-server command of the chosen setting; what to say of that."""
        results, index = self.results, self.page.chosen
        if results is None or index is None:
            return None
        config = results.plan.config(0, index)
        command = server_command(config, "windows" if sys.platform == "win32" else "posix")
        QGuiApplication.clipboard().setText(command)
        return ShownMessage(
            sentence="The llama-server command is on the clipboard. Its options are those of "
            f"{LLAMA_CPP_RELEASE}.",
            hint=" ".join(not_covered(config)),
            details=command,
            key="server-command",
        )

    @property
    def has_figures(self) -> bool:
        """Whether there is anything to export."""
        return self.results is not None and self.results.n_added > 0

    async def export(self, kind: str, path: Path) -> list[Path]:
        """Write `sweep-csv` or `sweep-json`. Raises FileError, or SettingError for nothing yet."""
        results = self.results
        if results is None or not self.has_figures:
            raise SettingError("There is no sweep to export yet.", "Run one first.")
        write = write_table if kind == "sweep-csv" else write_report
        await asyncio.to_thread(write, results, path)
        return [path]

    def suggested_name(self) -> str:
        """A file name without ending, from the target's name."""
        target = self.results.target if self.results is not None else None
        name = f"{target.name} sweep" if target is not None and target.name else "sweep"
        return "".join(c if c.isalnum() or c in " -_." else "-" for c in name).strip(" .")[:60]
