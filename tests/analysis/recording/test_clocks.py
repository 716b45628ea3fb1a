"""The bounds of a GPU's clock: launches below, synchronisations above."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.recording.clocks import Clock
from viewer.analysis.study import Study

STREAM, DEVICE = "cudaStreamSynchronize", "cudaDeviceSynchronize"


def upper(*syncs):
    """Return the upper bound of the first GPU: a kernel on stream 7, and a later one on stream 8."""
    maker = TraceMaker()
    maker.call(0, 5, correlation=1).kernel(100, 200, correlation=1)
    maker.call(10, 15, correlation=2).kernel(150, 500, correlation=2, stream=8)
    for start, end, name, stream, context in syncs:
        maker.sync(start, end, name, stream=stream, context=context)
    return Study(maker.trace()).clocks[0].upper_ns


def test_a_stream_is_synchronised_when_what_was_launched_on_it_before_has_ended():
    assert upper((20, 230, STREAM, 7, 1)) == 230 - 200
    assert upper((20, 230, STREAM, 8, 1)) == 230 - 500
    assert upper((12, 230, STREAM, 8, 1)) is None, "nothing was launched on it before"
    assert upper((20, 230, STREAM, 7, 1), (20, 510, STREAM, 8, 1)) == 10


def test_a_device_is_synchronised_when_all_of_it_has_ended():
    assert upper((20, 530, DEVICE, 0, 1)) == 30
    assert upper((12, 230, DEVICE, 0, 1)) == 30, "only the first was launched before"


@pytest.mark.parametrize("name", [STREAM, DEVICE])
def test_a_synchronisation_of_another_context_says_nothing(name):
    assert upper((20, 230, name, 7, 2)) is None


def test_other_synchronisations_say_nothing():
    assert upper((20, 230, "cudaEventSynchronize", 7, 1)) is None
    assert upper() is None


def test_contexts_with_one_stream_number_are_told_apart():
    maker = TraceMaker()
    maker.call(0, 5, correlation=1).kernel(100, 200, correlation=1)
    maker.call(10, 15, correlation=2).kernel(150, 500, correlation=2, context=2)
    maker.sync(20, 230, STREAM, stream=7, context=1)
    assert Study(maker.trace()).clocks[0].upper_ns == 30


def test_no_operation_starts_before_its_launch():
    maker = TraceMaker().call(400, 405, correlation=1).kernel(100, 200, correlation=1)
    maker.call(10, 15, correlation=2).kernel(60, 90, correlation=2)
    maker.kernel(0, 50, process=1)
    first, second = Study(maker.trace()).clocks
    assert (first.lower_ns, second.lower_ns, second.upper_ns) == (300, None, None)


MS = 1_000_000


@pytest.mark.parametrize(
    ("lower", "upper", "early", "late", "contradicts", "offset"),
    [
        (-MS, MS, False, False, False, 0),
        (100_000, MS, False, False, False, 0),
        (100_001, 100_003, True, False, False, 100_002),
        (-MS, -100_000, False, False, False, 0),
        (-300_000, -200_000, False, True, False, -250_000),
        (2 * MS, None, True, False, False, 2 * MS),
        (None, -2 * MS, False, True, False, -2 * MS),
        (None, None, False, False, False, 0),
        (2 * MS, MS, True, False, False, 1_500_000),
        (2 * MS, MS - 1, False, False, True, 0),
        (80_000, -20_000, False, False, False, 0),
        (150_000, -50_000, False, False, True, 0),
    ],
)
def test_an_offset_is_the_middle_of_the_bounds_that_leave_out_zero(
    lower, upper, early, late, contradicts, offset
):
    clock = Clock(0, lower, upper)
    assert (clock.is_early, clock.is_late, clock.contradicts) == (early, late, contradicts)
    assert (clock.is_shifted, clock.offset_ns) == (early or late, offset)
