"""The split of stalls by reason and the operation each waited for, against a count of every nanosecond."""

import numpy as np
import pytest

from tests.analysis.dependencies.random_jobs import random_study
from tests.analysis.make import TraceMaker
from viewer.analysis.core.intervals import window
from viewer.analysis.dependencies.graph import EdgeKind, Edges, Grade
from viewer.analysis.dependencies.stall_producers import (
    AFTER_LAST,
    BLOCKED,
    STARVED,
    UNRESOLVED,
    stall_producers,
)
from viewer.analysis.dependencies.stall_reasons import StallReasons
from viewer.analysis.stalls.stalls import find_stalls
from viewer.analysis.study import Study

AR = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def reasons_of(study, graph, waits):
    return StallReasons(study.launches, study.classes, study.parts, waits, graph)


@pytest.mark.parametrize("seed", range(20))
def test_a_stall_takes_the_split_of_its_piece_clipped_to_itself(seed):
    # Many edges, so that several producers of a kernel run in one stall.
    study, graph, waits, _ = random_study(seed, edges=400)
    reasons = reasons_of(study, graph, waits)
    waits.groups = ()
    stalls = find_stalls(study.stall_inputs, None, min_ns=1)
    found = stall_producers(stalls, reasons)
    assert len(stalls) > 20
    for number, row in enumerate(stalls.table.itertuples()):
        sums = reasons.sums(row.gpu, window(row.start_ns, row.end_ns))
        four = sums.launch_starved_ns, sums.blocked_ns, sums.unresolved_ns, sums.after_last_ns
        assert tuple(found.split_ns[:, number]) == four
        assert four[found.reason[number]] == max(four)
        assert (found.producer[number] >= 0) == (sums.blocked_ns > 0)
        assert (found.following[number] >= 0) == (sums.after_last_ns == 0)
        if sums.blocked_ns:
            check_producer(reasons, found, number, row)


def check_producer(reasons, found, number, row):
    """The producer is the one of the following kernel that runs in most of what is blocked of the stall."""
    graph = reasons.graph
    ops, edges, target = graph.operations, graph.op_edges, found.following[number]
    pieces = reasons.pieces(row.gpu)
    piece = int(np.flatnonzero((pieces.start_ns <= row.start_ns) & (row.end_ns <= pieces.end_ns))[0])
    low, high = max(row.start_ns, pieces.launched_ns[piece]), min(row.end_ns, pieces.freed_ns[piece])
    sources = set(edges.source[edges.target == target].tolist())
    sources |= {int(ops.previous[target])} - {-1}

    def shared(number):
        return sum(ops.start_ns[number] <= t < ops.end_ns[number] for t in range(low, high))

    assert found.producer[number] in sources
    most = max(shared(source) for source in sources)
    assert shared(int(found.producer[number])) == most or ops.start_ns[found.producer[number]] >= high


def two_ranks():
    """Two ranks whose AllReduce on stream 20 waits for rank 1; rank 0's next kernel waits for it."""
    make = TraceMaker(session_ns=400_000)
    for rank, start in ((0, 50_000), (1, 150_000)):
        make.call(1_000, 2_000, process=rank, tid=10 + rank, correlation=1)
        make.call(3_000, 4_000, process=rank, tid=10 + rank, correlation=2)
        make.call(5_000, 6_000, process=rank, tid=10 + rank, correlation=3)
        make.kernel(10_000, start, process=rank, correlation=1)
        make.kernel(start, 200_000, AR, stream=20, process=rank, correlation=2)
        make.kernel(205_000, 300_000, process=rank, correlation=3)
    return make.trace()


def test_a_stall_names_the_last_arrival_of_the_collective_that_mostly_waited():
    from dataclasses import replace

    study = Study(two_ranks())
    starts = study.trace.kernels.start_ns
    first, second = (study.trace.streams_of(gpu)[1].index for gpu in (0, 1))
    own, late = (int(study.trace.kernels.offsets[stream]) for stream in (first, second))
    target = int(np.flatnonzero(starts == 205_000)[0])
    edges = Edges.of_columns(
        np.array([target]), np.array([own]), EdgeKind.EVENT, np.array([Grade.PROVEN], np.uint8)
    )
    study.__dict__["dependencies"] = replace(study.dependencies, op_edges=edges)
    stalls = study.stalls()
    found = study.stall_producers()
    number = int(np.flatnonzero((stalls.table["gpu"] == 0) & (stalls.table["kind"] == "exposed_comm"))[0])
    assert found.producer[number] == own
    assert found.late[number] == late == found.targets()[number]
    assert found.reason[number] == BLOCKED
    sums = study.stall_reasons.sums(0, window(0, 300_000))
    assert sums.communication_wait_ns == 100_000
    assert sums.by_communication_ns == 150_000 == sums.exposed_blocking_ns
    assert (sums.launch_starved_ns, sums.unresolved_ns) == (2_000, 8_000 + 5_000)
    assert STARVED < BLOCKED < UNRESOLVED < AFTER_LAST
