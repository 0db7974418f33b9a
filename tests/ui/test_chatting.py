"""Leaving a conversation and coming back to it, when the window's state allows it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from specviz.trace.config import RunMode
from specviz.ui.chatting import UNDO, Chatting
from specviz.ui.conversation import Conversation
from specviz.ui.dialogue import Dialogue
from specviz.ui.prompt_bar import PromptBar
from specviz.ui.runner import Runner
from specviz.ui.states import State


class Host:
    def __init__(self):
        self.state, self.n_enabled, self.n_ends = State.READY, 0, 0

    def enable(self):
        self.n_enabled += 1

    def show_end(self):
        self.n_ends += 1


@pytest.fixture
def chat(qtbot, window):
    """A conversation of one turn, with all that it talks to."""
    made = SimpleNamespace(page=Conversation(), bar=PromptBar(), host=Host(), window=window)
    for widget in (made.page, made.bar):
        qtbot.addWidget(widget)
    made.dialogue = Dialogue(made.page, made.bar)
    made.dialogue.ask("One", RunMode.SPECULATIVE)
    showing = SimpleNamespace(show_traces=lambda: None)
    window.focus_prompt = lambda: None
    made.chatting = Chatting(window, made.dialogue, Runner(None, None), showing, made.host)
    return made


def prompts(chat):
    return [turn.prompt for turn in chat.dialogue.chat.turns]


def offered(chat):
    return [action for message in chat.window.messages.messages for action in message.actions]


def test_a_new_chat_can_be_taken_back_once(chat):
    chat.chatting.new_chat()
    assert prompts(chat) == [] and offered(chat) == [UNDO] and chat.host.n_ends == 1
    chat.chatting.undo()
    assert prompts(chat) == ["One"] and not offered(chat) and chat.host.n_ends == 2
    chat.chatting.undo()
    assert chat.host.n_ends == 2


def test_a_chat_without_turns_is_new_already(chat):
    chat.dialogue.replace(())
    chat.chatting.new_chat()
    assert not offered(chat) and chat.host.n_ends == 0


def test_what_was_gone_on_with_does_not_come_back(chat):
    chat.chatting.new_chat()
    chat.chatting.forget_undo()
    chat.chatting.undo()
    assert prompts(chat) == []


def test_nothing_is_edited_while_the_engine_is_at_work(chat):
    chat.host.state = State.RUNNING
    chat.chatting.edit_last()
    chat.chatting.edit_earlier()
    chat.chatting.new_chat()
    assert chat.dialogue.chat.editing is None and prompts(chat) == ["One"]
    assert chat.host.n_enabled == 0
    chat.host.state = State.READY
    chat.chatting.edit_last()
    assert chat.dialogue.chat.editing == 0 and chat.bar.prompt == "One"
    chat.chatting.give_up()
    assert chat.dialogue.chat.editing is None and chat.host.n_enabled == 2
