"""The rules of a conversation: turns, messages, editing, and that nothing is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.traces import TraceBuilder, baseline_of, run_config
from support.turns import answered, builder_for, turn_of, user

from specviz.trace.config import Message, RunMode
from specviz.ui.chat import Chat, Turn, homes_of, turns_of, turns_of_runs

SPECULATIVE, BASELINE = RunMode.SPECULATIVE, RunMode.BASELINE


def chat_of(*turns: Turn) -> Chat:
    return Chat(turns=turns)


def three() -> Chat:
    return chat_of(answered("One?", "1", "."), answered("Two?", "2", "."), answered("Three?", "3"))


def ask(chat: Chat, prompt: str, *, raw: bool = False) -> Chat:
    return chat.asked(prompt, raw=raw, mode=SPECULATIVE)


def said(chat: Chat) -> list[str]:
    return [f"{message.role}: {message.text}" for message in chat.messages()]


def nothing(prompt: str) -> Turn:
    """A turn whose run ended without a token."""
    return turn_of(builder_for((user(prompt),)).finish(), with_baseline=False)


# ---- what the model is told ----------------------------------------------------------------------
def test_earlier_turns_go_before_the_new_one():
    chat = ask(chat_of(answered("One?", "1", ".")), "Two?")
    assert said(chat) == ["user: One?", "assistant: 1.", "user: Two?"]


def test_the_newest_answer_is_not_part_of_its_own_prompt():
    assert said(chat_of(answered("One?", "1"))) == ["user: One?"]


def test_reasoning_goes_apart_from_the_answer():
    builder = builder_for((user("One?"),)).plain("<think>", "Hm", "</think>", "\n\n", "1")
    chat = ask(chat_of(turn_of(builder.finish())), "Two?")
    assert chat.messages()[1] == Message(role="assistant", text="1", reasoning="Hm")


def test_a_cancelled_answer_is_kept_as_far_as_it_came():
    turn = turn_of(builder_for((user("One?"),)).plain("1").trace)
    assert said(ask(chat_of(turn), "Two?")) == ["user: One?", "assistant: 1", "user: Two?"]


def test_a_turn_without_an_answer_makes_room_for_the_next():
    assert said(ask(chat_of(nothing("One?")), "Two?")) == ["user: Two?"]


def test_the_answer_is_the_one_on_show():
    speculative = builder_for((user("One?"),)).plain("1").finish()
    baseline = TraceBuilder(run_config(BASELINE, prompt="One?")).plain("one").finish()
    turn = Turn(prompt="One?", baseline=baseline, speculative=speculative, over=True)
    assert turn.answer.text == "1"
    assert replace(turn, mode=BASELINE).answer.text == "one"
    chat = chat_of(turn).shown_in(BASELINE)
    assert said(ask(chat, "Two?"))[1] == "assistant: one"
    # what comes after does not change what an earlier turn shows
    assert said(ask(chat, "Two?").shown_in(BASELINE))[1] == "assistant: one"


def test_a_run_without_tokens_does_not_hide_a_baseline_when_all_is_over():
    speculative = builder_for((user("One?"),)).trace
    turn = Turn(prompt="One?", baseline=baseline_of(answered("One?", "1").speculative))
    turn = replace(turn, speculative=speculative)
    assert turn.trace is speculative
    assert replace(turn, over=True).answer.text == "1"


# ---- editing -------------------------------------------------------------------------------------
def test_sending_an_edited_turn_drops_it_and_all_behind_it():
    chat = ask(three().edit(1, draft="half written"), "Two, once more?")
    assert said(chat) == ["user: One?", "assistant: 1.", "user: Two, once more?"]
    assert chat.editing is None and chat.draft == ""


def test_the_draft_waits_while_several_turns_are_looked_at():
    chat = three().edit(2, draft="half written").edit(1, draft="Three?")
    assert (chat.editing, chat.draft) == (1, "half written")
    assert chat.keep() == three_again(chat)


def three_again(chat: Chat) -> Chat:
    return Chat(turns=chat.turns)


@pytest.mark.parametrize("index", [-1, 3])
def test_only_turns_that_are_there_are_edited(index):
    chat = three()
    assert chat.edit(index, draft="x") == chat


# ---- the end of a run ----------------------------------------------------------------------------
def test_what_arrived_is_the_answer():
    before = chat_of(answered("One?", "1"))
    asked = ask(before, "Two?").answered(None, builder_for((user("Two?"),)).plain("2").trace)
    after = asked.after(before)
    assert after.newest.over and after.newest.answer.text == "2"
    assert after.editing is None


def test_without_a_token_the_new_turn_stays_and_is_edited():
    before = chat_of(answered("One?", "1"))
    after = ask(before, "Two?").answered(None, None).after(before)
    assert [turn.prompt for turn in after.turns] == ["One?", "Two?"]
    assert after.editing == 1
    assert said(ask(after, "Two!")) == ["user: One?", "assistant: 1", "user: Two!"]


def test_without_a_token_an_edit_loses_nothing():
    before = three().edit(1, draft="half written")
    assert ask(before, "Other?").after(before) == before


def test_without_a_token_a_turn_measured_again_keeps_its_answer():
    before = three()
    assert before.asked_again(mode=SPECULATIVE).after(before) == before


def test_measuring_again_keeps_the_turns_before():
    again = three().asked_again(mode=BASELINE)
    assert [turn.prompt for turn in again.turns] == ["One?", "Two?", "Three?"]
    assert not again.newest.answered and again.newest.mode is BASELINE


# ---- raw prompts ---------------------------------------------------------------------------------
def test_a_raw_prompt_begins_a_conversation_of_its_own():
    before = three()
    assert before.begins_anew(raw=True) and not before.begins_anew(raw=False)
    assert said(ask(before, "Once upon", raw=True)) == ["user: Once upon"]


def test_a_raw_prompt_cannot_be_gone_on_from():
    chat = chat_of(replace(answered("Once upon", " a"), raw=True))
    assert chat.begins_anew(raw=False)
    assert said(ask(chat, "Hello")) == ["user: Hello"]


def test_the_first_turn_leaves_nothing_behind():
    assert not Chat().begins_anew(raw=True)
    assert not three().edit(0, draft="").begins_anew(raw=True)


def test_a_raw_prompt_without_a_token_loses_nothing():
    before = three()
    assert ask(before, "Once upon", raw=True).after(before) == before


# ---- turns of a stored run -----------------------------------------------------------------------
MESSAGES = (
    Message(role="system", text="Be brief."),
    user("One?"),
    Message(role="assistant", text="1", reasoning="Hm"),
    user("Two?"),
)


def test_a_stored_run_is_shown_with_its_messages():
    trace = builder_for(MESSAGES).plain("2").finish()
    one, two = turns_of_runs(None, trace)
    assert (one.prompt, one.answer.text, one.answer.reasoning) == ("One?", "1", "Hm")
    assert (two.prompt, two.trace) == ("Two?", trace)
    assert said(ask(Chat(turns=(one, two)), "Three?")) == [
        "user: One?",
        "assistant: 1",
        "user: Two?",
        "assistant: 2",
        "user: Three?",
    ]


def test_messages_in_an_odd_order_are_all_shown():
    odd = (Message(role="assistant", text="Hello"), user("A"), user("B"), MESSAGES[2])
    turns = turns_of(odd)
    assert [turn.prompt for turn in turns] == ["", "A", "B", ""]
    assert [turn.reply.text if turn.reply else "" for turn in turns] == ["Hello", "", "1", ""]
    assert homes_of(odd) == [0, 1, 2, 2]


def test_every_message_knows_its_turn():
    assert homes_of(MESSAGES) == [None, 0, 0, 1]
    assert turns_of_runs(None, None) == ()
