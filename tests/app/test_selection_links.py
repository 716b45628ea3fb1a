"""From a stall to its cause by menu, key and palette, in the real window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from viewer.app.actions import COMMANDS
from viewer.app.command_palette import CommandPalette, matching
from viewer.panels.details_panel import DetailsPanel
from viewer.panels.events_panel import EventsPanel
from viewer.rows import EventRef
from viewer.rows.presets import launch_rows
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
    qtbot.waitUntil(lambda: window.state.found is not None)
    assert window.actions_by_id["find-next"].isEnabled()
    window.actions_by_id["find-next"].trigger()
    assert window.state.chosen.kind is Kind.KERNEL
    qtbot.keyClick(window.find_bar.text, Qt.Key.Key_Escape)
    assert window.state.found is None
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


def test_a_clock_is_put_right_and_back(window, qtbot):
    state = window.state
    before = state.study.trace.kernels.start_ns.copy()
    window.target.align({0: 1_000_000})
    qtbot.waitUntil(lambda: state.study.trace.gpus[0].aligned_ns == 1_000_000)
    assert (state.study.trace.kernels.start_ns - before).max() == 1_000_000
    window.target.align({0: -1_000_000})
    qtbot.waitUntil(lambda: state.study.trace.gpus[0].aligned_ns == 0)
    assert state.study.trace.kernels.start_ns.tolist() == before.tolist()
