"""A conversation in the window, with a scripted engine in a real child process."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from support.scripts import simple_script, write_script
from support.windows import drive, resting, until

from specviz.trace.config import DraftSource, Role, RunMode
from specviz.trace.events import Prefilled
from specviz.ui.icons import IconButton
from specviz.ui.states import State
from specviz.ui.token_layout import Style

ANSWER = "Hello world, this is a script. And more" * 2
CTRL = Qt.KeyboardModifier.ControlModifier


def press(controller, key, modifier=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(controller.views.prompt_bar.edit, key, modifier)


async def write(controller, prompt):
    edit = controller.views.prompt_bar.edit
    edit.setFocus()
    edit.selectAll()
    QTest.keyClicks(edit, prompt)


async def ask(controller, prompt):
    await write(controller, prompt)
    press(controller, Qt.Key.Key_Return)
    assert controller.state is not State.READY
    await resting(controller)


def told(trace):
    """What a run was told, in short."""
    return [f"{m.role}: {m.text[:12]}" for m in trace.started.config.messages]


def prompts(controller):
    return [turn.prompt for turn in controller.dialogue.chat.turns]


def button(controller, kind, name):
    found = controller.window.findChild(kind, name)
    assert found is not None, name
    return found


def test_two_turns_and_the_last_one_measured_again(qtbot, tmp_path):
    async def body(controller):
        views, runner = controller.views, controller.runner
        await ask(controller, "First question")
        assert views.prompt_bar.prompt == ""
        first = runner.speculative
        await ask(controller, "Second question")
        assert told(runner.speculative) == told(runner.baseline)
        assert told(runner.speculative) == [
            "user: First questi",
            "assistant: Hello world,",
            "user: Second quest",
        ]
        page = views.conversation
        assert page.whole_text == f"First question\n\n{ANSWER}\n\nSecond question\n\n{ANSWER}"
        earlier = page.page.blocks[0].answer
        assert earlier.trace is first and Style.ACCEPTED in list(earlier.layout.styles)
        assert "faster" in views.verdict.text()
        # a mode of its own for the newest turn; the conversation stays
        controller.window.set_mode(RunMode.BASELINE)
        controller.on_mode(RunMode.BASELINE)
        assert page.is_baseline and page.page.blocks[0].answer is earlier
        controller.window.set_mode(RunMode.SPECULATIVE)
        controller.on_mode(RunMode.SPECULATIVE)
        # measured again, with what is half written left alone
        second = runner.speculative
        await write(controller, "Half writ")
        press(controller, Qt.Key.Key_R, CTRL)
        await resting(controller)
        assert runner.speculative is not second
        assert told(runner.speculative) == told(second)
        assert prompts(controller) == ["First question", "Second question"]
        assert views.prompt_bar.prompt == "Half writ"

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_an_earlier_turn_is_edited_and_sent_again(qtbot, tmp_path):
    async def body(controller):
        bar = controller.views.prompt_bar
        for prompt in ("One", "Two", "Three"):
            await ask(controller, prompt)
        press(controller, Qt.Key.Key_Up)
        assert bar.prompt == "Three" and bar.hint.startswith("Editing turn 3")
        press(controller, Qt.Key.Key_Up)
        assert bar.prompt == "Two" and bar.hint.startswith("Editing turn 2")
        press(controller, Qt.Key.Key_Escape)
        assert bar.prompt == "" and bar.hint == ""
        assert prompts(controller) == ["One", "Two", "Three"]
        await write(controller, "half written")
        controller.views.conversation.edit_requested.emit(1)
        press(controller, Qt.Key.Key_Escape)
        assert bar.prompt == "half written"
        controller.views.conversation.edit_requested.emit(1)
        assert not controller.window.findChild(IconButton, "prompt-hint-close").isHidden()
        await ask(controller, "Two, please")
        assert prompts(controller) == ["One", "Two, please"]
        assert told(controller.runner.speculative)[::2] == ["user: One", "user: Two, please"]
        assert bar.hint == "" and bar.prompt == ""

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_a_new_chat_can_be_undone(qtbot, tmp_path):
    async def body(controller):
        views = controller.views
        new = button(controller, IconButton, "new-chat-button")
        assert not new.isEnabled()
        await ask(controller, "First question")
        whole, verdict = views.conversation.whole_text, views.verdict.text()
        measured = controller.runner.speculative
        press(controller, Qt.Key.Key_N, CTRL)
        assert views.conversation.whole_text == "" and controller.runner.speculative is None
        assert "No run yet" in views.verdict.text() and not new.isEnabled()
        button(controller, QPushButton, "undo-new-chat").click()
        assert views.conversation.whole_text == whole and views.verdict.text() == verdict
        assert controller.runner.speculative is measured
        assert controller.window.messages.messages == ()
        # and the next turn goes on from there, or from nothing
        await ask(controller, "Second question")
        assert len(controller.dialogue.chat.turns) == 2
        QTest.mouseClick(new, Qt.MouseButton.LeftButton)
        await ask(controller, "Fresh question")
        assert told(controller.runner.speculative) == ["user: Fresh questi"]
        assert controller.session.pid is not None

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_without_a_token_the_prompt_is_to_be_sent_again(qtbot, tmp_path):
    script = simple_script(pace="real", prefill_seconds=20)

    async def body(controller):
        bar = controller.views.prompt_bar
        await write(controller, "Patience")
        press(controller, Qt.Key.Key_Return)
        await until(lambda: controller.state is State.RUNNING)
        assert bar.prompt == "Patience", "the field keeps the text until the answer begins"
        controller.stop()
        await resting(controller)
        assert bar.prompt == "Patience" and bar.hint.startswith("Editing turn 1")
        assert controller.views.conversation.whole_text == "Patience"
        press(controller, Qt.Key.Key_Return)
        await until(lambda: controller.state is State.RUNNING)
        assert prompts(controller) == ["Patience"]
        controller.stop()
        await resting(controller)

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", script))


def test_a_run_that_fails_before_its_answer_loses_nothing(qtbot, tmp_path):
    async def body(controller):
        bar, setup = controller.views.prompt_bar, controller.window.setup
        for prompt in ("One", "Two"):
            await ask(controller, prompt)
        config = setup.config()
        setup.apply_config(replace(config, load=replace(config.load, n_ctx=5)))
        controller.chatting.edit(0)
        await write(controller, "One, please")
        press(controller, Qt.Key.Key_Return)
        await resting(controller)
        (message,) = controller.window.messages.messages
        assert "context" in message.sentence
        assert prompts(controller) == ["One", "Two"]
        assert bar.prompt == "One, please" and bar.hint.startswith("Editing turn 1")
        assert controller.views.conversation.toPlainText() == ANSWER
        assert controller.runner.speculative is controller.dialogue.chat.newest.speculative
        setup.apply_config(config)
        press(controller, Qt.Key.Key_Return)
        await resting(controller)
        assert prompts(controller) == ["One, please"]

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_an_answer_cut_short_by_a_crash_is_gone_on_from(qtbot, tmp_path):
    fault = {"run": "speculative", "after_round": 3, "kind": "abort"}
    script = write_script(tmp_path / "script.json", fault=fault)

    async def body(controller):
        await write(controller, "One")
        press(controller, Qt.Key.Key_Return)
        await until(lambda: controller.state is State.FAULTED)
        kept = controller.views.conversation.toPlainText()
        assert kept and ANSWER.startswith(kept) and controller.views.prompt_bar.prompt == ""
        write_script(script)
        await write(controller, "Two")
        press(controller, Qt.Key.Key_Return)
        await resting(controller)
        assert controller.runner.speculative.started.config.messages[1].text == kept

    drive(tmp_path, body, script=script)


def test_a_raw_prompt_begins_a_conversation_and_says_so(qtbot, tmp_path):
    async def body(controller):
        bar, setup = controller.views.prompt_bar, controller.window.setup
        await ask(controller, "A question")
        setup.apply_config(replace(setup.config(), raw=True))
        controller.on_settings()
        assert bar.hint == "A raw prompt has no turns: it begins a new conversation."
        await ask(controller, "Once upon a time")
        assert told(controller.runner.speculative) == ["user: Once upon a "]
        (message,) = controller.window.messages.messages
        assert "new conversation" in message.sentence
        button(controller, QPushButton, "undo-new-chat").click()
        assert prompts(controller) == ["A question"]
        assert controller.runner.speculative is controller.dialogue.chat.newest.speculative

    drive(tmp_path, body, script=write_script(tmp_path / "script.json"))


def test_a_stored_conversation_is_shown_and_gone_on_with(qtbot, tmp_path):
    script = write_script(tmp_path / "script.json")

    async def record(controller):
        for prompt in ("One", "Two"):
            await ask(controller, prompt)
        await controller.exports.write("trace", tmp_path / "kept.specviz.jsonl")

    drive(tmp_path, record, script=script)

    async def look(controller):
        await ask(controller, "Something else")
        await controller.open_trace(tmp_path / "kept.speculative.specviz.jsonl")
        assert prompts(controller) == ["One", "Two"]
        assert controller.views.conversation.whole_text.count(ANSWER) == 2
        button(controller, QPushButton, "undo-new-chat").click()
        assert prompts(controller) == ["Something else"]
        await controller.open_trace(tmp_path / "kept.speculative.specviz.jsonl")
        await ask(controller, "Three")
        assert len(told(controller.runner.speculative)) == 5

    drive(tmp_path / "other", look, script=script)


def test_reasoning_is_counted_folded_and_told_apart(qtbot, tmp_path):
    script = simple_script()
    thought = [[30, 0.9, 0.9]]
    script["pieces"] = {**script["pieces"], "30": "<think>", "31": " hm", "32": "</think>"}
    ids = [30, 31, 31, 32, *script["baseline"]["token_ids"]]
    script["baseline"]["token_ids"] = ids
    script["rounds"] = [
        {"draft": thought, "accepted": 1, "target": [31, 0.9], "verify_seconds": 0.02},
        {"draft": [[31, 0.9]], "accepted": 1, "target": [32, 0.9], "verify_seconds": 0.02},
        *script["rounds"],
    ]

    async def body(controller):
        await ask(controller, "Think")
        page, trace = controller.views.conversation, controller.runner.speculative
        assert len(trace.tokens) == 24
        toggle = page.findChild(object, "reasoning-toggle")
        assert toggle.text().replace("\u202f", " ") == "Reasoning · 4 tokens (17 %)"
        verdict = controller.views.verdict.text()
        QTest.mouseClick(toggle, Qt.MouseButton.LeftButton)
        assert page.answer.folded and controller.views.verdict.text() == verdict
        assert controller.exports.text() == f"<think> hm hm</think>{ANSWER}"
        await ask(controller, "Again")
        reply = controller.runner.speculative.started.config.messages[1]
        assert (reply.text, reply.reasoning) == (ANSWER, "hm hm")
        assert page.answer.folded, "what the reader chose goes on"

    drive(tmp_path, body, script=write_script(tmp_path / "script.json", script))


def test_what_is_loaded_and_what_it_costs_is_said(qtbot, tmp_path):
    script = write_script(tmp_path / "script.json", can_remove_partial=False)

    async def body(controller):
        setup = controller.window.setup
        config = setup.config()
        ngrams = replace(config.speculation, sources=(DraftSource.NGRAM_MOD,))
        for speculation in (ngrams, config.speculation):
            setup.apply_config(replace(config, speculation=speculation))
            wants_draft = DraftSource.DRAFT_SIMPLE in speculation.sources
            assert (controller.orders.load().draft is not None) is wants_draft
            assert controller.views.prompt_bar.reason.startswith("Write a prompt")
        async for message in controller.session.load(controller.orders.load()):
            controller.on_notice(message)
        (message,) = controller.window.messages.messages
        assert "keeps a running state" in message.sentence
        await ask(controller, "Once said is enough")
        assert controller.window.messages.messages == ()
        controller.views.conversation.show_prompt("Read")
        controller.on_prefilled(
            Prefilled(run_id="1", t=1.0, role=Role.TARGET, n_tokens=12, n_reused=328, seconds=0.1)
        )
        progress = controller.views.conversation._progress
        assert progress.text == "Read the prompt: 12 of 340 tokens were new"

    drive(tmp_path, body, script=script)
