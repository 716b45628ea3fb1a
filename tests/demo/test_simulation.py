"""What the file tells could have happened: cause before effect, queues in order, groups that meet."""

from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

from tests.demo.load import calls, operations, sweep, table
from viewer.demo import DemoOptions, ground_truth, job

VARIANTS = [{}, {"clean": True}, {"like": "distca"}, {"ranks": 3, "iterations": 2}]


@pytest.fixture(params=VARIANTS, ids=str)
def variant(request, make):
    return make(**request.param)


@lru_cache(maxsize=8)
def launched(path):
    """Operations with the call that launched each: call_start, call_end, tid_call, api."""
    own = calls(path).rename(columns={"start": "call_start", "end": "call_end", "name": "api"})
    own = own[["pid", "correlationId", "call_start", "call_end", "api", "tid"]]
    joined = operations(path).merge(own, on=["pid", "correlationId"], how="left", suffixes=("", "_call"))
    assert joined.call_start.notna().all()
    return joined


def test_no_operation_starts_before_its_call(variant):
    joined = launched(variant)
    assert (joined.start > joined.call_start).all()


def test_a_stream_runs_one_after_another_in_the_order_of_the_calls(variant):
    joined = launched(variant).sort_values(["pid", "streamId", "call_start"])
    for _, queue in joined.groupby(["pid", "streamId"]):
        assert (queue.start.to_numpy()[1:] >= queue.end.to_numpy()[:-1]).all()


def test_a_thread_does_one_call_at_a_time(variant):
    for _, frame in calls(variant).sort_values("start").groupby("globalTid"):
        assert (frame.start.to_numpy()[1:] >= frame.end.to_numpy()[:-1]).all()


def test_ranges_nest(variant):
    frame = table(variant, "NVTX_EVENTS")
    for _, ranges in frame[frame.eventType == 59].sort_values(["start", "end"]).groupby("globalTid"):
        stack = []
        for start, end in zip(ranges.start, ranges.end, strict=True):
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or end <= stack[-1]
            stack.append(end)


def collectives(path):
    """NCCL kernels with `order`: the how-many-eth of its name on its stream and rank."""
    frame = operations(path)
    frame = frame[(frame.kind == "KERNEL") & frame.name.str.startswith("nccl")].sort_values(["rank", "start"])
    return frame.assign(order=frame.groupby(["rank", "streamId", "name"]).cumcount())


@pytest.mark.parametrize(
    ("stream", "names", "groups"),
    [
        (20, {"AllReduce_Sum_bf16"}, [[0, 1], [2, 3], [4, 5], [6, 7]]),
        (24, {"AllReduce_Sum_f32", "ReduceScatter_Sum_f32", "AllGather"}, [[0, 2, 4, 6], [1, 3, 5, 7]]),
        (28, {"AllReduce_Sum_f32"}, [list(range(8))]),
    ],
)
def test_a_group_overlaps_and_ends_together(path, stream, names, groups):
    frame = collectives(path)
    frame = frame[frame.streamId == stream]
    assert {n.removeprefix("ncclDevKernel_").split("_RING")[0] for n in frame.name} == names
    for group in groups:
        sets = frame[frame["rank"].isin(group)].groupby(["name", "order"])
        assert (sets.size() == len(group)).all()
        assert (sets.end.max() - sets.end.min()).max() < 5_000
        assert (sets.start.max() < sets.end.min()).all()


def test_others_wait_for_the_slow_rank(path):
    frame = collectives(path)
    reduced = (
        frame[frame.name.str.contains("ReduceScatter")]
        .groupby("rank")
        .apply(lambda f: (f.end - f.start).mean())
    )
    assert reduced[4] < 0.7 * reduced[[0, 2, 6]].min()
    assert reduced[5] < 0.7 * reduced[[1, 3, 7]].min()
    tensor = (
        frame[frame.name.str.contains("bf16")].groupby("rank").apply(lambda f: (f.end - f.start).median())
    )
    assert tensor.idxmax() == 4
    assert tensor.idxmin() == 5
    kernels = operations(path)
    kernels = kernels[(kernels.kind == "KERNEL") & ~kernels.name.str.startswith("nccl")]
    work = kernels.groupby("rank").apply(lambda f: (f.end - f.start).sum())
    assert work[5] / work.drop(5).mean() == pytest.approx(1.06, abs=0.005)


def steady(path):
    """(start, end) of iterations 5 and 6 on rank 0's clock."""
    frame = table(path, "NVTX_EVENTS")
    starts = frame[(frame["rank"] == 0) & frame.name.isin(["Iteration 5", "Iteration 7"])].start.tolist()
    return min(starts), max(starts)


@pytest.mark.parametrize("rank", [0, 4, 5])
def test_communication_both_hides_and_shows(path, rank):
    start, end = steady(path)
    frame = operations(path)
    frame = frame[(frame["rank"] == rank) & (frame.end > start) & (frame.start < end)]
    kernels = frame[frame.kind == "KERNEL"]
    kernels = kernels.assign(nccl=kernels.name.str.startswith("nccl"))
    parts = {
        k: v / (end - start) for k, v in sweep(kernels, frame[frame.kind != "KERNEL"], start, end).items()
    }
    assert sum(parts.values()) == pytest.approx(1)
    assert 0.5 < parts["compute_only"] < 0.85
    assert 0.05 < parts["hidden"] < 0.3
    assert 0.05 < parts["exposed"] < 0.2
    assert 0.02 < parts["copy"] < 0.06
    assert 0.05 < parts["idle"] < 0.15


def test_the_optimizer_is_a_burst_of_tiny_kernels_fed_just_in_time(path):
    start, _ = steady(path)
    frame = launched(path)
    ranges = table(path, "NVTX_EVENTS")
    step = ranges[(ranges["rank"] == 2) & (ranges.name == "optimizer") & (ranges.start > start)].iloc[0]
    frame = frame[(frame["rank"] == 2) & (frame.call_start > step.start) & (frame.call_start < step.end)]
    burst = frame[~frame.name.str.startswith("nccl", na=True)].sort_values("start").iloc[4:]
    length = (burst.end - burst.start).to_numpy()
    hundreds = np.convolve(length, np.ones(100) / 100, "valid")
    assert len(burst) >= 150
    assert hundreds.max() < 10_000
    assert (burst.start.to_numpy()[1:] - burst.end.to_numpy()[:-1]).max() < 1_000_000
    assert (burst.start - burst.call_end).median() < 3_000


def test_the_host_is_ahead_of_the_gpu_in_forward_and_backward(path):
    frame = launched(path)
    big = frame[frame.name.str.contains("flash_(?:fwd|bwd_dq)", na=False)]
    assert (big.start - big.call_end).median() > 2_000_000


def test_the_backward_pass_is_launched_by_the_autograd_thread(path):
    frame = launched(path)
    on_main = frame.tid_call == frame.pid
    assert not on_main[frame.name.str.contains("flash_bwd", na=False)].any()
    assert on_main[frame.name.str.contains("flash_fwd", na=False)].all()


def test_forward_to_backward_is_about_one_to_two(path):
    frame = launched(path)
    frame = frame[
        (frame["rank"] == 1) & (frame.kind == "KERNEL") & ~frame.name.str.startswith("nccl", na=True)
    ]
    work = (frame.end - frame.start).groupby(frame.tid_call == frame.pid).sum()
    assert work[False] / work[True] == pytest.approx(2, abs=0.25)


def test_the_gpu_is_idle_while_the_loader_is_late(path):
    ranges = table(path, "NVTX_EVENTS")
    waits = ranges[(ranges["rank"] == 0) & (ranges.name == "dataloader.next")]
    assert len(waits) == 8
    assert (waits.end - waits.start).median() > 8_000_000
    own = operations(path)
    own = own[own["rank"] == 0]
    for start, end in zip(waits.start, waits.end, strict=True):
        assert not ((own.end > start + 1_000) & (own.start < end)).any()


def test_a_checkpoint_copies_then_writes_a_file_while_the_gpu_is_idle(path):
    ranges = table(path, "NVTX_EVENTS")
    saves = ranges[(ranges["rank"] == 3) & (ranges.name == "save_checkpoint")]
    assert len(saves) == 2
    own = operations(path)
    own = own[own["rank"] == 3]
    system = table(path, "OSRT_API")
    system = system[(system["rank"] == 3) & (system.tid == system.pid)]
    for start, end in zip(saves.start, saves.end, strict=True):
        inside = own[(own.start > start) & (own.start < end)]
        assert set(inside.kind) == {"MEMCPY"}
        assert set(inside.copyKind) == {2}
        writes = system[(system.name == "write") & (system.start > start) & (system.end < end)]
        assert writes.start.min() > inside.end.max()
        assert (writes.end - writes.start).sum() > 30_000_000


def test_context_switches_alternate_and_name_the_core_that_is_left(variant):
    for _, frame in table(variant, "SCHED_EVENTS").groupby("globalTid"):
        frame = frame.sort_values("start")
        turns = frame.isSchedIn.to_numpy()
        assert turns[0] == 1
        assert (np.diff(turns) != 0).all()
        assert frame.cpu.nunique() == 1


def test_calls_run_on_a_core(path):
    """A thread that is off its core for a while does nothing but wait in a call that began before."""
    switches, frame = table(path, "SCHED_EVENTS"), calls(path)
    for tid, own in switches.groupby("globalTid"):
        own = own.sort_values("start")
        off = own.start[own.isSchedIn == 0].to_numpy()
        on = own.start[own.isSchedIn == 1].to_numpy()[1:]
        starts = frame.start[frame.globalTid == tid].to_numpy()
        inside = np.searchsorted(off, starts, side="right") - np.searchsorted(on, starts, side="right")
        assert (inside == 0).all()


def test_truth_is_what_the_file_says(path):
    truth = ground_truth(job(DemoOptions()))
    own, ranges = launched(path), table(path, "NVTX_EVENTS")
    for rank in range(8):
        iterations = ranges[(ranges["rank"] == rank) & ranges.name.str.fullmatch(r"Iteration \d+", na=False)]
        iterations = iterations.sort_values("start")
        mine = own[own["rank"] == rank]
        found = [
            mine.start[(mine.call_start > a) & (mine.call_end < b)].min()
            for a, b in zip(iterations.start, iterations.end, strict=True)
        ]
        assert found == truth.iteration_start_ns[rank].tolist()
        assert mine.end.max() == truth.end_ns[rank]
    lengths = pd.Series(np.diff(truth.iteration_start_ns, axis=1).mean(axis=0))
    special = [iteration for iteration in truth.warm_up + truth.checkpoints if iteration in lengths.index]
    usual = lengths.drop(special)
    assert 130e6 < usual.median() < 142e6
    assert (usual / usual.median() - 1).abs().max() < 0.05
    assert (lengths[special] > 1.5 * usual.median()).all()
