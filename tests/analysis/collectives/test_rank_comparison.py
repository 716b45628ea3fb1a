from types import SimpleNamespace

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.rank_comparison import (
    RankComparison,
    compare_ranks,
    compare_stages,
    rank_table,
    same_work,
)
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


def test_a_missing_row_makes_one_set_partial_and_spoils_no_other():
    maker = TraceMaker()
    for number in range(20):
        at = number * 1000 * US
        for process in range(2 if number else 1):
            maker.kernel(
                at + 100 * US * process, at + 500 * US, "ncclDevKernel_AllReduce", stream=20, process=process
            )
    found = Study(maker.trace()).collectives
    assert [(g.gpus, int(g.matched.sum())) for g in found.groups] == [((0, 1), 19)]
    assert found.wait_ns.tolist() == [-1] + [100 * US] * 19 + [0] * 19
    assert len(found.notes) == 1
    assert "partner is missing" in found.notes[0]


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
    for study, slow in ((demo_of(), (5,)), (demo_of(clean=True), ()), (demo_of(slow_rank=2), (2,))):
        (group,) = compare_ranks(study.trace, study.parts, study.iterations(), study.collectives)
        assert group.gpus == tuple(range(8))
        assert group.longer == slow
        assert group.spread == pytest.approx(0.06 if slow else 0, abs=0.01)


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
    assert (first.longer, first.compute_ns.tolist(), first.excess_ns.tolist()) == ((1,), [400, 440], [0, 40])
    assert alone.gpus == (2,)


def test_one_whose_peers_are_not_known_is_compared_with_the_stage_that_is_as_it_is():
    maker = TraceMaker()
    # The ends of the model alone tell the stages apart: 1 of 41 kernels.
    ends = ["embedding", "embedding", "embedding", "head", "head", "head", "between"]
    for number in range(4):
        for process, end in enumerate(ends):
            at = number * 10_000
            maker.range(at, at + 9_000, f"step {number}", process=process)
            for place, name in enumerate([end, *["layer"] * 40]):
                identity, low = 1 + number * 100 + place, at + 100 + 100 * place
                maker.call(low - 90, low - 85, process=process, correlation=identity)
                maker.kernel(low, low + 50, name, process=process, correlation=identity)
    study = Study(maker.trace())
    groups = same_work(study.trace, study.iterations(), ((0, 1), (3, 4)))
    assert groups == [(0, 1, 2), (3, 4, 5), (6,)]


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


def comparison(compute, noise=0):
    compute = np.array(compute)
    base = np.median(np.sort(compute)[: (len(compute) + 1) // 2])
    return RankComparison(
        tuple(range(len(compute))), compute, None, (compute - base).astype(int), np.full(len(compute), noise)
    )


@pytest.mark.parametrize(
    ("compute", "noise", "longer"),
    [
        ([1000] * 8, 0, ()),
        ([1000] * 7 + [1020], 0, ()),
        ([1000] * 7 + [1021], 0, (7,)),
        ([1000] * 7 + [1025], 8, (7,)),
        ([1000] * 7 + [1025], 9, ()),
        ([1000, 1000, 1060, 1000, 1000, 1050, 1000, 1000], 0, (2, 5)),
        ([1000] * 4 + [1050] * 4, 0, (4, 5, 6, 7)),
        # One that is quicker than all others makes nobody late.
        ([900] + [1000] * 7, 0, ()),
        ([1000, 1030], 0, (1,)),
        ([1000], 0, ()),
    ],
)
def test_who_computes_longer_is_a_set_above_the_lower_half(compute, noise, longer):
    assert comparison(compute, noise).longer == longer


def test_what_makes_an_iteration_longer_on_all_ranks_is_no_noise():
    """Sequence lengths vary by a third from step to step, on all ranks alike; rank 1 takes 3 % more."""
    maker = TraceMaker()
    for number in range(12):
        at, length = number * MS, (300 + 25 * (number % 5)) * US
        for process in range(4):
            identity = 1 + number
            maker.range(at, at + 950 * US, f"step {number}", process=process)
            maker.call(at + US, at + 2 * US, process=process, correlation=identity)
            end = at + 100 * US + length * (103 if process == 1 else 100) // 100
            maker.kernel(at + 100 * US, end, process=process, correlation=identity)
    study = Study(maker.trace())
    (group,) = compare_ranks(study.trace, study.parts, study.iterations(), None, tuple(range(1, 11)))
    assert group.longer == (1,)
    assert rank_table(study.trace, (group,))["slowest"].tolist() == [False, True, False, False]


def test_stages_are_compared_as_stages_and_not_rank_by_rank():
    stages = SimpleNamespace(stages=((0, 1), (2, 3), (4, 5), (6, 7)))
    heavy = compare_stages((comparison([1000, 1000, 1000, 1000, 1100, 1100, 1000, 1000]),), stages)
    assert (heavy.gpus, heavy.longer) == ((0, 1, 2, 3), (2,))
    # A single slow rank of a stage makes no heavy stage.
    assert compare_stages((comparison([1000] * 7 + [1100]),), stages).longer == ()
    assert compare_stages((), SimpleNamespace(stages=())) is None
