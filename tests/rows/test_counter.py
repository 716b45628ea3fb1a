"""What a counter row holds, and the scale that it is drawn on."""

import numpy as np
import pytest

from viewer.rows import RowKind
from viewer.rows.counter import Samples, ValueScale


def test_a_value_holds_until_the_next_sample():
    samples = Samples(np.array([10, 20, 20, 30]), np.array([1.0, 2.0, 3.0, np.nan]))
    assert [samples.at(t) for t in (9, 10, 19, 20, 29, 30)] == [None, 1, 1, 3, 3, None]


@pytest.mark.parametrize(
    ("values", "unit", "low", "high"),
    [
        ([3.0, 270.0], "W", 0, 500),
        ([0.2, 1.0], "share", 0, 1),
        ([64 * 2**30, 70 * 2**30], "bytes", 0, 128 * 2**30),
        ([-3.0, 0.0, 40.0], "°C", -5, 50),
        ([-3.0, -1.0], "", -5, 0),
        ([np.nan, 7.0], "", 0, 10),
        ([0.0, 0.0], "", 0, 1),
        ([], "", 0, 1),
    ],
)
def test_a_scale_of_round_ends_holds_all_values_and_zero(values, unit, low, high):
    scale = ValueScale.around(np.array(values), unit)
    assert (scale.low, scale.high) == (low, high)
    assert scale.ticks() == ((low, 0.0), ((low + high) / 2, 0.5), (high, 1.0))


def test_whole_numbers_have_a_scale_too():
    assert ValueScale.around(np.array([3, 1_300], np.int32)) == ValueScale(0, 2_000)


def test_shares_of_a_linear_scale():
    scale = ValueScale(-50, 50)
    np.testing.assert_allclose(scale.share([-60, -50, 0, 25, 99, np.nan]), [0, 0, 0.5, 0.75, 1, np.nan])


def test_launch_latency_is_logarithmic_from_a_microsecond_to_a_second():
    scale = RowKind.LAUNCHES.traits.counter.scale
    np.testing.assert_allclose(scale.share([0, 1_000, 1_000_000, 10**9, 10**11]), [0, 0, 0.5, 1, 1])
    assert [value for value, _ in scale.ticks()] == [1_000, 1_000_000, 10**9]


def test_every_kind_has_a_name_of_its_own():
    names = [kind.traits.name for kind in RowKind]
    assert len(set(names)) == len(names)
