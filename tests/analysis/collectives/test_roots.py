"""The root of a set and who waits for whom: against loops over every root, and against what was planted."""

import numpy as np
import pytest

from viewer.analysis.collectives.roots import UNKNOWN, root_waits

CERTAIN_NS = 5_000


def by_loops(starts, ends, kind):
    """Return the root and the waits of one set, of Python's own numbers."""
    members = range(len(starts))
    tried = []
    for root in members:
        waits = [0 for _ in members]
        for member in members:
            for_whom = (
                starts[root] if kind == "Broadcast" else max(starts) if member == root else starts[member]
            )
            waits[member] = min(max(for_whom - starts[member], 0), ends[member] - starts[member])
        transfers = [ends[m] - starts[m] - waits[m] for m in members]
        tried.append((max(transfers) - min(transfers), waits, min(transfers)))
    certain = max(CERTAIN_NS, int(min(least for *_, least in tried) / 10))
    unlike = [u for u, *_ in tried]
    best = unlike.index(min(unlike))
    others = [u for root, u in enumerate(unlike) if root != best]
    if unlike[best] <= certain and min(others) > unlike[best] + certain:
        return best, tried[best][1]
    nobody = max(max(waits) for _, waits, _ in tried) <= certain
    return UNKNOWN, [0 if nobody else -1] * len(starts)


@pytest.mark.parametrize("kind", ["Broadcast", "Reduce"])
@pytest.mark.parametrize("members", [2, 3, 4])
@pytest.mark.parametrize("step", [1_000, 2_500, 40_000])
def test_roots_and_waits_equal_those_of_loops(kind, members, step):
    """In coarse steps, so that what is as long as a limit occurs."""
    random = np.random.default_rng(members)
    starts = random.integers(0, 8, (members, 400)) * step
    ends = starts + random.integers(1, 12, (members, 400)) * step
    planted = np.arange(200)
    for k in planted:
        root = k % members
        if kind == "Broadcast":
            wait = np.maximum(starts[root, k] - starts[:, k], 0)
        else:
            wait = np.where(np.arange(members) == root, starts[:, k].max() - starts[:, k], 0)
        ends[:, k] = starts[:, k] + wait + 4 * step
    roots, waits = root_waits(starts, ends, kind)
    expected = [by_loops(starts[:, k].tolist(), ends[:, k].tolist(), kind) for k in range(400)]
    assert roots.tolist() == [root for root, _ in expected]
    assert waits.T.tolist() == [of_set for _, of_set in expected]
    known = roots[planted] >= 0
    assert (roots[planted] == planted % members)[known].all()
    assert known.any()
