import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.stalls.causes import SHARES
from viewer.analysis.stalls.stall_details import stall_facts
from viewer.analysis.stalls.stalls import find_stalls
from viewer.analysis.study import Study
from viewer.trace import Kind

US = 1_000
MS = 1_000_000


def stalls_of(maker, min_ns=10_000):
    study = Study(maker.trace(), Rules.builtin())
    return find_stalls(study.stall_inputs, None, min_ns)


def only(maker, kind="idle"):
    """Return the one stall of a kind."""
    found = stalls_of(maker)
    rows = found.select(kinds=[kind])
    assert len(rows) == 1
    return found.table.iloc[rows[0]]


def shares(row):
    return {name: int(row[name]) for name in SHARES if row[name]}


def hole(launch=(1_900 * US, 1_910 * US), start_ns=1_920 * US):
    """Make a GPU that is idle from 1 ms to `start_ns`; thread 1 launches both kernels."""
    maker = TraceMaker()
    maker.call(0, 10 * US, correlation=1).kernel(100 * US, MS, correlation=1)
    maker.call(*launch, correlation=2).kernel(start_ns, 3 * MS, correlation=2)
    return maker


def on_cpu(maker, *spans, tid=1):
    for start, end in spans:
        maker.add(Kind.ON_CPU, maker.thread(0, tid), start, end, "CPU 1", cpu=1)
    return maker


def test_time_off_the_cpu_is_waiting_and_the_figures_are_exact():
    maker = on_cpu(hole(), (0, MS + 10 * US), (1_880 * US, 4 * MS))
    maker.add(Kind.OSRT, maker.thread(0, 1), MS + 5 * US, 1_880 * US, "poll")
    maker.range(MS, 1_885 * US, "dataloader.next").range(0, 4 * MS, "Iteration 1")
    row = only(maker)
    assert row["cause"] == "waiting"
    assert shares(row) == {
        "off_cpu_ns": 870 * US, "host_ns": 30 * US, "other_call_ns": 10 * US, "launch_to_start_ns": 10 * US,
    }  # fmt: skip
    trace = maker.trace()
    assert trace.names[trace.nvtx.name_id[row["inside"]]] == "dataloader.next"
    assert trace.names[trace.events[Kind.OSRT].name_id[row["os_call"]]] == "poll"


def test_waits_come_from_operating_system_calls_where_no_switches_are_recorded():
    maker = hole()
    maker.add(Kind.OSRT, maker.thread(0, 1), MS, 1_500 * US, "pthread_cond_timedwait")
    maker.add(Kind.OSRT, maker.thread(0, 1), 1_500 * US, 1_600 * US, "mmap")
    row = only(maker)
    assert row["cause"] == "waiting"
    assert (row["off_cpu_ns"], row["host_ns"]) == (500 * US, 400 * US)


def test_a_busy_cpu_is_host_code():
    row = only(on_cpu(hole(), (0, 4 * MS)))
    assert (row["cause"], row["host_ns"]) == ("host code", 900 * US)


def test_without_switches_and_calls_host_code_and_waiting_are_one():
    maker = hole()
    found = stalls_of(maker)
    row = found.table.iloc[0]
    assert (row["cause"], row["unknown_ns"]) == ("unknown", 900 * US)
    assert "neither context switches" in dict(stall_facts(found, 0))["Cause"]


def test_the_blocking_call_is_named_and_a_short_one_only_drains():
    long = on_cpu(hole(), (0, 4 * MS)).call(50 * US, 1_800 * US, "cudaDeviceSynchronize")
    row = only(long)
    assert (row["cause"], row["blocking_ns"]) == ("synchronise", 800 * US)
    assert row["blocking_call"] == row["drained_by"] >= 0
    short = on_cpu(hole(), (0, 4 * MS)).call(50 * US, 1_010 * US, "cudaStreamSynchronize")
    row = only(short)
    assert row["cause"] == "host code", "every loop ends in .item(): what comes after is what counts"
    assert (row["blocking_ns"], row["drained_by"] >= 0) == (10 * US, True)


@pytest.mark.parametrize(("pageable", "cause"), [(0, "synchronise"), (1, "slow CUDA call")])
def test_an_asynchronous_copy_blocks_where_its_memory_is_pageable(pageable, cause):
    maker = on_cpu(hole(), (0, 4 * MS)).call(50 * US, 1_800 * US, "cudaMemcpyAsync", correlation=9)
    maker.copy(200 * US, 300 * US, correlation=9, copy_kind=2, src_kind=2, dst_kind=pageable, bytes=8)
    assert only(maker)["cause"] == cause


def test_a_slow_call_is_named_even_if_it_is_the_launch_itself():
    maker = on_cpu(hole(), (0, 4 * MS)).call(1_100 * US, 1_850 * US, "cudaMalloc")
    row = only(maker)
    assert (row["cause"], maker.trace().names[maker.trace().api.name_id[row["other_call"]]]) == (
        "slow CUDA call", "cudaMalloc",
    )  # fmt: skip
    lazy = on_cpu(hole(launch=(1_050 * US, 1_910 * US)), (0, 4 * MS))
    row = only(lazy)
    assert (row["cause"], row["other_call"]) == ("slow CUDA call", row["launch"])


def test_what_was_launched_before_the_stall_is_the_gpu_s_own_gap():
    maker = on_cpu(hole(launch=(500 * US, 510 * US)), (0, 4 * MS)).call(
        600 * US, 3 * MS, "cudaDeviceSynchronize"
    )
    row = only(maker)
    assert (row["cause"], shares(row)) == ("GPU side", {"gpu_side_ns": 920 * US})


def test_no_launch_record_is_said():
    maker = TraceMaker().kernel(0, MS).kernel(2 * MS, 3 * MS)
    found = stalls_of(maker)
    row = found.table.iloc[0]
    assert (row["cause"], row["unknown_ns"], row["launch"], row["thread"]) == ("unknown", MS, -1, -1)
    assert "no launch record" in dict(stall_facts(found, 0))["Cause"]


def test_tiny_kernels_in_a_row_are_launch_bound():
    maker = TraceMaker()
    for k in range(40):
        at = k * 30 * US
        maker.call(at, at + 6 * US, correlation=k + 1).kernel(at + 9 * US, at + 11 * US, correlation=k + 1)
    found = stalls_of(on_cpu(maker, (0, 2 * MS)))
    assert set(found.table["cause"]) == {"launch-bound"}
    assert len(found) == 39
    apart = TraceMaker()
    for k in range(4):
        at = k * MS
        apart.call(at, at + 6 * US, correlation=k + 1).kernel(at + 9 * US, at + 11 * US, correlation=k + 1)
    assert set(stalls_of(on_cpu(apart, (0, 5 * MS))).table["cause"]) == {"host code"}


def test_a_thread_that_only_waited_is_followed_to_the_owner_of_the_range():
    maker = TraceMaker()
    maker.call(0, 10 * US, correlation=1, tid=1).kernel(100 * US, MS, correlation=1)
    maker.call(1_900 * US, 1_910 * US, correlation=2, tid=2).kernel(1_920 * US, 3 * MS, correlation=2)
    maker.range(0, 2 * MS, "backward", tid=1)
    on_cpu(maker, (0, 4 * MS), tid=1)
    on_cpu(maker, (0, 20 * US), (1_890 * US, 4 * MS), tid=2)
    row = only(maker)
    assert (row["thread"], row["followed"]) == (maker.thread(0, 2), maker.thread(0, 1))
    assert (row["cause"], row["host_ns"]) == ("host code", 900 * US)
    assert row["inside"] == 0


def test_a_thread_is_not_followed_to_a_range_that_does_not_hold_the_launch():
    maker = TraceMaker()
    maker.call(0, 10 * US, correlation=1, tid=1).kernel(100 * US, MS, correlation=1)
    maker.call(1_900 * US, 1_910 * US, correlation=2, tid=2).kernel(1_920 * US, 3 * MS, correlation=2)
    maker.range(0, 1_800 * US, "another thread's work", tid=1)
    on_cpu(maker, (0, 4 * MS), tid=1)
    on_cpu(maker, (0, 20 * US), (1_890 * US, 4 * MS), tid=2)
    row = only(maker)
    assert (row["followed"], row["cause"]) == (-1, "waiting")


def test_short_stalls_are_one_line():
    maker = TraceMaker().kernel(0, 100).kernel(200, 300).kernel(5_300, 6_000).kernel(16_000, 17_000)
    found = stalls_of(maker)
    idle = found.short[found.short["kind"] == "idle"].iloc[0]
    assert (idle["count"], idle["total_ns"]) == (2, 5_100)
    assert found.table["duration_ns"].tolist() == [10_000]


def test_a_copy_only_stall_says_what_copies():
    maker = TraceMaker().kernel(0, 100 * US)
    maker.copy(50 * US, 150 * US, bytes=1_000_000, copy_kind=1, src_kind=0, stream=8)
    maker.copy(150 * US, 350 * US, bytes=8_000_000, copy_kind=1, src_kind=1, stream=8)
    maker.kernel(350 * US, 400 * US)
    row = only(maker, "copy_only")
    assert (row["duration_ns"], row["copies"], row["bytes"]) == (250 * US, 2, 9_000_000)
    assert (row["copy_index"], row["throughput_gb_s"], row["pageable"]) == (1, 40.0, False)
    assert (row["before_index"], row["after_index"]) == (0, 1)


def test_exposed_communication_is_waiting_and_transfer():
    maker = TraceMaker()
    for k in range(20):
        late = 300 * US if k == 7 else 0
        for process in (0, 1):
            start = k * MS + (late if process == 1 else 0)
            maker.kernel(start, k * MS + 500 * US, "ncclDevKernel_AllReduce", stream=9, process=process)
    found = stalls_of(maker)
    waits = found.table[found.table["cause"] == "waiting for a rank"].iloc[0]
    assert (waits["gpu"], waits["wait_ns"], waits["transfer_ns"]) == (0, 300 * US, 200 * US)
    assert waits["waits_for"] == 1
    assert (found.table["cause"] == "transfer").sum() == 39


def test_groups_gather_what_is_alike():
    maker = TraceMaker()
    for k in range(5):
        at = k * 10 * MS
        maker.call(at, at + 5 * US, correlation=k + 1).kernel(
            at + 10 * US, at + 6 * MS + k, correlation=k + 1
        )
        maker.range(at + 6 * MS, at + 9 * MS, f"load batch {k}")
        on_cpu(maker, (at, at + 6 * MS))
    on_cpu(maker, (60 * MS, 61 * MS))
    found = stalls_of(maker)
    groups = found.groups()
    assert groups["count"].tolist() == [4]
    assert groups["inside"].tolist() == ["load batch #"]
    assert groups["total_ns"].sum() == found.table["duration_ns"].sum() == found.totals()["total_ns"].sum()
    assert groups["rows"].iloc[0].tolist() == [0, 1, 2, 3]
    assert (groups["first_ns"].iloc[0], groups["gpus"].iloc[0]) == (found.table["start_ns"].iloc[0], 1)
    assert groups["text"].iloc[0] == "4 idle stalls of 4.010 ms, waiting, inside load batch #"


def test_diagnostic_a_stall_by_its_place():
    found = stalls_of(TraceMaker().kernel(0, 10 * US).kernel(30 * US, 40 * US).kernel(80 * US, 90 * US))
    assert [found.exactly(a * US, b * US) for a, b in ((10, 30), (40, 80), (10, 80), (41, 80))] == [
        0, 1, None, None,
    ]  # fmt: skip
    assert found.select(min_ns=30 * US).tolist() == [1]
    assert (found.at(0, 15 * US), found.at(0, 30 * US), found.at(0, 79 * US)) == (0, None, 1)


def test_a_trace_without_gpus_has_none():
    found = stalls_of(TraceMaker().call(0, 10))
    assert len(found) == 0
    assert len(found.totals()) == len(found.groups()) == len(found.shown) == 0


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=8)


@given(spans, spans, spans, st.integers(0, 50), st.integers(1, 15), st.booleans())
def test_the_split_is_that_of_a_clock_that_ticks(blocking, calls, running, launch, length, has_switches):
    """Every nanosecond of the hole is counted by hand."""
    start, end = 10, 50
    maker = TraceMaker(session_ns=100).kernel(0, start, correlation=1).kernel(end, 60, correlation=2)
    maker.call(launch, launch + length, correlation=2)
    for at, long in calls:
        maker.call(at, at + long, "cudaMalloc")
    for at, long in blocking:
        maker.call(at, at + long, "cudaDeviceSynchronize")
    if has_switches:
        on_cpu(maker, *((at, at + long) for at, long in running))
    row = stalls_of(maker, 1).table.iloc[0]
    expected = dict.fromkeys(SHARES, 0)
    begun = min((at for at, _ in running), default=None) if has_switches else None
    for t in range(start, end):
        inside = [any(at <= t < at + long for at, long in held) for held in (blocking, calls, running)]
        inside[1] |= launch <= t < launch + length
        if launch + length <= start:
            name = "gpu_side_ns"
        elif t >= launch + length:
            name = "launch_to_start_ns"
        elif launch <= t:
            name = "other_call_ns"
        elif inside[0]:
            name = "blocking_ns"
        elif inside[1]:
            name = "other_call_ns"
        elif begun is None or t < begun:
            name = "unknown_ns"
        else:
            name = "host_ns" if inside[2] else "off_cpu_ns"
        expected[name] += 1
    assert {name: int(row[name]) for name in SHARES} == expected


def between_kernels(called_ns, returned_ns, start_ns):
    """Make a GPU that is idle from 1 ms on, until what the call launched starts."""
    maker = TraceMaker().call(0, 10 * US, correlation=1).kernel(100 * US, MS, correlation=1)
    maker.call(MS + called_ns, MS + returned_ns, correlation=2)
    return on_cpu(maker.kernel(MS + start_ns, 2 * MS, correlation=2), (0, 3 * MS))


@pytest.mark.parametrize(("start_ns", "cause"), [(15_000, "launch-bound"), (25_000, "GPU side")])
def test_a_queue_begins_when_the_launching_call_has_returned(start_ns, cause):
    """The call began 30 µs before the stall; it is the 20 µs after its return that tell the two apart."""
    row = only(between_kernels(-30_000, 2_000, start_ns))
    assert row["launch_to_start_ns"] == start_ns - 2_000
    assert row["cause"] == cause


def test_the_first_call_of_the_trace_may_be_what_drained_the_queue():
    maker = TraceMaker().call(0, MS + 3_000, "cudaDeviceSynchronize").kernel(100 * US, MS)
    maker.call(MS + 3_000, MS + 5_000, correlation=2).kernel(MS + 15_000, 2 * MS, correlation=2)
    row = only(on_cpu(maker, (0, 3 * MS)))
    assert row["launch_to_start_ns"] == 10_000
    assert (row["drained_by"], row["cause"]) == (0, "synchronise")


def test_the_first_call_of_the_thread_followed_may_be_what_drained_the_queue():
    maker = TraceMaker()
    maker.call(0, MS + 3_000, "cudaDeviceSynchronize", tid=1)
    maker.call(US, 10 * US, correlation=1, tid=1).kernel(100 * US, MS, correlation=1)
    maker.call(1_900 * US, 1_910 * US, correlation=2, tid=2).kernel(1_920 * US, 3 * MS, correlation=2)
    maker.range(0, 2 * MS, "backward", tid=1)
    on_cpu(maker, (0, 4 * MS), tid=1)
    on_cpu(maker, (0, 20 * US), (1_890 * US, 4 * MS), tid=2)
    row = only(maker)
    assert row["followed"] == maker.thread(0, 1)
    assert row["drained_by"] == 0


@pytest.mark.parametrize(("length_ns", "cause"), [(100 * US, "launch-bound"), (100 * US + 1, "host code")])
def test_a_stall_among_many_launches_is_launch_bound_up_to_the_mean_time_between_ten_of_them(
    length_ns, cause
):
    maker, at = TraceMaker(), 0
    for k in range(40):
        maker.call(at, at + 6 * US, correlation=k + 1).kernel(at + 9 * US, at + 11 * US, correlation=k + 1)
        at += 2 * US + length_ns if k == 20 else 30 * US
    found = stalls_of(on_cpu(maker, (0, 3 * MS))).table
    longest = found["duration_ns"] == length_ns
    assert found.loc[longest, "cause"].tolist() == [cause]
    assert set(found.loc[~longest, "cause"]) == {"launch-bound"}


@pytest.mark.parametrize(("begun_ns", "is_followed"), [(1_460 * US, True), (1_459 * US, False)])
def test_a_thread_that_has_not_begun_for_half_of_the_stall_is_followed_to_the_owner(begun_ns, is_followed):
    """The stall lasts 920 µs; nothing is known of the launching thread before its first switch."""
    maker = TraceMaker()
    maker.call(0, 10 * US, correlation=1, tid=1).kernel(100 * US, MS, correlation=1)
    maker.call(1_900 * US, 1_910 * US, correlation=2, tid=2).kernel(1_920 * US, 3 * MS, correlation=2)
    maker.range(0, 2 * MS, "backward", tid=1)
    on_cpu(maker, (0, 4 * MS), tid=1)
    on_cpu(maker, (begun_ns, 4 * MS), tid=2)
    row = only(maker)
    assert row["followed"] == (maker.thread(0, 1) if is_followed else -1)
    assert row["unknown_ns"] == (0 if is_followed else 459 * US)


@pytest.mark.parametrize(
    ("call", "is_off", "cause"),
    [
        (None, True, "waiting"),
        ("cudaMalloc", False, "slow CUDA call"),
        ("cudaEventSynchronize", False, "synchronise"),
    ],
)
def test_a_brief_stall_among_many_launches_that_has_another_cause_is_not_launch_bound(call, is_off, cause):
    maker, at = TraceMaker(), 0
    for k in range(40):
        maker.call(at, at + 6 * US, correlation=k + 1).kernel(at + 9 * US, at + 11 * US, correlation=k + 1)
        if k == 20:
            begin, end = at + 12 * US, at + 85 * US
            at += 60 * US
        at += 30 * US
    if call:
        maker.call(begin, end, call)
    spans = [(0, begin), (end, 3 * MS)] if is_off else [(0, 3 * MS)]
    found = stalls_of(on_cpu(maker, *spans)).table
    longest = found["duration_ns"] == 88 * US
    assert found.loc[longest, "cause"].tolist() == [cause]
    assert set(found.loc[~longest, "cause"]) == {"launch-bound"}


@pytest.mark.parametrize(
    ("size", "kind", "at", "in_front"),
    [
        (64 << 10, 1, 0, True),
        ((64 << 10) - 1, 1, 0, False),
        (64 << 10, 2, 0, False),
        (64 << 10, 1, 500 * US, False),
    ],
)
def test_a_large_copy_to_the_device_before_the_first_kernel_is_in_front_of_the_iteration(
    size, kind, at, in_front
):
    maker = TraceMaker()
    for step in range(4):
        begin, identity = step * MS, 10 * step
        maker.range(begin, begin + 900 * US, f"step {step}")
        for offset in (1, 2, 3):
            maker.call(begin + offset * US, begin + (offset + 1) * US, correlation=identity + offset)
        maker.kernel(begin + 300 * US, begin + 400 * US, correlation=identity + 2)
        maker.kernel(begin + 700 * US, begin + 800 * US, correlation=identity + 3)
        low = begin + 100 * US + at
        maker.copy(low, low + 50 * US, correlation=identity + 1, bytes=size, copy_kind=kind)
    study = Study(maker.trace(), Rules.builtin())
    assert study.iterations().count == 4
    table = study.stalls().table
    assert table.loc[table["kind"] == "copy_only", "in_front"].tolist() == [in_front] * 4


def test_communication_that_is_not_matched_waits_for_nobody():
    row = only(TraceMaker().kernel(0, 100 * US, "ncclDevKernel_AllReduce", stream=9), "exposed_comm")
    assert (row["waits_for"], row["unmatched_ns"], row["wait_ns"]) == (-1, 100 * US, 0)
