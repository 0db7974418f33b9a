"""Runs worked out on paper, through the real window and the real engine process: what is shown and
what is exported is the working, to the last digit shown."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.hand_worked import Worked
from support.hand_worked_checks import wrong_figures, wrong_tables
from support.hand_worked_runs import RUNS
from support.scripts import write_script
from support.windows import drive, resting, until

from specviz.ui.controller import Controller
from specviz.ui.states import State


def shown_wrongly(controller: Controller, worked: Worked) -> list[str]:
    """What of the window is not, letter by letter, what was worked out."""
    views, shown = controller.views, worked.shown
    drafts, times = views.drafts, views.times
    verdict = views.verdict.text()
    found = [f"verdict lacks {text!r}: {verdict}" for text in shown.verdict if text not in verdict]
    for what, value, wanted in (
        ("headline", views.verdict.words.headline, shown.headline),
        (
            "legend",
            {entry.words: entry.n for entry in views.legend.entries},
            shown.legend,
        ),
        ("positions", _positions(drafts.by_position.text()), shown.positions),
        ("below the positions", drafts.by_position.foot(), shown.positions_foot),
        ("tested by length", drafts.by_length.tested, _lengths(worked, "drafted_lengths")),
        ("accepted by length", drafts.by_length.accepted, _lengths(worked, "accepted_lengths")),
        ("below the lengths", drafts.by_length.foot(), shown.lengths_foot),
        ("time", tuple(part.split(" (")[0] for part in _parts(times.text())), shown.time),
        ("below the time", times.foot(), shown.time_foot),
        ("sources", _cells(controller), shown.sources),
    ):
        if wanted is not None and value != wanted:
            found.append(f"{what}: {value!r}, worked out: {wanted!r}")
    for i, words in enumerate(shown.positions):
        if words not in drafts.by_position.tooltip(i):
            found.append(f"tooltip of position {i + 1}: {drafts.by_position.tooltip(i)}")
    return found


def _positions(text: str) -> tuple[str, ...]:
    return tuple(part.partition(": ")[2] for part in text.split("; ") if ": " in part)


def _lengths(worked: Worked, name: str) -> list[int] | None:
    """Shorter lists are filled up, so that there is a pair of bars for each length."""
    if not {"drafted_lengths", "accepted_lengths"} <= worked.speculative.keys():
        return None
    both = [worked.speculative[each] for each in ("drafted_lengths", "accepted_lengths")]
    numbers: list[int] = worked.speculative[name]
    return numbers + [0] * (max(map(len, both)) - len(numbers))


def _parts(text: str) -> list[str]:
    return text.split(" of ")[0].split(", ")


def _cells(controller: Controller) -> tuple[tuple[str, ...], ...]:
    """Of the table of sources, without the last column, the time per call."""
    table = controller.views.sources
    return tuple(tuple(column.text(row) for column in table.columns[:-1]) for row in table.rows)


@pytest.mark.parametrize("worked", RUNS, ids=lambda worked: worked.name)
def test_window_and_exports_are_what_was_worked_out(qtbot, tmp_path, worked):
    async def body(controller: Controller) -> None:
        setup = controller.window.setup
        limits = replace(setup.config(), max_tokens=worked.max_tokens, stop=worked.stop)
        setup.apply_config(limits)
        controller.run("Say something")
        await until(lambda: controller.state is not State.READY)
        await resting(controller)
        assert shown_wrongly(controller, worked) == []
        # what is exported is what is shown
        await controller.exports.write("json", tmp_path / "summary.json")
        await controller.exports.write("csv", tmp_path / "csv")
        summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
        assert wrong_figures(summary, worked) == []
        assert wrong_tables(tmp_path / "csv", summary) == []
        assert summary["runs"][1]["text"] in controller.views.conversation.whole_text

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", worked.script))
