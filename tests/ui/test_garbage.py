"""Cyclic garbage ends in the main thread."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from specviz.ui.garbage import MainThreadCollector


class Node(QObject):
    """An object that only the cyclic collector can end; says in which thread that happened."""

    def __init__(self, ended_in: list[int]) -> None:
        super().__init__()
        self.itself = self
        weakref.finalize(self, lambda: ended_in.append(threading.get_ident()))


@pytest.fixture
def collector(qtbot: QtBot) -> MainThreadCollector:
    gc.enable()  # as in the program; tests with widgets run without
    owner = QObject()
    made = MainThreadCollector(owner, interval_ms=20)
    made.owner = owner  # type: ignore[attr-defined]  # keeps it alive
    return made


def allocate() -> None:
    """More container objects than any threshold of the automatic collector."""
    _ = [[number] for number in range(50_000)]


def test_another_thread_ends_no_qt_objects(collector: MainThreadCollector) -> None:
    # given an object in a cycle that nobody holds
    ended_in: list[int] = []
    Node(ended_in)
    # when another thread allocates a lot
    worker = threading.Thread(target=allocate)
    worker.start()
    worker.join()
    # then it is still there, until the main thread collects
    assert ended_in == []
    gc.collect()
    assert ended_in == [threading.get_ident()]


def test_the_clock_collects(collector: MainThreadCollector, qtbot: QtBot) -> None:
    ended_in: list[int] = []
    Node(ended_in)
    kept = [[number] for number in range(5_000)]
    qtbot.waitUntil(lambda: bool(ended_in), timeout=10_000)
    assert ended_in == [threading.get_ident()]
    assert len(kept) == 5_000


def test_nothing_is_collected_when_nothing_is_due(collector: MainThreadCollector) -> None:
    gc.collect()
    assert collector.collect_if_due() is None
