"""Chat templates are untrusted: they may fail, loop, grow or pry, and become a sentence."""

from __future__ import annotations

import pytest

from specviz.engine import chat_template
from specviz.errors import SettingError
from specviz.trace.config import Message, Switch

CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
TALK = (Message(role="system", text="Be brief."), Message(role="user", text="Hi <b>&amp;"))


def render(template, reasoning=Switch.AUTO):
    return chat_template.render(template, TALK, bos="<s>", eos="</s>", reasoning=reasoning)


def test_a_common_template():
    assert render(CHATML) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi <b>&amp;<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_the_reasoning_switch_reaches_the_template_only_when_set():
    template = "{% if enable_thinking is defined %}{{ enable_thinking }}{% else %}unset{% endif %}"
    assert render(template) == "unset"
    assert render(template, Switch.ON) == "True"
    assert render(template, Switch.OFF) == "False"


def test_what_templates_commonly_use():
    assert render("{% generation %}x{% endgeneration %}") == "x"
    assert render("{{ messages | tojson }}").startswith('[{"role": "system"')
    assert (
        render(
            "{% for m in messages %}{% if loop.index0 % 2 == 1 %}{% break %}{% endif %}"
            "{{ m.content | trim | upper }}{% endfor %}"
        )
        == "BE BRIEF."
    )
    assert len(render("{{ strftime_now('%Y') }}")) == 4
    assert render("{{ 'a' ~ 1 ~ bos_token }}") == "a1<s>"


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ messages.append(1) }}",
        "{{ 'a' * 10**12 }}",
        "{{ [0] * 10**12 }}",
        "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}"
        "{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x='aaaa') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}"
        "{% endfor %}{{ ns.x }}",
        "{% for i in range(10**9) %}x{% endfor %}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ 'x'.ljust(10**11) }}",
        "{{ '%99999999999d' % 1 }}",
        "{{ '{:>99999999999}'.format(1) }}",
        "{{ ('a' * 1000000) | replace('a', 'b' * 1000000) }}",
        "{% for i in range(9999) %}{{ 'x' * 9999 }}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{" + "(" * 3000 + ")" * 3000 + "}}",
        "{% if %}",
        "{{ undefined_thing.x.y }}",
        "{{ raise_exception('Only users may speak') }}",
    ],
)
def test_hostile_and_broken_templates_become_a_sentence(template):
    with pytest.raises(SettingError) as caught:
        render(template)
    message = caught.value.message
    assert message.startswith("The chat template of this model")
    assert len(message) < 400
    assert "raw prompt" in caught.value.hint


def test_a_template_that_loops_is_ended(monkeypatch):
    monkeypatch.setattr(chat_template, "MAX_SECONDS", 0.3)
    loop = "{% for i in range(9999) %}" * 3 + "{% endfor %}" * 3
    with pytest.raises(SettingError, match="did not finish"):
        render(loop)


def test_the_words_of_a_template_are_passed_on():
    with pytest.raises(SettingError, match="Only users may speak"):
        render("{{ raise_exception('Only users may speak') }}")


def test_reasoning_goes_to_the_template_under_its_own_name():
    template = (
        "{% for m in messages %}{{ m.content }}"
        "{% if m.reasoning_content is defined %}({{ m.reasoning_content }}){% endif %};{% endfor %}"
    )
    turns = [
        Message(role="user", text="a"),
        Message(role="assistant", text="b", reasoning="because"),
    ]
    text = chat_template.render(template, turns, bos="", eos="", reasoning=Switch.AUTO)
    assert text == "a;b(because);"


@pytest.mark.parametrize(
    ("text", "opens"),
    [("<|im_start|>assistant\n<think>\n", True), ("<think>\n\n</think>\n\n", False), ("", False)],
)
def test_a_prompt_that_ends_in_reasoning_is_noticed(text, opens):
    assert chat_template.opens_reasoning(text) is opens
