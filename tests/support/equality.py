"""Is the speculative run's text the baseline's? Tiny models of every class, every way to draft.

Everything goes through the public engine, in the configuration in which llama.cpp's results do not
depend on the width of a batch: quantised weights, flash attention, one thread, no repacked weights,
fewer than 64 rows in every pass. There not only the token ids have to be the same, but the
probability and the margin of each token, bit for bit.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support import tiny_gguf
from support.noisy_drafter import NoisyDrafter

from specviz.engine.drafting.base import Drafter
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.llama_engine import LlamaEngine
from specviz.engine.slot import Slot
from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    NgramModConfig,
    NgramSizes,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.trace.events import DraftToken, TargetToken
from specviz.trace.trace import Trace
from specviz.worker.protocol import Run

OPENING = "the thin inn and the other thing in the end, then the thin inn and the other tent; " * 2
"""Every prompt begins with it; the rest is what the model writes behind it, see `Table.prompt`."""
N_BATCH = 63
OWN_WORDS = 40
MIX = 0.1
"""Of most models: small enough for drafts to be right at times, large enough to be wrong."""


def _seeded(temperature: float) -> SamplingConfig:
    return SamplingConfig(temperature=temperature, top_k=40, top_p=1.0, min_p=0.0, seed=0)


SAMPLINGS = {"greedy": SamplingConfig(), "seeded": _seeded(1.0), "hot": _seeded(1.5)}

Writer = Callable[..., Path]


@dataclass(frozen=True, slots=True)
class Model:
    """A class of target: how its file is written, and how it forgets.

    `n_kinds`: blocks it takes at least to have one of every kind.
    """

    name: str
    write: Writer
    rollback: str
    next_token: bool = False
    mix: float = MIX
    n_kinds: int = 2

    def file(self, folder: Path, **options: Any) -> Path:
        """Write the file, with its next-token block where there is one."""
        usual: dict[str, Any] = {"mix": self.mix, "ascii_only": True}
        if self.next_token:
            usual |= {"mtp": 1, "head": "token"}
        return self.write(folder / f"{self.name}.gguf", **{**usual, **options})


MODELS = {
    model.name: model
    for model in (
        Model("llama", tiny_gguf.write_llama, "trim"),
        Model("qwen3", tiny_gguf.write_qwen3, "trim"),
        Model("gemma3", tiny_gguf.write_gemma3, "trim", mix=0.2),
        Model("qwen3moe", tiny_gguf.write_qwen3moe, "trim"),
        Model("qwen35", tiny_gguf.write_qwen35, "snapshots", next_token=True),
        Model("qwen35moe", tiny_gguf.write_qwen35moe, "snapshots", next_token=True),
        Model("lfm2", tiny_gguf.write_lfm2, "snapshots", mix=0.03),
        Model("nemotron_h", tiny_gguf.write_nemotron_h, "snapshots", mix=0.06, n_kinds=3),
        Model("qwen3next", tiny_gguf.write_qwen3next, "checkpoint", next_token=True),
        Model("jamba", tiny_gguf.write_jamba, "checkpoint", mix=0.06),
        Model("falcon-h1", tiny_gguf.write_falcon_h1, "checkpoint"),
        Model("mamba", tiny_gguf.write_mamba, "checkpoint", mix=0.06),
        Model("rwkv7", tiny_gguf.write_rwkv7, "checkpoint"),
    )
}

SHORT, LONG = 5, 20
"""Lengths of drafts: within the older states that are kept, and beyond any number of them."""

DRAFTS = {
    "llama-draft": (tiny_gguf.write_llama, {"n_layers": 1}),
    "qwen35-draft": (tiny_gguf.write_qwen35, {"n_layers": 2}),
}


def draft_file(name: str, folder: Path) -> Path:
    """Write one of `DRAFTS`."""
    write, options = DRAFTS[name]
    return write(folder / f"{name}.gguf", mix=MIX, ascii_only=True, **options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting:
    """A way to draft. `noise`: the first source is replaced by a `NoisyDrafter` of that length."""

    name: str
    speculation: SpeculationConfig
    draft: str | None = None
    noise: int = 0

    @property
    def needs_block(self) -> bool:
        """Only for targets with a next-token block."""
        return DraftSource.DRAFT_MTP in self.speculation.sources


def _speculation(*sources: DraftSource, **changes: Any) -> SpeculationConfig:
    """Settings that suit random models: short matches, so that something is found at all."""
    sizes = NgramSizes(size_n=2, size_m=SHORT)
    settings: dict[str, Any] = {
        "n_max": SHORT,
        "ngram_simple": sizes,
        "ngram_map_k": sizes,
        "ngram_map_k4v": sizes,
        "ngram_mod": NgramModConfig(n_match=2, n_min=1, n_max=SHORT),
    }
    return SpeculationConfig(sources=sources, **{**settings, **changes})


def _noisy(longest: int, *more: DraftSource) -> SpeculationConfig:
    sizes = NgramSizes(size_n=2, size_m=longest)
    return _speculation(DraftSource.NGRAM_SIMPLE, *more, ngram_simple=sizes)


DRAFTINGS = {
    drafting.name: drafting
    for drafting in (
        Drafting(name="noisy", speculation=_noisy(SHORT), noise=SHORT),
        Drafting(name="noisy-long", speculation=_noisy(LONG), noise=LONG),
        *(
            Drafting(name=source.value, speculation=_speculation(source))
            for source in DraftSource
            if source.value.startswith("ngram")
        ),
        Drafting(
            name="draft-simple",
            speculation=_speculation(DraftSource.DRAFT_SIMPLE),
            draft="llama-draft",
        ),
        Drafting(
            name="draft-simple-hybrid",
            speculation=_speculation(DraftSource.DRAFT_SIMPLE),
            draft="qwen35-draft",
        ),
        Drafting(
            name="ngram-mod,draft-simple",
            speculation=_speculation(DraftSource.NGRAM_MOD, DraftSource.DRAFT_SIMPLE),
            draft="llama-draft",
        ),
        Drafting(name="draft-mtp", speculation=_speculation(DraftSource.DRAFT_MTP)),
        Drafting(
            name="draft-mtp-long", speculation=_speculation(DraftSource.DRAFT_MTP, n_max=LONG)
        ),
        Drafting(
            name="ngram-mod,draft-mtp",
            speculation=_speculation(DraftSource.NGRAM_MOD, DraftSource.DRAFT_MTP),
        ),
        Drafting(
            name="noisy-long,draft-mtp",
            speculation=_noisy(LONG, DraftSource.DRAFT_MTP),
            noise=LONG,
        ),
    )
}


def cells() -> Iterator[tuple[Model, Drafting]]:
    """Every drafting for every model that can have it, model by model."""
    for model in MODELS.values():
        for drafting in DRAFTINGS.values():
            if model.next_token or not drafting.needs_block:
                yield model, drafting


class NoisyEngine(LlamaEngine):
    """The real engine; while `noisy` is set it takes the place of the first source."""

    noisy: NoisyDrafter | None = None

    def _drafters(self, config: RunConfig, target: Slot, draft: Slot | None) -> DrafterChain | None:
        if self.noisy is None or config.mode is RunMode.BASELINE:
            return super()._drafters(config, target, draft)
        others: list[Drafter] = [
            self._drafter(source, config, target, draft)
            for source in config.speculation.sources[1:]
        ]
        return DrafterChain([self.noisy, *others])


def exact_load(target: Path, draft: Path | None = None, **changes: Any) -> LoadConfig:
    """The configuration in which equality is a fact; see the module's docstring."""

    def spec(path: Path) -> ModelSpec:
        return ModelSpec(path=str(path), n_threads=1)

    settings: dict[str, Any] = {
        "n_ctx": 1024,
        "n_batch": N_BATCH,
        "flash_attention": Switch.ON,
        "repack": False,
        **changes,
    }
    return LoadConfig(target=spec(target), draft=spec(draft) if draft else None, **settings)


def raw_run(
    mode: RunMode, load: LoadConfig, *, prompt: str = OPENING, **settings: Any
) -> RunConfig:
    """A run without a chat template."""
    messages = (Message(role="user", text=prompt),)
    return RunConfig(mode=mode, load=load, messages=messages, raw=True, **settings)


def run(engine: LlamaEngine, config: RunConfig) -> Trace:
    """The whole run's trace."""
    trace = Trace()
    run_ = Run(run_id="run", config=config)
    for event in engine.run(run_, lambda notice: None, threading.Event()):
        trace.append(event)
    return trace


class Table:
    """Runs cells. Files and baselines are made once and used for all cells that need them.

    `seed`: of sampler and noise. `small`: models of no more blocks than they have kinds of them.
    `n_ctx` and `file_options` (see tiny_gguf) hold for all cells.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_tokens: int,
        seed: int = 1,
        n_ctx: int = 1024,
        small: bool = False,
        **file_options: Any,
    ) -> None:
        self.engine = NoisyEngine(safe_mode=True)
        self._folder = folder
        self._max_tokens = max_tokens
        self._seed = seed
        self._n_ctx = n_ctx
        self._small = small
        self._file_options = file_options
        self._files: dict[str, Path] = {}
        self._prompts: dict[str, str] = {}
        self._baselines: dict[tuple[str, str], Trace] = {}
        self._outcomes: dict[tuple[str, str, str], Outcome] = {}

    def close(self) -> None:
        """Free the models."""
        self.engine.unload()

    def target(self, model: Model) -> Path:
        """The model's file."""
        if model.name not in self._files:
            options = {"n_layers": model.n_kinds} if self._small else {}
            self._files[model.name] = model.file(self._folder, **options, **self._file_options)
        return self._files[model.name]

    def _draft(self, name: str | None) -> Path | None:
        if name is None:
            return None
        if name not in self._files:
            self._files[name] = draft_file(name, self._folder)
        return self._files[name]

    def _sampling(self, name: str) -> SamplingConfig:
        sampling = SAMPLINGS[name]
        return sampling if sampling.seed is None else replace(sampling, seed=20_010 + self._seed)

    def prompt(self, model: Model) -> str:
        """A text with repeats in the model's own words, so that it goes on with copies of them."""
        if model.name not in self._prompts:
            load = exact_load(self.target(model), n_ctx=self._n_ctx)
            texts = ""
            for sampling in ("greedy", "seeded"):
                config = raw_run(
                    RunMode.BASELINE,
                    load,
                    max_tokens=OWN_WORDS,
                    sampling=self._sampling(sampling),
                    speculation=SpeculationConfig(sources=()),
                )
                texts += run(self.engine, config).text
            self._prompts[model.name] = OPENING + 2 * texts
        return self._prompts[model.name]

    def baseline(self, model: Model, sampling: str) -> Trace:
        """The target alone, one token at a time."""
        key = (model.name, sampling)
        if key not in self._baselines:
            config = raw_run(
                RunMode.BASELINE,
                exact_load(self.target(model), n_ctx=self._n_ctx),
                prompt=self.prompt(model),
                max_tokens=self._max_tokens,
                sampling=self._sampling(sampling),
                speculation=SpeculationConfig(sources=()),
            )
            self._baselines[key] = run(self.engine, config)
        return self._baselines[key]

    def speculative(self, model: Model, drafting: Drafting, sampling: str) -> Trace:
        """The same with drafts."""
        baseline = self.baseline(model, sampling)
        draft = self._draft(drafting.draft)
        load = exact_load(self.target(model), draft, n_ctx=self._n_ctx)
        config = raw_run(
            RunMode.SPECULATIVE,
            load,
            prompt=self.prompt(model),
            max_tokens=self._max_tokens,
            sampling=self._sampling(sampling),
            speculation=drafting.speculation,
        )
        if drafting.noise:
            assert baseline.started is not None
            self.engine.noisy = NoisyDrafter(
                token_ids(baseline),
                baseline.started.n_prompt,
                longest=drafting.noise,
                seed=zlib.crc32(f"{model.name} {drafting.name} {sampling} {self._seed}".encode()),
            )
        try:
            return run(self.engine, config)
        finally:
            self.engine.noisy = None

    def outcome(self, model: Model, drafting: Drafting, sampling: str) -> Outcome:
        """What became of a cell; it is run once."""
        key = (model.name, drafting.name, sampling)
        if key not in self._outcomes:
            baseline = self.baseline(model, sampling)
            self._outcomes[key] = compare(baseline, self.speculative(model, drafting, sampling))
        return self._outcomes[key]


def token_ids(trace: Trace) -> list[int]:
    """Ids of the committed tokens."""
    return [token.token_id for token in trace.tokens]


def scores(trace: Trace) -> list[tuple[float | None, float | None]]:
    """Probability of each committed token, and its margin over the next best."""
    found = []
    for step in trace.steps:
        tokens: list[DraftToken | TargetToken] = [*step.draft[: step.n_accepted]]
        if step.target is not None:
            tokens.append(step.target)
        for token in tokens:
            margin = token.runner_up.margin if token.runner_up else None
            found.append((token.target_prob, margin))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a cell.

    `n_rejecting`: steps in which the target rejected something; `n_partial`: those of them that
    accepted something before. `difference`: the first position where the texts or the scores are
    not the same, in words; None when there is none.
    """

    n_tokens: int
    n_steps: int
    n_drafted: int
    n_accepted: int
    n_rejecting: int
    n_partial: int
    longest_draft: int
    difference: str | None


def compare(baseline: Trace, speculative: Trace) -> Outcome:
    """Hold a speculative run against its baseline."""
    steps = speculative.steps
    rejecting = [step for step in steps if step.n_accepted < len(step.draft)]
    return Outcome(
        n_tokens=speculative.counts.committed,
        n_steps=speculative.counts.steps,
        n_drafted=speculative.counts.drafted,
        n_accepted=speculative.counts.accepted,
        n_rejecting=len(rejecting),
        n_partial=sum(step.n_accepted > 0 for step in rejecting),
        longest_draft=max((len(step.draft) for step in steps), default=0),
        difference=_first_difference(baseline, speculative),
    )


def _first_difference(baseline: Trace, speculative: Trace) -> str | None:
    theirs, ours = token_ids(baseline), token_ids(speculative)
    for i, (expected, got) in enumerate(zip(theirs, ours, strict=False)):
        if expected != got:
            return f"token {i} is {got}, the baseline's is {expected}"
    if len(theirs) != len(ours):
        return f"{len(ours)} tokens, the baseline has {len(theirs)}"
    assert baseline.finished is not None and speculative.finished is not None
    if baseline.finished.reason is not speculative.finished.reason:
        return f"ended by {speculative.finished.reason}, the baseline by {baseline.finished.reason}"
    pairs = zip(scores(baseline), scores(speculative), strict=True)
    for i, (expected_score, got_score) in enumerate(pairs):
        if expected_score != got_score:
            return f"token {i} scores {got_score}, in the baseline {expected_score}"
    return None
