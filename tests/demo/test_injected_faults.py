"""Faults that were planted on purpose are named for what they are."""

import numpy as np
import pytest

from viewer.analysis.stalls.causes import IDLE_CAUSES
from viewer.analysis.stalls.stalls import IDLE
from viewer.analysis.study import Study
from viewer.demo import DemoOptions
from viewer.demo.injected_faults import FAULTS, FLUSH_MS, METRICS, PREEMPTED_MS, RANGES, TINY_KERNELS, WAIT_MS
from viewer.readers import read
from viewer.trace import Kind

RANKS, ITERATIONS = 4, 3


@pytest.fixture(scope="module", params=["healthy job", "job with its own faults"])
def idle_of(request, make):
    """A function from a fault to the idle stalls of a job that has it, with names for indices."""
    clean = request.param == "healthy job"

    def table(kind):
        path = make(ranks=RANKS, iterations=ITERATIONS, fault=kind, clean=clean, slow_rank=None)
        study = Study(read(path, cache=False))
        found = study.stalls().table
        found = found[(found["kind"] == IDLE) & (found["lap"] > 0)].copy()
        for column, events in (
            ("inside", Kind.NVTX),
            ("drained_by", Kind.API),
            ("other_call", Kind.API),
            ("blocking_call", Kind.API),
            ("awaited", Kind.API),
        ):
            ids, names = study.trace.events[events].name_id, study.trace.names
            found[column] = [names[ids[i]] if i >= 0 else "" for i in found[column]]
        return found

    return table


def planted(idle_of, kind):
    found = idle_of(kind)
    return found[found["inside"] == RANGES[kind]]


def share(found, of):
    return found.loc[of, "duration_ns"].sum() / found["duration_ns"].sum()


def test_a_busy_cpu(idle_of):
    found = planted(idle_of, "busy-cpu")
    assert len(found) == RANKS * (ITERATIONS - 1)
    assert set(found["cause"]) == {"host code"}
    assert set(found["drained_by"]) == {"cudaDeviceSynchronize"}


def test_numbers_fetched_one_by_one(idle_of):
    found = planted(idle_of, "item")
    assert len(found) == METRICS * RANKS * (ITERATIONS - 1)
    named = (found["cause"] == "synchronise") & (found["drained_by"] == "cudaStreamSynchronize")
    assert share(found, named) > 0.85


def test_an_allocation(idle_of):
    found = planted(idle_of, "malloc")
    assert set(found["cause"]) == {"slow CUDA call"}
    assert set(found["other_call"]) == {"cudaMalloc"}


def test_tiny_kernels(idle_of):
    found = planted(idle_of, "tiny-kernels")
    assert len(found) > 0.9 * TINY_KERNELS * RANKS * (ITERATIONS - 1)
    assert share(found, found["cause"] == "launch-bound") > 0.97


def test_an_event_that_comes_late(idle_of):
    found = idle_of("event-wait")
    found = found[found["cause"] == "GPU side"]
    assert len(found) == RANKS * (ITERATIONS - 1)
    assert np.allclose(found["duration_ns"], WAIT_MS * 1e6, atol=2_000)
    assert set(found["awaited"]) == {"cudaStreamWaitEvent"}


def test_a_thread_that_loses_its_core_is_preempted_and_does_not_wait(idle_of):
    found = planted(idle_of, "preempted")
    assert len(found) == RANKS * (ITERATIONS - 1)
    assert set(found["cause"]) == {"preempted"}
    assert (found["preempted_ns"] > 0.9 * PREEMPTED_MS * 1e6).all()
    assert "preempted" not in set(idle_of("busy-cpu")["cause"]), "in a synchronisation it costs nothing"


def test_the_profilers_own_work_is_the_profilers(idle_of):
    found = planted(idle_of, "buffer-flush")
    assert len(found) == RANKS * (ITERATIONS - 1)
    assert set(found["cause"]) == {"profiler"}
    assert (found["profiler_ns"] > 0.9 * FLUSH_MS * 1e6).all()


def test_a_loop_that_polls_is_named_for_what_it_asks(idle_of):
    found = planted(idle_of, "polling")
    assert len(found) == RANKS * (ITERATIONS - 1)
    assert set(found["cause"]) == {"synchronise"}
    assert set(found["blocking_call"]) == {"cudaEventQuery"}
    assert set(found["other_call"]) == {"cudaMalloc"}


def test_not_everything_is_a_synchronisation(idle_of):
    for kind in set(FAULTS) - {"polling", "heavy-stage"}:
        found = idle_of(kind)
        assert set(found["cause"]) <= set(IDLE_CAUSES)
        assert share(found, found["cause"] == "synchronise") < 0.35, kind


@pytest.mark.parametrize(
    "options", [{"tensor": 0}, {"fault": "earthquake"}, {"fault": "item", "like": "distca"}]
)
def test_nonsense_is_refused(options):
    with pytest.raises(ValueError, match=r"group|fault"):
        DemoOptions(**options)
