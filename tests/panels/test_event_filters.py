"""The filters of the Events dock: class, stream, iteration, the selected range, one name."""

from itertools import pairwise

import numpy as np
import pytest

from tests.panels.make import looking_at, row_of
from tests.panels.test_events_panel import listed, show
from viewer.analysis.core.intervals import window
from viewer.analysis.time.scope import Scope, iteration_scope
from viewer.panels.event_columns import gpu_of, stream_of
from viewer.panels.event_set import gather, gather_named
from viewer.panels.events_panel import EventsPanel
from viewer.state import ALL_ROWS
from viewer.state.jobs import join_all
from viewer.trace import Kind


@pytest.fixture
def state(demo_study, qapp):
    return looking_at(demo_study)


@pytest.fixture
def panel(state, qtbot):
    made = EventsPanel(state)
    qtbot.addWidget(made)
    made.resize(1200, 300)
    made.show()
    yield made
    join_all()


def settle(panel, qtbot):
    qtbot.waitUntil(lambda: not panel.filters._pause.isActive() and not panel._worker.is_busy)


def all_of(events):
    return np.arange(len(events), dtype=np.int32)


def nccl_name(study):
    kernels = study.trace.kernels
    ids = np.unique(kernels.name_id)
    return next(n for n in study.trace.names.take(ids) if "AllReduce" in n)


def test_by_stream(state, demo_study):
    events = gather(demo_study, row_of(state, "gpu"))
    numbers = stream_of(events, all_of(events))
    assert len(np.unique(numbers)) > 1
    for number in np.unique(numbers).tolist():
        assert set(listed(events, stream=number).order) == set(np.flatnonzero(numbers == number))


def test_by_iteration_on_each_gpu_by_its_own_boundaries(state, demo_study):
    low, high = demo_study.trace.window_ns
    count = len(demo_study.trace.gpus)
    # As if the iteration were at another time on every GPU.
    edges = [low + (high - low) * step // count for step in range(count + 1)]
    within = tuple(window(*pair) for pair in pairwise(edges))
    scope = Scope("iteration 2", within, window(low, high), (2,))
    events = gather_named(demo_study, None, Kind.KERNEL, nccl_name(demo_study))
    gpu = gpu_of(events, all_of(events))
    first, last = np.array(edges)[gpu], np.array(edges)[gpu + 1]
    expected = (events.events.start_ns < last) & (events.events.end_ns > first)
    order = listed(events, scopes=(scope,)).order
    assert 0 < len(order) < len(events)
    assert set(order.tolist()) == set(np.flatnonzero(expected).tolist())
    assert len(set(gpu[order].tolist())) > 1


def test_host_events_by_the_joint_time_of_all_gpus(state, demo_study):
    scope = iteration_scope(demo_study.iterations(), (2,))
    row = row_of(state, "api")
    events = gather(demo_study, row)
    low, high = scope.hull
    expected = (events.events.start_ns < high) & (events.events.end_ns > low)
    assert set(listed(events, scopes=(scope,)).order.tolist()) == set(np.flatnonzero(expected).tolist())


def test_in_the_selection_takes_what_touches_it(state, demo_study):
    events = gather(demo_study, row_of(state, "stream"))
    start, end = events.events.start_ns, events.events.end_ns
    low, high = int(end[10]), int(start[20])
    order = listed(events, selection=((low, high),)).order
    assert set(order.tolist()) == set(np.flatnonzero((start < high) & (end > low)).tolist())
    assert 10 not in order
    assert 20 not in order
    assert 15 in order


def test_several_selected_ranges_count_together(state, demo_study):
    events = gather(demo_study, row_of(state, "stream"))
    start, end = events.events.start_ns, events.events.end_ns
    ranges = [(int(start[i]), int(end[i])) for i in (50, 20, 51)]
    order = listed(events, selection=tuple(ranges)).order
    each = {int(p) for r in ranges for p in listed(events, selection=(r,)).order}
    assert set(order.tolist()) == each >= {20, 50, 51}


def test_few_and_many_ranges_are_taken_alike(state, demo_study):
    events = gather(demo_study, row_of(state, "stream"))
    start, end = events.events.start_ns, events.events.end_ns
    ranges = [(int(start[i]), int(end[i])) for i in range(0, 400, 10)]
    many = set(listed(events, selection=tuple(ranges)).order.tolist())
    few = set()
    for pair in ranges:
        few |= set(listed(events, selection=(pair,)).order.tolist())
    assert many == few
    assert len(ranges) <= len(many) < len(events)


def test_an_event_of_no_length_at_the_edge_counts_as_a_nanosecond(state, demo_study):
    events = gather(demo_study, row_of(state, "stream"))
    start = int(events.events.start_ns[30])
    assert 30 in listed(events, selection=((start, start + 1),)).order


@pytest.mark.parametrize("kind", ["stream", "gpu", "process"])
def test_one_name_of_a_row_a_gpu_a_process(state, demo_study, kind):
    row = row_of(state, kind)
    whole = gather(demo_study, row)
    kernels = whole.by_kind(all_of(whole), lambda k, i: np.full(len(i), k is Kind.KERNEL), bool, False)
    position = int(np.flatnonzero(kernels)[5])
    name_id = int(whole.events.name_id[position])
    name = demo_study.trace.names[name_id]
    named = gather_named(demo_study, row, Kind.KERNEL, name)
    expected = np.flatnonzero(kernels & (np.asarray(whole.events.name_id) == name_id))
    assert len(named) == len(expected)
    assert named.events.start_ns.tolist() == whole.events.start_ns[expected].tolist()
    indices = set(whole.indices(expected.astype(np.int32)).tolist())
    assert set(named.indices(all_of(named)).tolist()) == indices
    assert named.kinds == (Kind.KERNEL,)


def test_one_name_of_the_whole_trace(demo_study):
    name = nccl_name(demo_study)
    named = gather_named(demo_study, None, Kind.KERNEL, name)
    names = np.array(demo_study.trace.names.take(demo_study.trace.kernels.name_id), object)
    assert sorted(named.indices(all_of(named)).tolist()) == np.flatnonzero(names == name).tolist()
    assert (np.diff(named.events.start_ns) >= 0).all()


def test_a_name_that_no_event_has_lists_nothing(demo_study):
    assert len(gather_named(demo_study, None, Kind.KERNEL, "no such kernel")) == 0


def test_no_box_is_seen_before_there_is_something_to_choose(panel):
    assert panel.filters.group.isHidden()
    assert panel.filters.stream.isHidden()


def test_the_boxes_offer_what_there_is_and_filter(panel, qtbot):
    row = row_of(panel.state, "gpu")
    show(panel, qtbot, row)
    filters = panel.filters
    offered = [filters.stream.itemData(i) for i in range(1, filters.stream.count())]
    assert offered == sorted(set(stream_of(panel.events, all_of(panel.events)).tolist()))
    assert filters.iteration.count() - 1 == panel.state.iterations.count
    filters.stream.setCurrentIndex(2)
    filters.stream.activated.emit(2)
    settle(panel, qtbot)
    order = panel.table.event_model.order
    assert 0 < len(order) < len(panel.events)
    assert set(stream_of(panel.events, order).tolist()) == {offered[1]}
    filters.iteration.setCurrentIndex(3)
    filters.iteration.activated.emit(3)
    settle(panel, qtbot)
    assert 0 < len(panel.table.event_model.order) < len(order)
    assert panel.wanted.scopes[-1].iterations == (2,)


def test_in_the_selection_follows_it_and_ends_with_it(panel, qtbot, demo_study):
    row = row_of(panel.state, "gpu")
    show(panel, qtbot, row)
    button = panel.filters.in_selection
    assert not button.isEnabled()
    low, high = demo_study.trace.window_ns
    panel.state.select((low, low + (high - low) // 4))
    assert button.isEnabled()
    button.click()
    settle(panel, qtbot)
    few = len(panel.table.event_model.order)
    assert 0 < few < len(panel.events)
    panel.state.select((low, low + (high - low) // 2))
    settle(panel, qtbot)
    assert few < len(panel.table.event_model.order) < len(panel.events)
    panel.state.select(None)
    settle(panel, qtbot)
    assert not button.isChecked()
    assert len(panel.table.event_model.order) == len(panel.events)


def test_all_instances_are_listed_and_the_button_goes_back(panel, qtbot, demo_study):
    row = row_of(panel.state, "gpu")
    show(panel, qtbot, row)
    name = nccl_name(demo_study)
    panel.state.list_events(ALL_ROWS, Kind.KERNEL, name)
    qtbot.waitUntil(lambda: panel.events.row is not row and not panel._worker.is_busy)
    assert panel.one_name.isVisible()
    assert "AllReduce" in panel.one_name.text()
    assert not panel.filters.text.isVisible()
    assert panel.where.text() == "All GPUs"
    assert len(panel.table.event_model.order) == len(gather_named(demo_study, None, Kind.KERNEL, name))
    assert len(set(gpu_of(panel.events, all_of(panel.events)).tolist())) == len(demo_study.trace.gpus)
    panel.one_name.click()
    qtbot.waitUntil(lambda: panel.events.row is row and not panel._worker.is_busy)
    assert not panel.one_name.isVisible()
    assert panel.filters.text.isVisible()
    assert len(panel.table.event_model.order) == len(gather(demo_study, row))
