import json
from itertools import pairwise

import pytest

from tests.analysis import sql
from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import CLASSES, Rules
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.analysis.time.time_breakdown import CATEGORIES

BUILTIN = Rules.builtin()
TOP = {"schema", "trace", "gpus", "counts", "window", "iterations", "marker", "steady", "rules"}
GPU = {
    "rank", "pid", "device", "name", "streams", "kernels", "memcpys", "memsets", "graph_launches",
    "first_op_ns", "last_op_ns", "launches", "compute_only_ns", "hidden_comm_ns", "exposed_comm_ns",
    "copy_only_ns", "idle_ns", "no_kernel_ns", "classes",
}  # fmt: skip


def made():
    maker = TraceMaker(session_ns=100)
    maker.call(0, 5, correlation=1).kernel(10, 30, "gemm", correlation=1).copy(35, 60)
    maker.kernel(20, 40, "ncclDevKernel_AllReduce", stream=20).memset(60, 61).graph(70, 90)
    maker.gpu(1, 0)
    return Study(maker.trace(), BUILTIN)


def test_what_the_window_is_where_nothing_ran_on_a_gpu():
    assert report(Study(TraceMaker(session_ns=100).trace(), BUILTIN))["window"]["what"] == "the session"
    window = report(Study(TraceMaker(session_ns=100).call(5, 40).trace(), BUILTIN))["window"]
    assert window == {"start_ns": 5, "end_ns": 40, "what": "first to last event"}


def test_the_report_of_a_small_trace():
    facts = report(made())
    assert facts.keys() >= TOP
    assert facts["schema"] == 1
    assert facts["trace"] == {
        "path": "made-by-hand.sqlite", "nsys_version": None, "recorded_by": None, "exported_by": None,
        "schema_version": None, "duration_ns": 100,
    }  # fmt: skip
    assert facts["window"] == {"start_ns": 10, "end_ns": 90, "what": "first to last GPU operation"}
    assert facts["rules"] == BUILTIN.hash
    gpu, silent = facts["gpus"]
    assert gpu.keys() >= GPU
    assert {key: gpu[key] for key in GPU - {"classes"}} == {
        "rank": 0, "pid": 100, "device": 0, "name": "H200", "streams": 2, "kernels": 2, "memcpys": 1,
        "memsets": 1, "graph_launches": 1, "first_op_ns": 10, "last_op_ns": 90, "launches": 1,
        "compute_only_ns": 30, "hidden_comm_ns": 10, "exposed_comm_ns": 10, "copy_only_ns": 21, "idle_ns": 9,
        "no_kernel_ns": 30,
    }  # fmt: skip
    assert list(gpu["classes"]) == list(CLASSES)
    assert gpu["classes"]["communication"] == {"sum_ns": 20, "union_ns": 20, "kernels": 1}
    assert (silent["streams"], silent["kernels"], silent["first_op_ns"], silent["idle_ns"]) == (
        0,
        0,
        None,
        80,
    )


def test_a_window_changes_what_can_be_counted_in_it_and_names_what_cannot():
    whole, part = report(made()), report(made(), window=(15, 25))
    gpu = part["gpus"][0]
    assert part["window"] == {"start_ns": 15, "end_ns": 25, "what": "range"}
    assert (gpu["compute_only_ns"], gpu["hidden_comm_ns"], gpu["idle_ns"]) == (5, 5, 0)
    assert gpu["classes"]["matrix multiply"] == {"sum_ns": 10, "union_ns": 10, "kernels": 1}
    counted = ("kernels", "memcpys", "memsets", "graph_launches", "streams", "first_op_ns", "last_op_ns")
    assert [gpu[key] for key in counted] == [2, 0, 0, 0, 2, 15, 25], "what touches it, clipped"
    for key in part["whole_trace"]:
        assert part[key] == whole[key]
    assert {"counts", "unread", "recording", "iterations"} <= set(part["whole_trace"])


def test_windows_that_tile_the_trace_add_up(demo_of):
    study = demo_of(iterations=3)
    low, high = study.trace.window_ns
    edges = [low, low + (high - low) // 3, low + (high - low) // 2, high]
    whole = report(study)
    pieces = [report(study, window=edge) for edge in pairwise(edges)]
    for number, gpu in enumerate(whole["gpus"]):
        parts = [piece["gpus"][number] for piece in pieces]
        assert min(p["first_op_ns"] for p in parts) == gpu["first_op_ns"]
        assert max(p["last_op_ns"] for p in parts) == gpu["last_op_ns"]
        # What straddles an edge counts on both sides.
        for key in ("kernels", "memcpys", "memsets"):
            assert gpu[key] <= sum(p[key] for p in parts) <= gpu[key] + 20
        for key in ("idle_ns", "compute_only_ns", "exposed_comm_ns", "exposed_wait_ns"):
            assert sum(p[key] for p in parts) == gpu[key]


def test_phases_are_those_of_the_iteration_that_was_asked_for(demo_of):
    study = demo_of(iterations=4)
    each = [report(study, iteration=number) for number in range(4)]
    whole = report(study)
    assert len({r["forward_ns"] for r in each}) == 4
    assert whole["forward_ns"] in range(
        min(r["forward_ns"] for r in each), max(r["forward_ns"] for r in each) + 1
    )
    for one in each:
        found = {phase["name"]: phase["compute_ns"] for phase in one["phases"]}
        assert found["forward"] == one["forward_ns"]
    low = each[1]["window"]["start_ns"] + 1
    nothing = report(study, window=(low, low + 1_000_000))
    assert nothing["forward_ns"] is None, "no iteration lies wholly in it"


def test_a_physical_gpu_of_two_processes_stands_beside_each():
    maker = TraceMaker(session_ns=100, physical={(0, 0): 3, (1, 0): 3})
    maker.kernel(0, 40).kernel(60, 100, process=1)
    first, second = report(Study(maker.trace(), BUILTIN))["gpus"]
    assert (first["idle_ns"], second["idle_ns"]) == (60, 60)
    assert first["board"] == second["board"]
    assert (first["board"]["idle_ns"], first["board"]["compute_only_ns"]) == (20, 80)
    assert report(made())["gpus"][0]["board"] is None
    (metric,) = [n for n in report(Study(maker.trace(), BUILTIN))["summary"] if n["key"] == "physical_idle"]
    assert (metric["value"], metric["per_gpu"]) == (20, [20, 20])
    assert "physical_idle" not in {n["key"] for n in report(made())["summary"]}


def test_a_window_is_clipped_to_the_recording_and_says_so():
    window = report(made(), window=(-50, 40))["window"]
    assert window == {"start_ns": 0, "end_ns": 40, "what": "range, clipped to the recording"}
    with pytest.raises(ValueError, match="recording runs"):
        report(made(), window=(200, 300))


def test_an_iteration_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no iteration 3"):
        report(made(), iteration=3)


def test_a_trace_without_anything_has_a_report():
    facts = report(Study(TraceMaker(session_ns=7).trace(), BUILTIN))
    assert (facts["gpus"], facts["iterations"], facts["steady"]) == ([], [], None)
    assert facts["window"]["end_ns"] == 7
    json.dumps(facts, allow_nan=False)


@pytest.mark.parametrize(
    "name",
    ["torchrun-2xh100-nccl", "inference-2xh100", "jacobi-1process-2gpus", "pytorch-a100-nvtx",
     "power-iteration-t4", "gpuid-is-not-cudaid", "all-tables-empty", "cupti-events-missing"],
)  # fmt: skip
def test_the_report_of_a_real_trace_equals_the_file(shared_trace, real_study, name):
    operations = sql.operations(shared_trace(name))
    study = real_study(name)
    facts = json.loads(json.dumps(report(study), allow_nan=False))
    low, high = facts["window"]["start_ns"], facts["window"]["end_ns"]
    assert {(gpu["pid"], gpu["device"]) for gpu in facts["gpus"]} == set(operations)
    for gpu in facts["gpus"]:
        ops = operations[gpu["pid"], gpu["device"]]
        assert gpu["streams"] == len({op.stream for op in ops})
        whats = {"kernels": "kernel", "memcpys": "memcpy", "memsets": "memset", "graph_launches": "graph"}
        for key, what in whats.items():
            assert gpu[key] == sum(op.what == what for op in ops)
        assert gpu["first_op_ns"] == min(op.start for op in ops)
        assert gpu["last_op_ns"] == max(op.end for op in ops)
        assert [gpu[f"{part}_ns"] for part in CATEGORIES] == sql.five_parts(ops, low, high)
        assert gpu["no_kernel_ns"] == gpu["copy_only_ns"] + gpu["idle_ns"]
        assert sum(c["kernels"] for c in gpu["classes"].values()) == gpu["kernels"]
        sums = sum(op.end - op.start for op in ops if op.what == "kernel")
        assert sum(c["sum_ns"] for c in gpu["classes"].values()) == sums
    if operations:
        assert low == min(op.start for ops in operations.values() for op in ops)
        assert high == max(op.end for ops in operations.values() for op in ops)
    for iteration in facts["iterations"]:
        for gpu in iteration["gpus"]:
            ops = operations[gpu["pid"], gpu["device"]]
            found = [gpu[f"{part}_ns"] for part in CATEGORIES]
            assert found == sql.five_parts(ops, gpu["start_ns"], gpu["end_ns"])
            assert sum(found) == gpu["end_ns"] - gpu["start_ns"]


def test_phases_name_their_top_kernels(demo_study):
    kernels = demo_study.trace.kernels
    for phase in report(demo_study)["phases"]:
        assert 1 <= len(phase["top"]) <= 3
        sums = [kernel["sum_ns"] for kernel in phase["top"]]
        assert sums == sorted(sums, reverse=True)
        assert sum(sums) <= sum(phase["classes"].values())
        assert {demo_study.trace.names[int(i)] for i in set(kernels.name_id.tolist())} >= {
            kernel["name"] for kernel in phase["top"]
        }
    json.dumps(report(demo_study)["phases"])
