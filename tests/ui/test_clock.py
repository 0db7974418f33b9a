"""The draw clock ticks while running, once more at the end, and stands still when idle."""

from __future__ import annotations

from specviz.ui.clock import FIGURES_MS, FRAME_MS, DrawClock


def test_frames_come_at_most_thirty_and_figures_four_times_a_second():
    assert 1000 / FRAME_MS <= 30
    assert 1000 / FIGURES_MS == 4


def test_ticks_while_running(qtbot):
    clock = DrawClock()
    with qtbot.waitSignals([clock.frame, clock.figures], timeout=5000):
        clock.start()
    assert clock.running
    clock.stop()
    assert not clock.running


def test_one_tick_after_the_stop_and_none_after_that(qtbot):
    clock = DrawClock()
    ticks = []
    clock.start()
    clock.stop()
    clock.frame.connect(lambda: ticks.append("frame"))
    clock.figures.connect(lambda: ticks.append("figures"))
    qtbot.waitUntil(lambda: len(ticks) == 2)
    assert ticks == ["frame", "figures"]
    qtbot.wait(3 * FRAME_MS)
    assert len(ticks) == 2


def test_stopping_an_idle_clock_does_nothing(qtbot):
    clock = DrawClock()
    ticks = []
    clock.frame.connect(lambda: ticks.append(1))
    clock.stop()
    qtbot.wait(2 * FRAME_MS)
    assert not ticks


def test_a_restart_takes_the_place_of_the_last_tick(qtbot):
    clock = DrawClock()
    clock.start()
    clock.stop()
    clock.start()
    assert clock.running
    with qtbot.waitSignal(clock.frame, timeout=5000):
        pass
    clock.stop()
