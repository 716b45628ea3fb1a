"""What stands in for what a network leaves out."""

import numpy as np

from viewer.analysis.replay.anchors import Anchors
from viewer.analysis.replay.build import _without

FIRST, ZERO = 8, 11
PAIRS = (
    # anchor, source, source_point, since, lag, is_own, binds
    (0, ZERO, -1, 0, 10, True, True),
    (1, FIRST, 3, 40, 7, True, False),
    (1, 5, -1, 45, 5, False, True),
    (2, 6, -1, 80, 10, False, True),
)


def anchors():
    """Return three anchors at 10, 50 and 90 ns: the second has a past of its own, the third has none."""
    kinds = (np.int32, np.int32, np.int64, np.int64, np.int64, bool, bool)
    columns = [np.array(column, kind) for column, kind in zip(zip(*PAIRS, strict=True), kinds, strict=True)]
    times = np.array([10, 50, 90], np.int64)
    return Anchors(FIRST, np.array([0, 4, 8], np.int64), times, np.array([0, 0, 1], np.int32), *columns)


def pairs_without(*numbers):
    found = _without(anchors(), np.isin(np.arange(4), numbers))
    columns = (
        found.anchor, found.source, found.source_point, found.since_ns, found.lag_ns, found.is_own,
        found.binds,
    )  # fmt: skip
    assert found.source.dtype == np.int32
    return tuple(zip(*(column.tolist() for column in columns), strict=True))


def test_nothing_changes_where_nothing_is_left_out():
    assert pairs_without() == PAIRS


def test_an_anchor_comes_after_its_own_thread_by_all_of_the_recorded_time():
    assert pairs_without(2) == (*PAIRS[:2], (1, FIRST, 3, 40, 10, True, True), PAIRS[3])


def test_an_anchor_without_a_past_stays_where_it_is():
    assert pairs_without(3) == (*PAIRS[:3], (2, ZERO, -1, 0, 90, True, True))
    # Where just its past is left out, no other pair of it changes.
    assert pairs_without(1) == (PAIRS[0], (1, ZERO, -1, 0, 50, True, True), *PAIRS[2:])
    stays = (1, ZERO, -1, 0, 50, True, True)
    assert pairs_without(1, 2) == (PAIRS[0], stays, stays, PAIRS[3])
