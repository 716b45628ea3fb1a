"""Keys pressed in the real window, with the focus here and there."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.timeline.make import MS
from viewer.app.actions import COMMANDS
from viewer.app.dialogs import go_to
from viewer.drawing.times import TimeError
from viewer.panels.frame_table import FrameTable
from viewer.rows import RowKind
from viewer.state import Hover

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
NONE = Qt.KeyboardModifier.NoModifier


def stream_of(state):
    return next(row for row in state.rows.roots[0].walk() if row.kind is RowKind.STREAM)


def press(window, key, held=NONE):
    """Press a key where the focus is."""
    QTest.keyClick(window.focusWidget() or window, key, held)


@pytest.fixture(params=["canvas", "tree", "table"])
def focused(request, window):
    """The window with the focus on the canvas, the tree of rows or a dock's table."""
    if request.param == "canvas":
        window.timeline.canvas.setFocus()
    elif request.param == "tree":
        window.timeline.headers.setFocus()
    else:
        window.state.measurements.keep(0, 5 * MS)
        panel = next(d.widget() for d in window.docks if d.objectName() == "dock-Measurements")
        panel.parent().raise_()
        panel.findChild(FrameTable).setFocus()
    assert window.focusWidget() is not None
    return window


def test_letters_act_wherever_the_focus_is(focused):
    state = focused.state
    before = state.overlays
    press(focused, Qt.Key.Key_I)
    assert state.overlays == before ^ {"idle"}
    press(focused, Qt.Key.Key_E)
    assert state.overlays == before ^ {"idle", "exposed"}


def test_iterations_by_key(focused):
    state = focused.state
    fit = focused.actions_by_id["fit-iteration"]
    assert fit.iconText() == "3 iterations"
    press(focused, Qt.Key.Key_BracketLeft)
    assert state.iteration == 2
    press(focused, Qt.Key.Key_BracketLeft)
    press(focused, Qt.Key.Key_BracketLeft)
    assert state.iteration == 0
    assert fit.iconText() == "Iteration 0 (1 of 3)"
    iterations = state.iterations
    start, end = state.axis.window
    assert start <= iterations.start_ns(0) < iterations.end_ns(0) <= end
    assert end - start < 1.1 * (iterations.end_ns(0) - iterations.start_ns(0))
    state.axis.go(iterations.start_ns(0), iterations.start_ns(0) + MS)
    press(focused, Qt.Key.Key_Backslash)
    assert state.axis.window == (start, end)


def test_select_zoom_keep_undo(window):
    state = window.state
    press(window, Qt.Key.Key_G)
    stall = state.selection
    assert stall is not None
    assert state.study.parts[0].totals(*stall)[4] == stall[1] - stall[0]
    press(window, Qt.Key.Key_Return)
    assert [(m.start_ns, m.end_ns) for m in state.measurements.items] == [stall]
    press(window, Qt.Key.Key_Z)
    assert state.axis.window == stall
    press(window, Qt.Key.Key_Backspace)
    assert state.axis.window != stall
    press(window, Qt.Key.Key_Z, SHIFT)
    assert (state.axis.window, state.selection) == (stall, None)
    press(window, Qt.Key.Key_Home)
    assert state.axis.window == state.axis.limits
    press(window, Qt.Key.Key_Z, CTRL)
    assert state.measurements.items == ()
    press(window, Qt.Key.Key_Z, CTRL | SHIFT)
    assert len(state.measurements.items) == 1


def test_stalls_forth_and_back(window):
    state = window.state
    state.axis.go(*state.axis.limits)
    press(window, Qt.Key.Key_G)
    first = state.selection
    press(window, Qt.Key.Key_G)
    assert state.selection > first
    press(window, Qt.Key.Key_G, SHIFT)
    assert state.selection == first
    press(window, Qt.Key.Key_X)
    exposed = state.study.parts[0].totals(*state.selection)[2]
    assert exposed == state.selection[1] - state.selection[0]
    press(window, Qt.Key.Key_Escape)
    assert state.selection is None


def test_what_is_idle_on_several_gpus_is_one_stop_and_is_counted(window):
    state = window.state
    state.axis.go(*state.axis.limits)
    said = []
    for _ in range(4):
        press(window, Qt.Key.Key_G)
        said.append((state.selection, window.status.currentMessage()))
    assert [text.split("  ·")[0] for _, text in said] == [
        "Idle stall 1 of 2: 7.000 ms on 2 GPUs at once",
        "Idle stall 2 of 2: 7.000 ms on 2 GPUs at once",
        "No later idle stall that would be seen at this zoom",
        "No later idle stall that would be seen at this zoom",
    ]
    assert said[0][0] == (15 * MS, 22 * MS)
    state.set_filter(state.study.range_scope(30 * MS, 60 * MS, "late"))
    press(window, Qt.Key.Key_G, SHIFT)
    state.select(None)
    press(window, Qt.Key.Key_G)
    assert window.status.currentMessage().startswith("Idle stall 1 of 1: ")
    for row, along in ((state.rows.roots[0], " on 2 GPUs at once"), (stream_of(state), "")):
        state.set_hover(Hover(31 * MS, row))
        state.select(None)
        press(window, Qt.Key.Key_G)
        of = "" if along else f" of {row.path()[0].label}"
        assert window.status.currentMessage().startswith(f"Idle stall 1 of 1{of}: 7.000 ms{along}  ·")


def test_filter_to_the_selection_and_back(window):
    state = window.state
    whole = state.axis.limits
    state.select((10 * MS, 30 * MS))
    press(window, Qt.Key.Key_F)
    assert state.axis.limits == state.axis.window == (10 * MS, 30 * MS)
    press(window, Qt.Key.Key_Home)
    assert state.axis.window == (10 * MS, 30 * MS)
    press(window, Qt.Key.Key_F)
    assert state.axis.limits == whole


def test_events_of_the_row(window):
    state = window.state
    stream = next(r for r in state.rows.roots[0].walk() if r.kind is RowKind.STREAM)
    state.reveal(stream.key)
    state.axis.go(*state.axis.limits)
    press(window, Qt.Key.Key_Period)
    assert state.chosen == stream.events.ref(0, stream.key)
    press(window, Qt.Key.Key_Period)
    assert state.chosen == stream.events.ref(1, stream.key)
    press(window, Qt.Key.Key_Comma)
    assert state.chosen == stream.events.ref(0, stream.key)


def test_the_current_row_is_pinned(window):
    window.timeline.headers.setFocus()
    press(window, Qt.Key.Key_Down)
    row = window.timeline.headers.current_row()
    press(window, Qt.Key.Key_P, CTRL)
    assert window.state.rows.pinned == [row.key]
    press(window, Qt.Key.Key_P, CTRL)
    assert window.state.rows.pinned == []


def test_the_tree_keeps_the_keys_it_moves_by(window):
    state, headers = window.state, window.timeline.headers
    state.rows.apply_preset("lanes")
    headers.setFocus()
    state.select((10 * MS, 30 * MS))
    state.axis.go(*state.selection)
    press(window, Qt.Key.Key_End)
    assert headers.current_row() is state.rows.roots[-1]
    press(window, Qt.Key.Key_Home)
    assert headers.current_row() is state.rows.roots[0]
    assert state.axis.window == (10 * MS, 30 * MS)
    press(window, Qt.Key.Key_Return)
    assert state.measurements.items == ()


def test_the_filter_box_takes_letters_and_leaves_by_escape(window, qtbot):
    state, box = window.state, window.tools.filter_box
    state.select((10 * MS, 30 * MS))
    press(window, Qt.Key.Key_F, CTRL | SHIFT)
    assert window.focusWidget() is box
    overlays = state.overlays
    QTest.keyClicks(box, "ie stream 20")
    assert box.text() == "ie stream 20"
    assert state.overlays == overlays
    box.setText("stream 20")
    qtbot.waitUntil(lambda: state.rows.filter_text == "stream 20")
    press(window, Qt.Key.Key_Return)
    assert state.measurements.items == ()
    assert window.focusWidget() is window.timeline.canvas
    press(window, Qt.Key.Key_F, CTRL | SHIFT)
    press(window, Qt.Key.Key_Escape)
    assert (box.text(), state.rows.filter_text) == ("", "")
    assert state.selection == (10 * MS, 30 * MS)


def test_w_and_d_move_wherever_the_focus_is(focused):
    axis = focused.state.axis
    before = axis.window
    press(focused, Qt.Key.Key_W)
    closer = axis.window
    assert closer[1] - closer[0] == pytest.approx((before[1] - before[0]) / 1.25, abs=2)
    press(focused, Qt.Key.Key_D)
    assert axis.window[0] > closer[0]
    focused.tools.filter_box.setFocus()
    here = axis.window
    press(focused, Qt.Key.Key_W)
    assert axis.window == here


def test_arrows_plus_and_minus_in_the_timeline(window, qtbot):
    state, view = window.state, window.timeline
    view.canvas.setFocus()
    state.rows.set_expanded([r.key for root in state.rows.roots for r in root.walk() if r.children], True)
    qtbot.waitUntil(lambda: view.scroll_bar.maximum() > 0)
    state.axis.go(10 * MS, 30 * MS)
    press(window, Qt.Key.Key_Right)
    assert state.axis.window == (12 * MS, 32 * MS)
    press(window, Qt.Key.Key_Left)
    assert state.axis.window == (10 * MS, 30 * MS)
    press(window, Qt.Key.Key_Plus)
    assert state.axis.window == (12 * MS, 28 * MS)
    press(window, Qt.Key.Key_Minus)
    assert state.axis.window == (10 * MS, 30 * MS)
    press(window, Qt.Key.Key_Down)
    assert view.scroll_bar.value() > 0
    press(window, Qt.Key.Key_Up)
    assert view.scroll_bar.value() == 0


def test_the_key_sheet_opens_and_closes(window, qtbot):
    press(window, Qt.Key.Key_Question, SHIFT)
    sheet = QApplication.activeModalWidget()
    assert sheet is not None
    with qtbot.waitSignal(sheet.finished):
        QTest.keyClick(sheet, Qt.Key.Key_Escape)


def test_a_note_is_written_edited_and_deleted_by_keys(window, qtbot):
    state = window.state
    window.timeline.canvas.setFocus()
    state.select((10 * MS, 30 * MS))
    overlays = state.overlays
    press(window, Qt.Key.Key_M)
    editor = window.timeline.notes.editor
    assert window.focusWidget() is editor
    QTest.keyClicks(editor, "ie, 1 of m")
    press(window, Qt.Key.Key_Return)
    assert [n.text for n in state.notes.items] == ["ie, 1 of m"]
    assert (state.overlays, state.measurements.items) == (overlays, ())
    state.notes.choose(0)
    press(window, Qt.Key.Key_M)
    QTest.keyClicks(editor, "ine")
    press(window, Qt.Key.Key_Escape)
    assert state.notes.items[0].text == "ie, 1 of m"
    press(window, Qt.Key.Key_Delete)
    assert state.notes.items == ()
    press(window, Qt.Key.Key_Z, CTRL)
    assert len(state.notes.items) == 1
    state.notes.choose(0)
    press(window, Qt.Key.Key_Escape)
    assert (state.notes.chosen, state.selection) == (None, (10 * MS, 30 * MS))


def test_undo_takes_back_the_last_edit_of_whichever_kind(window):
    state = window.state
    window.timeline.canvas.setFocus()
    state.select((10 * MS, 30 * MS))
    press(window, Qt.Key.Key_Return)
    press(window, Qt.Key.Key_M)
    QTest.keyClicks(window.timeline.notes.editor, "x")
    press(window, Qt.Key.Key_Return)
    press(window, Qt.Key.Key_Z, CTRL)
    assert (len(state.notes.items), len(state.measurements.items)) == (0, 1)
    press(window, Qt.Key.Key_Z, CTRL)
    assert len(state.measurements.items) == 0
    press(window, Qt.Key.Key_Z, CTRL | SHIFT)
    press(window, Qt.Key.Key_Z, CTRL | SHIFT)
    assert (len(state.notes.items), len(state.measurements.items)) == (1, 1)


def test_bookmarks_are_set_and_gone_to_wherever_the_focus_is(focused):
    state = focused.state
    state.axis.go(10 * MS, 20 * MS)
    press(focused, Qt.Key.Key_3, CTRL)
    state.axis.go(30 * MS, 50 * MS)
    state.rows.set_hidden([state.rows.roots[0].key], True)
    press(focused, Qt.Key.Key_4)
    assert state.axis.window == (30 * MS, 50 * MS)
    press(focused, Qt.Key.Key_3)
    assert state.axis.window == (10 * MS, 20 * MS)
    assert state.rows.roots[0].key not in state.rows.hidden
    focused.tools.filter_box.setFocus()
    QTest.keyClicks(focused.tools.filter_box, "3")
    assert focused.tools.filter_box.text() == "3"


def test_the_row_whose_header_is_under_the_pointer_is_in_hand(window):
    headers = window.timeline.headers
    first, second = headers.visible_rows()[:2]
    headers.setCurrentIndex(headers.model().index(0, 0))
    QTest.mouseMove(headers.viewport(), QPoint(60, second.y + second.height // 2))
    assert window.target.current_row() is second.row
    press(window, Qt.Key.Key_P, CTRL)
    assert window.state.rows.pinned == [second.row.key]
    assert first.row.key not in window.state.rows.pinned


def test_what_a_key_cannot_do_is_said(window):
    status = window.status
    window.state.axis.go(*window.state.axis.limits)
    window.state.select((window.state.axis.limits[1] - 1, window.state.axis.limits[1]))
    press(window, Qt.Key.Key_G)
    assert "No later idle stall" in status.currentMessage()
    press(window, Qt.Key.Key_T)
    assert "Point at a row" in status.currentMessage()
    press(window, Qt.Key.Key_Period)
    assert "Point at the row" in status.currentMessage()


def test_a_message_goes_with_what_it_is_about(window):
    status, state = window.status, window.state
    state.axis.go(*state.axis.limits)
    press(window, Qt.Key.Key_G)
    assert "Idle stall 1" in status.currentMessage()
    press(window, Qt.Key.Key_Escape)
    assert not status.currentMessage()
    press(window, Qt.Key.Key_G)
    state.select((10 * MS, 30 * MS))
    assert not status.currentMessage()
    press(window, Qt.Key.Key_Return)
    assert "Kept" in status.currentMessage()
    press(window, Qt.Key.Key_Z, CTRL)
    assert not state.measurements.items
    assert not status.currentMessage()


def test_a_time_outside_the_trace_is_refused(window):
    before = window.state.axis.window
    with pytest.raises(TimeError, match="nothing at that time"):
        go_to(window.state, "9 s")
    with pytest.raises(TimeError, match="nothing at that time"):
        go_to(window.state, "8s..9s")
    assert window.state.axis.window == before


def test_a_range_is_kept_once_and_shown(window):
    state = window.state
    state.select((10 * MS, 30 * MS))
    press(window, Qt.Key.Key_Return)
    assert window.target.is_panel_shown("Measurements")
    press(window, Qt.Key.Key_Return)
    assert len(state.measurements.items) == 1
    assert "kept already, as Range 1" in window.status.currentMessage()


def test_the_key_of_a_panel_in_front_leaves_it_there(window):
    for _ in range(2):
        press(window, Qt.Key.Key_5, Qt.KeyboardModifier.AltModifier)
        assert window.target.is_panel_shown("Stalls")
        assert not window.target.is_panel_shown("Summary")


def test_hidden_rows_are_counted_and_shown_again(window):
    status, rows = window.status, window.state.rows
    assert status.hidden.isHidden()
    rows.set_hidden([rows.roots[0].key], True)
    assert status.hidden.text() == "1 row hidden · Show"
    QTest.mouseClick(status.hidden, Qt.MouseButton.LeftButton)
    assert not rows.missed
    assert status.hidden.isHidden()


def test_the_durations_of_events_are_chosen_by_key(window, qtbot):
    """What a drag in the histogram of Events does; the row is listed where nothing was."""
    panel = next(d.widget() for d in window.docks if d.objectName() == "dock-Events")
    window.timeline.headers.setFocus()
    press(window, Qt.Key.Key_Down)
    assert window.target.current_row() is not None
    window.target.do(next(c for c in COMMANDS if c.id == "event-durations"))
    assert window.state.listing is not None
    qtbot.waitUntil(lambda: not panel.body.isHidden(), timeout=5_000)
    window.timeline.canvas.setFocus()
    press(window, Qt.Key.Key_D, CTRL)
    assert window.focusWidget() is panel.filters.duration
