"""An engine that is simply there: starts and restarts its process, and knows about safe mode.

Used by the window and by the command line alike. When the process dies in native code while models
are loaded or warmed up, it is restarted once without weight repacking (safe mode), and that is
remembered for this machine and engine build.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import logging
import platform
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from specviz.errors import EngineDied, EngineError
from specviz.preferences import Preferences
from specviz.trace.config import LoadConfig, RunConfig
from specviz.trace.events import RunStarted
from specviz.worker.client import EngineClient, Message, died_in_native_code
from specviz.worker.protocol import (
    Checking,
    CheckLossless,
    Command,
    CostMeasured,
    Devices,
    Done,
    EngineReady,
    ListDevices,
    Load,
    LosslessChecked,
    MeasureCosts,
    RecordedStep,
    Requantise,
    Run,
    SafeMode,
    Unload,
)

log = logging.getLogger(__name__)

SAFE_MODE_KEY = "safe_mode"
SAFE_MODE_SENTENCE = (
    "The engine crashed in a processor-specific kernel ({cause}) and was started again without "
    "repacked weights. It is a little slower, and this is remembered for this machine."
)

BEGUN = (RunStarted, CostMeasured, Checking, LosslessChecked)
"""Messages that come when the models are loaded and warmed up."""


def engine_build() -> str:
    """Identifies this machine together with this engine build, for what is remembered of them."""
    try:
        version = importlib.metadata.version("llama-cpp-python")
    except importlib.metadata.PackageNotFoundError:
        version = "unknown"
    parts = [platform.node(), platform.machine(), _processor(), version]
    spec = importlib.util.find_spec("llama_cpp")
    folder = Path(spec.origin).parent / "lib" if spec and spec.origin else None
    if folder and folder.is_dir():
        parts += [f"{p.name}:{p.stat().st_size}" for p in sorted(folder.iterdir())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


class EngineSession:
    """The engine as its users see it. One command at a time; `cancel` stops the one under way."""

    def __init__(
        self,
        script: Path | None = None,
        preferences: Preferences | None = None,
        cancel_grace: float = 4.0,
    ) -> None:
        self._script = script
        self._preferences = preferences if preferences is not None else Preferences()
        self._grace = cancel_grace
        self._client: EngineClient | None = None
        self._safe_mode = self._remembers_safe_mode()

    @property
    def ready(self) -> EngineReady | None:
        """What the running engine said of itself; None while there is none."""
        return self._client.ready if self._client else None

    @property
    def safe_mode(self) -> bool:
        return self._safe_mode

    @property
    def pid(self) -> int | None:
        return self._client.pid if self._client else None

    async def start(self) -> EngineReady:
        """Start the process unless it runs already."""
        client = self._client
        if client is not None and client.ready is not None and client.alive:
            return client.ready
        await self._drop()
        self._client = client = EngineClient(
            script=self._script,
            safe_mode=self._safe_mode,
            cancel_grace=self._grace,
        )
        return await client.start()

    async def close(self) -> None:
        """End the process; nothing of it is left when this returns."""
        await self._drop()

    def gather(self, seconds: float) -> None:
        """Take verify steps off the pipe together, this often; only the process there is now."""
        if self._client:
            self._client.gather_seconds = seconds

    def cancel(self) -> None:
        """Ask the command under way to stop."""
        if self._client:
            self._client.cancel()

    def load(self, config: LoadConfig) -> AsyncIterator[Message]:
        """Have these models in memory."""
        return self._guarded(Load(config=config))

    def run(self, config: RunConfig, run_id: str | None = None) -> AsyncIterator[Message]:
        """Run once; loads where needed."""
        return self._guarded(Run(run_id=run_id or uuid.uuid4().hex[:12], config=config))

    def measure_costs(
        self, config: RunConfig, n_rows: int, token_ids: Sequence[int] = ()
    ) -> AsyncIterator[Message]:
        """Measure what checks of 1 to `n_rows` rows, and drafts, cost: `CostMeasured`."""
        return self._guarded(MeasureCosts(config=config, n_rows=n_rows, token_ids=tuple(token_ids)))

    def check_lossless(
        self,
        config: RunConfig,
        steps: Sequence[RecordedStep],
        *,
        fork: int | None = None,
        baseline_id: int | None = None,
        whole: bool = False,
    ) -> AsyncIterator[Message]:
        """Evaluate a recorded run anew: `Checking`, then `LosslessChecked`. See `CheckLossless`."""
        return self._guarded(
            CheckLossless(
                config=config,
                steps=tuple(steps),
                fork=fork,
                baseline_id=baseline_id,
                whole=whole,
            )
        )

    def requantise(self, source: Path, destination: Path) -> AsyncIterator[Message]:
        """Write a model anew as Q8_0."""
        return self._guarded(Requantise(source=str(source), destination=str(destination)))

    async def unload(self) -> None:
        """Return the models' memory."""
        async for _ in self._guarded(Unload()):
            pass

    async def devices(self) -> Devices:
        """What the engine can compute on."""
        found = Devices(devices=())
        async for message in self._guarded(ListDevices()):
            if isinstance(message, Devices):
                found = message
        return found

    def forget_safe_mode(self) -> None:
        """Try repacked weights again, from the next start of the process on."""
        self._safe_mode = False
        known = dict(self._preferences.get(SAFE_MODE_KEY) or {})
        known.pop(engine_build(), None)
        self._preferences.set(SAFE_MODE_KEY, known)
        self._preferences.save()

    async def _guarded(self, command: Command) -> AsyncIterator[Message]:
        """A command's messages; restarts in safe mode where that may help."""
        begun = False
        try:
            await self.start()
            assert self._client is not None
            async for message in self._client.request(command):
                begun = begun or isinstance(message, BEGUN)
                if not isinstance(message, Done) or message.cancelled:
                    yield message
            return
        except EngineDied as death:
            await self._drop()
            if begun or not self._safe_mode_may_help(command, death):
                raise
            cause = death.message.removeprefix("The engine stopped: ").rstrip(".")
        self._enter_safe_mode()
        yield SafeMode(message=SAFE_MODE_SENTENCE.format(cause=cause))
        await self.start()
        client = self._client
        assert client is not None
        try:
            async for message in client.request(command):
                if not isinstance(message, Done) or message.cancelled:
                    yield message
        except EngineDied as death:
            await self._drop()
            self._leave_safe_mode_again()
            raise EngineError(
                "The engine crashes while it loads this model, with and without repacked weights.",
                "The file may be damaged, or this llama.cpp does not support it.",
            ) from death
        self._remember_safe_mode()

    def _safe_mode_may_help(self, command: Command, death: EngineDied) -> bool:
        return (
            isinstance(command, (Load, Run, MeasureCosts, CheckLossless))
            and not self._safe_mode
            and died_in_native_code(death.process_exit_code)
        )

    def _enter_safe_mode(self) -> None:
        self._safe_mode = True

    def _leave_safe_mode_again(self) -> None:
        """It did not help, so it says nothing about this machine."""
        self._safe_mode = self._remembers_safe_mode()

    def _remembers_safe_mode(self) -> bool:
        known = self._preferences.get(SAFE_MODE_KEY)
        return isinstance(known, dict) and bool(known) and known.get(engine_build()) is True

    def _remember_safe_mode(self) -> None:
        known = self._preferences.get(SAFE_MODE_KEY)
        known = dict(known) if isinstance(known, dict) else {}
        known[engine_build()] = True
        self._preferences.set(SAFE_MODE_KEY, known)
        self._preferences.save()

    async def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
