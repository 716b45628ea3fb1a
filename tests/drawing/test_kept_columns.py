"""Columns kept while rows scroll are those that would be summed anew."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing.test_pixel_columns import a_window_on, disjoint
from viewer.drawing.kept_columns import KeptColumns
from viewer.drawing.lanes import Lane
from viewer.drawing.pixel_columns import columns

EMPTY = Lane(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint16))


@given(st.lists(disjoint(), min_size=1, max_size=4), st.data())
@settings(max_examples=60)
def test_any_lanes_in_any_order_one_frame_after_another(lanes, data):
    lanes = [*lanes, EMPTY]
    scales = [data.draw(a_window_on(lanes[0])) for _ in range(2)]
    kept = KeptColumns()
    for _ in range(5):
        shown = data.draw(st.lists(st.sampled_from(lanes), max_size=6))
        scale = data.draw(st.sampled_from(scales))
        for found, anew in zip(kept.of(shown, scale), columns(shown, scale), strict=True):
            for name in anew.__slots__:
                got, expected = getattr(found, name), getattr(anew, name)
                assert got.dtype == expected.dtype
                assert np.array_equal(got, expected)
