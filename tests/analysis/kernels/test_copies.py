import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.kernels.copies import before_first_kernel, copies, in_front
from viewer.analysis.kernels.sync_time import ALL_CALLS, syncs
from viewer.analysis.study import Study
from viewer.analysis.time.scope import iteration_scope
from viewer.trace import Kind

MB = 1_000_000


def test_a_copy_with_its_speed_streams_and_what_hides_it():
    maker = TraceMaker().kernel(100, 300).kernel(0, 10, "nccl_AllGather", stream=20)
    maker.copy(200, 400, stream=7, bytes=2000, copy_kind=1, src_kind=0)
    maker.copy(250, 450, stream=14, bytes=1000, copy_kind=1, src_kind=1)
    maker.memset(5, 8, stream=14, bytes=50)
    study = Study(maker.trace())
    table = copies(study.trace, study.classes, study.parts, study.range_scope(0, 440)).set_index("kind")
    copy = table.loc["Memcpy HtoD"]
    assert (copy["count"], copy["bytes"], copy["sum_ns"]) == (2, 3000, 400)
    assert copy["throughput_gb_s"] == pytest.approx(7.5)
    assert (copy["union_ns"], copy["hidden_ns"], copy["copy_only_ns"]) == (240, 100, 140)
    assert (copy["streams"], copy["on_compute_stream"], copy["pageable"]) == ("7, 14", 1, 1)
    assert table.loc["Memset", "hidden_ns"] == 3


def test_real_copies_fill_the_copy_only_part(real_study):
    study = real_study("inference-2xh100")
    scope = study.range_scope(*study.trace.window_ns)
    table = copies(study.trace, study.classes, study.parts, scope)
    assert set(table["kind"]) >= {"Memcpy HtoD", "Memcpy DtoD"}
    assert table[table["gpu"] == 0]["copy_only_ns"].sum() == 940505084
    assert table.loc[table["kind"] == "Memcpy HtoD", "throughput_gb_s"].to_list() == pytest.approx(
        [27.67] * 2, abs=0.01
    )


def steps(big):
    """Return a study of four iterations, with a copy of `big` bytes in front of each."""
    maker = TraceMaker()
    for number in range(4):
        at = 1000 * number
        maker.range(at, at + 900, f"step {number}")
        for offset, call in enumerate((10, 30)):
            maker.call(at + call, at + call + 5, correlation=1 + 10 * number + offset)
        maker.copy(at + 100, at + 200, bytes=big, copy_kind=1, correlation=1 + 10 * number)
        maker.kernel(at + 200, at + 800, correlation=2 + 10 * number)
    return Study(maker.trace())


def test_copies_in_front_of_an_iteration():
    study = steps(64 * 1024)
    found = in_front(study.trace, study.classes, study.iterations())
    assert found.length_ns.tolist() == [[100] * 4]
    assert found.start_ns.tolist() == [[100, 1100, 2100, 3100]]
    small = steps(64 * 1024 - 1)
    assert not in_front(small.trace, small.classes, small.iterations()).count.any()


def test_the_loaders_tax_of_the_demo(demo_of):
    study = demo_of()
    iterations = study.iterations()
    assert (in_front(study.trace, study.classes, iterations).count[:, 1:] > 0).all()
    clean = demo_of(clean=True)
    assert not in_front(clean.trace, clean.classes, clean.iterations()).count.any()


def test_time_in_synchronising_calls_and_what_of_it_the_gpu_is_idle():
    maker = TraceMaker().kernel(100, 300, correlation=1).kernel(400, 500)
    maker.call(0, 5, correlation=1).call(50, 350, "cudaDeviceSynchronize").call(60, 70, "cudaMalloc")
    maker.call(320, 360, "cudaStreamSynchronize", tid=2)
    study = Study(maker.trace())
    table = syncs(study.launches, study.parts, study.range_scope(0, 500)).set_index("call")
    assert table.loc["cudaDeviceSynchronize", ["sum_ns", "idle_ns"]].tolist() == [300, 50 + 50]
    assert table.loc[ALL_CALLS, ["count", "sum_ns", "union_ns", "idle_ns"]].tolist() == [2, 340, 310, 110]
    assert "cudaMalloc" not in table.index


def test_a_copy_of_pageable_memory_is_a_synchronising_call():
    maker = TraceMaker()
    for correlation, memory in ((1, 0), (2, 1)):
        at = 100 * correlation
        maker.copy(at + 20, at + 60, copy_kind=1, src_kind=memory, dst_kind=2, correlation=correlation)
        maker.call(at, at + 70, "cudaMemcpyAsync", correlation=correlation)
    study = Study(maker.trace())
    table = syncs(study.launches, study.parts, study.range_scope(100, 300)).set_index("call")
    assert table.loc["cudaMemcpyAsync", ["count", "sum_ns", "idle_ns"]].tolist() == [1, 70, 30]


def test_a_scope_of_iterations_takes_each_gpus_own_boundaries(demo_of):
    study = demo_of()
    iterations = study.iterations()
    scope = iteration_scope(iterations)
    assert scope.is_steady
    assert scope.iterations == iterations.steady.indices
    table = iterations.table(study.parts)
    held = table[table["lap"].isin(scope.iterations)]
    expected = held.groupby("gpu")[[c for c in held if c.endswith("_only_ns")]].sum()
    parts = scope.parts(study.parts)
    assert parts[:, 0].tolist() == expected["compute_only_ns"].tolist()
    assert parts.sum(axis=1).tolist() == [scope.length_ns(g) for g in range(8)]
    assert iteration_scope(iterations, [3]).what == "iteration 3, checkpoint"


def story(maker, kind=Kind.MEMCPY):
    return Study(maker.trace(), Rules.builtin()).copy_story(kind, 0)


def test_a_copy_beside_kernels_is_hidden():
    found = story(TraceMaker().kernel(0, 100).copy(20, 40, stream=8, bytes=200, copy_kind=1, src_kind=1))
    assert (found.hidden_ns, found.copy_only_ns) == (20, 0)
    assert found.text == "hidden behind kernels"


def test_a_copy_on_the_compute_stream_cannot_hide():
    found = story(TraceMaker().kernel(0, 100).copy(100, 140, bytes=1, copy_kind=1, src_kind=0))
    assert (found.hidden_ns, found.copy_only_ns) == (0, 40)
    assert found.queues_with_kernels
    assert found.pageable
    assert found.text == "not hidden: its stream runs kernels too, so that it queues with them"


def test_a_copy_that_sticks_out_of_its_kernel():
    maker = TraceMaker().kernel(0, 100).copy(90, 130, stream=8, copy_kind=2, dst_kind=1, src_kind=2)
    found = story(maker)
    assert (found.hidden_ns, found.copy_only_ns) == (10, 30)
    assert found.text == "25% hidden behind kernels, though on a stream of its own"


def test_a_set_and_communication_hide_it_too():
    maker = TraceMaker().kernel(0, 100, "ncclDevKernel_AllReduce").memset(0, 50, stream=8)
    assert story(maker, Kind.MEMSET).text == "hidden behind kernels"


def test_copies_before_the_first_kernel_are_found_by_time_over_all_streams():
    maker = TraceMaker()
    for number in range(4):
        at = 1000 * number
        maker.range(at, at + 900, f"step {number}")
        maker.call(at + 10, at + 15, correlation=1 + number)
        maker.kernel(at + 300, at + 800, stream=9, correlation=1 + number)
        # On the stream with the lower number runs the later copy.
        maker.copy(at + 200, at + 260, stream=7, bytes=MB, copy_kind=1)
        maker.copy(at + 100, at + 150, stream=8, bytes=2 * MB, copy_kind=1)
        # Too small, or of another direction: neither counts.
        maker.copy(at + 160, at + 180, stream=8, bytes=100, copy_kind=1)
        maker.copy(at + 160, at + 180, stream=10, bytes=MB, copy_kind=2)
    study = Study(maker.trace())
    found = in_front(study.trace, study.classes, study.iterations())
    # The iterations begin with their kernels: what runs before them lies between the kernels.
    assert found.count.tolist() == [[0, 2, 2, 2]]
    assert found.length_ns.tolist() == [[0, 110, 110, 110]]
    assert found.bytes.tolist() == [[0, 3 * MB, 3 * MB, 3 * MB]]
    assert found.start_ns.tolist() == [[-1, 1100, 2100, 3100]]


def test_synchronising_calls_are_those_of_the_gpus_own_process_and_its_threads():
    maker = TraceMaker()
    for process in (0, 1):
        maker.kernel(0, 100, process=process)
    maker.call(10, 30, "cudaStreamSynchronize", tid=1, process=0)
    maker.call(20, 50, "cudaDeviceSynchronize", tid=2, process=0)
    maker.call(150, 160, "cudaDeviceSynchronize", tid=3, process=1)
    maker.call(60, 70, "cudaMalloc", tid=1, process=1)
    maker.kernel(200, 210, process=1)
    study = Study(maker.trace())
    table = syncs(study.launches, study.parts, study.range_scope(0, 160))
    rows = {(row["gpu"], row["call"]): row for row in table.to_dict("records")}
    assert set(rows) == {
        (0, "cudaStreamSynchronize"), (0, "cudaDeviceSynchronize"), (0, ALL_CALLS),
        (1, "cudaDeviceSynchronize"), (1, ALL_CALLS),
    }  # fmt: skip
    every = rows[0, ALL_CALLS]
    assert (every["count"], every["sum_ns"], every["union_ns"], every["idle_ns"]) == (2, 50, 40, 0)
    # Nothing is idle in it: it points at the longest interval that the calls cover.
    assert (every["start_ns"], every["end_ns"]) == (10, 50)
    late = rows[1, "cudaDeviceSynchronize"]
    assert (late["count"], late["sum_ns"], late["union_ns"], late["idle_ns"]) == (1, 10, 10, 10)


def test_no_call_that_waits_is_no_row():
    study = Study(TraceMaker().kernel(0, 100).call(10, 20, "cudaMalloc").trace())
    assert syncs(study.launches, study.parts, study.range_scope(0, 100)).empty


def test_an_iteration_after_the_last_kernel_has_none_to_wait_for():
    maker = TraceMaker()
    for number in range(4):
        at = 1000 * number
        maker.range(at, at + 900, f"step {number}")
        maker.call(at + 10, at + 15, correlation=1 + number)
        if number < 3:
            maker.kernel(at + 300, at + 800, correlation=1 + number)
        else:
            maker.copy(at + 300, at + 400, bytes=MB, copy_kind=1, correlation=1 + number)
    study = Study(maker.trace())
    iterations = study.iterations()
    assert iterations.starts.tolist() == [[300, 1300, 2300, 3300, 3400]]
    low, first = before_first_kernel(study.trace, study.classes, iterations, 0)
    assert low.tolist() == [300, 300, 1300, 2300]
    assert first.tolist() == [300, 1300, 2300, 3300]
