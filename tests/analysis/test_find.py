import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.find import BadPatternError, FindCancelledError, Hit, find
from viewer.analysis.study import Study
from viewer.trace import Kind


@pytest.fixture
def study():
    maker = TraceMaker().kernel(50, 60, "Gemm_A").kernel(10, 20, "gemm_b", stream=8).kernel(70, 80, "relu")
    maker.call(5, 6, "cudaLaunchKernel").range(0, 100, "GEMM phase (a+b)").copy(30, 40)
    return Study(maker.trace(), Rules.builtin())


def test_names_are_found_whatever_their_case(study):
    found = study.finder.find("gemm", rows=[("k1", "Stream 7"), ("k2", "19 % gemm_b")])
    assert found.counts == {"kernels": 2, "NVTX": 1, "rows": 1}
    assert (found.count, found.rows) == (3, ("k2",))
    kernels = found.hits[0]
    assert (kernels.starts_ns.tolist(), kernels.index.tolist()) == ([10, 50], [2, 0])


def test_a_text_is_no_pattern_unless_asked_for(study):
    assert study.finder.find("(a+b)").counts == {"NVTX": 1}
    assert study.finder.find("gemm.[ab]$", regex=True).counts == {"kernels": 2}
    assert study.finder.find("nothing like it").count == 0
    assert study.finder.find("").counts == {}


def test_a_bad_pattern_is_said_in_a_line(study):
    with pytest.raises(BadPatternError, match="no regular expression: ") as caught:
        study.finder.find("gemm(", regex=True)
    assert "\n" not in str(caught.value)


def test_next_and_previous_go_over_all_tables(study):
    found = study.finder.find("gemm")
    assert found.next(-1, 1) == Hit(Kind.NVTX, 0, 0)
    assert found.next(0, 1) == Hit(Kind.KERNEL, 2, 10)
    assert found.next(10, 1) == Hit(Kind.KERNEL, 0, 50)
    assert found.next(50, 1) is None
    assert found.next(50, -1) == Hit(Kind.KERNEL, 2, 10)
    assert found.next(0, -1) is None
    assert [found.position(t) for t in (0, 1, 11, 99)] == [0, 1, 2, 3]


def test_marks_are_counted_in_bins(study):
    assert study.finder.find("gemm").bins(0, 100, 10).tolist() == [1, 1, 0, 0, 0, 1, 0, 0, 0, 0]
    assert study.finder.find("gemm").bins(5, 50, 3).tolist() == [1, 0, 0]


def test_a_search_can_be_given_up(study):
    with pytest.raises(FindCancelledError):
        study.finder.find("gemm", cancelled=lambda: True)


names = st.text("abAB(.", min_size=0, max_size=3)


@given(st.lists(st.tuples(st.integers(0, 50), names), min_size=1, max_size=20), names)
def test_hits_are_those_of_brute_force(events, text):
    maker = TraceMaker()
    for start, name in events:
        maker.kernel(start, start + 1, name)
    study = Study(maker.trace(), Rules.builtin())
    held = find(study.trace, text).hits
    wanted = sorted(start for start, name in events if text and text.lower() in name.lower())
    assert [int(t) for h in held for t in h.starts_ns] == wanted


def test_counts_of_a_real_trace(real_study):
    study = real_study("pytorch-a100-nvtx")
    found = study.finder.find(r"aten::.*conv", regex=True)
    texts = study.trace.names.take(study.trace.nvtx.name_id)
    assert found.counts == {"NVTX": sum(bool(re.search("aten::.*conv", t, re.IGNORECASE)) for t in texts)}
    assert found.count > 500
    assert (np.diff(found.hits[0].starts_ns) >= 0).all()
    assert found.bins(*study.trace.span_ns, 500).sum() == found.count
