"""The order of findings, against a plain search in which every change wins milliseconds of its own."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.intervals import window
from viewer.analysis.findings import ranking, replayed_wins
from viewer.analysis.findings.proposal import Proposal
from viewer.analysis.findings.ranking import ranked
from viewer.analysis.findings.replayed_wins import ReplayedWins

LENGTHS = np.array([1_000, 1_100, 900, 1_000, 1_050])
INPUTS = SimpleNamespace(used=(0, 1, 2, 3, 4), length_ns=1_000, least_ns=5.0)


class Replays:
    """Replays in which each change is a set of milliseconds that it wins, of some iterations more."""

    def __init__(self, is_quick):
        self.is_quick, self.why_not, self.recorded_ns, self.asked = is_quick, "", LENGTHS, 0

    def lengths_ns(self, changes):
        self.asked += 1
        return LENGTHS - len(set().union(*changes)) - np.array([0, 3, 1, 0, 2])


def proposal(number, changes=(), ceiling=(0,) * 5, spans=None, **more):
    return Proposal(
        f"p{number}", "", "", (0,), None, "", "", np.array(ceiling, np.int64), changes, spans or {}, **more
    )


@pytest.mark.parametrize("is_quick", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_the_best_is_taken_first_and_the_others_win_what_is_left(monkeypatch, seed, is_quick):
    rng = random.Random(seed)
    sets = [frozenset(rng.sample(range(120), rng.randrange(3, 40))) for _ in range(8)]
    replays = Replays(is_quick)
    monkeypatch.setattr(ranking, "ReplayedWins", lambda _: replays)
    # A ceiling is never less than what a replay wins.
    proposals = [proposal(k, (one,), [len(one) + 9] * 5) for k, one in enumerate(sets)]
    found = ranked(INPUTS, proposals)
    taken, rest, expected = set(), dict(enumerate(sets)), {}
    # The first change that is replayed wins the iterations' own part of it, 1 at the median, too.
    while rest:
        best = max(rest, key=lambda k: (len(rest[k] - taken), -k))
        win = len(rest.pop(best) - taken) + (0 if taken else 1)
        if win >= INPUTS.least_ns:
            expected[f"p{best}"] = win
            taken |= sets[best]
    assert sorted(expected.values(), reverse=True) == [item.win_ns for item in found]
    if len(set(expected.values())) == len(expected):
        assert {item.id: item.win_ns for item in found} == expected
    assert {item.grade for item in found} == {"replayed"}
    assert found.recorded_ns == 1_000
    assert found.together_ns == 1_000 - len(taken) - 1
    first = found.items[0]
    assert first.win_range_ns == (first.win_ns - 1, first.win_ns + 2)
    assert first.share == first.win_ns / 1_000


@pytest.mark.parametrize(("least", "there"), [(1, True), (2, True), (3, False)])
def test_some_have_to_win_several_times_the_least(monkeypatch, least, there):
    monkeypatch.setattr(ranking, "ReplayedWins", lambda _: Replays(True))
    found = ranked(INPUTS, [proposal(0, (), [10, 11, 9, 10, 12], times_least=least)])
    assert [item.id for item in found] == ["p0"] * there
    assert not there or found.items[0].win_range_ns == (9, 12)
    assert all(item.grade == "ceiling" for item in found)


@pytest.mark.parametrize(("size", "grade"), [(3, "ceiling"), (4, "replayed"), (20, "replayed")])
def test_a_replay_that_wins_too_little_is_not_believed_where_others_were_seen_to_wait(
    monkeypatch, size, grade
):
    monkeypatch.setattr(ranking, "ReplayedWins", lambda _: Replays(True))
    one = proposal(0, (frozenset(range(size)),), [50] * 5, {0: window(0, 9)}, is_waited_for=True)
    (found,) = ranked(INPUTS, [one])
    assert found.grade == grade
    assert found.win_ns == (50 if grade == "ceiling" else size + 1)


def test_without_iterations_times_are_measured(monkeypatch):
    replays = Replays(True)
    replays.recorded_ns = np.empty(0, np.int64)
    monkeypatch.setattr(ranking, "ReplayedWins", lambda _: replays)
    inputs = SimpleNamespace(used=(), length_ns=1_000, least_ns=5.0)
    found = ranked(inputs, [proposal(0, (), [40]), proposal(1, (), [60])])
    assert [(item.id, item.win_ns, item.win_range_ns, item.time_ns) for item in found] == [
        ("p1", None, None, 60),
        ("p0", None, None, 40),
    ]
    assert {item.grade for item in found} == {"measured"}
    assert (found.recorded_ns, found.together_ns) == (None, None)


def threads_that_launch(*launches, edges=()):
    """Return the inputs of a process whose threads launch so many kernels each; `edges` ties threads."""
    maker, correlation, first = TraceMaker(session_ns=10**9), 0, []
    for tid, count in enumerate(launches):
        first.append(correlation)
        for _ in range(count):
            correlation += 1
            begin = correlation * 100_000
            maker.call(begin, begin + 1, tid=tid, correlation=correlation)
            maker.kernel(begin + 2, begin + 3, correlation=correlation)
    trace = maker.trace()
    graph = SimpleNamespace(
        operations=SimpleNamespace(call=np.arange(correlation)),
        lag_ns=np.zeros(correlation, np.int64),
        host_edges=SimpleNamespace(
            source=np.array([first[a] for a, _ in edges], np.int32),
            target=np.array([first[b] for _, b in edges], np.int32),
        ),
    )
    replay = SimpleNamespace(error_ns=0, inputs=SimpleNamespace(trace=trace, graph=graph))
    study = SimpleNamespace(replay=replay)
    return SimpleNamespace(used=(0,), iterations=None, trace=trace, study=study)


@pytest.mark.parametrize(
    ("launches", "edges", "loose"),
    [
        ((50,), (), False),
        ((50, 50), (), True),
        ((50, 50), ((0, 1),), False),
        ((50, 50), ((1, 0),), False),
        ((50, 50, 50), ((0, 1),), True),
        # One in a hundred operations is few.
        ((99, 1), (), False),
        ((98, 2), (), True),
    ],
)
def test_threads_that_launch_have_to_be_tied(launches, edges, loose):
    why = ReplayedWins(threads_that_launch(*launches, edges=edges)).why_not
    assert why == (
        "Wins are ceilings: how the threads that launch wait for one another is not known." * loose
    )


def test_what_cannot_be_replayed_says_why(monkeypatch):
    inputs = threads_that_launch(50)
    start, end = inputs.trace.window_ns
    lag = inputs.study.replay.inputs.graph.lag_ns
    # What is explained does not count, however often; of the time of the GPU 5 per cent may be unexplained.
    lag[:] = 10_000
    lag[0] = (end - start) // 20
    assert ReplayedWins(inputs).why_not == ""
    lag[0] += 1
    assert ReplayedWins(inputs).why_not.endswith("operations wait long for something that was not recorded.")
    inputs.study.replay.error_ns = 1
    assert "contradicts itself" in ReplayedWins(inputs).why_not
    monkeypatch.setattr(replayed_wins, "MOST_OPERATIONS", 50)
    assert "contradicts itself" in ReplayedWins(inputs).why_not
    monkeypatch.setattr(replayed_wins, "MOST_OPERATIONS", 49)
    assert "too long to be replayed" in ReplayedWins(inputs).why_not
    inputs.used = ()
    assert ReplayedWins(inputs).why_not == ""
    for most, quick in ((50, True), (49, False)):
        monkeypatch.setattr(replayed_wins, "QUICK", most)
        assert ReplayedWins(inputs).is_quick == quick
