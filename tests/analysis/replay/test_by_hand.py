"""Replays of tiny traces whose outcome is plain."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.intervals import window
from viewer.analysis.replay.effects import Effects
from viewer.analysis.replay.recurrence import replayed
from viewer.analysis.study import Study
from viewer.trace import Kind

US = 1_000


def replay_of(maker, work=None, cuts=None, freed=()):
    """Return the times of a trace with other durations (by operation) and host time that is cut, in µs."""
    study = Study(maker.trace())
    network = study.replay.network
    assert study.replay.error_ns == 0
    none = Effects.none(network)
    work_ns = network.work_ns.copy()
    for operation, us in (work or {}).items():
        work_ns[operation] = us * US
    freed_calls = none.freed.copy()
    freed_calls[list(freed)] = True
    ranges = {thread: window(low * US, high * US) for thread, (low, high) in (cuts or {}).items()}
    times = replayed(network, Effects(work_ns, freed_calls, none.dropped, ranges))
    return {name: (getattr(times, name) // US).tolist() for name in times.__dataclass_fields__}


def launches(*, count, gap, maker=None):
    """Kernels that the host launches one after another, each running for 10 µs."""
    maker = maker or TraceMaker(session_ns=10_000 * US)
    for k in range(count):
        begin = k * gap * US
        maker.call(begin, begin + 4 * US, correlation=k + 1)
        maker.kernel(begin + 6 * US, begin + 16 * US, correlation=k + 1)
    return maker


def test_a_kernel_that_its_launch_binds_waits_for_a_longer_one_before_it():
    times = replay_of(launches(count=3, gap=20), work={0: 30})
    # The second follows the end of the first, the third its launch.
    assert times["start_ns"] == [6, 36, 46]


def test_kernels_in_a_queue_start_with_the_usual_latency_once_they_need_not_wait():
    maker = launches(count=3, gap=100)
    maker.call(400 * US, 404 * US, correlation=11).kernel(406 * US, 600 * US, correlation=11)
    maker.call(410 * US, 414 * US, correlation=12).kernel(601 * US, 700 * US, correlation=12)
    assert replay_of(maker, work={3: 10})["start_ns"] == [6, 106, 206, 406, 417]
    assert replay_of(maker, work={3: 2})["start_ns"][4] == 416
    assert replay_of(maker, work={3: 190})["start_ns"][4] == 597


def test_a_copy_inside_its_call_follows_the_kernel_that_let_it_begin():
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 4 * US, correlation=1).kernel(6 * US, 100 * US, correlation=1)
    maker.call(20 * US, 130 * US, "cudaMemcpy", correlation=2).copy(102 * US, 125 * US, correlation=2)
    maker.call(140 * US, 144 * US, correlation=3).kernel(146 * US, 150 * US, correlation=3)
    times = replay_of(maker, work={0: 44})
    # The kernel ends 50 µs earlier, and with it all that waited for it.
    assert times["start_ns"][2] == 102 - 50
    assert times["call_end_ns"] == [4, 80, 94]
    assert times["start_ns"][1] == 146 - 50


def test_a_copy_that_its_call_took_long_to_begin_moves_with_the_call():
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 4 * US, correlation=1).kernel(6 * US, 30 * US, correlation=1)
    maker.call(40 * US, 130 * US, "cudaMemcpy", correlation=2).copy(102 * US, 125 * US, correlation=2)
    times = replay_of(maker, work={0: 4})
    assert times["start_ns"][1] == 102
    assert times["call_end_ns"][1] == 130


@pytest.mark.parametrize(("cut", "second"), [((4, 20), 16), ((4, 10), 20), ((20, 24), 26), ((0, 0), 26)])
def test_host_time_that_is_cut_moves_what_the_thread_does_after_it(cut, second):
    # Inside the call itself the latency stays: what is cut there moves only later calls.
    times = replay_of(launches(count=3, gap=20), cuts={0: cut})
    assert times["start_ns"][:2] == [6, second]


def blocking(name="cudaDeviceSynchronize", context=1):
    maker = launches(count=1, gap=1)
    maker.call(10 * US, 21 * US, name, correlation=2)
    maker.sync(10 * US, 21 * US, "Context sync", correlation=2, stream=0xFFFFFFFF, context=context)
    maker.call(30 * US, 34 * US, correlation=3).kernel(36 * US, 46 * US, correlation=3)
    maker.call(60 * US, 62 * US, name, correlation=4)
    maker.sync(60 * US, 62 * US, "Context sync", correlation=4, stream=0xFFFFFFFF, context=context)
    return maker


def test_a_call_that_waits_returns_as_late_after_its_operation_as_it_did():
    assert replay_of(blocking(), work={0: 20})["call_end_ns"][1] == 31
    # Where nothing is left to wait for it takes what the other one took, which did not wait.
    assert replay_of(blocking(), work={0: 2})["call_end_ns"][1] == 13
    assert replay_of(blocking(), work={0: 4})["call_end_ns"][1] == 15


def test_a_call_that_did_not_wait_may_have_to():
    times = replay_of(blocking(), work={1: 40})
    assert times["end_ns"][1] == 76
    # The usual time from an end to the return, 5 µs.
    assert times["call_end_ns"][3] == 81


def test_a_freed_call_waits_for_nothing():
    times = replay_of(blocking(), cuts={0: (10, 21)}, freed=[1])
    assert times["call_end_ns"][1] == 10
    assert times["start_ns"][1] == 25


def test_a_clock_that_is_early_keeps_its_times():
    maker = TraceMaker(session_ns=1_000 * US)
    for k in range(4):
        maker.call((100 + k * 50) * US, (104 + k * 50) * US, correlation=k + 1)
        maker.kernel((20 + k * 50) * US, (30 + k * 50) * US, correlation=k + 1)
    maker.call(300 * US, 310 * US, "cudaDeviceSynchronize", correlation=9)
    maker.sync(300 * US, 310 * US, "Context sync", correlation=9, stream=0xFFFFFFFF)
    times = replay_of(maker, cuts={0: (104, 124)})
    assert times["start_ns"] == [20, 50, 100, 150]


def woken_inside_a_call():
    """A thread that waits until another one is inside a call, after one that this call makes."""
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 2 * US, tid=1).call(10 * US, 60 * US, tid=1).call(12 * US, 20 * US, tid=1)
    maker.call(40 * US, 44 * US, tid=2, correlation=5).kernel(46 * US, 50 * US, correlation=5)
    maker.add(Kind.OSRT, maker.thread(0, 2), 0, 35 * US, "pthread_cond_wait")
    return maker


@pytest.mark.parametrize(("cut", "start"), [((2, 6), 42), ((20, 60), 46), ((60, 70), 46)])
def test_who_is_woken_inside_a_call_follows_its_beginning(cut, start):
    assert replay_of(woken_inside_a_call(), cuts={0: cut})["start_ns"] == [start]


def test_who_is_woken_by_another_thread_follows_its_return():
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 2 * US, tid=1).call(10 * US, 20 * US, tid=1)
    maker.call(1 * US, 3 * US, tid=2).call(40 * US, 44 * US, tid=2, correlation=5)
    maker.kernel(46 * US, 50 * US, correlation=5)
    maker.add(Kind.OSRT, maker.thread(0, 2), 4 * US, 35 * US, "pthread_cond_wait")
    assert replay_of(maker, cuts={0: (2, 10)})["start_ns"] == [38]
    # Its own time after it was woken is its own to cut; while it waits there is nothing to win.
    assert replay_of(maker, cuts={1: (36, 40)})["start_ns"] == [42]
    assert replay_of(maker, cuts={1: (4, 18)})["start_ns"] == [46]


def test_an_operation_of_no_thread_and_no_stream_before_it_stays():
    maker = launches(count=2, gap=20).kernel(70 * US, 80 * US, stream=9)
    assert replay_of(maker, cuts={0: (4, 20)})["start_ns"][2] == 70


def test_kernels_that_overlap_on_a_stream_keep_their_overlap():
    # Programmatic dependent launch: the second begins 3 µs before the first one ends.
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 4 * US, correlation=1).kernel(6 * US, 50 * US, correlation=1)
    maker.call(5 * US, 9 * US, correlation=2).kernel(47 * US, 80 * US, correlation=2)
    assert replay_of(maker, work={0: 30})["start_ns"] == [6, 33]


def test_nodes_of_one_graph_that_overlap_do_not_follow_one_another():
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 4 * US, "cudaGraphLaunch", correlation=1)
    maker.add(Kind.KERNEL, maker.stream(0, 0, 7), 6 * US, 50 * US, "a", correlation=1, graph_node=1)
    maker.add(Kind.KERNEL, maker.stream(0, 0, 7), 8 * US, 80 * US, "b", correlation=1, graph_node=2)
    assert replay_of(maker, work={0: 4})["start_ns"] == [6, 8]


def test_a_circle_is_left_out_and_the_rest_stays_as_it_was():
    # The call that waits for a kernel returned long before it ended: clocks cannot be this far apart.
    maker = launches(count=2, gap=20)
    maker.call(40 * US, 44 * US, "cudaStreamSynchronize", correlation=8)
    maker.sync(40 * US, 44 * US, "Stream sync", correlation=8)
    maker.call(50 * US, 54 * US, correlation=9).kernel(10 * US, 12 * US, correlation=9)
    study = Study(maker.trace())
    assert study.replay.error_ns == 0
    assert np.array_equal(study.replay.times.start_ns, study.replay.network.operations.start_ns)


def test_who_waits_for_a_stream_waits_for_what_that_was_made_to_wait_for():
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 4 * US, correlation=1).kernel(6 * US, 100 * US, correlation=1)
    maker.call(10 * US, 12 * US, "cudaEventRecord", correlation=2).record(2, 7, 1, 5)
    # Nothing runs on stream 8: it only waits.
    for begin, end, name in ((20, 22, "cudaStreamWaitEvent"), (30, 105, "cudaStreamSynchronize")):
        maker.call(begin * US, end * US, name, correlation=begin)
        has_event = {"event": 1, "sync_id": 5} if end == 22 else {}
        maker.sync(begin * US, end * US, name, correlation=begin, stream=8, **has_event)
    maker.call(110 * US, 114 * US, correlation=5).kernel(116 * US, 120 * US, correlation=5)
    times = replay_of(maker, work={0: 44})
    assert times["call_end_ns"][3:] == [55, 64]
    assert times["start_ns"][1] == 66
