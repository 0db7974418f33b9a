"""`specviz run`: one prompt, baseline and speculative, with coloured text and a summary."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from specviz.cli import summary_table, terminal
from specviz.cli.measurement import Measurement, Watcher
from specviz.cli.request import Request, read_request
from specviz.errors import ExitCode, SpecvizError
from specviz.export.csv_tables import write_csv
from specviz.export.summary_json import summary_text
from specviz.trace import metrics
from specviz.trace.config import RunMode
from specviz.trace.events import TokenSource
from specviz.trace.trace import Trace

ACCEPTED = TokenSource.ACCEPTED


def execute(argv: Sequence[str]) -> int:
    """Run what the options ask for; returns the exit code. Raises SpecvizError.

    Whatever was measured before a failure or Ctrl+C is still reported.
    """
    notes: list[str] = []
    request = read_request(argv, notes.append)
    view = TerminalView(request)
    for sentence in notes:
        view.note(sentence)
    measurement = Measurement(request, view)
    failure: SpecvizError | None = None
    try:
        asyncio.run(measurement.measure())
    except SpecvizError as error:
        failure = error
    finally:
        view.close()
    if measurement.traces or failure is None:
        _report(request, measurement)
    if failure is not None and not measurement.interrupted:
        raise failure
    return int(ExitCode.INTERRUPTED if measurement.interrupted else ExitCode.DONE)


def _report(request: Request, measurement: Measurement) -> None:
    traces = [trace for trace in measurement.traces if trace.started is not None]
    comparison = measurement.comparison()
    if request.json:
        sys.stdout.write(summary_text(traces, comparison))
    elif traces:
        lines = summary_table.summary_lines(traces, comparison)
        if not request.quiet:
            lines = ["", *lines, *summary_table.source_lines(traces)]
        sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    if request.csv is not None and traces:
        write_csv(traces, request.csv, comparison)


class TerminalView(Watcher):
    """Shows a measurement as it goes: answers on standard output, the rest on standard error."""

    def __init__(self, request: Request) -> None:
        self._streams = not (request.json or request.quiet)
        self._quiet = request.quiet
        self._repeat = request.repeat
        self._colour = terminal.takes_colour(sys.stdout)
        self._progress = terminal.Progress(sys.stderr, sys.stderr.isatty() and not request.quiet)
        self._printer: terminal.AnswerPrinter | None = None
        self._answers_on_terminal = self._streams and sys.stdout.isatty()

    def note(self, sentence: str) -> None:
        self._progress.clear()
        if not self._quiet:
            print(f"specviz: {terminal.safe(sentence)}", file=sys.stderr, flush=True)

    def status(self, text: str) -> None:
        self._progress.show(text)

    def run_begins(self, mode: RunMode, number: int) -> None:
        # of repeats only the first answer is shown: the others are the same, or a fork says so
        if not self._streams or number > 1:
            return
        self._progress.clear()
        title = "Baseline: the target alone" if mode is RunMode.BASELINE else "Speculative"
        sys.stdout.write(self._styled(title, terminal.BOLD) + "\n")
        sys.stdout.flush()
        self._printer = terminal.AnswerPrinter(sys.stdout, self._colour)

    def run_grows(self, trace: Trace) -> None:
        if self._printer is None or not self._answers_on_terminal:
            self._progress.show(_progress_of(trace))
        else:
            self._progress.clear()
        if self._printer is not None:
            self._printer.show(trace)

    def run_ends(self, trace: Trace) -> None:
        self._progress.clear()
        if self._printer is None:
            return
        self._printer.show(trace)
        self._printer.end()
        self._printer = None
        if self._colour and trace.mode is RunMode.SPECULATIVE:
            sys.stdout.write(_legend(trace) + "\n")
        sys.stdout.write("\n")
        sys.stdout.flush()

    def close(self) -> None:
        """Leave both streams in order, however the measurement ended."""
        self._progress.clear()
        if self._printer is not None:
            self._printer.end()

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{terminal.RESET}" if self._colour else text


def _progress_of(trace: Trace) -> str:
    text = f"{trace.mode.value}: {len(trace.tokens)} tokens"
    rate = metrics.tokens_per_second(trace)
    return text if rate is None else f"{text}, {rate:.1f} tokens/s"


def _legend(trace: Trace) -> str:
    counts = trace.counts
    copied = sum(token.copied_from is not None for token in trace.tokens)
    entries = [
        (source.value, style, getattr(counts, source.value) - copied * (source is ACCEPTED))
        for source, style in terminal.STYLES.items()
    ]
    entries.insert(1, ("copied", terminal.COPIED, copied))
    parts = [f"{style}{word}{terminal.RESET} {n}" for word, style, n in entries if n]
    return f"{terminal.QUIET}tokens:{terminal.RESET} " + "  ".join(parts)
