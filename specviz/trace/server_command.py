"""The llama-server command that does what a configuration asks for.

Option names are those of one llama.cpp release, see `LLAMA_CPP_RELEASE`; the tests hold them
against the names that its server takes. What a request brings along (prompt, length, stop texts)
is not part of a command: `not_covered` says what.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from typing import Literal

from specviz.trace.config import (
    DraftSource,
    LoadConfig,
    ModelSpec,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.trace.sources import MODEL_SOURCES, sources_in_use

Shell = Literal["posix", "windows"]

LLAMA_CPP_VERSION = "0.5.0-dev"
"""What the llama.cpp in llama-cpp-python 0.3.36 calls itself."""

LLAMA_CPP_COMMIT = "0c1e57098"
LLAMA_CPP_RELEASE = f"llama.cpp {LLAMA_CPP_VERSION} (commit {LLAMA_CPP_COMMIT})"
"""The release whose option names are used: the one that this program computes with."""

PLAIN = re.compile(r"[A-Za-z0-9_./:\\+=-]+")
"""What a Windows shell leaves alone outside quotes."""


def server_command(config: RunConfig, shell: Shell = "posix") -> str:
    """The command as one line, quoted for a POSIX shell or for Windows' cmd."""
    arguments = server_arguments(config)
    if shell == "windows":
        return " ".join(map(_quoted_for_windows, arguments))
    return shlex.join(arguments)


def server_arguments(config: RunConfig) -> list[str]:
    """The command as a list, unquoted. Settings that equal the server's own are left out."""
    sources = sources_in_use(config)
    arguments = ["llama-server", "-m", config.load.target.path]
    if DraftSource.DRAFT_SIMPLE in sources and config.load.draft is not None:
        arguments += ["-md", config.load.draft.path]
    arguments += _speculation(config.speculation, sources)
    arguments += _load(config.load, sources)
    arguments += _sampling(config.sampling)
    if config.reasoning is not Switch.AUTO:
        arguments += ["--reasoning", config.reasoning.value]
    return arguments


def not_covered(config: RunConfig) -> list[str]:
    """What of a configuration the command cannot say, a sentence each; empty when it says all."""
    return list(_left_out(config))


def _speculation(speculation: SpeculationConfig, sources: tuple[DraftSource, ...]) -> Iterator[str]:
    if not sources:
        return
    yield from ("--spec-type", ",".join(source.value for source in sources))
    if any(source in MODEL_SOURCES for source in sources):
        yield from ("--spec-draft-n-max", str(speculation.n_max))
        if speculation.n_min:
            yield from ("--spec-draft-n-min", str(speculation.n_min))
        if speculation.p_min:
            yield from ("--spec-draft-p-min", _number(speculation.p_min))
    for source, sizes in (
        (DraftSource.NGRAM_SIMPLE, speculation.ngram_simple),
        (DraftSource.NGRAM_MAP_K, speculation.ngram_map_k),
        (DraftSource.NGRAM_MAP_K4V, speculation.ngram_map_k4v),
    ):
        if source in sources:
            yield from (f"--spec-{source.value}-size-n", str(sizes.size_n))
            yield from (f"--spec-{source.value}-size-m", str(sizes.size_m))
            if sizes.min_hits != 1:
                yield from (f"--spec-{source.value}-min-hits", str(sizes.min_hits))
    if DraftSource.NGRAM_MOD in sources:
        mod = speculation.ngram_mod
        yield from ("--spec-ngram-mod-n-match", str(mod.n_match))
        yield from ("--spec-ngram-mod-n-min", str(mod.n_min))
        yield from ("--spec-ngram-mod-n-max", str(mod.n_max))
    if DraftSource.NGRAM_CACHE in sources:
        for name, path in (
            ("-lcs", speculation.ngram_cache.static_path),
            ("-lcd", speculation.ngram_cache.dynamic_path),
        ):
            if path is not None:
                yield from (name, path)


def _load(load: LoadConfig, sources: tuple[DraftSource, ...]) -> Iterator[str]:
    # the server divides its context among several conversations unless told to hold one
    yield from ("-c", str(load.n_ctx), "-np", "1")
    yield from _placed(load.target, "-t", "-ngl", "-ctk", "-ctv", as_threads=None)
    draft = load.draft
    if draft is not None and DraftSource.DRAFT_SIMPLE in sources:
        yield from _placed(
            draft, "-td", "-ngld", "-ctkd", "-ctvd", as_threads=load.target.n_threads
        )
    if load.flash_attention is not Switch.AUTO:
        yield from ("-fa", load.flash_attention.value)
    if not load.repack:
        yield "--no-repack"


def _placed(
    model: ModelSpec,
    threads: str,
    layers: str,
    type_k: str,
    type_v: str,
    *,
    as_threads: int | None,
) -> Iterator[str]:
    if model.n_threads is not None and model.n_threads != as_threads:
        yield from (threads, str(model.n_threads))
    # left to itself the server places as many layers as it thinks fit, which may be fewer
    yield from (layers, "all" if model.n_gpu_layers < 0 else str(model.n_gpu_layers))
    for name, kind in ((type_k, model.type_k), (type_v, model.type_v)):
        if kind != "f16":
            yield from (name, kind)


def _sampling(sampling: SamplingConfig) -> Iterator[str]:
    yield from ("--temp", _number(sampling.temperature))
    if sampling.temperature == 0:
        return  # the most likely token is taken: the other settings have no effect
    yield from ("--top-k", str(sampling.top_k))
    yield from ("--top-p", _number(sampling.top_p))
    yield from ("--min-p", _number(sampling.min_p))
    if sampling.seed is not None:
        yield from ("--seed", str(sampling.seed))


def _left_out(config: RunConfig) -> Iterator[str]:
    if config.raw:
        yield ("The prompt went without a chat template; with the server, send it to /completion.")
    if any(message.role == "system" for message in config.messages):
        yield "The system prompt goes along with each request."
    if config.stop:
        yield "The stop texts go along with each request."
    if config.max_tokens >= 0:
        yield f"The limit of {config.max_tokens} tokens goes along with each request."
    if config.load.n_batch != 512:
        yield f"The batch of {config.load.n_batch} rows is left to the server."
    draft, target = config.load.draft, config.load.target
    uses_draft = config.mode is RunMode.SPECULATIVE and (
        DraftSource.DRAFT_SIMPLE in config.speculation.sources
    )
    if uses_draft and draft is not None and draft.n_threads is None and target.n_threads:
        yield "The draft had a thread for each core; the server gives it the target's number."


def _number(value: float) -> str:
    """Without an exponent, which not every reader of numbers takes, and without a digit lost."""
    text = repr(float(value))
    if "e" in text:
        text = f"{value:.20f}".rstrip("0")
    return text.removesuffix(".0")


def _quoted_for_windows(argument: str) -> str:
    quoted = subprocess.list2cmdline([argument])
    if quoted.startswith('"') or PLAIN.fullmatch(argument):
        return quoted
    # list2cmdline knows how programs read quotes, not that the shell takes & and | as its own
    behind = "\\" * (len(argument) - len(argument.rstrip("\\")))
    return f'"{quoted}{behind}"'
