"""What mouse, wheel and keys do, on a real window."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.analysis.make import TraceMaker
from tests.timeline.make import MS, state_of, training
from viewer.rows import RowKind
from viewer.timeline.timeline import Timeline

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
LATE = 200_000_000_000


@pytest.fixture
def open_timeline(on_screen):
    """A function that shows a trace, unfolded, in a timeline of 1200 x 700."""

    def show(trace):
        state = state_of(trace)
        timeline = on_screen(Timeline(state, "raster"), 1200, 700)
        state.rows.set_expanded([r.key for root in state.rows.roots for r in root.walk()], True)
        return timeline

    return show


def hole(start_ns):
    """A stream with a hole of exactly 300 ms."""
    maker = TraceMaker(session_ns=start_ns + 3000 * MS)
    maker.kernel(start_ns + 100 * MS, start_ns + 1000 * MS + 123)
    maker.kernel(start_ns + 1300 * MS + 123, start_ns + 2500 * MS)
    return maker.trace()


def point(timeline, time_ns, kind=RowKind.STREAM, dx=0):
    """Where an instant is on the canvas, in the first row of a kind."""
    placed = next(p for p in timeline.canvas.placed if p.row.kind is kind)
    x = round(timeline.canvas.x_of(time_ns)) + dx
    return QPoint(x, placed.y + placed.height // 2)


def drag(widget, begin, end, button=LEFT, held=NONE):
    QTest.mousePress(widget, button, held, begin)
    for step in range(1, 5):
        at = begin + (end - begin) * step / 4
        move(widget, at, button, held)
    QTest.mouseRelease(widget, button, held, end)


def move(widget, at, button=Qt.MouseButton.NoButton, held=NONE):
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QMouseEvent

    pos = QPointF(at)
    event = QMouseEvent(
        QEvent.Type.MouseMove, pos, widget.mapToGlobal(pos), Qt.MouseButton.NoButton, button, held
    )
    QApplication.sendEvent(widget, event)


def wheel(widget, at, notches, held=NONE):
    pos = QPointF(at)
    event = QWheelEvent(
        pos, widget.mapToGlobal(pos), QPoint(), QPoint(0, round(120 * notches)),
        Qt.MouseButton.NoButton, held, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


@pytest.mark.parametrize("start_ns", [0, LATE])
@pytest.mark.parametrize("view_ms", [(0, 3000), (900, 1400), (990, 1310)])
def test_drag_over_a_300_ms_stall_reads_300_ms(open_timeline, start_ns, view_ms):
    timeline = open_timeline(hole(start_ns))
    state = timeline.state
    state.axis.go(*(start_ns + t * MS for t in view_ms))
    low, high = start_ns + 1000 * MS + 123, start_ns + 1300 * MS + 123
    drag(timeline.canvas, point(timeline, low, dx=3), point(timeline, high, dx=-3))
    assert state.selection == (low, high)
    assert state.selection[1] - state.selection[0] == 300 * MS
    numbers = timeline.cards.selection.numbers
    assert numbers.parts_ns[0].tolist() == [0, 0, 0, 0, 300 * MS]


def test_shift_drags_without_snapping(open_timeline):
    timeline = open_timeline(hole(0))
    begin, end = point(timeline, 1000 * MS, dx=3), point(timeline, 1300 * MS, dx=-3)
    drag(timeline.canvas, begin, end, held=SHIFT)
    canvas = timeline.canvas
    assert timeline.state.selection == (canvas.time_at(begin.x()), canvas.time_at(end.x()))


def test_edge_of_the_selection_is_dragged(open_timeline):
    timeline = open_timeline(hole(0))
    state = timeline.state
    state.select((1000 * MS, 1200 * MS))
    drag(timeline.canvas, point(timeline, 1200 * MS), point(timeline, 1300 * MS, dx=2))
    assert state.selection == (1000 * MS, 1300 * MS + 123)


def test_tag_on_the_ruler_moves_the_selection_as_a_whole(open_timeline):
    timeline = open_timeline(hole(0))
    timeline.state.select((1000 * MS, 1400 * MS))
    timeline.ruler.grab()
    x = round(timeline.ruler.x_of(1200 * MS))
    drag(timeline.ruler, QPoint(x, 27), QPoint(x + 50, 27))
    low, high = timeline.state.selection
    assert high - low == 400 * MS
    assert low == pytest.approx(1000 * MS + timeline.ruler.time_at(50) - timeline.ruler.time_at(0), abs=2)


def test_escape_while_dragging_restores_the_selection(open_timeline):
    timeline = open_timeline(hole(0))
    timeline.state.select((10 * MS, 20 * MS))
    begin = point(timeline, 1500 * MS)
    QTest.mousePress(timeline.canvas, LEFT, NONE, begin)
    move(timeline.canvas, begin + QPoint(80, 0), LEFT)
    assert timeline.state.selection != (10 * MS, 20 * MS)
    QTest.keyClick(timeline.canvas, Qt.Key.Key_Escape)
    assert timeline.state.selection == (10 * MS, 20 * MS)
    QTest.mouseRelease(timeline.canvas, LEFT, NONE, begin)


def test_double_click_on_the_selection_zooms_and_deselects(open_timeline):
    timeline = open_timeline(hole(0))
    timeline.state.select((1000 * MS, 1300 * MS))
    QTest.mouseDClick(timeline.canvas, LEFT, NONE, point(timeline, 1100 * MS))
    assert timeline.state.axis.window == (1000 * MS, 1300 * MS)
    assert timeline.state.selection is None


def test_ctrl_wheel_zooms_a_quarter_a_notch_at_the_pointer(open_timeline):
    timeline = open_timeline(hole(LATE))
    axis = timeline.state.axis
    at = QPoint(300, 40)
    before, under = axis.window, timeline.canvas.time_at(300)
    wheel(timeline.canvas, at, 1, CTRL)
    assert axis.window[1] - axis.window[0] == pytest.approx((before[1] - before[0]) / 1.25, abs=2)
    pixel = (axis.window[1] - axis.window[0]) / timeline.canvas.width()
    assert timeline.canvas.time_at(300) == pytest.approx(under, abs=pixel)


def test_run_of_notches_is_one_step_back(open_timeline):
    timeline = open_timeline(hole(0))
    axis = timeline.state.axis
    before = axis.window
    for _ in range(8):
        wheel(timeline.canvas, QPoint(400, 40), 1, CTRL)
    assert axis.window != before
    axis.back()
    assert axis.window == before
    assert not axis.can_back


def test_wheel_scrolls_the_rows(open_timeline):
    timeline = open_timeline(training(ranks=6))
    assert timeline.scroll_bar.maximum() > 0
    window = timeline.state.axis.window
    wheel(timeline.canvas, QPoint(400, 40), -2)
    assert timeline.scroll_bar.value() > 0
    assert timeline.canvas.placed == timeline.headers.visible_rows()
    assert timeline.canvas.placed[0].y <= 0
    assert timeline.state.axis.window == window


def test_middle_button_and_space_pan(open_timeline):
    timeline = open_timeline(hole(0))
    state = timeline.state
    state.axis.go(1000 * MS, 1500 * MS)
    step = timeline.canvas.time_at(100) - timeline.canvas.time_at(0)
    drag(timeline.canvas, QPoint(300, 40), QPoint(200, 40), Qt.MouseButton.MiddleButton)
    assert state.axis.window[0] == pytest.approx(1000 * MS + step, abs=2)
    QTest.keyPress(timeline.canvas, Qt.Key.Key_Space)
    drag(timeline.canvas, QPoint(200, 40), QPoint(300, 40))
    QTest.keyRelease(timeline.canvas, Qt.Key.Key_Space)
    assert state.axis.window[0] == pytest.approx(1000 * MS, abs=4)
    assert state.selection is None


def test_click_selects_an_event_and_ctrl_double_click_fits_it(open_timeline):
    timeline = open_timeline(hole(0))
    state = timeline.state
    at = point(timeline, 500 * MS)
    QTest.mouseClick(timeline.canvas, LEFT, NONE, at)
    assert state.chosen is not None
    assert state.chosen.index == 0
    QTest.mouseDClick(timeline.canvas, LEFT, CTRL, at)
    low, high = state.axis.window
    assert low < 100 * MS
    assert high > 1000 * MS
    assert (900 * MS) / (high - low) == pytest.approx(0.6, abs=0.01)
    empty = point(timeline, 1150 * MS)
    QTest.mouseClick(timeline.canvas, LEFT, NONE, empty)
    assert state.chosen is None


def test_letters_zoom_and_pan(open_timeline):
    timeline = open_timeline(hole(0))
    axis = timeline.state.axis
    axis.go(1000 * MS, 2000 * MS)
    QTest.keyClick(timeline.canvas, Qt.Key.Key_D)
    assert axis.window == (1100 * MS, 2100 * MS)
    QTest.keyClick(timeline.canvas, Qt.Key.Key_A, SHIFT)
    assert axis.window == (700 * MS, 1700 * MS)
    QTest.keyClick(timeline.canvas, Qt.Key.Key_W)
    assert axis.window == (800 * MS, 1600 * MS)
    QTest.keyClick(timeline.canvas, Qt.Key.Key_S)
    assert axis.window == (700 * MS, 1700 * MS)


def test_pointer_is_followed_and_forgotten(open_timeline):
    timeline = open_timeline(hole(0))
    move(timeline.canvas, point(timeline, 1150 * MS))
    hover = timeline.state.hover
    assert hover.time_ns == pytest.approx(1150 * MS, abs=3 * MS)
    assert hover.row.kind is RowKind.STREAM
    assert hover.event is None
    move(timeline.canvas, point(timeline, 500 * MS))
    assert timeline.state.hover.event is not None


def test_overview_handle_moves_and_resizes_the_window(open_timeline):
    timeline = open_timeline(hole(0))
    axis, overview = timeline.state.axis, timeline.overview
    axis.go(1000 * MS, 1600 * MS)
    middle, right = round(overview.x_of(1300 * MS)), round(overview.x_of(1600 * MS))
    drag(overview, QPoint(middle, 20), QPoint(middle + 100, 20))
    shift = overview.time_at(100) - overview.time_at(0)
    assert axis.window[0] == pytest.approx(1000 * MS + shift, abs=2)
    axis.go(1000 * MS, 1600 * MS)
    drag(overview, QPoint(right, 20), QPoint(right + 100, 20))
    assert axis.window[0] == 1000 * MS
    assert axis.window[1] == pytest.approx(1600 * MS + shift, abs=2)


def test_splitter_moves_the_border_for_all_strips(open_timeline):
    timeline = open_timeline(hole(0))
    timeline.place.set_header_width(260)
    lefts = {s.x() for s in (timeline.overview, timeline.ruler, timeline.canvas)}
    assert lefts == {261}
    assert timeline.headers.width() == 260


def test_drag_beyond_the_edge_moves_the_window_on(open_timeline, qtbot):
    timeline = open_timeline(hole(0))
    state = timeline.state
    state.axis.go(0, 500 * MS)
    begin = point(timeline, 450 * MS)
    QTest.mousePress(timeline.canvas, LEFT, SHIFT, begin)
    move(timeline.canvas, QPoint(timeline.canvas.width() + 200, begin.y()), LEFT, SHIFT)
    qtbot.waitUntil(lambda: state.axis.window[0] > 100 * MS)
    assert state.selection[1] > 600 * MS
    QTest.mouseRelease(timeline.canvas, LEFT, SHIFT, begin)
    assert state.selection[0] == pytest.approx(450 * MS, abs=MS)


def test_the_pointer_is_read_again_when_the_picture_moves_below_it(open_timeline):
    timeline = open_timeline(training())
    state, canvas = timeline.state, timeline.canvas
    move(canvas, QPoint(300, 10))
    before = state.hover.time_ns
    state.axis.zoom(0.5, state.axis.window[0])
    assert state.hover.time_ns != before
    assert state.hover.time_ns == canvas.time_at(300)
