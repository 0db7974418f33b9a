"""The prompts of a sweep: the built-in set, and sets in files of the user's.

A file has a prompt a line; where its first line begins with `{`, every line is a JSON object with
`prompt` and, if wanted, `name`. Empty lines are passed over. Files are untrusted, so their sizes
are bounded.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from specviz.errors import FileError, TraceError
from specviz.resources import resource
from specviz.sweep.plan import SweepPrompt
from specviz.trace import codec
from specviz.trace.storage import reason_of

BUILTIN = "prompts/sweep.json"

LARGEST_FILE = 4 * 1024 * 1024
MOST_PROMPTS = 200
LONGEST_NAME = 40
"""Characters of a prompt's name; a longer one, or the beginning of a prompt, is cut."""


@cache
def builtin_prompts() -> tuple[SweepPrompt, ...]:
    """Six prompts, each of another kind. Raises FileError where the installation is damaged."""
    path = resource(BUILTIN)
    try:
        values = codec.loads(path.read_text(encoding="utf-8"))
        return tuple(codec.from_json(SweepPrompt, value) for value in values)
    except (OSError, UnicodeDecodeError, TraceError, TypeError) as error:
        raise FileError("The built-in prompts cannot be read.", "Install SpecViz again.") from error


def read_prompts(path: Path) -> tuple[SweepPrompt, ...]:
    """The prompts of a file; names are made unique. Raises FileError."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {reason_of(error)}.") from None
    if len(data) > LARGEST_FILE:
        raise FileError(
            f"{path.name} is larger than {LARGEST_FILE // 1024**2} MiB.",
            "A file of prompts has a prompt a line.",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{path.name} is not UTF-8 text.", "Save it as UTF-8.") from None
    return _parsed(text, path.name)


def prompt_of(text: str, name: str = "") -> SweepPrompt:
    """A prompt that is named after its first words unless it has a name."""
    return SweepPrompt(name=_short(name) or _short(text) or "prompt", text=text)


def _parsed(text: str, file_name: str) -> tuple[SweepPrompt, ...]:
    # only line feeds end a line: other separators may be part of a prompt
    lines = [(n, line.rstrip("\r")) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise FileError(f"There is no prompt in {file_name}.", "It should have a prompt a line.")
    if len(lines) > MOST_PROMPTS:
        raise FileError(
            f"{file_name} has {len(lines)} prompts; a sweep takes {MOST_PROMPTS} at most."
        )
    is_json = lines[0][1].lstrip().startswith("{")
    prompts = [
        _from_json(line, f"line {n} of {file_name}") if is_json else prompt_of(line)
        for n, line in lines
    ]
    return _with_own_names(prompts)


def _from_json(line: str, place: str) -> SweepPrompt:
    try:
        value: Any = codec.loads(line)
    except TraceError:
        raise FileError(
            f"There is no JSON object in {place}.",
            'Each line should be like {"name": "Story", "prompt": "Tell a story."}',
        ) from None
    name = value.get("name", "") if isinstance(value, dict) else None
    prompt = value.get("prompt") if isinstance(value, dict) else None
    if not isinstance(name, str) or not isinstance(prompt, str) or not prompt.strip():
        raise FileError(
            f"There is no prompt in {place}.",
            'Each line should be like {"name": "Story", "prompt": "Tell a story."}',
        )
    return prompt_of(prompt, name)


def _short(text: str) -> str:
    words = " ".join(text.split())
    if len(words) <= LONGEST_NAME:
        return words
    return words[: LONGEST_NAME - 1].rsplit(" ", 1)[0].rstrip(",.;:") + "…"


def _with_own_names(prompts: list[SweepPrompt]) -> tuple[SweepPrompt, ...]:
    names: set[str] = set()
    unique = []
    for prompt in prompts:
        name, n = prompt.name, 1
        while name in names:
            n += 1
            name = f"{prompt.name} ({n})"
        names.add(name)
        unique.append(SweepPrompt(name=name, text=prompt.text, shows=prompt.shows))
    return tuple(unique)
