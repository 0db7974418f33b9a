"""Scripts (schema `specviz.script/1`): what the scripted engine plays, read and checked.

A script that contradicts itself is refused with its place in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.errors import ScriptError, TraceError
from specviz.trace import codec
from specviz.trace.config import DraftSource, RunMode

SCHEMA = "specviz.script/1"
FAULT_KINDS = ("exit", "abort", "segv", "sigill", "hang", "garbage")
FAULT_PLACES = ("load", *(mode.value for mode in RunMode), "measure", "check")
MAX_FILE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Round:
    """One verify step of the speculative run."""

    draft: tuple[tuple[int, float | None, float | None], ...]
    accepted: int
    target: tuple[int, float | None] | None
    dropped: int
    drafter: DraftSource
    copied_from: tuple[int | None, ...]
    draft_seconds: float
    verify_seconds: float
    sample_seconds: float
    save_seconds: float
    restore_seconds: float


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, in which run, after how many rounds.

    `run` is a run mode, or one of load, measure and check; measuring and checking count their
    notices as rounds.

    `unless_safe_mode`: the fault does not happen in safe mode, as with a native kernel that
    crashes at the default settings.
    """

    run: str
    after_round: int
    kind: str
    message: str
    unless_safe_mode: bool


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script, checked."""

    pieces: dict[int, bytes]
    end_tokens: frozenset[int]
    prompt_tokens: int
    prefill_seconds: float
    can_remove_partial: bool
    baseline_ids: tuple[int, ...]
    step_seconds: float
    baseline_probs: tuple[float | None, ...]
    baseline_runners_up: tuple[tuple[int, float] | None, ...]
    rounds: tuple[Round, ...]
    instant: bool
    repeat_rounds: int
    fault: Fault | None


class _Reader:
    """Reads fields of a JSON object, with the place for error sentences."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise ScriptError(f"{place} should be an object.")
        self.value, self.place = value, place

    def fault(self, name: str, wanted: str) -> ScriptError:
        return ScriptError(f"{self.place}.{name} should be {wanted}.")

    def number(self, name: str, default: float | None = None) -> float:
        value = self.value.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
            raise self.fault(name, "a number of zero or more")
        return float(value)

    def whole(self, name: str, default: int | None = None) -> int:
        value = self.value.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
            raise self.fault(name, "a whole number of zero or more")
        return value

    def items(self, name: str, default: list[Any] | None = None) -> list[Any]:
        value = self.value.get(name, default)
        if not isinstance(value, list):
            raise self.fault(name, "a list")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.value.get(name, default)
        if not isinstance(value, bool):
            raise self.fault(name, "true or false")
        return value

    def one_of(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        value = self.value.get(name, default)
        if value not in choices:
            raise self.fault(name, "one of " + ", ".join(choices))
        return str(value)


def read_script(path: Path) -> Script:
    """Read and check a script; raises ScriptError naming the place of the first fault."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScriptError(f"{path.name} is too large for a script.")
        data = path.read_bytes()
    except OSError as error:
        raise ScriptError(f"The script {path.name} cannot be read: {error.strerror}.") from None
    try:
        return parse_script(codec.loads(data))
    except TraceError as error:
        raise ScriptError(f"The script {path.name} is not valid: {error.message}") from None
    except ScriptError as error:
        raise ScriptError(f"The script {path.name} is not valid: {error.message}") from None


def parse_script(value: Any) -> Script:
    """Check the JSON values of a script."""
    root = _Reader(value, "script")
    if root.value.get("schema") != SCHEMA:
        raise ScriptError(f"script.schema should be {SCHEMA}.")
    pieces = _pieces(root)
    end_tokens = frozenset(_ids(root.items("end_tokens", []), "script.end_tokens"))
    known = pieces.keys() | end_tokens
    baseline = _Reader(root.value.get("baseline", {"token_ids": []}), "script.baseline")
    ids = _ids(baseline.items("token_ids"), "script.baseline.token_ids", known)
    rounds = tuple(
        _round(_Reader(item, f"script.rounds[{i}]"), known)
        for i, item in enumerate(root.items("rounds", []))
    )
    return Script(
        pieces=pieces,
        end_tokens=end_tokens,
        prompt_tokens=max(root.whole("prompt_tokens", 1), 1),
        prefill_seconds=root.number("prefill_seconds", 0.0),
        can_remove_partial=root.flag("can_remove_partial", True),
        baseline_ids=ids,
        step_seconds=baseline.number("step_seconds", 0.01),
        baseline_probs=_probs(baseline.items("probs", []), "script.baseline.probs"),
        baseline_runners_up=_runners_up(baseline.items("runner_up", []), known),
        rounds=rounds,
        instant=root.one_of("pace", ("real", "instant"), "real") == "instant",
        repeat_rounds=max(root.whole("repeat_rounds", 1), 1),
        fault=_fault(root.value.get("fault")),
    )


def _pieces(root: _Reader) -> dict[int, bytes]:
    value = root.value.get("pieces")
    if not isinstance(value, dict):
        raise root.fault("pieces", "an object")
    pieces: dict[int, bytes] = {}
    for key, piece in value.items():
        place = f"script.pieces[{key[:20]!r}]"
        if not key.isdecimal() or len(key) > 9:
            raise ScriptError(f"{place} should be numbered by a token id.")
        if isinstance(piece, str):
            pieces[int(key)] = piece.encode("utf-8", "replace")
        elif isinstance(piece, dict) and isinstance(piece.get("hex"), str):
            try:
                pieces[int(key)] = bytes.fromhex(piece["hex"])
            except ValueError:
                raise ScriptError(f"{place}.hex is not hexadecimal.") from None
        else:
            raise ScriptError(f'{place} should be text or {{"hex": ...}}.')
    return pieces


def _id(value: Any, place: str, known: frozenset[int] | set[int] | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ScriptError(f"{place} should be a token id.")
    if known is not None and value not in known:
        raise ScriptError(f"{place} names token {value}, which has no piece.")
    return value


def _ids(
    values: list[Any], place: str, known: frozenset[int] | set[int] | None = None
) -> tuple[int, ...]:
    return tuple(_id(value, f"{place}[{i}]", known) for i, value in enumerate(values))


def _prob(value: Any, place: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ScriptError(f"{place} should be a probability from 0 to 1.")
    return float(value)


def _probs(values: list[Any], place: str) -> tuple[float | None, ...]:
    return tuple(_prob(value, f"{place}[{i}]") for i, value in enumerate(values))


def _runners_up(
    values: list[Any], known: frozenset[int] | set[int]
) -> tuple[tuple[int, float] | None, ...]:
    found: list[tuple[int, float] | None] = []
    for i, value in enumerate(values):
        place = f"script.baseline.runner_up[{i}]"
        if value is None:
            found.append(None)
            continue
        if not isinstance(value, list) or len(value) != 2:
            raise ScriptError(f"{place} should be [id, margin].")
        margin = value[1]
        if isinstance(margin, bool) or not isinstance(margin, (int, float)):
            raise ScriptError(f"{place}[1] should be a margin in logits.")
        found.append((_id(value[0], f"{place}[0]", known), float(margin)))
    return tuple(found)


def _round(item: _Reader, known: frozenset[int] | set[int]) -> Round:
    place = item.place
    draft = []
    for i, entry in enumerate(item.items("draft", [])):
        where = f"{place}.draft[{i}]"
        if not isinstance(entry, list) or not 1 <= len(entry) <= 3:
            raise ScriptError(f"{where} should be [id, draft_prob, target_prob].")
        draft.append(
            (
                _id(entry[0], f"{where}[0]", known),
                _prob(entry[1] if len(entry) > 1 else None, f"{where}[1]"),
                _prob(entry[2] if len(entry) > 2 else None, f"{where}[2]"),
            )
        )
    accepted = item.whole("accepted", 0)
    if accepted > len(draft):
        raise ScriptError(f"{place}.accepted is {accepted}, but only {len(draft)} are drafted.")
    target = item.value.get("target")
    own: tuple[int, float | None] | None = None
    if target is not None:
        if not isinstance(target, list) or not 1 <= len(target) <= 2:
            raise ScriptError(f"{place}.target should be [id, target_prob] or null.")
        own = (
            _id(target[0], f"{place}.target[0]", known),
            _prob(target[1] if len(target) > 1 else None, f"{place}.target[1]"),
        )
        if accepted < len(draft) and own[0] == draft[accepted][0]:
            raise ScriptError(f"{place}.target is the draft token that it is to replace.")
    elif accepted == 0:
        raise ScriptError(f"{place} commits nothing: no token accepted and no target.")
    copied = item.items("copied_from", [])
    if copied and len(copied) != len(draft):
        raise ScriptError(f"{place}.copied_from should have one position for each draft token.")
    return Round(
        draft=tuple(draft),
        accepted=accepted,
        target=own,
        dropped=item.whole("dropped", 0),
        drafter=DraftSource(
            item.one_of("drafter", [s.value for s in DraftSource], DraftSource.DRAFT_SIMPLE.value)
        ),
        copied_from=tuple(
            None if at is None else _id(at, f"{place}.copied_from[{i}]")
            for i, at in enumerate(copied)
        )
        or (None,) * len(draft),
        draft_seconds=item.number("draft_seconds", 0.0),
        verify_seconds=item.number("verify_seconds", 0.0),
        sample_seconds=item.number("sample_seconds", 0.0),
        save_seconds=item.number("save_seconds", 0.0),
        restore_seconds=item.number("restore_seconds", 0.0),
    )


def _fault(value: Any) -> Fault | None:
    if value is None:
        return None
    item = _Reader(value, "script.fault")
    return Fault(
        run=item.one_of("run", FAULT_PLACES, RunMode.SPECULATIVE.value),
        after_round=item.whole("after_round", 0),
        kind=item.one_of("kind", FAULT_KINDS),
        message=str(item.value.get("message", ""))[:1000],
        unless_safe_mode=item.flag("unless_safe_mode", False),
    )
