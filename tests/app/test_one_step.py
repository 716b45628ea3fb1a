"""What takes nsys-ui several steps, or cannot be had there, takes one here; counted on the demo."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.app.trace_loader import LoadedTrace
from viewer.drawing.bands import StateBand
from viewer.drawing.layout import bands_in
from viewer.rows import build_rows

NONE, LEFT = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton


@pytest.fixture
def demo(open_window, demo_study, qtbot):
    """A window on the demo, all known of it."""
    window = open_window()
    window.resize(1280, 720)
    window.trace_controller.show(LoadedTrace(demo_study, build_rows(demo_study)))
    qtbot.waitUntil(lambda: window.timeline.background_results.stalls is not None, timeout=30_000)
    return window


class Steps:
    """Counts what the user does."""

    def __init__(self, window):
        self.window, self.timeline, self.count = window, window.timeline, 0

    def press(self, key):
        self.count += 1
        QTest.keyClick(self.window.focusWidget() or self.window, key)

    def click(self, strip, pos):
        self.count += 1
        QTest.mouseClick(strip, LEFT, NONE, pos)

    def double_click(self, strip, pos):
        self.count += 1
        QTest.mouseClick(strip, LEFT, NONE, pos)
        QTest.mouseDClick(strip, LEFT, NONE, pos)

    @property
    def table(self):
        return self.timeline.cards.selection.table

    @property
    def about(self):
        return dict(self.table.about)


@pytest.fixture
def steps(demo):
    return Steps(demo)


def widest_bar(window, part):
    """The middle of the longest interval of a category that is in view, on the state lane of its GPU."""
    study, (low, high) = window.state.study, window.state.axis.window
    found = []
    for gpu, breakdown in enumerate(study.parts):
        bars = breakdown.intervals(part, start_ns=low, end_ns=high)
        found += [(int(n), gpu, int(s + n // 2)) for s, n in zip(bars.start_ns, bars.lengths, strict=True)]
    _, gpu, at = max(found)
    canvas = window.timeline.canvas
    placed, band = next((p, b) for p, b in bands_in(canvas.placed, StateBand) if b.gpu == gpu)
    return gpu, QPoint(round(canvas.x_of(at)), placed.y + band.y + band.height // 2)


def test_zoom_to_an_iteration(steps):
    ruler, iterations = steps.timeline.ruler, steps.window.state.iterations
    steps.double_click(ruler, QPoint(round(ruler.x_of(iterations.start_ns(1))) + 9, 6))
    start, end = steps.window.state.axis.window
    assert start <= iterations.start_ns(1) < iterations.end_ns(1) <= end
    assert end - start < 1.1 * iterations.duration_ns[1]
    assert steps.count == 1


def test_measure_a_hole_with_its_true_idle_time_cause_and_share_of_the_iteration(steps):
    gpu, at = widest_bar(steps.window, "idle")
    steps.click(steps.timeline.canvas, at)
    start, end = steps.window.state.selection
    idle = steps.table.numbers.parts_ns[:, CATEGORIES.index("idle")]
    assert idle[gpu] == end - start == steps.table.numbers.length_ns
    assert len(idle) == 8, "of every GPU"
    assert steps.about["Cause"]
    assert "%" in steps.table.where
    assert "iteration" in steps.table.where
    assert steps.count == 1


def test_the_next_hole_and_its_cause(steps):
    steps.press(Qt.Key.Key_G)
    assert steps.about["Cause"]
    assert " of " in steps.window.status.currentMessage()
    assert steps.count == 1


def test_the_last_arriver(steps):
    steps.press(Qt.Key.Key_X)
    assert steps.about["Last to arrive"].startswith("Rank ")
    assert steps.about["Cause"]
    assert steps.count == 1


def test_the_last_arriver_by_a_click(steps):
    _, at = widest_bar(steps.window, "exposed_comm")
    steps.click(steps.timeline.canvas, at)
    assert steps.about["Last to arrive"].startswith("Rank ")
    assert steps.count == 1


def test_share_of_an_iteration(steps):
    ruler, iterations = steps.timeline.ruler, steps.window.state.iterations
    steps.click(ruler, QPoint(round(ruler.x_of(iterations.start_ns(1))) + 9, 6))
    numbers = steps.table.numbers
    assert numbers.length_ns == iterations.duration_ns[1]
    assert (numbers.parts_ns.sum(axis=1) == numbers.length_ns).all()
    assert steps.table.brief.count("%") >= 4
    assert steps.count == 1
