"""Tables of collectives, of all and of a time range: against loops over the sets."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.collective_tables import group_rows, rank_rows, set_rows
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study

US, MS = 1_000, 1_000_000
REDUCE, GATHER = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ncclDevKernel_AllGather_RING_LL"


def collectives_of(maker):
    return Study(maker.trace(), Rules.builtin()).collectives


@pytest.fixture(scope="module")
def held():
    """Pairs and fours of four ranks, some with compute beside them; a few kernels are lost."""
    random, maker = np.random.default_rng(4), TraceMaker(session_ns=62 * MS)
    for k in range(30):
        for name, stream, members, at in (
            (REDUCE, 20, (0, 1), 2 * k * MS),
            (REDUCE, 20, (2, 3), 2 * k * MS + int(random.integers(0, 90 * US))),
            (GATHER, 24, (0, 1, 2, 3), (2 * k + 1) * MS),
        ):
            starts = at + random.integers(0, 30, len(members)) * 10 * US
            for member, start in zip(members, starts.tolist(), strict=True):
                if random.random() > 0.04:
                    end = int(starts.max()) + 100 * US + int(random.integers(0, 400))
                    maker.kernel(start, end, name, stream=stream, process=member)
                if random.random() < 0.5:
                    maker.kernel(start + 20 * US, start + 60 * US, process=member)
    found = collectives_of(maker)
    assert [len(g.gpus) for g in found.groups] == [2, 4, 2] or len(found.groups) == 3
    assert any(g.partial.any() for g in found.groups)
    return found


def clipped(start, end, within):
    return end - start if within is None else max(min(end, within[1]) - max(start, within[0]), 0)


def touches(start, end, within):
    return within is None or (start < within[1] and end > within[0])


def sets_of(held, within):
    """Yield each set that touches the range: its group, number, members, and (kernel, start, end, wait)."""
    kernels = held.trace.kernels
    for group in held.groups:
        for number in range(group.kernels.shape[1]):
            members = {
                gpu: (row, int(kernels.start_ns[row]), int(kernels.end_ns[row]), int(held.wait_ns[row]))
                for gpu, row in zip(group.gpus, group.kernels[:, number].tolist(), strict=True)
                if row >= 0
            }
            if any(touches(start, end, within) for _, start, end, _ in members.values()):
                yield group, number, members


# A range that begins and ends where kernels do, one inside a kernel, and one between two sets.
RANGES = [None, (10 * MS, 30 * MS), (11 * MS + 5 * US, 11 * MS + 250 * US), (0, 1), (40 * MS, 62 * MS)]


@pytest.mark.parametrize("within", RANGES)
def test_rows_of_ranks_equal_loops(held, within):
    if within is not None and within[0] == 10 * MS:
        edges = np.sort(held.trace.kernels.start_ns)
        within = tuple(int(edges[np.searchsorted(edges, t)]) for t in within)
    table = rank_rows(held, within)
    for gpu in range(4):
        expected = dict.fromkeys(("sets", "partial", "wait_ns", "transfer_ns", "last", "others_waited_ns"), 0)
        is_bound = False
        for group, number, members in sets_of(held, within):
            if gpu not in group.gpus:
                continue
            expected["sets"] += group.matched[number]
            expected["partial"] += group.partial[number] and gpu in members
            last = max(members, key=lambda g: members[g][1])
            if group.matched[number] and last == gpu:
                expected["last"] += 1
                for _, start, _, wait in members.values():
                    expected["others_waited_ns"] += clipped(start, start + wait, within)
        for row in held.rows(gpu).tolist():
            start, end, wait = (
                int(column[row])
                for column in (held.trace.kernels.start_ns, held.trace.kernels.end_ns, held.wait_ns)
            )
            expected["wait_ns"] += clipped(start, start + wait, within)
            expected["transfer_ns"] += clipped(start + wait, end, within)
            is_bound |= bool(held.is_bound[row]) and touches(start, end, within)
        row = table.loc[gpu]
        assert row[list(expected)].tolist() == list(expected.values())
        assert row["is_bound"] == is_bound
        assert row["last_share"] == expected["last"] / max(expected["sets"], 1)
        exposed = row[["exposed_wait_ns", "exposed_transfer_ns", "exposed_unmatched_ns"]].tolist()
        low, high = within or held.trace.window_ns
        assert sum(exposed) == held.parts[gpu].intervals("exposed_comm", start_ns=low, end_ns=high).total()


@pytest.mark.parametrize("within", RANGES)
def test_rows_of_groups_equal_loops(held, within):
    table = group_rows(held, within)
    assert table["group"].tolist() == list(range(len(held.groups)))
    for row, group in zip(table.to_dict("records"), held.groups, strict=True):
        sets = [(n, m) for g, n, m in sets_of(held, within) if g is group]
        matched = [n for n, _ in sets if group.matched[n]]
        partial = [n for n, _ in sets if group.partial[n]]
        wait, last = 0, []
        for number, members in sets:
            if group.matched[number] or group.partial[number]:
                wait += sum(clipped(s, s + w, within) for _, s, _, w in members.values() if w >= 0)
            if group.matched[number]:
                last.append(max(members, key=lambda g: members[g][1]))
        counts = [last.count(gpu) for gpu in range(4)]
        assert (row["sets"], row["matched"], row["partial"], row["unmatched"], row["wait_ns"]) == (
            len(sets), len(matched), len(partial), len(sets) - len(matched) - len(partial), wait,
        )  # fmt: skip
        assert row["last_gpu"] == (counts.index(max(counts)) if last else -1)
        assert row["last_share"] == (max(counts) / len(last) if last else 0)


def test_rows_of_sets_equal_loops(held):
    table = set_rows(held)
    assert table["start_ns"].is_monotonic_increasing
    expected = {}
    for number, group in enumerate(held.groups):
        for g, column, members in sets_of(held, None):
            if g is group and (group.matched[column] or group.partial[column]):
                starts = {gpu: start for gpu, (_, start, _, _) in members.items()}
                last = max(starts, key=starts.get)
                expected[number, column] = {
                    "start_ns": min(starts.values()),
                    "end_ns": max(end for _, _, end, _ in members.values()),
                    "shortest_ns": min(end - start for _, start, end, _ in members.values()),
                    "wait_ns": sum(wait for *_, wait in members.values()),
                    "spread_ns": max(starts.values()) - min(starts.values()),
                    "last_gpu": last if group.matched[column] else -1,
                    "kernel": members[last][0],
                    "missing": len(group.gpus) - len(members),
                }
    rows = table.to_dict("records")
    assert {(row.pop("group"), row.pop("set")): row for row in rows} == expected


def two_ranks(lasts, late_ns=200 * US, off_ns=0):
    """Sets of two ranks, 1 ms each: rank `last` of each comes later; rank 1's end `off_ns` after rank 0's."""
    maker = TraceMaker().kernel(len(lasts) * MS - US, len(lasts) * MS)
    for k, last in enumerate(lasts):
        for rank in range(2):
            start = k * MS + (late_ns if rank == last else 0)
            maker.kernel(start, k * MS + 500 * US + off_ns * rank, REDUCE, stream=20, process=rank)
    return collectives_of(maker)


@pytest.mark.parametrize(
    ("of_twenty", "own", "others", "group"),
    [
        (15, "constant", "rotating", "constant"),
        (14, "rotating", "rotating", "rotating"),
        (18, "constant", "rotating", "constant"),
        (19, "constant", "seldom", "constant"),
        (20, "constant", "seldom", "constant"),
    ],
)
def test_the_last_of_three_quarters_is_persistent_and_of_under_a_tenth_seldom(of_twenty, own, others, group):
    found = two_ranks([0] * of_twenty + [1] * (20 - of_twenty))
    assert rank_rows(found)["pattern"].tolist() == [own, others]
    assert group_rows(found)["pattern"].tolist() == [group]


def test_waits_of_under_a_thousandth_of_all_time_say_nothing():
    """Of two GPUs over 20 ms a thousandth is 40 µs."""
    for late, pattern in ((2_000, "constant"), (1_999, "")):
        found = two_ranks([0] * 20, late)
        assert rank_rows(found)["pattern"].tolist() == [pattern, "seldom"]
        assert group_rows(found)["pattern"].tolist() == [pattern]
    # Within a range of 4 ms there are 8 µs to be reached.
    found = two_ranks([0] * 20, 2_000)
    assert rank_rows(found, (4 * MS, 8 * MS))["pattern"].tolist() == ["constant", "seldom"]
    assert rank_rows(found, (4 * MS + 1_999, 8 * MS + 1_998))["pattern"].tolist() == ["", "seldom"]


def test_what_a_clock_would_explain_makes_nobody_persistent():
    """Rank 1 ends 20 µs after rank 0, 10 µs from the median of both, and comes later by about as much."""
    for late, pattern in ((10 * US, ""), (10 * US + 1_999, ""), (10 * US + 2_000, "constant")):
        found = two_ranks([1] * 20, late, 20 * US)
        assert rank_rows(found)["pattern"].tolist() == ["seldom", pattern]
        assert group_rows(found)["pattern"].tolist() == [pattern]
