"""The context menus of events and streams: zoom, copy, list, pin."""

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from tests.panels.make import looking_at, row_of
from viewer.rows import EventRef
from viewer.state import ALL_ROWS, Listing
from viewer.state.places import home_row, rows_of_stream, stream_ids
from viewer.timeline.event_menu import fill_event_menu, zoom_to_event
from viewer.timeline.headers.row_menu import row_menu
from viewer.timeline.notes.canvas_menu import place_menu
from viewer.trace import Kind


@pytest.fixture
def state(demo_study, qapp):
    return looking_at(demo_study)


@pytest.fixture
def parent(qtbot):
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def menu_of(state, parent):
    def made(event):
        menu = QMenu(parent)
        fill_event_menu(menu, state, event)
        return menu

    return made


def entries(menu):
    return {action.text(): action for action in menu.actions()}


def kernel_of(state, number=40):
    row = row_of(state, "stream")
    return row, row.events.ref(number, row.key)


def test_a_kernel_can_be_listed_in_its_row_on_its_gpu_and_on_all(state, menu_of):
    row, event = kernel_of(state)
    assert event.kind is Kind.KERNEL
    menu = menu_of(event)
    instances = next(action.menu() for action in menu.actions() if action.menu())
    assert instances.title() == "All instances of this kernel"
    study = state.study
    name = study.trace.names[int(study.trace.kernels.name_id[event.index])]
    keys = []
    for action in instances.actions():
        action.trigger()
        keys.append(state.listing.key)
        assert state.listing == Listing(keys[-1], Kind.KERNEL, name)
    assert keys == [row.key, state.rows.gpu_row(row.gpu).key, ALL_ROWS]


def test_a_host_event_can_be_listed_in_its_process(state, menu_of):
    row = row_of(state, "api")
    event = row.events.ref(3, row.key)
    menu = menu_of(event)
    instances = next(action.menu() for action in menu.actions() if action.menu())
    keys = []
    for action in instances.actions():
        action.trigger()
        keys.append(state.listing.key)
    assert keys == [row.key, row.path()[0].key, ALL_ROWS]
    assert not any("Pin" in text for text in entries(menu))


def test_its_row_is_listed_and_its_name_copied(state, menu_of):
    row, event = kernel_of(state)
    menu = entries(menu_of(event))
    menu["Copy name"].trigger()
    study = state.study
    name = study.trace.names[int(study.trace.kernels.name_id[event.index])]
    assert QGuiApplication.clipboard().text() == name
    menu[f"Show {row.label} in Events"].trigger()
    assert state.listing == Listing(row.key)


def test_zooming_keeps_surroundings_and_shows_a_hidden_row(state):
    row, event = kernel_of(state)
    state.rows.set_hidden([row.key, row.parent.key], True)
    state.rows.set_filter("no row is called this")
    zoom_to_event(state, event)
    table = state.study.trace.kernels
    start, end = int(table.start_ns[event.index]), int(table.end_ns[event.index])
    low, high = state.axis.window
    assert low < start < end < high
    assert 0.5 < (end - start) / (high - low) < 0.7
    assert state.chosen == event
    assert state.rows.nearest_shown(row) is row


def test_an_event_of_a_preview_goes_to_its_own_row(state, menu_of):
    root = state.rows.roots[0]
    _, event = kernel_of(state)
    menu = entries(menu_of(EventRef(event.kind, event.index, root.key)))
    home = home_row(state, event.kind, event.index)
    assert f"Show {home.label} in Events" in menu


def test_beside_its_bars_a_row_can_be_listed_and_its_stream_pinned(state, parent):
    row, _ = kernel_of(state)
    made = place_menu(state, 0, row.key, None, lambda note: None, (), parent)
    number = state.study.trace.streams[row.stream].stream_id
    menu = entries(made)
    assert "Zoom to it" not in menu
    menu[f"Pin stream {number} on all GPUs"].trigger()
    assert state.rows.pinned == rows_of_stream(state, number)
    menu[f"Show {row.label} in Events"].trigger()
    assert state.listing == Listing(row.key)
    assert "Add note here" in entries(place_menu(state, 0, "", None, lambda note: None, (), parent))


def test_a_stream_is_pinned_on_all_gpus_and_taken_off_again(state, menu_of):
    row, event = kernel_of(state)
    number = state.study.trace.streams[row.stream].stream_id
    keys = rows_of_stream(state, number)
    assert len(keys) == len(state.study.trace.gpus)
    changes = []
    state.rows.changed.connect(lambda: changes.append(1))
    state.rows.set_pinned(keys[2], True)
    changes.clear()
    entries(menu_of(event))[f"Pin stream {number} on all GPUs"].trigger()
    assert sorted(state.rows.pinned) == sorted(keys)
    assert changes == [1]
    assert len(set(state.rows.pinned)) == len(keys)
    entries(menu_of(event))[f"Unpin stream {number} on all GPUs"].trigger()
    assert state.rows.pinned == []


def test_the_menu_of_a_stream_row_pins_it_on_all_gpus_too(state, parent):
    row = row_of(state, "stream", 1)
    number = state.study.trace.streams[row.stream].stream_id
    assert number in stream_ids(state)
    entries(row_menu(state, row, parent))[f"Pin stream {number} on all GPUs"].trigger()
    assert state.rows.pinned == rows_of_stream(state, number)


def test_the_menu_of_one_kernels_row_lists_it_on_all_gpus(state, parent):
    row = row_of(state, "kernel_name")
    entries(row_menu(state, row, parent))["All instances on all GPUs"].trigger()
    study = state.study
    name = study.trace.names[int(row.events.name_id[0])]
    assert state.listing == Listing(ALL_ROWS, Kind.KERNEL, name)
