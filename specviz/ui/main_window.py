"""The window: where everything stands, and what the user asked for. No logic of runs or files.

Views are made elsewhere and handed in; the window places them and never looks inside.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from PySide6.QtCore import QByteArray, QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from specviz.errors import SpecvizError
from specviz.trace.config import Role, RunMode
from specviz.ui.appearance import apply_palette
from specviz.ui.dialogs import FileDialogs
from specviz.ui.drop import DropKind, DropOverlay, DropPlan, local_paths
from specviz.ui.first_launch import FirstLaunch
from specviz.ui.icons import application_icon
from specviz.ui.main_menu import MainMenu, MenuSlots, RecentPair
from specviz.ui.messages import MessageArea, ShownMessage
from specviz.ui.model_card import CardPhase
from specviz.ui.panels import LEFT, RIGHT, STRIP, PanelWishes
from specviz.ui.plain_text import label
from specviz.ui.setup_panel import SetupPanel
from specviz.ui.theme import (
    LEFT_PANEL_WIDTH,
    MINIMUM_SIZE,
    NARROW_WIDTH,
    PANEL_PADDING,
    RIGHT_PANEL_WIDTH,
    STRIP_HEIGHT,
    Palette,
    ThemeName,
    palette_for,
)
from specviz.ui.top_bar import TopBar
from specviz.ui.window_mode import WindowMode

START_SIZE = QSize(1440, 900)
LEAST_CENTRE = 440
_LEFT_LIMITS = (264, 440)
_RIGHT_LIMITS = (300, 560)


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """The widgets that show runs. `replay` stands at the left end of the step strip.

    `sweep` takes the place of verdict, conversation and charts, `sweep_bar` that of the prompt.
    """

    verdict: QWidget
    conversation: QWidget
    legend: QWidget
    prompt_bar: QWidget
    throughput: QWidget
    drafts: QWidget
    times: QWidget
    break_even: QWidget
    costs: QWidget
    sources: QWidget
    settings: QWidget
    strip: QWidget
    inspector: QWidget
    sweep: QWidget
    sweep_bar: QWidget
    replay: QWidget | None = None


@runtime_checkable
class Paintable(Protocol):
    """A view that paints with the palette's colours itself."""

    def apply_palette(self, palette: Palette) -> None: ...


class MainWindow(QMainWindow):
    """Top bar, setup on the left, conversation in the middle, charts on the right, steps below.

    `setup`, `messages`, `first_launch` and `dialogs` are there for the controller to use.

    Signals:
        files_dropped(list[Path]): local models, or a folder, were dropped beside the cards.
        target_chosen(Path), draft_chosen(Path): a file was picked for a slot, or dropped on it.
        slot_cleared(Role): a slot is to be emptied.
        swap_requested(): target and draft are to be exchanged.
        demo_pair_requested(): the demo pair is to be loaded.
        settings_changed(): a setting of the panel was changed; `setup.config()` has it.
        mode_changed(WindowMode): the user chose another mode.
        open_trace_requested(Path): a stored trace was picked or dropped.
        export_requested(str): one of the kinds of dialogs.EXPORT_KINDS.
        theme_toggled(): theme or colours were changed by the user; `state()` has them.
        palette_changed(Palette): other colours are in use.
        run_requested(): the prompt is to be run.
        run_again_requested(): the last turn is to be measured again.
        edit_last_requested(): the last turn is to be edited.
        new_chat_requested(): a conversation without turns is to begin.
        cancel_requested(): what is under way is to be stopped.
        restart_engine_requested(): the engine is to be started anew.
        settings_view_requested(): the settings in effect are to be shown.
        measure_requested(): what checks and drafts cost is to be measured.
        check_requested(): what is known of the output is to be shown, and can be checked.
        close_requested(): the user wants to leave; `allow_close`, then `close`, lets it happen.
    """

    files_dropped = Signal(list)
    target_chosen = Signal(object)
    draft_chosen = Signal(object)
    slot_cleared = Signal(object)
    swap_requested = Signal()
    demo_pair_requested = Signal()
    settings_changed = Signal()
    mode_changed = Signal(object)
    open_trace_requested = Signal(object)
    export_requested = Signal(str)
    theme_toggled = Signal()
    palette_changed = Signal(object)
    run_requested = Signal()
    run_again_requested = Signal()
    edit_last_requested = Signal()
    new_chat_requested = Signal()
    cancel_requested = Signal()
    restart_engine_requested = Signal()
    settings_view_requested = Signal()
    measure_requested = Signal()
    check_requested = Signal()
    close_requested = Signal()

    def __init__(self, views: Views) -> None:
        super().__init__()
        self.theme: ThemeName = "system"
        self.colour_blind = False
        self.look = palette_for(self.theme, self.colour_blind)
        # before the widgets are made: each is then styled once, and has its font from the start
        apply_palette(_application(), self.look)
        self.setObjectName("main-window")
        self.setWindowTitle("SpecViz")
        self.setWindowIcon(application_icon())
        self.setMinimumSize(*MINIMUM_SIZE)
        self.resize(START_SIZE)
        self.setAcceptDrops(True)
        self.views = views
        self.dialogs = FileDialogs(self)
        self.setup = SetupPanel()
        self.messages = MessageArea()
        self.first_launch = FirstLaunch()
        self._wishes = PanelWishes()
        self._may_close = self._invites = False
        self._menu = MainMenu(self, self._menu_slots())
        self.top_bar = TopBar(self._menu.export_menu, self._menu.menu)
        self._build()
        self.overlay = DropOverlay(self)
        self._connect()
        self.set_mode(self.setup.config().mode)
        self._paint_views()
        self._show_panels()
        self._take_drops_from_children()

    # ---- building -------------------------------------------------------------------------------
    def _build(self) -> None:
        central = QWidget()
        central.setProperty("kind", "ground")
        layout = QVBoxLayout(central)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.top_bar)
        layout.addWidget(_line())
        layout.addWidget(self._body(), 1)
        layout.addWidget(self._bottom())
        self.setCentralWidget(central)
        if sys.platform == "darwin":
            for menu in self._menu.menus:
                self.menuBar().addMenu(menu)

    def _body(self) -> QSplitter:
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setObjectName("body")
        self._splitter.setHandleWidth(1)
        self._splitter.setChildrenCollapsible(False)
        self.setup.setMinimumWidth(_LEFT_LIMITS[0])
        self.setup.setMaximumWidth(_LEFT_LIMITS[1])
        self._charts = self._right_panel()
        self._charts.setMinimumWidth(_RIGHT_LIMITS[0])
        self._charts.setMaximumWidth(_RIGHT_LIMITS[1])
        centre = self._centre()
        centre.setMinimumWidth(LEAST_CENTRE)
        for widget in (self.setup, centre, self._charts):
            self._splitter.addWidget(widget)
        self._splitter.setStretchFactor(0, 0)
        self._splitter.setStretchFactor(1, 1)
        self._splitter.setStretchFactor(2, 0)
        middle = START_SIZE.width() - LEFT_PANEL_WIDTH - RIGHT_PANEL_WIDTH
        self._splitter.setSizes([LEFT_PANEL_WIDTH - 1, middle, RIGHT_PANEL_WIDTH - 1])
        for side in (self.setup, self._charts):
            side.installEventFilter(self)
        return self._splitter

    def _centre(self) -> QWidget:
        centre = _surface("ground", "centre")
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self._stack = QStackedWidget()
        self._stack.setObjectName("centre-stack")
        run = QWidget()
        run_layout = QVBoxLayout(run)
        run_layout.setContentsMargins(0, 0, 0, 0)
        run_layout.setSpacing(0)
        run_layout.addWidget(self.views.verdict)
        run_layout.addWidget(_line())
        run_layout.addWidget(self.views.conversation, 1)
        for page in (run, self.first_launch, self.views.sweep):
            self._stack.addWidget(page)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self.messages)
        layout.addWidget(_line())
        for below in (self.views.legend, self.views.prompt_bar, self.views.sweep_bar):
            layout.addWidget(below)
        self._run_page = run
        return centre

    def _right_panel(self) -> QScrollArea:
        content = _surface("panel", "charts")
        layout = QVBoxLayout(content)
        layout.setContentsMargins(PANEL_PADDING, 11, PANEL_PADDING, PANEL_PADDING)
        layout.setSpacing(0)
        for title, view in (
            ("Tokens per second", self.views.throughput),
            ("", self.views.drafts),
            ("Where the time goes", self.views.times),
            ("Break-even", self.views.break_even),
            ("Cost of a check, target steps", self.views.costs),
            ("Drafting sources", self.views.sources),
        ):
            if title:  # a view without one here has a heading of its own
                heading = label(title.upper(), "section")
                heading.setAccessibleName(title)
                heading.setFixedHeight(22)
                heading.setContentsMargins(0, 2, 0, 0)
                layout.addWidget(heading)
                layout.addSpacing(4)
            layout.addWidget(view)
            layout.addSpacing(14)
        layout.addWidget(self.views.settings, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addStretch(1)
        area = QScrollArea()
        area.setObjectName("charts-panel")
        area.setAccessibleName("Charts")
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(content)
        return area

    def _bottom(self) -> QWidget:
        self._strip_panel = _surface("panel", "steps-panel")
        self._strip_panel.setFixedHeight(STRIP_HEIGHT)
        outer = QVBoxLayout(self._strip_panel)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(_line())
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        if self.views.replay is not None:
            self.views.replay.setFixedWidth(LEFT_PANEL_WIDTH)
            row.addWidget(self.views.replay)
        else:
            row.addSpacing(PANEL_PADDING - 6)
        row.addWidget(self.views.strip, 1)
        row.addWidget(_line(vertical=True))
        self.views.inspector.setFixedWidth(RIGHT_PANEL_WIDTH - 1)
        row.addWidget(self.views.inspector)
        outer.addLayout(row, 1)
        return self._strip_panel

    def _menu_slots(self) -> MenuSlots:
        return MenuSlots(
            open_target=lambda: self.choose(Role.TARGET),
            open_draft=lambda: self.choose(Role.DRAFT),
            swap=self.swap_requested.emit,
            demo=self.demo_pair_requested.emit,
            open_recent=self._open_recent,
            open_trace=self.choose_trace,
            open_export=lambda: self.top_bar.open_export_menu(),
            export=self.export_requested.emit,
            restart_engine=self.restart_engine_requested.emit,
            quit=self.close,
            run=self.run_requested.emit,
            run_again=self.run_again_requested.emit,
            edit_last=self.edit_last_requested.emit,
            new_chat=self.new_chat_requested.emit,
            stop=self.cancel_requested.emit,
            measure=self.measure_requested.emit,
            check=self.check_requested.emit,
            go_to_prompt=self.focus_prompt,
            go_to_settings=self.focus_settings,
            set_theme=self._user_sets_theme,
            toggle_theme=self.toggle_theme,
            set_colour_blind=self._user_sets_colour_blind,
            toggle_panel=self.toggle_panel,
            show_settings=self.settings_view_requested.emit,
            open_menu=lambda: self.top_bar.open_main_menu(),
            show_shortcuts=self.show_shortcuts,
            show_about=self.show_about,
        )

    def _connect(self) -> None:
        bar, setup = self.top_bar, self.setup
        bar.mode_chosen.connect(self._on_mode)
        bar.panel_toggled.connect(self.toggle_panel)
        bar.open_trace_requested.connect(self.choose_trace)
        bar.theme_requested.connect(self.toggle_theme)
        bar.new_chat_requested.connect(self.new_chat_requested)
        setup.settings_changed.connect(self.settings_changed)
        setup.choose_requested.connect(self.choose)
        setup.recent_chosen.connect(self._choose_path)
        setup.clear_requested.connect(self.slot_cleared)
        setup.swap_requested.connect(self.swap_requested)
        self.first_launch.demo_requested.connect(self.demo_pair_requested)
        self.first_launch.choose_requested.connect(lambda: self.choose(Role.TARGET))
        self.messages.restart_requested.connect(self.restart_engine_requested)
        self.overlay.dropped.connect(self._on_dropped)
        hints = QGuiApplication.styleHints()
        if hints is not None:
            hints.colorSchemeChanged.connect(self._on_desktop_scheme)

    # ---- what it is told ------------------------------------------------------------------------
    def show_first_launch(self, show: bool) -> None:
        """Show the invitation in place of verdict and conversation, or no longer."""
        self._invites = show
        self._show_centre()

    @property
    def shows_first_launch(self) -> bool:
        return self._stack.currentWidget() is self.first_launch

    def _show_centre(self) -> None:
        """The page and the bar below it that belong to the mode."""
        sweeps = self.window_mode is WindowMode.SWEEP
        page = self.views.sweep if sweeps else self._run_page
        self._stack.setCurrentWidget(self.first_launch if self._invites else page)
        self.views.legend.setVisible(not sweeps)
        self.views.prompt_bar.setVisible(not sweeps)
        self.views.sweep_bar.setVisible(sweeps)

    def show_error(self, error: SpecvizError) -> None:
        """Show an error without stopping anyone."""
        self.messages.show_error(error)

    def show_message(self, message: ShownMessage) -> None:
        """Show a message without stopping anyone."""
        self.messages.show_message(message)

    def set_mode(self, mode: WindowMode | RunMode) -> None:
        """Show another mode without announcing it."""
        self.top_bar.modes.set_value(mode.value)
        self._show_mode()

    @property
    def window_mode(self) -> WindowMode:
        return WindowMode(self.top_bar.modes.value)

    @property
    def mode(self) -> RunMode:
        """The mode of the next run."""
        return self.window_mode.run_mode

    def _show_mode(self) -> None:
        self.setup.set_mode(self.mode)
        self._show_centre()
        self._show_panels()

    def set_recent(self, pairs: Sequence[RecentPair]) -> None:
        """Pairs used before, newest first; the cards offer their files singly."""
        self._menu.set_recent(pairs)
        targets = [pair.target for pair in pairs]
        drafts = [pair.draft for pair in pairs if pair.draft is not None]
        for role, paths in ((Role.TARGET, targets), (Role.DRAFT, drafts)):
            self.setup.set_recent(role, list(dict.fromkeys(paths)))

    def set_enabled(
        self,
        *,
        run: bool = True,
        stop: bool = False,
        run_again: bool = False,
        chat: bool = False,
        models: bool = True,
        trace: bool = True,
        export: bool = True,
        restart: bool = True,
        measure: bool = False,
        check: bool = False,
    ) -> None:
        """What the user can ask for at the moment, in menus, by keys and by buttons.

        `chat`: a conversation can be edited or left behind. `measure`: costs can be measured.
        `check`: there is an output to look into.
        """
        for name, enabled in (
            ("run-action", run),
            ("stop-action", stop),
            ("run-again-action", run_again),
            ("edit-last-action", chat),
            ("new-chat-action", chat),
            ("open-target-action", models),
            ("open-draft-action", models),
            ("swap-action", models),
            ("demo-action", models),
            ("open-trace-action", trace),
            ("export-action", export),
            ("restart-engine-action", restart),
            ("measure-costs-action", measure),
            ("check-output-action", check),
        ):
            self._action(name).setEnabled(enabled)
        self._menu.recent_menu.setEnabled(models)
        self._menu.export_menu.setEnabled(export)
        self.top_bar.export_button.setEnabled(export)
        self.top_bar.trace_button.setEnabled(trace)
        self.top_bar.new_chat_button.setEnabled(chat)
        self.top_bar.modes.setEnabled(models)
        self.first_launch.set_enabled(models)

    def set_export_enabled(self, kind: str, enabled: bool, *, offered: bool = True) -> None:
        """Whether there is something to export in this way; `offered`: the mode has such a way."""
        action = cast(Any, self._menu.export_menu.findChild(QObject, f"export-{kind}-action"))
        action.setEnabled(enabled)
        action.setVisible(offered)

    # ---- theme ----------------------------------------------------------------------------------
    def set_theme(self, theme: ThemeName, colour_blind: bool) -> None:
        """Use this theme from now on."""
        self.theme, self.colour_blind = theme, colour_blind
        look = palette_for(theme, colour_blind)
        if look != self.look:
            self.look = look
            apply_palette(_application(), look)
            self._paint_views()
        self._mark_theme()

    def toggle_theme(self) -> None:
        """Dark instead of light, or the other way round."""
        self._user_sets_theme("light" if self.look.is_dark else "dark")

    def _user_sets_theme(self, theme: str) -> None:
        self.set_theme(cast(ThemeName, theme), self.colour_blind)
        self.theme_toggled.emit()

    def _user_sets_colour_blind(self, on: bool) -> None:
        self.set_theme(self.theme, on)
        self.theme_toggled.emit()

    def _on_desktop_scheme(self) -> None:
        self.set_theme(self.theme, self.colour_blind)

    def _paint_views(self) -> None:
        """Tell the views that paint themselves, and everybody else, which colours are in use."""
        for each in fields(self.views):
            view = getattr(self.views, each.name)
            if isinstance(view, Paintable):
                view.apply_palette(self.look)
        self._mark_theme()
        self.palette_changed.emit(self.look)

    def _mark_theme(self) -> None:
        for theme, action in self._menu.theme_actions.items():
            action.setChecked(theme == self.theme)
        self._menu.colour_blind_action.setChecked(self.colour_blind)

    # ---- panels ---------------------------------------------------------------------------------
    def toggle_panel(self, panel: str) -> None:
        """Show a panel that is hidden, hide one that is shown."""
        self._wishes.set_shown(panel, not self._wishes.shown(panel))
        self._show_panels()

    def panel_shown(self, panel: str) -> bool:
        """Whether `left`, `right` or `strip` is shown."""
        return self._wishes.shown(panel)

    def _show_panels(self) -> None:
        sweeps = self.window_mode is WindowMode.SWEEP
        for panel, widget in (
            (LEFT, self.setup),
            (RIGHT, self._charts),
            (STRIP, self._strip_panel),
        ):
            # charts and steps are those of a run; the wishes are kept while there is none
            there = panel == LEFT or not sweeps
            shown = there and self._wishes.shown(panel)
            self.top_bar.panels[panel].setEnabled(there)
            self._menu.panel_actions[panel].setEnabled(there)
            widget.setVisible(shown)
            self.top_bar.show_panel(panel, shown)
            self._menu.panel_actions[panel].setChecked(shown)
        self._align_bottom()

    def _align_bottom(self) -> None:
        """The inspector stands under the charts and the replay under the setup."""
        if self._charts.isVisible():
            self.views.inspector.setFixedWidth(self._charts.width())
        if self.setup.isVisible() and self.views.replay is not None:
            self.views.replay.setFixedWidth(self.setup.width() + 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._wishes.set_narrow(event.size().width() < NARROW_WIDTH):
            self._show_panels()
        if self.overlay.isVisible():
            self.overlay.setGeometry(self.rect())

    # ---- going somewhere ------------------------------------------------------------------------
    def focus_prompt(self) -> None:
        """Put the cursor into the prompt, or go to the form of the sweep."""
        if self.window_mode is WindowMode.SWEEP:
            self.views.sweep.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return
        edit = self.views.prompt_bar.findChild(QWidget, "prompt-edit")
        (edit or self.views.prompt_bar).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def focus_settings(self) -> None:
        """Show the setup and go to its first setting, or to the one that is wrong."""
        if not self._wishes.shown(LEFT):
            self.toggle_panel(LEFT)
        self.setup.focus_first()

    def choose(self, role: Role) -> None:
        """Let the user pick a file for a slot."""
        self.dialogs.choose_model(role, lambda path: self._choose_path(role, path))

    def _choose_path(self, role: Role, path: Path) -> None:
        signal = self.target_chosen if role is Role.TARGET else self.draft_chosen
        signal.emit(path)

    def choose_trace(self) -> None:
        """Let the user pick a stored trace."""
        self.dialogs.open_trace(self.open_trace_requested.emit)

    def _open_recent(self, pair: RecentPair) -> None:
        self.target_chosen.emit(pair.target)
        if pair.draft is not None:
            self.draft_chosen.emit(pair.draft)
        else:
            self.slot_cleared.emit(Role.DRAFT)

    def show_shortcuts(self) -> None:
        """Open the sheet of shortcuts."""
        from specviz.ui.shortcuts import ShortcutSheet  # not needed to start

        ShortcutSheet(self).open()

    def show_about(self) -> None:
        """Open the box that says what this is."""
        from specviz.ui.about import AboutBox  # not needed to start

        AboutBox(self).open()

    def _on_mode(self, mode: WindowMode) -> None:
        self._show_mode()
        self.mode_changed.emit(mode)

    def _action(self, name: str) -> Any:
        return next(action for action in self.actions() if action.objectName() == name)

    # ---- dropping -------------------------------------------------------------------------------
    def _take_drops_from_children(self) -> None:
        """Text fields take drops themselves; files held over them belong to the window."""
        for child in self.findChildren(QWidget):
            if child.acceptDrops() and child is not self.overlay:
                child.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched in (self.setup, self._charts):
            self._align_bottom()
        if event.type() == QEvent.Type.DragEnter:
            return self._offer(cast(QDragEnterEvent, event))
        return super().eventFilter(watched, event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if not self._offer(event):
            super().dragEnterEvent(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        # the overlay is told of the drag with its next move; if there is none, it must go
        QTimer.singleShot(0, self.overlay.leave_unless_entered)

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.overlay.take()

    def _offer(self, event: QDragEnterEvent) -> bool:
        paths = local_paths(event.mimeData())
        if not paths or self.setup.locked:
            return False
        has_target = self.setup.cards[Role.TARGET].state.phase is not CardPhase.EMPTY
        self.overlay.offer(paths, self._card_places(), has_target)
        event.acceptProposedAction()
        return True

    def _card_places(self) -> dict[Role, QRect]:
        return {
            role: QRect(card.mapTo(self, QPoint(0, 0)), card.size())
            for role, card in self.setup.cards.items()
            if card.isVisible()
        }

    def _on_dropped(self, plan: DropPlan) -> None:
        if plan.kind is DropKind.TRACE:
            self.open_trace_requested.emit(plan.paths[0])
        elif plan.over_card and plan.role is not None:
            self._choose_path(plan.role, plan.paths[0])
        else:
            self.files_dropped.emit(list(plan.paths))

    # ---- leaving --------------------------------------------------------------------------------
    def allow_close(self) -> None:
        """The next close closes."""
        self._may_close = True

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.focusWidget() is None:
            self.focus_prompt()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._may_close:
            event.accept()
            return
        event.ignore()
        self.close_requested.emit()

    # ---- remembering ----------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """What is remembered of the window between starts, as plain JSON values."""
        geometry = bytes(self.saveGeometry().data())
        return {
            "geometry": base64.b64encode(geometry).decode("ascii"),
            "panels": self._wishes.state(),
            "sizes": self._splitter.sizes(),
            "setup": self.setup.state(),
            "folders": self.dialogs.folders(),
            "theme": self.theme,
            "colour_blind": self.colour_blind,
        }

    def restore_state(self, state: object) -> None:
        """Take up a remembered state; whatever is odd in it is ignored."""
        if not isinstance(state, dict):
            return
        self._restore_geometry(state.get("geometry"))
        self._wishes.restore(state.get("panels"))
        self._restore_sizes(state.get("sizes"))
        self.setup.restore_state(state.get("setup"))
        self.dialogs.restore_folders(state.get("folders"))
        theme = state.get("theme")
        self.set_theme(
            theme if theme in ("dark", "light", "system") else self.theme,
            state.get("colour_blind") is True,
        )
        self._show_panels()

    def _restore_geometry(self, geometry: object) -> None:
        if not isinstance(geometry, str):
            return
        try:
            decoded = base64.b64decode(geometry, validate=True)
        except ValueError:
            return
        self.restoreGeometry(QByteArray(decoded))

    def _restore_sizes(self, sizes: object) -> None:
        """Widths of the side panels; one that was hidden when it was remembered has none."""
        if not (isinstance(sizes, list) and len(sizes) == 3):
            return
        if not all(isinstance(size, int) and 0 <= size < 100_000 for size in sizes):
            return
        now = self._splitter.sizes()
        self._splitter.setSizes([size or now[index] for index, size in enumerate(sizes)])


def _application() -> QApplication:
    application = QApplication.instance()
    assert isinstance(application, QApplication), "a window needs an application object"
    return application


def _surface(kind: str, name: str) -> QWidget:
    widget = QWidget()
    widget.setObjectName(name)
    widget.setProperty("kind", kind)
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    return widget


def _line(vertical: bool = False) -> QFrame:
    line = QFrame()
    line.setProperty("kind", "line")
    if vertical:
        line.setFixedWidth(1)
    else:
        line.setFixedHeight(1)
    return line
