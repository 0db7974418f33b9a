"""The built-in example prompts, one lesson each. Knows nothing of Qt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from specviz.errors import FileError, TraceError
from specviz.resources import resource
from specviz.trace import codec
from specviz.trace.config import DraftSource, SpeculationConfig
from specviz.trace.presets import NGRAM_PRESETS


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A prompt, what can be seen with it, and drafting settings that suit it, if any.

    `n_max` and `p_min` are those of `SpeculationConfig`, `sources` too (none: as they are);
    `preset` is the key of a preset for n-grams. What is None stays as it is.
    """

    name: str
    prompt: str
    lesson: str
    n_max: int | None = None
    p_min: float | None = None
    sources: tuple[DraftSource, ...] = ()
    preset: str | None = None

    def applied_to(self, speculation: SpeculationConfig) -> SpeculationConfig:
        """These settings with the example's own in their place."""
        for preset in NGRAM_PRESETS:
            if preset.key == self.preset:
                speculation = preset.applied_to(speculation)
        return replace(
            speculation,
            sources=self.sources or speculation.sources,
            n_max=speculation.n_max if self.n_max is None else self.n_max,
            p_min=speculation.p_min if self.p_min is None else self.p_min,
        )


@cache
def load_examples() -> tuple[Example, ...]:
    """The examples in menu order. Raises FileError where the installation is damaged."""
    path = resource("examples/prompts.json")
    try:
        values = codec.loads(path.read_text(encoding="utf-8"))
        return tuple(_read(value) for value in values)
    except (OSError, TraceError, TypeError) as error:
        raise FileError("The example prompts cannot be read.", "Install SpecViz again.") from error


def _read(value: object) -> Example:
    example = codec.from_json(Example, value)
    if example.preset not in (None, *(preset.key for preset in NGRAM_PRESETS)):
        raise TraceError(f"There is no preset {example.preset}.")
    return example
