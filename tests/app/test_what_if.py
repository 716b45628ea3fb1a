"""What-ifs in the window: commands, the prediction under the rows, several changes, how they end."""

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from tests.timeline.make import pixels
from viewer.analysis.replay.changes import CloseIdle, FlattenRanks, FreeLaunches, Scale
from viewer.rows import EventRef, RowKind
from viewer.state.navigation import go_to_iteration
from viewer.timeline.event_menu import fill_event_menu
from viewer.timeline.headers.row_menu import row_menu
from viewer.timeline.strips.prediction import lane_boxes
from viewer.trace import Kind


def texts(menu):
    """The texts of a menu and of all below it."""
    found = []
    for action in menu.actions():
        found.append(action.text())
        if action.menu() is not None:
            found += texts(action.menu())
    return found


def entry(menu, text):
    for action in menu.actions():
        if action.text() == text:
            return action
        if action.menu() is not None and (found := entry(action.menu(), text)) is not None:
            return found
    return None


def settled(window, qtbot):
    qtbot.waitUntil(lambda: window.state.what_if.prediction is not None or window.state.what_if.failure != "")


@pytest.fixture
def tried(window, qtbot):
    """The window with a prediction: launches that take no time."""
    go_to_iteration(window.state, 1)
    window.state.what_if.add(FreeLaunches())
    settled(window, qtbot)
    return window


def test_the_pane_shows_the_numbers_of_the_replay_on_the_axis_of_the_rows(tried):
    pane, prediction = tried.timeline.prediction, tried.state.what_if.prediction
    assert pane.strip.isVisible()
    assert (pane.strip.x(), pane.strip.width()) == (tried.timeline.canvas.x(), tried.timeline.canvas.width())
    assert pane.head.lengths.text() == prediction.lengths_text(1)
    assert prediction.range_text in pane.head.saving.text()
    assert pane.head.sure.text() == prediction.sure_text
    assert bool(pane.head.sure.toolTip()) == bool(prediction.answer.doubts)
    assert tried.timeline.canvas.geometry().bottom() < pane.strip.y()
    picture = pixels(pane.strip.grab().toImage()) & 0xFFFFFF
    predicted = prediction.iterations.start_ns(1) + prediction.lengths_ns(1)[1]
    column = picture[:, round(pane.strip.x_of(predicted))]
    assert (column == (tried.timeline.theme.good & 0xFFFFFF)).mean() > 0.5


def test_it_follows_the_axis(tried):
    strip = tried.timeline.prediction.strip
    before = pixels(strip.grab().toImage())
    low, high = tried.state.axis.window
    tried.state.axis.go(low, low + (high - low) // 4)
    assert (pixels(strip.grab().toImage()) != before).any()


def test_changes_add_up_and_are_removed_one_by_one(tried, qtbot):
    what_if, head = tried.state.what_if, tried.timeline.prediction.head
    what_if.add(CloseIdle())
    assert what_if.prediction is None
    settled(tried, qtbot)
    assert what_if.changes == (FreeLaunches(), CloseIdle())
    head.add.menu().aboutToShow.emit()
    remove = entry(head.add.menu(), f"Remove: {FreeLaunches()}")
    remove.trigger()
    assert what_if.changes == (CloseIdle(),)
    what_if.remove(CloseIdle())
    assert not what_if.is_open
    assert not tried.timeline.prediction.strip.isVisible()


def test_escape_and_the_button_close_it(tried, qtbot):
    tried.state.select((0, 1000))
    QTest.keyClick(tried.timeline.canvas, Qt.Key.Key_Escape)
    assert not tried.state.what_if.is_open
    assert tried.state.selection == (0, 1000)
    tried.state.what_if.add(FreeLaunches())
    assert tried.timeline.prediction.head.isVisible()
    tried.timeline.prediction.head.shut.click()
    assert not tried.state.what_if.is_open


def test_keep_writes_a_note_on_the_iteration(tried):
    tried.timeline.prediction.head.keep.click()
    note = tried.state.notes.items[-1]
    iterations = tried.state.iterations
    assert note.text == tried.state.what_if.prediction.text
    assert (note.start_ns, note.end_ns) == (iterations.start_ns(1), iterations.end_ns(1))


def test_a_change_that_matches_nothing_says_so(window, qtbot):
    window.state.what_if.add(Scale("no such kernel", 0.5))
    settled(window, qtbot)
    head = window.timeline.prediction.head
    assert "no such kernel" in head.saving.text()
    assert not head.keep.isEnabled()


def test_another_trace_closes_it(tried):
    tried.trace_controller.close()
    assert not tried.state.what_if.is_open


def test_the_menus_of_events_and_ranks_offer_their_changes(window):
    state = window.state
    gemm = next(
        i
        for i, n in enumerate(state.study.trace.kernels.name_id)
        if state.study.trace.names[int(n)] == "gemm_0"
    )
    menu = QMenu(window)
    fill_event_menu(menu, state, EventRef(Kind.KERNEL, gemm))
    assert {"gemm_0 lasts", "× 0.5", "Other…"} <= set(texts(menu))
    rank = next(row for row in state.rows.roots if row.kind is RowKind.PROCESS)
    offered = texts(row_menu(state, rank, window))
    assert {"Idle closed on rank 0", "Ranks flattened"} <= set(offered)
    call = EventRef(Kind.API, 0)
    menu = QMenu(window)
    fill_event_menu(menu, state, call)
    assert "This call takes no time" in texts(menu)
    entry(menu, "This call takes no time").trigger()
    assert len(state.what_if.changes) == 1


def test_without_a_trace_or_iterations_the_commands_are_disabled_with_the_reason(window):
    action = window.actions_by_id["what-if"]
    assert action.isEnabled()
    window.trace_controller.close()
    assert not action.isEnabled()
    assert action.toolTip() == "Open a trace first"


def test_the_key_opens_a_menu_at_the_canvas(window, qtbot):
    QTest.keyClick(window.timeline.canvas, Qt.Key.Key_V)
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
    menu = QApplication.activePopupWidget()
    assert "Ranks flattened" in texts(menu)
    entry(menu, "Ranks flattened").trigger()
    menu.close()
    assert window.state.what_if.changes == (FlattenRanks(),)


def test_gestures_move_the_axis_from_the_prediction_too(tried):
    strip = tried.timeline.prediction.strip
    assert strip.hit(QPointF(10, 10)) is None
    before = tried.state.axis.window
    QTest.keyClick(strip, Qt.Key.Key_Plus)
    assert tried.state.axis.window != before


def test_a_selected_hole_is_closed_on_the_rank_of_the_row(window, qtbot):
    state = window.state
    rank = next(row for row in state.rows.roots if row.kind is RowKind.PROCESS and row.process == 1)
    state.select((15_000_000, 22_000_000))
    menu = row_menu(state, rank, window)
    chosen = entry(menu, "Close this hole") or entry(menu, "Close the selected time on Rank 1")
    chosen.trigger()
    change = state.what_if.changes[0]
    assert (change.start_ns, change.end_ns) == (15_000_000, 22_000_000)


def test_lanes_stand_where_the_iteration_in_view_was_recorded(window, qtbot):
    state = window.state
    go_to_iteration(state, 2)
    state.what_if.add(CloseIdle())
    settled(window, qtbot)
    prediction, strip = state.what_if.prediction, window.timeline.prediction.strip
    shift = prediction.shift_ns(2)
    assert shift > 1_000_000
    copies = prediction.study.trace.events[Kind.MEMCPY]
    last = copies.of(0).stop - 1
    middle = (int(copies.start_ns[last]) + int(copies.end_ns[last])) // 2
    picture = pixels(strip.grab().toImage()) & 0xFFFFFF
    box = lane_boxes(2, strip.grid())[0]
    colour = picture[(box.top + box.bottom) // 2, round(strip.x_of(middle + shift))]
    assert colour == window.timeline.theme.parts[3] & 0xFFFFFF
