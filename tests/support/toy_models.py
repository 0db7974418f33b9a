"""Models of a few lines: the next token is a function of the text, so runs can be predicted."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Sequence

from specviz.engine.decode import DecodeLoop, Job
from specviz.engine.drafting.base import Proposal
from specviz.engine.drafting.chain import DrafterChain
from specviz.engine.model import Cancellation, Cancelled, Observation, Progress
from specviz.trace.config import DraftSource, LoadConfig, Message, ModelSpec, RunConfig, RunMode
from specviz.trace.events import Environment, ModelInfo, RunEvent, RunStarted, StepVerified
from specviz.trace.trace import Trace

END = 0
VOCABULARY = 40


def next_token(text: Sequence[int], end_share: float = 0.02) -> int:
    """The one continuation of a text; now and then it is the end."""
    generator = random.Random(hash(tuple(text)))
    return END if generator.random() < end_share else generator.randrange(1, VOCABULARY)


class ToyTarget:
    """Holds the text it was given; `temperature` draws from a generator advanced per sample."""

    def __init__(
        self,
        n_ctx: int = 10_000,
        seed: int | None = None,
        end_share: float = 0.02,
        pieces: dict[int, bytes] | None = None,
    ) -> None:
        self.n_ctx = n_ctx
        self.memory: list[int] = []
        self._generator = random.Random(seed) if seed is not None else None
        self._end_share = end_share
        self._pieces = pieces
        self._before = 0
        self.batches: list[list[int]] = []

    @property
    def n_past(self) -> int:
        return len(self.memory)

    def begin(self, token_ids: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        if cancelled.is_set():
            raise Cancelled
        self.memory = list(token_ids)
        progress(len(token_ids), len(token_ids))
        return 0

    def verify(self, pending: int, draft: Sequence[int]) -> None:
        self._before = len(self.memory)
        self.memory += [pending, *draft]
        self.batches.append([pending, *draft])
        assert len(self.memory) <= self.n_ctx, "the context was overrun"

    def sample(self, row: int) -> int:
        token_id = next_token(self.memory[: self._before + row + 1], self._end_share)
        if self._generator is not None and token_id != END:
            token_id = 1 + (token_id + self._generator.randrange(3)) % (VOCABULARY - 1)
        return token_id

    def keep(self, n_rows: int) -> None:
        del self.memory[self._before + n_rows :]

    def observe(self, asked: Sequence[tuple[int, int]], sampled: Sequence[int]) -> Observation:
        return Observation(tuple(0.5 for _ in asked), tuple((1, 1.0) for _ in sampled))

    def take_restore_seconds(self) -> float:
        return 0.0

    def piece(self, token_id: int) -> bytes:
        return self._pieces[token_id] if self._pieces else b"<%d>" % token_id

    def ends_generation(self, token_id: int) -> bool:
        return token_id == END

    def exhausted(self) -> bool:
        return False


class ToyDrafter:
    """Proposes the baseline's own continuation with some tokens spoilt."""

    source = DraftSource.DRAFT_SIMPLE

    def __init__(self, seed: int, n_max: int, noise: float = 0.3) -> None:
        self._generator = random.Random(seed)
        self._n_max = n_max
        self._noise = noise
        self.accepted: list[int] = []

    def begin(self, history: Sequence[int], cancelled: Cancellation, progress: Progress) -> int:
        return 0

    def draft(self, history: Sequence[int], pending: int, limit: int) -> Proposal:
        text = [*history, pending]
        draft = []
        for _ in range(min(self._generator.randint(0, self._n_max), limit)):
            token_id = next_token(text)
            if self._generator.random() < self._noise:
                token_id = self._generator.randrange(VOCABULARY)
            draft.append(token_id)
            text.append(token_id)
        return Proposal(tuple(draft), (0.5,) * len(draft), (None,) * len(draft), 0, self.source)

    def accept(self, n_accepted: int) -> None:
        self.accepted.append(n_accepted)


def toy_events(
    target: ToyTarget,
    drafter: ToyDrafter | None,
    *,
    prompt: Sequence[int] = (1, 2, 3),
    max_tokens: int = 50,
    stop: Sequence[str] = (),
    cancelled: Cancellation | None = None,
) -> list[RunEvent]:
    """Run the decode loop on toy models, with a clock that ticks at every look."""
    ticks = itertools.count()
    job = Job(run_id="toy", prompt=list(prompt), max_tokens=max_tokens, stop=stop, start=0.0)
    loop = DecodeLoop(
        job,
        target,
        DrafterChain([drafter]) if drafter else None,
        lambda: float(next(ticks)),
        cancelled or threading.Event(),
        lambda role, done, total: None,
    )
    return list(loop.events())


def toy_trace(events: Sequence[RunEvent], mode: RunMode = RunMode.SPECULATIVE) -> Trace:
    """Fold the events of a toy run, with a start made up for it."""
    trace = Trace()
    info = ModelInfo(
        path="toy",
        name="Toy",
        architecture="toy",
        quantisation="none",
        n_params=0,
        n_vocab=VOCABULARY,
        n_ctx_train=0,
        file_size=0,
    )
    trace.append(
        RunStarted(
            run_id="toy",
            t=0.0,
            config=RunConfig(
                mode=mode,
                load=LoadConfig(target=ModelSpec(path="toy")),
                messages=(Message(role="user", text="toy"),),
            ),
            target=info,
            draft=None,
            effective={},
            n_prompt=3,
            started_at="2026-01-01T00:00:00+00:00",
            environment=Environment(
                specviz_version="0",
                llama_cpp_python="",
                llama_cpp="",
                system_info="",
                safe_mode=False,
            ),
        )
    )
    for event in events:
        trace.append(event)
    return trace


def ids_of(events: Sequence[RunEvent]) -> list[int]:
    """Committed token ids, straight from the steps."""
    found: list[int] = []
    for event in events:
        if isinstance(event, StepVerified):
            found += [token.token_id for token in event.draft[: event.n_accepted]]
            found += [event.target.token_id] if event.target else []
    return found
