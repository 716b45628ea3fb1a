from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.kernels.kernel_tables import class_table, top_kernels
from viewer.analysis.study import Study


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
