"""The Measurements dock: numbers of kept ranges, their total, edits by hand."""

import re

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit

from tests.panels.make import double_click
from tests.timeline.make import study_of, training
from viewer.analysis.time.measure import parts_of
from viewer.export.report_page import html_report, report_facts
from viewer.panels.measurements_panel import COLUMNS, MeasurementsPanel, total_text
from viewer.rows.tree import build_rows
from viewer.state import ViewState

MS = 1_000_000


@pytest.fixture
def panel(qtbot, demo_study):
    state = ViewState()
    state.set_study(demo_study, build_rows(demo_study))
    panel = MeasurementsPanel(state)
    qtbot.addWidget(panel)
    panel.resize(1200, 300)
    panel.show()
    qtbot.waitExposed(panel)
    return panel


def iteration_start(panel, iteration=1):
    return panel.state.iterations.start_ns(iteration)


def test_the_numbers_are_those_of_the_range(panel):
    start = iteration_start(panel)
    panel.state.measurements.keep(start, start + 30 * MS)
    row = panel.table.frame_model.frame.iloc[0]
    parts = parts_of(panel.state.study.parts, start, start + 30 * MS)
    gpus = len(parts)
    assert row["length_ns"] == 30 * MS
    assert row["idle_ns"] == int(parts[:, 4].sum()) // gpus
    assert row["no_kernel_ns"] == int(parts[:, 3:].sum()) // gpus
    iterations = panel.state.iterations
    assert row["lap_share"] == pytest.approx(30 * MS / (iterations.end_ns(1) - iterations.start_ns(1)))


def test_several_ranges_add_up_and_overlaps_count_once(panel):
    start = iteration_start(panel)
    kept = panel.state.measurements
    kept.keep(start, start + 10 * MS)
    kept.keep(start + 5 * MS, start + 20 * MS)
    length = panel.state.iterations.end_ns(1) - start
    text = total_text(panel.state, kept.items)
    assert text.startswith("2 ranges, 20.00 ms (overlaps counted once), ")
    assert f"{20 * MS / length * 100:.1f} % of iteration 1" in text
    assert panel.total.text() == text


def test_a_range_over_several_iterations_is_no_percentage_of_one(panel):
    state, study = panel.state, study_of(training(iterations=7))
    state.set_study(study, build_rows(study))
    state.measurements.keep(0, 140 * MS)
    text = total_text(state, state.measurements.items)
    assert re.search(r"\d\.\d × the length of iteration 3$", text)
    column = next(i for i, c in enumerate(COLUMNS) if c.key == "lap_share")
    model = panel.table.frame_model
    assert re.fullmatch(r"\d\.\d ×", model.index(0, column).data())


def test_names_and_notes_are_edited_and_undone(panel, qtbot):
    start = iteration_start(panel)
    kept = panel.state.measurements
    kept.keep(start, start + MS)
    model = panel.table.model()
    column = next(i for i, c in enumerate(panel.table.frame_model.columns) if c.key == "note")
    assert model.setData(model.index(0, column), "the loader", Qt.ItemDataRole.EditRole)
    qtbot.waitUntil(lambda: kept.items[0].note == "the loader")
    panel.table.selectRow(0)
    panel.copy_text()
    assert QGuiApplication.clipboard().text().splitlines()[0].endswith("the loader")
    panel.delete_chosen()
    assert kept.items == ()


def test_a_double_click_shows_the_range(qtbot, panel):
    start = iteration_start(panel)
    panel.state.measurements.keep(start, start + MS)
    table = panel.table
    centre = table.visualRect(table.model().index(0, 2)).center()
    double_click(qtbot, table.viewport(), centre)
    assert panel.state.selection == (start, start + MS)


def test_idle_is_given_as_a_share_and_each_gpu_on_hover(panel):
    start = iteration_start(panel)
    panel.state.measurements.keep(start, start + 30 * MS)
    model = panel.table.frame_model
    parts = parts_of(panel.state.study.parts, start, start + 30 * MS)
    assert model.frame["idle_share"][0] == pytest.approx(parts[:, 4].sum() / (len(parts) * 30 * MS))
    shown = {c.key: c.title for c in model.columns}
    for key in ("compute_only_ns", "copy_only_ns", "exposed_comm_ns", "idle_ns"):
        assert shown[key].endswith("\nmean per GPU")
    tip = model.data(model.index(0, 1), Qt.ItemDataRole.ToolTipRole)
    assert tip.count("\n") == len(parts)
    assert "Rank 5 GPU 5: compute " in tip


def test_a_range_of_which_nothing_was_recorded_has_no_numbers(panel):
    kept, (low, high) = panel.state.measurements, panel.state.study.trace.span_ns
    kept.keep(high + MS, high + 2 * MS, "of another trace")
    kept.keep(low, low + MS)
    frame = panel.table.frame_model.frame
    assert frame["length_ns"].tolist() == [MS, MS]
    assert frame["idle_ns"].isna().tolist() == [True, False]
    model = panel.table.frame_model
    shown = [str(model.data(model.index(0, at)) or "") for at in range(model.columnCount())]
    assert not any("nan" in text for text in shown)
    assert "nothing was recorded" in panel._per_gpu(0)
    assert total_text(panel.state, kept.items)
    facts = report_facts(panel.state.study, 0, None, kept.items, ())
    page = html_report(facts)
    assert "of another trace" in page
    assert ">nan" not in page.lower()


def editor_of(table):
    return next(field for field in table.findChildren(QLineEdit) if field.isVisible())


@pytest.mark.parametrize("leave", ["Return", "Tab", "elsewhere"])
def test_renaming_in_the_cell_says_nothing_and_keeps_the_row(panel, qtbot, leave):
    # Warnings of Qt fail every test: of editors that the view does not know any more, too.
    state, table = panel.state, panel.table
    start = iteration_start(panel)
    for number in range(3):
        state.measurements.keep(start + number * MS, start + (number + 1) * MS)
    panel.activateWindow()
    qtbot.waitActive(panel).__enter__()
    name = next(i for i, c in enumerate(COLUMNS) if c.key == "name")
    at = table.visualRect(table.frame_model.index(1, name)).center()
    double_click(qtbot, table.viewport(), at)
    field = editor_of(table)
    field.selectAll()
    qtbot.keyClicks(field, "the hole")
    if leave == "elsewhere":
        other = table.visualRect(table.frame_model.index(2, 3)).center()
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=other)
    else:
        qtbot.keyClick(field, getattr(Qt.Key, f"Key_{leave}"))
    qtbot.waitUntil(lambda: state.measurements.items[1].name == "the hole")
    assert table.frame_model.index(1, name).data() == "the hole"
    assert table.selected_positions() == [2 if leave == "elsewhere" else 1]
    state.history.undo()
    assert table.frame_model.index(1, name).data() != "the hole"


def test_del_deletes_the_selected_rows(panel, qtbot):
    state, table = panel.state, panel.table
    start = iteration_start(panel)
    for number in range(4):
        state.measurements.keep(start + number * MS, start + (number + 1) * MS)
    names = [item.name for item in state.measurements.items]
    table.selectRow(1)
    selection = table.selectionModel()
    selection.select(
        table.frame_model.index(3, 0),
        QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows,
    )
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert [item.name for item in state.measurements.items] == [names[0], names[2]]
