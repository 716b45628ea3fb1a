"""The Iterations dock on the demo: figures, flags, another marker, steady iterations by hand."""

import numpy as np
import pytest
from PySide6.QtCore import Qt

from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.panels.iterations_panel import EACH, IterationsPanel, candidate_text, iteration_frame
from viewer.panels.panel import MEASURING
from viewer.rows.tree import build_rows
from viewer.state import ViewState, jobs


@pytest.fixture
def panel(qtbot, demo_study):
    state = ViewState()
    state.set_study(demo_study, build_rows(demo_study))
    panel = IterationsPanel(state)
    qtbot.addWidget(panel)
    panel.resize(1400, 300)
    panel.show()
    qtbot.waitExposed(panel)
    return panel


def test_every_iteration_is_listed_with_its_own_length(panel):
    iterations = panel.state.iterations
    frame = panel.table.frame_model.frame
    assert frame["lap"].tolist() == list(range(iterations.count))
    assert frame["duration_ns"].tolist() == iterations.duration_ns.tolist()
    shown = [panel.table.model().index(row, 0).data() for row in range(iterations.count)]
    assert shown == [str(iteration) for iteration in range(iterations.count)]
    assert "nan" not in {
        panel.table.model().index(r, c).data() for r in range(iterations.count) for c in range(12)
    }


def test_parts_of_every_gpu_fill_its_iteration(panel):
    frame = iteration_frame(panel.state.iterations, panel.state.study, EACH)
    parts = frame[[f"{p}_ns" for p in CATEGORIES]].sum(axis=1)
    assert np.array_equal(parts.to_numpy(), (frame["end_ns"] - frame["start_ns"]).to_numpy())
    assert len(frame) == panel.state.iterations.count * len(panel.state.study.trace.gpus)


def test_a_double_click_fits_the_iteration(qtbot, panel):
    table = panel.table
    centre = table.visualRect(table.model().index(1, 1)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=centre)
    qtbot.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=centre)
    iterations = panel.state.iterations
    low, high = panel.state.axis.window
    assert panel.state.iteration == 1
    assert low <= iterations.start_ns(1) < iterations.end_ns(1) <= high
    assert high - low < 1.2 * (iterations.end_ns(1) - iterations.start_ns(1))


def test_steady_iterations_are_chosen_by_hand_and_by_the_rule_again(qtbot, panel):
    ruled = panel.state.steady
    panel.table.selectRow(2)
    qtbot.mouseClick(panel.by_hand, Qt.MouseButton.LeftButton)
    assert panel.state.steady == (2,)
    assert "by hand" in panel.steady.text()
    qtbot.mouseClick(panel.by_rule, Qt.MouseButton.LeftButton)
    assert panel.state.steady == ruled


def test_another_marker_is_one_choice_away(panel, qtbot):
    candidates = panel.state.study.candidates
    assert [panel.marker.itemText(i) for i in range(panel.marker.count())] == [
        candidate_text(c) for c in candidates
    ]
    other = next(i for i, c in enumerate(candidates) if i and c.what == "range")
    panel.marker.setCurrentIndex(other)
    panel.marker.activated.emit(other)
    assert "Finding" in panel.steady.text()
    qtbot.waitUntil(lambda: panel.state.marker == other)
    assert panel.table.frame_model.frame["lap"].tolist() == list(range(panel.state.iterations.count))


def test_who_goes_back_to_the_marker_in_use_keeps_it(panel, qtbot):
    said = panel.steady.text()
    other = next(i for i, c in enumerate(panel.state.study.candidates) if i and c.what == "range")
    panel.marker.activated.emit(other)
    panel.marker.activated.emit(0)
    assert panel.steady.text() == said
    qtbot.waitUntil(lambda: not jobs.is_anything_running())
    qtbot.wait(0)
    assert panel.state.marker == 0


def test_the_iterations_of_another_trace_are_listed_once_it_is_shown_as_its_session_left_it(panel, qtbot):
    filled = []
    fill = panel.table.set_frame
    panel.table.set_frame = lambda *given: (filled.append(1), fill(*given))
    badges = []
    panel.badge_changed.connect(badges.append)
    study = panel.state.study
    panel.state.set_study(study, build_rows(study))
    panel.state.set_iteration(1)
    panel.state.set_steady_choice(frozenset({2}))
    assert panel._empty.text() == MEASURING
    assert panel._stack.currentWidget() is panel._empty
    assert badges[-1] == str(panel.state.iterations.count)
    assert not filled
    qtbot.waitUntil(lambda: panel._stack.currentWidget() is panel.body)
    assert len(filled) == 1
    assert "by hand" in panel.steady.text()


def test_behind_others_it_counts_and_lists_nothing(panel, qtbot):
    badges = []
    panel.badge_changed.connect(badges.append)
    panel.set_behind(True)
    listed = panel.table.frame_model.frame
    other = next(i for i, c in enumerate(panel.state.candidates) if i and c.what == "range")
    panel.state.study.iterations(other)
    panel.state.set_marker(other)
    assert badges == [str(panel.state.iterations.count)]
    assert panel.table.frame_model.frame is listed
    panel.set_behind(False)
    assert panel.table.frame_model.frame["lap"].tolist() == list(range(panel.state.iterations.count))


def test_without_a_trace_it_says_what_to_do(qtbot):
    panel = IterationsPanel(ViewState())
    qtbot.addWidget(panel)
    panel.show()
    assert "Open a trace" in panel._empty.text()
