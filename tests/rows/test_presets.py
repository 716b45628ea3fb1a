"""Which rows the presets unfold and hide."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study
from viewer.rows import PRESETS, RowKind, build_rows
from viewer.rows.presets import FEW_ROWS, first_view, launch_rows


def rows_of(maker):
    return build_rows(Study(maker.trace()))


def streams(gpus, each):
    """A process with GPUs that have so many streams each: a row for every GPU and stream, and two more."""
    maker = TraceMaker()
    for gpu in range(gpus):
        for stream in range(each):
            maker.kernel(stream, stream + 5, stream=stream + 7, device=gpu)
    return maker


def test_the_first_view_opens_few_rows_and_leaves_many_folded():
    """Two ranks with a row for the process, the GPU, its kernels and each stream."""
    for each, opened in ((FEW_ROWS // 2 - 3, True), (FEW_ROWS // 2 - 2, False)):
        maker = TraceMaker()
        for rank in range(2):
            for stream in range(each):
                maker.kernel(stream, stream + 5, stream=stream + 7, process=rank)
        unfolded, _ = first_view(rows_of(maker))
        assert ({"100", "101"} <= unfolded) == opened
        assert {"100/gpu0", "101/gpu0"} <= unfolded


def test_one_process_is_opened_whatever_it_has():
    assert first_view(rows_of(streams(1, 581)))[0] == {"100", "100/gpu0"}
    assert first_view(rows_of(streams(2, 60)))[0] == {"100", "100/gpu0", "100/gpu1"}


def test_a_process_without_gpu_stays_folded_at_first():
    maker = streams(1, 2).range(0, 5, "load", process=1)
    assert first_view(rows_of(maker))[0] == {"100", "100/gpu0"}


def test_launch_latencies_are_hidden_at_first_and_by_one_key():
    roots = rows_of(streams(2, 1).call(0, 1))
    assert launch_rows(roots) == ["100/gpu0/launches", "100/gpu1/launches"]
    assert first_view(roots)[1] == PRESETS["lanes"](roots)[1] == set(launch_rows(roots))


def test_compute_and_communication_keeps_the_stream_that_computes_most_and_all_that_communicate():
    maker = TraceMaker().kernel(0, 10, stream=7).kernel(0, 50, stream=8).range(0, 5, "step")
    for stream in (20, 21):
        maker.kernel(0, 10, "ncclDevKernel_AllReduce", stream=stream)
    roots = rows_of(maker)
    unfolded, hidden = PRESETS["compute + communication"](roots)
    (gpu,) = (row for row in roots[0].children if row.kind is RowKind.GPU)
    assert [row.label for row in gpu.children if row.key not in hidden] == [
        "Stream 8",
        "Stream 20",
        "Stream 21",
    ]
    assert unfolded == {"100", "100/gpu0"}
    assert {row.key for row in roots[0].children if row is not gpu} <= hidden


@pytest.mark.parametrize("computing", [3, 0])
def test_compute_and_communication_prefers_streams_that_compute_to_a_longer_one_that_copies(computing):
    maker = TraceMaker().copy(0, 100, stream=7)
    for stream in range(computing):
        maker.kernel(0, 10 + stream, stream=20 + stream)
    roots = rows_of(maker)
    _, hidden = PRESETS["compute + communication"](roots)
    (gpu,) = (row for row in roots[0].children if row.kind is RowKind.GPU)
    kept = [row.label for row in gpu.children if row.key not in hidden]
    assert kept == [f"Stream {20 + computing - 1}" if computing else "Stream 7"]
