"""The Events dock: what it lists, in which order, and what it says to the timeline."""

import threading

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from tests.panels.make import double_click, looking_at, row_of
from viewer.drawing.times import TimeError
from viewer.panels.event_columns import COLUMNS, columns_for
from viewer.panels.event_set import gather
from viewer.panels.event_view import Wanted, frame_of, histogram_of, list_events, parse_durations
from viewer.panels.events_panel import EventsPanel
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


def listed(events, **wanted):
    return list_events(events, columns_for(events), Wanted(**wanted), lambda: False)


def show(panel, qtbot, row):
    panel.state.list_events(row.key)
    qtbot.waitUntil(
        lambda: panel.events is not None and panel.events.row is row and not panel._worker.is_busy
    )


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, None),
        (">10us", 10_001, None),
        (">= 10us", 10_000, None),
        ("<5 ms", 0, 4_999_999),
        ("1ms..5ms", 1_000_000, 5_000_000),
        ("1..5ms", 1_000_000, 5_000_000),
        ("1ms..", 1_000_000, None),
        ("..3us", 0, 3_000),
    ],
)
def test_durations_are_typed(text, least, most):
    longest = int(np.iinfo(np.int64).max)
    assert parse_durations(text) == (least, longest if most is None else most)


@pytest.mark.parametrize("text", ["10us", ">", "> fast", "5ms..1ms"])
def test_what_is_no_duration_is_said(text):
    with pytest.raises(TimeError):
        parse_durations(text)


def test_a_process_lists_everything_of_it_once(state, demo_study):
    root = state.rows.roots[0]
    events = gather(demo_study, root)
    trace = demo_study.trace
    streams = [s.index for s in trace.streams if trace.gpus[s.gpu].process == root.process]
    threads = [t.index for t in trace.threads_of(root.process)]
    tracks = [t.index for t in trace.tracks if t.thread in threads]
    expected = 0
    for kind, owners in (
        *((k, streams) for k in (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.GRAPH)),
        *((k, threads) for k in (Kind.API, Kind.OSRT, Kind.ON_CPU, Kind.OVERHEAD)),
        (Kind.NVTX, tracks),
    ):
        expected += sum(trace.events[kind].of(o).stop - trace.events[kind].of(o).start for o in owners)
    assert len(events) == expected
    refs = {(events.events.ref(i).kind, events.events.ref(i).index) for i in range(len(events))}
    assert len(refs) == expected
    assert (np.diff(events.events.start_ns) >= 0).all()


def test_sorting_is_stable_both_ways(state, demo_study):
    events = gather(demo_study, row_of(state, "kernels"))
    for descending in (False, True):
        order = listed(events, sort="duration_ns", descending=descending).order
        lengths = events.durations(order)
        steps = np.diff(lengths) * (-1 if descending else 1)
        assert (steps >= 0).all()
        assert (np.diff(order)[steps == 0] > 0).all()


@pytest.mark.parametrize("key", [c.key for c in COLUMNS])
@pytest.mark.parametrize("kind", ["process", "memory"])
def test_every_column_sorts_by_what_it_says(state, demo_study, key, kind):
    events = gather(demo_study, row_of(state, kind))
    columns = columns_for(events)
    if key not in {c.key for c in columns}:
        return
    column = next(c for c in columns if c.key == key)
    order = listed(events, sort=key).order
    values = column.file_values(events, order)
    said = [v.casefold() for v in values] if column.texts else [v for v in values.tolist() if v == v]
    assert said == sorted(said)
    assert all(isinstance(column.text(events, v), str) for v in column.values(events, order[:50]))


def test_name_duration_class_and_range_filter(state, demo_study):
    events = gather(demo_study, row_of(state, "gpu"))
    names = np.array(demo_study.trace.names.take(events.events.name_id), object)
    lengths = events.events.end_ns - events.events.start_ns

    order = listed(events, text="NCCL allreduce").order
    assert set(order) == {i for i, n in enumerate(names) if "nccl" in n.lower() and "allreduce" in n.lower()}
    order = listed(events, least_ns=100_000, most_ns=2_000_000).order
    assert set(order) == set(np.flatnonzero((lengths >= 100_000) & (lengths <= 2_000_000)))
    order = listed(events, group="communication").order
    assert len(order)
    assert all(demo_study.classes.is_comm(events.events.name_id[order]))
    assert set(events.kinds) > {Kind.KERNEL}
    low, high = demo_study.trace.window_ns
    scope = demo_study.range_scope(low, (low + high) // 2)
    order = listed(events, scopes=(scope,)).order
    assert set(order) == set(np.flatnonzero(events.events.start_ns < (low + high) // 2))


def test_the_histogram_holds_every_event_and_all_their_time():
    lengths = np.array([0, 1, 9, 10, 11, 999, 1_000, 123_456_789], np.int64)
    histogram = histogram_of(lengths)
    assert histogram.count.sum() == len(lengths)
    assert histogram.total_ns.sum() == lengths.sum()
    assert histogram.edges_ns[0] <= 1
    assert histogram.edges_ns[-1] > lengths.max()
    assert len(histogram.edges_ns) == len(histogram.count) + 1


def test_a_frame_for_files_is_exact(state, demo_study):
    events = gather(demo_study, row_of(state, "memory"))
    frame = frame_of(events, columns_for(events), listed(events).order)
    assert frame["start_ns"].tolist() == events.events.start_ns.tolist()
    assert frame["duration_ns"].sum() == (events.events.end_ns - events.events.start_ns).sum()
    assert set(frame["class"]) <= {"copy", "memory set"}
    copies = frame[frame["class"] == "copy"]
    assert np.allclose(copies["throughput_gb_s"], copies["bytes"] / copies["duration_ns"])


def test_it_says_what_to_do_until_a_row_is_asked_for(panel):
    assert "Show in Events" in panel._empty.text()
    assert panel._empty.isVisible()


def test_a_row_is_listed_sorted_and_added_up(panel, qtbot):
    row = row_of(panel.state, "kernels")
    show(panel, qtbot, row)
    model = panel.table.event_model
    assert model.rowCount() == len(row.events)
    assert panel.where.text() == row.text_path
    section = [c.key for c in model.columns].index("duration_ns")
    panel.table.horizontalHeader().setSortIndicator(section, Qt.SortOrder.DescendingOrder)
    qtbot.waitUntil(lambda: not panel._worker.is_busy)
    lengths = panel.events.durations(model.order)
    assert lengths[0] == (row.events.end_ns - row.events.start_ns).max()
    panel.table.selectRow(0)
    panel.table.selectAll()
    qtbot.waitUntil(lambda: "selected" in panel.total.text())
    assert f"{len(row.events):,} selected" in panel.total.text()


def test_a_double_click_goes_there_and_again_fits(panel, qtbot):
    row = row_of(panel.state, "stream")
    show(panel, qtbot, row)
    lengths = row.events.end_ns - row.events.start_ns
    position = int(np.argsort(lengths)[len(lengths) // 2])
    length = int(lengths[position])
    panel.show_event(position)
    start, end = panel.state.axis.window
    assert (end - start) == pytest.approx(length * 10, rel=0.02)
    assert start <= row.events.start_ns[position]
    assert row.events.end_ns[position] <= end
    panel.show_event(position)
    start, end = panel.state.axis.window
    assert (end - start) == pytest.approx(length / 0.96, rel=0.02)
    assert panel.state.chosen.index == row.events.ref(position).index


def test_a_click_in_the_timeline_selects_the_row_of_the_table_and_back(panel, qtbot):
    row = row_of(panel.state, "stream")
    show(panel, qtbot, row)
    panel.state.select_event(row.events.ref(17, row.key))
    assert panel.table.position(panel.table.currentIndex().row()) == 17
    panel.table.setCurrentIndex(panel.table.event_model.index(3, 0))
    assert panel.state.chosen == row.events.ref(panel.table.position(3), row.key)


def test_brushing_the_histogram_is_the_filter_by_duration(panel, qtbot):
    row = row_of(panel.state, "kernels")
    show(panel, qtbot, row)
    panel.chart.brushed.emit((10_000, 100_000))
    qtbot.waitUntil(lambda: not panel._worker.is_busy)
    assert panel.filters.duration.text() == "10us..100us"
    lengths = panel.events.durations(panel.table.event_model.order)
    assert len(lengths)
    assert 10_000 <= lengths.min() <= lengths.max() <= 100_000
    panel.chart.brushed.emit(None)
    qtbot.waitUntil(lambda: not panel._worker.is_busy)
    assert len(panel.table.event_model.order) == len(row.events)


def test_a_wrong_duration_is_marked_and_the_list_stays(panel, qtbot):
    row = row_of(panel.state, "kernels")
    show(panel, qtbot, row)
    panel.filters.duration.setText("fast")
    panel._list()
    assert panel.filters.duration.toolTip()
    assert panel.table.event_model.rowCount() == len(row.events)


def test_the_filter_to_a_range_holds_here_too(panel, qtbot, demo_study):
    row = row_of(panel.state, "kernels")
    show(panel, qtbot, row)
    low, high = demo_study.trace.window_ns
    panel.state.set_filter(demo_study.range_scope(low, (low + high) // 2))
    qtbot.waitUntil(
        lambda: not panel._worker.is_busy and panel.table.event_model.rowCount() < len(row.events)
    )
    panel.state.set_filter(None)
    qtbot.waitUntil(lambda: panel.table.event_model.rowCount() == len(row.events))


def test_what_is_listed_is_handed_out_as_a_table(panel, qtbot):
    row = row_of(panel.state, "memory")
    show(panel, qtbot, row)
    with qtbot.waitSignal(panel.save_requested) as saved:
        panel.save()
    assert len(saved.args[0]) == len(row.events)
    assert list(saved.args[0].columns) == [c.key for c in panel.table.shown_columns()]


def test_columns_can_be_chosen(panel, qtbot):
    show(panel, qtbot, row_of(panel.state, "kernels"))
    keys = [c.key for c in panel.table.shown_columns()]
    assert "registers" not in keys
    panel.table.set_column_shown("registers", True)
    panel.table.set_column_shown("stream", False)
    panel.table.scrollToBottom()
    below = panel.table.verticalScrollBar().value()
    keys = [c.key for c in panel.table.shown_columns()]
    assert "registers" in keys
    assert "stream" not in keys
    qtbot.waitUntil(lambda: not panel._worker.is_busy)
    seen = [c.key for i, c in enumerate(panel.table.event_model.columns) if not panel.table.isColumnHidden(i)]
    assert seen == keys
    assert panel.table.verticalScrollBar().value() == below > 0


def test_an_event_of_a_process_is_shown_in_its_own_row(panel, qtbot):
    show(panel, qtbot, panel.state.rows.roots[1])
    kinds = panel.events.events.kind
    for code in np.unique(kinds):
        position = int(np.flatnonzero(kinds == code)[0])
        panel.show_event(position)
        row = panel.state.rows.row(panel.state.chosen.row_key)
        assert row.path()[0] is panel.state.rows.roots[1]
        assert row.path()[-1] is not row.path()[0]
        assert {row.path()[i].key for i in range(len(row.path()) - 1)} <= panel.state.rows.expanded


def test_columns_that_stand_in_the_file_alone_are_read_beside_the_window(
    panel, qtbot, demo_study, monkeypatch
):
    readers = set()
    source = type(demo_study.trace.source)
    column = source.column

    def watched(self, kind, name, file_rows):
        if (kind, name) not in known:
            known.add((kind, name))
            readers.add(threading.current_thread() is threading.main_thread())
        return column(self, kind, name, file_rows)

    known = set()
    monkeypatch.setattr(source, "column", watched)
    show(panel, qtbot, panel.state.rows.roots[0])
    qtbot.waitUntil(lambda: panel.table.event_model.rowCount() > 0)
    assert not known, "columns that nobody sees are not read"
    panel.table.set_column_shown("registers", True)
    panel.table.set_column_shown("return_value", True)
    qtbot.waitUntil(lambda: not panel._worker.is_busy)
    panel.table.grab()
    assert known == {(Kind.KERNEL, "registersPerThread"), (Kind.API, "returnValue")}
    assert readers == {False}


def click_title(panel, qtbot, key):
    header = panel.table.horizontalHeader()
    number = [c.key for c in panel.table.event_model.columns].index(key)
    at = QPoint(header.sectionViewportPosition(number) + header.sectionSize(number) // 2, 10)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
    qtbot.waitUntil(lambda: not panel._worker.is_busy)


def test_clicks_on_a_title_sort_from_the_largest_and_never_unsort(panel, qtbot):
    show(panel, qtbot, row_of(panel.state, "stream"))
    for descending in (True, False, True, False):
        click_title(panel, qtbot, "duration_ns")
        assert (panel.wanted.sort, panel.wanted.descending) == ("duration_ns", descending)
        steps = np.diff(panel.events.durations(panel.table.event_model.order))
        assert (steps <= 0 if descending else steps >= 0).all()
    click_title(panel, qtbot, "start_ns")
    assert (panel.wanted.sort, panel.wanted.descending) == ("start_ns", False)
    click_title(panel, qtbot, "name")
    assert (panel.wanted.sort, panel.wanted.descending) == ("name", False)


def test_sorting_goes_to_the_top_and_the_selected_event_stays_selected(panel, qtbot):
    row = row_of(panel.state, "stream")
    show(panel, qtbot, row)
    lengths = row.events.end_ns - row.events.start_ns
    shortest = int(np.argmin(lengths))
    panel.state.select_event(row.events.ref(shortest, row.key))
    panel.table.scrollToBottom()
    click_title(panel, qtbot, "duration_ns")
    assert panel.table.verticalScrollBar().value() == 0
    assert panel.table.position(0) == int(np.argmax(lengths))
    assert panel.table.position(panel.table.currentIndex().row()) == shortest
    panel.table.scrollToBottom()
    panel.filters.duration.setText(">0")
    qtbot.waitUntil(lambda: panel.wanted.least_ns == 1 and not panel._worker.is_busy)
    assert panel.table.verticalScrollBar().value() == 0


def test_a_click_in_the_table_moves_no_window_and_a_double_click_does(panel, qtbot):
    row = row_of(panel.state, "stream")
    show(panel, qtbot, row)
    before = panel.state.axis.window
    viewport = panel.table.viewport()
    at = panel.table.visualRect(panel.table.event_model.index(2, 1)).center()
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at)
    assert panel.state.axis.window == before
    assert panel.state.chosen == row.events.ref(2, row.key)
    double_click(qtbot, viewport, at)
    start, end = panel.state.axis.window
    assert (start, end) != before
    assert start < row.events.start_ns[2] < end


@pytest.mark.parametrize("kind", ["process", "gpu", "memory", "stream", "api"])
def test_every_number_is_seen_whole(panel, qtbot, kind):
    show(panel, qtbot, row_of(panel.state, kind))
    qtbot.wait(0)
    table, model = panel.table, panel.table.event_model
    for sort in ("start_ns", "duration_ns"):
        click_title(panel, qtbot, sort)
        click_title(panel, qtbot, sort)
        for top in (0, model.rowCount() // 2, model.rowCount() - 1):
            table.scrollTo(model.index(top, 0))
            table.grab()
            QApplication.processEvents()
            rows = range(max(top - 5, 0), min(top + 5, model.rowCount()))
            for number, column in enumerate(model.columns):
                if column.number and not table.isColumnHidden(number):
                    cells = [model.index(row, number) for row in rows]
                    widest = max(table.sizeHintForIndex(cell).width() for cell in cells)
                    assert widest <= table.columnWidth(number), (column.key, [c.data() for c in cells])


def test_names_take_the_room_that_is_left(panel, qtbot):
    panel.resize(2200, 300)
    show(panel, qtbot, row_of(panel.state, "stream"))
    QApplication.processEvents()
    table = panel.table
    assert table.horizontalHeader().length() == table.viewport().width()
    wide = table.columnWidth(0)
    panel.resize(2400, 300)
    QApplication.processEvents()
    assert table.columnWidth(0) > wide
    table.set_column_shown("grid_x", True)
    QApplication.processEvents()
    assert table.horizontalHeader().length() == table.viewport().width()
    table.horizontalHeader().resizeSection(1, 300)
    QApplication.processEvents()
    assert table.columnWidth(1) == 300
    assert table.horizontalHeader().length() == table.viewport().width()
