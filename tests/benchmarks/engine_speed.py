"""Our engine's tokens/s divided by llama.cpp's own, with the same kernels, files and settings.

Plain decoding is compared with plain_greedy.cpp, speculative decoding with llama.cpp's
speculative-simple, by a draft model and by n-grams. Also checks that both drafted and accepted the
same tokens, step by step; the exit code is 1 when they did not.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from llama_peer import Peer, PeerError, PeerRun, Settings, build_peer
from measuring import MeasuringError, Repeats, Result, look_at_machine, order, ratios, report
from our_engine import OurEngine, rendered_prompt

from specviz.engine.hardware import physical_cores
from specviz.errors import SpecvizError
from specviz.trace.trace import Trace

GOAL = 0.97
NGRAM = (6, 2, 12)
"""Matching tokens, shortest and longest draft: what SpecViz proposes for short texts."""

Step = tuple[int, int, int]
"""Accepted, drafted, the target's token."""

PROMPTS = {
    "story": "Write a short story about a fox who learns to read.",
    "code": "Write a Python function that returns the n-th Fibonacci number, with a docstring.",
    "list": "List ten fruits and say one sentence about each of them.",
    "explain": "Explain step by step how bread is baked, and why the dough has to rest.",
    "rename": "Repeat this code with the variable x renamed to y. def add(x): return x + 1; "
    "def mul(x): return x * 2; def neg(x): return -x; def half(x): return x / 2; "
    "def square(x): return x * x; def is_even(x): return x % 2 == 0; "
    "def is_odd(x): return x % 2 == 1",
}
"""The last one gives n-grams something to copy."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to decode, by both sides; see llama_peer.Settings."""

    name: str
    p_min: float | None = None
    ngram: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What one side did in the steps that are compared."""

    n_steps: int
    n_tokens: int
    n_drafted: int
    n_accepted: int

    def __str__(self) -> str:
        return f"{self.n_accepted}/{self.n_drafted} in {self.n_steps}"


@dataclass(frozen=True, slots=True)
class Line:
    """A prompt decoded in one way by both sides: medians of the rates, and the work."""

    prompt: str
    variant: str
    ours: float | None
    peer: float | None
    our_work: Work
    peer_work: Work
    same_work: bool


@dataclass(slots=True)
class Sums:
    """What was measured of one variant: rates of paired repeats, and the equality of the work."""

    ours: list[float]
    peer: list[float]
    differences: list[str]
    n_discarded: int = 0


async def measure(peer: Peer, options: argparse.Namespace) -> list[str]:
    """All variants and prompts; returns how the two sides' work differed, in sentences."""
    machine = look_at_machine()
    variants = [Variant("plain")]
    variants += [Variant(f"draft model, p_min {p:g}", p_min=p) for p in options.p_min]
    if options.ngram:
        variants.append(Variant("ngram-mod", ngram=NGRAM))
    sums = {variant: Sums([], [], []) for variant in variants}
    lines = []
    async with OurEngine(options.target, options.draft) as engine:
        for key in options.prompts:
            prompt = rendered_prompt(engine.target, PROMPTS[key])
            await engine.forget()
            for variant in variants:
                settings = _settings(engine, options, prompt, variant)
                where = f"{key}, {variant.name}"
                so_far = len(sums[variant].differences)
                work = await _compare(engine, peer, PROMPTS[key], settings, sums[variant], where)
                same = len(sums[variant].differences) == so_far
                already = len(sums[variant].ours)
                if options.repeats:
                    await _race(engine, peer, PROMPTS[key], settings, sums[variant], options)
                ours, theirs = _newest(sums[variant], already)
                lines.append(Line(key, variant.name, ours, theirs, *work, same))
                print(f"{where}: done")
    results = [_result(variant, sums[variant]) for variant in variants if options.repeats]
    differences = [text for variant in variants for text in sums[variant].differences]
    print(table(lines))
    for text in differences:
        print(text)
    report(
        "engine_speed",
        machine,
        results,
        n_discarded=sum(each.n_discarded for each in sums.values()),
        same_work=not differences,
        differences=differences,
        lines=[asdict(line) for line in lines],
        n_predict=options.tokens,
        n_threads=options.threads,
        prompts=options.prompts,
    )
    return differences


def _settings(
    engine: OurEngine, options: argparse.Namespace, prompt: str, variant: Variant
) -> Settings:
    return Settings(
        target=engine.target,
        draft=engine.draft,
        prompt=prompt,
        n_predict=options.tokens,
        n_ctx=options.ctx_size,
        n_threads=options.threads,
        repack=options.repack,
        n_max=options.n_max,
        p_min=variant.p_min,
        ngram=variant.ngram,
    )


async def _race(
    engine: OurEngine,
    peer: Peer,
    question: str,
    settings: Settings,
    sums: Sums,
    options: argparse.Namespace,
) -> None:
    repeats = Repeats(options.repeats, options.keep_disturbed)
    for attempt in repeats:
        ours = theirs = 0.0
        for side in order(attempt, ("ours", "peer")):
            if side == "ours":
                ours = (await engine.run(question, settings)).tokens_per_second
            else:
                theirs = peer.run(settings).tokens_per_second
        if repeats.counts():
            sums.ours.append(ours)
            sums.peer.append(theirs)
    sums.n_discarded += repeats.n_discarded


def _newest(sums: Sums, already: int) -> tuple[float | None, float | None]:
    """Medians of the repeats since `already`; None where nothing was measured."""
    if len(sums.ours) == already:
        return None, None
    return statistics.median(sums.ours[already:]), statistics.median(sums.peer[already:])


def table(lines: list[Line]) -> str:
    """All runs side by side: tokens/s, then accepted of drafted tokens and the steps they took."""
    head = ("prompt", "decoding", "ours", "llama.cpp", "ratio", "our work", "their work", "")
    rows = [head]
    for line in lines:
        rate = "–" if line.ours is None else f"{line.ours:.1f}"
        peer = "–" if line.peer is None else f"{line.peer:.1f}"
        ratio = "–" if not line.ours or not line.peer else f"{line.ours / line.peer:.3f}"
        equal = "equal" if line.same_work else "DIFFERENT"
        work = str(line.our_work), str(line.peer_work)
        rows.append((line.prompt, line.variant, rate, peer, ratio, *work, equal))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    texts = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(["", "tokens/s, then accepted/drafted in steps", *texts])


def _result(variant: Variant, sums: Sums) -> Result:
    return ratios(f"{variant.name}, ours / llama.cpp", sums.ours, sums.peer, "tokens/s", GOAL)


# Same work? --------------------------------------------------------------------------------------
async def _compare(
    engine: OurEngine, peer: Peer, question: str, settings: Settings, sums: Sums, where: str
) -> tuple[Work, Work]:
    """One unmeasured run of each side, compared token by token and step by step.

    llama.cpp's program goes on past its budget, and near its end drafts without a limit where the
    limit is 0. So ours gets a larger budget here, and only steps are compared at whose beginning
    neither budget is in sight. The step that meets the end of the generation is left out: whether
    the end token counts as accepted is a matter of definition.
    """
    room = 2 * (settings.longest_draft + 1)
    roomy = replace(settings, n_predict=settings.n_predict + room)
    ours = (await engine.run(question, roomy)).trace
    theirs = peer.run(settings, tell_steps=True)
    started = ours.started
    if started is None or started.n_prompt != theirs.n_prompt:
        sums.differences.append(f"{where}: the prompts have different numbers of tokens")
    if not settings.drafts:
        return _compare_plain(where, ours, theirs, sums)
    mine = [
        (step.n_accepted, len(step.draft), step.target.token_id)
        for step in ours.steps
        if step.target is not None
    ]
    budget = settings.n_predict - 1 - settings.longest_draft
    sums.differences += _first_difference(where, mine, theirs.steps, budget)
    # their last step may be the one that meets the end
    n_common = min(len(mine), len(theirs.steps))
    works = _work(mine[:n_common], budget), _work(theirs.steps[:n_common], budget)
    n_more = _work(theirs.steps, budget).n_steps - works[1].n_steps
    if n_more > 1:
        sums.differences.append(f"{where}: llama.cpp goes on for {n_more} steps behind our end")
    return works


def _compare_plain(where: str, ours: Trace, theirs: PeerRun, sums: Sums) -> tuple[Work, Work]:
    """Without drafts the text is the work; ours may be longer."""
    if not _answer(ours).startswith(theirs.text):
        sums.differences.append(f"{where}: the texts differ")
    n = theirs.n_decoded
    return Work(min(n, len(ours.tokens)), n, 0, 0), Work(n, n, 0, 0)


def _answer(trace: Trace) -> str:
    return b"".join(token.piece for token in trace.tokens).decode("utf-8", "replace")


def _first_difference(
    where: str, mine: Sequence[Step], theirs: Sequence[Step], budget: int
) -> list[str]:
    n_committed = 0
    for index, (own, their) in enumerate(zip(mine, theirs, strict=False)):
        if n_committed > budget:
            break
        if own != their:
            return [
                f"{where}: step {index} at token {n_committed}: ours accepted {own[0]} of {own[1]} "
                f"and gave token {own[2]}, llama.cpp {their[0]} of {their[1]} and {their[2]}"
            ]
        n_committed += own[0] + 1
    return []


def _work(steps: Sequence[Step], budget: int) -> Work:
    """The steps that begin within the budget, added up."""
    n_steps = n_tokens = n_drafted = n_accepted = 0
    for accepted, drafted, _ in steps:
        if n_tokens > budget:
            break
        n_steps += 1
        n_tokens += accepted + 1
        n_drafted += drafted
        n_accepted += accepted
    return Work(n_steps, n_tokens, n_drafted, n_accepted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", dest="target", type=Path, help="target (default: the demo pair)")
    parser.add_argument("-md", dest="draft", type=Path, help="draft")
    parser.add_argument("-n", dest="tokens", type=int, default=140, help="tokens of each run")
    parser.add_argument("-t", dest="threads", type=int, default=physical_cores())
    parser.add_argument("-c", dest="ctx_size", type=int, default=2048)
    parser.add_argument("--n-max", type=int, default=3)
    parser.add_argument("--p-min", type=float, nargs="*", default=[0.5, 0.0])
    parser.add_argument(
        "--ngram",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also with drafts copied by ngram-mod",
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="measured runs each; 0: only compare the work"
    )
    parser.add_argument("--prompts", nargs="+", choices=PROMPTS, default=list(PROMPTS))
    parser.add_argument("--keep-disturbed", action="store_true", help="count all repeats")
    parser.add_argument("--repack", action="store_true", help="allow repacked weights")
    options = parser.parse_args()
    if (options.target is None) != (options.draft is None):
        parser.error("give both -m and -md, or neither")
    try:
        differences = asyncio.run(measure(build_peer(), options))
    except (PeerError, MeasuringError, SpecvizError) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
