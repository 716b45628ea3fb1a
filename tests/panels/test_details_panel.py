"""The Details dock: it follows the selection, and empties with it."""

import numpy as np
import pytest
from PySide6.QtCore import QUrl

from tests.panels.make import looking_at, row_of
from viewer.analysis.dependencies.graph import EdgeKind
from viewer.drawing.format import format_count, format_ns, format_share
from viewer.panels.details_panel import EVENT, RANGE, STALL, DetailsPanel
from viewer.panels.selection_details import details_of_ranges
from viewer.rows import EventRef
from viewer.state.jobs import join_all
from viewer.state.selections import with_range
from viewer.trace import Kind


@pytest.fixture
def state(demo_study, qapp):
    demo_study.stalls(0)
    return looking_at(demo_study)


@pytest.fixture
def panel(state, qtbot):
    made = DetailsPanel(state)
    qtbot.addWidget(made)
    made.resize(400, 500)
    made.show()
    yield made
    join_all()


def settle(panel, qtbot):
    qtbot.waitUntil(lambda: not panel._pause.isActive() and not panel._worker.is_busy)


def stall_window(state, number):
    row = state.study.stalls(0).table.iloc[number]
    return int(row["start_ns"]), int(row["end_ns"])


def is_empty(panel):
    return panel._empty.isVisible() and panel.details is None


def test_it_is_empty_without_a_selection(panel):
    assert is_empty(panel)
    assert "drag over a range" in panel._empty.text()


def test_an_event_comes_and_goes(panel, state, qtbot):
    row = row_of(state, "stream")
    state.select_event(row.events.ref(7, row.key))
    settle(panel, qtbot)
    assert panel._shown() == EVENT
    assert panel.details.title in panel.page.toPlainText()
    assert panel.next.isVisible()
    state.select_event(None)
    assert is_empty(panel)


def test_a_stall_goes_with_its_range(panel, state, qtbot):
    state.select(stall_window(state, 3))
    state.choose_stall(3)
    settle(panel, qtbot)
    assert panel._shown() == STALL
    assert panel.details.subtitle.startswith("Stall of")
    state.select(None)
    assert state.stall_number is None
    assert is_empty(panel)


def test_another_range_is_no_stall_any_more(panel, state, qtbot):
    low, high = stall_window(state, 3)
    state.select((low, high))
    state.choose_stall(3)
    state.select((low - 500, high + 500))
    assert state.stall_number is None
    settle(panel, qtbot)
    assert panel._shown() == RANGE
    assert panel.details.title == "Range"
    assert not panel.next.isVisible()


def test_the_latest_of_several_is_shown_and_the_other_comes_back(panel, state, qtbot):
    row = row_of(state, "stream")
    state.select_event(row.events.ref(7, row.key))
    state.select(state.study.trace.window_ns)
    assert panel._shown() == RANGE
    state.select_event(row.events.ref(8, row.key))
    assert panel._shown() == EVENT
    state.select_event(None)
    assert panel._shown() == RANGE
    state.select_event(row.events.ref(8, row.key))
    state.select(stall_window(state, 3))
    state.choose_stall(3)
    assert panel._shown() == STALL
    state.select(None)
    assert panel._shown() == EVENT


def test_another_marker_forgets_the_stall(panel, state, qtbot):
    state.select(stall_window(state, 3))
    state.choose_stall(3)
    heard = []
    state.stall_changed.connect(lambda: heard.append(state.stall_number))
    state.set_marker(1)
    assert heard == [None]
    assert panel._shown() == RANGE


def test_a_range_says_what_the_card_says(state):
    study = state.study
    low, high = study.trace.window_ns
    middle = (low + high) // 2
    ranges = with_range(((low, low + 10**7),), (middle, middle + 10**7))
    details = details_of_ranges(study, ranges, state.iterations)
    numbers = study.measure_all(ranges, state.iterations)
    assert details.title == "2 ranges"
    assert details.subtitle == "20.00 ms together"
    lines = {label: value for section in details.sections for label, value in section.lines}
    assert lines["Kernels"] == format_count(numbers.kernels)
    assert lines["Idle"].startswith(format_ns(int(numbers.all_ns[4])))
    grid = details.sections[-1].grid
    assert len(grid) == len(study.trace.gpus) + 1
    column = grid[0].index("compute")
    shares = [format_share(int(ns) / numbers.length_ns) for ns in numbers.parts_ns[:, 0]]
    assert [row[column] for row in grid[1:]] == shares
    assert {len(row) for row in grid} == {len(grid[0])}


def test_a_range_outside_the_recording_says_so(state):
    _, high = state.study.trace.span_ns
    details = details_of_ranges(state.study, ((high + 10**9, high + 2 * 10**9),), state.iterations)
    assert "Nothing was recorded then." in details.text


def test_what_an_event_waited_for_stands_there_and_a_step_leads_to_its_cause(panel, state, qtbot):
    graph = state.study.dependencies
    ops = graph.operations
    waiting = next(
        n for n in range(len(ops)) if graph.set_of[n] < 0 <= graph.binder[n]
        and graph.binding[n] != EdgeKind.LAUNCH and graph.set_of[graph.binder[n]] >= 0
    )  # fmt: skip
    kind, index = ops.event_of(waiting)
    state.select_event(EventRef(kind, index))
    settle(panel, qtbot)
    qtbot.waitUntil(lambda: state.wait.wait is not None)
    wait = state.wait.wait
    text = panel.page.toPlainText()
    assert "Waited for" in text
    assert format_ns(wait.waited.length_ns) in text
    assert all(part.text in text.replace("\u200b", "") for part in wait.parts)
    assert wait.grade in text
    # Copied and saved too.
    assert "Chain of waits" in panel.details.text
    assert "Waited for" in set(panel.details.frame["section"])
    step = wait.steps[0]
    panel.page.anchorClicked.emit(QUrl(f"{step.event.kind.name}/{step.event.index}"))
    assert (state.chosen.kind, state.chosen.index) == (step.event.kind, step.event.index)


def test_without_a_wait_the_facts_stand_alone(panel, state, qtbot):
    state.select_event(EventRef(Kind.NVTX, 0))
    settle(panel, qtbot)
    assert state.wait.wait is None
    assert "Waited for" not in panel.page.toPlainText()


def test_slack_and_the_critical_path_of_the_iteration_stand_there(panel, state, qtbot):
    kernels, iterations = state.study.trace.kernels, state.iterations
    index = int(np.searchsorted(kernels.start_ns[kernels.of(0)], iterations.start_ns(1))) + 5
    state.select_event(EventRef(Kind.KERNEL, index))
    settle(panel, qtbot)
    qtbot.waitUntil(lambda: panel._path is not None)
    number = iterations.iteration_at(int(kernels.start_ns[index]))
    text = panel.page.toPlainText().replace("\u00a0", " ")
    assert f"Critical path of {iterations.called(number)}" in text
    length = int(iterations.duration_ns[number])
    section = next(s for s in panel.details.sections if s.title.startswith("Critical path"))
    assert sum(bar.ns for bar in section.bars) == length
    assert sum(bar.share for bar in section.bars) == pytest.approx(1)
    slack = state.study.slack(Kind.KERNEL, index, 0)
    assert (("Slack", format_ns(slack)) in panel.details.sections[0].lines) == (slack is not None)


def test_a_change_is_tried_from_its_link_and_says_what_it_wins(panel, state, qtbot):
    call = next(i for i in range(len(state.study.trace.api)) if state.study.launches.ops_of(i))
    state.select_event(EventRef(Kind.API, call))
    settle(panel, qtbot)
    qtbot.waitUntil(lambda: any(s.title == "What if" for s in panel.details.sections))
    qtbot.waitUntil(lambda: bool(panel._saved))
    section = next(s for s in panel.details.sections if s.title == "What if")
    assert section.links[0].text == "This call takes no time"
    assert section.links[0].value
    panel.page.anchorClicked.emit(QUrl(section.links[0].key))
    assert [str(change) for change in state.what_if.changes] == ["one call free"]
    state.what_if.close()
