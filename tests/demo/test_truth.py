"""What the simulation says held up an operation is what the times in its file say."""

import itertools

import numpy as np
import pytest

from tests.demo.load import calls, operations, table
from tests.demo.true_path import critical_path
from viewer.demo import DemoOptions, dependencies, ground_truth, job
from viewer.demo.program import EVENT_WAITS, ON_GPU, Do
from viewer.demo.rank_faults import RankFaults
from viewer.demo.simulation import STREAM_GAP_NS, SYNC_RETURN_NS

JOB = {"ranks": 8, "iterations": 3}
VARIANTS = [{}, {"clean": True}, {"one_stream": True}, {"fault": "needless-wait"}, {"like": "distca"}]


@pytest.fixture(params=VARIANTS, ids=str)
def variant(request, make):
    options = JOB | request.param
    if options.get("like") == "distca":
        options |= {"iterations": 5}
    return make(**options), list(dependencies(job(DemoOptions(**options))))


def times(frame, column):
    """One column by (rank, correlation id)."""
    return dict(zip(zip(frame["rank"], frame.correlationId, strict=True), frame[column], strict=True))


def test_every_operation_follows_what_held_it_or_its_launch(variant):
    path, found = variant
    starts, ends = (times(operations(path), column) for column in ("start", "end"))
    launches = times(calls(path), "start")
    checked = 0
    for truth in found:
        for i in [i for i, s in enumerate(truth.iteration.program.steps) if s.do in ON_GPU]:
            for rank, holder in enumerate(truth.held_by[i].tolist()):
                key = rank, int(truth.iteration.correlation[i, rank])
                if holder >= 0:
                    assert starts[key] == ends[rank, holder] + STREAM_GAP_NS
                else:
                    assert 5_000 <= starts[key] - launches[key] < 6_400
                checked += 1
    assert checked == len(operations(path))


def test_blocking_calls_return_after_what_they_waited_for(variant):
    path, found = variant
    ends, returns = times(operations(path), "end"), times(calls(path), "end")
    held = 0
    for truth in found:
        for i, rank in np.argwhere(truth.returned_by >= 0).tolist():
            key = rank, int(truth.iteration.correlation[i, rank])
            assert returns[key] == ends[rank, int(truth.returned_by[i, rank])] + SYNC_RETURN_NS
            held += 1
    assert held > 100


def test_producers_are_those_of_the_record_that_the_file_names(variant):
    """By sync id: the last operation on the recording stream called before the record."""
    path, found = variant
    own = operations(path).merge(
        calls(path)[["rank", "correlationId", "start"]].rename(columns={"start": "called"}),
        on=["rank", "correlationId"],
    )
    queues = {key: queue.sort_values("called") for key, queue in own.groupby(["rank", "streamId"])}
    called = times(calls(path), "start")
    records = table(path, "CUPTI_ACTIVITY_KIND_CUDA_EVENT")
    streams, ids = times(records, "streamId"), times(records, "eventSyncId")
    record_of = {(key[0], number): key for key, number in ids.items()}
    waits = times(table(path, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"), "eventSyncId")
    single = several = 0
    for truth in found:
        steps = truth.iteration.program.steps
        for i in [i for i, s in enumerate(steps) if s.do in EVENT_WAITS]:
            for rank in (0, 5):
                wait = rank, int(truth.iteration.correlation[i, rank])
                record = record_of[rank, waits[wait]]
                queue = queues[rank, streams[record]]
                before = int(np.searchsorted(queue.called.to_numpy(), called[record]))
                producers = {int(ids[rank]) for ids in truth.producers[i]}
                if before:
                    assert int(queue.correlationId.iloc[before - 1]) in producers
                single += len(producers) == 1
                several += len(producers) > 1
    assert single > 100
    assert several < single


def test_a_needless_wait_holds_compute_behind_the_reduce_scatter(make):
    options = JOB | {"fault": "needless-wait", "clean": True}
    kernels = operations(make(**options))
    name_of = times(kernels, "name")
    truth = list(dependencies(job(DemoOptions(**options))))[1]
    steps, held = truth.iteration.program.steps, []
    for i, step in enumerate(steps):
        if step.kernel == "fc2_dgrad" and steps[i - 1].do == Do.STREAM_WAIT:
            assert steps[i - 2].text == "needless-wait"
            held += [name_of[rank, int(holder)] for rank, holder in enumerate(truth.held_by[i])]
    assert len(held) == 4 * 8
    assert all("ReduceScatter" in name for name in held)


@pytest.mark.parametrize("tax", [0.03, 0.15])
def test_the_planted_tax_is_what_communication_costs_the_kernels_beside_it(make, tax):
    options = JOB | {"overlap_tax": tax, "slow_rank": None}
    plain = JOB | {"overlap_tax": 0.0, "slow_rank": None}
    total = ground_truth(job(DemoOptions(**options))).tax_ns.sum()
    lengths = []
    for one in (options, plain):
        frame = operations(make(**one))
        frame = frame[(frame.kind == "KERNEL") & ~frame.name.str.startswith("nccl", na=True)]
        lengths.append((frame.end - frame.start).sum())
    assert total == lengths[0] - lengths[1]
    frame = operations(make(**options))
    beside = 0
    for _, own in frame[frame.kind == "KERNEL"].groupby("rank"):
        nccl = own[own.name.str.startswith("nccl")]
        for start, end in zip(
            *own[~own.name.str.startswith("nccl")][["start", "end"]].to_numpy().T, strict=True
        ):
            beside += (np.minimum(nccl.end, end) - np.maximum(nccl.start, start)).clip(lower=0).sum()
    assert total == pytest.approx(beside * tax / (1 + tax), rel=0.001)
    assert not ground_truth(job(DemoOptions(**JOB, clean=True))).tax_ns.any()


def test_a_kernel_beside_two_collectives_pays_once():
    from viewer.demo.overlap_tax import OverlapTax

    tax = OverlapTax(0.25)
    tax.add(np.array([100, 900]), np.array([200, 950]))
    tax.add(np.array([150, 400]), np.array([260, 500]))
    # Beside 100 to 260: 160 ns for the work of 128; beside 400 to 500: 100 ns for 80.
    assert tax.end_of(np.array([50, 350]), np.array([500, 200])).tolist() == [50 + 532, 350 + 220]
    assert tax.end_of(np.array([120, 420]), np.array([10, 8])).tolist() == [132, 430]


def test_the_critical_path_tiles_the_iteration(variant):
    for truth in variant[1]:
        path, starts = critical_path(truth), truth.iteration.gpu_start_ns
        assert path[0].start_ns == starts[starts >= 0].min()
        assert path[-1].end_ns == truth.iteration.gpu_end_ns.max()
        assert all(a.end_ns == b.start_ns for a, b in itertools.pairwise(path))
        assert {"compute", "transfer"} <= {p.kind for p in path}


def test_the_critical_path_is_mostly_compute_of_the_slow_rank():
    truth = list(dependencies(job(DemoOptions(iterations=6))))[5]
    by_rank = dict.fromkeys(range(8), 0)
    for piece in critical_path(truth):
        by_rank[piece.rank] += (piece.end_ns - piece.start_ns) * (piece.kind == "compute")
    assert by_rank[5] > 0.8 * sum(by_rank.values())


def test_a_shorter_piece_of_the_path_shortens_the_iteration():
    """The path is critical: what is on it makes the iteration long, by its whole length."""
    options = {"clean": True, "iterations": 2, "seed": 3}
    runs = [
        list(dependencies(job(DemoOptions(**options, rank_faults=RankFaults(slow={4: factor})))))[1]
        for factor in (1.10, 1.09)
    ]
    lengths = [run.iteration.gpu_end_ns.max() - critical_path(run)[0].start_ns for run in runs]
    path = critical_path(runs[0])
    compute = sum(p.end_ns - p.start_ns for p in path if p.kind == "compute" and p.rank == 4)
    assert lengths[0] - lengths[1] == pytest.approx(compute * 0.01 / 1.10, rel=0.02)
