"""`specviz inspect`: what files say of themselves, and whether a pair fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.tiny_gguf import make_vocabulary, write_llama, write_mamba, write_qwen3, write_qwen35

from specviz import cli


def inspect(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main(["inspect", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_llama(tmp_path / "Модель é.gguf", name="Tiny \x1b[31mred", n_layers=3)
    code, out, err = inspect(capsys, path)
    assert (code, err) == (0, "")
    rows = {line[:21].strip(): line[21:] for line in out.splitlines()}
    assert rows["file"] == "Модель é.gguf"
    assert rows["architecture"] == "llama"
    assert rows["quantisation"] == "Q8_0"
    assert rows["layers"] == "3"
    assert rows["vocabulary"].startswith("320 tokens, gpt2")
    assert rows["context as trained"] == "2048 tokens"
    assert "\x1b" not in out


def test_how_rejected_tokens_are_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for write, words in (
        (write_llama, "trim: positions are dropped"),
        (write_qwen35, "snapshots of its state; checkpoints for long drafts"),
        (write_mamba, "checkpoints: its state is saved and restored"),
    ):
        _, out, _ = inspect(capsys, write(tmp_path / "model.gguf"))
        assert out.splitlines()[-1].split(None, 1) == ["rollback", words]


def test_a_pair_that_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = write_qwen3(tmp_path / "t.gguf")
    draft = write_llama(tmp_path / "d.gguf", n_layers=1)
    code, out, _ = inspect(capsys, target, draft)
    assert code == 0
    assert "fits: same vocabulary, 320 tokens" in out
    assert "different architecture, same vocabulary" in out


def test_a_pair_that_does_not_fit_is_three(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = write_llama(tmp_path / "t.gguf")
    draft = write_llama(tmp_path / "d.gguf", tokens={139: "[@x]"})
    code, out, err = inspect(capsys, target, draft)
    assert (code, err) == (3, "")
    assert "does not fit: token 139 differs" in out
    assert "(1 of 315)" in out


def test_json_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = write_llama(tmp_path / "t.gguf")
    draft = write_llama(tmp_path / "d.gguf", vocabulary=make_vocabulary(700))
    code, out, _ = inspect(capsys, target, draft, "--json")
    values = json.loads(out)
    assert code == 3
    assert values["schema"] == "specviz.inspect/1"
    assert [file["n_vocab"] for file in values["files"]] == [320, 700]
    assert values["files"][0]["kind"] == "model"
    assert values["files"][0]["tokenizer"]["n_tokens"] == 320
    assert values["pair"]["fits"] is False
    assert "sizes" in values["pair"]["sentence"]
    code, out, _ = inspect(capsys, target, "--json")
    assert (code, json.loads(out)["pair"]) == (0, None)


def test_a_split_model_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_llama(tmp_path / "t.gguf", split=3)
    part = sorted(tmp_path.glob("*.gguf"))[1]
    code, out, _ = inspect(capsys, part)
    assert code == 0
    assert "(3 files)" in out


def test_what_cannot_be_read_is_four(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    for path in (tmp_path / "gone.gguf", tmp_path / "no.gguf", tmp_path):
        code, out, err = inspect(capsys, path)
        assert (code, out) == (4, "")
        assert err.startswith("specviz: ")
        assert "Traceback" not in err


def test_no_file_is_two(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = inspect(capsys)
    assert code == 2
    assert "FILE" in err
