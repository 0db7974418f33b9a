"""Dropping files anywhere in the window: what a drop would do, and the overlay that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QMimeData, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import QWidget

from specviz.models.readable import file_label
from specviz.trace.config import Role
from specviz.ui.dialogs import TRACE_SUFFIX
from specviz.ui.icons import pixmap
from specviz.ui.typefaces import display_font, interface_font


class DropKind(StrEnum):
    """What was dropped."""

    MODELS = "models"
    FOLDER = "folder"
    TRACE = "trace"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPlan:
    """What a drop would do: a headline, a sentence, and the paths it is about.

    `role`: the slot that one model file will go to, where that is certain.
    `over_card`: the user held it over a card, so the slot was chosen.
    """

    kind: DropKind
    paths: tuple[Path, ...] = ()
    role: Role | None = None
    over_card: bool = False
    headline: str
    sentence: str


def local_paths(data: QMimeData | None) -> list[Path]:
    """The local files and folders in a drag; nothing from other machines."""
    if data is None or not data.hasUrls():
        return []
    return [
        Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile() and url.toLocalFile()
    ]


def plan_drop(paths: Sequence[Path], *, over: Role | None, has_target: bool) -> DropPlan:
    """What dropping `paths` would do; `over` is the card they are held over."""
    traces = [path for path in paths if path.name.lower().endswith(TRACE_SUFFIX)]
    models = [path for path in paths if path.suffix.lower() == ".gguf"]
    if traces and len(paths) == 1:
        return DropPlan(
            kind=DropKind.TRACE,
            paths=(traces[0],),
            headline="Open this trace",
            sentence=f"Shows the run stored in {file_label(traces[0])}; no models are needed.",
        )
    if len(paths) == 1 and paths[0].is_dir():
        return DropPlan(
            kind=DropKind.FOLDER,
            paths=(paths[0],),
            headline="Look for models in this folder",
            sentence=f"The GGUF files in {file_label(paths[0])} are offered as target and draft.",
        )
    if len(models) == len(paths) and models:
        return _plan_models(models, over, has_target)
    return DropPlan(
        kind=DropKind.NOTHING,
        headline="This cannot be opened",
        sentence="Drop one or two GGUF models, a folder with models, or one SpecViz trace.",
    )


def _plan_models(models: list[Path], over: Role | None, has_target: bool) -> DropPlan:
    if len(models) == 1:
        return _plan_model(models[0], over, has_target)
    if len(models) == 2:
        return DropPlan(
            kind=DropKind.MODELS,
            paths=tuple(models),
            headline="Use as target and draft",
            sentence="The larger file becomes the target, the smaller one its draft.",
        )
    return DropPlan(
        kind=DropKind.MODELS,
        paths=tuple(models),
        headline=f"Look at these {len(models)} files",
        sentence="They are offered as target and draft; parts of one model count as one.",
    )


def _plan_model(model: Path, over: Role | None, has_target: bool) -> DropPlan:
    """Held over a card, a model goes there; elsewhere its size decides once there is a target."""
    role = over or (None if has_target else Role.TARGET)
    name = file_label(model)
    return DropPlan(
        kind=DropKind.MODELS,
        paths=(model,),
        role=role,
        over_card=over is not None,
        headline=f"Use as the {role.value}" if role is not None else "Use this model",
        sentence=f"{name} goes into the {role.value} slot."
        if role is not None
        else f"{name} becomes the draft when it is smaller than the target, else the target. "
        "Hold it over a card to choose yourself.",
    )


class DropOverlay(QWidget):
    """Covers the window while files are held over it, and takes the drop.

    Signals:
        dropped(DropPlan): files were let go and can be used.
    """

    dropped = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("drop-overlay")
        self.setAccessibleName("Drop files")
        self.setAcceptDrops(True)
        self.hide()
        self.plan: DropPlan | None = None
        self._paths: list[Path] = []
        self._entered = False
        self._cards: dict[Role, QRect] = {}
        self._has_target = False

    def offer(self, paths: list[Path], cards: dict[Role, QRect], has_target: bool) -> None:
        """Cover the window for a drag of these files; `cards` are the cards' places in it."""
        self._paths, self._cards, self._has_target = paths, cards, has_target
        self._entered = False
        self._think(None)
        parent = self.parentWidget()
        assert parent is not None
        self.setGeometry(parent.rect())
        self.raise_()
        self.show()

    def leave_unless_entered(self) -> None:
        """The drag left the window before it reached the overlay."""
        if not self._entered:
            self.hide()

    def take(self) -> None:
        """The files were let go."""
        self.hide()
        if self.plan is not None and self.plan.kind is not DropKind.NOTHING:
            self.dropped.emit(self.plan)

    def _think(self, at: QPointF | None) -> None:
        over = None
        if at is not None:
            over = next(
                (role for role, rect in self._cards.items() if rect.contains(at.toPoint())), None
            )
        plan = plan_drop(self._paths, over=over, has_target=self._has_target)
        if plan != self.plan:
            self.plan = plan
            self.setAccessibleDescription(f"{plan.headline}. {plan.sentence}")
            self.update()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._entered = True
        self._think(event.position())
        event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._think(event.position())
        event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._think(event.position())
        event.acceptProposedAction()
        self.take()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.plan is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = QGuiApplication.palette()
        veil = QColor(colours.color(QPalette.ColorRole.Shadow))
        veil.setAlphaF(0.94)
        painter.fillRect(self.rect(), veil)
        refused = self.plan.kind is DropKind.NOTHING
        accent = colours.color(
            QPalette.ColorRole.BrightText if refused else QPalette.ColorRole.Accent
        )
        self._paint_frame(painter, accent)
        self._paint_words(painter, colours, accent)

    def _paint_frame(self, painter: QPainter, accent: QColor) -> None:
        pen = QPen(accent, 1.5, Qt.PenStyle.CustomDashLine)
        pen.setDashPattern([4, 4])
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(8, 8, -8, -8), 14, 14)
        assert self.plan is not None
        rect = self._cards.get(self.plan.role) if self.plan.role is not None else None
        if rect is not None:
            painter.setPen(QPen(accent, 2))
            painter.drawRoundedRect(QRectF(rect).adjusted(-2, -2, 2, 2), 11, 11)

    def _paint_words(self, painter: QPainter, colours: QPalette, accent: QColor) -> None:
        assert self.plan is not None
        middle = self.rect().center()
        scale = self.devicePixelRatioF()
        drawing = pixmap("drop", accent.name(), round(40 * scale))
        drawing.setDevicePixelRatio(scale)
        painter.drawPixmap(QPointF(middle.x() - 20, middle.y() - 84), drawing)
        flags = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        painter.setPen(colours.color(QPalette.ColorRole.WindowText))
        painter.setFont(display_font(28))
        painter.drawText(QRect(0, middle.y() - 28, self.width(), 40), flags, self.plan.headline)
        painter.setPen(colours.color(QPalette.ColorRole.PlaceholderText))
        painter.setFont(interface_font(14))
        words = QRect(64, middle.y() + 16, self.width() - 128, 80)
        painter.drawText(words, flags | int(Qt.TextFlag.TextWordWrap), self.plan.sentence)
