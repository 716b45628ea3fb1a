"""What a host thread does in a window, against every call and range one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.make import TraceMaker
from viewer.analysis.stalls.host_time import Hosts
from viewer.analysis.study import Study
from viewer.trace import Kind

spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=9).map(
    lambda pairs: [(start, start + length) for start, length in pairs]
)


def array(*values):
    return np.array(values, np.int64)


def nesting(pairs):
    """Return those of some spans that are apart from or nested in those kept before."""
    kept = []
    for low, high in pairs:
        apart = (
            high <= a or b <= low or (a <= low and high <= b) or (low <= a and b <= high) for a, b in kept
        )
        if all(apart):
            kept.append((low, high))
    return kept


@given(spans, st.integers(0, 50), st.integers(1, 20))
def test_inside_is_the_innermost_range_over_half_of_the_window(pairs, start, length):
    ranges, end = nesting(pairs), start + length
    maker = TraceMaker().call(0, 1)
    for low, high in ranges:
        maker.range(low, high, "range")
    maker.range(start, end, "of another thread", tid=2).range(start, end, "a mark", event_type=34)
    trace = maker.trace()
    at = int(Hosts(Study(trace).launches).inside(0, array(start), array(end))[0])
    over_half = [(a, b) for a, b in ranges if 2 * (min(b, end) - max(a, start)) >= length]
    if over_half:
        found = int(trace.nvtx.start_ns[at]), int(trace.nvtx.end_ns[at])
        assert found in over_half
        assert found[1] - found[0] == min(b - a for a, b in over_half)
    else:
        assert at == -1


@given(spans, spans, spans, spans, st.integers(0, 40), st.integers(1, 20))
def test_the_call_with_the_largest_sum_and_the_call_that_blocks(
    blocking, calls, frees, system, start, length
):
    end = start + length
    maker = TraceMaker().call(0, 100, "cudaDeviceSynchronize", tid=2)
    named = {"cudaDeviceSynchronize": blocking, "cudaMalloc": calls, "cudaFree": frees}
    maker.thread(0, 1)
    for name, pairs in named.items():
        for low, high in pairs:
            maker.call(low, high, name)
    for low, high in system:
        maker.add(Kind.OSRT, maker.thread(0, 1), low, high, "poll")
    trace = maker.trace()
    hosts, window = Hosts(Study(trace).launches), (array(start), array(end))
    thread = maker.thread(0, 1)

    def shared(pairs):
        return max((min(b, end) - max(a, start) for a, b in pairs if a < end and b > start), default=0)

    def total(pairs):
        return sum(max(min(b, end) - max(a, start), 0) for a, b in pairs)

    for blocks in (True, False):
        (call,), (ns,) = hosts.longest_call(thread, *window, blocking=blocks)
        sums = {name: total(pairs) for name, pairs in named.items() if (name[4] == "D") == blocks}
        assert ns == max(sums.values())
        assert (call >= 0) == (ns > 0)
        if ns:
            name = trace.names[trace.api.name_id[call]]
            assert sums[name] == ns, "the name with the largest sum"
            assert shared([(trace.api.start_ns[call], trace.api.end_ns[call])]) == shared(named[name])
    (call,) = hosts.longest_os_call(thread, *window)
    table = trace.events[Kind.OSRT]
    best = shared(system)
    assert (call >= 0) == (best > 0)
    assert not best or shared([(table.start_ns[call], table.end_ns[call])]) == best
    (call,) = hosts.blocked_at(thread, array(start))
    around = [(a, b) for a, b in blocking if a <= start < b]
    assert (call >= 0) == bool(around)
    assert not around or (trace.api.start_ns[call], trace.api.end_ns[call]) in around


def test_launches_are_counted_in_a_window_around_each_time():
    maker = TraceMaker().call(0, 1, "cudaMalloc").call(60, 61, "cudaMalloc")
    for number, start in enumerate((10, 20, 30, 40)):
        maker.call(start, start + 1, correlation=1 + number).kernel(
            100 + start, 105 + start, correlation=1 + number
        )
    maker.call(25, 26, tid=2, correlation=9).kernel(200, 205, correlation=9)
    hosts = Hosts(Study(maker.trace()).launches)
    times = array(0, 10, 20, 25, 30, 60)
    assert hosts.launches_near(0, times, 20).tolist() == [0, 1, 2, 2, 2, 0]
    assert hosts.launches_near(0, times, 40).tolist() == [1, 2, 3, 4, 4, 1]


def test_owners_have_ranges_and_launch_those_that_launch_most_first():
    maker = TraceMaker()
    launches = {1: 1, 2: 3, 3: 2, 4: 2, 5: 0, 6: 5}
    number = 0
    for tid, count in launches.items():
        maker.thread(0, tid)
        for _ in range(count):
            number += 1
            maker.call(number, number + 1, tid=tid, correlation=number).kernel(
                number, number + 9, correlation=number
            )
        if tid != 6:
            maker.range(0, 9, "work", tid=tid)
    maker.range(0, 9, "elsewhere", process=1, tid=1).call(0, 1, process=1, tid=1, correlation=1)
    maker.kernel(3, 4, process=1, correlation=1)
    owners = Hosts(Study(maker.trace()).launches).owners(0)
    assert owners == [maker.thread(0, tid) for tid in (2, 3, 4, 1)]


def test_what_is_recorded_tells_waiting_from_working():
    def hosts(maker):
        return Hosts(Study(maker.kernel(0, 10).trace()).launches)

    assert not hosts(TraceMaker().call(0, 5)).is_recorded
    for kind in (Kind.OSRT, Kind.ON_CPU):
        maker = TraceMaker()
        assert hosts(maker.add(kind, maker.thread(0, 1), 0, 5, "read")).is_recorded


def split(hosts, thread, start, end):
    """Return blocking, other call, profiler, off the CPU, preempted, host code, unknown of one window."""
    return hosts.time(thread).split(array(start), array(end))[:, 0].tolist()


US = 1_000


def polling(count, every_ns, name="cudaEventQuery", other=()):
    """Calls of 2 µs on thread 1, which is always on a CPU."""
    maker = TraceMaker(session_ns=100_000 * US)
    for number in range(count):
        maker.call(number * every_ns, number * every_ns + 2 * US, name)
    for start, end, what in other:
        maker.call(start, end, what)
    maker.add(Kind.ON_CPU, maker.thread(0, 1), 0, 100_000 * US, "CPU 1")
    return Hosts(Study(maker.trace()).launches)


def test_a_loop_that_asks_whether_the_gpu_is_done_waits_for_it():
    hosts = polling(100, 5 * US)
    assert split(hosts, 0, 0, 497 * US) == [497 * US, 0, 0, 0, 0, 0, 0]
    (call,), (ns,) = hosts.longest_call(0, array(0), array(497 * US), blocking=True)
    assert hosts.trace.names[hosts.trace.api.name_id[call]] == "cudaEventQuery"
    assert ns == 200 * US
    assert split(polling(100, 5 * US, "cuStreamQuery_ptsz"), 0, 0, 497 * US)[0] == 497 * US


def test_a_few_queries_and_queries_far_apart_are_calls_like_others():
    few = polling(9, 5 * US)
    assert split(few, 0, 0, 45 * US) == [0, 18 * US, 0, 0, 0, 27 * US, 0]
    apart = polling(20, 200 * US)
    assert split(apart, 0, 0, 400 * US) == [0, 4 * US, 0, 0, 0, 396 * US, 0]
    cut = polling(20, 10 * US, other=[(95 * US, 97 * US, "cudaMalloc")])
    assert split(cut, 0, 0, 200 * US)[:2] == [184 * US, 2 * US], "two runs of ten, a call between"


def test_the_longest_single_call_does_not_name_a_loop_of_others():
    other = [
        (600 * US, 700 * US, "cudaMalloc"),
        *((at * US, (at + 15) * US, "cudaFree") for at in range(710, 910, 20)),
    ]
    hosts = polling(0, 1, other=other)
    (call,), (ns,) = hosts.longest_call(0, array(590 * US), array(1_000 * US), blocking=False)
    assert (hosts.trace.names[hosts.trace.api.name_id[call]], ns) == ("cudaFree", 150 * US)


def test_a_thread_that_was_ready_to_run_was_preempted():
    maker = TraceMaker(session_ns=1_000)
    thread = maker.thread(0, 1)
    for start, end, taken in ((0, 100, 0), (200, 300, 1), (450, 500, 0)):
        maker.add(Kind.ON_CPU, thread, start, end, "CPU 1", preempted=taken)
    maker.call(320, 340)
    hosts = Hosts(Study(maker.trace()).launches)
    assert split(hosts, 0, 0, 500) == [0, 20, 0, 100, 130, 250, 0]


def test_the_profilers_work_goes_before_the_call_that_it_lies_in():
    maker = TraceMaker(session_ns=1_000)
    thread = maker.thread(0, 1)
    maker.add(Kind.ON_CPU, thread, 0, 1_000, "CPU 1").call(100, 300, "cudaLaunchKernel")
    maker.add(Kind.OVERHEAD, thread, 150, 350, "CUPTI Buffer flush")
    maker.add(Kind.OVERHEAD, thread, 400, 500, "Command Buffer Full", is_cuda=1)
    hosts = Hosts(Study(maker.trace()).launches)
    assert split(hosts, 0, 0, 600) == [0, 50, 200, 0, 0, 350, 0]
    assert hosts.profiler_of(0).total() == 200


def test_the_time_of_a_thread_reaches_from_before_the_first_operation_to_after_the_last():
    maker = TraceMaker(session_ns=400).kernel(100, 200).call(50, 60)
    hosts = Hosts(Study(maker.trace()).launches)
    # Neither switches nor system calls were recorded: outside its call nothing is known, from end to end.
    assert split(hosts, 0, 0, 100) == [0, 10, 0, 0, 0, 0, 90]
    assert split(hosts, 0, 200, 400) == [0, 0, 0, 0, 0, 0, 200]
