"""Why exposed collectives are not hidden: sums against the breakdown, words by hand, and the demo's fault."""

from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.dependencies.random_jobs import random_study
from tests.analysis.make import TraceMaker
from viewer.analysis.core.intervals import union, window
from viewer.analysis.dependencies.graph import EdgeKind, Edges, Grade
from viewer.analysis.dependencies.overlap_reasons import HELD_NEXT, OVERLAP_COLUMNS, overlap_reasons
from viewer.analysis.dependencies.stall_reasons import StallReasons
from viewer.analysis.study import Study

RS = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"
US = 1000


@pytest.mark.parametrize("seed", range(20))
def test_the_lines_sum_to_the_exposed_communication(seed):
    study, graph, waits, rng = random_study(seed)
    reasons = StallReasons(study.launches, study.classes, study.parts, waits, graph)
    low, high = study.trace.span_ns
    cuts = np.unique(rng.integers(low, high + 1, 6))
    for within in (window(low, high), union(cuts[:-1:2], cuts[1::2])):
        scope = [within] * len(study.parts)
        lines = overlap_reasons(reasons, scope, 3)
        exposed = [
            int((parts.intervals("exposed_comm", start_ns=low, end_ns=high) & within).total())
            for parts in study.parts
        ]
        assert int(lines["exposed_ns"].sum()) == sum(exposed)
        assert set(lines["held_next"]) <= set(HELD_NEXT)
        assert (lines["per_iteration_ns"] == lines["exposed_ns"] // (3 * len(exposed))).all()
        if len(lines):
            assert lines["share"].sum() == pytest.approx(1)
            assert lines["exposed_ns"].is_monotonic_decreasing
        for line in lines.to_dict("records"):
            held = study.trace.kernels.start_ns[line["kernel"]], study.trace.kernels.end_ns[line["kernel"]]
            assert held[0] <= line["start_ns"] < line["end_ns"] <= held[1]
            parts = study.parts[line["gpu"]].totals(line["start_ns"], line["end_ns"])
            assert parts[2] == line["end_ns"] - line["start_ns"]


def job(late=False, other=False):
    """A GEMM, a ReduceScatter on stream 20 after it, and a GEMM that is launched before or after its end."""
    make = TraceMaker(session_ns=400 * US)
    make.call(0, 1 * US, correlation=1)
    make.call(2 * US, 3 * US, correlation=2)
    make.call(4 * US, 5 * US, correlation=3)
    make.call(*((190 * US, 195 * US) if late else (6 * US, 7 * US)), correlation=4)
    make.kernel(10 * US, 50 * US, correlation=1)
    make.kernel(51 * US, 150 * US, RS, stream=20, correlation=2)
    make.kernel(150 * US, 190 * US, RS, stream=20, correlation=3)
    if other:
        make.call(8 * US, 9 * US, correlation=5)
        make.copy(40 * US, 198 * US, stream=9, correlation=5)
    make.kernel(200 * US, 300 * US, correlation=4)
    return make.trace()


def lines_of(trace, source=None, kind=EdgeKind.EVENT):
    """Return the lines with an edge to the last kernel from the operation that starts at an instant."""
    study = Study(trace)
    ops = study.dependencies.operations
    target = int(np.flatnonzero(ops.start_ns == 200 * US)[0])
    edges = Edges.none()
    if source is not None:
        found = np.flatnonzero(ops.start_ns == source)
        edges = Edges.of_columns(np.array([target]), found[:1], kind, np.array([Grade.PROVEN], np.uint8))
    study.__dict__["dependencies"] = replace(study.dependencies, op_edges=edges)
    lines = overlap_reasons(study.stall_reasons, study.default_scope(None).within, None)
    return lines.to_dict("records")


def test_an_event_recorded_after_both_is_one_line():
    (line,) = lines_of(job(), 150 * US)
    assert line["text"] == (
        "2 ReduceScatter: the next GEMM waits for an event recorded after them on stream 20"
    )
    assert (line["exposed_ns"], line["count"], line["gpus"], line["per_iteration_ns"]) == (139 * US, 2, 1, -1)
    assert (line["held_next"], line["next"], line["stream"]) == ("event", "GEMM", "20")
    assert (line["start_ns"], line["end_ns"]) == (51 * US, 150 * US)


def test_an_event_recorded_after_the_first_names_the_first_alone():
    first, second = lines_of(job(), 51 * US)
    assert first["text"].startswith("1 ReduceScatter: the next GEMM waits for an event recorded after it on")
    assert second["text"] == "1 ReduceScatter: what holds the next GEMM is not known"


def test_the_other_reasons_are_said():
    late = [line["text"] for line in lines_of(job(late=True))]
    assert late == ["2 ReduceScatter: the next GEMM is not launched yet (host not recorded)"]
    queue = {line["held_next"] for line in lines_of(job(), 150 * US, EdgeKind.QUEUE)}
    assert queue == {"launch order", "unresolved"}
    other = [line["text"] for line in lines_of(job(other=True), 40 * US)]
    assert other == ["2 ReduceScatter: the next GEMM waits for copy on stream 9"]
    assert [line["held_next"] for line in lines_of(job())] == ["unresolved"]


def test_what_held_the_collectives_themselves_is_said():
    texts = {line["starts_after"] for line in lines_of(job(), 51 * US)}
    assert texts == {"the launch", "ReduceScatter on stream 20, before it"}
    # The first of the two takes more of the time.
    assert [line["starts_after"] for line in lines_of(job(), 150 * US)] == ["mostly the launch"]


def test_nothing_exposed_is_no_line():
    study = Study(TraceMaker().kernel(0, 10).trace())
    lines = overlap_reasons(study.stall_reasons, study.default_scope(None).within, None)
    assert (len(lines), tuple(lines.columns)) == (0, OVERLAP_COLUMNS)


def test_a_needless_wait_is_found_and_is_not_there_without_it(demo_of):
    def needless(**options):
        study = demo_of(iterations=3, **options)
        scope = study.default_scope(study.iterations())
        lines = overlap_reasons(study.stall_reasons, scope.within, len(scope.iterations))
        wanted = (lines["name"] == "ReduceScatter") & (lines["held_next"] == "event")
        return lines[wanted & (lines["next"] == "GEMM")]

    (line,) = needless(fault="needless-wait").to_dict("records")
    assert line["text"].endswith(
        "ReduceScatter: the next GEMM waits for an event recorded after them on stream 24"
    )
    assert line["gpus"] == 8
    assert not len(needless())
