"""What stalls waited for, and why collectives are exposed: what the docks say, and where a click goes."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtWidgets import QMenu

from tests.analysis.make import TraceMaker
from tests.panels.make import looking_at
from viewer.analysis.dependencies.graph import EdgeKind, Edges, Grade
from viewer.analysis.dependencies.stall_producers import BLOCKED
from viewer.analysis.dependencies.stall_words import LATE, reason_facts, reasons_text
from viewer.analysis.study import Study
from viewer.panels.collectives_panel import CollectivesPanel
from viewer.panels.selection_details import Badge, details_of_ranges
from viewer.panels.stall_sections import details_of_stall
from viewer.panels.stalls_panel import StallsPanel
from viewer.state.jobs import join_all
from viewer.timeline.background_results import BackgroundResults
from viewer.timeline.selection_links import SelectionLinks
from viewer.trace import Kind


@pytest.fixture
def panel(demo_study, qtbot):
    made = StallsPanel(looking_at(demo_study))
    qtbot.addWidget(made)
    made.resize(1200, 300)
    made.show()
    qtbot.waitUntil(lambda: made.view is not None and not made._worker.is_busy)
    made.grouped.setChecked(True)
    yield made
    join_all()


def row_with(panel, wanted):
    """Return the position of the first stall, by its number, that satisfies a condition."""
    frame = panel.table.frame_model.frame
    return next(p for p, number in enumerate(frame["number"]) if wanted(int(number)))


def test_a_blocked_stall_names_its_operation_and_a_double_click_goes_there(panel):
    producers = panel.view.producers
    position = row_with(panel, lambda n: producers.reason[n] == BLOCKED and producers.late[n] >= 0)
    row = panel.table.frame_model.frame.iloc[position]
    number = int(row["number"])
    trace = panel.view.stalls.trace
    late = int(producers.late[number])
    assert row["reason"] == "blocked"
    rank = trace.processes[trace.gpus[trace.streams[trace.kernels.owner_of(late)].gpu].process].rank
    assert f" of Rank {rank}, stream " in row["producer"]
    assert rank != trace.processes[trace.gpus[int(panel.view.stalls.table["gpu"].iloc[number])].process].rank
    panel.table.chosen.emit(position)
    chosen = panel.state.chosen
    assert (chosen.kind, chosen.index) == (Kind.KERNEL, late)
    low, high = panel.state.axis.window
    assert low <= trace.kernels.start_ns[late] < trace.kernels.end_ns[late] <= high


def test_the_menu_of_a_row_leads_there_too(panel):
    producers = panel.view.producers
    position = row_with(panel, lambda n: producers.event(n) is not None)
    index = panel.table.frame_model.index(
        int(np.flatnonzero(panel.table.frame_model.order == position)[0]), 1
    )
    menu = QMenu()
    panel.table.fill_menu(menu, index)
    first = menu.actions()[0]
    assert first.text() == f"Go to {panel.table.frame_model.frame.iloc[position]['producer']}"
    first.trigger()
    kind, event = producers.event(int(panel.table.frame_model.frame.iloc[position]["number"]))
    assert (panel.state.chosen.kind, panel.state.chosen.index) == (kind, event)


def test_the_line_on_the_timeline_goes_there(panel, qtbot):
    state, producers = panel.state, panel.view.producers
    results = BackgroundResults(state)
    links = SelectionLinks(state, results)
    qtbot.waitUntil(lambda: results.producers is not None, timeout=20_000)
    position = row_with(panel, lambda n: producers.late[n] >= 0 and producers.event(n) is not None)
    panel._point(position)
    event = producers.event(state.stall_number)
    assert (links.ends.others[0].kind, links.ends.others[0].index) == event
    assert links.go_to_other_end()
    assert (state.chosen.kind, state.chosen.index) == event
    join_all()


def test_a_stall_that_nothing_launched_names_no_operation(panel):
    producers = panel.view.producers
    position = row_with(panel, lambda n: producers.reason[n] != BLOCKED)
    assert panel.table.frame_model.frame["producer"].iloc[position] == ""
    assert panel._actions(position) == []


def test_details_say_how_it_is_known(panel, demo_study):
    producers = panel.view.producers
    number = next(n for n in range(len(panel.view.stalls)) if producers.late[n] >= 0)
    _, why, *_ = details_of_stall(demo_study, 0, number).sections
    assert sum(bar.ns for bar in why.bars) == panel.view.stalls.table["duration_ns"].iloc[number]
    assert why.badge == Badge("proven", "by an event")
    assert "waiting" in {bar.fill for bar in why.bars}
    facts = dict(reason_facts(producers, number))
    assert facts["Reason"].startswith(("blocked ", "launch-starved "))
    assert facts["Waits for operation"].endswith(", proven)")
    assert " of Rank " in facts[LATE]


def test_details_have_the_chain_where_another_operation_follows_the_stall():
    """Idle until a collective begins that the next kernel, launched long before, waits for."""
    make = TraceMaker(session_ns=400_000)
    for number, called in ((1, 0), (2, 4_000), (3, 6_000)):
        make.call(called, called + 1_000, correlation=number)
    make.kernel(10_000, 50_000, correlation=1)
    make.kernel(90_000, 150_000, "ncclDevKernel_ReduceScatter", stream=20, correlation=2)
    make.kernel(151_000, 200_000, correlation=3)
    study = Study(make.trace())
    starts = study.dependencies.operations.start_ns
    target, source = (np.flatnonzero(starts == ns) for ns in (151_000, 90_000))
    edges = Edges.of_columns(target, source, EdgeKind.EVENT, np.array([Grade.PROVEN], np.uint8))
    study.__dict__["dependencies"] = replace(study.dependencies, op_edges=edges)
    number = study.stalls().exactly(50_000, 90_000)
    *_, chain = details_of_stall(study, 0, number).sections
    assert [step.title for step in chain.steps] == [
        "ReduceScatter of Rank 0, stream 20", "GEMM of Rank 0, stream 7"
    ]  # fmt: skip
    number = study.stalls().exactly(90_000, 151_000) or study.stalls().at(0, 100_000)
    assert details_of_stall(study, 0, number).sections[-1].title == "Why no compute kernel runs"


def test_details_of_a_range_sum_to_its_time_without_compute(demo_study):
    low, high = demo_study.trace.window_ns
    section = next(
        s for s in details_of_ranges(demo_study, [(low, high)], None).sections if s.title == "Compute absent"
    )
    absent = sum(int(parts.totals(low, high)[2:].sum()) for parts in demo_study.parts)
    assert sum(bar.ns for bar in section.bars) == absent


def test_why_an_unresolved_stall_is_unresolved_is_said(demo_of_no_records):
    study = demo_of_no_records
    producers = study.stall_producers()
    number = next(n for n in range(len(study.stalls())) if producers.split_ns[2, n] > 20_000)
    facts = dict(reason_facts(producers, number))
    assert facts["Waits for operation"] == "unknown: of the event that it waits for no record is known"


@pytest.fixture
def demo_of_no_records(tmp_path):
    from viewer.demo import DemoOptions, make_demo
    from viewer.readers import read

    path = make_demo(tmp_path / "demo.sqlite", DemoOptions(iterations=2, oddities=("no-event-records",)))
    return Study(read(path, cache=False))


def test_the_line_of_a_range_names_the_parts_that_have_time(demo_study):
    from viewer.analysis.core.intervals import window
    from viewer.analysis.dependencies.stall_reasons import ReasonSums

    assert reasons_text(ReasonSums()) == ""
    sums = ReasonSums(8_000, 5_000, 3_000, by_communication_ns=3_000, communication_wait_ns=1_000)
    assert reasons_text(sums).replace("\u00a0", " ") == (
        "launch-starved 5.000 µs, blocked 3.000 µs (communication)"
    )
    both = ReasonSums(3_000, 0, 3_000, by_communication_ns=2_000, by_copy_ns=1_000)
    assert reasons_text(both).replace("\u00a0", " ") == (
        "blocked 3.000 µs (communication 2.000 µs, copies 1.000 µs)"
    )
    whole = demo_study.stall_reasons.sums(0, window(*demo_study.trace.window_ns))
    assert "unresolved" in reasons_text(whole)


def test_why_exposed_lists_the_reasons_and_a_click_shows_the_longest(demo_study, qtbot):
    panel = CollectivesPanel(looking_at(demo_study))
    qtbot.addWidget(panel)
    panel.resize(1200, 300)
    panel.show()
    qtbot.waitUntil(lambda: panel.found is not None and not panel._worker.is_busy)
    panel.which.setCurrentIndex(panel.which.findData("why"))
    panel._show_right()
    qtbot.waitUntil(lambda: not panel._why_worker.is_busy and len(panel.table.frame_model.frame) > 0)
    frame = panel.table.frame_model.frame
    assert "AllReduce: the next" in frame["text"].iloc[0]
    scope = demo_study.default_scope(demo_study.iterations())
    assert int(frame["exposed_ns"].sum()) == int(scope.parts(demo_study.parts)[:, 2].sum())
    panel._open(1)
    assert panel.state.selection == (int(frame["start_ns"].iloc[1]), int(frame["end_ns"].iloc[1]))
    assert panel.state.chosen.index == int(frame["kernel"].iloc[1])
    low, high = demo_study.trace.window_ns
    panel.state.set_filter(demo_study.range_scope(low, (low + high) // 2))
    qtbot.waitUntil(lambda: not panel._why_worker.is_busy)
    assert "per_iteration_ns" not in [column.key for column in panel.table.frame_model.columns]
    join_all()
