from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.analysis.summary.summary import summary
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.trace import GPU_KINDS

BUILTIN = Rules.builtin()
REFERENCE = {
    ("torchrun-2xh100-nccl", 144, 0): (253690832, 0, 17172652, 2954303, 26059219, 1993),
    ("torchrun-2xh100-nccl", 145, 1): (256095624, 0, 8229100, 2951192, 32601090, 2017),
    ("inference-2xh100", 111, 0): (22385163, 0, 0, 940505084, 6557358, 1721),
    ("jacobi-1process-2gpus", 71914, 0): (6973999496, 0, 0, 154087759, 478423348, 2002),
    ("jacobi-1process-2gpus", 71914, 3): (2320086454, 0, 0, 55391592, 5231032557, 1001),
    ("pytorch-a100-nvtx", 764729, 0): (290620115, 0, 0, 13168626, 9062871601, 10348),
}  # fmt: skip

times = st.integers(-20, 60)
operations = st.lists(
    st.tuples(
        st.sampled_from(["gemm", "ncclDevKernel_AllReduce", "copy", "set", "graph"]),
        times,
        st.integers(0, 15),
        st.sampled_from([7, 8, 20]),
    ),
    max_size=25,
)


def study_of(rows):
    maker = TraceMaker()
    maker.gpu()
    for what, start, length, stream in rows:
        add = {"copy": maker.copy, "set": maker.memset, "graph": maker.graph}.get(what)
        if add:
            add(start, start + length, stream=stream)
        else:
            maker.kernel(start, start + length, what, stream=stream)
    return Study(maker.trace(), BUILTIN)


def part_of_instant(rows, t):
    running = {what for what, start, length, _ in rows if start <= t < start + length}
    compute, comm = bool(running & {"gemm", "graph"}), "ncclDevKernel_AllReduce" in running
    if compute:
        return CATEGORIES.index("hidden_comm" if comm else "compute_only")
    if comm:
        return CATEGORIES.index("exposed_comm")
    return CATEGORIES.index("copy_only" if running else "idle")


@given(operations, times, times)
def test_the_five_parts_are_those_of_every_instant(rows, low, high):
    low, high = min(low, high), max(low, high)
    parts = study_of(rows).parts[0]
    expected = np.bincount([part_of_instant(rows, t) for t in range(low, high)], minlength=5)
    totals = parts.totals(low, high)
    assert totals.tolist() == expected.tolist()
    assert totals.sum() == high - low
    assert parts.has_graphs == any(what == "graph" for what, *_ in rows)


@given(operations, st.lists(st.tuples(times, st.integers(0, 30)), min_size=1, max_size=6))
def test_many_windows_at_once_are_the_windows_one_by_one(rows, windows):
    parts = study_of(rows).parts[0]
    low = np.array([[start, start] for start, _ in windows])
    high = np.array([[start + length, start + 2 * length] for start, length in windows])
    totals = parts.totals(low, high)
    assert totals.shape == (len(windows), 2, 5)
    for at in np.ndindex(low.shape):
        assert totals[at].tolist() == parts.totals(low[at], high[at]).tolist()
    assert np.array_equal(totals.sum(axis=-1), high - low)


@given(operations, times)
def test_stalls_and_instants_agree_with_the_totals(rows, t):
    parts = study_of(rows).parts[0]
    assert parts.part_at(t) == part_of_instant(rows, t)
    for position, part in enumerate(CATEGORIES):
        found = parts.intervals(part, start_ns=-20, end_ns=75)
        assert found.total() == parts.totals(-20, 75)[position]
        assert all(parts.part_at(int(s)) == position for s in found.start_ns)
    no_kernel = parts.intervals("copy_only", "idle", start_ns=-20, end_ns=75)
    assert no_kernel.total() == parts.totals(-20, 75)[3:].sum()


def test_a_gpu_without_operations_is_idle():
    maker = TraceMaker()
    maker.gpu(0, 0)
    maker.kernel(0, 10, device=1)
    silent, busy = Study(maker.trace(), BUILTIN).parts
    assert silent.totals(0, 10).tolist() == [0, 0, 0, 0, 10]
    assert busy.totals(0, 10).tolist() == [10, 0, 0, 0, 0]
    idle = silent.intervals("idle")
    assert (idle.start_ns.tolist(), idle.end_ns.tolist()) == ([0], [10])


def test_a_window_that_ends_before_it_starts_is_refused():
    parts = study_of([("gemm", 0, 10, 7)]).parts[0]
    with pytest.raises(ValueError, match="ends before it starts"):
        parts.totals(5, 4)


@pytest.mark.parametrize(("name", "pid", "device"), REFERENCE)
def test_the_parts_of_real_traces_are_the_reference_figures(real_study, name, pid, device):
    study = real_study(name)
    trace = study.trace
    gpu = next(g for g in trace.gpus if (trace.processes[g.process].pid, g.device) == (pid, device))
    *expected, kernels = REFERENCE[name, pid, device]
    assert study.parts[gpu.index].totals(*trace.window_ns).tolist() == expected
    assert study.families(gpu.index).count(*trace.window_ns) == kernels


def test_operations_of_a_gpu_come_in_order():
    maker = TraceMaker().kernel(5, 9).copy(0, 7, stream=8).graph(5, 6, stream=9).memset(2, 3)
    maker.kernel(1, 2, device=1)
    study = Study(maker.trace(), BUILTIN)
    order = study.order(0)
    assert order.start_ns.tolist() == [0, 2, 5, 5]
    assert order.end_ns.tolist() == [7, 3, 6, 9]
    assert [order.ref(i)[0] for i in range(4)] == [GPU_KINDS[1], GPU_KINDS[2], GPU_KINDS[3], GPU_KINDS[0]]
    assert len(study.order(1)) == 1


def test_a_physical_gpu_that_two_processes_share_is_measured_as_one():
    trace = TraceMaker().kernel(0, 10).kernel(8, 20, process=1).copy(30, 40, process=2).trace()
    on_physical_gpu = zip(trace.gpus, (3, 3, 5), strict=True)
    trace = replace(
        trace, gpus=tuple(replace(gpu, physical=physical_gpu) for gpu, physical_gpu in on_physical_gpu)
    )
    (physical_gpu,) = Study(trace, BUILTIN).shared_gpus
    assert (physical_gpu.physical, physical_gpu.gpus) == (3, (0, 1))
    assert physical_gpu.parts.totals(0, 40).tolist() == [20, 0, 0, 0, 20]


def test_physical_gpus_of_two_hosts_with_one_number_are_two():
    made = TraceMaker(physical={(0, 0): 3, (1, 0): 3, (2, 0): 3}, hosts={0: 1, 1: 2, 2: 1})
    study = Study(made.kernel(0, 10).kernel(0, 10, process=1).kernel(8, 20, process=2).trace(), BUILTIN)
    assert [(shared.physical, shared.gpus) for shared in study.shared_gpus] == [(3, (0, 2))]


def spinning_study():
    """A spin kernel from 0 to 100 beside work from 20 to 40 and a collective from 30 to 60."""
    maker = TraceMaker().kernel(0, 100, "cuStreamWaitValue_spin_kernel(unsigned int*)", stream=40)
    maker.kernel(20, 40).kernel(30, 60, "ncclDevKernel_AllReduce", stream=20).copy(110, 120)
    return Study(maker.trace(), BUILTIN)


def test_kernels_that_only_wait_are_counted_apart_and_move_no_category():
    study = spinning_study()
    parts = study.parts[0]
    assert parts.totals(0, 120).tolist() == [70, 30, 0, 10, 10], "spinning stays in P"
    assert [parts.spinning.start_ns.tolist(), parts.spinning.end_ns.tolist()] == [[0, 40], [20, 100]]
    measured = study.measure(10, 50)
    assert measured.spinning_ns.tolist() == [20]
    numbers = {n.key: n for n in summary(study, None, study.range_scope(0, 120)).numbers}
    assert (numbers["spinning"].value, numbers["hidden_by_spinning"].value) == (80, 20)
    plain = Study(TraceMaker().kernel(0, 10).trace(), BUILTIN)
    assert "spinning" not in {n.key for n in summary(plain, None, plain.range_scope(0, 10)).numbers}


def test_on_a_shared_gpu_nobody_spins_while_another_process_works():
    maker = TraceMaker(physical={(0, 0): 0, (1, 0): 0}).kernel(0, 100, "spin_kernel(long)")
    maker.kernel(50, 70, process=1)
    (shared,) = Study(maker.trace(), BUILTIN).shared_gpus
    assert shared.parts.spinning.total() == 80
