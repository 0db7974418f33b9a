"""Renders the window's shell in every state, for people to look at.

    python tests/support/shell_shots.py FOLDER [NAME ...]

The views in the middle show no run here; names restrict the states that are drawn.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

sys.path.insert(0, str(Path(__file__).parent.parent))

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QApplication, QMenu, QPushButton
from support import made_sweeps, traces

from specviz.errors import EngineDied, FileError
from specviz.models.compatibility import PairVerdict
from specviz.models.memory import MemoryEstimate
from specviz.trace.config import LoadConfig, ModelSpec, Role, RunConfig, RunMode
from specviz.ui.about import AboutBox
from specviz.ui.fonts import load_fonts
from specviz.ui.main_menu import RecentPair
from specviz.ui.main_window import MainWindow
from specviz.ui.model_card import CardPhase, CardState, error_card, reading_card
from specviz.ui.shortcuts import ShortcutSheet
from specviz.ui.sweep_words import plan_words
from specviz.ui.views import RunViews, make_views
from specviz.ui.window_mode import WindowMode

SIZES = ((1440, 900), (1280, 800), (1024, 640))
LONG = "Qwen3-Coder-30B-A3B-Instruct-1M-UD-Q4_K_XL-fine-tuned-by-somebody"

TARGET = CardState(
    phase=CardPhase.READY,
    path="/models/Qwen3-14B-Q4_K_M.gguf",
    name="Qwen3 14B",
    details="Q4_K_M · 9.0\u202fGB · 14.8\u202fB · qwen3",
    n_layers=40,
    has_reasoning_switch=True,
)
DRAFT = CardState(
    phase=CardPhase.READY,
    path="/models/Qwen3-0.6B-Q8_0.gguf",
    name="Qwen3 0.6B",
    details="Q8_0 · 639\u202fMB · 0.6\u202fB · qwen3",
    n_layers=28,
)
FITS = PairVerdict(
    fits=True,
    sentence="same vocabulary, 151\u202f936 tokens",
    notes=(),
    n_compared=151_931,
    n_different=0,
    first_difference=None,
)
REFUSED = PairVerdict(
    fits=False,
    sentence='Token 139 differs: the target has "\\n\\n", the draft "[@BOS@]" (1 of 256 000).',
    notes=("The draft is larger than the target.",),
    n_compared=256_000,
    n_different=1,
    first_difference=None,
)
CONFIG = RunConfig(
    mode=RunMode.SPECULATIVE,
    load=LoadConfig(
        target=ModelSpec(path=TARGET.path), draft=ModelSpec(path=DRAFT.path), n_ctx=8192
    ),
    messages=(),
)
CONFIG = replace(
    CONFIG,
    sampling=replace(CONFIG.sampling, seed=42),
    speculation=replace(CONFIG.speculation, n_max=4),
)
MEMORY = MemoryEstimate(
    target_weights=9_000_000_000,
    target_kv=1_342_000_000,
    draft_weights=639_000_000,
    draft_kv=150_000_000,
    compute=69_000_000,
)


def ready(window: MainWindow) -> None:
    window.setup.apply_config(CONFIG)
    window.setup.show_card(Role.TARGET, TARGET)
    window.setup.show_card(Role.DRAFT, DRAFT)
    window.setup.show_pair(FITS)
    window.setup.show_memory(MEMORY)
    window.show_first_launch(False)


def first(window: MainWindow) -> None:
    window.show_first_launch(True)


def reading(window: MainWindow) -> None:
    ready(window)
    window.setup.show_card(Role.TARGET, reading_card(f"/models/{LONG}.gguf", "Reading the file"))
    window.setup.show_card(Role.DRAFT, reading_card(DRAFT.path, "Loading · 62\u202f%", 0.62))


def refused(window: MainWindow) -> None:
    ready(window)
    window.setup.show_card(Role.TARGET, replace(TARGET, name=LONG))
    window.setup.show_pair(REFUSED)


def broken(window: MainWindow) -> None:
    ready(window)
    window.setup.show_card(
        Role.DRAFT,
        error_card(DRAFT.path, "The file ends in the middle of its tensors.", "Download it again."),
    )
    window.show_error(FileError("The trace run.jsonl cannot be read.", "It was cut off."))


def unfolded(window: MainWindow) -> None:
    ready(window)
    for fold in window.setup.folds.values():
        fold.set_unfolded(True)
    window.setup.set_last_seed(1234)
    config = replace(
        CONFIG,
        speculation=replace(CONFIG.speculation, n_min=48),
        load=replace(CONFIG.load, draft=ModelSpec(path=DRAFT.path, type_k="q4_0")),
    )
    window.setup.apply_config(config)
    window.setup.mark_pending({"context", "draft"})
    window.setup.rows["system-prompt"].unfold()


def scrolled(window: MainWindow) -> None:
    unfolded(window)
    QApplication.processEvents()
    bar = window.setup.verticalScrollBar()
    bar.setValue(bar.maximum())


def crashed(window: MainWindow) -> None:
    ready(window)
    window.show_error(
        EngineDied(
            "The engine stopped (signal 6).",
            "The 42 tokens so far are kept and can be exported.",
            log_tail="ggml.c:123: GGML_ASSERT(ne00 == ne10) failed",
        )
    )
    details = window.findChild(QPushButton, "message-details-button")
    assert details is not None
    details.click()


def editing(window: MainWindow) -> None:
    ready(window)
    field = window.setup.rows["temperature"].fields[0]
    field.begin_edit()
    field.setText("abc")
    field.refused.emit("Temperature takes a number from 0 to 5.")
    window.setup.rows["draft-tokens"].fields[0].setFocus(Qt.FocusReason.TabFocusReason)
    field.begin_edit()


def dropping(window: MainWindow) -> None:
    ready(window)
    window.overlay.offer(
        [Path("/models/Qwen3-0.6B-Q8_0.gguf")], {Role.DRAFT: QRect(16, 188, 263, 90)}, False
    )


def locked(window: MainWindow) -> None:
    ready(window)
    window.setup.set_locked(True)


def finished(window: MainWindow) -> None:
    """A pair of runs, as the controller shows it."""
    ready(window)
    run = traces.explanation().trace
    views = window.views
    assert isinstance(views, RunViews)
    for view in (views.conversation, views.legend, views.throughput):
        view.show_traces(None, run)
    views.verdict.show_result(None, run, None)
    for view in (views.drafts, views.times, views.strip):
        view.show_trace(run)


def sweep(window: MainWindow) -> None:
    """Before the first sweep."""
    ready(window)
    window.set_mode(WindowMode.SWEEP)
    views = window.views
    assert isinstance(views, RunViews)
    views.sweep_bar.show_plan(plan_words(made_sweeps.length_plan()), blocked="")


def swept(window: MainWindow) -> None:
    """Draft lengths over three prompts."""
    sweep(window)
    views = window.views
    assert isinstance(views, RunViews)
    views.sweep.set_folded(True)
    views.sweep.show_results(made_sweeps.filled(made_sweeps.length_plan()))


STATES: dict[str, Callable[[MainWindow], None]] = {
    each.__name__: each
    for each in (
        first,
        ready,
        reading,
        refused,
        broken,
        unfolded,
        scrolled,
        crashed,
        editing,
        dropping,
        locked,
        finished,
        sweep,
        swept,
    )
}


def popups(folder: Path, theme: str) -> None:
    """Menus, sheet, box and dialog, each by itself."""
    window = MainWindow(make_views())
    window.set_theme(theme, False)  # type: ignore[arg-type]
    window.set_recent(
        [RecentPair(Path(TARGET.path), Path(DRAFT.path)), RecentPair(Path("/m.gguf"))]
    )
    window.show()
    ready(window)
    for name in ("main-menu", "export-menu", "file-menu", "view-menu", "run-menu", "theme-menu"):
        menu = window.findChild(QMenu, name)
        assert menu is not None
        menu.ensurePolished()
        menu.adjustSize()
        menu.grab().save(str(folder / f"popup-{name}-{theme}.png"))
    card_menu = window.setup.cards[Role.DRAFT].make_menu()
    card_menu.adjustSize()
    card_menu.grab().save(str(folder / f"popup-card-{theme}.png"))
    window.dialogs.choose_model(Role.TARGET, print)
    assert window.dialogs.current is not None
    for name, box in (
        ("about", AboutBox(window)),
        ("shortcuts", ShortcutSheet(window)),
        ("files", window.dialogs.current),
    ):
        box.show()
        QApplication.processEvents()
        box.grab().save(str(folder / f"popup-{name}-{theme}.png"))
        box.close()
    window.allow_close()
    window.close()


def main(folder: Path, names: list[str]) -> None:
    application = QApplication.instance() or QApplication([])
    load_fonts()
    folder.mkdir(parents=True, exist_ok=True)
    if not names or "popups" in names:
        for theme in ("dark", "light"):
            popups(folder, theme)
    for name, show in STATES.items():
        if names and name not in names:
            continue
        for theme in ("dark", "light"):
            window = MainWindow(make_views())
            window.set_theme(theme, False)  # type: ignore[arg-type]
            window.show()
            for width, height in SIZES:
                window.resize(width, height)
                application.processEvents()
                if (width, height) == SIZES[0]:
                    show(window)
                for _ in range(3):
                    application.processEvents()
                window.grab().save(str(folder / f"{name}-{theme}-{width}.png"))
            window.allow_close()
            window.close()
            window.deleteLater()
            application.processEvents()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
