"""Which kernels of a GPU are longer than another's, over which iterations: by hand."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.differences import Difference, find_differences
from viewer.analysis.study import Study


def differences(lengths, chosen):
    """Compare rank 1 with rank 0, of which all kernels take 100 ns in each of five steps.

    `lengths` are those of rank 1's attention and gemm by step.
    """
    maker = TraceMaker()
    for step in range(5):
        for rank in range(2):
            at = 10_000 * step
            maker.range(at, at + 9_000, f"step {step}", process=rank)
            maker.range(at + 100, at + 200, f"layer {step}", process=rank)
            for number, name in enumerate(("attention", "gemm")):
                identity = 1 + 10 * step + number
                call = at + 110 if name == "attention" else at + 300
                maker.call(call, call + 5, process=rank, correlation=identity)
                length = lengths.get(step, (100, 100))[number] if rank else 100
                low = at + 1_000 + 2_000 * number
                maker.kernel(low, low + length, name, process=rank, correlation=identity)
    study = Study(maker.trace())
    return find_differences(study.launches, study.classes, study.iterations(), chosen, (1,), (0,))


def test_only_the_chosen_iterations_are_compared():
    """Attention takes 300 ns in the third step."""
    found = differences({2: (300, 100)}, (2,))
    assert found.kernels == (Difference("attention", 200, 1.0, 1, 1),)
    assert not found.all_alike
    # The longest less the mean of both ranks.
    assert found.ranges == (Difference("layer #", 100, 1.0, 1, 1),)
    assert differences({2: (300, 100)}, (0, 1, 3, 4)).kernels == ()
    assert differences({2: (300, 100)}, (1, 2)).kernels == (Difference("attention", 100, 1.0, 1, 1),)


def test_those_that_make_up_nine_tenths_of_the_difference_are_named():
    """The first one has 9 of 10 parts, or a little less."""
    assert [d.name for d in differences({2: (1_000, 200)}, (2,)).kernels] == ["attention"]
    assert [d.name for d in differences({2: (999, 200)}, (2,)).kernels] == ["attention", "gemm"]


@pytest.mark.parametrize(
    ("lengths", "alike"),
    [((110, 110), True), ((105, 115), True), ((103, 117), False), ((100, 120), False), ((100, 100), True)],
)
def test_all_are_longer_alike_within_two_fifths_to_eight_fifths_of_the_whole(lengths, alike):
    assert differences(dict.fromkeys(range(5), lengths), range(5)).all_alike is alike
