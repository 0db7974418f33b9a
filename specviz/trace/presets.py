"""Drafting settings that suit a kind of text, for all n-gram sources at once.

Knows nothing of windows or options; both offer these by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specviz.trace.config import NgramModConfig, NgramSizes, SpeculationConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramPreset:
    """Sizes for every n-gram source. `key` is its name on the command line, `name` in the window.

    `effect`: what it is for and what it does to speed, in a sentence.
    """

    key: str
    name: str
    effect: str
    sizes: NgramSizes
    mod: NgramModConfig

    def applied_to(self, speculation: SpeculationConfig) -> SpeculationConfig:
        """The same sources and files, with the sizes of this preset."""
        return replace(
            speculation,
            ngram_simple=self.sizes,
            ngram_map_k=self.sizes,
            ngram_map_k4v=self.sizes,
            ngram_mod=self.mod,
        )

    def is_in(self, speculation: SpeculationConfig) -> bool:
        """Whether `speculation` has exactly these sizes."""
        return self.applied_to(speculation) == speculation


SHORT_TEXTS = NgramPreset(
    key="short-texts",
    name="Short texts",
    effect="A few matching tokens are enough and drafts are short: it finds something to copy in "
    "an ordinary question and answer, and costs little where there is nothing.",
    sizes=NgramSizes(),
    mod=NgramModConfig(),
)
CODE_REFACTORING = NgramPreset(
    key="code-refactoring",
    name="Code refactoring",
    effect="Longer matches and longer drafts: whole lines of the code in the prompt are copied in "
    "one step, and chance matches seldom cost a check.",
    sizes=NgramSizes(size_n=12, size_m=32),
    mod=NgramModConfig(n_match=16, n_min=4, n_max=48),
)
LLAMA_CPP = NgramPreset(
    key="llama-cpp",
    name="llama.cpp defaults",
    effect="Only a match of 12 to 24 tokens starts a draft, and ngram-mod wants 48 tokens to copy: "
    "made for long repetitive texts, it seldom drafts anything in short ones.",
    sizes=NgramSizes(size_n=12, size_m=48),
    mod=NgramModConfig(n_match=24, n_min=48, n_max=64),
)
NGRAM_PRESETS = (SHORT_TEXTS, CODE_REFACTORING, LLAMA_CPP)


def preset_of(speculation: SpeculationConfig) -> NgramPreset | None:
    """The preset that these sizes are, None when somebody set them by hand."""
    return next((preset for preset in NGRAM_PRESETS if preset.is_in(speculation)), None)
