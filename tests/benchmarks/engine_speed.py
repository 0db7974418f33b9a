"""Our engine's tokens/s divided by llama.cpp's own, with the same kernels, files and settings.

Plain decoding is compared with plain_greedy.cpp, speculative decoding with llama.cpp's
speculative-simple. Also checks that both drafted and accepted the same tokens, step by step.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from llama_peer import Peer, PeerError, PeerRun, Settings, build_peer
from measuring import MeasuringError, Repeats, Result, look_at_machine, order, ratios, report
from our_engine import OurEngine, rendered_prompt

from specviz.engine.hardware import physical_cores
from specviz.errors import SpecvizError
from specviz.trace.trace import Trace

GOAL = 0.97

PROMPTS = {
    "story": "Write a short story about a fox who learns to read.",
    "code": "Write a Python function that returns the n-th Fibonacci number, with a docstring.",
    "list": "List ten fruits and say one sentence about each of them.",
    "explain": "Explain step by step how bread is baked, and why the dough has to rest.",
}


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to decode, by both sides. `p_min` of None: without a draft."""

    name: str
    p_min: float | None


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
    variants = [Variant("plain", None)]
    variants += [Variant(f"speculative, p_min {p:g}", p) for p in options.p_min]
    sums = {variant: Sums([], [], []) for variant in variants}
    async with OurEngine(options.target, options.draft) as engine:
        for key in options.prompts:
            prompt = rendered_prompt(engine.target, PROMPTS[key])
            for variant in variants:
                settings = _settings(engine, options, prompt, variant)
                await _compare(engine, peer, PROMPTS[key], settings, sums[variant], key)
                if options.repeats:
                    already = len(sums[variant].ours)
                    await _race(engine, peer, PROMPTS[key], settings, sums[variant], options)
                    print(f"{key}, {variant.name}: {_newest(sums[variant], already)}")
    results = [_result(variant, sums[variant]) for variant in variants if options.repeats]
    differences = [text for variant in variants for text in sums[variant].differences]
    for text in differences:
        print(text)
    report(
        "engine_speed",
        machine,
        results,
        n_discarded=sum(each.n_discarded for each in sums.values()),
        same_work=not differences,
        differences=differences,
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


def _newest(sums: Sums, already: int) -> str:
    ours = statistics.median(sums.ours[already:])
    theirs = statistics.median(sums.peer[already:])
    return f"ours {ours:.1f}, peer {theirs:.1f} tokens/s, ratio {ours / theirs:.3f}"


def _result(variant: Variant, sums: Sums) -> Result:
    return ratios(f"{variant.name}, ours / llama.cpp", sums.ours, sums.peer, "tokens/s", GOAL)


# Same work? --------------------------------------------------------------------------------------
async def _compare(
    engine: OurEngine, peer: Peer, question: str, settings: Settings, sums: Sums, key: str
) -> None:
    """One unmeasured run of each side, compared token by token and step by step.

    llama.cpp's program goes on past its budget, and near its end drafts without a limit where the
    limit is 0. So ours gets a larger budget here, and only steps are compared at whose beginning
    neither budget is in sight. The step that meets the end of the generation is left out: whether
    the end token counts as accepted is a matter of definition.
    """
    roomy = replace(settings, n_predict=settings.n_predict + 2 * (settings.n_max + 1))
    ours = (await engine.run(question, roomy)).trace
    theirs = peer.run(settings, tell_steps=True)
    where = f"{key}, p_min {settings.p_min}" if settings.p_min is not None else f"{key}, plain"
    started = ours.started
    if started is None or started.n_prompt != theirs.n_prompt:
        sums.differences.append(f"{where}: the prompts have different numbers of tokens")
    if settings.p_min is None:
        text = _answer(ours)
        if not text.startswith(theirs.text):
            sums.differences.append(f"{where}: the texts differ")
        return
    sums.differences += _different_steps(where, ours, theirs, settings)


def _answer(trace: Trace) -> str:
    return b"".join(token.piece for token in trace.tokens).decode("utf-8", "replace")


def _different_steps(where: str, ours: Trace, theirs: PeerRun, settings: Settings) -> list[str]:
    mine = [
        (step.n_accepted, len(step.draft), step.target.token_id)
        for step in ours.steps
        if step.target is not None
    ]
    compared, n_committed = 0, 0
    drafted = accepted = 0
    for index, (own, their) in enumerate(zip(mine, theirs.steps, strict=False)):
        if n_committed > settings.n_predict - 1 - settings.n_max:
            break
        if own != their:
            return [
                f"{where}: step {index} at token {n_committed}: ours accepted {own[0]} of {own[1]} "
                f"and gave token {own[2]}, llama.cpp {their[0]} of {their[1]} and {their[2]}"
            ]
        compared += 1
        n_committed += own[0] + 1
        drafted += own[1]
        accepted += own[0]
    print(
        f"{where}: {compared} steps alike, {n_committed} tokens, {drafted} drafted, "
        f"{accepted} accepted"
    )
    return []


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
        "--repeats", type=int, default=5, help="measured runs each; 0: only compare the work"
    )
    parser.add_argument("--prompts", nargs="+", choices=PROMPTS, default=list(PROMPTS))
    parser.add_argument("--keep-disturbed", action="store_true", help="count all repeats")
    parser.add_argument("--repack", action="store_true", help="allow repacked weights")
    options = parser.parse_args()
    if (options.target is None) != (options.draft is None):
        parser.error("give both -m and -md, or neither")
    try:
        asyncio.run(measure(build_peer(), options))
    except (PeerError, MeasuringError, SpecvizError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
