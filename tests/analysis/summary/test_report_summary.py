"""The report's keys `summary`, `kernels`, `tables`, `stalls` and `unreliable`: what they sum to, and when."""

import json

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.analysis.summary.summary import summary
from viewer.analysis.time.scope import iteration_scope

KINDS = {"idle": "idle", "copy": "copy_only", "exposed": "exposed_comm"}
CAUSES = {
    "waiting", "host code", "synchronise", "slow CUDA call", "launch-bound", "GPU side", "preempted",
    "profiler", "copy", "collective wait", "collective transfer", "unknown",
}  # fmt: skip


def test_the_summary_is_that_of_the_window_and_of_the_text(demo_study):
    facts = json.loads(json.dumps(report(demo_study), allow_nan=False))
    measured = summary(demo_study, demo_study.iterations())
    assert [row["key"] for row in facts["summary"]] == [number.key for number in measured.numbers]
    assert facts["scope"]["iterations"] == list(measured.scope.iterations)
    for row, number in zip(facts["summary"], measured.numbers, strict=True):
        assert (row["value"], row["share"], row["usual"] or "") == (number.value, number.share, number.usual)
        assert row["per_gpu"] == list(number.per_gpu)
        assert isinstance(row["value"], int) or row["unit"] != "ns" or row["value"] is None
    idle = next(row for row in facts["summary"] if row["key"] == "idle")
    place = measured["idle"].where()
    gpu = demo_study.trace.gpus[place.gpu]
    assert idle["location"] == {
        "pid": demo_study.trace.processes[gpu.process].pid, "device": gpu.device,
        "start_ns": place.start_ns, "end_ns": place.end_ns,
    }  # fmt: skip


def test_a_range_and_an_iteration_are_what_every_number_is_over(demo_study):
    iterations = demo_study.iterations()
    start, end = iterations.start_ns(1) + 1000, iterations.start_ns(1) + 40_000_000
    for facts, scope in (
        (report(demo_study, window=(start, end)), demo_study.range_scope(start, end)),
        (report(demo_study, iteration=1), iteration_scope(iterations, [1])),
    ):
        values = {row["key"]: row["value"] for row in facts["summary"]}
        parts = scope.parts(demo_study.parts).sum(axis=0).tolist()
        assert [
            values[key] for key in ("compute_only", "hidden_comm", "exposed_comm", "copy_only", "idle")
        ] == parts
        shares = sum(row["share"] for row in facts["tables"]["classes"])
        assert shares == pytest.approx(1)
        assert all(kernel["count"] > 0 and kernel["sum_ns"] <= scope.total_ns for kernel in facts["kernels"])
        for stall in facts["stalls"]:
            low, high = scope.hull
            assert low <= stall["longest"]["start_ns"] < stall["longest"]["end_ns"] <= high


@pytest.mark.parametrize("chosen", [None, 1])
def test_stalls_sum_to_the_time_of_their_kind(demo_study, chosen):
    facts = report(demo_study, iteration=chosen)
    iterations, table = demo_study.iterations(), demo_study.stalls().table
    assert {stall["cause"] for stall in facts["stalls"]} <= CAUSES
    for kind, name in KINDS.items():
        rows = table[table["kind"] == name]
        length = rows["duration_ns"].to_numpy()
        if chosen is not None:
            start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
            low = iterations.starts[rows["gpu"].to_numpy(), chosen]
            high = iterations.starts[rows["gpu"].to_numpy(), chosen + 1]
            length = np.maximum(np.minimum(end, high) - np.maximum(start, low), 0)
        stalls = [stall for stall in facts["stalls"] if stall["kind"] == kind]
        assert sum(stall["total_ns"] for stall in stalls) == int(length.sum()) > 0
        assert sum(stall["count"] for stall in stalls) == int((length > 0).sum())
        assert max(s["longest"]["end_ns"] - s["longest"]["start_ns"] for s in stalls) == int(length.max())
    totals = [stall["total_ns"] for stall in facts["stalls"]]
    assert totals == sorted(totals, reverse=True)


def test_iterations_share_a_line_of_stalls(demo_study):
    assert "Iteration #" in {stall["inside"] for stall in report(demo_study)["stalls"]}


def unreliable(study, **asked):
    facts = report(study, **asked)
    return facts, {entry["what"]: entry for entry in facts["unreliable"]}


def test_a_sound_trace_has_nothing_unreliable_but_its_ranks(demo_of):
    facts, _ = unreliable(demo_of())
    assert [entry["keys"] for entry in facts["unreliable"]] == [["gpus.rank"]]
    assert all(row["reliable"] for row in facts["summary"])


def test_lost_rows_and_shifted_clocks_make_every_number_unreliable(demo_of):
    facts, found = unreliable(demo_of(lose={2: 1.0}))
    lost = next(entry for entry in facts["unreliable"] if "lost" in entry["why"])
    assert (lost["what"], lost["pid"]) == ("gpu", 40014)
    assert not any(row["reliable"] for row in facts["summary"])
    facts, found = unreliable(demo_of(shift={2: -50_000_000}))
    assert (found["clocks"]["pid"], found["clocks"]["device"]) == (40014, 2)
    assert not any(row["reliable"] for row in facts["summary"])


def test_what_is_not_known_is_null_and_says_why(demo_study):
    start = demo_study.iterations().start_ns(1) + 1000
    facts, _ = unreliable(demo_study, window=(start, start + 40_000_000))
    unknown = {f"summary.{row['key']}" for row in facts["summary"] if row["value"] is None}
    said = {key for entry in facts["unreliable"] for key in entry["keys"]}
    assert unknown >= {"summary.iteration", "summary.forward", "summary.backward_to_forward"}
    assert unknown <= said
    assert not any(row["reliable"] for row in facts["summary"] if row["value"] is None)
    assert "steady" in said


def test_exposed_communication_beside_graphs_is_unreliable_and_nothing_else_is():
    maker = TraceMaker().kernel(0, 100, "ncclDevKernel_AllReduce").graph(50, 300)
    facts, found = unreliable(Study(maker.trace(), Rules.builtin()))
    assert {row["key"] for row in facts["summary"] if not row["reliable"]} == {"exposed_comm"}
    assert "gpus.exposed_comm_ns" in found["classes"]["keys"]


def test_a_trace_without_gpus_has_the_keys_too():
    facts = report(Study(TraceMaker(session_ns=7).trace(), Rules.builtin()))
    assert (facts["scope"], facts["summary"], facts["kernels"], facts["stalls"]) == (None, [], [], [])
    json.dumps(facts, allow_nan=False)
