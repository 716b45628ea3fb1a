"""From where on a clock is off, by the ends of collectives: cases at each limit."""

import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import Rules
from viewer.analysis.recording.clock_ends import end_offsets
from viewer.analysis.study import Study

REDUCE, GATHER = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllGather_RING_LL"


def offsets(lags, names=(REDUCE, GATHER), lengths=(100_000,), sets=24):
    """Return the offset of each GPU that is off, of ranks whose collectives end by so much apart.

    A lag may be a function of the set's number.
    """
    maker = TraceMaker(session_ns=10**9)
    for number in range(sets):
        for which, name in enumerate(names):
            length = lengths[number % len(lengths)]
            for rank, lag in enumerate(lags):
                end = (
                    number * 5_000_000 + which * 2_500_000 + length + (lag(number) if callable(lag) else lag)
                )
                maker.kernel(end - length, end, name, stream=20 + which, process=rank)
    study = Study(maker.trace(), Rules.builtin())
    return {end.gpu: end.offset_ns for end in end_offsets(study.trace, study.classes)}


@pytest.mark.parametrize(
    ("lag", "is_off"), [(10_000, True), (9_999, False), (-10_000, True), (-9_999, False)]
)
def test_a_clock_is_off_from_ten_microseconds_on(lag, is_off):
    assert offsets([0, 0, 0, lag]) == ({3: lag} if is_off else {})


@pytest.mark.parametrize(("lag", "is_off"), [(500_000, True), (500_001, False)])
def test_what_ends_over_half_a_millisecond_apart_is_compared_no_more(lag, is_off):
    assert offsets([0, 0, 0, lag], lengths=(900_000,)) == ({3: lag} if is_off else {})


@pytest.mark.parametrize(("other", "is_off"), [(3_000, True), (3_001, False)])
def test_one_kind_suffices_where_the_others_end_ten_times_closer(other, is_off):
    assert offsets([0, other, 0, 30_000], names=(REDUCE,)) == ({3: 30_000} if is_off else {})


@pytest.mark.parametrize(
    ("other", "lag", "is_off"),
    [(6_000, 30_000, True), (6_001, 30_000, False), (3_000, 12_000, True), (3_001, 12_000, False)],
)
def test_all_others_say_the_same_within_a_fifth_or_three_microseconds(other, lag, is_off):
    assert offsets([0, other, 0, lag]) == ({3: lag} if is_off else {})


@pytest.mark.parametrize(("wobble", "is_off"), [(1_000, True), (1_001, False)])
def test_an_offset_is_as_steady_as_the_others_or_within_a_microsecond(wobble, is_off):
    found = offsets([0, 0, 0, lambda number: 30_000 + (wobble if number % 2 else -wobble)])
    assert found == ({3: 30_000} if is_off else {})


@pytest.mark.parametrize(("short", "is_off"), [(2, True), (3, False)])
def test_nine_of_ten_sets_overlap(short, is_off):
    """Of twenty sets so many end before rank 3 begins."""
    lengths = [25_000] * short + [100_000] * (20 - short)
    assert offsets([0, 0, 0, 30_000], lengths=lengths, sets=20) == ({3: 30_000} if is_off else {})


@pytest.mark.parametrize(("longer", "is_off"), [(150_001, True), (150_000, False)])
def test_a_size_is_another_from_half_as_long_again_on(longer, is_off):
    """Between two GPUs one kind and size tells nothing."""
    assert offsets([0, 20_000], names=(REDUCE,), lengths=(100_000, longer)) == ({1: 20_000} if is_off else {})


@pytest.mark.parametrize(("sets", "is_off"), [(3, True), (2, False)])
def test_three_sets_of_a_kind_are_enough(sets, is_off):
    assert offsets([0, 0, 30_000], sets=sets) == ({2: 30_000} if is_off else {})


@pytest.mark.parametrize(("sets", "is_off"), [(12, True), (11, False)])
def test_with_a_dozen_sets_half_of_them_have_to_be_steady_and_with_fewer_all(sets, is_off):
    found = offsets([0, 0, 0, lambda number: 45_000 if number == 5 else 30_000], sets=sets)
    assert found == ({3: 30_000} if is_off else {})


def test_the_larger_offset_is_judged_first():
    assert offsets([0, 0, 40_000, 0, -90_000]) == {2: 40_000, 4: -90_000}
