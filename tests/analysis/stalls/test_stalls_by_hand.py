"""The stalls of a job that is small enough to count by hand: where, how long, why, and in words."""

import pytest

from tests.analysis.make import TraceMaker
from tests.analysis.small_job import RANKS, STEPS, US, small_job
from viewer.analysis.core.classify import Rules
from viewer.analysis.stalls.causes import SHARES
from viewer.analysis.study import Study
from viewer.trace import GPU_KINDS, Kind


@pytest.fixture(scope="module")
def stalls():
    return Study(small_job().trace(), Rules.builtin()).stalls()


def of(stalls, gpu, kind):
    table = stalls.table
    return table[(table["gpu"] == gpu) & (table["kind"] == kind)]


def spans(table):
    return list(zip(table["start_ns"] // US, table["end_ns"] // US, strict=True))


def test_every_stall_is_there_and_no_other(stalls):
    for gpu, (copy_start, backward_end, _) in enumerate(RANKS):
        idle = [(1000 * s + 550, 1000 * s + 600) for s in range(STEPS)]
        idle += [(1000 * s + 640, 1000 * (s + 1) + copy_start) for s in range(STEPS - 1)]
        assert spans(of(stalls, gpu, "idle")) == sorted(idle)
        assert spans(of(stalls, gpu, "copy_only")) == [
            (1000 * s + copy_start, 1000 * s + 150) for s in range(STEPS)
        ]
        assert spans(of(stalls, gpu, "exposed_comm")) == [
            (1000 * s + backward_end, 1000 * s + 550) for s in range(STEPS)
        ]


def test_idle_time_is_split_by_what_the_launching_thread_did(stalls):
    idle = of(stalls, 0, "idle")
    between = idle[idle["duration_ns"] == 460 * US]
    # Until the copy's call, 370 µs: 20 in a synchronisation, the rest outside calls; the call; then the wait.
    expected = {"blocking_ns": 20, "other_call_ns": 2, "unknown_ns": 350, "launch_to_start_ns": 88}
    for share in SHARES:
        assert set(between[share]) == {expected.get(share, 0) * US}, share
    assert set(between["cause"]) == {"unknown"}
    within = idle[idle["duration_ns"] == 50 * US]
    # Its operation was in the queue since long before.
    assert set(within["gpu_side_ns"]) == {50 * US}
    assert set(within["cause"]) == {"GPU side"}


def test_where_they_lie_in_the_iterations(stalls):
    idle = of(stalls, 1, "idle")
    place = dict(
        zip(spans(idle), zip(idle["place"], idle["lap"], idle["lap_after"], strict=True), strict=True)
    )
    assert place[550, 600] == ("inside", 0, 0)
    assert place[640, 1105] == ("between", 0, 1)
    assert place[3550, 3600] == ("inside", 3, 3)


def test_copies_and_collectives(stalls):
    copy = of(stalls, 1, "copy_only").iloc[0]
    assert (copy["copies"], copy["bytes"], copy["pageable"], copy["in_front"]) == (1, 1 << 20, False, True)
    assert copy["throughput_gb_s"] == pytest.approx((1 << 20) / 45_000)
    first = of(stalls, 0, "exposed_comm").iloc[0]
    assert (first["wait_ns"], first["transfer_ns"], first["unmatched_ns"]) == (0, 100 * US, 0)
    assert first["cause"] == "transfer"


def test_in_words(stalls):
    number = int(of(stalls, 1, "copy_only").index[2])
    words = stalls.words(number)
    assert words["copies"] == ("HtoD 1.049 MB at 23.3 GB/s on stream 13, before the iteration's first kernel")
    assert (words["gpu"], words["iteration"], words["cause"]) == ("Rank 1 GPU 1", "1 → 2", "copy")
    between = int(of(stalls, 0, "idle").index[1])
    words = stalls.words(between)
    assert (words["iteration"], words["before"], words["after"]) == (
        "0 → 1", "multi_tensor_apply_adam", "Memcpy HtoD"
    )  # fmt: skip
    # What of the stall is evidence of its cause.
    assert words["share"] == pytest.approx(350 / 460)


def test_similar_stalls_are_one_line(stalls):
    lines = stalls.groups()
    longest = lines.iloc[0]
    # 460 and 465 µs long; half the range over the mean.
    assert (longest["count"], longest["gpus"], longest["total_ns"]) == (6, 2, 2775 * US)
    assert longest["spread"] == pytest.approx(2.5 / 462.5)
    assert longest["text"] == "6 idle stalls of 462.5 µs ± 1 % between iterations, unknown, inside step #"
    equal = lines[(lines["kind"] == "idle") & (lines["count"] == 8)].iloc[0]
    assert equal["text"].startswith("8 idle stalls of 50.00 µs inside iterations, GPU side")
    assert lines["total_ns"].tolist() == sorted(lines["total_ns"], reverse=True)
    assert int(lines["count"].sum()) == len(stalls)


def test_time_by_cause(stalls):
    totals = {(row["kind"], row["cause"]): row for row in stalls.totals().to_dict("records")}
    assert {key: (row["count"], row["total_ns"] // US) for key, row in totals.items()} == {
        ("idle", "unknown"): (6, 2775),
        ("idle", "GPU side"): (8, 400),
        ("copy_only", "copy"): (8, 4 * 95),
        ("exposed_comm", "transfer"): (8, 4 * 190),
    }
    assert totals["idle", "GPU side"]["share"] == pytest.approx(400 / 3175)


def one_gap(call, wait=(), switches=(), gap=(100, 400)):
    """Return the one idle stall between two kernels, of which the second was launched by a call at `call`."""
    maker = TraceMaker()
    maker.call(10 * US, 12 * US, correlation=1).kernel(20 * US, gap[0] * US, "first", correlation=1)
    for name, start, end in wait:
        maker.call(start * US, end * US, name)
    maker.call(call[0] * US, call[1] * US, correlation=2)
    maker.kernel(gap[1] * US, (gap[1] + 100) * US, "second", correlation=2)
    for start, end in switches:
        maker.add(Kind.ON_CPU, maker.thread(0, 1), start * US, end * US, "")
    table = Study(maker.trace(), Rules.builtin()).stalls().table
    assert len(table) == 1
    return table.iloc[0]


@pytest.mark.parametrize(
    ("stall", "cause"),
    [
        ({"call": (50, 60)}, "GPU side"),
        ({"call": (390, 395)}, "unknown"),
        ({"call": (390, 395), "switches": [(0, 600)]}, "host code"),
        ({"call": (390, 395), "switches": [(0, 110), (380, 600)]}, "waiting"),
        ({"call": (390, 395), "wait": [("cudaDeviceSynchronize", 20, 380)]}, "synchronise"),
        ({"call": (390, 395), "wait": [("cudaMalloc", 110, 380)]}, "slow CUDA call"),
        ({"call": (110, 395)}, "slow CUDA call"),
        # Launched at once, and then it waits on the GPU's side of the queue.
        ({"call": (101, 110)}, "GPU side"),
    ],
)  # fmt: skip
def test_the_largest_share_is_the_cause(stall, cause):
    row = one_gap(**stall)
    assert row["cause"] == cause
    assert sum(row[share] for share in SHARES) == row["duration_ns"] == 300 * US


@pytest.mark.parametrize(("set_end", "kind"), [(250, Kind.MEMCPY), (290, Kind.MEMSET)])
def test_of_a_copy_and_a_set_the_one_with_most_of_the_stall_is_named(set_end, kind):
    maker = TraceMaker().kernel(0, 100 * US).kernel(300 * US, 400 * US)
    maker.copy(100 * US, 180 * US, bytes=1 << 20, copy_kind=1)
    maker.memset(180 * US, set_end * US, bytes=4096)
    table = Study(maker.trace(), Rules.builtin()).stalls().table
    (stall,) = table[table["kind"] == "copy_only"].to_dict("records")
    assert GPU_KINDS[stall["copy_kind"]] is kind
    assert (stall["copies"], stall["bytes"]) == (2, (1 << 20) + 4096)
