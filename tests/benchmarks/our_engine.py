"""Our side of the comparison: the engine process as the product starts it, without a window."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from llama_peer import Settings

from specviz.engine.chat_template import render
from specviz.errors import EngineError, SettingError
from specviz.models.demo_pair import find_demo_pair
from specviz.models.model_file import inspect_model, tokens_of
from specviz.trace import metrics
from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    NgramModConfig,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.trace.costs import CheckCost, DraftCost
from specviz.trace.events import RunEvent
from specviz.trace.trace import Trace
from specviz.worker.protocol import CostMeasured
from specviz.worker.session import EngineSession

MeasuredCosts = tuple[list[CheckCost], list[DraftCost]]
"""Of checks by width, and of drafts by length."""


@dataclass(frozen=True, slots=True)
class OurRun:
    """A finished run and its rate."""

    trace: Trace
    tokens_per_second: float


def rendered_prompt(target: Path, question: str) -> str:
    """The conversation as the target's own chat template puts it."""
    file = inspect_model(target)
    if not file.chat_template:
        return question
    texts, tokenizer = tokens_of(file), file.tokenizer

    def special(token_id: int | None) -> str:
        known = token_id is not None and 0 <= token_id < len(texts)
        return texts[token_id].decode("utf-8", "replace") if known and token_id is not None else ""

    return render(
        file.chat_template,
        (Message(role="user", text=question),),
        bos=special(tokenizer.bos_id),
        eos=special(tokenizer.eos_id),
        reasoning=Switch.AUTO,
    )


async def demo_pair() -> tuple[Path, Path]:
    """Target and draft of the demo pair, made ready if need be."""
    pair = find_demo_pair()
    if pair is None:
        raise SettingError("The demo pair is not installed.", "Give a pair with -m and -md.")
    if not pair.prepared:
        print("Making the demo target ready")
        session = EngineSession()
        try:
            async for _ in session.requantise(pair.source, pair.target):
                pass
        finally:
            await session.close()
    return pair.target, pair.draft


class OurEngine:
    """A session with a pair; the demo pair where none is given."""

    def __init__(self, target: Path | None, draft: Path | None) -> None:
        self._session = EngineSession()
        self._given = (target, draft) if target and draft else None
        self.target = self.draft = Path()

    async def __aenter__(self) -> Self:
        await self._session.start()
        self.target, self.draft = self._given or await demo_pair()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    @property
    def pid(self) -> int | None:
        return self._session.pid

    async def forget(self) -> None:
        """Hold nothing of earlier prompts: what is kept of one was read in batches of its own, and
        a near-tie can tip against a program that reads each prompt from its beginning."""
        await self._session.unload()

    async def run(self, question: str, settings: Settings) -> OurRun:
        """One run, baseline where the settings draft nothing."""
        trace = Trace()
        async for message in self._session.run(run_config(question, settings)):
            if isinstance(message, RunEvent):
                trace.append(message)
        rate = metrics.tokens_per_second(trace)
        if trace.finished is None or rate is None:
            raise EngineError("Our run did not come to its end.")
        return OurRun(trace, rate)

    async def measure_costs(self, question: str, settings: Settings, n_rows: int) -> MeasuredCosts:
        """What "Measure costs" finds for checks of 1 to `n_rows` rows, and for the drafts."""
        checks: list[CheckCost] = []
        drafts: list[DraftCost] = []
        async for message in self._session.measure_costs(run_config(question, settings), n_rows):
            if isinstance(message, CostMeasured):
                checks += [message.check] if message.check else []
                drafts += [message.draft] if message.draft else []
        return checks, drafts


def run_config(question: str, settings: Settings) -> RunConfig:
    """The settings in our words."""
    threads = settings.n_threads
    return RunConfig(
        mode=RunMode.SPECULATIVE if settings.drafts else RunMode.BASELINE,
        load=LoadConfig(
            target=ModelSpec(path=str(settings.target), n_threads=threads),
            draft=ModelSpec(path=str(settings.draft), n_threads=threads),
            n_ctx=settings.n_ctx,
            flash_attention=Switch.ON,
            repack=settings.repack,
        ),
        messages=(Message(role="user", text=question),),
        max_tokens=settings.n_predict,
        sampling=SamplingConfig(temperature=0.0, seed=1),
        speculation=_speculation(settings),
    )


def _speculation(settings: Settings) -> SpeculationConfig:
    if settings.ngram is None:
        return SpeculationConfig(n_max=settings.n_max, p_min=settings.p_min or 0.0)
    n_match, n_min, n_max = settings.ngram
    return SpeculationConfig(
        sources=(DraftSource.NGRAM_MOD,),
        ngram_mod=NgramModConfig(n_match=n_match, n_min=n_min, n_max=n_max),
    )
