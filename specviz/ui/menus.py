"""Menus with round corners, and actions with a stable name, a shortcut and a sentence."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget


def rounded_menu(parent: QWidget | None = None, title: str = "") -> QMenu:
    """A menu whose corners show what is behind them."""
    menu = QMenu(title, parent)
    round_corners(menu)
    return menu


def round_corners(menu: QMenu) -> None:
    """Let the style sheet's round corners be seen through."""
    menu.setWindowFlag(Qt.WindowType.FramelessWindowHint)
    menu.setWindowFlag(Qt.WindowType.NoDropShadowWindowHint)
    menu.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
    menu.setToolTipsVisible(True)


def make_action(
    parent: QObject,
    text: str,
    slot: Callable[[], object],
    *,
    name: str,
    shortcut: str | QKeySequence.StandardKey = "",
    effect: str = "",
    checkable: bool = False,
) -> QAction:
    """An action; `name` is its stable object name, `effect` one sentence on what it does."""
    action = QAction(text, parent)
    action.setObjectName(name)
    action.setCheckable(checkable)
    if shortcut:
        action.setShortcut(QKeySequence(shortcut))
    if effect:
        action.setStatusTip(effect)
        action.setToolTip(effect)
    action.triggered.connect(lambda _checked=False: slot())
    return action


def plain_menu_text(text: str) -> str:
    """A text for a menu entry, with no letter of it taken for a mnemonic."""
    return text.replace("&", "&&")
