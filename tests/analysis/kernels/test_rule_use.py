"""What each rule of the kernel classes takes."""

import numpy as np

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.kernels.rule_use import NO_RULE, rule_use

RULES = Rules.parse(
    "[matrix multiply]\ngemm\ncutlass\n[attention]\nflash\nfull: <float>\n[oops]\nx\n", "test"
)


def test_each_kernel_counts_at_the_first_rule_that_takes_its_name():
    maker = TraceMaker(session_ns=1000)
    for start, end, name in (
        (0, 10, "gemm_a"), (10, 30, "gemm_b"), (30, 35, "gemm_a"), (40, 41, "flash_gemm"),
        (50, 57, "flash_fwd"), (60, 64, "void f<float>(int)"), (70, 73, "other"), (80, 80, "other"),
    ):  # fmt: skip
        maker.kernel(start, end, name, short=name.split("<")[0].removeprefix("void "))
    maker.copy(100, 200)
    frame = rule_use(maker.trace(), RULES)
    assert frame["rule"].tolist() == ["gemm", "cutlass", "flash", "full: <float>", NO_RULE]
    assert frame["class"].tolist() == ["GEMM", "GEMM", "attention", "attention", "other"]
    assert frame["names"].tolist() == [3, 0, 1, 1, 1]
    assert frame["kernels"].tolist() == [4, 0, 1, 1, 2]
    assert frame["sum_ns"].tolist() == [36, 0, 7, 4, 3]
    assert frame["sum_ns"].dtype == np.int64
    assert frame["example"].tolist() == ["gemm_b", "", "flash_fwd", "f", "other"]
    assert frame["share"].sum() == 1
    assert frame["line"].tolist() == [2, 3, 5, 6, 0]


def test_without_a_trace_or_kernels_nothing_is_taken():
    for trace in (None, TraceMaker(session_ns=10).copy(0, 5).trace()):
        frame = rule_use(trace, RULES)
        assert frame["kernels"].sum() == 0
        assert frame["share"].isna().all()
        assert len(frame) == len(RULES.rules) + 1
