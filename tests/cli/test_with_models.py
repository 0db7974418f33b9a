"""The commands on the real engine: tiny models, and the demo pair where it is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import specviz
from support.tiny_gguf import make_vocabulary, write_llama, write_qwen35

from specviz import __version__
from specviz.models.demo_pair import find_demo_pair

pytestmark = pytest.mark.model


def test_selftest_passes_line_by_line() -> None:
    answer = specviz("selftest")
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert f"SpecViz {__version__}" in lines[0]
    assert "llama-cpp-python" in lines[0]
    assert "backend: " in lines[1]
    assert lines[-1] == "everything works"
    assert sum(line.startswith("ok  ") for line in lines) == 6


def test_devices_are_listed() -> None:
    answer = specviz("devices")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "llama-cpp-python" in answer.stdout
    assert "safe mode" in answer.stdout
    values = json.loads(specviz("devices", "--json").stdout)
    assert any(device["kind"] == "cpu" for device in values["devices"])
    assert values["engine"]["llama_cpp_python"] in answer.stdout


def test_a_tiny_pair_runs_with_and_without_drafting(tmp_path: Path) -> None:
    target = write_llama(tmp_path / "t.gguf", mix=0.2)
    draft = write_llama(tmp_path / "d.gguf", n_layers=1, mix=0.2)
    answer = specviz(
        "run", "-m", target, "-md", draft, "-n", "24", "-t", "1", "-c", "256", "--raw", "--json",
        stdin=b"the the the",
    )  # fmt: skip
    assert answer.returncode == 0
    base, spec = json.loads(answer.stdout)["runs"]
    assert base["token_ids"] == spec["token_ids"]
    assert base["committed"] == 24
    assert spec["tested"] > 0
    assert spec["effective"]["n_ctx"] == 256


ALWAYS = ("-n", "24", "-t", "1", "-c", "256", "--raw", "--no-repack", "--json")


def test_a_target_alone_drafts_from_ngrams(tmp_path: Path) -> None:
    target = write_llama(tmp_path / "t.gguf", mix=0.2)
    methods = "ngram-simple,ngram-map-k,ngram-map-k4v,ngram-mod,ngram-cache"
    preset = ("--spec-ngram-mod-n-match", "2", "--spec-ngram-mod-n-min", "1")
    answer = specviz(
        "run", "-m", target, "--spec-type", methods, *preset, *ALWAYS, stdin=b"the cat the " * 12
    )
    assert answer.returncode == 0
    values = json.loads(answer.stdout)
    base, spec = values["runs"]
    assert base["token_ids"] == spec["token_ids"]
    assert values["draft"] is None
    assert [source["source"] for source in spec["sources"]] == methods.split(",")
    assert spec["sources"][0]["begin_calls"] == 1
    assert spec["sources"][0]["draft_calls"] > 0
    assert sum(source["tested"] for source in spec["sources"]) == spec["tested"] > 0
    assert (base["reused_tokens"], spec["prefill_tokens"]) == (0, 0)
    assert spec["reused_tokens"] == base["prefill_tokens"]


def test_a_hybrid_target_drafts_with_its_own_blocks(tmp_path: Path) -> None:
    target = write_qwen35(tmp_path / "t.gguf", mtp=1)
    answer = specviz(
        "run", "-m", target, "--spec-type", "draft-mtp", *ALWAYS, stdin=b"the cat the "
    )
    assert answer.returncode == 0
    base, spec = json.loads(answer.stdout)["runs"]
    assert base["token_ids"] == spec["token_ids"]
    assert spec["effective"]["rollback"] in ("snapshots", "checkpoint")
    (source,) = spec["sources"]
    assert (source["source"], source["tested"]) == ("draft-mtp", spec["tested"])
    assert spec["tested"] > 0


def test_a_pair_that_does_not_fit_is_three(tmp_path: Path) -> None:
    target = write_llama(tmp_path / "t.gguf")
    draft = write_llama(tmp_path / "d.gguf", vocabulary=make_vocabulary(700))
    answer = specviz("run", "-m", target, "-md", draft, "-p", "x")
    assert (answer.returncode, answer.stdout) == (3, "")
    assert "d.gguf cannot draft for t.gguf" in answer.stderr


@pytest.mark.skipif(find_demo_pair() is None, reason="the demo package is not installed")
def test_the_demo_pair_is_prepared_once_and_runs(tmp_path: Path) -> None:
    env = {"SPECVIZ_HOME": str(tmp_path)}
    arguments = ("run", "-p", "Count to five.", "-n", "12", "-t", "1", "--json")
    first = specviz(*arguments, env=env)
    assert first.returncode == 0
    assert "converted to Q8_0 once" in first.stderr
    base, spec = json.loads(first.stdout)["runs"]
    assert base["token_ids"] == spec["token_ids"]
    second = specviz(*arguments, env=env)
    assert (second.returncode, second.stderr) == (0, "")
