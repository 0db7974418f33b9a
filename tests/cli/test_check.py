"""Whether the output is the baseline's: a fork looked at unasked, and `specviz run --check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command_line import specviz
from support.scripts import IDS, simple_script, write_script

OTHER = 99
"""What the baseline says in place of the sixth token."""


def forked_script(path: Path, margin: float) -> Path:
    """Equal for five tokens; then the baseline prefers another one, by so many logits."""
    script: dict[str, Any] = simple_script()
    ids = list(script["baseline"]["token_ids"])
    contested, ids[5] = ids[5], OTHER
    runner_up = [[IDS[0] if token_id != IDS[0] else IDS[1], 9.0] for token_id in ids]
    runner_up[5] = [contested, margin]
    script["pieces"] = {**script["pieces"], str(OTHER): " else"}
    script["baseline"] = {**script["baseline"], "token_ids": ids, "runner_up": runner_up}
    return write_script(path, script)


def run(script: Path, *arguments: str | Path) -> str:
    answer = specviz("run", "--engine", f"scripted:{script}", *arguments)
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout


def compared(script: Path, *arguments: str | Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(run(script, "--json", *arguments))["comparison"]
    return values


@pytest.mark.parametrize(
    ("margin", "divergence", "ending"),
    [
        (24.25 - 24.2188, "near_tie", "(margin 0.03 logits), “ a” in place of “ else”: "
         "rounding, not an error."),
        (4.0, "unexplained", "“ a” in place of “ else” (margin 4.00 logits): not explained by "
         "rounding."),
    ],
)  # fmt: skip
def test_a_fork_is_told_with_both_candidates_and_its_margin(
    tmp_path: Path, margin: float, divergence: str, ending: str
) -> None:
    script = forked_script(tmp_path / "script.json", margin)
    values = compared(script)
    assert (values["identical"], values["first_divergence"]) == (False, 5)
    assert (values["divergence"], values["compared"]) == (divergence, 20)
    fork = values["fork"]
    assert fork["baseline"] == {"token_id": OTHER, "text": " else"}
    assert fork["speculative"]["text"] == " a"
    assert fork["margins"] == [{"shape": "one_row", "n_rows": 1, "margin": pytest.approx(margin)}]
    assert fork["finding"].startswith("The output is identical for 5 tokens; then ")
    assert fork["finding"].endswith(ending)
    assert fork["finding"] in run(script)


def test_above_temperature_zero_a_fork_is_no_failure(tmp_path: Path) -> None:
    script = forked_script(tmp_path / "script.json", 4.0)
    values = compared(script, "--temp", "0.8")
    assert (values["identical"], values["divergence"], values["check"]) == (False, None, None)
    text = run(script, "--temp", "0.8")
    assert "not comparable token by token" in text
    assert "not explained" not in text and "error" not in text
    assert "A draft token is accepted only where the target draws the very same one" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--temp", "0.8"), "not comparable token by token"),
        (("--no-baseline",), "a baseline beside it"),
        (("--spec-type", "none"), "a run with drafts"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    script = write_script(tmp_path / "script.json")
    answer = specviz("run", "--engine", f"scripted:{script}", "--check", *arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_check_leaves_the_rest_as_it_is(tmp_path: Path) -> None:
    script = write_script(tmp_path / "script.json")
    values = compared(script, "--check")
    assert (values["identical"], values["divergence"], values["fork"]) == (True, None, None)
    assert values["check"]["mismatch"] is None
    assert compared(script)["check"] is None


def test_an_engine_that_dies_over_an_unasked_check_costs_no_result(tmp_path: Path) -> None:
    script = forked_script(tmp_path / "script.json", 0.03)
    values = json.loads(script.read_text(encoding="utf-8"))
    values["fault"] = {"run": "check", "after_round": 0, "kind": "exit"}
    script.write_text(json.dumps(values), encoding="utf-8")
    answer = specviz("run", "--engine", f"scripted:{script}")
    assert answer.returncode == 0
    assert "The fork could not be evaluated anew: The engine stopped" in answer.stderr
    assert "a near-tie (margin 0.03 logits)" in answer.stdout
    asked = specviz("run", "--engine", f"scripted:{script}", "--check")
    assert asked.returncode == 5
    assert "a near-tie (margin 0.03 logits)" in asked.stdout
