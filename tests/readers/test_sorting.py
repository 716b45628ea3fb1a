"""Tables are sorted once where their owners' order stands, and anew where it turns out to be another."""

import importlib

import numpy as np
import pytest

from tests.readers.exports import CALLS, KERNELS, NVTX, call, kernel, nvtx, process
from viewer.readers import read
from viewer.trace import Kind

settling = importlib.import_module("viewer.readers.sorting")
PIDS = (10, 20)


@pytest.fixture
def sorted_kinds(monkeypatch):
    """The kinds that are sorted, each time they are."""
    seen, sort_events = [], settling.sort_events

    def told(raw, *given):
        seen.append(raw.kind)
        return sort_events(raw, *given)

    monkeypatch.setattr(settling, "sort_events", told)
    return seen


def two_ranks(small, ranks):
    """Two processes, each with two threads that call; NVTX says their ranks, when calls are read already."""
    threads = [(pid, process(pid) | tid) for pid in PIDS for tid in (pid + 1, pid)]
    return small({
        KERNELS: [kernel(globalPid=process(pid), start=1000 + pid, end=1100 + pid) for pid in PIDS],
        CALLS: [
            call(globalTid=tid, start=900 - 100 * k, end=950 - 100 * k, correlationId=k + 1)
            for k in range(3) for _, tid in threads
        ],
        NVTX: [
            nvtx(eventType=39, globalTid=process(pid) | pid, text=f"MPI Rank {rank}")
            for pid, rank in zip(PIDS, ranks, strict=True)
        ] + [nvtx(globalTid=process(PIDS[0]) | 99, start=5, end=6)],
    })  # fmt: skip


@pytest.mark.parametrize("ranks", [(0, 1), (1, 0)])
def test_calls_lie_by_rank_and_thread_however_they_were_sorted_before(small, ranks, sorted_kinds):
    file, early = two_ranks(small, ranks), []
    whole = read(file, early=early.append)
    assert sorted_kinds.count(Kind.API) == 1 + (ranks == (1, 0))
    assert sorted_kinds.count(Kind.KERNEL) == 1 + (ranks == (1, 0))
    assert [p.pid for p in whole.processes] == [pid for _, pid in sorted(zip(ranks, PIDS, strict=True))]
    for trace in (whole, read(file)):
        api = trace.api
        for thread in trace.threads:
            held = api.of(thread.index)
            assert held.stop - held.start == (0 if thread.tid == 99 else 3)
            assert api.start_ns[held].tolist() == sorted(api.start_ns[held].tolist())
            assert set(api.columns["correlation"][held].tolist()) == (
                set() if thread.tid == 99 else {1, 2, 3}
            )
        for gpu in trace.gpus:
            pid = trace.processes[gpu.process].pid
            kernels = trace.kernels.of(trace.streams_of(gpu.index)[0].index)
            assert trace.kernels.start_ns[kernels].tolist() == [1000 + pid]
    [partial] = early
    assert sorted(partial.kernels.start_ns.tolist()) == [1010, 1020]


def test_what_stands_is_the_same_array(small, sorted_kinds):
    early = []
    whole = read(two_ranks(small, (0, 1)), early=early.append)
    assert np.shares_memory(early[0].kernels.start_ns, whole.kernels.start_ns)
    assert not whole.api.start_ns.flags.writeable
