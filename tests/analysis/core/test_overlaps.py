"""Which events overlap which stretches of time: every pair is counted by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.core.overlaps import overlaps

spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), max_size=8)


def array(values):
    return np.array(values, np.int64)


@given(st.lists(st.integers(0, 40), max_size=12, unique=True), spans)
def test_pairs_are_those_that_share_time(edges, events):
    edges = sorted(edges)[: len(edges) // 2 * 2]
    stalls = list(zip(edges[::2], edges[1::2], strict=True))
    events = [(start, start + length) for start, length in events]
    found = overlaps(
        *(array([s[i] for s in stalls]) for i in (0, 1)), *(array([e[i] for e in events]) for i in (0, 1))
    )
    shared = {
        (s, e): min(stalls[s][1], events[e][1]) - max(stalls[s][0], events[e][0])
        for s in range(len(stalls))
        for e in range(len(events))
    }
    shared = {pair: length for pair, length in shared.items() if length > 0}
    pairs = zip(found.stall_at.tolist(), found.event_at.tolist(), strict=True)
    assert dict(zip(pairs, found.length_ns.tolist(), strict=True)) == shared
    assert len(found.length_ns) == len(shared)
    values = array([7 + 2 * e for e in range(len(events))])
    at, length = found.longest()
    for s in range(len(stalls)):
        mine = {e: ns for (stall, e), ns in shared.items() if stall == s}
        assert found.counts()[s] == len(mine)
        assert found.sums(values)[s] == sum(7 + 2 * e for e in mine)
        longest = max(mine.values(), default=0)
        assert length[s] == longest
        assert at[s] == next((e for e in sorted(mine) if mine[e] == longest), -1), "of equals the first"
    assert len(found.counts()) == len(at) == len(stalls)
