"""The draw clock ticks while running, once more at the end, and stands still when idle."""

from __future__ import annotations

import time

from specviz.ui.clock import (
    FIGURES_MS,
    FRAME_MS,
    FREE_SHARE,
    SHARED_SHARE,
    SLOWEST_MS,
    DrawClock,
    computes_on_all_cores,
    pause_ms,
)


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


def test_the_clock_slows_down_until_the_window_keeps_to_its_share():
    assert pause_ms(0.0, SHARED_SHARE) == FRAME_MS
    assert pause_ms(3.0, 0.03) == 100
    assert pause_ms(3.0, FREE_SHARE) == FRAME_MS
    assert pause_ms(500.0, SHARED_SHARE) == SLOWEST_MS


def test_costly_drawing_makes_frames_rare_only_where_cores_are_shared(qtbot):
    def frames_in_a_second(shared):
        clock = DrawClock()
        clock.set_shared(shared)
        frames = []

        def draw():
            frames.append(1)
            begin = time.thread_time()
            while time.thread_time() - begin < 0.008:
                pass

        clock.frame.connect(draw)
        clock.start()
        qtbot.wait(1000)
        clock.stop()
        return len(frames)

    assert frames_in_a_second(shared=True) < frames_in_a_second(shared=False)


def test_a_core_or_a_gpu_to_spare_is_told_from_none():
    assert computes_on_all_cores({"target_n_threads": 4, "target_n_gpu_layers": 0}, 4)
    assert not computes_on_all_cores({"target_n_threads": 3}, 4)
    assert not computes_on_all_cores({"target_n_threads": 4, "target_n_gpu_layers": 12}, 4)
    assert not computes_on_all_cores({}, 4)
