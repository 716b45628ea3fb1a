import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.launches.latency import launch_latency
from viewer.analysis.launches.launches import UNKNOWN
from viewer.analysis.launches.links import latency_ns, other_ends
from viewer.analysis.study import Study
from viewer.trace import Kind


def study_of(maker):
    return Study(maker.trace(), Rules.builtin())


@pytest.fixture
def study():
    maker = TraceMaker()
    maker.call(0, 10, "cudaGraphLaunch", correlation=1).call(20, 25, correlation=2).call(30, 31, "cudaMalloc")
    maker.kernel(50, 60, correlation=1).kernel(40, 45, correlation=1, stream=8).copy(12, 15, correlation=2)
    maker.kernel(90, 95).range(0, 100, "step")
    return study_of(maker)


def test_both_ends_of_a_launch(study):
    assert other_ends(study, Kind.KERNEL, 2) == other_ends(study, Kind.KERNEL, 0) == [(Kind.API, 0)]
    assert other_ends(study, Kind.API, 0) == [(Kind.KERNEL, 2), (Kind.KERNEL, 0)], "by their start"
    assert [latency_ns(study, Kind.KERNEL, k) for k in (0, 2)] == [50, 40]
    assert latency_ns(study, Kind.API, 0) == 40, "that of the first operation"


def test_negative_latency_is_kept(study):
    assert latency_ns(study, Kind.MEMCPY, 0) == latency_ns(study, Kind.API, 1) == -8


def test_what_has_no_other_end(study):
    for kind, index in ((Kind.KERNEL, 1), (Kind.API, 2), (Kind.NVTX, 0)):
        assert other_ends(study, kind, index) == []
        assert latency_ns(study, kind, index) is None


def test_equal_correlations_of_two_processes_make_no_false_link():
    maker = TraceMaker().call(0, 5, correlation=7, process=0).kernel(10, 20, correlation=7, process=1)
    study = study_of(maker)
    assert other_ends(study, Kind.KERNEL, 0) == other_ends(study, Kind.API, 0) == []


def test_launch_distance_and_where_the_queue_ran_dry():
    maker = TraceMaker().call(0, 10, correlation=1).call(10, 20, correlation=2).call(20, 30, correlation=3)
    maker.kernel(5_000, 6_000, correlation=1).kernel(6_000, 30_000, correlation=2)
    maker.call(50_000, 51_000, correlation=4).kernel(55_000, 60_000, correlation=4)
    maker.kernel(90_000, 95_000, correlation=3).kernel(96_000, 97_000)
    distance = study_of(maker).launch_latency(0)
    assert distance.times_ns.tolist() == [5_000, 6_000, 55_000, 90_000]
    assert distance.queued_ns.tolist() == [4_990, 5_980, 4_000, 89_970]
    assert distance.dry_ns.tolist() == [55_000], "the other hole ended with what had long been queued"
    assert (distance.at(4_999), distance.at(54_999)) == (None, 5_980)
    low, high = distance.columns(0, 100_000, 10)
    assert low.tolist() == [4_990, -1, -1, -1, -1, 4_000, -1, -1, -1, 89_970]
    assert high.tolist() == [5_980, -1, -1, -1, -1, 4_000, -1, -1, -1, 89_970]


def test_columns_of_a_real_trace_are_those_of_brute_force(real_study):
    study = real_study("torchrun-2xh100-nccl")
    distance = launch_latency(study, 0)
    start, end = study.trace.window_ns
    low, high = distance.columns(start, end, 97)
    edges = [start + (end - start) * i // 97 for i in range(98)]
    for column in range(97):
        held = (distance.times_ns >= edges[column]) & (distance.times_ns < edges[column + 1])
        queued = distance.queued_ns[held]
        assert (low[column], high[column]) == ((queued.min(), queued.max()) if held.any() else (-1, -1))
    assert UNKNOWN not in distance.queued_ns
    assert np.isin(distance.dry_ns, study.parts[0].intervals("idle").end_ns).all()
