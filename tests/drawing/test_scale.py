import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.drawing.scale import AxisPixels, Scale, snap_px

FAR_NS = 200_000_000_000


@pytest.mark.parametrize(
    ("value", "pixel"), [(22.5, 23), (23.5, 24), (-0.5, 0), (-0.51, -1), (0.49, 0), (7.0, 7)]
)
def test_halves_round_up_as_qt_does(value, pixel):
    assert snap_px(value) == pixel


@pytest.mark.parametrize(
    ("scale", "t_ns", "px"),
    [
        (Scale(0, 1000, 100), 0, 0),
        (Scale(0, 1000, 100), 1000, 100),
        (Scale(0, 1000, 100), 255, 25.5),
        (Scale(-500, 500, 100), 0, 50),
        (Scale(FAR_NS, FAR_NS + 1000, 1000), FAR_NS + 1, 1),
    ],
)
def test_time_and_pixel(scale, t_ns, px):
    assert scale.x(t_ns) == px
    assert scale.to_px(np.array([t_ns]))[0] == pytest.approx(px)
    assert scale.to_ns(px) == t_ns


windows = st.builds(
    lambda start, length, width: Scale(start, start + length, width),
    st.integers(-(10**12), 10**12),
    st.integers(20, 10**12),
    st.integers(1, 4000),
)


@given(windows)
def test_pixel_edges_tile_the_window(scale):
    edges = scale.edges()
    assert (edges[0], edges[-1]) == (scale.start_ns, scale.end_ns)
    assert (np.diff(edges) >= 0).all()
    assert np.ptp(np.diff(edges)) <= 1


@given(windows, st.floats(0, 1))
def test_a_pixel_read_back_is_itself_to_a_nanosecond(scale, share):
    t = scale.start_ns + int(share * scale.length_ns)
    assert abs(scale.to_ns(scale.x(t)) - t) <= 1


def test_edges_of_a_window_of_seventy_years():
    edges = Scale(-(2**60), 2**61, 3200).edges()
    assert (edges[0], edges[-1]) == (-(2**60), 2**61)
    assert np.ptp(np.diff(edges)) <= 1


@pytest.mark.parametrize(("left", "dpr", "columns"), [(361, 1.0, 919), (361, 1.25, 1149), (363, 1.5, 1378)])
def test_an_axis_is_as_wide_as_the_device_pixels_between_its_edges(left, dpr, columns):
    axis = AxisPixels(left, 919, dpr)
    assert axis.columns == columns == axis.column(919)
    assert axis.scale((0, 1_000)) == Scale(0, 1_000, columns)
    for x in (0, 1, 300, 918):
        assert axis.logical_x(axis.device_x(x)) == pytest.approx(x)
        assert snap_px(axis.device_x(x)) == axis.column(x)
