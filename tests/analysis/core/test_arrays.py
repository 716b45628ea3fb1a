import numpy as np
import pytest

from viewer.analysis.core.arrays import narrowed


@pytest.mark.parametrize("far", [2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 0])
def test_numbers_stay_what_they_are(far):
    values = np.array([0, far, 7], np.int64)
    kept = narrowed(values)
    assert kept.tolist() == values.tolist()
    assert kept.dtype == (np.int32 if -(2**31) <= far < 2**31 else np.int64)


def test_nothing_is_nothing():
    assert len(narrowed(np.empty(0, np.int64))) == 0
