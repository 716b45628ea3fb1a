"""Which kernels are of one kind, so that their durations compare."""

from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.kernel_signatures import SHAPE
from viewer.analysis.collectives.paired_means import mean_differences
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study

US = 1_000
COMM = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


class Shapes:
    """A source that knows the shape of kernels: the grid's X by row, all else 1."""

    def __init__(self, grid_of):
        self.grid_of = grid_of

    def columns(self, _kind, names, file_rows):
        assert tuple(names) == SHAPE
        grid = np.array([self.grid_of[int(row)] for row in file_rows], np.int32)
        return {name: grid if name == "gridX" else np.ones_like(grid) for name in names}


def small(maker, start, number):
    """Add three kernels, always the same, before a start: the kernels' places do not differ by them."""
    for before in (40, 30, 20):
        maker.kernel(start - before * US, start - (before - 9) * US, f"norm{number}", 7)


def tax_of(maker, source=None):
    return Study(replace(maker.trace(), source=source), Rules.builtin()).overlap_tax


def jitter(random, us):
    return int(us * US * (1 + 0.002 * random.standard_normal()))


def two_sizes(beside_size, count=24):
    """Return a job: one name, 100 and 200 µs in turn, communication beside every second one of a size."""
    maker, random, sizes = TraceMaker(), np.random.default_rng(5), {}
    for k in range(count):
        start, size = 1_000 * US * (k + 1), (100, 200)[k % 2]
        small(maker, start, 0)
        end = start + jitter(random, size)
        maker.kernel(start, end, "gemm", 7)
        sizes[start] = size
        if size == beside_size and k % 4 < 2:
            maker.kernel(start, end, COMM, 20)
    trace = maker.trace()
    starts = trace.kernels.start_ns.tolist()
    rows = trace.kernels.columns["file_row"].tolist()
    return maker, Shapes({row: sizes.get(start, 1) for row, start in zip(rows, starts, strict=True)})


def test_the_grid_tells_sizes_apart_and_without_it_they_are_unknown():
    maker, source = two_sizes(200)
    found = tax_of(maker, source)
    assert found.signatures.has_shapes
    assert found.sum_of([0]).unknown_ns == found.sum_of([0]).tax_ns == 0
    without = tax_of(maker)
    assert not without.signatures.has_shapes
    assert without.sum_of([0]).unknown_ns == without.sum_of([0]).beside_ns > 0


def job_in_ranges(text_of, count=24):
    """Return the tax of a job whose kernel lies in a range of the text that `text_of` gives to its number."""
    maker, random = TraceMaker(), np.random.default_rng(7)
    for k in range(count):
        start = 1_000 * US * (k + 1)
        small(maker, start, 0)
        end = start + jitter(random, 100 + 10 * (k % 2))
        maker.range(start - 12 * US, start - 1 * US, text_of(k))
        maker.call(start - 8 * US, start - 6 * US, correlation=k + 1)
        maker.kernel(start, end, "gemm", 7, correlation=k + 1)
        if k % 2:
            maker.kernel(start, end, COMM, 20)
    return tax_of(maker)


@pytest.mark.parametrize("text", ["step {}", "aten::mm, seq = {}, op_id = 9", "aten::mm, op_id = {}"])
def test_numbers_that_count_steps_or_calls_part_nothing(text):
    found = job_in_ranges(text.format)
    assert found.sum_of([0]).unknown_ns == 0
    assert found.sum_of([0]).tax_ns == pytest.approx(120 * US, rel=0.05)


@pytest.mark.parametrize("text", ["layer {}", "aten::mm, sizes = [[{}, 8]]"])
def test_numbers_that_come_back_part_layers_and_sizes(text):
    found = job_in_ranges(lambda k: text.format(k % 2))
    assert found.sum_of([0]).tax_ns == 0
    assert found.sum_of([0]).unknown_ns == found.sum_of([0]).beside_ns > 0


def test_kernels_that_only_wait_pay_nothing():
    maker = TraceMaker()
    for k in range(20):
        start = 1_000 * US * (k + 1)
        small(maker, start, 0)
        maker.kernel(start, start + (100 + 50 * (k % 2)) * US, "spin_kernel", 7)
        if k % 2:
            maker.kernel(start, start + 150 * US, COMM, 20)
    assert tax_of(maker).sum_of([0]).beside_ns == 0


def test_places_with_few_kernels_answer_together_but_each_by_itself():
    """Four of each size run beside; most of the short ones alone, and two of the long: no price."""
    maker, random, start = TraceMaker(), np.random.default_rng(11), 0
    for size, alone, beside in ((100, 60, 4), (120, 2, 4), (125, 2, 4), (130, 2, 4)):
        for k in range(alone + beside):
            start += 1_000 * US
            small(maker, start, size)
            end = start + jitter(random, size)
            maker.kernel(start, end, "gemm", 7)
            if k >= alone:
                maker.kernel(start, end, COMM, 20)
    found = tax_of(maker).sum_of([0])
    assert (found.tax_ns, found.unknown_ns) == (0, 0)
    assert found.bound_ns > 0


def test_differences_are_weighed_by_what_each_stratum_knows_of_them():
    """By hand: strata of 1 and 9, and of 4 and 4 kernels, whose differences are 8 and 20."""
    stratum = np.array([0] * 10 + [1] * 8)
    is_beside = np.array([False] + [True] * 9 + [False] * 4 + [True] * 4)
    wiggle = np.array([0] + [-1, 1, 0] * 3 + [-1, 1, -1, 1] * 2)
    length = np.where(stratum == 0, 1_000, 2_000) + wiggle + np.where(is_beside, np.where(stratum, 20, 8), 0)
    found = mean_differences(np.zeros(18, np.int64), stratum, is_beside, length, 1, 5)
    # Weights 1 × 9 / 10 and 4 × 4 / 8.
    assert found.each_ns.tolist() == [round((0.9 * 8 + 2 * 20) / 2.9)]
    assert (found.alone.tolist(), found.beside.tolist()) == ([5], [13])
