"""`specviz sweep`: drafting settings over prompts, as a table, JSON and CSV."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from specviz.cli import sweep_table, terminal
from specviz.cli.measurement import CONVERTED_ONCE, activity, convert, interruptible
from specviz.cli.request import check_files
from specviz.cli.sweep_request import SweepRequest, read_sweep
from specviz.errors import ExitCode, SpecvizError
from specviz.models.demo_pair import DemoPair
from specviz.sweep.report import report_text, write_csv
from specviz.sweep.runner import Progress, Sweep
from specviz.worker.client import Message
from specviz.worker.protocol import SafeMode
from specviz.worker.session import EngineSession


def execute(argv: Sequence[str]) -> int:
    """Sweep as the options ask for; returns the exit code. Raises SpecvizError.

    Whatever was measured before a failure or Ctrl+C is still reported.
    """
    notes: list[str] = []
    request = read_sweep(argv, notes.append)
    view = SweepView(request.quiet)
    for sentence in notes:
        view.note(sentence)
    session = EngineSession(script=request.script)
    sweep = Sweep(session, request.plan, view)
    failure: SpecvizError | None = None
    try:
        asyncio.run(_sweep(request, session, sweep, view))
    except SpecvizError as error:
        failure = error
    finally:
        view.close()
    if sweep.results.n_added > sweep.results.n_failed or (failure is None and not sweep.cancelled):
        _report(request, sweep)
    if sweep.cancelled:
        return int(ExitCode.INTERRUPTED)
    if failure is not None:
        raise failure
    return int(ExitCode.RUN_FAILED if sweep.results.n_failed else ExitCode.DONE)


async def _sweep(
    request: SweepRequest, session: EngineSession, sweep: Sweep, view: SweepView
) -> None:
    with interruptible(session, sweep.cancel):
        try:
            view.status("Starting the engine")
            await session.start()
            if request.demo is not None:
                await _prepare(request.demo, request, session, view)
            await sweep.run()
        except asyncio.CancelledError:
            if not sweep.cancelled:
                raise
        finally:
            await session.close()


async def _prepare(
    demo: DemoPair, request: SweepRequest, session: EngineSession, view: SweepView
) -> None:
    if not demo.prepared:
        view.note(CONVERTED_ONCE)
        await convert(demo, session, view.on_notice)
    if demo.target.is_file():
        used = {source for point in request.plan.points for source in point.speculation.sources}
        load = request.plan.config(0, None).load
        check_files(demo.target, demo.draft if load.draft is not None else None, used)


def _report(request: SweepRequest, sweep: Sweep) -> None:
    results = sweep.results
    if request.json:
        sys.stdout.write(report_text(results, scripted=request.script is not None))
    else:
        lines = sweep_table.result_lines(results)
        if not request.quiet:
            lines += sweep_table.prompt_lines(results)
            if request.script is None:
                lines += sweep_table.command_lines(results)
        lines += sweep_table.failure_lines(results)
        sys.stdout.write("\n".join(map(terminal.safe, lines)) + "\n")
    sys.stdout.flush()
    if request.csv is not None:
        write_csv(results, request.csv)


class SweepView:
    """Says on standard error how a sweep goes: progress on a terminal, notes everywhere."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._progress = terminal.Progress(sys.stderr, sys.stderr.isatty() and not quiet)
        self._stands = ""

    def note(self, sentence: str) -> None:
        """Something that the user should know."""
        self._progress.clear()
        if not self._quiet:
            print(f"specviz: {terminal.safe(sentence)}", file=sys.stderr, flush=True)

    def status(self, text: str) -> None:
        """What is going on right now."""
        self._progress.show(text)

    def on_sweep_progress(self, progress: Progress) -> None:
        self._stands = progress_line(progress)
        self._progress.show(self._stands)

    def on_sweep_result(self, prompt: int, point: int | None) -> None:
        pass  # the next progress follows at once

    def on_notice(self, message: Message) -> None:
        if isinstance(message, SafeMode):
            self.note(message.message)
        elif words := activity(message):
            # prefill of a short prompt comes with every run, and would only flicker
            if not self._stands or words.startswith("Loading"):
                self._progress.show(words)

    def close(self) -> None:
        """Leave the terminal in order, however the sweep ended."""
        self._progress.clear()


def progress_line(progress: Progress) -> str:
    """Such as `12 of 48 · about 2 min left · Story · 4 draft tokens`."""
    parts = [f"{progress.n_done} of {progress.n_total}"]
    if progress.remaining_seconds is not None:
        parts.append(f"about {duration(progress.remaining_seconds)} left")
    return " · ".join([*parts, progress.prompt, progress.label])


def duration(seconds: float) -> str:
    """A rough time to wait: `20 s`, `2 min`, `1 h 05 min`."""
    if seconds < 9.5:
        return f"{max(round(seconds), 1)} s"
    if seconds < 57.5:
        return f"{5 * round(seconds / 5)} s"
    minutes = max(round(seconds / 60), 1)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
