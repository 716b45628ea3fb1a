"""From a stall to its cause by menu, key and palette, in the real window."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from viewer.app.actions import COMMANDS
from viewer.app.command_palette import CommandPalette, matching
from viewer.app.trace_index import Found, index_trace
from viewer.panels.details_panel import DetailsPanel
from viewer.panels.events_panel import EventsPanel
from viewer.rows import EventRef
from viewer.rows.presets import launch_rows
from viewer.state import ALL_ROWS, Listing
from viewer.state.jobs import join_all
from viewer.trace import Kind


@pytest.fixture(autouse=True)
def _quiet():
    yield
    join_all()


def front(window):
    return [d.widget() for d in window.docks if not d.widget().visibleRegion().isEmpty()]


def test_a_row_is_listed_by_key(window, qtbot):
    row = window.state.rows.roots[0]
    window.state.reveal(row.key)
    window.actions_by_id["list-events"].trigger()
    panel = window.findChild(EventsPanel)
    qtbot.waitUntil(lambda: panel.events is not None and panel.events.row is row)
    assert panel in front(window)


def test_find_comes_by_key_and_goes_with_its_marks(window, qtbot):
    assert [k.toString() for k in window.actions_by_id["find"].shortcuts()] == ["Ctrl+F", "/"]
    window.actions_by_id["find"].trigger()
    qtbot.waitUntil(window.find_bar.text.hasFocus)
    name = window.state.study.trace.names[int(window.state.study.trace.kernels.name_id[0])]
    window.find_bar.text.setText(name)
    qtbot.waitUntil(lambda: window.state.search_result is not None)
    assert window.actions_by_id["find-next"].isEnabled()
    window.actions_by_id["find-next"].trigger()
    assert window.state.chosen.kind is Kind.KERNEL
    qtbot.keyClick(window.find_bar.text, Qt.Key.Key_Escape)
    assert window.state.search_result is None
    assert window.timeline.canvas.hasFocus()


def test_the_other_end_of_a_launch_has_a_key(window):
    action = window.actions_by_id["other-end"]
    assert not action.isEnabled()
    launches = window.state.study.launches
    call = int(launches.api_of(Kind.KERNEL)[0])
    window.state.select_event(EventRef(Kind.KERNEL, 0))
    assert action.isEnabled()
    action.trigger()
    assert call < 0 or (window.state.chosen.kind, window.state.chosen.index) == (Kind.API, call)


def test_launch_distance_comes_into_view_and_goes_by_its_key(window, qtbot):
    rows = window.state.rows
    keys = set(launch_rows(rows.roots))
    seen = lambda: {placed.row.key for placed in window.timeline.canvas.placed}  # noqa: E731
    assert not keys & seen()
    qtbot.keyClick(window, Qt.Key.Key_Q)
    qtbot.waitUntil(lambda: bool(keys & seen()))
    qtbot.keyClick(window, Qt.Key.Key_Q)
    qtbot.waitUntil(lambda: not keys & seen())


def test_panels_come_to_the_front_and_go_again(window, qtbot):
    details = window.findChild(DetailsPanel)
    action = window.actions_by_id["panel-details"]
    assert not action.isChecked()
    action.trigger()
    qtbot.waitUntil(lambda: details in front(window))
    assert action.isChecked()
    action.trigger()
    assert window.target.is_panel_shown("Details")
    details.parent().titleBarWidget().findChild(QToolButton).click()
    qtbot.waitUntil(lambda: not window.target.is_panel_shown("Details"))
    qtbot.waitUntil(lambda: not action.isChecked())


def test_every_command_is_in_the_palette_and_runs_from_it(window, qtbot):
    done = []
    palette = CommandPalette(done.append, lambda command: command.id != "quit", window)
    qtbot.addWidget(palette)
    assert set(palette.commands()) == set(COMMANDS)
    qtbot.keyClicks(palette.text, "next idle")
    assert palette.commands()[0].id == "next-idle"
    qtbot.keyClick(palette.text, Qt.Key.Key_Return)
    assert [command.id for command in done] == ["next-idle"]


def test_the_palette_ranks_and_greys(window, qtbot):
    assert matching("find")[0].id == "find"
    assert matching("no such thing") == []
    done = []
    palette = CommandPalette(done.append, lambda command: False, window)
    qtbot.addWidget(palette)
    qtbot.keyClick(palette.text, Qt.Key.Key_Return)
    assert done == []


def typed(window, qtbot, text):
    """Open the palette as the key does, and type."""
    window.actions_by_id["palette"].trigger()
    palette = window.findChild(CommandPalette)
    qtbot.waitUntil(lambda: palette._index is not None)
    qtbot.keyClicks(palette.text, text)
    return palette


def test_the_palette_goes_to_an_iteration(window, qtbot):
    palette = typed(window, qtbot, "iteration 2")
    (thing,) = palette.things()
    assert thing.title.startswith("Iteration 2")
    while not isinstance(palette.list.currentItem().data(Qt.ItemDataRole.UserRole), Found):
        qtbot.keyClick(palette.text, Qt.Key.Key_Down)
    qtbot.keyClick(palette.text, Qt.Key.Key_Return)
    assert window.state.iteration == 2


def test_the_palette_shows_a_row_that_is_folded_away_and_hidden(window, qtbot):
    state = window.state
    row = next(r for root in state.rows.roots for r in root.walk() if r.label == "Stream 20")
    state.rows.set_hidden([row.key], True)
    palette = typed(window, qtbot, "stream 20")
    things = palette.things()
    assert {thing.place for thing in things} == {"Row"}
    assert len(things) == len(state.rows.roots)
    assert things[0].title == row.text_path
    qtbot.keyClick(palette.text, Qt.Key.Key_Return)
    assert state.rows.nearest_shown(row) is row
    assert window.timeline.headers.current_row() is row


def test_the_palette_lists_all_instances_of_a_kernel(window, qtbot):
    palette = typed(window, qtbot, "allreduce")
    assert [thing.title for thing in palette.things()] == ["ncclDevKernel_AllReduce"]
    assert palette.things()[0].place.startswith("Kernel")
    qtbot.keyClick(palette.text, Qt.Key.Key_Return)
    assert window.state.listing == Listing(ALL_ROWS, Kind.KERNEL, "ncclDevKernel_AllReduce")
    assert window.target.is_panel_shown("Events")


def test_numbers_are_whole_and_kernels_stand_by_their_time(window, opened):
    index = index_trace(opened.study, opened.roots, opened.study.iterations())
    assert index.find("stream 2") == []
    ranked = [thing.title for thing in index.find("rank 1") if thing.place == "Row"]
    # Not what lies under Rank 1; after it, rows whose own name holds one word, and their path the other.
    assert ranked[0] == opened.roots[1].text_path
    assert all("thread 1" in title.rpartition("›")[2] for title in ranked[1:])
    assert index.find("") == []
    gemms = [thing.title for thing in index.find("gemm")]
    kernels = opened.study.trace.kernels
    names = np.array(opened.study.trace.names.take(kernels.name_id), object)
    total = {name: int((kernels.end_ns - kernels.start_ns)[names == name].sum()) for name in set(gemms)}
    assert gemms == sorted(gemms, key=lambda name: -total[name])
    assert len(gemms) == 3


def test_the_index_is_made_once_for_a_trace(window, qtbot, opened, monkeypatch):
    typed(window, qtbot, "x").close()
    made = window.target._index
    monkeypatch.setattr("viewer.app.action_target.index_trace", None)
    typed(window, qtbot, "y").close()
    assert window.target._index is made
    window.trace_controller.close()
    assert window.target._index is None


def test_a_clock_is_put_right_and_back(window, qtbot):
    state = window.state
    before = state.study.trace.kernels.start_ns.copy()
    window.target.align({0: 1_000_000})
    qtbot.waitUntil(lambda: state.study.trace.gpus[0].aligned_ns == 1_000_000)
    assert (state.study.trace.kernels.start_ns - before).max() == 1_000_000
    window.target.align({0: -1_000_000})
    qtbot.waitUntil(lambda: state.study.trace.gpus[0].aligned_ns == 0)
    assert state.study.trace.kernels.start_ns.tolist() == before.tolist()
