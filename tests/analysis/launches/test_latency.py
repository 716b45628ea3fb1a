import numpy as np

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.launches.launches import UNKNOWN
from viewer.analysis.study import Study


def study_of(maker):
    return Study(maker.trace(), Rules.builtin())


def test_launch_latency_and_where_the_queue_ran_dry():
    maker = TraceMaker().call(0, 10, correlation=1).call(10, 20, correlation=2).call(20, 30, correlation=3)
    maker.kernel(5_000, 6_000, correlation=1).kernel(6_000, 30_000, correlation=2)
    maker.call(50_000, 51_000, correlation=4).kernel(55_000, 60_000, correlation=4)
    maker.kernel(90_000, 95_000, correlation=3).kernel(96_000, 97_000)
    latency = study_of(maker).launch_latency(0)
    assert latency.times_ns.tolist() == [5_000, 6_000, 55_000, 90_000]
    assert latency.queued_ns.tolist() == [4_990, 5_980, 4_000, 89_970]
    assert latency.dry_ns.tolist() == [55_000], "the other hole ended with what had long been queued"
    assert (latency.at(4_999), latency.at(54_999)) == (None, 5_980)
    low, high = latency.columns(0, 100_000, 10)
    assert low.tolist() == [4_990, -1, -1, -1, -1, 4_000, -1, -1, -1, 89_970]
    assert high.tolist() == [5_980, -1, -1, -1, -1, 4_000, -1, -1, -1, 89_970]


def test_columns_of_a_real_trace_are_those_of_brute_force(real_study):
    study = real_study("torchrun-2xh100-nccl")
    latency = study.launch_latency(0)
    start, end = study.trace.window_ns
    low, high = latency.columns(start, end, 97)
    edges = [start + (end - start) * i // 97 for i in range(98)]
    for column in range(97):
        held = (latency.times_ns >= edges[column]) & (latency.times_ns < edges[column + 1])
        queued = latency.queued_ns[held]
        assert (low[column], high[column]) == ((queued.min(), queued.max()) if held.any() else (-1, -1))
    assert UNKNOWN not in latency.queued_ns
    assert np.isin(latency.dry_ns, study.parts[0].intervals("idle").end_ns).all()
