from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.intervals import union, window
from viewer.analysis.study import Study
from viewer.rows import PRESETS, RowKind, build_rows
from viewer.rows.matching import topmost
from viewer.rows.presets import first_view
from viewer.rows.row import Role
from viewer.rows.shares import busy_ns, coverage, share
from viewer.trace import Kind


def training():
    """Two ranks; compute on stream 7, NCCL on stream 20, copies on stream 7; ranges on two threads."""
    made = TraceMaker()
    for rank in (0, 1):
        for step in range(3):
            at = step * 1000
            made.range(at, at + 900, f"iteration {step}", process=rank)
            made.range(at + 10, at + 300, "forward", process=rank)
            made.range(at + 310, at + 890, "backward", process=rank)
            made.call(at + 20, at + 25, process=rank, correlation=step * 10 + 1)
            made.kernel(
                at + 30, at + 230, "flash_fwd<1>", process=rank, correlation=step * 10 + 1, short="flash"
            )
            made.kernel(at + 240, at + 300, "flash_fwd<2>", process=rank, short="flash")
            made.kernel(at + 320, at + 420, "gemm", process=rank)
            made.kernel(at + 400, at + 500, "ncclDevKernel_AllReduce", stream=20, process=rank)
            made.copy(at + 600, at + 640, process=rank)
            made.copy(at + 640, at + 650, process=rank, name="Memcpy DtoH")
            made.memset(at + 650, at + 660, process=rank)
        made.add(Kind.OSRT, made.thread(rank, 2), 0, 50, "poll")
    return made


@pytest.fixture(scope="module")
def roots():
    return build_rows(Study(training().trace()))


def rows(root, kind):
    return [row for row in root.walk() if row.kind is kind]


def test_ranks_stand_in_order_and_hold_gpu_and_threads(roots):
    assert [root.label for root in roots] == ["Rank 0", "Rank 1"]
    assert roots[0].detail == "python [100] · GPU 0 H200"
    assert [row.kind for row in roots[0].children] == [RowKind.GPU, RowKind.THREADS]
    gpu = roots[0].children[0]
    assert [(row.label, row.detail) for row in gpu.children] == [
        ("Kernels", ""),
        ("Memory", ""),
        ("Stream 7", "default"),
        ("Stream 20", "NCCL"),
        ("Launch latency", "in the queue"),
        ("NVTX (GPU projection)", "all threads"),
        ("NVTX (GPU projection)", "own thread"),
    ]


def test_keys_are_unique_and_say_where_a_row_belongs(roots):
    keys = [row.key for root in roots for row in root.walk()]
    assert len(keys) == len(set(keys))
    assert "100/gpu0/stream20" in keys
    assert "101/gpu0/kernels/flash/flash_fwd<2>" in keys


def test_shares_are_sums_of_durations_over_those_of_the_siblings(roots):
    gpu = roots[0].children[0]
    kernels, memory = rows(gpu, RowKind.KERNELS)[0], rows(gpu, RowKind.MEMORY)[0]
    assert kernels.share == pytest.approx(460 / 520)
    assert memory.share == pytest.approx(60 / 520)
    flash, gemm, nccl = rows(gpu, RowKind.FAMILY)
    assert [row.label for row in (flash, gemm, nccl)] == ["flash", "gemm", "ncclDevKernel_AllReduce"]
    assert flash.share == pytest.approx(260 / 460)
    assert [row.share for row in flash.children] == pytest.approx([200 / 260, 60 / 260])
    assert [row.share for row in rows(gpu, RowKind.STREAM)] == pytest.approx([420 / 520, 100 / 520])
    assert [row.label for row in memory.children] == ["HtoD", "DtoH", "Memset"]


def test_shares_of_a_range_are_those_of_the_whole_over_the_whole(roots):
    for row in roots[0].walk():
        assert share(row, window(0, 10_000)) == pytest.approx(row.share)
    kernels = rows(roots[0], RowKind.KERNELS)[0]
    assert share(kernels, window(410, 610)) == pytest.approx((10 + 90) / (10 + 90 + 10))


def test_coverage_is_the_union_over_the_time_range(roots):
    kernels = rows(roots[0], RowKind.KERNELS)[0]
    assert coverage(kernels, window(300, 500)) == pytest.approx(180 / 200)
    assert coverage(roots[0].children[0], window(0, 100)) is None


def test_a_row_holds_its_events_sorted_and_refers_to_the_table(roots):
    study_trace = training().trace()
    stream = rows(roots[0], RowKind.STREAM)[0]
    events = stream.events
    assert (np.diff(events.start_ns) >= 0).all()
    assert {events.ref(i).kind for i in range(len(events))} == {Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET}
    for position in range(len(events)):
        ref = events.ref(position, stream.key)
        assert study_trace.events[ref.kind].start_ns[ref.index] == events.start_ns[position]
        assert study_trace.events[ref.kind].name_id[ref.index] == events.name_id[position]


def test_the_kernels_row_lays_overlapping_streams_into_lanes(roots):
    events = rows(roots[0], RowKind.KERNELS)[0].events
    assert len(events) == 12
    assert events.depth.max() == 1


def test_a_process_shows_what_is_inside_its_iterations(roots):
    trace = training().trace()
    shown = [trace.names[i] for i in roots[0].events.name_id]
    assert shown == ["forward", "backward"] * 3
    assert [trace.nvtx.start_ns[roots[0].events.ref(i).index] for i in (0, 1)] == [10, 310]


def test_iterations_with_many_small_ranges_are_shown_themselves():
    made = TraceMaker()
    for step in range(3):
        made.range(step * 1000, step * 1000 + 990, f"Batch {step}")
        for op in range(40):
            made.range(step * 1000 + op * 20 + 1, step * 1000 + op * 20 + 19, f"aten::op{op}")
    trace = made.trace()
    (root,) = build_rows(Study(trace))
    assert [trace.names[i] for i in root.events.name_id] == ["Batch 0", "Batch 1", "Batch 2"]


def test_a_range_around_everything_is_opened():
    made = TraceMaker().range(0, 3000, "Epoch 1")
    for step in range(3):
        made.range(step * 1000 + 5, step * 1000 + 990, f"Batch {step}")
        for op in range(40):
            made.range(step * 1000 + op * 20 + 6, step * 1000 + op * 20 + 19, f"aten::op{op}")
    trace = made.trace()
    (root,) = build_rows(Study(trace))
    assert [trace.names[i] for i in root.events.name_id] == ["Batch 0", "Batch 1", "Batch 2"]


def test_threads_hold_ranges_by_domain_calls_and_os_runtime():
    made = training()
    made.range(5, 20, "all_reduce", domain="NCCL")
    made.range(5, 30, "async", event_type=60)
    made.add(Kind.ON_CPU, made.thread(0, 1), 0, 100, "CPU 3", cpu=3)
    root = build_rows(Study(made.trace()))[0]
    first, second = rows(root, RowKind.THREADS)[0].children
    assert (first.label, second.label) == ("thread 1", "thread 2")
    assert [(row.label, row.detail) for row in first.children] == [
        ("On the CPU", ""),
        ("NVTX", ""),
        ("NVTX", "start/end"),
        ("NVTX", "NCCL"),
        ("CUDA API", ""),
    ]
    assert [row.label for row in second.children] == ["OS runtime"]


def test_projected_ranges_lie_on_the_gpu(roots):
    trace = training().trace()
    whole, same = rows(roots[0], RowKind.PROJECTION)
    for row in (whole, same):
        shown = [trace.names[i] for i in row.events.name_id]
        assert shown.count("forward") == 3
        assert row.events.start_ns[0] == 30
        assert row.events.end_ns[0] == 230


def test_two_gpus_of_a_process_share_its_projection():
    made = TraceMaker().range(0, 100, "step").kernel(10, 20).kernel(30, 40, device=3)
    (root,) = build_rows(Study(made.trace()))
    assert [row.label for row in root.children] == [
        "GPU 0", "GPU 3", "NVTX (GPU projection)", "NVTX (GPU projection)", "Threads",
    ]  # fmt: skip
    assert root.gpu is None


def test_processes_without_events_have_no_row():
    made = TraceMaker().kernel(0, 10, process=2)
    assert [root.label for root in build_rows(Study(made.trace()))] == ["Rank 2"]
    assert build_rows(Study(TraceMaker().trace())) == ()


def test_preset_compute_and_communication_keeps_two_streams(roots):
    unfolded, hidden = PRESETS["compute + communication"](roots)
    gpu = roots[0].children[0]
    assert gpu.key in unfolded
    assert [row.label for row in gpu.children if row.key not in hidden] == ["Stream 7", "Stream 20"]
    assert roots[0].children[1].key in hidden


def test_first_view_and_everything(roots):
    unfolded, hidden = PRESETS["lanes"](roots)
    assert unfolded == {row.key for root in roots for row in root.children if row.kind is RowKind.GPU}
    assert hidden == {f"{key}/launches" for key in unfolded}
    unfolded, hidden = PRESETS["everything"](roots)
    assert not hidden
    assert {"100", "100/gpu0", "100/threads", "100/threads/1"} <= unfolded


def test_a_process_with_hundreds_of_streams():
    made = TraceMaker()
    for stream in range(581):
        made.kernel(stream, stream + 300, f"kernel_{stream % 7}", stream=stream + 7)
    (root,) = build_rows(Study(made.trace()))
    streams = rows(root, RowKind.STREAM)
    assert len(streams) == 581
    assert sum(row.share for row in streams) == pytest.approx(1)
    kernels = rows(root, RowKind.KERNELS)[0]
    assert kernels.events.lane_count == 256
    assert kernels.occupied.total() == 880


def test_streams_of_two_contexts_with_one_number_are_told_apart():
    trace = TraceMaker().kernel(0, 10).kernel(20, 30, stream=8).trace()
    twice = tuple(replace(s, stream_id=7, context=s.index + 1) for s in trace.streams)
    (root,) = build_rows(Study(replace(trace, streams=twice)))
    found = rows(root, RowKind.STREAM)
    assert [row.detail for row in found] == ["default context 1", "context 2"]
    assert [row.key for row in found] == ["100/gpu0/stream7/1", "100/gpu0/stream7/2"]


def with_compilers(count):
    """Two ranks, and processes that only call the operating system."""
    made = training()
    for process in range(2, 2 + count):
        made.add(Kind.OSRT, made.thread(process, 1), 0, 50, "read")
    trace = made.trace()
    processes = [replace(p, rank=None, name="cc1plus") if p.index >= 2 else p for p in trace.processes]
    return replace(trace, processes=tuple(processes))


def test_processes_without_gpu_and_ranges_are_under_one_row():
    roots = build_rows(Study(with_compilers(133)))
    assert [root.label for root in roots] == ["Rank 0", "Rank 1", "133 processes without GPU"]
    others = roots[-1]
    assert [row.label for row in others.children[:2]] == ["cc1plus [102]", "cc1plus [103]"]
    assert rows(others, RowKind.OSRT)[0].path()[0] is others
    keys = [row.key for root in roots for row in root.walk()]
    assert len(keys) == len(set(keys))


def test_what_is_folded_is_found_by_its_own_name():
    roots = build_rows(Study(with_compilers(3)))
    others = roots[-1]
    assert topmost(roots, "cc1plus [103]") == [others.children[1]]
    assert topmost(roots, "processes without GPU") == [others]
    assert others.children[1].text_path == "cc1plus [103]"


def test_one_process_without_gpu_stands_by_itself():
    assert [root.label for root in build_rows(Study(with_compilers(1)))][-1] == "cc1plus [102]"


def test_where_no_process_has_a_gpu_none_is_folded():
    made = TraceMaker()
    for process in range(3):
        made.add(Kind.OSRT, made.thread(process, 1), 0, 50, "read")
    trace = made.trace()
    trace = replace(trace, processes=tuple(replace(p, rank=None) for p in trace.processes))
    assert len(build_rows(Study(trace))) == 3


@pytest.mark.parametrize("spared", ["rank", "ranges"])
def test_a_rank_and_a_process_with_ranges_are_never_folded(spared):
    made = training()
    for process in range(2, 6):
        made.add(Kind.OSRT, made.thread(process, 1), 0, 50, "read")
    if spared == "ranges":
        made.range(0, 10, "load", process=3)
    trace = made.trace()
    kept = {0, 1, 3} if spared == "rank" else {0, 1}
    trace = replace(
        trace, processes=tuple(p if p.index in kept else replace(p, rank=None) for p in trace.processes)
    )
    assert [root.process for root in build_rows(Study(trace))] == [0, 1, 3, None]


def test_presets_leave_what_is_folded_folded():
    roots = build_rows(Study(with_compilers(133)))
    for name in ("lanes", "compute + communication"):
        unfolded, hidden = PRESETS[name](roots)
        assert "others" not in unfolded | hidden
    assert "others" in PRESETS["everything"](roots)[0]
    assert "others" not in first_view(roots)[0]


def test_the_shares_of_several_ranges_are_those_of_all_of_them_together(roots):
    kernels, memory = (rows(roots[0], kind)[0] for kind in (RowKind.KERNELS, RowKind.MEMORY))
    two = union(np.array([410, 640]), np.array([450, 1100]))
    # gemm 10, NCCL 40, and 70 of flash; 20 of the copies and sets.
    assert busy_ns(kernels.events, two) == 10 + 40 + 70
    assert share(kernels, two) == pytest.approx(120 / 140)
    assert share(memory, two) == pytest.approx(20 / 140)
    assert coverage(kernels, two) == pytest.approx((40 + 70) / (40 + 460))


def test_processes_without_rank_stand_after_the_ranks_those_with_gpus_first():
    made = TraceMaker(without_rank={0, 1, 2})
    made.add(Kind.OSRT, made.thread(0, 1), 0, 50, "read")
    made.range(0, 50, "load", process=1)
    made.kernel(0, 10, process=2).kernel(0, 10, process=3)
    assert [root.process for root in build_rows(Study(made.trace()))] == [3, 2, 0, 1]


def test_the_outline_leaves_out_a_librarys_ranges():
    made = TraceMaker().range(0, 5000, "ncclAllReduce", domain="NCCL").kernel(0, 10)
    for step in range(3):
        made.range(step * 1000, step * 1000 + 700, f"step {step}")
    trace = made.trace()
    (root,) = build_rows(Study(trace))
    assert [trace.names[i] for i in root.events.name_id] == ["step 0", "step 1", "step 2"]
    library = TraceMaker().range(0, 5000, "ncclAllReduce", domain="NCCL").kernel(0, 10)
    assert len(build_rows(Study(library.trace()))[0].events) == 0


def test_the_physical_gpu_is_named_where_it_has_another_number():
    made = TraceMaker(physical={(0, 0): 0, (1, 0): 3}).kernel(0, 10).kernel(0, 10, process=1)
    made.kernel(0, 10, process=2)
    found = [rows(root, RowKind.GPU)[0] for root in build_rows(Study(made.trace()))]
    assert [row.label for row in found] == ["GPU 0"] * 3
    assert [row.detail for row in found] == ["H200", "H200 · physical GPU 3", "H200"]


@pytest.mark.parametrize(("compute_ns", "detail"), [(99, "NCCL"), (100, ""), (101, "")])
def test_a_stream_is_called_nccl_where_more_than_half_of_its_time_is_communication(compute_ns, detail):
    made = TraceMaker().kernel(0, 100, "ncclDevKernel_AllReduce", stream=20)
    made.kernel(100, 100 + compute_ns, stream=20)
    (root,) = build_rows(Study(made.trace()))
    assert [row.detail for row in rows(root, RowKind.STREAM)] == [detail]


def test_a_stream_without_operations_has_no_row():
    made = TraceMaker().kernel(0, 10)
    made.stream(0, 0, 99)
    (root,) = build_rows(Study(made.trace()))
    assert [row.label for row in rows(root, RowKind.STREAM)] == ["Stream 7"]


@pytest.mark.parametrize(("beside_ns", "shown"), [(200, ["forward", "log"]), (300, ["step", "log"])])
def test_the_range_that_takes_four_fifths_is_opened_and_what_is_beside_it_stays(beside_ns, shown):
    made = TraceMaker().kernel(0, 10)
    for step in range(3):
        at = step * 2000
        made.range(at, at + 800, f"step {step}").range(at + 50, at + 750, f"forward {step}")
        made.range(at + 900, at + 900 + beside_ns, f"log {step}")
    trace = made.trace()
    (root,) = build_rows(Study(trace))
    assert [trace.names[i].split()[0] for i in root.events.name_id] == shown * 3


def test_streams_stand_by_what_they_do_and_then_by_number_on_every_gpu():
    made = TraceMaker()
    for rank, (short, long) in enumerate(((20, 24), (24, 20))):
        made.kernel(0, 900, stream=9, process=rank).copy(0, 50, stream=5, process=rank)
        made.kernel(0, 10 if rank else 990, stream=7, process=rank)
        made.kernel(0, 10, "ncclDevKernel_AllReduce", stream=short, process=rank)
        made.kernel(0, 500, "ncclDevKernel_AllReduce", stream=long, process=rank)
    roots = build_rows(Study(made.trace()))
    for root in roots:
        streams = [row for row in root.walk() if row.kind is RowKind.STREAM]
        assert [row.label.split()[1] for row in streams] == ["7", "9", "20", "24", "5"]
        roles = [Role.COMPUTE, Role.COMPUTE, Role.COMMUNICATION, Role.COMMUNICATION, Role.COPY]
        assert [row.role for row in streams] == roles


def test_a_stream_does_on_all_gpus_what_it_mostly_does_over_them():
    """Rank 1 computes a little on the stream that communicates on rank 0: its order is the same."""
    made = TraceMaker().kernel(0, 900, "ncclDevKernel_AllReduce", stream=20).kernel(0, 5, stream=30)
    made.kernel(0, 100, stream=20, process=1).kernel(0, 5, stream=30, process=1)
    for root in build_rows(Study(made.trace())):
        assert [row.label for row in root.walk() if row.kind is RowKind.STREAM] == ["Stream 30", "Stream 20"]


def test_streams_that_communicate_beyond_three_are_gathered_in_one_row_and_the_same_ones_on_all_gpus():
    made = TraceMaker()
    for rank in range(2):
        made.kernel(0, 900, stream=7, process=rank)
        for number in range(5):
            # Streams 20, 22 and 24 communicate most over both GPUs; on rank 1 alone 21 would.
            long = 100 if number % 2 == 0 else 60 if rank else 5
            made.kernel(0, long, "ncclDevKernel_AllReduce", stream=20 + number, process=rank)
    for root in build_rows(Study(made.trace())):
        (others,) = (row for row in root.walk() if row.kind is RowKind.OTHER_STREAMS)
        assert others.label == "2 more streams"
        assert {key.rsplit("stream")[-1] for key in others.gathers} == {"21", "23"}
        assert len(others.events) == 2
        _, hidden = PRESETS["compute + communication"]((root,))
        shown = [row.label for row in root.children[0].children if row.key not in hidden]
        assert shown == ["Stream 7", "Stream 20", "Stream 22", "Stream 24", "2 more streams"]
        assert others.key in PRESETS["everything"]((root,))[1]
        assert others.key in PRESETS["lanes"]((root,))[1]
