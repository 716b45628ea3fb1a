"""The Stalls dock: filters, groups that open, and what a click does."""

import numpy as np
import pytest

from tests.panels.make import looking_at
from viewer.analysis.summary.summary import summary
from viewer.panels.stall_view import WantedStalls, stall_view
from viewer.panels.stalls_panel import StallsPanel
from viewer.state.jobs import join_all


@pytest.fixture
def panel(demo_study, qapp, qtbot):
    made = StallsPanel(looking_at(demo_study))
    qtbot.addWidget(made)
    made.resize(1200, 300)
    made.show()
    qtbot.waitUntil(lambda: made.view is not None and not made._worker.is_busy)
    yield made
    join_all()


def test_filters_keep_what_they_say(demo_study):
    every = stall_view(demo_study, 0, WantedStalls())
    table = every.stalls.table
    assert len(every.numbers) == len(table)
    assert every.totals["total_ns"].sum() == table["duration_ns"].sum() == every.groups["total_ns"].sum()
    idle = stall_view(demo_study, 0, WantedStalls(kind="idle", cause="waiting", gpu=2, least_ns=1_000_000))
    held = table.iloc[idle.numbers]
    assert len(held)
    assert set(held["kind"]) == {"idle"}
    assert set(held["cause"]) == {"waiting"}
    assert set(held["gpu"]) == {2}
    assert held["duration_ns"].min() >= 1_000_000
    short = stall_view(demo_study, 0, WantedStalls(most_ns=50_000))
    assert table["duration_ns"].iloc[short.numbers].max() <= 50_000


def test_a_filter_to_a_range_is_followed(demo_study):
    low, high = demo_study.trace.window_ns
    middle = (low + high) // 2
    view = stall_view(demo_study, 0, WantedStalls(scope=demo_study.range_scope(low, middle)))
    table = view.stalls.table
    expected = np.flatnonzero((table["start_ns"] < middle) & (table["end_ns"] > low))
    assert view.numbers.tolist() == expected.tolist()


def test_groups_come_first_and_open(panel, qtbot):
    assert list(panel.table.frame_model.frame["text"]) == list(panel.view.groups["text"])
    rows = panel.view.groups["rows"].iloc[0]
    panel.table.chosen.emit(0)
    qtbot.waitUntil(lambda: not panel._worker.is_busy)
    assert sorted(panel.view.numbers) == sorted(rows)
    assert list(panel.table.frame_model.frame["number"]) == sorted(rows)
    panel.close_group()
    qtbot.waitUntil(lambda: not panel._worker.is_busy)
    assert "text" in panel.table.frame_model.frame
    assert len(panel.view.numbers) == len(panel.view.stalls)


def test_a_click_shows_the_stall(panel):
    panel.grouped.setChecked(True)
    panel._point(5)
    number = int(panel.table.frame_model.frame["number"].iloc[5])
    held = panel.view.stalls.table.iloc[number]
    assert panel.state.stall_number == number
    assert panel.state.selection == (held["start_ns"], held["end_ns"])
    low, high = panel.state.axis.window
    assert low <= held["start_ns"]
    assert held["end_ns"] <= high


def test_a_cause_of_the_totals_is_a_filter(panel, qtbot):
    row = panel.view.totals.iloc[0]
    panel._take_cause(0)
    qtbot.waitUntil(lambda: not panel._worker.is_busy)
    assert len(panel.view.numbers) == row["count"]
    assert set(panel.view.stalls.table["cause"].iloc[panel.view.numbers]) == {row["cause"]}


def test_a_length_that_is_none_is_said(panel):
    panel.length.setText("long")
    panel._fill()
    assert "long" in panel.text.text()


def test_shares_are_of_all_stalls_of_the_kind(demo_study):
    every = stall_view(demo_study, 0, WantedStalls()).totals
    assert every.groupby("kind")["share"].sum().to_numpy() == pytest.approx(1)
    waiting = stall_view(demo_study, 0, WantedStalls(cause="waiting", gpu=2)).totals
    whole = every.loc[every["kind"] == "idle", "total_ns"].sum()
    held = waiting[waiting["kind"] == "idle"].iloc[0]
    assert held["share"] == pytest.approx(held["total_ns"] / whole)


def test_sums_of_whole_stalls_are_not_the_exact_part_of_waiting(panel, demo_study):
    titles = [c.title for c in panel.totals.frame_model.columns]
    assert "Main cause" in titles
    assert "Whole stalls" in titles
    assert "each wholly for its main cause" in panel.text.text()
    assert "Do not compare these sums" in panel.text.toolTip()
    metric = summary(demo_study, demo_study.iterations())["exposed_wait"]
    assert metric.title.endswith("exact part")
    assert "not to be compared" in metric.definition
