"""The two model slots: which files are in them, what they say of themselves, how they fit.

Files are read in a thread; a slow disk never holds the window up. Knows nothing of widgets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.errors import FileError, SpecvizError
from specviz.models.compatibility import PairVerdict, check_pair
from specviz.models.memory import MemoryEstimate, estimate_memory
from specviz.models.model_file import FileKind, ModelFile, inspect_model
from specviz.trace.config import LoadConfig, Role, SpeculationConfig

MAX_FILES = 200
MAX_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """What a drop of files comes to. `sentence` says what was chosen out of many."""

    target: ModelFile | None
    draft: ModelFile | None
    sentence: str = ""


class ModelSlots:
    """Target and draft as they stand, and the verdict on the pair."""

    def __init__(self) -> None:
        self.files: dict[Role, ModelFile] = {}
        self.verdict: PairVerdict | None = None
        self._tickets = {Role.TARGET: 0, Role.DRAFT: 0}

    @property
    def target(self) -> ModelFile | None:
        return self.files.get(Role.TARGET)

    @property
    def draft(self) -> ModelFile | None:
        return self.files.get(Role.DRAFT)

    async def read(self, role: Role, path: Path) -> ModelFile | None:
        """Read a file into a slot. None when another choice for the slot overtook this one.

        Raises FileError; a file that cannot be read leaves the slot empty.
        """
        ticket = self._take_ticket(role)
        try:
            model = await asyncio.to_thread(inspect_model, path)
            if model.kind is not FileKind.MODEL:
                raise FileError(model.explanation)
        except SpecvizError:
            if ticket == self._tickets[role]:
                self.files.pop(role, None)
                await self.judge()
                raise
            return None
        if ticket != self._tickets[role]:
            return None
        self.files[role] = model
        await self.judge()
        return model

    def put(self, role: Role, model: ModelFile | None) -> None:
        """Set or empty a slot with what is known already; `judge` afterwards."""
        self._take_ticket(role)
        if model is None:
            self.files.pop(role, None)
        else:
            self.files[role] = model

    async def judge(self) -> None:
        """Judge the pair as it stands now."""
        target, draft = self.target, self.draft
        if target is None or draft is None:
            self.verdict = None
            return
        verdict = await asyncio.to_thread(check_pair, target, draft)
        if target is self.target and draft is self.draft:
            self.verdict = verdict

    async def swap(self) -> None:
        """Target becomes draft and draft becomes target."""
        target, draft = self.target, self.draft
        self.put(Role.TARGET, draft)
        self.put(Role.DRAFT, target)
        await self.judge()

    def memory(
        self, load: LoadConfig, speculation: SpeculationConfig | None = None
    ) -> MemoryEstimate | None:
        """What these settings will take in memory; a draft that is not loaded takes nothing."""
        if self.target is None:
            return None
        draft = self.draft if load.draft is not None else None
        return estimate_memory(load, self.target, draft, speculation)

    def _take_ticket(self, role: Role) -> int:
        self._tickets[role] += 1
        return self._tickets[role]


def choose(
    models: Sequence[ModelFile], target: ModelFile | None, draft: ModelFile | None
) -> Choice:
    """Which of the dropped models goes where; `target` and `draft` are in the slots now.

    Of two the larger is proposed as target. A single one smaller than the target becomes its
    draft, else it becomes the target. Of many the largest is taken, with the largest draft that
    fits it and has at most a third of its parameters.
    """
    usable = [model for model in models if model.kind is FileKind.MODEL]
    if not usable:
        return Choice(target, draft)
    by_size = sorted(usable, key=lambda model: model.info.n_params, reverse=True)
    if len(by_size) == 1:
        (model,) = by_size
        if target is not None and model.info.n_params < target.info.n_params:
            return Choice(target, model)
        return Choice(model, draft)
    if len(by_size) == 2:
        return Choice(by_size[0], by_size[1])
    largest = by_size[0]
    fitting = [
        model
        for model in by_size[1:]
        if model.info.n_params * 3 <= largest.info.n_params and check_pair(largest, model).fits
    ]
    chosen = fitting[0] if fitting else None
    what = f"{chosen.info.name} as its draft" if chosen else "no draft among the others fits it"
    return Choice(
        largest,
        chosen,
        f"Of {len(by_size)} models the largest, {largest.info.name}, is the target; {what}.",
    )


def read_dropped(paths: Sequence[Path]) -> tuple[list[ModelFile], list[SpecvizError]]:
    """Read the dropped files, and those in dropped folders; parts of a split file count once."""
    found: dict[Path, ModelFile] = {}
    errors: list[SpecvizError] = []
    for path in gguf_files(paths):
        try:
            model = inspect_model(path)
        except SpecvizError as error:
            errors.append(error)
        else:
            found.setdefault(model.path, model)
    return list(found.values()), errors


def gguf_files(paths: Sequence[Path]) -> list[Path]:
    """The files among `paths`, and the GGUF files in the folders among them, a few levels deep."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += _in_folder(path, MAX_DEPTH)
        else:
            files.append(path)
    return files[:MAX_FILES]


def _in_folder(folder: Path, depth: int) -> list[Path]:
    found: list[Path] = []
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return found
    for entry in entries:
        if len(found) >= MAX_FILES:
            break
        if entry.suffix.lower() == ".gguf" and entry.is_file():
            found.append(entry)
        elif depth > 1 and entry.is_dir() and not entry.name.startswith("."):
            found += _in_folder(entry, depth - 1)
    return found
