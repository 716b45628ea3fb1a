"""What binds a return or a start where several allow it at one instant."""

import numpy as np

from tests.analysis.make import TraceMaker
from tests.analysis.replay.test_by_hand import US, launches
from viewer.analysis.replay.binding_edges import Bindings, Bound
from viewer.analysis.replay.effects import Effects
from viewer.analysis.study import Study


def bindings(maker):
    replay = Study(maker.trace()).replay
    assert replay.error_ns == 0
    return Bindings(replay, Effects.none(replay.network), replay.times)


def synchronised(second_us):
    """A call that waits from 10 to 21 µs for a kernel until 16 µs, and one that need not wait."""
    maker = launches(count=1, gap=1)
    maker.call(30 * US, 34 * US, correlation=3).kernel(36 * US, 46 * US, correlation=3)
    for begin, end, number in ((10, 21, 2), (60, 60 + second_us, 4)):
        maker.call(begin * US, end * US, "cudaDeviceSynchronize", correlation=number)
        maker.sync(begin * US, end * US, "Context sync", correlation=number, stream=0xFFFFFFFF)
    return bindings(maker)


def test_a_return_is_bound_by_what_was_over_last():
    for second_us in (2, 11):
        # With 11 µs its own time allows the return at the same instant as the kernel does.
        found = synchronised(second_us)
        assert found.of_anchor(3) == Bound(16 * US, "end", 0)
        assert found.of_anchor(7) == Bound(60 * US, "point", 6)
        assert found.of_anchor(0) is None


def test_a_start_is_bound_by_its_launch_or_what_ran_before_it():
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 4 * US, correlation=1).kernel(6 * US, 30 * US, correlation=1)
    maker.call(10 * US, 14 * US, correlation=2).kernel(31 * US, 40 * US, correlation=2)
    maker.call(50 * US, 60 * US, correlation=3).kernel(55 * US, 59 * US, correlation=3)
    maker.kernel(70 * US, 75 * US, stream=9)
    found = bindings(maker)
    assert found.of_start(0) == Bound(4 * US, "point", 1)
    assert found.of_start(1) == Bound(30 * US, "end", 0)
    # It began before its call returned: no gap lies between them.
    assert found.of_start(2) == Bound(55 * US, "point", 4)
    assert found.of_start(3) is None


def test_a_collective_ends_by_who_came_last_or_by_itself(demo_of):
    study = demo_of(iterations=3)
    replay = study.replay
    found = Bindings(replay, Effects.none(replay.network), replay.times)
    start_ns, expected, seen = study.trace.kernels.start_ns, {}, 0
    for group in study.collectives.groups:
        for column in np.flatnonzero(group.matched).tolist():
            members = group.kernels[:, column].tolist()
            latest = max(int(start_ns[member]) for member in members)
            for member in members:
                expected[member] = member if start_ns[member] == latest else latest
    assert len(expected) > 700
    for number in range(len(replay.network.operations)):
        last, wanted = found.last_starter(number), expected.get(number)
        if wanted is None or wanted == number:
            assert last == wanted
        else:
            assert last is not None
            assert int(start_ns[last]) == wanted
            seen += 1
    assert seen > 600
