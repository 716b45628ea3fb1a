"""What changes to the host cut, and what is said where they match nothing."""

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from tests.analysis.replay.test_by_hand import launches
from tests.analysis.replay.test_changes import US, cuts_of, effects
from viewer.analysis.replay.changes import (
    ChangeError,
    CloseHole,
    CloseIdle,
    CloseRange,
    FreeCall,
    FreeLaunches,
    NoWait,
    RemoveCall,
)

MARK = 34


def refusal(maker, change):
    """Return what is said of a change that matches nothing."""
    with pytest.raises(ChangeError) as error:
        effects(maker, change)
    return str(error.value)


def test_ranges_of_a_name_are_closed_on_all_threads_and_in_all_domains():
    maker = launches(count=1, gap=20)
    maker.range(10 * US, 20 * US, "load").range(30 * US, 40 * US, "load").range(15 * US, 25 * US, "other")
    maker.range(35 * US, 50 * US, "load", domain="torch").range(90 * US, 95 * US, "load", event_type=60)
    maker.range(60 * US, 70 * US, "load", tid=2).call(65 * US, 66 * US, tid=2)
    maker.range(5 * US, 6 * US, "other", tid=3).range(7 * US, 9 * US, "load", process=1)
    maker.call(0, US, tid=3).call(0, US, process=1)
    threads = maker.threads
    assert cuts_of(effects(maker, CloseRange("load"))) == {
        threads[0, 1]: [(10, 20), (30, 50), (90, 95)],
        threads[0, 2]: [(60, 65), (66, 70)],
        threads[1, 1]: [(7, 9)],
    }


def test_marks_are_no_ranges():
    maker = launches(count=1, gap=20).range(10 * US, 20 * US, "load")
    maker.range(30 * US, 40 * US, "load", event_type=MARK).range(50 * US, 50 * US, "here", event_type=MARK)
    assert cuts_of(effects(maker, CloseRange("load"))) == {0: [(10, 20)]}
    assert refusal(maker, CloseRange("here")) == "there is no NVTX range 'here'; there are load"


def test_ranges_that_there_are_are_named_the_longest_in_all_first():
    maker = launches(count=1, gap=20)
    assert refusal(maker, CloseRange("x")) == "there is no NVTX range 'x': the trace has none"
    # The numbered ones count together: 3 times 5 µs.
    maker.range(9_000 * US, 9_012 * US, "load")
    for k in range(3):
        maker.range((200 + 10 * k) * US, (205 + 10 * k) * US, f"step {k}")
    maker.range(300 * US, 399 * US, "step 9", event_type=MARK)
    assert refusal(maker, CloseRange("x")) == "there is no NVTX range 'x'; there are step #, load"


@pytest.mark.parametrize(("count", "more"), [(8, ""), (9, " and 1 more"), (1_508, " and 1,500 more")])
def test_eight_names_are_listed_and_the_others_counted(count, more):
    maker = launches(count=1, gap=20)
    names = [f"range{'abcdefghijklmnopqrstuvwxyz'[k % 26]}{'_' * (k // 26)}" for k in range(count)]
    for k, name in enumerate(names):
        maker.range(k * US, (3_000 + count) * US - k * US, name)
    assert refusal(maker, CloseRange("x")).split("there are ")[1] == ", ".join(names[:8]) + more


def two_ranks(**options):
    """Two processes, each with two kernels and 24 µs of idle between them."""
    maker = TraceMaker(session_ns=1_000 * US, **options)
    for process in (0, 1):
        for k, begin in enumerate((0, 40)):
            number = 10 * process + k + 1
            maker.call(begin * US, (begin + 4) * US, correlation=number, process=process)
            maker.kernel((begin + 6) * US, (begin + 16) * US, correlation=number, process=process)
    return maker


def test_idle_is_closed_on_one_rank_or_on_all():
    closed = [(16, 40), (44, 46)]
    assert cuts_of(effects(two_ranks(), CloseIdle(1))) == {1: closed}
    assert cuts_of(effects(two_ranks(), CloseIdle(0))) == {0: closed}
    assert cuts_of(effects(two_ranks(), CloseIdle())) == {0: closed, 1: closed}


def test_a_rank_that_is_not_there_is_refused():
    assert refusal(two_ranks(), CloseIdle(2)) == "there is no rank 2 with a GPU; there are 0, 1"
    without = two_ranks(without_rank={0, 1})
    assert refusal(without, CloseIdle(0)) == "there is no rank 0 with a GPU; the ranks are not known"
    assert cuts_of(effects(without, CloseIdle()))
    one = two_ranks(without_rank={0})
    assert refusal(one, CloseIdle(0)) == "there is no rank 0 with a GPU; there are 1"


def test_a_hole_is_closed_on_the_thread_that_launched_what_came_after_it():
    maker = TraceMaker(session_ns=1_000 * US)
    maker.call(0, 4 * US, correlation=1).kernel(6 * US, 16 * US, correlation=1)
    maker.call(40 * US, 44 * US, tid=2, correlation=2).kernel(46 * US, 56 * US, correlation=2)
    maker.call(80 * US, 84 * US, correlation=3).kernel(86 * US, 96 * US, correlation=3)
    first, second = CloseHole(0, 16 * US, 46 * US), CloseHole(0, 56 * US, 86 * US)
    assert cuts_of(effects(maker, first)) == {1: [(16, 40), (44, 46)]}
    assert cuts_of(effects(maker, second)) == {0: [(56, 80), (84, 86)]}
    assert cuts_of(effects(maker, first, second)) == {
        0: [(56, 80), (84, 86)],
        1: [(16, 40), (44, 46)],
    }
    # It ends as the one after begins; a later end belongs to what begins no sooner than that.
    assert cuts_of(effects(maker, CloseHole(0, 16 * US, 47 * US))) == {0: [(16, 47)]}


def test_a_hole_after_which_nothing_known_was_launched_stays():
    maker = launches(count=2, gap=40)
    maker.kernel(90 * US, 95 * US, stream=9)
    assert cuts_of(effects(maker, CloseHole(0, 56 * US, 90 * US))) == {}
    assert cuts_of(effects(maker, CloseHole(0, 95 * US, 99 * US))) == {}
    assert cuts_of(effects(maker, CloseHole(0, 16 * US, 46 * US))) == {0: [(16, 40), (44, 46)]}
    assert cuts_of(effects(maker, CloseHole(0, 1 * US, 6 * US))) == {0: [(4, 6)]}
    assert cuts_of(effects(TraceMaker().kernel(0, US).kernel(40 * US, 41 * US), CloseIdle())) == {}


def test_holes_of_several_gpus_are_closed_each_on_its_own():
    holes = CloseHole(1, 16 * US, 20 * US), CloseHole(0, 22 * US, 30 * US), CloseHole(1, 25 * US, 46 * US)
    assert cuts_of(effects(two_ranks(), *holes)) == {0: [(22, 30)], 1: [(16, 20), (25, 40), (44, 46)]}


def test_calls_are_removed_in_any_spelling_on_all_threads():
    maker = launches(count=1, gap=1)
    maker.call(10 * US, 30 * US, "cudaMalloc_v3020").call(40 * US, 41 * US, "cudaMallocAsync")
    maker.call(50 * US, 52 * US, "cudaMalloc_ptsz", tid=2).call(60 * US, 63 * US, "cudaMalloc")
    for name in ("cudaMalloc", "cudaMalloc_v3020", "cudaMalloc_ptsz"):
        found = effects(maker, RemoveCall(name))
        assert cuts_of(found) == {0: [(10, 30), (60, 63)], 1: [(50, 52)]}
        assert found.freed.tolist() == [False, True, False, True, True]


def test_calls_that_there_are_are_named_the_most_frequent_first_and_once():
    maker = launches(count=2, gap=20)
    maker.call(10 * US, 11 * US, "cudaFree")
    for k, name in enumerate(("cudaMalloc_v3020", "cudaMalloc_v3020", "cudaMalloc_ptsz", "cudaMalloc_v3020")):
        maker.call((50 + k) * US, (51 + k) * US, name)
    assert refusal(maker, RemoveCall("cudaFoo")) == (
        "there is no CUDA call 'cudaFoo'; there are cudaMalloc, cudaLaunchKernel, cudaFree"
    )


def test_a_call_inside_another_one_cuts_its_own_time_of_it():
    maker = launches(count=1, gap=1).call(10 * US, 30 * US, "cudaMalloc").call(12 * US, 20 * US, "cuMemAlloc")
    found = effects(maker, FreeCall(2))
    assert cuts_of(found) == {0: [(12, 20)]}
    assert found.freed.tolist() == [False, True]


def test_free_launches_cut_no_other_call():
    maker = two_ranks().call(20 * US, 30 * US, "cudaMalloc")
    assert cuts_of(effects(maker, FreeLaunches())) == {0: [(0, 4), (40, 44)], 1: [(0, 4), (40, 44)]}
    assert not np.any(effects(maker, FreeLaunches()).freed)


def test_without_launch_records_no_launch_is_free():
    maker = TraceMaker(session_ns=1_000 * US).call(0, US).kernel(2 * US, 3 * US)
    text = "no call of the trace launches: its launch records are missing"
    assert refusal(maker, FreeLaunches()) == text
    assert refusal(TraceMaker().kernel(0, US), FreeLaunches()) == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (CloseRange("x"), "there is no NVTX range 'x': the trace has none"),
        (RemoveCall("x"), "there is no CUDA call 'x': the trace has none"),
        (NoWait("AllReduce"), "there is no collective of the kind 'AllReduce'; the trace has no collectives"),
    ],
)
def test_a_trace_without_anything_says_so(change, text):
    assert refusal(TraceMaker().kernel(0, US), change) == text
