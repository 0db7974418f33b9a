"""Which settings a run really had, and which of them wait for a reload: with real tiny weights."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PySide6.QtGui import QAction
from support import tiny_gguf
from support.windows import drive, resting, until

from specviz.ui.controller import Controller
from specviz.ui.settings_view import DIFFERS, table_text
from specviz.ui.states import State

pytestmark = pytest.mark.model

N_CTX, PADDED = 300, 512
"""llama.cpp allocates contexts in steps of 256 tokens."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        "target": tiny_gguf.write_llama(folder / "target.gguf", mix=0.03, n_layers=2),
        "draft": tiny_gguf.write_llama(folder / "draft.gguf", mix=0.03, n_layers=1),
    }


def change(controller: Controller, *, n_ctx: int, draft_type: str) -> None:
    """Set context and the draft's K cache as a person would, through the setup panel."""
    setup = controller.window.setup
    config = setup.config()
    load = config.load
    assert load.draft is not None
    load = replace(
        load,
        n_ctx=n_ctx,
        target=replace(load.target, n_threads=1),
        draft=replace(load.draft, n_threads=1, type_k=draft_type),
    )
    setup.apply_config(replace(config, load=load, max_tokens=8, raw=True))
    controller.on_settings()


async def run(controller: Controller) -> None:
    controller.run("the thin inn in the end")
    await until(lambda: controller.state not in (State.READY, State.EMPTY))
    await resting(controller)


async def effective(controller: Controller, path) -> dict:
    """What the exported record of the speculative run says was in effect."""
    await controller.exports.write("json", path)
    return json.loads(path.read_text(encoding="utf-8"))["runs"][-1]["effective"]


def waiting(controller: Controller) -> set[str]:
    """The settings that carry the mark of a reload to come."""
    rows = controller.window.setup.rows
    return {key for key, row in rows.items() if "reload" in row.note()}


def test_changes_wait_for_a_reload_and_the_record_keeps_what_was_in_effect(qtbot, files, tmp_path):
    async def body(controller: Controller) -> None:
        controller.window.files_dropped.emit([files["target"], files["draft"]])
        await until(lambda: controller.slots.verdict is not None)
        change(controller, n_ctx=512, draft_type="f16")
        await run(controller)
        before = await effective(controller, tmp_path / "first.json")
        assert (before["n_ctx"], before["draft_type_k"]) == (512, "f16")
        assert waiting(controller) == set()
        assert controller.views.settings.text() == "All settings are in effect as asked…"

        change(controller, n_ctx=N_CTX, draft_type="f32")
        assert waiting(controller) == {"context", "kv-draft"}
        # what has been measured had the old values, and still says so
        assert await effective(controller, tmp_path / "again.json") == before
        shown = {row.key: row.effective for row in controller.views.settings._rows}
        assert (shown["n_ctx"], shown["draft_type_k"]) == ("512 tokens", "f16")

        await run(controller)
        after = await effective(controller, tmp_path / "second.json")
        assert after["draft_type_k"] == "f32"
        assert waiting(controller) == set()

    drive(tmp_path, body)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_context_that_was_rounded_is_marked_in_the_view(qtbot, files, tmp_path):
    async def body(controller: Controller) -> None:
        controller.window.files_dropped.emit([files["target"], files["draft"]])
        await until(lambda: controller.slots.verdict is not None)
        change(controller, n_ctx=N_CTX, draft_type="f16")
        await run(controller)
        assert (await effective(controller, tmp_path / "summary.json"))["n_ctx_allocated"] == PADDED
        assert controller.views.settings.text() == "≠ 2 settings differ from what was asked…"
        controller.window.findChild(QAction, "settings-in-effect-action").trigger()
        view = controller.views.settings.view
        assert view is not None and view.isVisible()
        differing = {row.key: (row.requested, row.effective) for row in view.rows if row.differs}
        # no more rows can be evaluated at once than the context holds
        assert differing == {
            "n_ctx_allocated": ("300 tokens", "512 tokens"),
            "n_batch": ("512", "300"),
        }
        assert table_text(view.rows).count(DIFFERS) == 2
        view.close()

    drive(tmp_path, body)
