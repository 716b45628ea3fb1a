"""What an operation waited for: the last stream wait before its launch, of its own stream."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.launches.event_waits import event_waits
from viewer.analysis.study import Study

WAIT = "cudaStreamWaitEvent"


def awaited(maker):
    """Return the call that each kernel waited for, -1 for none."""
    trace = maker.trace()
    kernels = np.arange(len(trace.kernels))
    return event_waits(Study(trace).launches, 0, np.zeros(len(kernels), np.int64), kernels).tolist()


def waiting(stream=7, context=1, waited_ns=(20, 25), name=WAIT, correlation=5):
    """A stream with two kernels, and a wait for an event between their launches."""
    maker = TraceMaker()
    maker.call(0, 5, correlation=1).kernel(100, 200, correlation=1)
    maker.call(*waited_ns, name, correlation=correlation)
    maker.sync(*waited_ns, name, correlation=correlation, stream=stream, context=context)
    return maker.call(40, 45, correlation=2).kernel(300, 400, correlation=2)


def test_a_wait_between_the_launches_is_what_the_second_waited_for():
    assert awaited(waiting()) == [-1, 1]


@pytest.mark.parametrize(
    "other",
    [
        {"stream": 8},
        {"context": 2},
        {"waited_ns": (50, 55)},
        {"name": "cudaEventSynchronize"},
        {"correlation": 0},
    ],
)
def test_a_wait_of_another_stream_or_context_or_later_is_not(other):
    assert awaited(waiting(**other)) == [-1, -1]


def test_a_wait_before_the_launch_in_front_held_up_that_one():
    maker = waiting().call(60, 65, correlation=3).kernel(400, 500, correlation=3)
    assert awaited(maker) == [-1, 1, -1]


def test_of_several_waits_it_is_the_last():
    maker = waiting().call(30, 35, WAIT, correlation=6)
    maker.sync(30, 35, WAIT, correlation=6)
    assert awaited(maker) == [-1, 2]


def test_streams_with_one_number_in_two_contexts_wait_for_their_own():
    maker = waiting().call(41, 44, correlation=3).kernel(300, 400, correlation=3, context=2)
    assert awaited(maker) == [-1, 1, -1]
