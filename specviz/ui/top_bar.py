"""The bar at the top: name, mode, panels, trace, export, theme, menu."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QWidget

from specviz.ui.icons import IconButton, MenuButton
from specviz.ui.plain_text import describe, label
from specviz.ui.segments import Segment, SegmentedControl
from specviz.ui.theme import TOP_BAR_HEIGHT
from specviz.ui.window_mode import WindowMode

MODES = (
    Segment(
        WindowMode.BASELINE.value,
        "Baseline",
        "Runs the target alone, which gives the speed that drafting is measured against.",
        "mode-baseline",
    ),
    Segment(
        WindowMode.SPECULATIVE.value,
        "Speculative",
        "Runs with drafting, and a baseline before it where there is none to compare with.",
        "mode-speculative",
    ),
    Segment(
        WindowMode.SWEEP.value,
        "Sweep",
        "Runs many drafting settings over several prompts, and shows which of them pay.",
        "mode-sweep",
    ),
)

PANELS = {
    "left": ("left-panel-button", "panel-left", "Setup panel", "Shows or hides the setup."),
    "strip": ("strip-button", "panel-bottom", "Step strip", "Shows or hides the steps."),
    "right": ("right-panel-button", "panel-right", "Charts panel", "Shows or hides the charts."),
}


class TopBar(QWidget):
    """Name, mode and the things that concern the whole window.

    Signals:
        mode_chosen(WindowMode): the user chose a mode.
        panel_toggled(str): left, strip or right is to be shown or hidden.
        open_trace_requested(): a stored trace is to be opened.
        theme_requested(): dark and light are to be exchanged.
        new_chat_requested(): a conversation without turns is to begin.
    """

    mode_chosen = Signal(object)
    panel_toggled = Signal(str)
    open_trace_requested = Signal()
    theme_requested = Signal()
    new_chat_requested = Signal()

    def __init__(self, export_menu: QMenu, main_menu: QMenu, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("top-bar")
        self.setProperty("kind", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(TOP_BAR_HEIGHT - 1)
        self._export_menu, self._main_menu = export_menu, main_menu
        self.modes = SegmentedControl(MODES)
        self.modes.setObjectName("mode")
        self.modes.setAccessibleName("Mode")
        self.modes.chosen.connect(lambda value: self.mode_chosen.emit(WindowMode(value)))
        self.panels: dict[str, IconButton] = {}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(18, 1, 18, 0)
        layout.setSpacing(16)
        layout.addWidget(label("SpecViz", "name"))
        layout.addWidget(self.modes)
        layout.addWidget(self._new_chat_button())
        layout.addStretch(1)
        layout.addLayout(self._panel_buttons())
        for button in (self._trace_button(), self._export_button()):
            layout.addWidget(button)
        last = QHBoxLayout()
        last.setSpacing(8)
        last.addWidget(self._theme_button())
        last.addWidget(self._menu_button())
        layout.addLayout(last)

    def _panel_buttons(self) -> QHBoxLayout:
        line = QHBoxLayout()
        line.setSpacing(2)
        for panel, (name, _drawing, words, effect) in PANELS.items():
            button = IconButton(PANELS[panel][1], quiet=True)
            button.setObjectName(name)
            button.setProperty("kind", "flat")
            button.setFixedSize(30, 30)
            describe(button, words, effect)
            button.clicked.connect(lambda _on, which=panel: self.panel_toggled.emit(which))
            self.panels[panel] = button
            line.addWidget(button)
        return line

    def _new_chat_button(self) -> IconButton:
        button = IconButton("new-chat")
        button.setObjectName("new-chat-button")
        button.setProperty("kind", "flat")
        button.setFixedSize(30, 30)
        describe(
            button,
            "New chat",
            "Begins a conversation without earlier turns; the models stay loaded.",
        )
        button.clicked.connect(self.new_chat_requested)
        self.new_chat_button = button
        return button

    def _trace_button(self) -> QPushButton:
        button = QPushButton("Open trace…")
        button.setObjectName("open-trace-button")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        describe(button, "Open trace", "Opens a stored run to look at; no models are needed.")
        button.clicked.connect(self.open_trace_requested)
        self.trace_button = button
        return button

    def _export_button(self) -> MenuButton:
        button = MenuButton("Export")
        button.setObjectName("export-button")
        describe(button, "Export", "Saves pictures, tables or the trace of what is shown.")
        button.clicked.connect(self.open_export_menu)
        self.export_button = button
        return button

    def _theme_button(self) -> IconButton:
        button = IconButton("contrast")
        button.setObjectName("theme-button")
        describe(button, "Switch theme", "Switches between the dark and the light theme.")
        button.clicked.connect(self.theme_requested)
        button.setFixedSize(38, 30)
        return button

    def _menu_button(self) -> IconButton:
        button = IconButton("menu")
        button.setObjectName("menu-button")
        describe(button, "Menu", "Opens the menu with everything the program can do.")
        button.clicked.connect(self.open_main_menu)
        button.setFixedSize(38, 30)
        self.menu_button = button
        return button

    def show_panel(self, panel: str, shown: bool) -> None:
        """Mark whether a panel is shown."""
        drawing = PANELS[panel][1]
        self.panels[panel].set_icon(f"{drawing}-filled" if shown else drawing)

    def open_export_menu(self) -> None:
        """Drop the export menu down."""
        if self.export_button.isEnabled():
            _drop_down(self._export_menu, self.export_button)

    def open_main_menu(self) -> None:
        """Drop the main menu down."""
        _drop_down(self._main_menu, self.menu_button)


def _drop_down(menu: QMenu, button: QWidget) -> None:
    """Below the button, aligned with its right edge."""
    corner = button.mapToGlobal(QPoint(button.width(), button.height() + 4))
    menu.popup(corner - QPoint(menu.sizeHint().width(), 0))
