import json
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.groups import find_groups
from viewer.analysis.collectives.pairs import KernelSequence
from viewer.analysis.core.classify import Rules
from viewer.analysis.core.intervals import window
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.demo import DemoOptions, make_demo
from viewer.readers import read

MS = 1_000_000
NAME = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def study_of(maker):
    return Study(maker.trace(), Rules.builtin())


def job(groups, sets=40, drift_ns=0, seed=1, name=NAME):
    """Make ranks that meet in groups; return the maker and the planted waits by (rank, set)."""
    random = np.random.default_rng(seed)
    maker, waits = TraceMaker(), {}
    for members in groups:
        for k in range(sets):
            base = k * MS + int(random.integers(0, drift_ns + 1))
            starts = base + random.integers(0, 200_000, len(members))
            end = int(starts.max()) + 100_000
            for rank, start in zip(members, starts.tolist(), strict=True):
                jitter = int(random.integers(0, 400))
                maker.kernel(start, end + jitter, name, stream=20, process=rank)
                waits[rank, k] = int(starts.max()) - start
    return maker, waits


@pytest.mark.parametrize(
    "groups",
    [
        [(0, 1), (2, 3), (4, 5), (6, 7)],
        [(0, 1, 2, 3), (4, 5, 6, 7)],
        [(0, 2, 4, 6), (1, 3, 5, 7)],
        [tuple(range(8))],
    ],
)
def test_groups_are_found_and_the_waits_are_those_of_the_simulation(groups):
    maker, waits = job(groups, drift_ns=150_000)
    study = study_of(maker)
    found = study.collectives
    rank = [study.trace.gpus[g].process for g in range(8)]
    assert sorted(tuple(sorted(rank[g] for g in group.gpus)) for group in found.groups) == sorted(groups)
    for gpu, process in enumerate(rank):
        rows = study.trace.kernels.of(next(s.index for s in study.trace.streams if s.gpu == gpu))
        assert found.wait_ns[rows].tolist() == [waits[process, k] for k in range(40)]
    assert found.notes == ()


def test_groups_in_step_are_told_apart_by_how_steadily_they_end():
    maker, _ = job([(0, 1), (2, 3)], drift_ns=40_000)
    found = study_of(maker).collectives
    assert sorted(group.gpus for group in found.groups) == [(0, 1), (2, 3)]


def test_waiting_and_transfer_fill_the_bar():
    maker, _ = job([(0, 1, 2, 3)])
    study = study_of(maker)
    held, kernels = study.collectives, study.trace.kernels
    for one in held.sets_table.to_dict("records"):
        rows = held.groups[one["group"]].kernels[:, one["set"]]
        lengths = kernels.end_ns[rows] - kernels.start_ns[rows]
        assert (held.wait_ns[rows] <= lengths).all()
        assert held.wait_ns[one["kernel"]] == 0, "the last arriver waits for nobody"
        assert one["wait_ns"] == held.wait_ns[rows].sum()
        assert one["shortest_ns"] == lengths.min()
        starts = kernels.start_ns[rows]
        assert (one["start_ns"], one["end_ns"]) == (starts.min(), kernels.end_ns[rows].max())
        assert one["spread_ns"] == starts.max() - starts.min()
        assert kernels.start_ns[one["kernel"]] == starts.max()
        assert one["last_gpu"] == held.groups[one["group"]].gpus[int(starts.argmax())]
    table = held.table
    assert (table["wait_ns"] + table["transfer_ns"]).sum() == (kernels.end_ns - kernels.start_ns).sum()
    assert table["others_waited_ns"].sum() == table["wait_ns"].sum()
    assert table["last"].sum() == 40
    total = table[["exposed_wait_ns", "exposed_transfer_ns", "exposed_unmatched_ns"]].sum(axis=1)
    assert total.tolist() == [p.intervals("exposed_comm").total() for p in study.parts]


def test_computation_beside_a_wait_is_not_exposed():
    maker = TraceMaker()
    for k in range(20):
        maker.kernel(k * MS, k * MS + 500_000, NAME, stream=20, process=0)
        maker.kernel(k * MS + 300_000, k * MS + 500_000, NAME, stream=20, process=1)
        maker.kernel(k * MS, k * MS + 100_000, process=0).kernel(
            k * MS + 400_000, k * MS + 450_000, process=0
        )
    held = study_of(maker).collectives
    assert held.exposed(0, window(0, MS)) == (200_000, 150_000, 0)
    assert held.exposed(0, window(200_000, 350_000)) == (100_000, 50_000, 0)
    assert held.exposed(0, window(5, 5)) == (0, 0, 0)
    assert held.waits(0).total() == 20 * 300_000


def test_a_set_whose_members_do_not_all_overlap_is_not_matched_and_said():
    maker, _ = job([(0, 1, 2, 3)], sets=40)
    late = TraceMaker()
    for owner, start, end, *_ in maker.rows["kernel"]:
        shift = 50 * MS if owner == 3 and start // MS == 39 else 0
        late.kernel(start + shift, -end + shift, NAME, stream=20, process=owner)
    held = study_of(late).collectives
    assert [int(group.matched.sum()) for group in held.groups] == [39]
    assert any("1 of 40" in note and "do not all overlap" in note for note in held.notes)


def test_one_gpu_has_nobody_to_wait_for():
    held = study_of(TraceMaker().kernel(0, 10, NAME)).collectives
    assert (held.groups, held.notes) == ((), ())
    assert held.wait_ns.tolist() == [-1]
    assert held.table["exposed_unmatched_ns"].tolist() == [10]
    assert len(held.sets_table) == len(held.groups_table) == 0


class _Payload:
    """A source whose NVTX rows name a communicator: ranks 0 and 1 one, 2 and 3 another."""

    def __init__(self, communicators):
        self.communicators = communicators

    def row(self, _kind, file_row):
        return {"jsonText": json.dumps({"NCCL communicator ID": self.communicators[file_row - 1]})}


def test_a_recorded_communicator_goes_before_timing():
    maker = TraceMaker()
    for process in range(4):
        for k in range(10):
            start = k * MS
            correlation = k + 1
            maker.kernel(start + 500, start + 900, NAME, stream=20, process=process, correlation=correlation)
            maker.call(start + 20, start + 30, process=process, correlation=correlation)
            maker.range(start + 10, start + 40, "ncclAllReduce", process=process, domain="NCCL")
    trace = maker.trace()
    source = _Payload(np.repeat([77, 77, 99, 99], 10).tolist())
    held = Study(type(trace)(**{**trace.__dict__, "source": source}), Rules.builtin()).collectives
    assert [(g.gpus, g.how, g.communicator) for g in held.groups] == [
        ((0, 1), "communicator", 77), ((2, 3), "communicator", 99),
    ]  # fmt: skip


def test_the_slow_rank_of_the_demo_comes_last(demo_study):
    table = demo_study.collectives.table
    slow = next(g.index for g in demo_study.trace.gpus if demo_study.trace.processes[g.process].rank == 5)
    assert table["others_waited_ns"].idxmax() == slow
    assert table["wait_ns"].idxmin() == slow
    assert [
        g for g, pattern in zip(table["gpu"], table["pattern"], strict=True) if pattern == "constant"
    ] == [slow]
    sizes = sorted(len(g.gpus) for g in demo_study.collectives.groups)
    assert sizes == [2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8]
    assert demo_study.collectives.notes == ()
    sets = demo_study.collectives.sets_table
    assert sets["start_ns"].is_monotonic_increasing
    assert (sets["wait_ns"] >= 0).all()


def test_a_demo_without_a_slow_rank_keeps_its_groups_apart(tmp_path: Path):
    path = make_demo(tmp_path / "clean.sqlite", DemoOptions(iterations=3, clean=True))
    held = Study(read(path, cache=False)).collectives
    assert sorted(len(g.gpus) for g in held.groups) == [2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8]
    assert held.notes == ()


def test_real_send_and_receive_fill_their_bars(real_study):
    study = real_study("torchrun-2xh100-nccl")
    held, kernels = study.collectives, study.trace.kernels
    matched = held.wait_ns >= 0
    length = (kernels.end_ns - kernels.start_ns)[matched]
    assert (held.wait_ns[matched] <= length).all()
    assert int(matched.sum()) == 66
    assert study.collectives.table["exposed_unmatched_ns"].tolist() == [0, 0]
    assert (held.table["exposed_wait_ns"] + held.table["exposed_transfer_ns"]).tolist() == [17172652, 8229100]


def test_the_report_says_it(demo_study):
    told = json.loads(json.dumps(report(demo_study)))
    gpus, held = told["gpus"], told["collectives"]
    assert [g["exposed_wait_ns"] + g["exposed_transfer_ns"] + g["exposed_unmatched_ns"] for g in gpus] == [
        g["exposed_comm_ns"] for g in gpus
    ]
    assert len(held["groups"]) == 11
    slowest = max(held["ranks"], key=lambda r: r["others_waited_ns"])
    assert (slowest["rank"], slowest["pattern"]) == (5, "constant")
    assert held["not_matched"] == []


@pytest.mark.parametrize(
    ("gpus", "lengths", "how"),
    [
        ((0, 1), (3, 3), ["communicator"]),
        ((0, 0), (3, 3), []),
        ((0, 1), (3, 2), ["communicator"]),
        ((0, 1, 2), (3, 3, 2), ["communicator"]),
    ],
)
def test_a_communicator_joins_different_gpus(gpus, lengths, how):
    """The kernels of each lie far from those of the others: nothing joins them by how they run."""
    maker = TraceMaker()
    for number, (gpu, length) in enumerate(zip(gpus, lengths, strict=True)):
        for k in range(length):
            at = (10 * number + k) * MS
            maker.kernel(at, at + 100_000, NAME, stream=20 + number, process=gpu)
    trace = maker.trace()
    rows = [trace.kernels.rows_of([stream.index]) for stream in trace.streams]
    name = int(trace.kernels.name_id[0])
    members = [KernelSequence(gpu, number, name, rows[number], 7) for number, gpu in enumerate(gpus)]
    found = find_groups(trace, members)
    assert [group.how for group in found] == how
    for group in found:
        assert np.sort(group.sets[group.sets >= 0]).tolist() == list(range(sum(lengths))), "each in one set"
