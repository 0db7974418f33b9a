"""`specviz selftest`: proves an installation or a bundle, from the engine to the export."""

from __future__ import annotations

import asyncio
import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path

from specviz import __version__
from specviz.cli.arguments import ArgumentParser
from specviz.cli.measurement import closing
from specviz.cli.terminal import safe
from specviz.errors import EngineError
from specviz.export.csv_tables import write_csv
from specviz.resources import resource
from specviz.trace.config import (
    LoadConfig,
    Message,
    ModelSpec,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
)
from specviz.trace.events import RunEvent
from specviz.trace.storage import SUFFIX, read_trace, write_trace
from specviz.trace.trace import Trace
from specviz.worker.protocol import SafeMode
from specviz.worker.session import EngineSession

MODEL = "models/selftest.gguf"
N_TOKENS = 8


def execute(argv: Sequence[str]) -> int:
    """Check everything, a line for each; returns the exit code. Raises SpecvizError."""
    ArgumentParser(
        prog="specviz selftest",
        description="Proves that this installation works: engine, tiny model, trace, export.",
    ).parse_args(argv)
    traces = asyncio.run(_run_both())
    with tempfile.TemporaryDirectory(prefix="specviz-selftest-") as folder:
        stored = _store(traces, Path(folder))
        _export(stored, Path(folder) / "csv")
    print("everything works")
    return 0


def _passed(what: str) -> None:
    print(f"ok  {safe(what)}", flush=True)


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise EngineError(otherwise, "Install SpecViz again, or report it with this output.")


async def _run_both() -> list[Trace]:
    session = EngineSession()
    try:
        environment = (await session.start()).environment
        _passed(
            f"engine process starts: SpecViz {__version__}, "
            f"llama-cpp-python {environment.llama_cpp_python}, llama.cpp {environment.llama_cpp}"
        )
        names = [device.name for device in (await session.devices()).devices]
        _passed(f"backend: {', '.join(names) or 'none named'}")
        baseline = await _run(session, RunMode.BASELINE)
        _check(len(baseline.tokens) == N_TOKENS, "The tiny model did not generate 8 tokens.")
        _passed(f"the tiny model generates {N_TOKENS} tokens")
        speculative = await _run(session, RunMode.SPECULATIVE)
        _check(speculative.counts.tested > 0, "Nothing was drafted.")
        _check(speculative.data == baseline.data, "Speculative and baseline run differ.")
        counts = speculative.counts
        _passed(f"the speculative run says the same, {counts.accepted} tokens accepted")
        return [baseline, speculative]
    finally:
        await session.close()


async def _run(session: EngineSession, mode: RunMode) -> Trace:
    model = ModelSpec(path=str(resource(MODEL)), n_gpu_layers=0, n_threads=1)
    config = RunConfig(
        mode=mode,
        load=LoadConfig(target=model, draft=model, n_ctx=256),
        messages=(Message(role="user", text="Once upon a time"),),
        raw=True,
        max_tokens=N_TOKENS,
        sampling=SamplingConfig(seed=1),
        speculation=SpeculationConfig(),
    )
    trace = Trace()
    async with closing(session.run(config)) as messages:
        async for message in messages:
            if isinstance(message, RunEvent):
                trace.append(message)
            elif isinstance(message, SafeMode):
                print(f"--  {safe(message.message)}", flush=True)
    if trace.failed is not None:
        raise EngineError(trace.failed.message, trace.failed.hint)
    return trace


def _store(traces: Sequence[Trace], folder: Path) -> list[Trace]:
    read = []
    for trace in traces:
        path = folder / f"{trace.mode.value}{SUFFIX}"
        write_trace(trace, path)
        read.append(read_trace(path))
        _check(read[-1].tokens == trace.tokens, "A stored trace does not read back as it was.")
    _passed("traces are stored and read back")
    return read


def _export(traces: Sequence[Trace], folder: Path) -> None:
    write_csv(traces, folder)
    with (folder / "tokens.csv").open(encoding="utf-8", newline="") as file:
        pieces = b"".join(bytes.fromhex(row["piece_hex"]) for row in csv.DictReader(file))
    expected = b"".join(trace.data for trace in traces)
    _check(pieces == expected, "The exported tokens are not those of the runs.")
    _passed("CSV tables are exported")
