import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.launches.launches import UNKNOWN
from viewer.analysis.study import Study

US = 1_000


def study_of(maker):
    return Study(maker.trace(), Rules.builtin())


def test_launch_latency_and_where_the_queue_was_empty():
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


def two_kernels(idle_ns, queued_ns):
    """Two kernels, the second `idle_ns` after the first and so long after its call returned."""
    start = 100 * US + idle_ns
    maker = TraceMaker().call(0, 10 * US, correlation=1).kernel(40 * US, 100 * US, correlation=1)
    returned = start - queued_ns
    maker.call(returned - 5 * US, returned, correlation=2).kernel(start, start + US, correlation=2)
    return maker, start


@pytest.mark.parametrize(
    ("idle_ns", "queued_ns", "is_dry"),
    [
        (10_000, 0, True),
        (10_000, 19_999, True),
        (10_000, 20_000, False),
        (9_999, 0, False),
        (50_000, 60_000, False),
    ],
)
def test_the_queue_was_empty_where_idle_time_ends_with_an_operation_that_was_not_queued(
    idle_ns, queued_ns, is_dry
):
    maker, start = two_kernels(idle_ns, queued_ns)
    found = study_of(maker).launch_latency(0)
    assert found.times_ns.tolist() == [40 * US, start]
    assert found.queued_ns.tolist() == [30 * US, queued_ns]
    assert found.dry_ns.tolist() == ([start] if is_dry else [])


def test_what_ends_idle_time_without_a_launch_record_says_nothing_of_the_queue():
    """The next one that has a record was not queued, but no idle time ended there."""
    maker, start = two_kernels(100 * US, 0)
    maker.kernel(start - 50 * US, start, stream=8)
    assert study_of(maker).launch_latency(0).dry_ns.tolist() == []


def test_idle_time_at_the_end_is_not_looked_for_behind_the_last_operation():
    maker = TraceMaker().call(0, 10 * US, correlation=1).kernel(40 * US, 100 * US, correlation=1)
    maker.kernel(200 * US, 210 * US)
    assert study_of(maker).launch_latency(0).dry_ns.tolist() == []


def test_the_queue_at_an_instant_and_in_columns():
    maker, start = two_kernels(10_000, 7_000)
    found = study_of(maker).launch_latency(0)
    assert [found.at(t) for t in (40 * US - 1, 40 * US, start - 1, start)] == [None, 30_000, 30_000, 7_000]
    low, high = found.columns(0, 200 * US, 4)
    assert low.tolist() == [30_000, -1, 7_000, -1]
    assert high.tolist() == [30_000, -1, 7_000, -1]
    low, high = found.columns(0, 200 * US, 1)
    assert (low.tolist(), high.tolist()) == ([7_000], [30_000])
