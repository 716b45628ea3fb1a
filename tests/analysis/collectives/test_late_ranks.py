import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.late_ranks import RankComparison, compare_ranks, rank_table, same_work
from viewer.analysis.study import Study
from viewer.trace import Kind

US = 1_000
MS = 1_000_000


def test_waiting_is_until_the_last_arrives_and_transfer_the_rest():
    maker = TraceMaker()
    for number in range(20):
        at = number * 1000 * US
        maker.kernel(at, at + 500 * US, "ncclDevKernel_AllReduce", stream=20, process=0)
        maker.kernel(at + 400 * US, at + 501 * US, "ncclDevKernel_AllReduce", stream=20, process=1)
    study = Study(maker.trace())
    found = study.collectives
    assert [g.gpus for g in found.groups] == [(0, 1)]
    assert found.wait_ns[:20].tolist() == [400 * US] * 20
    assert found.wait_ns[20:].tolist() == [0] * 20
    assert set(found.last_gpu.tolist()) == {1}
    table = found.table.set_index("gpu")
    assert table.loc[0, ["wait_ns", "transfer_ns", "last"]].tolist() == [8000 * US, 2000 * US, 0]
    assert table.loc[1, ["wait_ns", "last", "others_waited_ns"]].tolist() == [0, 20, 8000 * US]
    assert found.waits(0).total() == 8000 * US
    assert found.notes == ()


def test_counts_that_differ_are_not_matched_and_it_is_said():
    maker = TraceMaker()
    for number in range(20):
        at = number * 1000 * US
        for process in range(2 if number else 1):
            maker.kernel(at, at + 500 * US, "ncclDevKernel_AllReduce", stream=20, process=process)
    found = Study(maker.trace()).collectives
    assert found.groups == ()
    assert (found.wait_ns == -1).all()
    assert len(found.notes) == 2


def test_sends_and_receives_are_matched_in_pairs_or_not_at_all():
    maker = TraceMaker()
    for process in range(3):
        maker.kernel(0, 500 * US, "ncclDevKernel_SendRecv", stream=20, process=process)
    assert Study(maker.trace()).collectives.groups == ()


def test_tensor_and_data_parallel_groups_are_told_apart(demo_of):
    study = demo_of()
    groups = {(study.trace.names[g.name_id].split("(")[0], g.gpus) for g in study.collectives.groups}
    pairs = {gpus for name, gpus in groups if "AllReduce_Sum_bf16" in name}
    assert pairs == {(0, 1), (2, 3), (4, 5), (6, 7)}
    quads = {gpus for name, gpus in groups if "ReduceScatter" in name}
    assert quads == {(0, 2, 4, 6), (1, 3, 5, 7)}
    assert any(gpus == tuple(range(8)) for _, gpus in groups)


def test_wait_and_transfer_fill_every_matched_bar(demo_of):
    found, kernels = demo_of().collectives, demo_of().trace.kernels
    matched = found.wait_ns >= 0
    assert (found.wait_ns[matched] <= (kernels.end_ns - kernels.start_ns)[matched]).all()
    is_comm = demo_of().classes.is_comm(kernels.name_id)
    assert (matched == is_comm).all()


def test_the_slow_rank_of_the_demo_and_none_in_a_clean_one(demo_of):
    for study, slow in ((demo_of(), 5), (demo_of(clean=True), None), (demo_of(slow_rank=2), 2)):
        (group,) = compare_ranks(study.trace, study.parts, study.iterations(), study.collectives)
        assert group.gpus == tuple(range(8))
        assert group.is_straggler == (slow is not None)
        if slow is not None:
            assert group.slowest == slow
            assert group.waits_least
            assert group.spread == pytest.approx(0.06, abs=0.01)


def test_a_stage_that_does_other_work_is_not_compared():
    maker = TraceMaker()
    for number in range(4):
        at = number * 1000
        for process, names in enumerate((("a", "b"), ("a", "b"), ("a", "a"))):
            maker.range(at, at + 900, f"step {number}", process=process)
            for offset, name in enumerate(names):
                identity = 1 + number * 10 + offset
                maker.call(at + 10 * offset, at + 10 * offset + 5, process=process, correlation=identity)
                low = at + 100 + 300 * offset
                maker.kernel(low, low + 200 + 20 * process, name, process=process, correlation=identity)
    study = Study(maker.trace())
    assert same_work(study.trace, study.iterations()) == [(0, 1), (2,)]
    first, alone = compare_ranks(study.trace, study.parts, study.iterations())
    assert (first.slowest, first.compute_ns.tolist(), first.waits_least) == (1, [400, 440], None)
    assert alone.gpus == (2,)


def test_a_real_pair(real_study):
    study = real_study("torchrun-2xh100-nccl")
    found = study.collectives
    assert [g.kernels.shape for g in found.groups] == [(2, 33)]
    kernels = study.trace.events[Kind.KERNEL]
    rows = found.groups[0].kernels
    late = kernels.start_ns[rows].max(axis=0)
    assert (
        found.wait_ns[rows]
        == np.minimum(late - kernels.start_ns[rows], (kernels.end_ns - kernels.start_ns)[rows])
    ).all()


@pytest.mark.parametrize(
    ("spread", "slowest_share", "waits_least", "expected"),
    [
        (0.03, 0.75, True, True),
        (0.03, 0.75, None, True),
        (0.03, 0.75, False, False),
        (0.02, 0.75, True, False),
        (0.03, 0.74, True, False),
    ],
)
def test_a_straggler_stands_out_again_and_again_and_waits_least(spread, slowest_share, waits_least, expected):
    compute = np.array([100, 103])
    assert (
        RankComparison((0, 1), compute, None, 1, spread, slowest_share, waits_least).is_straggler == expected
    )


@pytest.mark.parametrize("late", [0, 1])
def test_who_computes_longest_but_waits_for_others_is_no_straggler(late):
    """Rank 1 computes longest; the other one waits for it, or it for the other, which begins late."""
    maker = TraceMaker()
    for number in range(20):
        at, identity = number * MS, 1 + 10 * number
        for process in (0, 1):
            maker.range(at, at + 950 * US, f"step {number}", process=process)
            maker.call(at + US, at + 2 * US, process=process, correlation=identity)
            maker.call(at + 3 * US, at + 4 * US, process=process, correlation=identity + 1)
            start = at + 100 * US
            maker.kernel(start, start + (300 + 30 * process) * US, process=process, correlation=identity)
            maker.kernel(
                at + (700 if process == late else 500) * US, at + 800 * US, "ncclDevKernel_AllReduce",
                stream=20, process=process, correlation=identity + 1,
            )  # fmt: skip
    study = Study(maker.trace())
    (group,) = compare_ranks(study.trace, study.parts, study.iterations(), study.collectives)
    assert (group.slowest, group.compute_ns.tolist()) == (1, [300 * US, 330 * US])
    assert group.wait_ns.tolist() == ([0, 200 * US] if late == 0 else [200 * US, 0])
    assert (group.waits_least, group.is_straggler) == (late == 1, late == 1)
    assert rank_table(study.trace, (group,))["slowest"].tolist() == [False, late == 1]
