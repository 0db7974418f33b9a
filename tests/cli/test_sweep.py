"""`specviz sweep`: what its options come to, and as a process on the scripted engine."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command_line import TIMEOUT_SECONDS, command, on_terminal, specviz
from support.scripts import simple_script, write_script
from support.sweeps import plan_of, run_at
from support.tiny_gguf import make_vocabulary, write_llama

from specviz.cli.sweep import duration, progress_line
from specviz.cli.sweep_options import sweep_parser
from specviz.cli.sweep_request import read_sweep
from specviz.cli.sweep_table import command_lines, prompt_lines, result_lines
from specviz.errors import ExitCode, FileError, PairError, SettingError
from specviz.models.demo_pair import DemoPair
from specviz.sweep.plan import SweepPlan
from specviz.sweep.prompts import builtin_prompts
from specviz.sweep.results import SweepResults
from specviz.sweep.runner import Progress

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX terminals and signals")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return write_script(tmp_path / "script.json")


def scripted(path: Path) -> tuple[str, str]:
    return "--engine", f"scripted:{path}"


def plan(arguments: str, notes: list[str] | None = None) -> SweepPlan:
    told = notes if notes is not None else []
    return read_sweep(["--engine", "scripted:s.json", *arguments.split()], told.append).plan


def names(arguments: str) -> list[str]:
    return [point.label for point in plan(arguments).points]


# Options -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--spec-draft-n-max 1,3", ["1 draft token", "3 draft tokens"]),
        ("--spec-draft-n-max 2:4", ["2 draft tokens", "3 draft tokens", "4 draft tokens"]),
        ("--spec-draft-n-max 4", ["4 draft tokens"]),
        ("--draft-max 2,4", ["2 draft tokens", "4 draft tokens"]),
        ("", [f"{n} draft token{'s' * (n > 1)}" for n in range(1, 9)]),
        ("--spec-draft-p-min 0.5", [
            f"{n} draft token{'s' * (n > 1)}" for n in range(1, 9)]),
        ("--spec-draft-p-min 0,0.75", ["stop below p 0", "stop below p 0.75"]),
        ("--spec-type ngram-mod", ["Short texts", "Code refactoring", "llama.cpp defaults"]),
        ("--spec-type ngram-mod --spec-ngram-mod-n-match 4", ["match 4"]),
        ("--spec-type ngram-mod --spec-ngram-mod-n-match 4,8", ["match 4", "match 8"]),
        ("--spec-type ngram-mod --spec-preset short-texts,llama-cpp",
         ["Short texts", "llama.cpp defaults"]),
        ("--spec-type ngram-mod --spec-preset short-texts", ["Short texts"]),
        ("--spec-default", ["ngram-mod"]), ("--spec-type ngram-cache", ["ngram-cache"]),
        ("--spec-type draft-simple --spec-type ngram-mod,none", ["draft model", "ngram-mod"]),
        ("--spec-type none --spec-type ngram-mod,draft-simple --spec-type draft-simple",
         ["ngram-mod + draft model", "draft model"]),
        ("--spec-type ngram-mod --spec-type draft-simple --spec-draft-n-max 1,2",
         ["ngram-mod", "draft model, 1 draft token", "draft model, 2 draft tokens"]),
        ("-ctkd f16,q8_0 --spec-draft-n-max 1,2", [
            "draft K cache f16, 1 draft token", "draft K cache f16, 2 draft tokens",
            "draft K cache q8_0, 1 draft token", "draft K cache q8_0, 2 draft tokens"]),
        ("-ctvd q8_0 --spec-draft-n-max 2", ["2 draft tokens"]),
    ],
)  # fmt: skip
def test_lists_become_points(arguments: str, expected: list[str]) -> None:
    assert names(arguments) == expected


def test_options_that_are_not_varied_hold_for_all_runs() -> None:
    found = plan(
        "--spec-draft-n-max 1,3 --spec-draft-p-min 0.5 -n 40 --temp 0.5 -s 9 -c 256 -ctvd q8_0 "
        "-sys Short. --repeat 2 --stop END --reasoning off"
    )
    assert found.n_repeats == 2
    configs = [found.config(prompt, point) for prompt, point in found.runs()]
    assert {config.max_tokens for config in configs} == {40}
    assert {config.sampling.seed for config in configs} == {9}
    assert {config.sampling.temperature for config in configs} == {0.5}
    assert {config.load.draft.type_v for config in configs if config.load.draft} == {"q8_0"}
    assert {config.load.n_ctx for config in configs} == {256}
    assert {config.messages[0].text for config in configs} == {"Short."}
    assert {point.speculation.p_min for point in found.points} == {0.5}
    assert configs[0].stop == ("END",)


def test_the_built_in_prompts_are_the_default_and_others_can_be_given(tmp_path: Path) -> None:
    assert plan("").prompts == builtin_prompts() == plan("--prompts builtin").prompts
    (only,) = plan("-p Hello").prompts
    assert (only.name, only.text) == ("Hello", "Hello")
    file = tmp_path / "many.txt"
    file.write_text("One.\n\nTwo.\n", encoding="utf-8")
    assert [p.text for p in plan(f"--prompts {file}").prompts] == ["One.", "Two."]
    (whole,) = plan(f"-f {file}").prompts
    assert (whole.name, whole.text) == ("many", "One.\n\nTwo.")


def test_a_seed_is_drawn_once_for_all_runs() -> None:
    found = plan("--temp 1")
    assert isinstance(found.base.sampling.seed, int)


def test_notes_say_what_was_left_out_or_has_no_effect() -> None:
    notes: list[str] = []
    found = plan("--spec-draft-n-max 1,4 --spec-draft-n-min 0,2 --spec-ngram-mod-n-max 9", notes)
    assert len(found.points) == 3
    assert notes[0].startswith("--spec-ngram-mod-n-max has no effect")
    assert notes[1].startswith("1 of 4 settings is left out: The minimum of 2 draft tokens")
    notes.clear()
    plan("--draft-max 1,4", notes)
    assert notes == ["--draft-max is now called --spec-draft-n-max."]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--spec-draft-n-max 8:1", "runs backwards"), ("--spec-draft-n-max x", "not a number"),
        ("--spec-draft-n-max 1.5", "not a whole number"), ("--spec-type none", "nothing to try"),
        ("--spec-draft-n-max 0", "means no drafting"), ("--repeat 0", "0 repeats"),
        ("--spec-preset short-texts,long", "long is none of"), ("-ctkd f16,q9", "q9 is none of"),
        ("--spec-type guess", "no drafting method guess"),
        ("-p x --prompts builtin", "not allowed"),
        ("--spec-draft-n-max 1:400 --spec-draft-n-min 0:9", "a sweep takes 1000"),
        ("--trace x", "--trace"), ("-n 0", "limit of 0"), ("-md d.gguf -n 1 --top-p 7", "Top-p"),
        ("--spec-draft-n-max 1 --spec-draft-n-min 2", "minimum of 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(arguments: str, words: str) -> None:
    with pytest.raises(SettingError) as caught:
        plan(arguments)
    assert words in caught.value.message


def test_several_reasons_are_hinted_at() -> None:
    with pytest.raises(SettingError) as caught:
        plan("--spec-draft-n-max 0 --spec-draft-p-min 0.1,0.2")
    assert caught.value.hint


def test_files_are_looked_at_before_anything_is_loaded(tmp_path: Path) -> None:
    target = write_llama(tmp_path / "t.gguf")
    draft = write_llama(tmp_path / "d.gguf", vocabulary=make_vocabulary(700))
    with pytest.raises(PairError):
        read_sweep(["-m", str(target), "-md", str(draft)], lambda _: None)
    with pytest.raises(FileError):
        read_sweep(["-m", str(tmp_path / "missing.gguf")], lambda _: None)
    request = read_sweep(["-m", str(target)], lambda _: None)
    assert request.plan.config(0, 0).load.draft is None
    assert request.plan.points[0].label == "Short texts"
    with pytest.raises(FileError):
        read_sweep(["-m", str(target), "--prompts", str(tmp_path / "no.txt")], lambda _: None)
    with pytest.raises(SettingError, match="needs a target"):
        read_sweep(["-md", str(draft)], lambda _: None)


def test_without_a_model_the_demo_pair_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write_llama(tmp_path / "t.gguf")
    pair = DemoPair(source=model, target=model, draft=tmp_path / "d.gguf", prepared=False)
    monkeypatch.setattr("specviz.cli.request.find_demo_pair", lambda: pair)
    request = read_sweep([], lambda _: None)
    assert request.demo is pair
    config = request.plan.config(0, 0)
    assert config.load.draft is not None
    assert (config.load.target.path, config.load.draft.path) == (str(model), str(pair.draft))


def test_the_help_names_all_exit_codes() -> None:
    text = sweep_parser().format_help()
    for code in ExitCode:
        assert f"{int(code)} " in text


# Text --------------------------------------------------------------------------------------------
def results_of(*speeds: float, prompts: tuple[str, ...] = ("Story", "Code")) -> SweepResults:
    results = SweepResults(plan_of(1, 2, prompts=prompts))
    for (prompt, point), speed in zip(results.plan.runs(), speeds, strict=False):
        if speed:
            config = results.plan.config(prompt, point)
            results.add(prompt, point, run_at(speed, config, accepted=1))
        else:
            results.add_error(prompt, point, "It failed.")
    return results


def test_the_table_marks_baseline_and_best() -> None:
    lines = result_lines(results_of(10, 8, 15, 10, 8, 9))
    assert lines[0] == "Best is 2 draft tokens: it helps on 1 of 2 prompts, 0.90× to 1.50×."
    head, base, first, second = lines[2:]
    assert head.split("  ")[0].startswith("setting") and "helps on" in head
    assert base.startswith("baseline") and "1.00 ×" in base
    assert "0.80 ×" in first and "0 of 2" in first and "best" not in first
    assert second.startswith("2 draft tokens (best)") and "1 of 2" in second
    assert "0.90 to 1.50 ×" in second and "24 of 46 (52 %)" in second
    assert len({len(line) for line in (head, base, first, second)}) == 1


def test_the_best_setting_is_shown_prompt_by_prompt() -> None:
    title, _, story, code = prompt_lines(results_of(10, 8, 15, 10, 8, 9))[1:]
    assert title == "2 draft tokens, prompt by prompt:"
    assert story.startswith("Story") and "1.50 ×" in story and "faster" in story
    assert "0.90 ×" in code and "slower" in code and code.endswith("identical")


def test_where_none_helps_the_closest_is_shown_and_no_command() -> None:
    results = results_of(10, 8, 9, 10, 8, 9)
    assert prompt_lines(results)[1] == "2 draft tokens, prompt by prompt:"
    assert command_lines(results) == []
    assert prompt_lines(SweepResults(plan_of(1))) == []


def test_a_stopped_sweep_says_how_far_it_came() -> None:
    lines = result_lines(results_of(10, 8, 15, 10))
    assert lines[1] == "Stopped after 4 of 6 runs; this is what was measured."
    assert "1 of 1" in lines[-1]


def test_the_command_is_told_with_its_release() -> None:
    lines = command_lines(results_of(10, 8, 15, 10, 8, 9))
    assert "commit 0c1e57098" in lines[1]
    assert lines[2].startswith("  llama-server -m ") and "--spec-draft-n-max 2" in lines[2]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (7.6, "8 s"), (11, "10 s"), (57, "55 s"), (58, "1 min"), (150, "2 min"),
     (3700, "1 h 02 min")],
)  # fmt: skip
def test_the_time_to_wait_is_rough(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_progress_in_one_line() -> None:
    progress = Progress(12, 48, "Story", "4 draft tokens", 121.0, 50.0)
    assert progress_line(progress) == "12 of 48 · about 2 min left · Story · 4 draft tokens"
    assert progress_line(Progress(0, 2, "A", "baseline", None, 0)) == "0 of 2 · A · baseline"


# As a process ------------------------------------------------------------------------------------
def report_of(*arguments: str | Path, code: int = 0) -> dict[str, Any]:
    answer = specviz("sweep", *arguments, "--json")
    assert answer.returncode == code, answer.stderr
    values: dict[str, Any] = json.loads(answer.stdout)
    return values


def test_a_sweep_prints_its_tables(script: Path) -> None:
    answer = specviz("sweep", *scripted(script), "-p", "Go", "--spec-draft-n-max", "1,2")
    assert (answer.returncode, answer.stderr) == (0, "")
    # 20 tokens at 15 ms each against seven steps of 24 ms, whatever the draft length
    lines = answer.stdout.splitlines()
    assert lines[0] == (
        "Best is 1 draft token: it helps on the prompt, 1.79×. "
        "Within 5\u202f% of it, which is noise: 2 draft tokens."
    )
    assert "66.7" in next(line for line in lines if line.startswith("baseline"))
    assert any(line.startswith("Go ") and line.endswith("identical") for line in lines)
    assert "\x1b" not in answer.stdout and "\r" not in answer.stdout
    assert "llama-server" not in answer.stdout, "a script is no model file"


def test_quiet_leaves_the_table(script: Path) -> None:
    answer = specviz("sweep", *scripted(script), "-p", "Go", "--spec-draft-n-max", "1,2", "-q")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "prompt by prompt" not in answer.stdout
    assert answer.stdout.count("\n") == 6


def test_json_and_table_hold_the_same(script: Path, tmp_path: Path) -> None:
    arguments = (*scripted(script), "--spec-draft-n-max", "1:3", "--repeat", "2", "-n", "10")
    values = report_of(*arguments, "--csv", tmp_path / "csv")
    assert values["schema"] == "specviz.sweep/1"
    assert values["runs"] == values["plan"]["runs"] == 2 * 6 * 4
    assert [prompt["name"] for prompt in values["prompts"]][4] == "Story"
    assert [row["helps"] for row in values["rows"]] == [6] * 3
    assert all(prompt["committed"] == 10 for prompt in values["rows"][0]["prompts"])
    with (tmp_path / "csv" / "sweep.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 * 4
    assert float(rows[-1]["speedup"]) == values["rows"][-1]["prompts"][-1]["speedup"]
    assert rows[-1]["speedup_lowest"] == rows[-1]["speedup_highest"] != ""


def test_a_run_that_failed_gives_a_code_of_its_own(tmp_path: Path) -> None:
    fault = {"run": "speculative", "after_round": 1, "kind": "exit"}
    script = write_script(tmp_path / "s.json", fault=fault)
    arguments = ("sweep", *scripted(script), "-p", "Go", "--spec-draft-n-max", "2")
    answer = specviz(*arguments)
    assert answer.returncode == ExitCode.RUN_FAILED
    assert "1 run failed:\n  2 draft tokens · Go: The engine stopped" in answer.stdout
    values = report_of(*arguments[1:], code=int(ExitCode.RUN_FAILED))
    assert values["failed_runs"] == 1
    assert values["rows"][0]["prompts"][0]["error"].startswith("The engine stopped")
    assert values["baseline"]["prompts"][0]["committed"] == 20


def test_an_engine_that_keeps_dying_is_five_and_keeps_the_rest(tmp_path: Path) -> None:
    fault = {"run": "speculative", "after_round": 1, "kind": "exit"}
    script = write_script(tmp_path / "s.json", fault=fault)
    answer = specviz("sweep", *scripted(script), "-p", "Go", "--spec-draft-n-max", "1:5", "-q")
    assert answer.returncode == 5
    assert "3 runs failed:" in answer.stdout and "baseline" in answer.stdout
    assert answer.stderr.startswith("specviz: The engine stopped")


def test_usage_errors_are_two_and_print_no_table(script: Path) -> None:
    answer = specviz("sweep", *scripted(script), "--spec-draft-n-max", "8:1")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "8:1 runs backwards; write 1:8" in answer.stderr
    assert "Traceback" not in answer.stderr


@posix
def test_progress_is_for_terminals(script: Path) -> None:
    code, out, err = on_terminal(
        "sweep", *scripted(script), "-p", "Go", "--spec-draft-n-max", "1,2"
    )
    assert code == 0
    assert "0 of 3 · Go · baseline" in err and "left · Go · 2 draft tokens" in err
    assert "of 3 ·" not in out


@posix
def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    # given a speculative run that never ends
    rounds = simple_script()["rounds"][:3]
    script = write_script(tmp_path / "s.json", rounds=rounds, pace="real", repeat_rounds=10_000)
    terminal, err = os.openpty()
    with subprocess.Popen(
        command("sweep", *scripted(script), "-p", "Go", "-n", "-1", "-c", "0", "--json"),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err,
    ) as process:  # fmt: skip
        os.close(err)
        seen = b""
        while b"1 of 9" not in seen:
            seen += os.read(terminal, 4096)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    os.close(terminal)
    # then the baseline is reported, and the run that was cut off is not
    assert process.returncode == 130
    values = json.loads(out)
    assert (values["runs"], values["complete"]) == (1, False)
    assert values["baseline"]["prompts"][0]["committed"] == 20
    assert all(row["prompts"] == [None] for row in values["rows"])
