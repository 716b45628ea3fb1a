"""The keys `stall_reasons` and `overlap_reasons` of the report: names, windows and sums."""

import itertools
import json

import pytest

from viewer.analysis.summary.report import report

FOUR = ("launch_starved_ns", "blocked_ns", "unresolved_ns", "after_last_ns")


@pytest.fixture(scope="module")
def windows(demo_study):
    low, high = demo_study.trace.window_ns
    third = (high - low) // 3
    asked = {
        "whole": {},
        "range": {"window": (low + third, low + 2 * third)},
        "iteration": {"iteration": 1},
    }
    return {name: report(demo_study, **arguments) for name, arguments in asked.items()}


@pytest.mark.parametrize("name", ["whole", "range", "iteration"])
def test_the_four_sum_to_the_time_without_compute_of_the_same_window(windows, name):
    facts = windows[name]
    assert len(facts["stall_reasons"]) == len(facts["gpus"]) == 8
    for reasons, gpu in zip(facts["stall_reasons"], facts["gpus"], strict=True):
        assert (reasons["pid"], reasons["device"]) == (gpu["pid"], gpu["device"])
        absent = gpu["exposed_comm_ns"] + gpu["copy_only_ns"] + gpu["idle_ns"]
        assert reasons["compute_absent_ns"] == sum(reasons[key] for key in FOUR) == absent
        by = reasons["blocked_by"]
        assert set(by) == {"communication", "communication_wait", "copy", "compute"}
        assert by["communication"] + by["copy"] + by["compute"] == reasons["blocked_ns"]
        assert 0 <= by["communication_wait"] <= by["communication"]
        assert set(reasons["blocked_grade"]) == {"proven_ns", "by_handle_ns", "by_timing_ns"}
        assert sum(reasons["blocked_grade"].values()) == reasons["blocked_ns"]
        assert sum(reasons["unresolved_grade"].values()) == reasons["unresolved_ns"]
        assert sum(reasons["launch_starved_by"].values()) == reasons["launch_starved_ns"]
        assert reasons["exposed_blocking_ns"] + reasons["exposed_free_ns"] == gpu["exposed_comm_ns"]
    assert any(reasons["blocked_ns"] for reasons in facts["stall_reasons"])


def test_thirds_add_up_to_the_whole(demo_study, windows):
    low, high = demo_study.trace.window_ns
    third = (high - low) // 3
    edges = (low, low + third, low + 2 * third, high)
    pieces = [report(demo_study, pair) for pair in itertools.pairwise(edges)]
    for gpu in range(8):
        for key in ("compute_absent_ns", *FOUR):
            whole = windows["whole"]["stall_reasons"][gpu][key]
            assert sum(piece["stall_reasons"][gpu][key] for piece in pieces) == whole


@pytest.mark.parametrize("name", ["whole", "range", "iteration"])
def test_overlap_reasons_sum_to_the_exposed_communication_of_the_summary(windows, name):
    facts = windows[name]
    exposed = next(row["value"] for row in facts["summary"] if row["key"] == "exposed_comm")
    lines = facts["overlap_reasons"]
    assert sum(line["exposed_ns"] for line in lines) == exposed > 0
    assert all(line["exposed_ns"] >= later["exposed_ns"] for line, later in itertools.pairwise(lines))
    count = len(facts["scope"]["iterations"])
    for line in lines:
        assert line["per_iteration_ns"] == (line["exposed_ns"] // (8 * count) if count else None)
        assert line["longest"]["start_ns"] < line["longest"]["end_ns"]
    assert json.dumps(facts)
