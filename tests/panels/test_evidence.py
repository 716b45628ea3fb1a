"""Diagnostics, Collectives and Details: what they say, and where a click goes."""

from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication

from tests.panels.make import looking_at, row_of
from viewer.analysis.recording.alignment import align
from viewer.analysis.study import Study
from viewer.demo import DemoOptions, make_demo
from viewer.panels.collectives_panel import CollectivesPanel, headline, members_text
from viewer.panels.details_panel import DetailsPanel, follow_link
from viewer.panels.diagnostics_panel import DiagnosticCard, DiagnosticsPanel, badge_of, recorded_text
from viewer.panels.selection_details import details_of_event
from viewer.panels.stall_sections import details_of_stall
from viewer.readers import read
from viewer.rows import EventRef, RowKind
from viewer.state.jobs import join_all
from viewer.trace import Kind


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    path = tmp_path_factory.mktemp("damaged") / "trace.sqlite"
    return Study(read(make_demo(path, DemoOptions(iterations=3, shift={3: -50_000_000}, lose={6: 0.99}))))


@pytest.fixture
def shown(qtbot):
    def show(panel):
        qtbot.addWidget(panel)
        panel.resize(1000, 300)
        panel.show()
        worker = getattr(panel, "_worker", None)
        if worker is not None:
            qtbot.waitUntil(lambda: not worker.is_busy)
        return panel

    yield show
    join_all()


def cards(panel):
    return panel.area.widget().findChildren(DiagnosticCard)


def test_a_damaged_recording_says_so_worst_first(damaged, shown, qtbot):
    state = looking_at(damaged)
    panel = DiagnosticsPanel(state)
    badges = []
    panel.badge_changed.connect(badges.append)
    shown(panel)
    severities = [c.diagnostic.severity for c in cards(panel)]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    errors = [c.diagnostic for c in cards(panel) if c.diagnostic.severity == "error"]
    assert any("Rank 6" in f.title and "lost" in f.meaning for f in errors)
    shifted = next(c for c in cards(panel) if c.diagnostic.align_ns)
    assert shifted.diagnostic.gpu == 3
    with qtbot.waitSignal(panel.align_requested) as asked:
        shifted.buttons[0].click()
    offered = asked.args[0]
    assert list(offered) == [3]
    assert offered[3] == pytest.approx(50_000_000, abs=500_000)
    assert (
        badges[-1]
        == badge_of(damaged.diagnostics)
        == f"{sum(f.severity != 'info' for f in damaged.diagnostics)} !"
    )


def test_diagnostics_are_copied_and_saved_as_a_table(damaged, shown, qtbot):
    panel = shown(DiagnosticsPanel(looking_at(damaged)))
    with qtbot.waitSignal(panel.save_requested) as saved:
        panel.save_button.click()
    frame = saved.args[0]
    assert frame["title"].tolist()[1:] == [f.title for f in damaged.diagnostics]
    panel.copy_button.click()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t") == ["severity", "title", "meaning", "where"]
    assert len(lines) == len(frame) + 1


def test_an_aligned_gpu_can_be_put_back(damaged, shown, qtbot):
    aligned = Study(align(damaged.trace, {3: 50_000_000}))
    panel = shown(DiagnosticsPanel(looking_at(aligned)))
    moved = next(c for c in cards(panel) if "moved by" in c.diagnostic.title)
    with qtbot.waitSignal(panel.align_requested) as asked:
        moved.buttons[0].click()
    assert asked.args[0] == {3: -50_000_000}


def test_what_was_recorded_is_said(demo_study):
    text = recorded_text(demo_study)
    assert text.startswith("Recorded: CUDA, NVTX")
    bare = replace(demo_study.trace, session=replace(demo_study.trace.session, recorded=frozenset()))
    assert "Recorded: nothing. Not recorded: CUDA" in recorded_text(Study(bare))


def test_who_is_waited_for_is_named_and_each_set_can_be_gone_to(demo_study, shown):
    state = looking_at(demo_study)
    panel = shown(CollectivesPanel(state))
    assert panel.line.text() == headline(demo_study, demo_study.collectives)
    assert panel.line.text().startswith("Rank 5")
    assert len(panel.ranks.frame_model.frame) == len(demo_study.trace.gpus)
    panel.table.chosen.emit(0)
    frame = panel.table.frame_model.frame
    assert set(frame["group"]) == {0}
    panel._to_set(1)
    row = frame.iloc[1]
    assert state.selection == (row["start_ns"], row["end_ns"])
    assert state.chosen.kind is Kind.KERNEL
    kernels = demo_study.trace.kernels
    assert demo_study.collectives.last_gpu[state.chosen.index] == row["last_gpu"]
    owner = demo_study.trace.streams[kernels.owner_of(state.chosen.index)]
    assert owner.gpu == row["last_gpu"]
    assert state.rows.row(state.chosen.row_key).stream == owner.index


def test_members_are_ranks(demo_study):
    assert members_text(demo_study, (0, 2)) == "ranks 0 2"


def test_one_gpu_has_no_collectives(shared_trace, shown):
    panel = shown(CollectivesPanel(looking_at(Study(read(shared_trace("pytorch-a100-nvtx"))))))
    assert "No collectives" in panel._empty.text()


def titles(details):
    return [s.title for s in details.sections]


def test_a_kernel_has_statistics_alone_and_beside_communication(demo_study, qapp):
    state = looking_at(demo_study)
    row = row_of(state, "kernel_name")
    details = details_of_event(demo_study, row.events.ref(0, row.key))
    assert {"All of this name", "By GPU"} <= set(titles(details))
    stats = dict(next(s for s in details.sections if s.title == "All of this name").lines)
    name = row.events.name_id[0]
    assert stats["Count"] == f"{(demo_study.trace.kernels.name_id == name).sum():,}"
    assert "Alone" in stats
    assert details.title in details.text
    frame = details.frame
    assert frame["value"].iloc[0] == details.title
    grids = [section for section in details.sections if section.grid]
    for section in grids:
        cells = [cell for row in section.grid[1:] for cell in row[1:]]
        assert frame.loc[frame["section"] == section.title, "value"].tolist()[-len(cells) :] == cells


def test_a_range_has_its_projections_and_the_parts_inside(demo_study, qapp):
    table = demo_study.projection("process")
    held = table[table["ops"] > 50].iloc[0]
    details = details_of_event(demo_study, EventRef(Kind.NVTX, int(held["range"])))
    lines = dict(next(s for s in details.sections if s.title == "Inside, on the GPU").lines)
    assert set(lines) == {"Compute", "Hidden communication", "Exposed communication", "Copy only", "Idle"}


def test_a_copy_says_whether_it_hid_and_a_stall_its_cause(demo_study, qapp):
    assert "Could it hide?" in titles(details_of_event(demo_study, EventRef(Kind.MEMCPY, 0)))
    stalls = demo_study.stalls(0)
    number = int(stalls.select(kinds=["idle"], causes=["waiting"])[0])
    assert "CPU blocked in" in details_of_stall(demo_study, 0, number).text


def test_details_follow_the_selection_step_and_link(demo_study, shown, qtbot):
    state = looking_at(demo_study)
    panel = shown(DetailsPanel(state))
    assert "Click a bar" in panel._empty.text()
    row = row_of(state, "kernel_name")
    first = row.events.ref(0, row.key)
    state.select_event(first)
    qtbot.waitUntil(lambda: panel.details is not None and not panel._worker.is_busy)
    assert panel.details.title in panel.page.toPlainText().replace("\u200b", "")
    panel.step(1)
    kernels = demo_study.trace.kernels
    assert state.chosen.index != first.index
    assert kernels.name_id[state.chosen.index] == kernels.name_id[first.index]
    kernel = state.chosen.index
    assert follow_link(state)
    assert state.chosen.kind is Kind.API
    assert state.rows.row(state.chosen.row_key).kind is RowKind.API
    assert follow_link(state)
    assert state.chosen.index == kernel
    state.choose_stall(3)
    qtbot.waitUntil(lambda: panel.details is not None and "Stall" in panel.details.subtitle)
