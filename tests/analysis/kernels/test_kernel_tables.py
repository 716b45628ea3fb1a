"""Kernels by class and by name inside a scope, against every kernel one by one."""

from collections import defaultdict

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import CLASSES, Rules
from viewer.analysis.kernels.kernel_tables import class_table, kernels_in, small_in, top_kernels
from viewer.analysis.study import Study

# (start, end, name, stream, device); two overlap, one reaches over the end of the scope, one is outside.
KERNELS = [
    (0, 100, "gemm_a", 7, 0),
    (50, 150, "gemm_b", 8, 0),
    (200, 230, "gemm_a", 7, 0),
    (300, 450, "ncclDevKernel_AllReduce", 20, 0),
    (100, 180, "gemm_b", 7, 1),
    (390, 500, "gemm_a", 7, 1),
    (400, 900, "gemm_b", 7, 1),
]
SCOPE = (20, 400)


@pytest.fixture(scope="module")
def study():
    maker = TraceMaker()
    for start, end, name, stream, device in KERNELS:
        maker.kernel(start, end, name, stream=stream, device=device)
    return Study(maker.trace(), Rules.builtin())


def clipped(start, end):
    return min(end, SCOPE[1]) - max(start, SCOPE[0])


def inside():
    """Return the kernels that touch the scope, with the length of what is inside."""
    return [(*kernel, clipped(*kernel[:2])) for kernel in KERNELS if clipped(*kernel[:2]) > 0]


def test_kernels_of_a_scope_come_by_start(study):
    within = study.range_scope(*SCOPE).within
    starts = [
        study.trace.kernels.start_ns[kernels_in(study.trace, gpu, within[gpu])].tolist() for gpu in (0, 1)
    ]
    assert starts == [[0, 50, 200, 300], [100, 390]]


def test_classes_sum_durations_and_unions_and_point_at_the_longest(study):
    table = class_table(study.trace, study.classes, study.range_scope(*SCOPE)).set_index("class")
    assert table.index.tolist() == list(CLASSES)
    total = sum(ns for *_, ns in inside())
    assert table["kernels"].sum() == len(inside()) == 6
    assert table["sum_ns"].sum() == total == 80 + 100 + 30 + 100 + 80 + 10
    comm = table.loc["communication"]
    assert comm[["kernels", "sum_ns", "union_ns", "gpu", "start_ns", "end_ns"]].tolist() == [
        1,
        100,
        100,
        0,
        300,
        450,
    ]
    assert comm["share"] == pytest.approx(100 / total)
    gemm = table.loc[study.classes.class_name(study.trace.kernels.name_id[0])]
    assert gemm[["kernels", "sum_ns", "union_ns"]].tolist() == [5, 300, (150 - 20) + 30 + 80 + 10]
    assert gemm[["gpu", "start_ns", "end_ns"]].tolist() == [0, 50, 150]
    rest = table[table["kernels"] == 0]
    assert set(rest["gpu"]) == set(rest["start_ns"]) == {-1}


def test_names_come_by_their_time_and_point_at_their_longest(study):
    table = top_kernels(study.trace, study.classes, study.range_scope(*SCOPE))
    sums, counts = defaultdict(int), defaultdict(int)
    for _, _, name, _, _, ns in inside():
        sums[name] += ns
        counts[name] += 1
    assert table["name"].tolist() == sorted(sums, key=lambda name: -sums[name])
    assert table["sum_ns"].tolist() == [sums[name] for name in table["name"]] == [180, 120, 100]
    assert table["kernels"].tolist() == [counts[name] for name in table["name"]] == [2, 3, 1]
    assert table["mean_ns"].tolist() == [90, 40, 100]
    assert table["share"].tolist() == pytest.approx([180 / 400, 120 / 400, 100 / 400])
    spots = table[["gpu", "start_ns", "end_ns"]].to_numpy().tolist()
    assert spots == [[0, 50, 150], [0, 0, 100], [0, 300, 450]]
    assert top_kernels(study.trace, study.classes, study.range_scope(*SCOPE), count=1)["name"].tolist() == [
        "gemm_b"
    ]


def test_small_kernels_last_less_than_ten_microseconds():
    maker = TraceMaker()
    for number, length in enumerate((1, 9_999, 10_000, 10_001)):
        maker.kernel(number * 20_000, number * 20_000 + length)
    trace = maker.trace()
    study = Study(trace)
    assert small_in(trace.kernels, kernels_in(trace, 0, study.range_scope(0, 100_000).within[0])) == 2


def test_of_equally_long_kernels_the_first_is_the_example():
    maker = TraceMaker().kernel(0, 5, "gemm").kernel(10, 30, "gemm").kernel(40, 60, "gemm", stream=8)
    study = Study(maker.kernel(0, 20, "gemm", process=1).kernel(90, 99, "relu").trace(), Rules.builtin())
    scope = study.range_scope(0, 100)
    top = top_kernels(study.trace, study.classes, scope)
    assert top["name"].tolist() == ["gemm", "relu"]
    assert top[["kernels", "sum_ns", "mean_ns"]].to_numpy().tolist() == [[4, 65, 16], [1, 9, 9]]
    assert top[["gpu", "start_ns", "end_ns"]].to_numpy().tolist() == [[0, 10, 30], [0, 90, 99]]
    by_class = class_table(study.trace, study.classes, scope).set_index("class").loc["matrix multiply"]
    assert by_class[["kernels", "sum_ns", "union_ns"]].tolist() == [4, 65, 65]
    assert by_class[["gpu", "start_ns", "end_ns"]].tolist() == [0, 10, 30]


def test_kernels_count_that_have_time_in_the_scope_be_it_one_nanosecond():
    maker = (
        TraceMaker()
        .kernel(10, 11, "short")
        .kernel(20, 50, "gemm")
        .kernel(60, 60, "empty")
        .kernel(99, 300, "late")
    )
    maker.kernel(100, 200, "behind")
    study = Study(maker.trace(), Rules.builtin())
    table = top_kernels(study.trace, study.classes, study.range_scope(0, 100)).set_index("name")
    assert table["kernels"].to_dict() == {"gemm": 1, "short": 1, "late": 1}
    assert table["sum_ns"].to_dict() == {"gemm": 30, "short": 1, "late": 1}
    assert class_table(study.trace, study.classes, study.range_scope(0, 100))["kernels"].sum() == 3


def test_no_more_names_than_asked_for_and_their_mean():
    maker = TraceMaker()
    for number in range(5):
        maker.kernel(100 * number, 100 * number + 10 * (number + 1), f"k{number}")
        maker.kernel(100 * number + 60, 100 * number + 61, f"k{number}")
    study = Study(maker.trace(), Rules.builtin())
    scope = study.range_scope(0, 500)
    table = top_kernels(study.trace, study.classes, scope, count=2)
    assert table["name"].tolist() == ["k4", "k3"]
    assert table["mean_ns"].tolist() == [51 // 2, 41 // 2]
    assert table["share"].tolist() == [51 / 155, 41 / 155]
    assert len(top_kernels(study.trace, study.classes, scope)) == 5
