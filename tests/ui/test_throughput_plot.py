"""The live curves: painted in their colours, on axes that stand still, at a flat cost."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage
from support.traces import (
    RunMode,
    TraceBuilder,
    baseline_of,
    lively_run,
    long_run,
    run_config,
)

from specviz.trace.events import StopReason
from specviz.trace.metrics import ThroughputSeries
from specviz.ui.curve_shapes import envelope, means
from specviz.ui.figures import THIN
from specviz.ui.theme import DARK, LIGHT
from specviz.ui.throughput_plot import ThroughputPlot, ceiling, grid_step


@pytest.fixture
def plot(qtbot):
    plot = ThroughputPlot()
    qtbot.addWidget(plot)
    plot.resize(324, plot.height())
    plot.apply_palette(DARK)
    plot.show()
    return plot


def pixels_of(image: QImage, colour: str, tolerance: int = 24) -> int:
    wanted = QColor(colour)
    near = 0
    for y in range(image.height()):
        for x in range(image.width()):
            c = image.pixelColor(x, y)
            near += (
                abs(c.red() - wanted.red())
                + abs(c.green() - wanted.green())
                + abs(c.blue() - wanted.blue())
            ) <= tolerance
    return near


def test_the_curve_is_painted(plot):
    empty = pixels_of(plot.grab().toImage(), DARK.accent)
    plot.show_traces(None, lively_run(50).trace)
    drawn = pixels_of(plot.grab().toImage(), DARK.accent)
    assert drawn - empty > 200


def test_the_baseline_is_painted_in_its_own_colour(plot):
    before = pixels_of(plot.grab().toImage(), DARK.quiet)
    plot.show_traces(baseline_of(lively_run(50).trace), None)
    assert pixels_of(plot.grab().toImage(), DARK.quiet) - before > 100


def test_a_palette_recolours_the_curve(plot):
    plot.show_traces(None, lively_run(50).trace)
    plot.apply_palette(LIGHT)
    assert pixels_of(plot.grab().toImage(), LIGHT.accent) > 200


def test_labels_are_inside_the_widget(plot):
    plot.show_traces(None, lively_run(50).trace)
    labels = plot.labels()
    assert len(labels) >= 3
    assert labels[0][1] == "0"
    for box, text in labels:
        assert text
        assert box.top() >= 0 and box.left() >= 0
        assert box.bottom() <= plot.height() and box.right() <= plot.width()


def test_the_curve_lies_where_the_labels_say(plot):
    """pyqtgraph's own view must agree with the grid that is painted here."""
    plot.show_traces(None, lively_run(50).trace)
    view = plot._canvas.getPlotItem().getViewBox()
    (x0, x1), (y0, y1) = view.viewRange()
    assert (x0, y0) == (0, 0)
    assert x1 == pytest.approx(plot.x_range[1])
    assert y1 == pytest.approx(plot.y_range[1])
    rect, area = view.sceneBoundingRect(), plot.plot_rect()
    assert abs(rect.width() - area.width()) <= 2
    assert abs(rect.height() - area.height()) <= 2


def test_it_draws_the_series_of_the_metrics(plot):
    trace = lively_run(50).trace
    plot.show_traces(None, trace)
    series = ThroughputSeries(trace)
    n = series.extend()
    assert plot.speculative.n == n == 50
    assert np.array_equal(plot.speculative.x, series.seconds)
    assert np.array_equal(plot.speculative.y, series.rates)


def test_growing_equals_showing_whole(plot):
    whole = lively_run(60)
    live = TraceBuilder()
    plot.show_traces(None, live.trace)
    for step in whole.trace.steps:
        live.trace.append(step)
        plot.refresh()
    assert plot.speculative.n == 60
    series = ThroughputSeries(whole.trace)
    series.extend()
    assert np.array_equal(plot.speculative.y, series.rates)


def test_nothing_new_draws_nothing(plot):
    plot.show_traces(None, lively_run(50).trace)
    before = plot.n_updates
    plot.refresh()
    assert plot.n_updates == before


def test_axes_grow_in_steps_and_fit_at_the_end(plot):
    builder = TraceBuilder()
    plot.show_traces(None, builder.trace)
    ranges = set()
    for i in range(100):
        builder.step([f" a{i}"], 1, f" b{i}", seconds=0.1)
        plot.refresh()
        ranges.add(plot.x_range)
    assert len(ranges) <= 5
    assert plot.x_range[1] > builder.t - 0.3
    builder.finish()
    plot.refresh(final=True)
    assert plot.x_range[1] == pytest.approx(plot.speculative.end)


def test_a_cut_at_the_end_is_taken_into_account(plot):
    builder = TraceBuilder()
    for i in range(12):
        builder.step([f" a{i}", f" b{i}"], 2, f" c{i}", seconds=0.1)
    plot.show_traces(None, builder.trace)
    before = float(plot.speculative.y[-1])
    builder.finish(StopReason.STOP_TEXT, n_committed=30)
    plot.refresh(final=True)
    series = ThroughputSeries(builder.trace)
    series.extend()
    assert float(plot.speculative.y[-1]) == series.rates[-1] < before


def test_many_points_cost_no_more_per_update(plot):
    """50 000 points over two curves: an update copies only what is new, draws what fits."""
    baseline = TraceBuilder(run_config(RunMode.BASELINE))
    baseline.plain(*[" x"] * 25_000, seconds=0.001)
    builder = long_run(200)
    plot.show_traces(baseline.finish(), builder.trace)
    copied = []
    while plot.speculative.n < 25_000:
        for _ in range(1000):
            builder.step(target=" y", seconds=0.001)
        before = plot.speculative.n
        plot.refresh()
        copied.append(plot.speculative.n - before)
    assert set(copied) == {1000}
    assert plot.baseline.n == 25_000
    plot.grab()
    for line in plot._lines.values():
        drawn, _ = line.curve.getData()
        assert 50 < len(drawn) <= 4 * plot.width()


def test_what_is_drawn_keeps_peaks_and_ends():
    x = np.linspace(0, 10, 10_000)
    y = 20 + np.sin(x * 50)
    y[4321], y[7777] = 90.0, 1.0
    dx, dy = envelope(x, y, 10.0, 100)
    assert len(dx) == 400
    assert (dy.max(), dy.min()) == (90.0, 1.0)
    assert (dx[0], dx[-1], dy[0], dy[-1]) == (x[0], x[-1], y[0], y[-1])
    assert np.all(np.diff(dx) >= 0)


def test_the_dashed_curve_is_thinned_to_means():
    x = np.linspace(0, 10, 10_000)
    dx, dy = means(x, 20 + np.sin(x * 500), 10.0, 100)
    assert len(dx) == 100
    assert (dx[0], dx[-1]) == (x[0], x[-1])
    assert np.all(np.abs(dy - 20) < 0.5)


def test_short_curves_are_drawn_as_they_are():
    x = np.arange(50.0)
    assert envelope(x, x, 50.0, 300)[1] is x
    assert means(x, x, 50.0, 100)[1] is x


def test_empty_it_shows_a_grid_and_no_curve(plot):
    assert plot._canvas is None
    assert plot.text() == "Nothing has been measured yet."
    plot.grab()


def test_a_new_pair_starts_anew(plot):
    plot.show_traces(None, lively_run(50).trace)
    plot.show_traces(None, None)
    assert plot.speculative.n == 0
    assert plot.text() == "Nothing has been measured yet."
    assert pixels_of(plot.grab().toImage(), DARK.accent) < 200


def test_hovering_tells_both_rates(plot):
    trace = lively_run(50).trace
    plot.show_traces(baseline_of(trace, seconds=0.1), trace)
    lines = plot.tooltip(plot.plot_rect().center().x()).split("\n")
    assert lines[0].startswith("after ")
    assert f"baseline 10.0{THIN}tok/s" in lines
    assert plot.tooltip(-50) == ""


@pytest.mark.parametrize(("value", "rung"), [(0.3, 0.3), (33, 50), (7.6, 10), (10, 10), (0, 1)])
def test_ceilings(value, rung):
    assert ceiling(value, (1, 2, 3, 5, 7.5)) == pytest.approx(rung)


@pytest.mark.parametrize("top", [0.5, 1, 4, 15, 40, 60, 80, 300, 2000])
def test_there_are_a_few_grid_lines(top):
    assert 2 <= top / grid_step(top) <= 5
