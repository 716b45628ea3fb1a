import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.kernels.name_stats import neighbour
from viewer.analysis.study import Study
from viewer.trace import Kind

COMM = "ncclDevKernel_AllReduce"


@pytest.fixture
def maker():
    maker = TraceMaker().kernel(0, 100).kernel(200, 320).kernel(400, 500).kernel(150, 160, "relu")
    maker.kernel(210, 320, COMM, stream=20).kernel(480, 600, COMM, stream=20)
    return maker.kernel(1_000, 1_050, process=1)


def test_what_communication_beside_it_costs(maker):
    study = Study(maker.trace(), Rules.builtin())
    found = study.name_stats(maker.name("gemm"))
    assert (found.count, found.total_ns, found.mean_ns, found.min_ns, found.max_ns) == (4, 370, 92.5, 50, 120)
    assert (found.alone.count, found.alone.mean_ns) == (2, 75.0)
    assert (found.beside.count, found.beside.mean_ns) == (1, 120.0)
    assert (found.partly.count, found.partly.mean_ns) == (1, 100.0)
    assert found.price == pytest.approx(0.6)
    assert found.per_gpu["count"].tolist() == [3, 1]
    assert found.per_gpu["price"].tolist()[0] == pytest.approx(0.2)
    assert np.isnan(found.per_gpu["price"].astype(float).tolist()[1])


def test_of_communication_it_is_what_computation_beside_it_costs(maker):
    study = Study(maker.trace(), Rules.builtin())
    found = study.name_stats(maker.name(COMM))
    assert (found.beside.count, found.partly.count, found.alone.count) == (1, 1, 0)
    assert found.price is None


def test_a_name_that_nothing_has(maker):
    found = Study(maker.trace(), Rules.builtin()).name_stats(maker.name("python"), Kind.MEMCPY)
    assert (found.count, found.mean_ns, found.price, len(found.per_gpu)) == (0, 0.0, None, 0)


def test_previous_and_next_of_the_same_name():
    maker = TraceMaker().kernel(0, 10).kernel(50, 60, stream=8).kernel(20, 30, "relu").kernel(90, 99)
    maker.kernel(70, 80, process=1).call(0, 1, "a").call(5, 6, "b").call(7, 8, "a").call(9, 10, "a", tid=2)
    study = Study(maker.trace(), Rules.builtin())
    start = study.trace.kernels.start_ns
    walk = [int(start.tolist().index(0))]
    while (after := neighbour(study.trace, Kind.KERNEL, walk[-1], 1)) is not None:
        walk.append(after)
    assert start[walk].tolist() == [0, 50, 90], "over the streams of the GPU"
    assert neighbour(study.trace, Kind.KERNEL, walk[1], -1) == walk[0]
    assert neighbour(study.trace, Kind.API, 0, 1) == 2
    assert neighbour(study.trace, Kind.API, 2, 1) is None, "another thread's is another's"


def test_the_price_of_overlap_in_the_demo(demo_study):
    stats = [demo_study.name_stats(n) for n in np.unique(demo_study.trace.kernels.name_id).tolist()]
    assert sum(s.count for s in stats) == len(demo_study.trace.kernels)
    paid = [s for s in stats if s.price is not None and s.beside.count > 50 and s.alone.count > 50]
    assert len(paid) > 3
    assert 0.0 < float(np.median([s.price for s in paid])) < 0.1, "NCCL takes some of the SMs"
    assert all(s.per_gpu["mean_ns"].idxmax() == 5 for s in paid), "the slow rank"
