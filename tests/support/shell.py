"""Parts for tests of the window's shell: plain views, card states, drags, collected signals."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QMimeData, QUrl
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from specviz.models.compatibility import PairVerdict
from specviz.ui.main_window import Views
from specviz.ui.model_card import CardPhase, CardState


def plain_views() -> Views:
    """Views that show nothing; the prompt has its field, which takes focus and drops."""
    prompt = QWidget()
    edit = QPlainTextEdit()
    edit.setObjectName("prompt-edit")
    QVBoxLayout(prompt).addWidget(edit)
    others = {
        name: QWidget()
        for name in (
            "verdict",
            "conversation",
            "legend",
            "throughput",
            "drafts",
            "times",
            "break_even",
            "costs",
            "sources",
            "settings",
            "strip",
            "inspector",
            "sweep",
            "sweep_bar",
        )
    }
    return Views(prompt_bar=prompt, **others)


READY_TARGET = CardState(
    phase=CardPhase.READY,
    path="/models/target.gguf",
    name="Qwen3 14B",
    details="Q4_K_M · 9.0 GB · 14.8 B · qwen3",
    n_layers=40,
    has_reasoning_switch=True,
)
READY_DRAFT = CardState(
    phase=CardPhase.READY,
    path="/models/draft.gguf",
    name="Qwen3 0.6B",
    details="Q8_0 · 639 MB · 0.6 B · qwen3",
    n_layers=28,
)


def verdict(fits: bool, sentence: str, notes: tuple[str, ...] = ()) -> PairVerdict:
    """A verdict on a pair, of which the window shows sentence and notes."""
    return PairVerdict(
        fits=fits,
        sentence=sentence,
        notes=notes,
        n_compared=100,
        n_different=0 if fits else 1,
        first_difference=None,
    )


def mime_of(*paths: Path | str) -> QMimeData:
    """A drag of local files, or of addresses where a text is given."""
    data = QMimeData()
    data.setUrls([QUrl(p) if isinstance(p, str) else QUrl.fromLocalFile(str(p)) for p in paths])
    return data


@dataclass
class Heard:
    """Collects what signals said."""

    said: list[object] = field(default_factory=list)

    def __call__(self, *values: object) -> None:
        self.said.append(values[0] if len(values) == 1 else values)
