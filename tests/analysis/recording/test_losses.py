"""Rows that were lost, and rows that look as if they were."""

import sqlite3
from contextlib import closing

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.recording.diagnostics import lost_gpus
from viewer.analysis.study import Study
from viewer.demo import DemoOptions, make_demo
from viewer.readers import read


def found(study, kind):
    return [diagnostic for diagnostic in study.diagnostics if diagnostic.kind == kind]


def launched(count=400, lost=(), every_ns=1_000, latency_ns=50_000, last=10**12, **changes):
    """Launches whose kernels start `latency_ns` later; those of `lost`, and after `last`, have none."""
    maker = TraceMaker(session_ns=10_000_000)
    for number in range(count):
        at = number * every_ns
        maker.call(at, at + 500, correlation=number + 1, **changes)
        if number not in lost and number <= last:
            maker.kernel(at + latency_ns, at + latency_ns + 800, correlation=number + 1)
    return maker


@pytest.mark.parametrize(("share", "is_lost"), [(0.01, True), (0.08, True), (0.002, False), (0.0, False)])
def test_a_loss_of_half_a_percent_is_noticed_on_its_rank_alone(demo_of, share, is_lost):
    study = demo_of(lose={2: share} if share else {})
    lost = found(study, "lost-rows")
    assert [f.where for f in lost] == ["Rank 2"] * is_lost
    assert lost_gpus(study.trace, study.diagnostics) == frozenset({2} if is_lost else ())
    assert found(study, "cut-at-end") == []
    if is_lost:
        assert "not because it was idle" in lost[0].meaning
        assert "upper bound" in lost[0].meaning


def test_three_missing_in_the_middle_are_a_loss_and_two_are_none():
    assert found(Study(launched(lost={100, 200, 300}).trace()), "lost-rows")
    assert not found(Study(launched(lost={100, 200}).trace()), "lost-rows")
    assert not found(Study(launched(count=700, lost={100, 200, 300}).trace()), "lost-rows"), "0.4 %"


def test_what_is_still_queued_at_the_end_is_cut_not_lost():
    study = Study(launched(last=359).trace())
    assert found(study, "lost-rows") == []
    (cut,) = found(study, "cut-at-end")
    assert "its last 40 kernel launches had not run" in cut.title
    assert cut.severity == "info"


def test_calls_that_go_on_long_after_the_gpus_rows_have_ended_are_lost():
    study = Study(launched(every_ns=500_000, latency_ns=5_000, last=199).trace())
    (lost,) = found(study, "lost-rows")
    assert "400 kernel launches, but kernels for 240 of them" not in lost.title, "40 of them are cut at most"
    assert lost.time_ns > 200 * 500_000


def test_a_stream_that_is_seldom_used_does_not_excuse_the_others():
    maker = launched(lost=set(range(200, 240)))
    for number in range(5):
        maker.call(number * 10, number * 10 + 5, tid=2, correlation=1000 + number)
        maker.kernel(60_000 + number, 60_001 + number, stream=20, correlation=1000 + number)
    assert found(Study(maker.trace()), "lost-rows")


def test_what_is_launched_into_a_graph_runs_nothing():
    maker = launched(lost=set(range(100, 150)))
    maker.call(99_600, 99_700, "cudaStreamBeginCapture_ptsz", tid=2)
    maker.call(149_800, 149_900, "cudaStreamEndCapture_ptsz", tid=2)
    assert not found(Study(maker.trace()), "lost-rows"), "other threads launch into it too"
    maker.call(150_100, 150_200, "cudaStreamBeginCapture")
    maker.call(150_300, 150_400, "cudaStreamEndCapture")
    assert not found(Study(maker.trace()), "lost-rows")
    outside = launched(lost=set(range(100, 150)))
    outside.call(10_600, 10_700, "cudaStreamBeginCapture", tid=2)
    outside.call(20_600, 20_700, "cudaStreamEndCapture", tid=2)
    assert found(Study(outside.trace()), "lost-rows")


def test_a_capture_that_began_before_the_recording_ends_in_it():
    maker = launched(lost=set(range(50)))
    maker.call(49_800, 49_900, "cudaStreamEndCapture", tid=2)
    assert not found(Study(maker.trace()), "lost-rows")


def test_a_driver_call_inside_the_runtimes_needs_no_row_of_its_own():
    maker = launched()
    for number in range(400):
        maker.call(number * 1_000 + 100, number * 1_000 + 400, "cuLaunchKernel", correlation=5_000 + number)
    assert not found(Study(maker.trace()), "lost-rows")
    alone = launched()
    for number in range(400):
        alone.call(number * 1_000 + 600, number * 1_000 + 700, "cuLaunchKernel", correlation=5_000 + number)
    assert found(Study(alone.trace()), "lost-rows")


def test_host_functions_and_empty_copies_are_no_launches():
    maker = launched()
    for number in range(100):
        maker.call(number, number + 1, "cudaLaunchHostFunc", tid=3, correlation=9_000 + number)
        maker.call(number, number + 1, "cudaMemcpyAsync", tid=4, correlation=9_500 + number)
    assert not found(Study(maker.trace()), "lost-rows")


def test_calls_that_failed_ran_nothing(tmp_path):
    path = make_demo(tmp_path / "demo.sqlite", DemoOptions(ranks=2, iterations=2, lose={1: 0.05}))
    assert found(Study(read(path, cache=False)), "lost-rows")
    ids = "SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = 1"
    with closing(sqlite3.connect(path)) as file, file:
        (process,) = file.execute("SELECT max(globalPid) FROM PROCESSES").fetchone()
        file.execute(
            f"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET returnValue = 719 WHERE correlationId NOT IN ({ids}) "
            "AND globalTid >> 24 = ? >> 24",
            (process,),
        )
    assert not found(Study(read(path, cache=False)), "lost-rows")


def ranges_with_calls(count, until, resume=10**9):
    """Ranges `step 0`, … of 10 µs with three launches each, none from `until` to before `resume`."""
    maker = TraceMaker(session_ns=10_000_000)
    for number in range(count):
        at = number * 10_000
        maker.range(at, at + 9_000, f"step {number}")
        for launch in range(3 if not until <= number < resume else 0):
            correlation = number * 3 + launch + 1
            maker.call(at + launch * 1_000 + 100, at + launch * 1_000 + 200, correlation=correlation)
            maker.kernel(at + launch * 1_000 + 300, at + launch * 1_000 + 900, correlation=correlation)
    return maker


def test_a_range_that_goes_on_while_the_calls_have_stopped_shows_that_rows_were_lost():
    study = Study(ranges_with_calls(20, 14).trace())
    (lost,) = found(study, "stopped-calls")
    assert "“step #” goes on 6 times" in lost.title
    assert (lost.severity, lost.process, lost.time_ns) == ("error", 0, 132_200)
    assert lost_gpus(study.trace, study.diagnostics) == frozenset({0})
    (lost,) = found(Study(ranges_with_calls(20, 8, 11).trace()), "stopped-calls")
    assert "goes on 3 times" in lost.title


def test_ranges_that_held_no_calls_before_or_come_once_more_are_no_loss():
    assert not found(Study(ranges_with_calls(20, 19).trace()), "stopped-calls"), "the last one alone"
    maker = ranges_with_calls(10, 10)
    for number in range(30):
        maker.range(200_000 + number * 100, 200_050 + number * 100, "log line")
    assert not found(Study(maker.trace()), "stopped-calls"), "log lines never launch"
    assert not found(Study(ranges_with_calls(20, 20).trace()), "stopped-calls")
    idle = ranges_with_calls(10, 10)
    for number in range(30):
        idle.range(200_000 + number * 1_000, 200_500 + number * 1_000, f"step {10 + number}")
    assert not found(Study(idle.trace()), "stopped-calls"), "a loop that has nothing to do turns faster"


def test_clean_jobs_have_lost_nothing(demo_of):
    for options in ({}, {"clean": True}, {"like": "distca"}, {"fault": "tiny-kernels"}, {"fault": "item"}):
        study = demo_of(**options)
        assert not [f for f in study.diagnostics if f.severity == "error"], options
        assert not found(study, "cut-at-end"), options
