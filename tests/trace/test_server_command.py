"""The llama-server command: names its release knows, values that come back from the shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.traces import run_config

from specviz.trace.config import (
    KV_TYPES,
    DraftSource,
    LoadConfig,
    Message,
    ModelSpec,
    NgramCacheConfig,
    NgramModConfig,
    NgramSizes,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.trace.server_command import (
    LLAMA_CPP_COMMIT,
    LLAMA_CPP_RELEASE,
    LLAMA_CPP_VERSION,
    not_covered,
    server_arguments,
    server_command,
)

OPTIONS_FILE = Path(__file__).parents[1] / "data" / "llama_server_options.txt"
HEADING, *NAMES = OPTIONS_FILE.read_text(encoding="utf-8").splitlines()
WITHOUT_VALUE = {"--no-repack"}

paths = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
counts = st.integers(1, 1024)
sizes = st.builds(NgramSizes, size_n=counts, size_m=counts, min_hits=counts)
models = st.builds(
    ModelSpec,
    path=paths,
    n_gpu_layers=st.integers(-1, 100),
    n_threads=st.none() | st.integers(1, 64),
    type_k=st.sampled_from(KV_TYPES),
    type_v=st.sampled_from(KV_TYPES),
)
configs = st.builds(
    RunConfig,
    mode=st.sampled_from(RunMode),
    load=st.builds(
        LoadConfig,
        target=models,
        draft=st.none() | models,
        n_ctx=st.integers(0, 2**20),
        n_batch=st.sampled_from([32, 512]),
        flash_attention=st.sampled_from(Switch),
        repack=st.booleans(),
    ),
    messages=st.just((Message(role="user", text="Hi"),)),
    raw=st.booleans(),
    reasoning=st.sampled_from(Switch),
    max_tokens=st.integers(-1, 999).filter(bool),
    stop=st.sampled_from([(), ("x",)]),
    sampling=st.builds(
        SamplingConfig,
        temperature=st.sampled_from([0.0, 0.7]) | st.floats(1e-9, 5),
        top_k=st.integers(0, 10**6),
        top_p=st.floats(0, 1),
        min_p=st.floats(0, 1),
        seed=st.none() | st.integers(0, 2**32 - 2),
    ),
    speculation=st.builds(
        SpeculationConfig,
        sources=st.lists(st.sampled_from(DraftSource), min_size=1).map(tuple),
        n_max=counts,
        n_min=st.integers(0, 9),
        p_min=st.floats(0, 1),
        ngram_simple=sizes,
        ngram_map_k=sizes,
        ngram_map_k4v=sizes,
        ngram_mod=st.builds(NgramModConfig, n_match=counts, n_min=counts, n_max=counts),
        ngram_cache=st.builds(
            NgramCacheConfig, static_path=st.none() | paths, dynamic_path=st.none() | paths
        ),
    ),
)


def options_of(arguments: list[str]) -> dict[str, str | None]:
    """Option names with their values; fails where they do not take turns."""
    assert arguments[0] == "llama-server"
    found: dict[str, str | None] = {}
    rest: Iterator[str] = iter(arguments[1:])
    for name in rest:
        assert name not in found, f"{name} twice"
        found[name] = None if name in WITHOUT_VALUE else next(rest)
    return found


def options(config: RunConfig) -> dict[str, str | None]:
    return options_of(server_arguments(config))


def test_the_list_of_names_is_of_the_release_that_is_quoted() -> None:
    assert LLAMA_CPP_COMMIT in HEADING and LLAMA_CPP_COMMIT in LLAMA_CPP_RELEASE
    assert {"-m", "--model", "--spec-type", "-ngld", "--spec-draft-n-max"} <= set(NAMES)
    assert not {"--draft-max", "--prompt"} & set(NAMES), "given up, or not the server's"
    assert len(NAMES) == len(set(NAMES)) > 300


@pytest.mark.model
def test_the_release_is_the_one_that_is_installed() -> None:
    from llama_cpp import llama_cpp as lib

    assert lib.llama_version().decode() == LLAMA_CPP_VERSION


@settings(max_examples=50)
@given(configs)
def test_the_server_knows_every_option(config: RunConfig) -> None:
    assert set(options(config)) <= set(NAMES)


@settings(max_examples=50)
@given(configs)
def test_the_shell_gives_every_value_back(config: RunConfig) -> None:
    assert shlex.split(server_command(config)) == server_arguments(config)
    assert options(config)["-m"] == config.load.target.path


@settings(max_examples=50)
@given(configs)
def test_a_windows_program_gets_every_value_back(config: RunConfig) -> None:
    command = server_command(config, "windows")
    assert windows_split(command) == server_arguments(config)


def windows_split(command: str) -> list[str]:
    """Arguments as Microsoft's C runtime reads them: 2n backslashes before a quote are n."""
    arguments: list[str] = []
    word, quoted, started, i = "", False, False, 0
    while i < len(command):
        char = command[i]
        if char == "\\":
            n = len(command[i:]) - len(command[i:].lstrip("\\"))
            before_quote = command[i + n : i + n + 1] == '"'
            word += "\\" * (n // 2 if before_quote else n)
            started, i = True, i + n
            if before_quote and n % 2:
                word, i = word + '"', i + 1
        elif char == '"':
            quoted, started, i = not quoted, True, i + 1
        elif char in " \t" and not quoted:
            if started:
                arguments.append(word)
            word, started, i = "", False, i + 1
        else:
            word, started, i = word + char, True, i + 1
    return [*arguments, word] if started else arguments


def test_what_a_shell_would_take_as_its_own_is_quoted() -> None:
    config = run_config()
    for path in ("C:\\my models\\t.gguf", "C:\\a&b\\t.gguf", "C:\\x\\", "D:\\(1)\\t.gguf"):
        load = replace(config.load, target=ModelSpec(path=path), draft=None)
        command = server_command(replace(config, load=load), "windows")
        quoted = command.split(" -m ")[1]
        assert quoted.startswith('"') == any(char in path for char in " &(")
    hostile = ModelSpec(path="a; rm -rf ~ $(x) `y` 'z' \"ü\nn.gguf")
    command = server_command(replace(config, load=replace(config.load, target=hostile)))
    assert shlex.split(command)[2] == hostile.path


def test_an_ordinary_pair_is_an_ordinary_command() -> None:
    config = replace(
        run_config(n_max=5),
        load=LoadConfig(target=ModelSpec(path="t.gguf"), draft=ModelSpec(path="d.gguf")),
    )
    assert server_command(config) == (
        "llama-server -m t.gguf -md d.gguf --spec-type draft-simple --spec-draft-n-max 5 "
        "-c 4096 -np 1 -ngl all -ngld all --temp 0"
    )


def test_a_draft_that_is_not_asked_is_not_named() -> None:
    found = options(run_config(sources=(DraftSource.NGRAM_MOD,)))
    assert "-md" not in found and "-ngld" not in found and "--spec-draft-n-max" not in found
    assert found["--spec-type"] == "ngram-mod"
    # the server's own sizes are others, so ours have to be said
    assert [found[f"--spec-ngram-mod-n-{name}"] for name in ("match", "min", "max")] == [
        "6", "2", "12",
    ]  # fmt: skip


def test_a_baseline_drafts_with_nothing() -> None:
    found = options(run_config(RunMode.BASELINE))
    assert not any(name.startswith("--spec") or name == "-md" for name in found)


def test_methods_are_in_the_order_of_precedence() -> None:
    both = (DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_CACHE)
    assert options(run_config(sources=both))["--spec-type"] == "ngram-cache,draft-simple"


def test_every_setting_arrives() -> None:
    draft = ModelSpec(path="d", n_gpu_layers=3, n_threads=2, type_k="q8_0", type_v="q4_0")
    config = RunConfig(
        mode=RunMode.SPECULATIVE,
        load=LoadConfig(
            target=ModelSpec(path="t", n_gpu_layers=0, n_threads=4, type_k="bf16", type_v="f32"),
            draft=draft,
            n_ctx=0,
            flash_attention=Switch.ON,
            repack=False,
        ),
        messages=(Message(role="user", text="Hi"),),
        reasoning=Switch.OFF,
        max_tokens=-1,
        sampling=SamplingConfig(temperature=0.7, top_k=5, top_p=0.9, min_p=1e-5, seed=9),
        speculation=SpeculationConfig(
            sources=(DraftSource.DRAFT_SIMPLE, DraftSource.NGRAM_CACHE, DraftSource.NGRAM_MAP_K4V),
            n_max=6,
            n_min=2,
            p_min=0.25,
            ngram_map_k4v=NgramSizes(size_n=3, size_m=4, min_hits=2),
            ngram_cache=NgramCacheConfig(static_path="s.bin", dynamic_path="d.bin"),
        ),
    )
    assert options(config) == {
        "-m": "t", "-md": "d", "--spec-type": "ngram-map-k4v,ngram-cache,draft-simple",
        "--spec-draft-n-max": "6", "--spec-draft-n-min": "2", "--spec-draft-p-min": "0.25",
        "--spec-ngram-map-k4v-size-n": "3", "--spec-ngram-map-k4v-size-m": "4",
        "--spec-ngram-map-k4v-min-hits": "2", "-lcs": "s.bin", "-lcd": "d.bin",
        "-c": "0", "-np": "1", "-t": "4", "-ngl": "0", "-ctk": "bf16", "-ctv": "f32",
        "-td": "2", "-ngld": "3", "-ctkd": "q8_0", "-ctvd": "q4_0", "-fa": "on",
        "--no-repack": None, "--temp": "0.7", "--top-k": "5", "--top-p": "0.9",
        "--min-p": "0.00001", "--seed": "9", "--reasoning": "off",
    }  # fmt: skip
    assert not_covered(config) == []


@settings(max_examples=50)
@given(configs)
def test_numbers_come_back_whole(config: RunConfig) -> None:
    found = options(config)
    for name, value in (
        ("--temp", config.sampling.temperature),
        ("--top-p", config.sampling.top_p),
        ("--spec-draft-p-min", config.speculation.p_min),
    ):
        if found.get(name) is not None:
            text = found[name] or ""
            assert "e" not in text
            # what is smaller than this makes no difference to a probability of single precision
            assert float(text) == pytest.approx(value, rel=1e-7, abs=1e-19)


def test_what_a_command_cannot_say_is_told() -> None:
    config = run_config(messages=[Message(role=r, text="x") for r in ("system", "user")])
    config = replace(config, stop=("END",), load=replace(config.load, n_batch=64))
    told = " ".join(not_covered(config))
    for words in ("system prompt", "stop texts", "512 tokens", "64 rows"):
        assert words in told
    assert "/completion" in " ".join(not_covered(replace(config, raw=True)))
    threads = replace(config.load, target=replace(config.load.target, n_threads=2))
    assert "thread for each core" in " ".join(not_covered(replace(config, load=threads)))
    assert all(sentence.endswith(".") for sentence in not_covered(config))
