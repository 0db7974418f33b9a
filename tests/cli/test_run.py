"""`specviz run` as a process, on the scripted engine."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.command_line import TIMEOUT_SECONDS, command, on_terminal, specviz
from support.scripts import WORDS, simple_script, write_script

from specviz.trace.storage import read_trace

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX terminals and signals")

ANSWER = "".join(WORDS) * 2


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return write_script(tmp_path / "script.json")


def scripted(path: Path) -> tuple[str, str]:
    return "--engine", f"scripted:{path}"


def summary_of(*arguments: str | Path) -> dict[str, Any]:
    answer = specviz("run", *arguments, "--json")
    assert (answer.returncode, answer.stderr) == (0, "")
    values: dict[str, Any] = json.loads(answer.stdout)
    return values


# What comes out ----------------------------------------------------------------------------------
def test_both_answers_and_the_result_in_plain_text(script: Path) -> None:
    answer = specviz("run", *scripted(script))
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith(
        f"Baseline: the target alone\n{ANSWER}\n\nSpeculative\n{ANSWER}\n"
    )
    assert "\x1b" not in answer.stdout
    assert "\r" not in answer.stdout
    # 20 tokens at 15 ms each against seven steps of 24 ms
    assert "Faster: 1.79 × the speed of the baseline." in answer.stdout
    assert "The output is identical for all 20 tokens." in answer.stdout
    rows = {line[:24].strip(): line[24:].split("  ") for line in answer.stdout.splitlines()}
    assert [text.strip() for text in rows["tokens/s"] if text] == ["66.7", "119.0"]


def test_json_is_the_summary_and_nothing_else(script: Path) -> None:
    values = summary_of(*scripted(script), "--spec-draft-n-max", "5", "-n", "10", "--seed", "7")
    base, spec = values["runs"]
    assert values["schema"] == "specviz.summary/1"
    assert (base["mode"], spec["mode"]) == ("baseline", "speculative")
    assert base["token_ids"] == spec["token_ids"]
    assert spec["committed"] == len(spec["token_ids"]) == 10
    assert spec["stop_reason"] == "max_tokens"
    assert spec["effective"]["seed"] == base["effective"]["seed"] == 7
    assert spec["effective"]["spec_draft_n_max"] == 5
    assert values["comparison"]["identical"] is True


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 19, 20, 21])
def test_the_limit_is_kept_everywhere(script: Path, tmp_path: Path, limit: int) -> None:
    values = summary_of(*scripted(script), "-n", str(limit), "--csv", tmp_path / "csv")
    expected = min(limit, 20)
    assert [run["committed"] for run in values["runs"]] == [expected] * 2
    with (tmp_path / "csv" / "tokens.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 2 * expected


def test_a_stop_text_never_shows(script: Path) -> None:
    answer = specviz("run", *scripted(script), "--stop", " is a", "--stop", "never")
    assert answer.returncode == 0
    assert "Hello world, this\n" in answer.stdout
    assert answer.stdout.startswith(
        "Baseline: the target alone\nHello world, this\n\nSpeculative\nHello world, this\n\n"
    )
    inside = specviz("run", *scripted(script), "--stop", "orld, t")
    assert inside.stdout.startswith("Baseline: the target alone\nHello w\n\nSpeculative\nHello w\n")
    run = summary_of(*scripted(script), "--stop", " is a")["runs"][1]
    assert (run["text"], run["stop_reason"]) == ("Hello world, this", "stop_text")


def test_seeds_are_drawn_once_for_both_runs(script: Path) -> None:
    seeds = [
        {run["effective"]["seed"] for run in summary_of(*scripted(script), "-s", "-1")["runs"]}
        for _ in range(2)
    ]
    assert [len(drawn) for drawn in seeds] == [1, 1]
    assert seeds[0] != seeds[1]


def test_baseline_alone_and_speculative_alone(script: Path) -> None:
    alone = summary_of(*scripted(script), "--spec-type", "none")
    assert [run["mode"] for run in alone["runs"]] == ["baseline"]
    assert alone["comparison"] is None
    spec = summary_of(*scripted(script), "--no-baseline")
    assert [run["mode"] for run in spec["runs"]] == ["speculative"]
    assert specviz("run", *scripted(script), "--no-baseline", "--spec-type", "none").returncode == 2


def test_quiet_leaves_the_result(script: Path) -> None:
    answer = specviz("run", *scripted(script), "-q", "--draft-max", "4")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("Faster: ")


def test_repeats_are_all_kept_and_their_spread_is_told(script: Path, tmp_path: Path) -> None:
    values = summary_of(*scripted(script), "--repeat", "3", "--trace", tmp_path / "t.specviz.jsonl")
    assert [run["mode"] for run in values["runs"]] == ["baseline", "speculative"] * 3
    low, high = values["comparison"]["speedup_spread"]
    assert low <= values["comparison"]["speedup"] <= high
    assert len({run["run_id"] for run in values["runs"]}) == 6
    assert sorted(path.name for path in tmp_path.glob("t.*")) == [
        f"t.{mode}.{number}.specviz.jsonl"
        for mode in ("baseline", "speculative")
        for number in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("name", "baseline"),
    [
        ("run.specviz.jsonl", "run.baseline.specviz.jsonl"),
        ("run.jsonl", "run.baseline.jsonl"),
        ("run", "run.baseline"),
        ("é ü.specviz.jsonl", "é ü.baseline.specviz.jsonl"),
    ],
)
def test_traces_are_stored_under_a_name_for_each_run(
    script: Path, tmp_path: Path, name: str, baseline: str
) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    values = summary_of(*scripted(script), "--trace", folder / name)
    assert {path.name for path in folder.iterdir()} == {
        baseline,
        baseline.replace("baseline", "speculative"),
    }
    stored = read_trace(folder / baseline)
    assert stored.run_id == values["runs"][0]["run_id"]
    assert stored.text == ANSWER
    assert not stored.incomplete


def test_tables_are_written(script: Path, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "for it"
    values = summary_of(*scripted(script), "--csv", folder)
    with (folder / "tokens.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for run in values["runs"]:
        mine = [row for row in rows if row["run_id"] == run["run_id"]]
        text = b"".join(bytes.fromhex(row["piece_hex"]) for row in mine).decode()
        assert text == run["text"]
        assert sum(row["source"] == "accepted" for row in mine) == run["accepted"]


# Sources -----------------------------------------------------------------------------------------
def copying_script(path: Path, **changes: Any) -> Path:
    """ngram-mod drafts too little twice, then eight tokens of which six are accepted."""
    ids = [10 + i % 10 for i in range(9)]
    short = {"drafter": "ngram-mod", "dropped": 2, "verify_seconds": 0.015}
    copy = {
        "draft": [[token_id, None, 0.9] for token_id in (*ids[2:8], 19, 19)],
        "copied_from": list(range(8)),
        "drafter": "ngram-mod",
        "accepted": 6,
        "target": [ids[8], 0.9],
        "draft_seconds": 0.001,
        "verify_seconds": 0.03,
    }
    rounds = [{**short, "target": [ids[0], 0.9]}, {**short, "target": [ids[1], 0.9]}, copy]
    baseline = {"token_ids": ids, "step_seconds": 0.015}
    return write_script(path, rounds=rounds, baseline=baseline, **changes)


def test_each_source_is_accounted_for(tmp_path: Path) -> None:
    script = copying_script(tmp_path / "s.json")
    arguments = (*scripted(script), "--spec-type", "ngram-mod", "--csv", tmp_path)
    run = summary_of(*arguments)["runs"][1]
    assert [run[name] for name in ("tested", "accepted", "rejected", "dropped")] == [8, 6, 2, 4]
    assert (run["drafted"], run["acceptance_rate"]) == (12, 0.75)
    assert run["spec_type"] == ["ngram-mod"]
    (source,) = run["sources"]
    assert source["source"] == "ngram-mod"
    assert [source[name] for name in ("draft_calls", "drafts", "accepted_drafts")] == [3, 1, 1]
    assert [source[name] for name in ("drafted", "accepted", "dropped")] == [12, 6, 4]
    assert source["mean_accepted_length"] == 7
    with (tmp_path / "sources.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["drafted"], row["tested"], row["accepted"]) == ("12", "8", "6")


def test_settings_in_effect_are_those_of_the_methods_in_use(script: Path) -> None:
    arguments = ("--spec-type", "ngram-mod,ngram-map-k", "--spec-ngram-mod-n-max", "32")
    effective = summary_of(*scripted(script), *arguments)["runs"][1]["effective"]
    assert effective["spec_type"] == "ngram-map-k,ngram-mod"
    assert effective["spec_ngram_mod_n_max"] == 32
    assert effective["spec_ngram_map_k_size_n"] == 6
    assert not any(name.startswith("spec_draft_") for name in effective)
    assert "lookup_cache_static" not in effective


def test_a_line_for_each_source_as_llama_cpp_prints_it(tmp_path: Path) -> None:
    script = copying_script(tmp_path / "s.json")
    arguments = ("run", *scripted(script), "--spec-type", "ngram-mod,ngram-simple")
    answer = specviz(*arguments)
    assert (answer.returncode, answer.stderr) == (0, "")
    simple, mod = answer.stdout.splitlines()[-2:]
    assert simple.startswith("statistics     ngram-simple: #calls(b,g,a) =    0      0      0,")
    assert mod == (
        "statistics        ngram-mod: #calls(b,g,a) =    1      3      1, #gen drafts =      1, "
        "#acc drafts =     1, #gen tokens =      8, #acc tokens =     6, #mean acc len = 7.00, "
        "#acc rate/pos = (1.000, 1.000, 1.000, 1.000, 1.000, 1.000), "
        "dur(b,g,a) = 0.000, 1.000, 0.000 ms"
    )
    assert "statistics" not in specviz(*arguments, "-q").stdout


def test_a_script_of_saving_and_restoring_is_told_so(tmp_path: Path) -> None:
    ids = [10, 11, 12, 13, 14, 15]
    rounds = [
        {
            "draft": [[ids[2 * i]], [19]],
            "accepted": 1,
            "target": [ids[2 * i + 1], 0.9],
            "draft_seconds": 0.06,
            "save_seconds": 0.3,
            "verify_seconds": 0.165,
            "restore_seconds": 0.3,
        }
        for i in range(3)
    ]
    script = write_script(
        tmp_path / "s.json",
        rounds=rounds,
        can_remove_partial=False,
        baseline={"token_ids": ids, "step_seconds": 0.1},
    )
    values = summary_of(*scripted(script))
    assert values["comparison"]["verdict"] == "slower"
    assert values["comparison"]["reasons"][0].startswith(
        "Saving and restoring the target's state takes 73 % of the time"
    )
    assert sum(values["runs"][1]["time"].values()) == pytest.approx(3 * 0.825, rel=0.01)


def test_an_option_without_effect_is_noted(script: Path) -> None:
    arguments = ("run", *scripted(script), "--spec-ngram-mod-n-max", "8")
    note = "--spec-ngram-mod-n-max has no effect: ngram-mod is not among the drafting methods."
    assert specviz(*arguments).stderr == f"specviz: {note}\n"
    assert specviz(*arguments, "-q").stderr == ""


# Prompts -----------------------------------------------------------------------------------------
def prompt_of(trace: Path) -> str:
    started = read_trace(trace).started
    assert started is not None
    return started.config.prompt


def test_a_prompt_from_each_place(script: Path, tmp_path: Path) -> None:
    stored = tmp_path / "t.baseline.jsonl"
    always = (
        "run",
        *scripted(script),
        "-q",
        "--spec-type",
        "none",
        "--trace",
        tmp_path / "t.jsonl",
    )
    file = tmp_path / "prompt.txt"
    file.write_bytes("\ufeffZwei\nZeilen é\n".encode())
    assert specviz(*always, "-f", file).returncode == 0
    assert prompt_of(stored) == "Zwei\nZeilen é"
    assert specviz(*always, "-p", "Hi = there").returncode == 0
    assert prompt_of(stored) == "Hi = there"
    assert specviz(*always, "--prompt=-n 5").returncode == 0
    assert prompt_of(stored) == "-n 5"


def test_a_script_needs_no_prompt_and_does_not_wait_for_one(script: Path) -> None:
    with subprocess.Popen(
        command("run", *scripted(script), "-q"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.read()  # to its end, while standard input stays open
        assert process.wait(TIMEOUT_SECONDS) == 0


# What is refused ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "0"], "limit of 0 tokens"),
        (["--spec-draft-n-min", "48", "--spec-draft-n-max", "4"], "above the maximum of 4"),
        (["--draft-p-min", "1.5"], "between 0 and 1"),
        (["--temp", "-1"], "temperature"),
        (["--temp", "nan"], "temperature"),
        (["-c", "-5"], "context size"),
        (["-c", "8"], "context"),
        (["-n", "ten"], "ten is not a whole number"),
        (["-n", "99999999999999999999"], "too large"),
        (["--top-p", "1,5"], "1,5 is not a number"),
        (["-ctk", "q3"], "q3 is none of"),
        (["-fa", "yes"], "yes is none of"),
        (["--repeat", "0"], "0 repeats"),
        (["--stop", ""], "stop text is empty"),
        (["--raw", "-sys", "Be nice."], "no place for a system prompt"),
        (["-p", "a", "-f", "b"], "not allowed with"),
        (["--spec-type", "draft-eagle3"], "EAGLE-3 head"),
        (["--spec-type", "magic"], "no drafting method magic"),
        (["--spec-type", "ngram-mod", "--draft-min", "48", "--draft-max", "4"], "maximum of 4"),
        (["--spec-type", "ngram-mod,draft-simple", "--draft-max", "4"], "could mean the draft"),
        (["--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "0"], "match 0 tokens"),
        (["--spec-type", "ngram-map-k", "--spec-ngram-map-k-size-m", "1025"], "copy up to 1025"),
        (["--spec-preset", "large-texts"], "large-texts is none of short-texts"),
        (["--spec-default", "--spec-preset", "llama-cpp"], "not allowed with"),
        (["--spec-type", ""], "no drafting method"),
        (["--predikt", "5"], "Did you mean --predict"),
        (["--pre", "5"], "not understood"),
        (["--prompt", "-x"], "starts with a dash"),
        (["--engine", "magic"], "scripted:FILE"),
        (["-p", "  "], "prompt is empty"),
    ],
)
def test_wrong_usage_is_a_sentence_and_two(script: Path, arguments: list[str], words: str) -> None:
    answer = specviz("run", *scripted(script), *arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert words in answer.stderr
    assert answer.stderr.startswith("specviz: ")
    assert "Traceback" not in answer.stderr


def test_a_draft_alone_and_no_prompt_are_refused(tmp_path: Path) -> None:
    assert "needs a target" in specviz("run", "-md", "draft.gguf", "-p", "x").stderr
    answer = specviz("run", "-m", "target.gguf")
    assert (answer.returncode, answer.stderr) == (2, "specviz: The prompt is empty.\n")


def test_files_that_cannot_be_read_are_four(script: Path, tmp_path: Path) -> None:
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\xfa")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "file").write_text("")
    always = ("run", *scripted(script))
    for arguments in (
        ("run", "--engine", f"scripted:{tmp_path / 'gone.json'}"),
        ("run", "--engine", f"scripted:{tmp_path / 'broken.json'}"),
        ("run", "-m", tmp_path / "gone.gguf", "-p", "x"),
        ("run", "-m", tmp_path / "broken.json", "-p", "x"),
        (*always, "-f", tmp_path / "gone.txt"),
        (*always, "-f", tmp_path / "binary.txt"),
        (*always, "--trace", tmp_path / "gone" / "t.jsonl"),
        (*always, "--csv", tmp_path / "file" / "csv"),
    ):
        answer = specviz(*arguments)
        assert (answer.returncode, answer.stdout) == (4, ""), arguments
        assert answer.stderr.startswith("specviz: "), arguments
        assert "Traceback" not in answer.stderr


def test_old_names_work_and_name_their_successors(script: Path) -> None:
    answer = specviz("run", *scripted(script), "--json", "--draft-max", "6", "--draft-min", "2")
    assert answer.returncode == 0
    assert answer.stderr == (
        "specviz: --draft-max is now called --spec-draft-n-max.\n"
        "specviz: --draft-min is now called --spec-draft-n-min.\n"
    )
    effective = json.loads(answer.stdout)["runs"][1]["effective"]
    assert (effective["spec_draft_n_max"], effective["spec_draft_n_min"]) == (6, 2)


# When the engine dies ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["exit", "segv", "garbage"])
def test_an_engine_that_dies_is_five_and_keeps_what_there_was(tmp_path: Path, kind: str) -> None:
    fault = {"run": "speculative", "after_round": 3, "kind": kind, "message": "ggml: \x1b[31mbad"}
    script = write_script(tmp_path / "s.json", fault=fault)
    answer = specviz(
        "run", *scripted(script), "--json", "--trace", tmp_path / "t.jsonl", "--csv", tmp_path
    )
    assert answer.returncode == 5
    assert answer.stderr.startswith("specviz: The engine ")
    assert "ggml: ␛[31mbad" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert "File " not in answer.stderr
    base, spec = json.loads(answer.stdout)["runs"]
    assert (base["committed"], spec["committed"]) == (20, 9)
    assert spec["stop_reason"] is None
    assert json.loads(answer.stdout)["comparison"]["verdict"] == "not_measured"
    stored = read_trace(tmp_path / "t.speculative.jsonl")
    assert (stored.incomplete, len(stored.tokens)) == (True, 9)
    assert (tmp_path / "tokens.csv").exists()


def test_an_engine_that_dies_in_the_baseline_prints_what_there_was(tmp_path: Path) -> None:
    fault = {"run": "baseline", "after_round": 2, "kind": "exit"}
    answer = specviz("run", *scripted(write_script(tmp_path / "s.json", fault=fault)))
    assert answer.returncode == 5
    assert answer.stdout.startswith("Baseline: the target alone\nHello world\n")
    assert "incomplete" in answer.stdout


# Ctrl+C ------------------------------------------------------------------------------------------
def start_and_wait_for(process: subprocess.Popen[bytes], words: bytes) -> bytes:
    """What the process has printed up to `words`; its pipe must be unbuffered."""
    assert process.stdout is not None
    seen = b""
    while words not in seen:
        byte = process.stdout.read(1)
        assert byte, seen
        seen += byte
    return seen


@posix
@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_stops_the_run_and_prints_what_there_is(tmp_path: Path, as_json: bool) -> None:
    rounds = simple_script()["rounds"][:3]  # the last one would end the run
    script = write_script(tmp_path / "s.json", rounds=rounds, pace="real", repeat_rounds=10_000)
    trace = tmp_path / "t.specviz.jsonl"
    arguments = ["run", *scripted(script), "--trace", trace, "-n", "-1", "-c", "0", "--no-baseline"]
    with subprocess.Popen(
        command(*arguments, *(["--json"] if as_json else [])),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    ) as process:  # fmt: skip
        if as_json:
            wait_for_steps(tmp_path / "t.speculative.specviz.jsonl", process)
            seen = b""
        else:
            seen = start_and_wait_for(process, b"Hello world, this")
        (engine,) = engines_of(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, err) == (130, b"")
    assert not engine.is_running()
    stored = read_trace(tmp_path / "t.speculative.specviz.jsonl")
    assert stored.finished is not None and stored.finished.reason.value == "cancelled"
    if as_json:
        run = json.loads(out)["runs"][0]
        assert (run["stop_reason"], run["text"]) == ("cancelled", stored.text)
    else:
        assert stored.text in (seen + out).decode()
        assert "interrupted" in out.decode()


def wait_for_steps(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the trace has a step; its growth is the only sign of life of a silent run."""
    while process.poll() is None:
        if path.exists() and b"StepVerified" in path.read_bytes():
            return


def engines_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    children = psutil.Process(process.pid).children()
    return [child for child in children if "resource_tracker" not in " ".join(child.cmdline())]


@posix
def test_a_second_ctrl_c_ends_a_deaf_engine(tmp_path: Path) -> None:
    fault = {"run": "speculative", "after_round": 2, "kind": "hang"}
    script = write_script(tmp_path / "s.json", fault=fault)
    with subprocess.Popen(
        command("run", *scripted(script), "--no-baseline"),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    ) as process:  # fmt: skip
        start_and_wait_for(process, b"Hello world, this")
        (engine,) = engines_of(process)
        while process.poll() is None:  # two signals at once may count as one
            process.send_signal(signal.SIGINT)
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
        out, err = process.communicate()
    assert (process.returncode, err) == (130, b"")
    assert b"incomplete" in out
    assert not engine.is_running()


@posix
def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    script = write_script(tmp_path / "s.json", pace="real")
    with subprocess.Popen(
        command("run", *scripted(script)),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(TIMEOUT_SECONDS) == 130


# On a terminal -----------------------------------------------------------------------------------
@posix
def test_a_terminal_gets_colours_and_progress(script: Path) -> None:
    code, out, err = on_terminal("run", *scripted(script))
    assert code == 0
    assert "\x1b[32;4mHello world\x1b[0m\x1b[33;1m,\x1b[0m\x1b[32;4m this is" in out
    assert out.count("\x1b[0m") >= 8
    assert "Starting the engine" in err
    assert "\n" not in err
    assert err.endswith("\r")


@posix
def test_copies_are_marked_on_a_terminal(tmp_path: Path) -> None:
    script = copying_script(tmp_path / "s.json")
    _, out, _ = on_terminal("run", *scripted(script), "--spec-type", "ngram-mod")
    assert "\x1b[32;3;4m, this is a script.\x1b[0m" in out
    assert "\x1b[32;3;4mcopied\x1b[0m 6  \x1b[33;1mrecovered" in out
    assert "accepted\x1b[0m" not in out


@posix
@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_are_left_out_on_request(script: Path, env: dict[str, str]) -> None:
    code, out, _ = on_terminal("run", *scripted(script), env=env)
    assert code == 0
    assert "\x1b" not in out
    assert ANSWER in out


@posix
def test_quiet_is_quiet_on_a_terminal_too(script: Path) -> None:
    _, out, err = on_terminal("run", *scripted(script), "-q")
    assert (out[:7], err) == ("Faster:", "")


@posix
def test_the_model_cannot_steer_the_terminal(tmp_path: Path) -> None:
    pieces = {"10": "a\x1b[2J", "11": "\x07\x9b1m\x7f", "12": "\r\n"}
    script = write_script(
        tmp_path / "s.json",
        pieces=pieces,
        baseline={"token_ids": [10, 11, 12]},
        rounds=[{"draft": [[10]], "accepted": 1, "target": [11]}],
    )
    for env in ({"NO_COLOR": "1"}, {}):
        _, out, _ = on_terminal("run", *scripted(script), env=env)
        assert "a␛[2J␇�1m␡␍\n" in out
        assert "\x1b[2J" not in out
        assert not {"\x07", "\x9b", "\x7f"} & set(out)


def test_a_split_character_is_printed_whole(tmp_path: Path) -> None:
    pieces = {str(10 + i): {"hex": byte} for i, byte in enumerate(("f0", "9f", "98", "80"))}
    rounds = [{"draft": [[10], [11], [10]], "accepted": 2, "target": [12]}, {"target": [13]}]
    script = write_script(
        tmp_path / "s.json", pieces=pieces, rounds=rounds, baseline={"token_ids": [10, 11, 12, 13]}
    )
    answer = specviz("run", *scripted(script))
    assert "Speculative\n😀\n" in answer.stdout
    assert "\ufffd" not in answer.stdout
    cut = specviz("run", *scripted(script), "-n", "2")
    assert cut.stdout.count("\ufffd") == 2


# Hygiene -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("arguments", [["run"], ["run", "-h"], ["inspect", "-h"], ["export", "-h"]])
def test_commands_never_import_qt_or_the_library(script: Path, arguments: list[str]) -> None:
    """Neither does the scripted engine, whose process reports its imports here as well."""
    extra = [] if "-h" in arguments else [*scripted(script), "-q"]
    answer = specviz(*arguments, *extra, python_options=("-X", "importtime"))
    assert answer.returncode == 0
    assert "specviz.cli" in answer.stderr
    for name in ("PySide6", "shiboken", "pyqtgraph", "qasync", "specviz.ui", "specviz.app"):
        assert name not in answer.stderr
    assert "llama_cpp" not in answer.stderr


def test_commands_work_without_a_display(script: Path) -> None:
    env = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": "nonsense"}
    assert specviz("run", *scripted(script), "-q", env=env).returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_locale_without_the_signs_does_not_stop_the_output(script: Path, encoding: str) -> None:
    answer = specviz(
        "run", *scripted(script), env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "1.79 ×" in answer.stdout
