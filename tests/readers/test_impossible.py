"""Rows that cannot be are named, left out or cut, and move nothing."""

import numpy as np
import pytest

from tests.readers import exports
from viewer.analysis.study import Study
from viewer.demo import DemoOptions, make_demo
from viewer.demo.oddities import TOO_LONG_NS
from viewer.readers import read
from viewer.readers.impossible import end_of_open
from viewer.trace import Kind
from viewer.trace.model import IMPOSSIBLE


@pytest.fixture
def opened(tmp_path):
    """A function that reads an export of some tables."""

    def make(tables):
        return read(exports.write(tmp_path / "trace.sqlite", tables), cache=False)

    return make


def notes(trace):
    return [note for note in trace.notes if IMPOSSIBLE in note]


def kernels(*times, **changes):
    return [
        exports.kernel(start=start, end=end, correlationId=number + 1, **changes)
        for number, (start, end) in enumerate(times)
    ]


def test_a_kernel_without_times_is_left_out_and_does_not_move_the_window(opened):
    trace = opened({exports.KERNELS: kernels((1000, 2000), (0, 0), (3000, 4000))})
    assert trace.window_ns == (1000, 4000)
    assert trace.kernels.start_ns.tolist() == [1000, 3000]
    assert trace.kernels.columns["file_row"].tolist() == [1, 3]
    (note,) = notes(trace)
    assert "row 2: no times (0 to 0 ns); left out" in note
    (diagnostic,) = [f for f in Study(trace).diagnostics if f.kind == "impossible-rows"]
    assert (diagnostic.severity, diagnostic.title) == ("warning", note)


def test_a_kernel_that_starts_at_zero_and_has_a_length_is_one(opened):
    trace = opened({exports.KERNELS: kernels((0, 500), (600, 700))})
    assert trace.kernels.start_ns.tolist() == [0, 600]
    assert notes(trace) == []


MS = 1_000_000


def test_a_kernel_that_outlasts_later_ones_of_its_stream_is_cut(opened):
    times = [(1 * MS, 2 * MS), (3 * MS, 304 * MS), (5 * MS, 6 * MS), (7 * MS, 8 * MS), (9 * MS, 10 * MS)]
    trace = opened({exports.KERNELS: kernels(*times)})
    assert trace.kernels.end_ns.tolist() == [2 * MS, 5 * MS, 6 * MS, 8 * MS, 10 * MS]
    assert trace.window_ns == (1 * MS, 10 * MS)
    assert "row 2: longer than its stream allows" in notes(trace)[0]


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("kernels of a graph run side by side", {"graphNodeId": 5}),
        ("a graph's launch is one id", {"correlationId": 9}),
    ],
)
def test_branches_of_a_graph_may_lie_in_one_another(opened, what, changes):
    rows = kernels((1 * MS, 10 * MS), (2 * MS, 3 * MS), (4 * MS, 5 * MS))
    trace = opened({exports.KERNELS: [row | changes for row in rows]})
    assert trace.kernels.end_ns.tolist() == [10 * MS, 3 * MS, 5 * MS], what
    assert notes(trace) == []


def test_other_streams_and_short_overlaps_are_no_fault(opened):
    rows = kernels((1 * MS, 10 * MS), (2 * MS, 3 * MS), (12 * MS, 13 * MS), (12 * MS + 990_000, 14 * MS))
    rows[1]["streamId"] = 20
    trace = opened({exports.KERNELS: rows})
    assert notes(trace) == []
    assert sorted(trace.kernels.end_ns.tolist()) == [3 * MS, 10 * MS, 13 * MS, 14 * MS]


def test_a_kernel_that_outlasts_one_later_one_by_little_may_have_been_overtaken(opened):
    little = opened({exports.KERNELS: kernels((1 * MS, 4 * MS), (2 * MS, 3 * MS), (5 * MS, 6 * MS))})
    assert little.kernels.end_ns.tolist() == [4 * MS, 3 * MS, 6 * MS]
    assert notes(little) == []


def test_one_that_outlasts_one_by_far_is_cut(opened):
    trace = opened({exports.KERNELS: kernels((1 * MS, 40 * MS), (2 * MS, 3 * MS), (50 * MS, 60 * MS))})
    assert trace.kernels.end_ns.tolist() == [2 * MS, 3 * MS, 60 * MS]
    assert len(notes(trace)) == 1


def test_migrations_of_unified_memory_are_in_no_order(opened):
    copy = exports.kernel(bytes=4, copyKind=11, srcKind=4, dstKind=4)
    rows = [copy | {"start": at * MS, "end": end * MS} for at, end in ((1, 10), (2, 3), (4, 5))]
    trace = opened({exports.KERNELS: kernels((1, 2)), exports.COPIES: rows})
    assert notes(trace) == []
    assert trace.events[Kind.MEMCPY].end_ns.tolist() == [10 * MS, 3 * MS, 5 * MS]


def test_ranges_that_end_before_they_start_are_named_and_have_no_length(opened):
    rows = [exports.nvtx(start=100, end=90), exports.nvtx(start=200, end=300), exports.nvtx(start=400, end=1)]
    trace = opened({exports.KERNELS: kernels((1000, 2000)), exports.NVTX: rows})
    assert (trace.nvtx.end_ns - trace.nvtx.start_ns).tolist() == [0, 100, 0]
    (note,) = notes(trace)
    assert "rows 1, 3: the end is before the start; taken as of no length" in note


def unclosed(*starts_ends, text="step {}"):
    return [
        exports.nvtx(start=start, end=end, text=text.format(number))
        for number, (start, end) in enumerate(starts_ends)
    ]


def test_most_ranges_unclosed_end_where_the_next_one_begins(opened):
    rows = unclosed((100, 190), (200, None), (300, None), (400, 480), (500, None), (600, 650))
    trace = opened({exports.KERNELS: kernels((1000, 2000)), exports.NVTX: rows})
    assert trace.nvtx.end_ns.tolist() == [190, 300, 400, 480, 600, 650]
    assert "rows 2, 3, 5: 50 % of the ranges have no end" in notes(trace)[0]


def test_an_open_range_ends_with_the_closed_one_around_it(opened):
    rows = [
        exports.nvtx(start=100, end=500, text="outer"),
        exports.nvtx(start=200, end=None, text="inner"),
        exports.nvtx(start=250, end=300, text="innermost"),
    ]
    trace = opened({exports.KERNELS: kernels((1000, 2000)), exports.NVTX: rows})
    assert sorted(trace.nvtx.end_ns.tolist()) == [300, 500, 500]
    assert len(notes(trace)) == 1


def test_what_was_open_when_the_recording_ended_reaches_to_the_end(opened):
    rows = [
        exports.nvtx(start=100, end=None, text="train"),
        exports.nvtx(start=150, end=190, text="block"),
        exports.nvtx(start=150, end=170, text="other"),
        exports.nvtx(start=200, end=None, text="epoch"),
        exports.nvtx(start=300, end=None, text="block"),
        exports.nvtx(start=310, end=None, text="block"),
    ]
    trace = opened({exports.KERNELS: kernels((1000, 2000)), exports.NVTX: rows})
    assert sorted(trace.nvtx.end_ns.tolist()) == [170, 190, 2000, 2000, 2000, 2000]
    assert notes(trace) == []


def test_ranges_of_one_name_that_nest_elsewhere_may_nest_when_open(opened):
    rows = [
        exports.nvtx(start=s, end=e, text="block") for s, e in ((10, 50), (20, 40), (60, 70), (100, None))
    ]
    rows.append(exports.nvtx(start=120, end=130, text="block"))
    trace = opened({exports.KERNELS: kernels((1000, 2000)), exports.NVTX: rows})
    assert sorted(trace.nvtx.end_ns.tolist()) == [40, 50, 70, 130, 2000]


def test_end_of_open_keeps_what_is_sound():
    start, end = np.array([0, 10, 20]), np.array([100, 15, 30])
    kept = end_of_open(start, end, np.zeros(3, bool), np.array([0, 0, 0]))
    assert kept.tolist() == end.tolist()


def test_the_demo_with_impossible_rows_has_the_numbers_of_the_sound_one(tmp_path):
    options = DemoOptions(ranks=2, iterations=4, slow_rank=None)
    sound = Study(read(make_demo(tmp_path / "sound.sqlite", options), cache=False))
    odd = DemoOptions(ranks=2, iterations=4, slow_rank=None, oddities=("impossible-rows",))
    damaged = Study(read(make_demo(tmp_path / "odd.sqlite", odd), cache=False))
    assert damaged.trace.window_ns == sound.trace.window_ns
    found = [f.title for f in damaged.diagnostics if f.kind == "impossible-rows"]
    assert len(found) == 4, found
    parts = [s.parts[0].totals(*s.trace.window_ns) for s in (sound, damaged)]
    assert np.abs(parts[0] - parts[1]).max() < TOO_LONG_NS / 100
    iterations = [s.iterations() for s in (sound, damaged)]
    assert [i.count for i in iterations] == [4, 4]
    assert np.array_equal(iterations[0].starts, iterations[1].starts)
