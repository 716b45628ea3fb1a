"""The critical path in the window: key, tool bar, line, headers, status bar, list."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton

from tests.timeline.make import pixels
from viewer.panels.iterations_panel import IterationsPanel
from viewer.rows import RowKind
from viewer.state.navigation import go_to_iteration
from viewer.timeline.headers.header_values import figures
from viewer.timeline.headers.path_values import path_text, path_window


@pytest.fixture
def shown(window, qtbot):
    """The window with the path of iteration 1."""
    QTest.keyClick(window, Qt.Key.Key_P)
    qtbot.waitUntil(lambda: window.state.path.line is not None)
    go_to_iteration(window.state, 1)
    return window


def grabbed(canvas):
    return pixels(canvas.grab().toImage())


def test_the_key_and_the_tool_bar_switch_the_overlay(shown):
    state = shown.state
    assert "path" in state.overlays
    button = next(b for b in shown.tools.findChildren(QToolButton) if b.text() == "Critical path")
    assert button.isChecked()
    button.click()
    assert "path" not in state.overlays
    assert state.path.shown is None


def test_the_line_is_drawn_over_a_lane_and_goes_with_the_overlay(shown):
    with_line = grabbed(shown.timeline.canvas)
    shown.state.set_overlay("path", False)
    without = grabbed(shown.timeline.canvas)
    ink = shown.timeline.theme.event & 0xFFFFFF
    drawn = ((with_line & 0xFFFFFF) == ink) & (with_line != without)
    # A line of two pixels from edge to edge, on one lane or on several.
    assert drawn.sum() > 1.5 * with_line.shape[1]


def test_the_header_says_the_share_of_each_rank(shown):
    state = shown.state
    rows = [row for row in state.rows.roots if row.kind is RowKind.PROCESS]
    texts = [figures(state, row)[0] for row in rows]
    shares = [0.0 if text == "–" else float(text.split()[0].lstrip("<")) for text in texts]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert "on the path" in shown.timeline.headers.model().data(
        shown.timeline.headers.model().index_of(rows[0].key), Qt.ItemDataRole.AccessibleTextRole
    )
    state.set_overlay("path", False)
    assert figures(state, rows[0])[0].endswith("%")


def test_shares_are_of_the_iteration_that_is_looked_at_else_of_the_window(shown):
    state = shown.state
    iterations = state.iterations
    whole = iterations.start_ns(1), iterations.end_ns(1)
    assert path_window(state) == whole
    state.axis.go(whole[0] + 1_000_000, whole[0] + 3_000_000)
    assert path_window(state) == whole
    state.axis.go(*state.axis.limits)
    assert path_window(state) == state.axis.window


def test_the_status_bar_says_that_the_pieces_tile_the_iteration(shown, qtbot):
    qtbot.waitUntil(lambda: "tile the iteration exactly" in shown.status.path.text())
    assert shown.status.path.isVisible()
    assert shown.status.path.text() == path_text(shown.state)
    shown.state.set_overlay("path", False)
    qtbot.waitUntil(lambda: not shown.status.path.isVisible())


def test_the_pieces_are_listed_and_a_click_goes_there(shown, qtbot):
    shown.target.bring_panel("Iterations")
    panel = shown.findChild(IterationsPanel)
    panel.show_path.click()
    page = panel.path_page
    qtbot.waitUntil(lambda: len(page.frame) > 0)
    iterations = shown.state.iterations
    assert int(page.frame["duration_ns"].sum()) == iterations.end_ns(1) - iterations.start_ns(1)
    page.pieces.clicked.emit(page.pieces.frame_model.index(0, 0))
    start = int(page.frame["start_ns"].iat[0])
    assert shown.state.selection == (start, start + int(page.frame["duration_ns"].iat[0]))
    page.by.setCurrentIndex(1)
    page.by.activated.emit(1)
    assert set(page.sums.frame_model.frame["what"]) == set(page.frame["where"])


def test_without_iterations_the_command_is_disabled_and_says_why(window):
    action = window.actions_by_id["overlay-path"]
    assert action.isEnabled()
    window.trace_controller.close()
    assert not action.isEnabled()
    assert action.toolTip() == "Open a trace to see the critical path of its iterations"
