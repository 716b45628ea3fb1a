import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.drawing.ticks import LABEL_PX, ticks

MS = 1_000_000


def test_ticks_count_from_the_last_full_second():
    found = ticks(2_150 * MS, 2_440 * MS, 1300)
    assert (found.origin, found.unit) == ("2 s", "ms")
    assert found.major[:2] == ((2_160 * MS, "+160"), (2_180 * MS, "+180"))


def test_closer_up_the_fixed_part_grows():
    found = ticks(2_173_050_000, 2_173_350_000, 1300)
    assert (found.origin, found.unit) == ("2 s 173 ms", "µs")
    assert found.major[0] == (2_173_060_000, "+60")


def test_tenths_where_the_step_is_smaller_than_the_unit():
    found = ticks(173 * MS, 175 * MS, 1300)
    assert (found.origin, found.unit) == ("", "ms")
    assert [label for _, label in found.major[:3]] == ["173.0", "173.2", "173.4"]


def test_around_zero_there_is_no_fixed_part():
    found = ticks(-50, 250, 1300)
    assert (found.origin, found.unit) == ("", "ns")
    assert (0, "0") in found.major
    assert (-40, "−40") in found.major


def test_before_zero_the_fixed_part_is_negative():
    assert ticks(-1_900 * MS, -1_700 * MS, 1300).origin == "−2 s"


@given(st.integers(-(10**12), 10**12), st.integers(20, 10**12), st.integers(120, 4000))
def test_labels_have_room_and_small_ticks_lie_between(start, length, width):
    found = ticks(start, start + length, width)
    at = [t for t, _ in found.major]
    assert all(start <= t <= start + length for t in (*at, *found.minor))
    assert len(at) <= width / LABEL_PX + 1
    assert not set(at) & set(found.minor)
    labels = [label for _, label in found.major]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("width", [0.5, 1, 30])
def test_a_narrow_ruler_has_at_most_a_tick(width):
    assert len(ticks(0, 10**9, width).major) <= 2
