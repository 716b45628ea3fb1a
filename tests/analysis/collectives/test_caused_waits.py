"""Blame for waits: whom it is handed to, how long it is carried along, and when it is worth a name."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.caused_waits import REASONS, caused_waits
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study

US, MS = 1_000, 1_000_000
ROUNDS = 30
REDUCE, GATHER = "ncclDevKernel_AllReduce_Sum_bf16", "ncclDevKernel_AllGather_RING_LL"


def blame(maker, gpus):
    """Return the caused waits of all rounds but the first and the last, which are 2 ms each."""
    collectives = Study(maker.trace(), Rules.builtin()).collectives
    low, high = (np.full((gpus, 1), edge, np.int64) for edge in (2 * MS, 2 * (ROUNDS - 1) * MS))
    return caused_waits(collectives, low, high)


def test_blame_is_handed_to_those_that_came_last_and_not_to_all_that_came_later():
    """0 waits 10 µs for 1 and 380 more for 2; then 3 waits for 0."""
    maker = TraceMaker()
    for k in range(ROUNDS):
        at = k * 2 * MS
        first, second = (at + 110 * US, at + 120 * US, at + 500 * US), (at + 600 * US, at + 110 * US)
        for process, arrival in enumerate(first):
            maker.kernel(at, arrival - 10 * US, "gemm", 7, process)
            maker.kernel(arrival, first[-1] + 50 * US, REDUCE, 20, process)
        for process, arrival in zip((0, 3), second, strict=True):
            maker.kernel(arrival, second[0] + 50 * US, GATHER, 24, process)
    caused = blame(maker, 4).by_rank
    # 770 µs in the first set, and four fifths of the 490 in the second, fall almost wholly on 2.
    assert caused[2] > 0.85 * caused.sum()
    assert caused[1] < 0.02 * caused.sum()


def test_lateness_that_nobody_had_to_wait_for_is_carried_to_where_it_began():
    """1 falls behind by 200 µs; three collectives run beside 0's compute, and in the fourth 0 waits."""
    maker = TraceMaker()
    for k in range(ROUNDS):
        at = k * 2 * MS
        for process, behind in ((0, 0), (1, 200 * US)):
            maker.kernel(at, at + 100 * US + behind, "gemm", 7, process)
            for number in range(3):
                begin = at + 110 * US + number * 300 * US
                maker.kernel(begin + behind, begin + 290 * US + behind, "gemm", 7, process)
                maker.kernel(begin + behind, begin + 250 * US, REDUCE, 24, process)
            last = at + 1010 * US
            maker.kernel(last + behind, last + 250 * US, REDUCE, 24, process)
    caused = blame(maker, 2)
    of_rank = caused.root_ns[1].sum(axis=0)
    assert of_rank.sum() == pytest.approx(200 * US * (ROUNDS - 2), rel=0.05)
    assert of_rank[REASONS.index("compute")] > 0.95 * of_rank.sum()
