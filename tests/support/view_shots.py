"""Pictures of every view in its states, in both themes, to look at: `view_shots.py FOLDER [NAME]`.

Run as a script with the tests folder on the path; not collected as a test.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parent.parent))

from PySide6.QtGui import QColor, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from specviz.resources import resource
from specviz.trace.events import StopReason
from specviz.ui.theme import DARK, LIGHT, Palette
from support import traces

SHOTS = {}


def shot(build):
    SHOTS[build.__name__] = build
    return build


@shot
def conversation_finished(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 480)
    view.show_traces(None, traces.explanation().trace)
    view.set_show_rejected(True)
    return view


@shot
def conversation_marked(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 320)
    view.show_traces(None, traces.explanation().trace)
    view.mark_step(3)
    view.select(150, 190)
    return view


@shot
def conversation_baseline(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 320)
    builder = traces.TraceBuilder(
        traces.run_config(traces.RunMode.BASELINE, prompt="Go on, then. " * 30)
    )
    builder.plain(
        "First", " paragraph", ".", "\n\n", "def", " f", "(x", "):\n", "    ", "return", " x\n"
    )
    builder.finish(StopReason.CANCELLED)
    view.show_traces(builder.trace, None)
    return view


@shot
def conversation_awkward(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 420)
    builder = traces.TraceBuilder(traces.run_config(prompt="<b>Odd</b> characters"))
    builder.step([b"Look \xf0", b"\x9f", b"x"], 2, b"\x98\x80 ok")
    builder.step([" smile", " smile", " \u202eoverride\u202c", " <b>bold</b>"], 4, " \x1b[31m\x07")
    builder.step([" مرحبا", " بالعالم"], 2, " 日本語のテキスト")
    builder.step([" fi", "ne", " na", "ïve"], 2, "  mo")
    builder.step(["\n", "\n", "السلام", " عليكم"], 3, " وبركاته")
    builder.step([" one", " two", " three"], 3, " four", copied_from=14)
    builder.step(["\n\tfor", " x", " in", " y"], 4, ":\n")
    builder.step(["A" * 300], 1, " end")
    builder.finish()
    view.show_traces(None, builder.trace)
    return view


@shot
def conversation_progress(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 220)
    view.show_prompt("Explain speculative decoding to a colleague in three sentences.")
    view.show_progress("Reading the prompt… 320 of 1\u202f024 tokens", 320 / 1024)
    return view


@shot
def conversation_empty(palette):
    from specviz.ui.conversation import Conversation

    view = Conversation()
    view.resize(788, 420)
    view.set_placeholder(
        "Drop two models, or try the demo pair",
        "SpecViz runs your prompt twice, with the target alone and with drafts, and shows "
        "which tokens the draft got right and whether that paid off.",
    )
    return view


def application() -> QApplication:
    app = QApplication.instance() or QApplication([])
    for path in sorted(resource("fonts").glob("*.ttf")):
        QFontDatabase.addApplicationFont(str(path))
    return app


def dress(widget: QWidget, palette: Palette) -> None:
    """Give a bare view the ground that the window gives it."""
    colours = widget.palette()
    colours.setColor(QPalette.ColorRole.Window, QColor(palette.panel))
    colours.setColor(QPalette.ColorRole.WindowText, QColor(palette.text))
    colours.setColor(QPalette.ColorRole.Base, QColor(palette.ground))
    colours.setColor(QPalette.ColorRole.Text, QColor(palette.text))
    widget.setPalette(colours)


def main(folder: Path, only: str = "") -> None:
    """Write one picture for each state and theme."""
    app = application()
    folder.mkdir(parents=True, exist_ok=True)
    for palette in (DARK, LIGHT):
        for name, build in SHOTS.items():
            if only not in name:
                continue
            view = build(palette)
            dress(view, palette)
            view.apply_palette(palette)
            view.show()
            app.processEvents()
            view.grab().save(str(folder / f"{palette.name}-{name}.png"))
            view.close()
            view.deleteLater()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
