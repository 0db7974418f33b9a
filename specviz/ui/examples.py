"""The built-in example prompts, one lesson each. Knows nothing of Qt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from specviz.errors import FileError, TraceError
from specviz.resources import resource
from specviz.trace import codec


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A prompt, what can be seen with it, and drafting settings that suit it (None: as they are).

    `n_max` and `p_min` are those of `SpeculationConfig`.
    """

    name: str
    prompt: str
    lesson: str
    n_max: int | None = None
    p_min: float | None = None


@cache
def load_examples() -> tuple[Example, ...]:
    """The examples in menu order. Raises FileError where the installation is damaged."""
    path = resource("examples/prompts.json")
    try:
        values = codec.loads(path.read_text(encoding="utf-8"))
        return tuple(codec.from_json(Example, value) for value in values)
    except (OSError, TraceError, TypeError) as error:
        raise FileError("The example prompts cannot be read.", "Install SpecViz again.") from error
