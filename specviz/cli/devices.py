"""`specviz devices`: what this build of the engine can compute on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from specviz.cli.arguments import ArgumentParser
from specviz.cli.terminal import safe
from specviz.trace import codec
from specviz.worker.protocol import Device, EngineReady
from specviz.worker.session import EngineSession

GIB = 2**30


def execute(argv: Sequence[str]) -> int:
    """Ask the engine and print what it says; returns the exit code. Raises SpecvizError."""
    values = _parser().parse_args(argv)
    ready, devices = asyncio.run(_ask())
    if values.json:
        print(codec.dumps(_as_json(ready, devices), indent=1))
    else:
        print("\n".join(_lines(ready, devices)))
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="specviz devices", description="Lists what this build of the engine can use."
    )
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    return parser


async def _ask() -> tuple[EngineReady, tuple[Device, ...]]:
    session = EngineSession()
    try:
        ready = await session.start()
        return ready, (await session.devices()).devices
    finally:
        await session.close()


def _lines(ready: EngineReady, devices: Sequence[Device]) -> list[str]:
    environment = ready.environment
    safe_mode = "on: weights are not repacked" if environment.safe_mode else "off"
    rows = [(device.name, device.kind, _memory(device), device.description) for device in devices]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    return [
        f"llama-cpp-python {environment.llama_cpp_python}, llama.cpp {environment.llama_cpp}, "
        f"SpecViz {environment.specviz_version}",
        f"physical cores {ready.n_physical_cores}, "
        f"GPU offload {'yes' if ready.gpu_offload else 'no'}, safe mode {safe_mode}",
        f"system {safe(environment.system_info.strip())}",
        "",
        *(
            safe("  ".join([*(c.ljust(w) for c, w in zip(row[:3], widths, strict=True)), row[3]]))
            for row in rows
        ),
    ]


def _memory(device: Device) -> str:
    if device.memory_total <= 0:
        return ""
    return f"{device.memory_free / GIB:.1f} of {device.memory_total / GIB:.1f} GiB free"


def _as_json(ready: EngineReady, devices: Sequence[Device]) -> dict[str, object]:
    return {
        "engine": codec.to_json(ready.environment),
        "n_physical_cores": ready.n_physical_cores,
        "gpu_offload": ready.gpu_offload,
        "devices": [codec.to_json(device) for device in devices],
    }
