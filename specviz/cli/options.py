"""The options of `specviz run`, by llama.cpp's names, and the configuration they come to.

`specviz sweep` takes most of them too.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from specviz.cli.arguments import (
    ArgumentParser,
    layers,
    number,
    one_of,
    script_path,
    seed,
    whole_number,
)
from specviz.cli.drafting_options import (
    ONE_VALUE,
    Kinds,
    add_drafting,
    speculation_config,
)
from specviz.trace.config import (
    KV_TYPES,
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    RunConfig,
    RunMode,
    SamplingConfig,
    Switch,
)


def run_parser() -> ArgumentParser:
    """The parser of `specviz run`."""
    parser = ArgumentParser(
        prog="specviz run",
        usage="specviz run [-m TARGET [-md DRAFT]] -p PROMPT [options]",
        description=(
            "Runs a prompt with the target alone and then speculatively, and compares the two.\n"
            "Without a model, the demo pair is used."
        ),
        epilog=(
            "exit codes: 0 done, 2 wrong usage or setting, 3 the pair does not fit, 4 a file cannot"
            "\nbe read, 5 the engine died, 130 interrupted"
        ),
    )
    add_models(parser)
    _add_prompt(parser)
    add_drafting(parser)
    add_sampling(parser)
    add_runtime(parser)
    _add_output(parser)
    return parser


def add_models(parser: ArgumentParser) -> None:
    """Add the options that name the models, or a script in their place."""
    group = parser.add_argument_group("models")
    group.add_argument("-m", "--model", type=Path, metavar="TARGET", help="target model file")
    group.add_argument(
        "-md",
        "--spec-draft-model",
        "--model-draft",
        dest="draft",
        type=Path,
        metavar="DRAFT",
        help="draft model file",
    )
    group.add_argument(
        "--engine",
        type=script_path,
        metavar="scripted:FILE",
        help="play a script instead of computing with weights",
    )


def _add_prompt(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("prompt")
    source = group.add_mutually_exclusive_group()
    source.add_argument("-p", "--prompt", metavar="TEXT", help="the prompt; else from -f or a pipe")
    source.add_argument("-f", "--file", type=Path, metavar="FILE", help="file with the prompt")
    add_answer(group, 512)


def add_answer(group: argparse._ArgumentGroup, predict: int) -> None:
    """Add the options that shape the answer; it has `predict` tokens at most by default."""
    group.add_argument("-sys", "--system-prompt", metavar="TEXT", help="instructions before it")
    group.add_argument("--raw", action="store_true", help="no chat template")
    group.add_argument(
        "--reasoning",
        type=one_of("on", "off", "auto"),
        default="auto",
        metavar="on|off|auto",
        help="whether the model should reason first",
    )
    group.add_argument(
        "-n",
        "--predict",
        "--n-predict",
        dest="predict",
        type=whole_number,
        default=predict,
        metavar="N",
        help=f"tokens at most; below 0: until the context is full (default {predict})",
    )
    group.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="end the answer before this text; may be given several times",
    )


def add_sampling(parser: ArgumentParser) -> None:
    """Add the options of the target's sampler."""
    default = SamplingConfig()
    group = parser.add_argument_group("sampling (the target's)")
    for names, kind, value, text in (
        (("--temp", "--temperature"), number, default.temperature, "0 takes the most likely token"),
        (("--top-k",), whole_number, default.top_k, "0 switches it off"),
        (("--top-p",), number, default.top_p, "1 switches it off"),
        (("--min-p",), number, default.min_p, "0 switches it off"),
    ):
        group.add_argument(
            *names,
            dest=names[0].removeprefix("--").replace("-", "_"),
            type=kind,
            default=value,
            metavar="N" if kind is whole_number else "P",
            help=f"{text} (default {value:g})",
        )
    group.add_argument(
        "-s", "--seed", type=seed, metavar="N", help="-1 draws one, which is the default"
    )


def add_runtime(parser: ArgumentParser, kinds: Kinds = ONE_VALUE) -> None:
    """Add the options that say how models are held; `kinds` reads those of the draft's cache."""
    group = parser.add_argument_group("runtime")
    group.add_argument(
        "-c",
        "--ctx-size",
        type=whole_number,
        default=4096,
        metavar="N",
        help="context in tokens; 0: as trained (default 4096)",
    )
    for whose, threads, placed in (
        ("target", ("-t", "--threads"), ("-ngl", "--gpu-layers", "--n-gpu-layers")),
        (
            "draft",
            ("-td", "--spec-draft-threads", "--threads-draft"),
            ("-ngld", "--spec-draft-ngl", "--gpu-layers-draft", "--n-gpu-layers-draft"),
        ),
    ):
        fallback = "one per core" if whose == "target" else "as -t"
        group.add_argument(
            *threads,
            dest=f"{whose}_threads",
            type=whole_number,
            metavar="N",
            help=f"threads of the {whose} (default: {fallback})",
        )
        group.add_argument(
            *placed,
            dest=f"{whose}_layers",
            type=layers,
            default=-1,
            metavar="N",
            help=f"layers of the {whose} on the GPU (default: all)",
        )
    for whose, letter, names in (
        ("target", "k", ("-ctk", "--cache-type-k")),
        ("target", "v", ("-ctv", "--cache-type-v")),
        ("draft", "k", ("-ctkd", "--spec-draft-type-k", "--cache-type-k-draft")),
        ("draft", "v", ("-ctvd", "--spec-draft-type-v", "--cache-type-v-draft")),
    ):
        group.add_argument(
            *names,
            dest=f"{whose}_type_{letter}",
            type=one_of(*KV_TYPES) if whose == "target" else kinds.word(*KV_TYPES),
            default="f16",
            metavar="TYPE" if whose == "target" else kinds.metavar("TYPE"),
            help=f"type of the {whose}'s {letter.upper()} cache (default f16)",
        )
    group.add_argument(
        "-fa",
        "--flash-attn",
        type=one_of("on", "off", "auto"),
        default="auto",
        metavar="on|off|auto",
        help="flash attention (default auto)",
    )
    group.add_argument("--no-repack", action="store_true", help="leave weights in file layout")


def _add_output(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("measuring and output")
    group.add_argument(
        "--baseline",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run the target alone first (default on)",
    )
    group.add_argument(
        "--repeat", type=whole_number, default=1, metavar="N", help="run N times, quote medians"
    )
    group.add_argument(
        "--check",
        action="store_true",
        help="decide every token and draft anew on fresh memory; greedy output only",
    )
    group.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="store each run; FILE gets .baseline or .speculative before its ending",
    )
    group.add_argument("--csv", type=Path, metavar="DIR", help="write CSV tables into DIR")
    group.add_argument("--json", action="store_true", help="only the summary, as JSON")
    group.add_argument(
        "-q", "--quiet", action="store_true", help="no answer text, notes or progress"
    )


def messages(system: str | None, prompt: str) -> tuple[Message, ...]:
    """The turns that the target is shown."""
    turns = [Message(role="system", text=system)] if system else []
    return (*turns, Message(role="user", text=prompt))


def load_config(values: argparse.Namespace, target: Path, draft: Path | None) -> LoadConfig:
    """What has to be in memory."""
    threads = values.draft_threads if values.draft_threads is not None else values.target_threads
    return LoadConfig(
        target=ModelSpec(
            path=str(target),
            n_gpu_layers=values.target_layers,
            n_threads=values.target_threads,
            type_k=values.target_type_k,
            type_v=values.target_type_v,
        ),
        draft=None
        if draft is None
        else ModelSpec(
            path=str(draft),
            n_gpu_layers=values.draft_layers,
            n_threads=threads,
            type_k=values.draft_type_k,
            type_v=values.draft_type_v,
        ),
        n_ctx=values.ctx_size,
        flash_attention=Switch(values.flash_attn),
        repack=not values.no_repack,
    )


def run_config(
    values: argparse.Namespace,
    mode: RunMode,
    load: LoadConfig,
    turns: tuple[Message, ...],
    sources: Sequence[DraftSource],
    chosen_seed: int,
) -> RunConfig:
    """One run as the options ask for it; baseline and speculative run share a seed."""
    return RunConfig(
        mode=mode,
        load=load,
        messages=turns,
        raw=values.raw,
        reasoning=Switch(values.reasoning),
        max_tokens=values.predict,
        stop=tuple(values.stop),
        sampling=SamplingConfig(
            temperature=values.temp,
            top_k=values.top_k,
            top_p=values.top_p,
            min_p=values.min_p,
            seed=chosen_seed,
        ),
        speculation=speculation_config(values, sources),
    )
