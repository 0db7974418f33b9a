"""The window from prompt to export, with a scripted engine in a real child process."""

from __future__ import annotations

import asyncio
import csv
import json

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from support.scripts import simple_script, write_script
from support.windows import drive, resting, until

from specviz.trace.config import Role, RunMode
from specviz.trace.trace import Trace
from specviz.ui.messages import Severity
from specviz.ui.states import State
from specviz.worker.protocol import Loading

ANSWER = "Hello world, this is a script. And more" * 2


def type_and_run(controller, prompt="Say something"):
    edit = controller.views.prompt_bar.edit
    edit.setFocus()
    edit.selectAll()
    QTest.keyClicks(edit, prompt)
    QTest.keyClick(edit, Qt.Key.Key_Return)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_from_the_prompt_to_every_export(qtbot, tmp_path):
    async def body(controller):
        views = controller.views
        type_and_run(controller)
        await until(lambda: controller.state is not State.READY)
        await resting(controller)
        assert controller.state is State.READY
        speculative = controller.runner.speculative
        assert ANSWER in views.conversation.whole_text
        assert "faster" in views.verdict.text()
        folder = tmp_path / "out"
        await controller.exports.write("csv", folder)
        await controller.exports.write("json", tmp_path / "summary.json")
        pictures = await controller.exports.write("window-png", tmp_path / "window.png")
        pictures += await controller.exports.write("conversation-png", tmp_path / "talk.png")
        for picture in pictures:
            image = QImage(str(picture))
            assert image.width() > 600 and image.height() > 100
        # the two exports and the window agree with each other
        summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
        run = summary["runs"][1]
        tokens = [r for r in rows_of(folder / "tokens.csv") if r["mode"] == "speculative"]
        assert bytes.fromhex("".join(r["piece_hex"] for r in tokens)).decode() == ANSWER
        assert run["text"] == ANSWER == speculative.text
        assert run["accepted"] == sum(r["source"] == "accepted" for r in tokens)
        steps = [r for r in rows_of(folder / "steps.csv") if r["mode"] == "speculative"]
        assert sum(int(r["accepted"]) for r in steps) == run["accepted"]
        assert sum(int(r["drafted"]) for r in steps) == run["drafted"]
        (row,) = [r for r in rows_of(folder / "summary.csv") if r["mode"] == "speculative"]
        assert float(row["tokens_per_second"]) == run["tokens_per_second"]
        speedup = summary["comparison"]["speedup"]
        assert f"{speedup:.2f}" in views.verdict.text()

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_the_limit_is_met_exactly_in_window_and_export(qtbot, tmp_path, limit):
    async def body(controller):
        config = controller.window.setup.config()
        from dataclasses import replace

        controller.window.setup.apply_config(replace(config, max_tokens=limit))
        type_and_run(controller)
        await until(lambda: controller.state is not State.READY)
        await resting(controller)
        trace = controller.runner.speculative
        assert len(trace.tokens) == limit
        await controller.exports.write("csv", tmp_path / "out")
        tokens = [r for r in rows_of(tmp_path / "out" / "tokens.csv") if r["mode"] == "speculative"]
        assert len(tokens) == limit
        assert trace.text in controller.views.conversation.whole_text

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_a_load_that_is_stopped_leaves_no_progress_line(qtbot, tmp_path, monkeypatch):
    async def body(controller):
        async def stopped_while_loading(config):
            controller.on_notice(Loading(role=Role.TARGET, path="target.gguf", fraction=0.5))
            assert controller.views.conversation.progress is not None
            return False

        monkeypatch.setattr(controller.runner, "measure", stopped_while_loading)
        type_and_run(controller)
        await until(lambda: controller.state is not State.READY)
        await resting(controller)
        assert controller.views.conversation.progress is None
        # what was asked is not lost
        assert controller.views.prompt_bar.prompt == "Say something"

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_stop_keeps_what_arrived_and_the_next_run_works(qtbot, tmp_path):
    script = simple_script(pace="real", repeat_rounds=10_000)

    async def body(controller):
        type_and_run(controller)
        await until(
            lambda: (
                controller.runner.speculative is not None
                and len(controller.runner.speculative.steps) > 5
            )
        )
        button = controller.window.findChild(object, "stop-button")
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        await resting(controller)
        trace = controller.runner.speculative
        assert trace.finished.reason.value == "cancelled"
        assert "topped" in controller.views.verdict.text()
        type_and_run(controller)
        await until(lambda: controller.state is State.RUNNING)
        controller.stop()
        await resting(controller)
        assert controller.state is State.READY

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", script))


def test_closing_during_a_run_leaves_nothing(qtbot, tmp_path):
    script = simple_script(pace="real", repeat_rounds=10_000)
    pids = []

    async def body(controller):
        type_and_run(controller)
        await until(
            lambda: (
                controller.runner.speculative is not None
                and len(controller.runner.speculative.steps) > 3
            )
        )
        pids.append(controller.session.pid)
        controller.window.close()
        await until(lambda: controller.finished.done())

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", script))
    assert pids and not psutil.pid_exists(pids[0])


def test_an_engine_killed_in_mid_run_is_a_message_and_not_the_end(qtbot, tmp_path):
    script = simple_script(pace="real", repeat_rounds=10_000)

    async def body(controller):
        type_and_run(controller)
        await until(
            lambda: (
                controller.runner.speculative is not None
                and len(controller.runner.speculative.steps) > 5
            )
        )
        psutil.Process(controller.session.pid).kill()
        await until(lambda: controller.state is State.FAULTED)
        (message,) = controller.window.messages.messages
        assert "signal 9" in message.sentence
        kept = len(controller.runner.speculative.tokens)
        assert kept > 5
        await controller.exports.write("csv", tmp_path / "out")
        tokens = rows_of(tmp_path / "out" / "tokens.csv")
        assert sum(r["mode"] == "speculative" for r in tokens) == kept
        controller.window.restart_engine_requested.emit()
        await until(lambda: controller.state is State.READY)
        type_and_run(controller)
        await until(
            lambda: (
                controller.runner.speculative is not None
                and len(controller.runner.speculative.steps) > 2
            )
        )
        controller.stop()
        await resting(controller)

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", script))


def test_a_minimum_above_the_maximum_blocks_run_and_says_why(qtbot, tmp_path):
    from dataclasses import replace

    async def body(controller):
        setup = controller.window.setup
        config = setup.config()
        setup.apply_config(
            replace(config, speculation=replace(config.speculation, n_min=9, n_max=4))
        )
        assert "9" in controller.views.prompt_bar.reason
        type_and_run(controller)
        await asyncio.sleep(0.05)
        assert controller.state is State.READY

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_a_character_over_four_tokens_is_one_glyph_everywhere(qtbot, tmp_path):
    pieces = {
        "10": {"hex": "f0"},
        "11": {"hex": "9f"},
        "12": {"hex": "98"},
        "13": {"hex": "80"},
        "14": "x",
    }
    rounds = [
        {
            "draft": [[10, 0.9], [11, 0.9], [14, 0.2]],
            "accepted": 2,
            "target": [12, 0.9],
            "verify_seconds": 0.01,
        },
        {"draft": [], "target": [13, 0.8], "verify_seconds": 0.01},
    ]
    script = {
        **simple_script(),
        "pieces": pieces,
        "rounds": rounds,
        "baseline": {"token_ids": [10, 11, 12, 13], "step_seconds": 0.01},
    }

    async def body(controller):
        type_and_run(controller)
        await until(lambda: controller.state is not State.READY)
        await resting(controller)
        shown = controller.views.conversation.whole_text
        assert "\U0001f600" in shown and "\ufffd" not in shown
        assert controller.runner.speculative.tokens[-1].mixed
        await controller.exports.write("csv", tmp_path / "out")
        assert "\ufffd" not in (tmp_path / "out" / "tokens.csv").read_text(encoding="utf-8")

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", script))


def test_a_stored_trace_opens_without_models(qtbot, tmp_path):
    async def record(controller):
        type_and_run(controller)
        await until(lambda: controller.state is not State.READY)
        await resting(controller)
        await controller.exports.write("trace", tmp_path / "kept.specviz.jsonl")

    drive(tmp_path, record, script=write_script(tmp_path / "script.json"))
    stored = tmp_path / "kept.speculative.specviz.jsonl"
    assert stored.exists()

    async def look(controller):
        assert controller.state is State.EMPTY
        assert ANSWER in controller.views.conversation.whole_text
        assert "faster" in controller.views.verdict.text()

    drive(tmp_path / "other", look, trace=stored)
    # cut off anywhere, it is shown as far as it goes
    stored.write_bytes(stored.read_bytes()[:-300])

    async def look_again(controller):
        assert "Hello world" in controller.views.conversation.whole_text
        assert controller.window.messages.messages

    drive(tmp_path / "third", look_again, trace=stored)


def test_an_export_that_cannot_be_written_is_a_sentence(qtbot, tmp_path):
    async def body(controller):
        type_and_run(controller)
        await until(lambda: controller.state is not State.READY)
        await resting(controller)
        blocked = tmp_path / "file"
        blocked.write_text("in the way")
        for kind in ("csv", "json", "window-png", "conversation-png", "trace"):
            controller.window.messages.clear()
            controller.background.spawn(controller.export(kind, blocked / "x.out"))
            await until(lambda: controller.window.messages.messages, kind)
            (message,) = controller.window.messages.messages
            assert message.severity is Severity.ERROR
            assert message.sentence.endswith(".") and message.hint
        assert controller.state is State.READY

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_mode_baseline_runs_the_target_alone(qtbot, tmp_path):
    async def body(controller):
        controller.window.set_mode(RunMode.BASELINE)
        controller.on_mode(RunMode.BASELINE)
        type_and_run(controller)
        await until(lambda: controller.state is not State.READY)
        await resting(controller)
        assert isinstance(controller.runner.baseline, Trace)
        assert controller.runner.speculative is None
        assert ANSWER in controller.views.conversation.whole_text

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_what_was_set_is_remembered(qtbot, tmp_path):
    from dataclasses import replace

    async def change(controller):
        config = controller.window.setup.config()
        controller.window.setup.apply_config(
            replace(config, max_tokens=77, speculation=replace(config.speculation, n_max=6))
        )
        controller.window.resize(1300, 820)

    async def look(controller):
        config = controller.window.setup.config()
        assert (config.max_tokens, config.speculation.n_max) == (77, 6)

    script = write_script(tmp_path / "script.json")
    drive(tmp_path, change, script=script)
    drive(tmp_path, look, script=script)
    (tmp_path / "settings.json").write_text('{"version": 1, "run": {"mode": 7}, "window": 3}')

    async def still_starts(controller):
        assert controller.window.setup.config().max_tokens == 512

    drive(tmp_path, still_starts, script=script)


def test_safe_mode_is_said_remembered_and_can_be_left(qtbot, tmp_path):
    fault = {"run": "load", "after_round": 0, "kind": "segv", "unless_safe_mode": True}
    script = write_script(tmp_path / "script.json", fault=fault)

    async def crash(controller):
        from dataclasses import replace

        setup = controller.window.setup
        async for message in controller.session.load(controller.orders.load()):
            controller.on_notice(message)
        (message,) = controller.window.messages.messages
        assert "without repacked weights" in message.sentence
        assert "crashed" in setup.rows["repack"].note()
        config = setup.config()
        for repack in (False, True):
            setup.apply_config(replace(config, load=replace(config.load, repack=repack)))
            controller.on_settings()
        await until(lambda: controller.session.pid is None)
        assert not controller.session.safe_mode
        assert "crashed" not in setup.rows["repack"].note()
        type_and_run(controller)
        await until(lambda: controller.state is not State.READY)
        await resting(controller)
        assert controller.state is State.READY

    drive(tmp_path, crash, script=script)
